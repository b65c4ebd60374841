"""Feedback pages in one zip, laid out as a learning management system takes them back.

Canvas (*Upload Submissions* of an assignment whose submissions were downloaded) attaches a file to the
comments of the student whose number, and number of the attachment handed in, stand in its name, as in
the zip that it gave; everybody in the student's group sees it. Read from canvas-lms,
app/models/abstract_assignment.rb, `infer_comment_context_from_filename`. Moodle (*Upload multiple
feedback files in a zip*) wants a folder `Full Name_PARTICIPANT_assignsubmission_file_/` for each
student; the number of the participant decides, and the first three marks `_` have to be these. Read from
moodle, mod/assign/feedback/file/importziplib.php.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.course import Course, Exercise
from autograder.errors import ExportError, writing
from autograder.files import PRIVATE, write_whole
from autograder.grade.class_grades import Grade, Student, grades_of
from autograder.grade.feedback import content_of, feedback_page
from autograder.grade.groups import read_groups
from autograder.lms.moodle_files import folder, whose
from autograder.lms.moodle_worksheet import read_worksheet
from autograder.lms.names import LmsName, remembered_names, student_id
from autograder.lms.system import System
from autograder.lms.systems import SYSTEMS, WORKSHEETS

# the same zip from the same pages
DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class ReturnZip:
    """What a zip holds. packed, unchanged, without: students whose page is in it, has been returned
    before, or does not exist; notes: sentences for the instructor.
    """

    packed: tuple[str, ...]
    unchanged: tuple[str, ...]
    without: tuple[str, ...]
    notes: tuple[str, ...]


def _record(course: Course, exercise: Exercise) -> Path:
    return course.home / "returned" / f"{exercise}.json"


def _from_worksheet(
    path: Path,
    system: System,
    students: Mapping[str, Student],
    known: Mapping[str, LmsName],
    notes: list[str],
) -> dict[str, LmsName]:
    """Folders for Moodle by student, from the worksheet of an assignment."""
    found = {}
    for student, one in whose(read_worksheet(path), students.values(), known, notes).items():
        name = student_id(one.full_name) if one.full_name else "Participant"
        found[student] = LmsName(system.name, folder(name, one.number))
    return found


def _names(
    course: Course,
    exercise: Exercise,
    system: System,
    worksheet: Path | None,
    students: Mapping[str, Student],
    notes: list[str],
) -> dict[str, LmsName]:
    known = remembered_names(course, exercise)
    if worksheet and not system.has_worksheet:
        raise ExportError(
            f"--roster is for {WORKSHEETS}: {system.title} needs the names of its own zip."
        )
    if worksheet:
        return _from_worksheet(worksheet, system, students, known, notes)
    found = {s: n for s, n in known.items() if n.lms == system.name}
    if not found:
        also = " or give its grading worksheet with --roster" if system.has_worksheet else ""
        raise ExportError(
            f"{system.title} tells whose a page is by the names in its own zip of submissions, and none "
            f"of {exercise} has been imported. Download the submissions and run `python -m autograder "
            f"import-zip FILE --exercise {exercise}`{also}."
        )
    return found


def _tell_missing(
    course: Course,
    exercise: Exercise,
    system: System,
    unnamed: list[Grade],
    names: Mapping[str, LmsName],
    notes: list[str],
) -> None:
    """Say why pages that exist are not in the zip."""
    groups = read_groups(course, exercise.name)
    through_group = [
        grade.student.id
        for grade in unnamed
        if system.group_page and any(m in names for m in groups.members(grade.student.id))
    ]
    others = [grade.student.id for grade in unnamed if grade.student.id not in through_group]
    if through_group:
        notes.append(
            f"{', '.join(through_group)}: {system.title} shows them the page of their group, if the assignment is a "
            "group assignment there."
        )
    if others:
        notes.append(
            f"{', '.join(others)}: there is feedback, but {system.title}'s zip had no file of theirs. "
            f"{system.way_back}"
        )


def write(
    course: Course,
    exercise: Exercise,
    lms: str,
    output: Path,
    worksheet: Path | None = None,
    everything: bool = False,
) -> ReturnZip:
    """Pack the feedback pages of an exercise that say something new since they were packed last.

    lms: a name in SYSTEMS; worksheet: Moodle's grading worksheet, in place of the names of its zip;
    everything: also the pages that were packed before. Without new pages no zip is written. Each member
    of a group gets the group's page.

    Raises:
        GradebookError: nothing is graded.
        ExportError: it is not known what the system calls anybody.
        TableError: the worksheet can't be read.
        OutputError: the zip can't be written.
    """
    notes: list[str] = []
    grades = grades_of(course, [exercise])
    has_page = {
        grade.student.id: grade
        for grade in grades
        if grade.submitter and feedback_page(course, grade.submitter, exercise.name).is_file()
    }
    students = {student: grade.student for student, grade in has_page.items()}
    system = SYSTEMS[lms]
    names = _names(course, exercise, system, worksheet, students, notes)
    record = _record(course, exercise)
    returned = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    pages, unchanged, now = {}, [], {}
    for student in sorted(set(students) & set(names)):
        page = feedback_page(course, has_page[student].submitter, exercise.name)
        now[student] = content_of(page)
        if not everything and returned.get(student) == now[student]:
            unchanged.append(student)
        else:
            pages[f"{names[student].prefix}{exercise}.html"] = student, page
    unnamed = [grade for student, grade in has_page.items() if student not in names]
    if not worksheet:
        _tell_missing(course, exercise, system, unnamed, names, notes)
    if pages:
        _pack({name: page for name, (_, page) in pages.items()}, output)
        write_whole(record, json.dumps(returned | now, indent=1, ensure_ascii=False), PRIVATE)
    packed = sorted(student for student, _ in pages.values())
    without = sorted(grade.student.id for grade in grades if grade.student.id not in has_page)
    return ReturnZip(tuple(packed), tuple(unchanged), tuple(without), tuple(notes))


def _pack(pages: Mapping[str, Path], output: Path) -> None:
    """Write a zip of pages under other names, whole or not at all."""
    aside = output.with_name(f"{output.name}.new")
    with writing(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, page in pages.items():
                    entry = zipfile.ZipInfo(name, DATE)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.external_attr = 0o644 << 16
                    archive.writestr(entry, page.read_bytes())
            aside.replace(output)
        finally:
            aside.unlink(missing_ok=True)
