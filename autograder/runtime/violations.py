"""Which relations between a student's own results are violated: no right value is needed to see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .compare import Difference, difference
from .evaluate import Evaluation
from .grade_cell import Relation
from .mistakes import NamedMistake
from .plain_data import Array, Error, Items, Value

# differences that say nothing but that numbers are wrong
NUMBERS = frozenset({"entries", "rows", "not_zero", "not_finite", "number", "slices"})
# how the relation begins that training and evaluation are alike
MODES = "training mode gives another result"
# relations that are told of one cell, and places of each
MAX_TOLD, MAX_PLACES = 2, 6


def unexplained(
    problems: Sequence[Difference | None], named: Sequence[NamedMistake | None]
) -> int | None:
    """The line of a cell that relations are told at: the first of which only numbers are known.

    None where a mistake explains the cell.
    """
    if any(one is not None and not one.by_line for one in named):
        return None
    for number, problem in enumerate(problems):
        if problem is not None and problem.aspect in NUMBERS and named[number] is None:
            return number
    return None


def with_violations(
    problem: Difference,
    relations: Sequence[Relation],
    evaluated: Callable[[str], Evaluation],
) -> Difference:
    """A difference that says which of its cell's relations are violated, if any are.

    evaluated: what the student's code gives for a relation's code.
    """
    found: list[Mapping[str, Any]] = []
    for relation in relations:
        places = violated(relation, evaluated(relation.expression).value)
        if places is not None:
            found.append({"says": relation.says, "places": places})
        if len(found) == MAX_TOLD:
            break
    return (
        replace(problem, parameters={**problem.parameters, "violated": found}) if found else problem
    )


def violated(relation: Relation, value: Value) -> list[int] | None:
    """Where a relation is violated, as places along its axis; None where it holds or nobody can say.

    value: what its expression gives.
    """
    if not isinstance(value, Items) or len(value.items) < 2:
        return None
    first, *others = value.items
    if any(map(_is_error, value.items)):
        return None
    different = [other for other in others if difference(first, other) is not None]
    if not relation.equal:
        return [] if len(different) < len(others) else None
    return _places(first, different[0], relation.axis) if different else None


def _is_error(value: Value) -> bool:
    if isinstance(value, Items):
        return any(map(_is_error, value.items))
    return isinstance(value, Error)


def _places(one: Value, other: Value, axis: int | None) -> list[int]:
    """The indices along an axis at which two arrays differ; none where they can't be told."""
    match one, other:
        case Array(values=a), Array(values=b) if axis is not None and a.shape == b.shape:
            others = tuple(n for n in range(a.ndim) if n != axis)
            close = np.isclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
            wrong = np.flatnonzero(~close.all(axis=others))
            return [int(n) for n in wrong[: MAX_PLACES + 1]]
    return []
