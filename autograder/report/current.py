"""Which exercises' pages are up to date: what they were made from, and what they say.

Pages are current while all that they are made from has the same content, and they say what was written
then. So pages that somebody has changed or removed are made anew, and so are those that another command
was writing at the same time.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.book_index import book_url
from autograder.course import Course, Exercise
from autograder.files import PRIVATE, digest_of, digest_of_files, write_whole
from autograder.grade.class_grades import Grade
from autograder.grade.gradebook import autograded_notebook
from autograder.grade.groups import read_groups
from autograder.grade.result import Result
from autograder.package import PACKAGE

STAMPS = "made_from.json"
# whose versions show on pages, or in what they count
LIBRARIES = ("jinja2", "markupsafe", "numpy", "rapidfuzz")


class Stamps:
    """The stamps of a course's pages, by exercise, kept beside the pages."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._path = course.home / "reports" / STAMPS
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            kept = {}
        self._kept: dict[str, Any] = kept if isinstance(kept, dict) else {}
        root, solutions = course.root, course.root / "solutions"
        self._everywhere = [
            digest_of_files(PACKAGE.rglob("*"), PACKAGE),
            digest_of_files([*solutions.rglob("*"), *course.book.glob("*.md")], root),
            [str(path) for path in (root, course.home, course.feedback, course.built_book)],
            [book_url(), sys.version, *map(importlib.metadata.version, LIBRARIES)],
        ]

    def made_from(
        self, exercise: Exercise, results: Sequence[Result], grades: Sequence[Grade]
    ) -> str:
        """A digest of all that an exercise's pages are made from; results, grades: of the exercise."""
        graded = [autograded_notebook(self._course, r.student, r.exercise) for r in results]
        return digest_of(
            [
                self._everywhere,
                [result.to_json() for result in results],
                list(grades),
                digest_of_files([exercise.notebook], exercise.root),
                digest_of_files(graded, self._course.autograded),
                # their order counts
                list(read_groups(self._course, exercise.name).by_student.items()),
            ]
        )

    def are_current(self, exercise: Exercise, made_from: str, files: Sequence[Path]) -> bool:
        """Whether files were made from this and are as they were written."""
        return self._kept.get(exercise.name) == self._stamp(made_from, files)

    def remember(self, exercise: Exercise, made_from: str, files: Sequence[Path]) -> None:
        """Keep what files were made from, once all of them are written."""
        self._kept[exercise.name] = self._stamp(made_from, files)
        write_whole(self._path, json.dumps(self._kept), PRIVATE)

    def _stamp(self, made_from: str, files: Sequence[Path]) -> str:
        return digest_of([made_from, digest_of_files(files, self._course.home)])
