"""Submissions from elsewhere, laid out as STUDENT/EXERCISE in a class's folder; what was there is set aside."""

from __future__ import annotations

import datetime
import errno
import os
import re
import shutil
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course import Course, Exercise
from autograder.errors import SubmissionFolderError, writing
from autograder.files import ordinary_name, shortened
from autograder.grade.submission import NOTEBOOK

TIMESTAMP = "timestamp.txt"
# other notebooks of a student that are laid out, and the bytes of their names without number and ending
MAX_BESIDE, MAX_STEM = 9, 130
# what no student's files cause
OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass
class ImportResult:
    """What an import did: ids of students, and sentences for the instructor in `notes`."""

    new: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def stem_of(notebook: str) -> str:
    """The name, without its ending, under which a further notebook lies beside the exercise's own."""
    plain = re.sub(r"[^\w .()-]", "_", unicodedata.normalize("NFC", NOTEBOOK.sub("", notebook)))
    return shortened(plain, MAX_STEM).strip(". ")


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
) -> bool:
    """Lay out a student's files, by name, unless they lie there already; the result says which it was.

    Whether they lie there now: what the system refuses to write of one student becomes a note, and nothing
    of this student's is changed. Raises OutputError for what would be refused of everybody.
    """
    files = {ordinary_name(name) or name: content for name, content in files.items()}
    folder = course.submitted / student / exercise.name
    new = folder.with_name(f".{exercise.name}.new")
    try:
        if all(_holds(folder / name, content) for name, content in files.items()):
            result.unchanged.append(student)
            return True
        # a run that was killed may have left it
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        for name, content in files.items():
            (new / name).write_bytes(content)
        if again := folder.exists():
            aside = _aside(course, exercise, student)
            aside.mkdir(parents=True, exist_ok=True)
            folder.rename(aside / str(1 + max(_numbers(aside), default=0)))
        new.rename(folder)
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        is_writable = os.access(course.submitted, os.W_OK | os.X_OK)
        with writing(folder.parent):
            if error.errno in OF_THE_MACHINE or not is_writable:
                raise
        result.notes.append(
            f"{student}: {Path(error.filename or folder).name!r} can't be written ({error.strerror}). Nothing of this "
            f"student's was laid out. Lay it out by hand in {folder}, under another name if the name is the "
            "cause, or make that folder writable and run the command again."
        )
        return False
    (result.replaced if again else result.new).append(student)
    return True


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
