"""Feedback as one Markdown text for each repository that was collected, to be posted there as an issue."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.course import Course, Exercise
from autograder.errors import ExportError, OutputError
from autograder.files import PRIVATE, digest_of, write_whole
from autograder.grade.class_grades import grades_of
from autograder.lms.collect_github import LMS
from autograder.lms.names import remembered_names

# GitHub takes 65,536 in an issue
MAX_TEXT = 60_000
CUT = "\n\nThe rest is left out: this is all that an issue can hold. Ask for the whole page.\n"


@dataclass(frozen=True)
class Returned:
    """What was written. written, unchanged, without: students whose text is in the folder, has been
    returned before, or who have none.
    """

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    without: tuple[str, ...]


def write(
    course: Course,
    exercise: Exercise,
    folder: Path,
    text_of: Callable[[str, str], str],
    everything: bool = False,
) -> Returned:
    """Write what is new since the last time into an empty folder, as REPOSITORY.md.

    Each member of a group who has a repository gets the group's text. text_of: the feedback on a student's
    submission to an exercise; everything: also what was returned before.

    Raises:
        GradebookError: nothing is graded.
        ExportError: no repository has been collected.
        OutputError: the folder isn't empty, or can't be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise OutputError(
            f"{folder} has files already, which would be posted again. Give the name of a new folder."
        )
    names = {s: n.prefix for s, n in remembered_names(course, exercise).items() if n.lms == LMS}
    if not names:
        raise ExportError(
            f"No repository of {exercise} has been collected: run `python -m autograder collect-github` first."
        )
    record = course.home / "returned" / f"{exercise}.{LMS}.json"
    returned = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    now, written, unchanged, without = {}, [], [], []
    for grade in grades_of(course, [exercise]):
        student = grade.student.id
        if student not in names:
            continue
        text = text_of(grade.submitter, exercise.name) if grade.submitter else ""
        if not text:
            without.append(student)
            continue
        now[student] = digest_of(text)[:16]
        if not everything and returned.get(student) == now[student]:
            unchanged.append(student)
            continue
        whole = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - len(CUT)] + CUT
        write_whole(folder / f"{names[student]}.md", whole, PRIVATE)
        written.append(student)
    write_whole(record, json.dumps(returned | now, indent=1, ensure_ascii=False), PRIVATE)
    return Returned(tuple(written), tuple(unchanged), tuple(without))
