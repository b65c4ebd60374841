"""A class's submissions from a folder of clones of its repositories on GitHub, laid out for nbgrader.

Whose repository a clone is says its name, which ends with the student's name on GitHub, behind what the names of
all clones begin with: `ch1-attention-ada.git`. What lies in it is read as `clones` says. A submission's
time is when GitHub received it, from the file of activity beside the clone (`ch1-attention-ada.json`), else when
it was fetched.
"""

from __future__ import annotations

import collections
import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from autograder.course import Course, Exercise
from autograder.errors import SubmissionFolderError, TableError
from autograder.files import NOT_ORDINARY
from autograder.grade.roster import read_roster
from autograder.grade.submission import MAX_COMPANION, MAX_COMPANIONS, NOTEBOOK, is_litter
from autograder.lms import clones
from autograder.lms.clones import CloneError, Entry, Head, Objects
from autograder.lms.github_pushes import Push, read_pushes
from autograder.lms.laid_out import (
    MAX_BESIDE,
    TIMESTAMP,
    ImportResult,
    put,
    refuse_sample_class,
    stem_of,
    write_time,
)
from autograder.lms.names import LmsName, remember_names
from autograder.nbgrader_adapter import timestamp
from autograder.progress import progress
from autograder.tables import read_csv

LMS = "github"
COLUMNS = ("id", "github")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# bytes of all files
MAX_TOTAL = 200_000_000
# pushes that are looked at to find out since when the notebook has been as it is
MAX_PUSHES = 500
# what the template holds beside the notebook
OF_THE_TEMPLATE = frozenset({"README.md", "requirements.txt", "constraints.txt"})


@dataclass(frozen=True)
class Taken:
    """What was taken from a clone.

    files: by the names under which they are laid out; received: when GitHub received them, None if that
    isn't known; notes: sentences without the student.
    """

    files: Mapping[str, bytes]
    head: Head
    received: datetime.datetime | None
    notes: tuple[str, ...]


def read_names(path: Path) -> dict[str, str]:
    """Students by their names on GitHub, in lower case, from a roster with the columns id and github.

    Raises TableError.
    """
    read_roster(path)
    found: dict[str, str] = {}
    for number, row in read_csv(path, COLUMNS):
        name = row["github"].lower()
        if not name:
            continue
        if not NAME.fullmatch(name):
            raise TableError(
                f"{path}, line {number}: {row['github']!r} is no name on GitHub: it has letters, digits and "
                "hyphens only, as at the end of the address of somebody's page."
            )
        if name in found:
            raise TableError(
                f"{path}, line {number}: {row['github']} is {found[name]}'s name in a line above, too. Correct "
                "one of them."
            )
        found[name] = row["id"]
    if not found:
        raise TableError(f"{path} has nobody's name on GitHub in the column github.")
    return found


def _repository(clone: Path) -> str:
    return clone.name.removesuffix(".git")


def match(found: Sequence[Path], names: Mapping[str, str]) -> dict[str, Path]:
    """Clones by student: what stands before students' names is the same in all of them.

    names: students by their names on GitHub. Of several beginnings the one that fits most clones counts, so
    that `hw-jim-bob` is not taken for bob's.
    """
    fits: dict[str, dict[str, Path]] = collections.defaultdict(dict)
    for clone in found:
        repository = _repository(clone).lower()
        for name, student in names.items():
            before = repository.removesuffix(name)
            if before != repository and (not before or before.endswith("-")):
                fits[before][student] = clone
    return max(fits.values(), key=len, default={})


def template_folder(course: Course, exercise: Exercise) -> Path:
    """Where the template of an exercise's repositories is written."""
    return course.home / "github" / exercise.name


# One clone ----------------------------------------------------------------------------------------


def take(clone: Path, exercise: str) -> Taken:
    """What a student hands in with a repository: notebooks, and the files beside the exercise's own.

    Raises CloneError for a clone that can't be read, and for one without a notebook.
    """
    head = clones.head_of(clone)
    with clones.opened(clone) as objects:
        listed = clones.listing(objects, head.commit)
        notes = []
        if listed.strange:
            notes.append(f"{listed.strange} files have {NOT_ORDINARY}. Left out.")
        wanted = f"{exercise}.ipynb"
        notebooks = _notebooks(listed.entries, wanted, notes)
        if not notebooks:
            raise CloneError(" ".join(["has no notebook.", *notes]).removesuffix("."))
        chosen = _named(notebooks, wanted)
        chosen |= _beside(listed.entries, notebooks[0], notes)
        files, left = {}, MAX_TOTAL
        for name, entry in chosen.items():
            most = clones.MAX_FILE if NOTEBOOK.search(name) else MAX_COMPANION
            try:
                files[name] = objects.content(entry.id, "blob", min(most, left))
                left -= len(files[name])
            except CloneError as error:
                if entry == notebooks[0]:
                    raise
                notes.append(f"{entry.path!r} {error}. Left out.")
        paths = {entry.path: entry.id for name, entry in chosen.items() if name in files}
        activity = clone.with_name(f"{_repository(clone)}.json")
        received = None
        if activity.is_file():
            received = _received(objects, head, paths, read_pushes(activity))
    return Taken(files, head, received, tuple(notes))


def _notebooks(entries: Sequence[Entry], wanted: str, notes: list[str]) -> list[Entry]:
    """The notebooks of a commit that are laid out: the wanted one first, and those near the root."""

    def rank(entry: Entry) -> tuple[bool, int, str]:
        path = PurePosixPath(entry.path)
        return path.name != wanted, len(path.parts), entry.path

    named = [
        entry
        for entry in sorted(entries, key=rank)
        if NOTEBOOK.search(entry.path) and not is_litter(PurePosixPath(entry.path))
    ]
    for entry in named[:MAX_BESIDE]:
        if not entry.is_file:
            kinds = {clones.LINK: "a link", clones.SUBMODULE: "a submodule"}
            what = kinds.get(entry.mode, "no ordinary file")
            notes.append(f"{entry.path!r} is {what}. Left out.")
    files = [entry for entry in named if entry.is_file]
    if len(files) > MAX_BESIDE + 1:
        notes.append(f"It has {len(files)} notebooks, of which {MAX_BESIDE + 1} are laid out.")
    return files[: MAX_BESIDE + 1]


def _named(notebooks: Sequence[Entry], wanted: str) -> dict[str, Entry]:
    """Names in one folder for notebooks of several folders."""
    found: dict[str, Entry] = {}
    for number, entry in enumerate(notebooks):
        name = PurePosixPath(entry.path).name
        stem = stem_of(name)
        plain = wanted if name == wanted else f"{stem or 'notebook'}.ipynb"
        found[plain if plain not in found else f"{stem} ({number}).ipynb"] = entry
    return found


def _beside(entries: Sequence[Entry], notebook: Entry, notes: list[str]) -> dict[str, Entry]:
    """The files that lie in a notebook's folder, without those of the template."""
    folder = PurePosixPath(notebook.path).parent
    found = {}
    for entry in entries:
        path = PurePosixPath(entry.path)
        ordinary = (
            entry.is_file and path.parent == folder and not is_litter(PurePosixPath(path.name))
        )
        if (
            ordinary
            and path.name not in OF_THE_TEMPLATE | {TIMESTAMP}
            and not NOTEBOOK.search(path.name)
        ):
            found[path.name] = entry
    if len(found) > MAX_COMPANIONS:
        notes.append(
            f"{len(found)} files lie beside the notebook, of which {MAX_COMPANIONS} are laid out."
        )
    return dict(sorted(found.items())[:MAX_COMPANIONS])


def _received(
    objects: Objects, head: Head, paths: Mapping[str, str], pushes: Sequence[Push]
) -> datetime.datetime | None:
    """Since when GitHub has had some files as they are, on the branch of a clone's HEAD.

    paths: ids of the files' contents; pushes: the newest first. So a later push that changes other files,
    maybe an instructor's, makes nobody late. None when the list doesn't have the commit that was fetched.
    """
    found = None
    for push in [push for push in pushes if push.branch == head.branch][:MAX_PUSHES]:
        if found is None and push.commit != head.commit:
            continue
        for path, own in paths.items():
            there = objects.info(f"{push.commit}:{path}")
            if there is None or there.id != own:
                return found
        found = push.time
    return found


# A class ------------------------------------------------------------------------------------------


def collect(course: Course, exercise: Exercise, roster: Path, folder: Path) -> ImportResult:
    """Lay out what lies in a folder of clones as STUDENT/EXERCISE in the course's folder of submissions.

    A submission that lies there already and differs is moved to replaced/ in the folder of the class.

    Args:
        course: whose folder of submissions is used.
        exercise: what was handed in.
        roster: a table with the columns id and github.
        folder: clones of students' repositories of this exercise, and beside each, if there is one, the
            file of its activity.

    Raises:
        TableError: the roster or a file of activity can't be read; what was laid out before stays.
        SubmissionFolderError: the folder has no clone of anybody in the roster, the sample class lies
            in the folder of submissions, or git isn't installed.
        OutputError: a folder can't be written; the clones can be collected again.
    """
    refuse_sample_class(course)
    names = read_names(roster)
    found = _clones(folder)
    whose = match(found, names)
    if not whose:
        raise SubmissionFolderError(
            f"No clone in {folder} has a name that ends with the name on GitHub of somebody in {roster}. Clone "
            "the repositories of one exercise into a folder of its own, under their names."
        )
    result = ImportResult()
    name = f"{exercise}.ipynb"
    # the template's, too: its notebook may show another due date
    places = [exercise.notebook, template_folder(course, exercise) / name]
    handed_out = [{name: place.read_bytes()} for place in places if place.is_file()]
    taken: dict[str, Taken] = {}
    untouched = []
    with progress("Collecting") as bar:
        for student, clone in bar.track(sorted(whose.items())):
            try:
                own = take(clone, exercise.name)
            except CloneError as error:
                result.notes.append(f"{student}: {clone.name} {error}. Look at it on GitHub.")
                continue
            if own.files in handed_out:
                untouched.append(student)
                continue
            result.notes += [f"{student}: {note}" for note in own.notes]
            if put(course, exercise, student, own.files, result):
                # not all files of a class at a time
                taken[student] = replace(own, files={})
    repositories = {student: LmsName(LMS, _repository(whose[student])) for student in taken}
    remember_names(course, exercise, repositories)
    _record_times(course, exercise, taken, result)
    _tell(result, [*names.values()], whose, found, untouched)
    return result


def _clones(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if not p.is_symlink() and clones.is_clone(p))
    except OSError as error:
        raise SubmissionFolderError(f"{folder} can't be read: {error.strerror}.") from error


def _record_times(
    course: Course, exercise: Exercise, taken: Mapping[str, Taken], result: ImportResult
) -> None:
    """Write when each submission was handed in; the earlier time counts where there is one already."""
    fetched = []
    for student, own in taken.items():
        folder = course.submitted / student / exercise.name
        try:
            before = timestamp(folder)
        except ValueError:
            # the instructor's own, which grading will tell of
            continue
        if own.received is None:
            fetched.append(student)
        moment = own.received or own.head.fetched
        if before is None or moment < before:
            write_time(folder / TIMESTAMP, moment)
    if fetched:
        result.notes.append(
            f"It is not known when GitHub received the submissions of {', '.join(fetched)}. The time recorded is "
            "when you fetched them, or an earlier one that was recorded before. Get the files of activity with "
            "`gh api` and collect again, before anybody counts as late."
        )


def _tell(
    result: ImportResult,
    students: Sequence[str],
    whose: Mapping[str, Path],
    found: Sequence[Path],
    untouched: Sequence[str],
) -> None:
    """Say who has no clone, whose notebook is as it was handed out, and which clones are nobody's."""
    missing = [student for student in students if student not in whose]
    others = [clone.name for clone in found if clone not in whose.values()]
    for words, which in (
        ("No clone", missing),
        ("As it was handed out, and not collected", untouched),
        ("Of nobody in the roster, and left out", others),
    ):
        if which:
            result.notes.append(f"{words}: {', '.join(which)}.")
