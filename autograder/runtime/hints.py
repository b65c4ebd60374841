"""What is said about a recognised mistake, its hint included, and what `hint()` gives step by step."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .compare import Difference
from .grade_cell import Check
from .messages import title
from .mistakes import NamedMistake

# differences that no inputs explain
WITHOUT_CASE = ("kind", "keys", "parameters")


@dataclass(frozen=True)
class MistakeWords:
    """What is said about a known mistake of an answer, which the check cell is meant to catch.

    section: the section to read again, empty when not known; the grader has its label there.
    """

    function: str
    cell: str
    means: str
    hint: str
    section: str


def explanation(name: str, mistake: MistakeWords, code: str, by_line: bool = False) -> str:
    """What a student reads about a recognised mistake, below the line that shows it.

    by_line: only this line shows it; the words promise no more than that.
    """
    lines = [f"This looks like a known mistake: {name}. {mistake.means}"]
    if has_hint(mistake, code):
        lines.append(f"Hint: {mistake.hint}")
        if not by_line:
            lines.append("Apart from this, these checks find nothing wrong.")
    elif by_line:
        lines.append(
            f"The mistake is probably in your `{mistake.function}`, which this uses. Look there first."
        )
    else:
        lines.append(
            f"The mistake is in your `{mistake.function}`, which this answer uses. Apart from that, this answer is "
            f"correct. Fix `{mistake.function}` first."
        )
    return "\n".join(lines)


def has_hint(mistake: MistakeWords, code: str) -> bool:
    """Whether a line that shows a mistake is the place of its hint: it calls the answer that is wrong."""
    nodes = ast.walk(ast.parse(code))
    return mistake.function in {node.id for node in nodes if isinstance(node, ast.Name)}


class Explained:
    """The known mistakes that stand explained in a notebook. cells: by name, the grade cell that explains it."""

    def __init__(self, mistakes: Mapping[str, MistakeWords]) -> None:
        """mistakes: by name."""
        self._mistakes = mistakes
        self.cells: dict[str, str] = {}

    def forget(self, grade_id: str) -> None:
        """A cell runs again: what it has explained doesn't stand any more."""
        self.cells = {name: cell for name, cell in self.cells.items() if cell != grade_id}

    def elsewhere(self, mistake: NamedMistake, grade_id: str) -> bool:
        """Whether another cell explains a mistake."""
        return self.cells.get(mistake.name, grade_id) != grade_id

    def explain(self, mistake: NamedMistake, check: Check, grade_id: str) -> str:
        """What a student reads about a mistake below a line of a cell: everything in one cell only."""
        name = mistake.name
        if self.elsewhere(mistake, grade_id):
            return f"This looks like a known mistake: {name}. The checks `{self.cells[name]}` explain it."
        known = self._mistakes[name]
        if not mistake.by_line or has_hint(known, check.code):
            self.cells[name] = grade_id
        return explanation(name, known, check.code, mistake.by_line)


def in_steps(
    failed: Sequence[tuple[Check, Difference, NamedMistake | None]],
    suspects: Sequence[str],
    mistakes: Mapping[str, MistakeWords],
    section: str | None,
) -> list[str]:
    """What is tested, which mistake it may be, where to look, what to read: as far as it is known.

    failed: a cell's lines that failed, at least one; suspects: answers that it uses and that aren't right;
    section: the cell's own.
    """
    # a check and what explains it, and no explanation of another check
    check, problem, name = next((one for one in failed if one[2]), failed[0])
    where = f"This is about the check *{title(check)}*"
    if suspects and not name:
        hints = [f"{where}, which uses your `{suspects[0]}`. Run its checks again first."]
    elif problem.aspect in WITHOUT_CASE:
        hints = [f"{where}. Read in the task what the result should be."]
    else:
        hints = [f"{where}. `case = failing_case()` gives small inputs to try: print(case)."]
    if name:
        mistake = mistakes[name.name]
        hints += [mistake.means, f"In `{mistake.function}`: {mistake.hint}"]
        section = mistake.section
    elif problem.parameters.get("line"):
        hints.append(f"Look at this line of yours: {problem.parameters['line']}")
    return [*hints, f"Read again: {section}"] if section else hints
