"""What nbgrader's generation kernel calls: an autotest line becomes a check with its answer baked in."""

from __future__ import annotations

from typing import Any

from autograder import reference
from autograder.build.source_notebook import as_checks
from autograder.catalogue import CatalogueError
from autograder.runtime import autotest


class Check:
    """The text of one `check(...)` line, as nbgrader reads it: through repr."""

    def __init__(self, line: dict) -> None:
        (draw,) = line["draws"]
        answer = {
            **draw["expected"],
            "value": autotest.bake(draw["expected"]["value"]),
            "mistakes": draw["mistakes"],
        }
        self.text = (
            f"check({line['expression']!r}, points={line['points']:g}, "
            f"answer={autotest.pack(answer)!r})"
        )

    def __repr__(self) -> str:
        return self.text


_checks: dict[str, Check] = {}


def begin(exercise: str, grade_id: str, source: str) -> dict[str, Any]:
    """Prepare the checks of one grade cell; returns the names its input statements need."""
    values = reference.cell_values(exercise, grade_id, as_checks(source), [[]])
    _checks.clear()
    _checks.update({line["expression"]: Check(line) for line in values["lines"]})
    nothing = lambda *arguments, **named: None
    return {"draw": autotest.Draw(0), "forbid": nothing, "agreement": nothing}


def bake(expression: str) -> Check:
    """The check of one expression of the cell that `begin` prepared."""
    if expression not in _checks:
        raise CatalogueError(f"`{expression}` is not an autotest line of this cell.")
    return _checks[expression]
