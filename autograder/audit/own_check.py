"""What a student's own check says about a notebook, line by line.

A student sees the check as text, and the audit has to prove that this text agrees with the grade. So
the text is what is read here, and nowhere else: SHOWN_LINE and SHOWN_NAME are the form in which
`runtime.notebook` prints a line and `runtime.messages` the name of a recognised mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import nbformat

from autograder.exercises import given, is_grade_cell
from autograder.grade.result import Result
from autograder.instructor_settings import Limits, Settings
from autograder.kernels.student_kernel import StudentKernel
from autograder.runtime.grade_cell import parse_cell

SECONDS_PER_CELL = 60
# a student sees all that is printed, also what stands behind a megabyte from each call
CHARACTERS = 50_000_000
SHOWN_LINE = re.compile(r"^([✓✗]) [\d.]+/[\d.]+ points   .*$", flags=re.MULTILINE)
SHOWN_NAME = re.compile(
    r"^ *(?:Recognised|This result matches a known mistake): (.*?)\. ", flags=re.MULTILINE
)


@dataclass(frozen=True)
class OwnCheck:
    """passed: by grade cell and expression; mistakes: by grade cell, the one that was named, or None."""

    passed: Mapping[tuple[str, str], bool]
    mistakes: Mapping[str, str | None]


def own_check(text: str) -> OwnCheck:
    """Run a notebook from its first cell to its last, as its student would.

    text: the notebook as JSON. It runs without a sandbox, as it does on a student's own machine, so it
    must not be an attack.
    """
    passed: dict[tuple[str, str], bool] = {}
    mistakes: dict[str, str | None] = {}
    with StudentKernel(Settings(Limits(output_characters=CHARACTERS))) as kernel:
        for cell in nbformat.reads(text, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            reply = kernel.run(cell.source, SECONDS_PER_CELL)
            if not is_grade_cell(cell):
                continue
            name = given(cell).grade_id
            shown = "".join(output.get("text", "") for output in reply.outputs)
            # a line is shown by what it tests, in words; lines stand in the cell's order
            marks = SHOWN_LINE.findall(shown)
            for check, mark in zip(parse_cell(cell.source).checks, marks, strict=False):
                passed[name, check.expression] = mark == "✓"
            found = SHOWN_NAME.search(shown)
            mistakes[name] = found[1] if found else None
    return OwnCheck(passed, mistakes)


def disagreements(check: OwnCheck, result: Result) -> list[str]:
    """Where a student's own check does not say what the grade says: lines, and names of mistakes."""
    found = []
    for cell in result.cells:
        for line in cell.lines:
            # a cell that nobody has begun shows one "To do" and no lines
            shown = check.passed.get((cell.grade_id, line.expression), False)
            if shown != line.passed_alone:
                found.append(f"{cell.grade_id}: {line.expression}")
        named = check.mistakes.get(cell.grade_id)
        if named != cell.mistake:
            found.append(f"{cell.grade_id}: named {named!r}, not {cell.mistake!r}")
    return found
