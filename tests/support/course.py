"""This course, and what several test modules ask of it."""

import json
import re
from typing import Any

from autograder.course import Course, Exercise
from autograder.runtime.plain_data import Value, decode, encode

COURSE = Course.find()
# the page that shows how an exercise is written, and so the markers of solutions
SHOWS_MARKERS = "own_course"
# as many draws as a grade has; the first is the one that students see
DRAWS = [[], [7, 0], [7, 1]]


def chapter_pages() -> dict[int, list[str]]:
    """The pages of each chapter in the order of the contents, as names of files without endings."""
    contents = (COURSE.root / "_toc.yml").read_text(encoding="utf-8")
    found: dict[int, list[str]] = {}
    for page, chapter in re.findall(r"file: book/(ch(\d+)_\w+)$", contents, re.MULTILINE):
        found.setdefault(int(chapter), []).append(page)
    return found


def chapter_exercises() -> dict[int, list[Exercise]]:
    """The exercises of each chapter."""
    found: dict[int, list[Exercise]] = {}
    for exercise in COURSE.exercises():
        found.setdefault(exercise.chapter, []).append(exercise)
    return found


def plain(value: Any) -> Value:
    """A Python value as the grader sees it, after the journey as JSON."""
    return decode(json.loads(json.dumps(encode(value))))
