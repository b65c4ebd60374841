"""What a student's own check says about a notebook, line by line.

A student sees the check as text, and the audit has to prove that this text agrees with the grade. So
the text is what is read here, and nowhere else: SHOWN_LINE, SHOWN_NAME and SHOWN_AGAIN are the forms in
which `runtime.notebook` prints a line, `runtime.messages` the name of a recognised mistake, and
`runtime.notebook` that of one which stands explained in another cell. FOLDED is what a fold shows after a
click (`runtime.fold`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from autograder.exercises import is_grade_cell, metadata_of
from autograder.grade.result import Result
from autograder.instructor_settings import Limits, Settings
from autograder.kernels.student_kernel import StudentKernel
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.messages import title

SECONDS_PER_CELL = 60
# a student sees all that is printed, also what stands behind a megabyte from each call
CHARACTERS = 50_000_000
SHOWN_LINE = re.compile(
    r"^([✓✗○]) [\d.]+/[\d.]+ points   (.*?)(?: \(waits for the result\))?$", flags=re.MULTILINE
)
SHOWN_NAME = re.compile(r"^ *This looks like a known mistake: (.*?)\. ", flags=re.MULTILINE)
SHOWN_AGAIN = re.compile(
    r"^✗ [\d.]+/[\d.]+ points   the mistake that the checks `\w+` show, in your `\w+`: (.*)\. Fix that first\.$",
    flags=re.MULTILINE,
)
FOLDED = re.compile(r"<pre>(.*?)</pre>", flags=re.DOTALL)


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
            name = metadata_of(cell).grade_id
            marks = marks_shown(reply.outputs)
            for check in parse_cell(cell.source).checks:
                if mark := marks.get(title(check)):
                    passed[name, check.expression] = mark == "✓"
            in_sight = "".join(map(_text_of, reply.outputs))
            mistakes[name] = next(iter(names_shown(in_sight)), None)
    return OwnCheck(passed, mistakes)


def _text_of(output: NotebookNode) -> str:
    """What stands in sight, as text."""
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def marks_shown(outputs: Sequence[NotebookNode]) -> dict[str, str]:
    """The mark of each line that a cell shows, in sight or behind a fold, by what it tests in words."""
    lines = SHOWN_LINE.findall("\n".join(map(_lines_of, outputs)))
    return {words: mark for mark, words in lines}


def _lines_of(output: NotebookNode) -> str:
    """What is printed, or of a fold the lines behind it."""
    return output.get("text") or "".join(
        map(html.unescape, FOLDED.findall(output.get("data", {}).get("text/html", "")))
    )


def names_shown(shown: str) -> list[str]:
    """The known mistakes that a cell's text names."""
    return SHOWN_AGAIN.findall(shown) or SHOWN_NAME.findall(shown)


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
