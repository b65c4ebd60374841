"""A class that is running: what a course of commit fba4a08 has graded, in one archive.

Whoever takes a new version of this project goes on with the folder `course/` that an earlier one has
made, with notebooks that students have had for weeks, and with links in their feedback. The archive
holds such a class of ten exercises, as the commit has made it, and what it exported then.
`python -m tests.running_class`, as it stood in commit 3659002, made it from nothing but the repository.

From this commit on these are fixed: names of exercises, answers, graded cells and mistakes, the points of
each cell, and links in feedback. What its statements ask is charged to its submissions, and what a later
one adds isn't (autograder/grade/older_releases.py). What a later grader gives them otherwise stands in MOVED.

- `course/`: secret seeds, what was told, submissions, results, gradebook, feedback.
- `released/`: the notebooks as students got them. These, submissions and gradebook lack the notebooks' own
  checks, which no grader runs.
- `late/`: notebooks of that release that are handed in afterwards, each with the result that it got.
- `files/`: rosters and marks; `exported/`: grades in several forms, and the class report's table.
- `named.json`: by exercise, the names of mistakes, and the sections of the book that feedback leads to.
"""

from __future__ import annotations

import functools
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from autograder.grade.result import LineResult, Result

FOLDER = Path(__file__).parent
ARCHIVE = FOLDER / "class.tar.xz"
# What a later version of the grader gives a cell of the class: (student, exercise) -> (the cell's points then and now by
# its name, and why).
MOVED: dict[tuple[str, str], tuple[dict[str, tuple[float, float]], str]] = {}
# no such address exists; the class's feedback and notebooks lead there
BOOK = "https://book.example/course"
# what the class's nbgrader_config.py has beside the course's own
CONFIG = 'c.LateSubmissionPlugin.penalty_method = "zero"'
# forms of export, and the roster that each is made with
EXPORTS = {"canvas": "canvas.csv", "moodle": "moodle.csv", "nbgrader": "", "csv": ""}


@functools.cache
def class_exercises() -> frozenset[str]:
    """The names of the exercises that the class has: this course may have more by now."""
    with tarfile.open(ARCHIVE) as archive:
        paths = [PurePosixPath(name) for name in archive.getnames()]
    return frozenset(path.stem for path in paths if path.match("released/*.ipynb"))


def unpack_class(folder: Path, *parts: str) -> Path:
    """Lay out the archive, or some of its parts, in a folder; returns the folder."""
    with tarfile.open(ARCHIVE) as archive:
        wanted = [m for m in archive if not parts or m.name.split("/")[0] in parts]
        archive.extractall(folder, members=wanted, filter="data")
    return folder


def verdicts(result: Result) -> list[str]:
    """A result line by line: all that counts or is told, but no number that differs between machines."""
    lines = [f"{name}: {line.expression}: {_verdict(line)}" for name, line in result.lines()]
    return [*lines, *(f"remark: {remark.kind}" for remark in result.remarks)]


def _verdict(line: LineResult) -> str:
    place = line.difference.place if line.difference else ()
    told = [float(line.earned), line.verdict, place, line.mistake, line.by_line, line.given]
    return json.dumps(told)


def results(folder: Path) -> Iterator[Result]:
    """The stored results below a folder."""
    for path in sorted(folder.rglob("*.result.json")):
        yield Result.read(path)
