"""What runs in Gradescope's container: one submission in, results.json out.

In: the folder /autograder, with `source` (what `gradescope` has packed), `submission` and `results`. Out:
results/results.json, by the published specification of Gradescope's autograders.

The student's code and the grader share the container. So the grader, which is root, closes its folders
to others, runs the student's code as a user that nothing belongs to, and writes the file when no process
of that user is left. A run is graded with one of many sets of inputs, picked at random.

Gradescope ends a run at a limit of time that an instructor sets there and that a run isn't told, and
what it ends gets no point. So the limit is packed, and a run ends before it, with the verdicts so far.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import lzma
import os
import secrets
import stat
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autograder.errors import SandboxError
from autograder.exercises import grade_cells, task_names
from autograder.expected import ExpectedCell
from autograder.files import write_whole
from autograder.grade import words_without_values
from autograder.grade.answer_key import AnswerKey
from autograder.grade.examine import Graded, grade_submission
from autograder.grade.result import CellResult, Result
from autograder.grade.submission import read_folder
from autograder.grade.words import Words
from autograder.instructor_settings import Limits, Settings
from autograder.kernels import own_user
from autograder.kernels.processor_time import CLOCK
from autograder.points import as_shown
from autograder.runtime.grade_cell import parse_cell

EXERCISE, EXPECTED = "exercise.json", "expected"
# What tells about the student and earlier submissions; not worth a run if it can't be closed.
ALSO_CLOSED = ("submission", "submission_metadata.json")
STUDENT = "student"
# for what comes before and after the student's code
ENDING_SECONDS = 60
NOT_YOUR_FAULT = (
    "This submission was not graded, which is not your fault: {}. Hand it in again; if that doesn't help, "
    "tell your instructor, who can see more in the output of the autograder."
)
ABOUT = (
    "Every submission is graded on inputs that are drawn anew, so the messages quote no values. The checks "
    "in your notebook show values of their own inputs."
)
NO_FOLLOW_THROUGH = (
    "There is no follow-through here: an answer that uses an earlier one which is wrong loses its points, "
    "too. Mend the first wrong answer first."
)


@dataclass(frozen=True)
class PackedSet:
    """What is expected on one set of inputs.

    right_versions: as in `AnswerKey`; empty without follow-through.
    """

    cells: dict[str, ExpectedCell]
    right_versions: dict[str, str]

    def to_bytes(self) -> bytes:
        """For the file of the set: the sizes of its parts, JSON in which arrays have numbers, and the arrays.

        As bytes, and each once, they take less than as text: lines repeat their inputs.
        """
        arrays: dict[str, int] = {}
        text = json.dumps(_numbered(asdict(self), arrays))
        parts = [text.encode(), *map(base64.b64decode, arrays)]
        sizes = json.dumps([len(part) for part in parts])
        return lzma.compress(b"".join([sizes.encode(), b"\n", *parts]))

    @staticmethod
    def from_bytes(packed: bytes) -> PackedSet:
        """From `to_bytes`."""
        file = io.BytesIO(lzma.decompress(packed))
        text, *arrays = [file.read(size) for size in json.loads(file.readline())]

        def whole(tree: dict) -> dict:
            if isinstance(number := tree.get("data"), int):
                return {**tree, "data": base64.b64encode(arrays[number]).decode()}
            return tree

        data = json.loads(text, object_hook=whole)
        cells = {name: ExpectedCell.read(cell) for name, cell in data["cells"].items()}
        return PackedSet(cells, data["right_versions"])


def _numbered(tree: Any, arrays: dict[str, int]) -> Any:
    """JSON in which each array of `plain_data` has a number in place of its data."""
    match tree:
        case {"dtype": _, "data": str(data)}:
            return {**tree, "data": arrays.setdefault(data, len(arrays))}
        case dict():
            return {name: _numbered(part, arrays) for name, part in tree.items()}
        case list() | tuple():
            return [_numbered(part, arrays) for part in tree]
    return tree


@dataclass(frozen=True)
class PackedExercise:
    """What grading an exercise needs beside a set.

    key: the answer key, in which nothing is expected and no right version stands; book: the address of
    the built book, or empty; written: the points of written answers, which a person gives;
    minutes: after which Gradescope ends a run.
    """

    key: AnswerKey
    words: Words
    limits: Limits
    packages: tuple[str, ...]
    follow_through: bool
    book: str
    written: float
    minutes: float

    def to_json(self) -> str:
        """As text, for the file EXERCISE."""
        texts = {"key": self.key.to_json(), "words": self.words.to_json()}
        return json.dumps({**vars(self), **texts, "limits": asdict(self.limits)})

    @staticmethod
    def from_json(text: str) -> PackedExercise:
        """From `to_json`."""
        data = json.loads(text)
        return PackedExercise(
            **data
            | {
                "key": AnswerKey.from_json(data["key"]),
                "words": Words.from_json(data["words"]),
                "limits": Limits(**data["limits"]),
                "packages": tuple(data["packages"]),
            }
        )


# The results, by the specification ------------------------------------------------------------------


@dataclass(frozen=True)
class TestCase:
    """One line, with the names of the specification."""

    name: str
    number: str
    score: float
    max_score: float
    status: str
    output: str
    visibility: str = "visible"


@dataclass(frozen=True)
class Results:
    """All that Gradescope is told; score: only where there are no tests, which else add up to it.

    stdout_visibility: what the grader prints is for the instructor alone. How long a run took isn't told:
    a student's code decides that, and could tell its author something by it.
    """

    output: str
    tests: tuple[TestCase, ...] = ()
    score: float | None = None
    visibility: str = "visible"
    stdout_visibility: str = "hidden"
    output_format: str = "text"
    test_output_format: str = "text"
    test_name_format: str = "text"

    def to_json(self) -> str:
        """The content of results.json."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(found, indent=1, allow_nan=False)


def results_of(result: Result, packed: PackedExercise) -> Results:
    """What is told about a result; nothing that a student's code decides but verdicts."""
    _, tasks = task_names(packed.key.release)
    notes = [words_without_values.remark(one) for one in result.remarks]
    notes.append(ABOUT)
    if not packed.follow_through:
        notes.append(NO_FOLLOW_THROUGH)
    if packed.written:
        notes.append(
            f"{as_shown(packed.written)} points for written answers are given by a person."
        )
    tests = [
        test
        for number, cell in enumerate(result.cells, 1)
        for test in _tests(number, tasks[cell.grade_id], cell, packed)
    ]
    return Results("\n\n".join(notes), tuple(tests))


def _tests(number: int, task: str, cell: CellResult, packed: PackedExercise) -> Iterator[TestCase]:
    """The lines of a grade cell; behind the first that failed stands what to read again."""
    section = packed.words.section(cell)
    parts = _part_names(grade_cells(packed.key.release)[cell.grade_id])
    for place, line in enumerate(cell.lines, 1):
        notes = [
            # a question that was dropped after the hand-out keeps its cell, with 0 points
            "" if line.points else "This question doesn't count.",
            words_without_values.sentence(line, parts[line.expression]),
            packed.words.explanation(line),
        ]
        if section and not line.passed:
            at = f" ({section.address(packed.book)})" if packed.book else ""
            notes.append(f"To read again: {section.place}{at}")
            section = None
        yield TestCase(
            name=f"{task}: {packed.words.title(cell.grade_id, line.expression)}",
            number=f"{number}.{place}",
            score=float(line.earned),
            max_score=float(line.points),
            status="passed" if line.passed else "failed",
            output="\n".join(filter(None, notes)) or "passed",
        )


def _part_names(source: str) -> dict[str, frozenset[str]]:
    """By line of a grade cell, the names of parts that stand there as they are."""
    return {
        check.expression: frozenset(
            name
            for level in (check.says.parts if check.says else ())
            # a text is filled with what was drawn
            for name in (level if isinstance(level, tuple) else ())
        )
        for check in parse_cell(source).checks
    }


# One run ----------------------------------------------------------------------------------------------


def close_folders(base: Path) -> None:
    """Let nobody but root look into what is the grader's; SandboxError where others could get in."""
    for folder in base.parents:
        status = folder.lstat()
        if status.st_uid != 0 or (status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX):
            raise SandboxError(f"{folder} is not a folder that only root can write to")
    expected = base / "source" / EXPECTED
    _close(base, 0o755)
    for folder in (base / "source", expected, base / "results"):
        _close(folder, 0o700)
    for path in expected.iterdir():
        _close(path, 0o600)
    for name in ALSO_CLOSED:
        with contextlib.suppress(OSError):
            _close(base / name, 0o700)


def _close(path: Path, mode: int) -> None:
    """Give a path to root, with some permissions; SandboxError for a link."""
    if path.is_symlink():
        raise SandboxError(f"{path} is a link")
    os.chown(path, 0, 0)
    path.chmod(mode)


def grade(base: Path, packed: PackedExercise, begun: float) -> Graded:
    """Grade the submission with a set of inputs picked at random.

    begun: when the run began, on the monotonic clock. Returns when no process of the student's code is
    left; raises SandboxError if one can't be ended.
    """
    user = own_user.unused_user()
    some = secrets.choice(sorted((base / "source" / EXPECTED).iterdir()))
    picked = PackedSet.from_bytes(some.read_bytes())
    key = replace(packed.key, cells=picked.cells, right_versions=picked.right_versions)
    until = begun + 60 * packed.minutes - seconds_after(key, packed.limits)
    settings = Settings(packed.limits, packages=packed.packages, user=user, until=until)
    submission = read_folder(base / "submission", STUDENT, key.exercise, lambda: key.release)
    try:
        return grade_submission(submission, key, settings)
    finally:
        if left := own_user.processes_of(user):
            raise SandboxError(f"{len(left)} processes of the student's code could not be ended")


def seconds_after(key: AnswerKey, limits: Limits) -> float:
    """How long a run may go on when no code is begun any more: what runs then ends at its own limit."""
    lines = (line for cell in key.cells.values() for line in cell.lines)
    training = [line.agreement.seconds or 0.0 for line in lines if line.agreement]
    return ENDING_SECONDS + CLOCK * max(limits.cell_seconds, limits.grade_cell_seconds, *training)


def run(base: Path) -> Graded | None:
    """Grade the submission in a container's folder and write results.json, whatever happens."""
    begun, graded = time.monotonic(), None
    try:
        close_folders(base)
        text = (base / "source" / EXERCISE).read_text(encoding="utf-8")
        packed = PackedExercise.from_json(text)
        graded = grade(base, packed, begun)
        results = results_of(graded.result, packed)
    except Exception as error:
        # standard output is shown to instructors alone
        traceback.print_exc(file=sys.stdout)
        results = Results(NOT_YOUR_FAULT.format(_kind(error)), score=0.0)
    write_whole(base / "results" / "results.json", results.to_json())
    return graded


def _kind(error: Exception) -> str:
    """What may be told about an error of the grader: its message could hold values."""
    return type(error).__name__


if __name__ == "__main__":
    run(Path(sys.argv[1]))
