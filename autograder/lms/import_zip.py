"""A class's submissions from the zip that Canvas or Moodle gives, laid out for nbgrader.

Nothing in a zip is trusted: no path in it is written to, links are not followed, and what is
unpacked is bounded. Canvas names a file `lastnamefirst_LATE_12345_67890_name-1.ipynb`, with the
numbers of user and attachment (canvas-lms, lib/content_zipper.rb). Moodle makes a folder
`Full Name_1234567_assignsubmission_file_` for each student or, without folders, puts that before
each file's name (moodle, mod/assign/classes/downloader.php). Canvas's number is the user's for good;
Moodle's is a participant's in one assignment only.
"""

from __future__ import annotations

import collections
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autograder.course import SAMPLE_PREFIX, Course, Exercise
from autograder.errors import SubmissionFolderError, writing
from autograder.grade.submission import MAX_NOTEBOOK
from autograder.lms.read_gradebook import opened

MAX_ENTRIES, MAX_NAME = 20_000, 1_000
MAX_TOTAL = 2_000_000_000
# Deflate makes a notebook about five times smaller, and a megabyte of zeros a thousand times.
MAX_RATIO, RATIO_FROM = 200, 1_000_000

# In an assignment that is graded anonymously, Canvas puts a random word in place of the user's number.
CANVAS = (
    re.compile(
        r"(?P<late>LATE_)?(?P<name>anon)_(?P<number>[^\W_]+)_(?P<order>\d+)_(?P<file>[^/]+)"
    ),
    re.compile(r"(?P<name>[^/]+?)_(?P<late>LATE_)?(?P<number>\d+)_(?P<order>\d+)_(?P<file>[^/]+)"),
)
MOODLE = re.compile(
    r"(?P<name>[^/]+)_(?P<number>\d+)_assignsubmission_file(?:_?/(?:.*/)?|_)(?P<file>[^/]+)$"
)


@dataclass
class Person:
    """Who handed in: the name and number that the zip gives, and the files, (name, order, entry)."""

    name: str
    number: str
    from_canvas: bool
    late: bool = False
    files: list[tuple[str, tuple, zipfile.ZipInfo]] = field(default_factory=list)


@dataclass
class Imported:
    """What an import did: ids of students, and sentences for the instructor in `told`."""

    new: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def _kept(name: str, instead: str, also: str) -> str:
    """A name's letters, marks and digits, and some further characters; others are replaced."""
    name = unicodedata.normalize("NFC", name)
    return "".join(
        c if unicodedata.category(c)[0] in "LM" or c.isdecimal() or c in also else instead
        for c in name
    )


def student_id(name: str) -> str:
    """A full name as an id that nbgrader and every file system take: `Full_Name`."""
    kept = re.sub("_+", "_", _kept(name, "_", "-."))
    return kept.strip("._-")[:60] or "unnamed"


def canvas_id(sortable_name: str, number: str) -> str:
    """The id of a user of Canvas, from the name as Canvas sorts it: `lastnamefirst_12345`."""
    return f"{_kept(sortable_name.lower(), '', '_')[:60]}_{number}"


def _people(archive: zipfile.ZipFile, told: list[str]) -> list[Person]:
    """Everybody who has a file in the zip, in order of appearance."""
    people: dict[tuple[str, str], Person] = {}
    strange = []
    for entry in archive.infolist():
        path = PurePosixPath(entry.filename)
        name = entry.filename
        escapes = path.is_absolute() or ".." in path.parts or "\\" in name
        # what macOS and Jupyter leave behind
        litter = any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
        if entry.is_dir() or (litter and not escapes):
            continue
        found = None
        if not escapes and len(name) <= MAX_NAME:
            matches = (pattern.fullmatch(path.name) for pattern in CANVAS)
            found = MOODLE.search(name) or next(filter(None, matches), None)
        if found is None:
            strange.append(name)
            continue
        given = found.groupdict()
        key = given["name"], given["number"]
        person = people.setdefault(key, Person(*key, from_canvas="order" in given))
        person.late |= bool(given.get("late"))
        # the later attachment of Canvas is the newer one
        order = (int(given.get("order", 0)), entry.date_time)
        person.files.append((given["file"], order, entry))
    if strange:
        shown = ", ".join(repr(left[:80]) for left in strange[:3])
        told.append(
            f"Not named as Canvas or Moodle do, and left out: {len(strange)}, such as {shown}."
        )
    return list(people.values())


def _rostered(course: Course) -> dict[str, str]:
    """Ids of the gradebook's students by what a zip may call them; what fits two is left out."""
    named = collections.defaultdict(set)
    with opened(course) as gradebook:
        for student in gradebook.students if gradebook else ():
            first, last = student.first_name or "", student.last_name or ""
            keys = {student.lms_user_id or "", student.id}
            if first and last:
                keys |= {student_id(f"{first} {last}"), student_id(f"{last} {first}")}
                keys.add(canvas_id(f"{last}, {first}", ""))
            for key in keys - {""}:
                named[key.casefold()].add(student.id)
    return {key: next(iter(ids)) for key, ids in named.items() if len(ids) == 1}


def _ids(people: Sequence[Person], rostered: dict[str, str], told: list[str]) -> list[str]:
    """An id for each: the roster's, or one made of the name; with the number where two are alike."""
    found = []
    for person in people:
        if person.from_canvas:
            own = canvas_id(person.name, person.number)
            names = [person.number, canvas_id(person.name, ""), own]
        else:
            own = student_id(person.name)
            names = [own]
        found.append(next((rostered[n.casefold()] for n in names if n.casefold() in rostered), own))
    count = collections.Counter(name.casefold() for name in found)
    for i, person in enumerate(people):
        if count[found[i].casefold()] > 1:
            found[i] = f"{student_id(person.name)}_{person.number}"
            told.append(
                f"{person.name!r} occurs twice and became {found[i]}. Rename the folder to the student's "
                "id: Moodle's number is another one in each assignment."
            )
    return found


def _notebook(
    person: Person, student: str, exercise: str, told: list[str]
) -> zipfile.ZipInfo | None:
    """The notebook of a student: one of the exercise's name, else any; of several the newest."""

    def rank(file: tuple[str, tuple, zipfile.ZipInfo]) -> tuple:
        # Canvas counts what is handed in again: name-1.ipynb; browsers count downloads: name (1).ipynb
        stem = re.sub(r"(-\d+| ?\(\d+\))*\.ipynb$", "", file[0], flags=re.IGNORECASE)
        return stem == exercise, file[1]

    notebooks = [file for file in person.files if file[0].lower().endswith(".ipynb")]
    if not notebooks:
        names = ", ".join(file[0][:80] for file in person.files[:3])
        told.append(f"{student} has handed in no notebook ({names}).")
        return None
    best = max(notebooks, key=rank)
    if len(notebooks) > 1:
        told.append(f"{student} has handed in {len(notebooks)} notebooks; {best[0]} was taken.")
    elif not rank(best)[0]:
        told.append(f"{student}'s notebook is called {best[0]}; it was taken.")
    return best[2]


def _refusal(entry: zipfile.ZipInfo) -> str:
    """Why an entry is not unpacked, or nothing."""
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "is a link or another thing that is no file"
    if entry.flag_bits & 1:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed in a way that neither Canvas nor Moodle uses"
    if entry.file_size > MAX_NOTEBOOK:
        return f"is too large ({entry.file_size / 1e6:.0f} MB)"
    if entry.file_size > max(RATIO_FROM, MAX_RATIO * entry.compress_size):
        return "unpacks to far more than a notebook does"
    return ""


def _unpacked(
    archive: zipfile.ZipFile, chosen: dict[str, zipfile.ZipInfo], told: list[str]
) -> Iterator[tuple[str, bytes]]:
    """Students and their notebooks' contents; what can't be unpacked is told."""
    for student, entry in chosen.items():
        problem = _refusal(entry)
        content = b""
        if not problem:
            try:
                # never more than the size that was checked, whatever is packed
                content = archive.read(entry)
            except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError):
                problem = "is damaged"
        if problem:
            told.append(
                f"{student}: {entry.filename!r} {problem}. Ask for it, or fetch it by hand."
            )
        else:
            yield student, content


def import_zip(course: Course, path: Path, exercise: Exercise) -> Imported:
    """Lay out a class's zip as STUDENT/EXERCISE/EXERCISE.ipynb in the course's folder of submissions.

    A submission that lies there already and differs is moved to replaced/ in the folder of the class.

    Raises:
        SubmissionFolderError: the file is no such zip or would unpack to too much, or the sample class
            lies in the folder; nothing has been changed.
        GradebookError: the gradebook, which holds the roster, can't be used; nothing has been changed.
        OutputError: a folder can't be written; the zip can be imported again.
    """
    submitted = course.submitted
    if any(submitted.glob(f"{SAMPLE_PREFIX}*")):
        raise SubmissionFolderError(
            f"{submitted} holds the sample class: delete {course.home} before your own class begins."
        )
    result = Imported()
    told = result.told
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
        people = _people(archive, told)
        if not people:
            raise SubmissionFolderError(
                f"No file in {path} is named as Canvas or Moodle name submissions. In Canvas choose "
                "Download Submissions; in Moodle, Download all submissions."
            )
        ids = _ids(people, _rostered(course), told)
        chosen = {}
        for student, person in zip(ids, people, strict=True):
            entry = _notebook(person, student, exercise.name, told)
            if entry is not None:
                chosen[student] = entry
        if sum(entry.file_size for entry in chosen.values()) > MAX_TOTAL:
            raise SubmissionFolderError(
                f"{path} would unpack to more than {MAX_TOTAL / 1e9:.0f} GB. Look at what is so large in "
                "it; nothing was unpacked."
            )
        for student, content in _unpacked(archive, chosen, told):
            with writing(submitted / student):
                _put(course, exercise, student, content, result)
    late = [s for s, p in zip(ids, people, strict=True) if p.late]
    if late:
        told.append(
            f"Late, says Canvas: {', '.join(late)}. The zip doesn't say when: for a penalty, write the time "
            "into timestamp.txt."
        )
    return result


def _put(
    course: Course, exercise: Exercise, student: str, content: bytes, result: Imported
) -> None:
    target = course.submitted / student / exercise.name / f"{exercise.name}.ipynb"
    if target.is_file() and target.read_bytes() == content:
        result.unchanged.append(student)
        return
    if target.parent.exists():
        aside = course.home / "replaced" / student / exercise.name
        aside.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(p.name) for p in aside.iterdir() if p.name.isdecimal()), default=0)
        target.parent.rename(aside / str(number))
        result.replaced.append(student)
    else:
        result.new.append(student)
    target.parent.mkdir(parents=True)
    target.write_bytes(content)
