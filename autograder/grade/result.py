"""What grading one submission gives: typed data that is stored as JSON, and everything else is
rendered from.

A result holds identifiers and what a sentence about them needs. It holds no sentence, no HTML, no
seed and no drawn input.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import ResultError
from autograder.files import PRIVATE, write_whole
from autograder.instructor_settings import Limits
from autograder.runtime.compare import Difference

# version of the stored form; raise it when a field changes
FORMAT = 2
# Raise by one when a change to the grader can change a verdict: every submission is graded again.
# tests/golden/ holds the results of a fixed set of submissions; MOVED in tests/running_class/ lists, with the reason of
# each, the verdicts that moved for a class that is running.
GRADER_VERSION = 6
# Remarks on a submission that a machine with too much to do has stopped; and the number of runs one after another, each
# with the same outcome, after which it isn't the machine: a notebook that waits would cost its time in every run.
NOT_FINAL = ("by_clock", "no_follow_through")
MAX_RUNS = 3


@dataclass(frozen=True)
class LineResult:
    """One check: difference is None when it passed; mistake: the known one that is told here.

    by_line: this line gives what the mistake gives; the cell as a whole is not explained by it. given: the
    earlier answers in whose place right versions stood when it passed; empty when it passed with the
    notebook as it stands.
    """

    expression: str
    points: float
    difference: Difference | None = None
    mistake: str | None = None
    by_line: bool = False
    given: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether its points are earned."""
        return self.difference is None

    @property
    def passed_alone(self) -> bool:
        """Whether it passed with the notebook as it stands."""
        return self.passed and not self.given

    @property
    def earned(self) -> float:
        """Its points if it passed."""
        return self.points if self.passed else 0

    @property
    def verdict(self) -> str:
        """ "passed", or the identifier of the difference."""
        return "passed" if self.difference is None else self.difference.aspect


@dataclass(frozen=True)
class CellResult:
    """One grade cell; printed: what the student's code printed meanwhile."""

    grade_id: str
    lines: tuple[LineResult, ...]
    printed: str = ""

    @property
    def points(self) -> float:
        """The most that it can give."""
        return sum(line.points for line in self.lines)

    @property
    def earned(self) -> float:
        """What it gives."""
        return sum(line.earned for line in self.lines)

    @property
    def passed(self) -> bool:
        """Whether all of its lines passed."""
        return all(line.passed for line in self.lines)

    @property
    def mistake(self) -> str | None:
        """The known mistake that was recognised in it."""
        return next((line.mistake for line in self.lines if line.mistake), None)


@dataclass(frozen=True)
class Remark:
    """Something about a submission as a whole: an identifier, and what a sentence about it needs."""

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


# remarks on work that the grader has not seen, or not all of it: a person looks at the submission
FOR_A_PERSON = frozenset(
    {
        "several_notebooks",
        "other_work",
        "other_files",
        "another_notebook",
        "is_link",
        "in_link",
        "not_a_file",
        "unreadable",
        "too_large",
        "not_a_notebook",
        "conflict_markers",
        "another_file",
        "empty",
        "cut_short",
        "too_long",
        "not_asked",
        "failed",
        "ended_grader",
    }
)
# remarks on a written answer that may stand elsewhere: a person reads it
TO_BE_READ = frozenset({"written_beside", "question_missing"})


@dataclass(frozen=True)
class Basis:
    """All that a grade was made from; while it is the same, the grade is current.

    submission: digest of the notebook and the files beside it; answer_key: digest of the answer key's
    content; versions: of Python, NumPy and, where the exercise uses it, torch in the
    student's kernel; follow_through: whether later answers were graded again with right versions.
    """

    submission: str
    answer_key: str
    limits: Limits
    versions: Mapping[str, str]
    grader: int = GRADER_VERSION
    follow_through: bool = True


@dataclass(frozen=True)
class Result:
    """What a student's submission to an exercise got; seconds: how long grading it took."""

    student: str
    exercise: str
    cells: tuple[CellResult, ...]
    remarks: tuple[Remark, ...]
    basis: Basis
    seconds: float

    @property
    def points(self) -> float:
        """The most that its checks can give."""
        return sum(cell.points for cell in self.cells)

    @property
    def score(self) -> float:
        """What its checks gave."""
        return sum(cell.earned for cell in self.cells)

    @property
    def is_final(self) -> bool:
        """Whether grading again on the same basis gives the same, as far as the machine is concerned."""
        return not any(remark.kind in NOT_FINAL for remark in self.remarks) or self.runs >= MAX_RUNS

    @property
    def runs(self) -> int:
        """In how many runs, this one last, the machine may have stopped it; 0 for one that it hasn't stopped."""
        return max(
            (r.parameters.get("runs", 1) for r in self.remarks if r.kind in NOT_FINAL), default=0
        )

    @property
    def share(self) -> float:
        """Its share of the points, from 0 to 1."""
        return self.score / self.points if self.points else 0.0

    @property
    def is_for_a_person(self) -> bool:
        """Whether a person has to look at it: points that it hasn't got may be in what wasn't seen."""
        return self.runs >= MAX_RUNS or any(r.kind in FOR_A_PERSON for r in self.remarks)

    def is_to_be_read(self, question: str) -> bool:
        """Whether a person has to look for the answer to a written question, which isn't in its place."""
        return self.is_for_a_person or any(
            remark.kind in TO_BE_READ and remark.parameters["cell"] == question
            for remark in self.remarks
        )

    def cell(self, grade_id: str) -> CellResult:
        """One of its grade cells."""
        return next(cell for cell in self.cells if cell.grade_id == grade_id)

    def lines(self) -> Iterator[tuple[str, LineResult]]:
        """Its lines with the names of their cells, in the exercise's order."""
        for cell in self.cells:
            for line in cell.lines:
                yield cell.grade_id, line

    def to_json(self) -> str:
        """The stored form."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Result:
        """Read the stored form; raises ResultError, whose message says what to do."""
        try:
            data = json.loads(text)
            made_by = data.pop("format")
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            raise ResultError(f"is damaged ({type(error).__name__})") from error
        if made_by != FORMAT:
            raise ResultError(f"has format {made_by!r}, this version of the grader reads {FORMAT}")
        try:
            return Result(
                **{**data, "seconds": float(data["seconds"])}
                | {
                    "cells": tuple(map(_cell, data["cells"])),
                    "remarks": tuple(Remark(**remark) for remark in data["remarks"]),
                    "basis": Basis(**data["basis"] | {"limits": Limits(**data["basis"]["limits"])}),
                }
            )
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise ResultError(f"is damaged ({type(error).__name__}: {error})") from error

    def write(self, path: Path) -> None:
        """Store it, whole or not at all, for its owner alone."""
        write_whole(path, self.to_json(), PRIVATE)

    @staticmethod
    def read(path: Path) -> Result:
        """Read a stored result; raises ResultError, naming the file and the way out."""
        try:
            # bytes that are no text make it no JSON
            return Result.from_json(path.read_text(encoding="utf-8", errors="replace"))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ResultError(
                f"{path} can't be read: {error.strerror}. Make it readable, or delete it and run `python "
                "-m autograder grade`: it grades this submission again."
            ) from error
        except ResultError as error:
            raise ResultError(
                f"{path} {error}. Run `python -m autograder grade`: it grades this submission again."
            ) from error


def _cell(data: dict) -> CellResult:
    return CellResult(data["grade_id"], tuple(map(_line, data["lines"])), data["printed"])


def _line(data: dict) -> LineResult:
    found = data["difference"]
    if found is not None:
        place = tuple(tuple(step) for step in found["place"])
        found = Difference(found["aspect"], found["parameters"], place)
    return LineResult(
        expression=data["expression"],
        points=float(data["points"]),
        difference=found,
        mistake=data["mistake"],
        by_line=data["by_line"],
        given=tuple(data["given"]),
    )
