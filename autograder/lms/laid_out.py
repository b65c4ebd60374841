"""Submissions from elsewhere, laid out as STUDENT/EXERCISE in a class's folder; what was there is set aside."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course import Course, Exercise
from autograder.errors import SubmissionFolderError, writing

TIMESTAMP = "timestamp.txt"


@dataclass
class ImportResult:
    """What an import did: ids of students, and sentences for the instructor in `notes`."""

    new: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def refuse_sample_class(course: Course) -> None:
    """Raise SubmissionFolderError where the sample class lies in the folder of submissions."""
    if course.is_sample_class:
        raise SubmissionFolderError(
            f"{course.submitted} holds the sample class, and nothing else: rename {course.home}, for example to "
            f"{course.home.name}-sample, before your own class begins."
        )


def put(
    course: Course,
    exercise: Exercise,
    student: str,
    files: Mapping[str, bytes],
    result: ImportResult,
) -> None:
    """Lay out a student's files, by name, unless they lie there already; the result says which it was."""
    folder = course.submitted / student / exercise.name
    if all(_holds(folder / name, content) for name, content in files.items()):
        result.unchanged.append(student)
        return
    if folder.exists():
        aside = _aside(course, exercise, student)
        aside.mkdir(parents=True, exist_ok=True)
        folder.rename(aside / str(1 + max(_numbers(aside), default=0)))
        result.replaced.append(student)
    else:
        result.new.append(student)
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def write_time(path: Path, moment: datetime.datetime) -> None:
    """Write a time of submission, in UTC without a zone, as nbgrader reads it. Raises OutputError."""
    with writing(path):
        path.write_text(f"{moment:%Y-%m-%d %H:%M:%S} UTC\n", encoding="utf-8")


def _aside(course: Course, exercise: Exercise, student: str) -> Path:
    return course.home / "replaced" / student / exercise.name


def _numbers(folder: Path) -> list[int]:
    """The numbers of the submissions in a folder of those that were replaced."""
    return [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]


def last_set_aside(course: Course, exercise: Exercise, student: str) -> Path:
    """The submission of a student that was replaced last."""
    aside = _aside(course, exercise, student)
    return aside / str(max(_numbers(aside)))
