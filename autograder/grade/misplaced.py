"""Submissions that nobody would find: in a folder of another name than an exercise's or a student's."""

from __future__ import annotations

import collections
import os
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePath

from autograder.course import Course
from autograder.grade.read_gradebook import opened
from autograder.grade.submission import NOTEBOOK, can_be_id, is_litter

MAX_NAMED = 5


def misplaced(course: Course) -> list[str]:
    """What to say about notebooks among the submissions that belong to no exercise or student, and so aren't graded."""
    exercises = {exercise.name for exercise in course.exercises()}
    found = [
        str(path.relative_to(course.submitted))
        for student in _entries(course.submitted)
        for path in (student, *_entries(student))
        if _is_notebook(path)
        or (
            path != student
            and path.name not in exercises
            and any(map(_is_notebook, _entries(path)))
        )
    ]
    notes = []
    if found:
        notes.append(
            f"Not graded, because no exercise is called so: {_listed(found)} in {course.submitted}. A submission "
            "belongs into STUDENT/EXERCISE/EXERCISE.ipynb there."
        )
    nobodys = [
        os.fsencode(path.name).decode(errors="backslashreplace")
        for path in (sorted(course.submitted.iterdir()) if course.submitted.is_dir() else ())
        if not can_be_id(path.name) and any((path / exercise).is_dir() for exercise in exercises)
    ]
    if nobodys:
        notes.append(
            f"Not graded, because no student can be called so: {_listed(nobodys)} in {course.submitted}. Give such "
            "a folder the student's id, which doesn't begin with a dot and is in UTF-8."
        )
    return notes


def _entries(folder: Path) -> Iterator[Path]:
    """What lies in a folder that is no link, in order."""
    if folder.is_symlink() or not folder.is_dir():
        return
    try:
        yield from sorted(path for path in folder.iterdir() if not is_litter(PurePath(path.name)))
    except OSError:
        return


def _is_notebook(path: Path) -> bool:
    return bool(NOTEBOOK.search(path.name)) and path.is_file() and not path.is_symlink()


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def strangers(course: Course, students: Collection[str]) -> list[str]:
    """What to say about students who hand in and are not in the roster, or whose id is written in two ways.

    students: who has handed in.
    """
    with opened(course) as gradebook:
        known = {student.id: student for student in gradebook.students} if gradebook else {}
    alike = collections.defaultdict(list)
    for student in {*known, *students}:
        alike[_spelling(student)].append(student)
    twice = {name: sorted(ids) for ids in alike.values() if len(ids) > 1 for name in ids}
    notes = [
        f"{' and '.join(twice[name])} are written almost alike. If they are one student, give the folder in "
        f"{course.submitted} the id of the roster, and remove the other with `nbgrader db student remove ID --force`."
        for name in sorted(students)
        if name in twice and name == min(set(twice[name]) & set(students))
    ]
    has_roster = any(s.first_name or s.last_name or s.email for s in known.values())
    unknown = sorted(set(students) - set(known) - set(twice))
    if has_roster and unknown:
        notes.append(
            f"Not in the roster, and added under the names of their folders: {_listed(unknown)}."
        )
    return notes


def _spelling(student: str) -> str:
    """What spellings of an id have in common, whatever their case, spaces, and zeros at the beginning."""
    plain = unicodedata.normalize("NFKC", student).casefold()
    return "".join(plain.split()).lstrip("0") or student
