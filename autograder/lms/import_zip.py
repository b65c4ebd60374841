"""A class's submissions from the zip that a learning management system gives, laid out for nbgrader.

Nothing in a zip is trusted: no path in it is written to, links are not followed, and what is
unpacked is bounded. `systems` lists the modules that say how each system names files. What a group has
handed in carries the group's name, in some with the group's number as well.

A zip may say who is late, and not by how much; a grading worksheet says the time. What is known goes into
timestamp.txt beside the notebook.
"""

from __future__ import annotations

import collections
import datetime
import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from autograder.course import Course, Exercise
from autograder.errors import SubmissionFolderError
from autograder.files import NOT_ORDINARY, ordinary_name
from autograder.grade.groups import Groups, read_groups
from autograder.grade.lateness import dates
from autograder.grade.read_gradebook import opened
from autograder.grade.submission import (
    MAX_COMPANION,
    MAX_COMPANIONS,
    MAX_WITH_OUTPUTS,
    NOTEBOOK,
    OF_THE_EXCHANGE,
    is_litter,
)
from autograder.lms.laid_out import (
    MAX_BESIDE,
    TIMESTAMP,
    ImportResult,
    last_set_aside,
    put,
    refuse_sample_class,
    stem_of,
    write_time,
)
from autograder.lms.moodle_worksheet import Participant, handed_in, read_worksheet
from autograder.lms.names import LmsName, numbered_id, remember_names
from autograder.lms.system import FileName, Person, System
from autograder.lms.systems import NAMES, SYSTEMS, TITLES

MAX_ENTRIES, MAX_PATH = 20_000, 1_000
MAX_TOTAL = 10_000_000_000
# Deflate makes a notebook about five times smaller, and a megabyte of zeros a thousand times.
MAX_RATIO, RATIO_FROM = 200, 1_000_000
# Canvas counts what is handed in again: name-1.ipynb; browsers count downloads: name (1).ipynb
COUNTED = re.compile(r"(?:-\d+| ?\(\d+\))+$")
# what a mark in a file's name says at least
LATE_BY = datetime.timedelta(minutes=1)
# what a damaged zip raises
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError)
BY_HAND = "Ask for it, or fetch it by hand."


def _people(archive: zipfile.ZipFile, notes: list[str]) -> list[Person]:
    """Everybody who has a file in the zip, in order of appearance."""
    people: dict[tuple[str, str], Person] = {}
    strange, typed = [], []
    for entry in archive.infolist():
        path = PurePosixPath(entry.filename)
        name = entry.filename
        escapes = path.is_absolute() or ".." in path.parts or "\\" in name
        if entry.is_dir() or (is_litter(path) and not escapes):
            continue
        if not escapes and any(system.is_typed(path) for system in SYSTEMS.values()):
            typed.append(name)
            continue
        known = None
        if not escapes and len(name) <= MAX_PATH:
            known = _read_name(path)
        if known is None:
            strange.append(name)
            continue
        found, system = known
        key = found.person, found.number
        person = people.setdefault(key, Person(*key, system))
        person.late |= found.late
        person.files.append((found.file, (found.order, entry.date_time), entry))
    for why, left_out in (
        (f"Not named as {TITLES} do, and left out", strange),
        ("Typed in as text or as a link in place of a file, and left out", typed),
    ):
        if left_out:
            shown = ", ".join(repr(left[:80]) for left in left_out[:3])
            notes.append(f"{why}: {len(left_out)}, such as {shown}.")
    return list(people.values())


def _read_name(path: PurePosixPath) -> tuple[FileName, System] | None:
    """What the path of a file says, and which system makes such paths."""
    for system in SYSTEMS.values():
        if found := system.read_name(path):
            return found, system
    return None


def _rostered(course: Course) -> dict[str, str]:
    """Ids of the gradebook's students by what a zip may call them; what fits two is left out."""
    named = collections.defaultdict(set)
    with opened(course) as gradebook:
        for student in gradebook.students if gradebook else ():
            first, last = student.first_name or "", student.last_name or ""
            keys = {student.lms_user_id or "", student.id, student.email or ""}
            if first and last:
                for system in SYSTEMS.values():
                    keys |= set(system.ids_of_names(first, last))
            for key in keys - {""}:
                named[key.casefold()].add(student.id)
    return {key: next(iter(ids)) for key, ids in named.items() if len(ids) == 1}


def _ids(
    people: Sequence[Person],
    rostered: dict[str, str],
    groups: Groups,
    participants: Mapping[str, Participant],
    notes: list[str],
) -> list[str]:
    """An id for each: the roster's, or one made of the name; with the number where two are alike.

    What a group has handed in is its first member's: the systems name it after the group. participants: of
    the grading worksheet, by number; they tell two of one name apart.
    """
    first = {group: student for student, group in reversed(list(groups.by_student.items()))}
    of_groups = {
        system.own_id(group, "").casefold(): student
        for system in SYSTEMS.values()
        for group, student in first.items()
    }
    rostered = of_groups | rostered
    known = list(dict.fromkeys(groups.by_student.values()))
    found = []
    for person in people:
        own = person.system.own_id(person.name, person.number)
        names = [n.casefold() for n in person.system.names_of(person, participants, known)]
        found.append(next((rostered[name] for name in names if name in rostered), own))
    alike = collections.defaultdict(list)
    for i, name in enumerate(found):
        alike[name.casefold()].append(i)
    for places in alike.values():
        if len(places) > 1:
            for i in places:
                found[i] = numbered_id(people[i].name, people[i].number)
            person = people[places[0]]
            notes.append(
                f"{person.name!r} occurs {len(places)} times, so these have the number in the zip: "
                f"{', '.join(found[i] for i in places)}. To tell them apart, {_way_to_id(person, participants)}, or "
                "rename the folder to the student's id."
            )
    return found


def _way_to_id(person: Person, participants: Mapping[str, Participant]) -> str:
    """How the files of a student get to the id in the roster; participants: of the worksheet that was given."""
    if person.number not in participants:
        return person.system.way_to_id
    return (
        "write their e-mail addresses in the worksheet into your roster; the worksheet of an anonymous assignment has "
        "them once the identities are revealed"
    )


def _notebook(person: Person, student: str, exercise: str, notes: list[str]) -> zipfile.ZipInfo:
    """The notebook of a student: one of the exercise's name, else any; of several the newest.

    Without one, it's a zip, which may hold one, else the newest file.
    """

    def rank(file: tuple[str, tuple, zipfile.ZipInfo]) -> tuple:
        return COUNTED.sub("", NOTEBOOK.sub("", file[0])) == exercise, file[1]

    notebooks = [file for file in person.files if NOTEBOOK.search(file[0])]
    packed = [file for file in person.files if file[0].lower().endswith(".zip")]
    if not notebooks and packed:
        return max(packed, key=lambda file: file[1])[2]
    if not notebooks:
        names = ", ".join(_on_one_line(file[0][:80]) for file in person.files[:3])
        notes.append(f"{student} has handed in no notebook ({names}). A person has to look at it.")
        return max(person.files, key=lambda file: file[1])[2]
    best = max(notebooks, key=rank)
    if len(notebooks) > 1:
        name = _on_one_line(best[0])
        notes.append(f"{student} has handed in {len(notebooks)} notebooks; {name} was taken.")
    elif not rank(best)[0]:
        notes.append(f"{student}'s notebook is called {_on_one_line(best[0])}; it was taken.")
    return best[2]


def _on_one_line(name: str) -> str:
    """A file's name as a note tells it: what stands behind a line break would be taken for a note."""
    return " ".join(name.split())


def _beside(
    person: Person, chosen: zipfile.ZipInfo | None, student: str, notes: list[str]
) -> dict[str, zipfile.ZipInfo]:
    """What else a student has handed in, by the names under which it lies beside the chosen notebook, if any.

    Of other notebooks the grader sees which was worked on; a notebook may import or show other files.
    """
    notebooks = [(file, entry) for file, _, entry in person.files if NOTEBOOK.search(file)]
    others = [(file, entry) for file, entry in notebooks if entry is not chosen]
    found = {}
    for number, (file, entry) in enumerate(others[:MAX_BESIDE], 1):
        found[f"{stem_of(file)} ({number}).ipynb"] = entry
    own: dict[str, zipfile.ZipInfo] = {}
    for file, _, entry in sorted(person.files, key=lambda file: file[1], reverse=True):
        if entry is not chosen and _lies_beside(file):
            own.setdefault(file, entry)
    strange = [file for file, _, entry in person.files if entry is not chosen and _is_strange(file)]
    large = [file for file, entry in own.items() if entry.file_size > MAX_COMPANION]
    for what, left_out in (
        (f"of more than {MAX_COMPANION // 1_000_000} MB", large),
        (f"with {NOT_ORDINARY}", strange),
    ):
        if left_out:
            shown = ", ".join(map(repr, (file[:80] for file in left_out[:3])))
            notes.append(
                f"{student} has handed in files {what} beside the notebook, which were left out: {shown}."
            )
    fitting = [(file, entry) for file, entry in own.items() if file not in large]
    found |= dict(fitting[:MAX_COMPANIONS])
    for file, entry in fitting[:MAX_COMPANIONS]:
        path = PurePosixPath(file)
        plain = f"{COUNTED.sub('', path.stem)}{path.suffix}"
        if _lies_beside(plain):
            found.setdefault(plain, entry)
    return found


def _is_strange(file: str) -> bool:
    """Whether a file that could lie beside a notebook is left out because of its name."""
    left_out = NOTEBOOK.search(file) or is_litter(PurePosixPath(file))
    return not left_out and ordinary_name(file) is None


def _lies_beside(file: str) -> bool:
    """Whether a file of this name can lie beside a notebook without being taken for something else."""
    return (
        ordinary_name(file) is not None
        and file.casefold() not in OF_THE_EXCHANGE
        and not NOTEBOOK.search(file)
        and not is_litter(PurePosixPath(file))
    )


def _refusal(entry: zipfile.ZipInfo) -> str:
    """Why an entry is not unpacked, or nothing."""
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "is a link or another thing that is no file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is packed in another way than {TITLES} packs"
    if entry.file_size > MAX_WITH_OUTPUTS:
        return f"is too large ({entry.file_size / 1e6:.0f} MB)"
    if entry.file_size > max(RATIO_FROM, MAX_RATIO * entry.compress_size):
        return "unpacks to far more than a notebook does"
    return ""


def _inside(content: bytes, exercise: str) -> tuple[dict[str, bytes], str]:
    """The notebook in a zip that a student has handed in, with what lies beside it, or why there is none.

    Raises what a damaged zip raises.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()[:MAX_ENTRIES]
        found = [
            entry
            for entry in entries
            if NOTEBOOK.search(entry.filename) and not is_litter(PurePosixPath(entry.filename))
        ]
        named = [e for e in found if PurePosixPath(e.filename).name == f"{exercise}.ipynb"]
        if len(named or found) != 1:
            return {}, f"holds {len(named or found)} notebooks"
        (entry,) = named or found
        if problem := _refusal(entry):
            return {}, f"holds a notebook that {problem}"
        files = {f"{exercise}.ipynb": archive.read(entry)}
        folder = PurePosixPath(entry.filename).parent
        strange = 0
        for other in entries:
            path = PurePosixPath(other.filename)
            inside = not other.is_dir() and path.parent == folder
            ordinary = inside and _lies_beside(path.name)
            strange += inside and _is_strange(path.name)
            if len(files) > MAX_COMPANIONS:
                break
            if ordinary and other.file_size <= MAX_COMPANION and not _refusal(other):
                files[path.name] = archive.read(other)
        left_out = f"holds {strange} files with {NOT_ORDINARY}, which were left out"
        return files, left_out if strange else ""


def _unpacked(
    archive: zipfile.ZipFile, student: str, entry: zipfile.ZipInfo, notes: list[str]
) -> bytes | None:
    """The content of a student's file; what can't be unpacked is told and None."""
    problem = _refusal(entry)
    if not problem:
        try:
            # never more than the size that was checked, whatever is packed
            return archive.read(entry)
        except DAMAGED:
            problem = "is damaged"
    notes.append(f"{student}: {entry.filename!r} {problem}. {BY_HAND}")
    return None


def _files_of(
    archive: zipfile.ZipFile,
    student: str,
    person: Person,
    chosen: zipfile.ZipInfo,
    exercise: str,
    notes: list[str],
) -> dict[str, bytes]:
    """What a student has handed in, by the names under which it is laid out; empty if that can't be unpacked.

    Without a notebook it is laid out as it is: grading asks a person to look at it.
    """
    files: dict[str, bytes] = {}
    if NOTEBOOK.search(chosen.filename) or chosen.filename.lower().endswith(".zip"):
        content = _unpacked(archive, student, chosen, notes)
        if content is None:
            return {}
        files, problem = {f"{exercise}.ipynb": content}, ""
        if not NOTEBOOK.search(chosen.filename):
            try:
                files, problem = _inside(content, exercise)
            except DAMAGED:
                files, problem = {}, "is damaged"
        if problem:
            notes.append(f"{student}: {chosen.filename!r} {problem}. {BY_HAND}")
    for name, entry in _beside(person, chosen if files else None, student, notes).items():
        other = _unpacked(archive, student, entry, notes)
        if other is not None:
            files.setdefault(name, other)
    return files


def _names(
    found: Iterable[tuple[str, Person]], chosen: Mapping[str, zipfile.ZipInfo], groups: Groups
) -> dict[str, LmsName]:
    """What the zip called the students whose work was taken."""
    names = {
        student: person.system.name_for_feedback(person, chosen[student], groups)
        for student, person in found
    }
    return {student: name for student, name in names.items() if name}


def import_zip(
    course: Course,
    path: Path,
    exercise: Exercise,
    worksheet: Path | None = None,
    zone: str = "",
) -> ImportResult:
    """Lay out a class's zip as STUDENT/EXERCISE/EXERCISE.ipynb in the course's folder of submissions.

    A submission that lies there already and differs is moved to replaced/ in the folder of the class.

    Args:
        course: whose folder of submissions and roster are used.
        path: the zip.
        exercise: what was handed in.
        worksheet: the grading worksheet of the assignment, for times and for two of one name.
        zone: the time zone of the worksheet's times, like Europe/Berlin; empty for this machine's.

    Raises:
        SubmissionFolderError: the file is no such zip or would unpack to too much, or the sample class
            lies in the folder; nothing has been changed.
        ExportError, TableError: the worksheet is none, or can't be read; nothing has been changed.
        GradebookError: the gradebook, which holds the roster, can't be used; nothing has been changed.
        OutputError: a folder can't be written; the zip can be imported again.
    """
    submitted = course.submitted
    refuse_sample_class(course)
    result = ImportResult()
    notes = result.notes
    participants = {one.number: one for one in read_worksheet(worksheet)} if worksheet else {}
    times = (
        {number: handed_in(one, zone, worksheet) for number, one in participants.items()}
        if worksheet
        else {}
    )
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise SubmissionFolderError(
            f"{path} is not a zip that can be opened ({error}). Download it again."
        ) from error
    with archive:
        if len(archive.infolist()) > MAX_ENTRIES:
            raise SubmissionFolderError(
                f"{path} holds more than {MAX_ENTRIES} files: no class's zip of one assignment does."
            )
        people = _people(archive, notes)
        if not people:
            ways = "; ".join(f"in {SYSTEMS[n].title}, {SYSTEMS[n].download}" for n in NAMES)
            raise SubmissionFolderError(
                f"No file in {path} is named as {TITLES} name submissions. To download them, choose {ways}."
            )
        groups = read_groups(course, exercise.name)
        rostered = _rostered(course)
        ids = _ids(people, rostered, groups, participants, notes)
        chosen = {
            student: _notebook(person, student, exercise.name, notes)
            for student, person in zip(ids, people, strict=True)
        }
        laid = [*chosen.values()]
        for student, person in zip(ids, people, strict=True):
            laid += _beside(person, chosen[student], student, []).values()
        if sum(entry.file_size for entry in laid) > MAX_TOTAL:
            raise SubmissionFolderError(
                f"{path} would unpack to more than {MAX_TOTAL / 1e9:.0f} GB. Look at what is so large in "
                "it; nothing was unpacked."
            )
        remember_names(course, exercise, _names(zip(ids, people, strict=True), chosen, groups))
        for student, person in zip(ids, people, strict=True):
            given = student, person, chosen[student], exercise.name
            files = _files_of(archive, *given, notes)
            # what is no notebook takes no notebook's place
            kept = (
                exercise.notebook.name not in files
                and (submitted / student / exercise.name).exists()
            )
            if files and not kept:
                put(course, exercise, student, files, result)
    laid_out = {*result.new, *result.unchanged, *result.replaced}
    whose = {s: p for s, p in zip(ids, people, strict=True) if s in laid_out}
    strangers = sorted(laid_out - set(rostered.values()))
    if rostered and strangers:
        known = [_way_to_id(whose[name], participants) for name in strangers]
        ways = " or ".join(dict.fromkeys(known))
        notes.append(
            f"Not in the roster: {', '.join(strangers)}. They are graded under these ids. If they are in it "
            f"under other ids, {ways}."
        )
    _record_times(course, exercise, whose, times, result)
    return result


def _record_times(
    course: Course,
    exercise: Exercise,
    people: Mapping[str, Person],
    times: Mapping[str, datetime.datetime | None],
    result: ImportResult,
) -> None:
    """Write what is known of the times of submission beside the notebooks that have none yet.

    people: whose notebooks were laid out; times: of the worksheet, by number.
    """
    (own,) = dates(course, [exercise])
    least, unknown = [], []
    for student, person in sorted(people.items()):
        stamp = course.submitted / student / exercise.name / TIMESTAMP
        if stamp.exists():
            continue
        moment = times.get(person.number) if person.system.has_worksheet else None
        if person.late and own.due:
            least.append(student)
            moment = own.due + own.extensions.get(student, datetime.timedelta()) + LATE_BY
        elif person.late:
            unknown.append(student)
        if moment is not None:
            write_time(stamp, moment)
    if least:
        result.notes.append(
            f"Late, says the zip, but not by how much: {', '.join(least)}. They are recorded as a minute late; "
            "where a penalty depends on more, write the time into timestamp.txt."
        )
    if unknown:
        result.notes.append(
            f"Late, says the zip: {', '.join(unknown)}. Nothing was recorded, since {exercise} has no due date "
            f"here. Set it with `python -m autograder due {exercise} TIME` and import again."
        )
    for student in result.replaced:
        before = last_set_aside(course, exercise, student) / TIMESTAMP
        now = course.submitted / student / exercise.name / TIMESTAMP
        if before.exists() and not now.exists():
            result.notes.append(
                f"{student} has handed in again. The earlier submission had a time in timestamp.txt, this one "
                "has none: write one, or the time that was recorded in grading the earlier one stays."
            )
