"""How a wrong value is related to the right one: negated, transposed, off by a factor, exchanged.

Tried when a difference is told, whatever made it. Each test is one that values which have nothing to
do with each other don't pass: it needs several different numbers, all of which fit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .compare import Difference, Step, difference
from .plain_data import Array, Dictionary, Items, Number, Value

# differences that a relation may say more about
OPEN = {"shape", "not_zero", "rows", "scale", "entries", "number", "kind", "dtype", "length"}
MAX_EXCHANGED, MAX_AXES, MAX_SIZE = 8, 5, 100_000
# a single number has these factors to another by accident only
FACTORS = (0.001, 0.01, 0.1, 0.5, 2, 10, 100, 1000)


def value_at(value: Value, place: tuple[Step, ...]) -> Value:
    """The part of a nested value at a place of it."""
    for step in place:
        match value:
            case Items(parts):
                value = parts[step[1] - 1]
            case Dictionary(named):
                value = named[step[1]]
    return value


def related(problem: Difference, expected: Value, got: Value, offset: float = 0) -> Difference:
    """A difference, or how all of got is related to what is expected, where that says more.

    offset: a constant that was added to both values.
    """
    if problem.aspect not in OPEN:
        return problem
    for depth in range(len(problem.place) + 1):
        place = problem.place[:depth]
        pair = value_at(expected, place), value_at(got, place)
        if (relation := _relation(*pair, problem, offset)) is not None:
            return replace(relation, place=place)
    return problem


def _relation(expected: Value, got: Value, problem: Difference, offset: float) -> Difference | None:
    match expected, got:
        case Items(), Items():
            return _exchanged(expected.items, got.items) or _numbers(expected, got, problem, offset)
        case Dictionary(), Dictionary() if expected.items.keys() == got.items.keys():
            keys = sorted(expected.items)
            found = _exchanged(
                tuple(expected.items[key] for key in keys), tuple(got.items[key] for key in keys)
            )
            return found and Difference("exchanged", {**found.parameters, "keys": keys})
        case Array(), Array() if max(expected.values.size, got.values.size) <= MAX_SIZE:
            return _arrays(expected, got, problem, offset)
        case Number(one), Number(other) if type(one) is float and type(other) is float:
            return _single(one - offset, other - offset, problem)
    return None


def _informative(value: Value) -> bool:
    """Whether another value is hardly the same by accident."""
    match value:
        case Array(values=values):
            return values.dtype.kind == "f" and len(np.unique(values)) > 2
        case Number(number):
            return type(number) is float and math.isfinite(number) and not number.is_integer()
    return False


def _exchanged(expected: tuple[Value, ...], got: tuple[Value, ...]) -> Difference | None:
    """Whether the parts are the right ones in another order."""
    count = len(expected)
    if count != len(got) or not 2 <= count <= MAX_EXCHANGED:
        return None
    if (exchanged := _exchanged_shapes(expected, got)) is not None:
        return exchanged
    if not all(map(_informative, expected)):
        return None
    order = []
    for wanted in expected:
        fits = [n for n, found in enumerate(got, start=1) if difference(wanted, found) is None]
        if len(fits) != 1:
            return None
        order.append(fits[0])
    if sorted(order) != list(range(1, count + 1)) or order == sorted(order):
        return None
    return Difference("exchanged", {"order": order})


def _exchanged_shapes(expected: tuple[Value, ...], got: tuple[Value, ...]) -> Difference | None:
    """Whether the parts are arrays that have one another's shape."""
    shapes = [value.shape for value in expected if isinstance(value, Array)]
    found = [value.shape for value in got if isinstance(value, Array)]
    if len(shapes) < len(expected) or len(found) < len(got):
        return None
    different = all(one != other for one, other in itertools.combinations(shapes, 2))
    if not different or shapes == found or sorted(shapes) != sorted(found):
        return None
    order = [found.index(shape) + 1 for shape in shapes]
    pairs = [(wanted, got[n - 1]) for wanted, n in zip(expected, order, strict=True)]
    wrong = any(difference(*pair) is not None for pair in pairs)
    return Difference("exchanged", {"order": order, "shapes_only": wrong})


def _numbers(expected: Items, got: Items, problem: Difference, offset: float) -> Difference | None:
    """A list of numbers is compared as an array is."""

    def array(items: tuple[Value, ...]) -> Array | None:
        numbers = [item.value for item in items if isinstance(item, Number)]
        if len(numbers) < len(items) or any(type(number) is not float for number in numbers):
            return None
        return Array(False, "float64", np.array(numbers))

    one, other = array(expected.items), array(got.items)
    if one is None or other is None or one.shape != other.shape or one.values.size < 4:
        return None
    relation = _arrays(one, other, replace(problem, aspect="entries", parameters={}), offset)
    return relation if relation and relation.aspect not in ("axis", "masked", "slices") else None


def _single(expected: float, got: float, problem: Difference) -> Difference | None:
    if not (math.isfinite(expected) and math.isfinite(got)) or expected == 0 or got == 0:
        return None
    if digits := _digits(abs(expected - got) / abs(expected)):
        return Difference("digits", {**problem.parameters, "digits": digits})
    for factor in FACTORS:
        if math.isclose(got, factor * expected, rel_tol=1e-6):
            return Difference("scale", {**problem.parameters, "factor": float(factor)})
    if math.isclose(got, -expected, rel_tol=1e-6):
        return Difference("negated", problem.parameters)
    return None


def _digits(error: float) -> int | None:
    """To how many digits two numbers agree that differ by this share; None for fewer than three."""
    return int(-math.log10(error)) if 0 < error <= 1e-3 else None


def _arrays(expected: Array, got: Array, problem: Difference, offset: float) -> Difference | None:
    a, b = expected.values, got.values
    if {a.dtype.kind, b.dtype.kind} == {"b"}:
        tolerance = 0.0
    elif {a.dtype.kind, b.dtype.kind} <= set("iuf"):
        a, b = a.astype(float), b.astype(float)
        if not (np.isfinite(a).all() and np.isfinite(b).all()) or a.size == 0:
            return _masked(a, b) if a.shape == b.shape else None
        coarse = {expected.dtype, got.dtype} & {"float32", "float16", "bfloat16"}
        tolerance = (1e-4 if coarse else 1e-6) * float(np.abs(a).max())
        a, b = a - offset, b - offset
    else:
        return None

    def same(one: np.ndarray, other: np.ndarray) -> bool:
        if one.dtype.kind == "b":
            return bool((one == other).all())
        return bool((np.abs(one - other) <= tolerance).all())

    varied = len(np.unique(a)) > (1 if a.dtype.kind == "b" else 3)
    if not varied or a.size < 6 <= b.size or max(a.ndim, b.ndim) > MAX_AXES:
        return None
    if a.shape != b.shape:
        return _other_shape(a, b, same)
    return (
        _by_value(a, b, problem, same, tolerance)
        or _by_order(a, b, same)
        or (_of_weights(a, b) if offset == 0 and a.dtype.kind != "b" else None)
        or (_slices(a, b, problem, tolerance) if a.dtype.kind != "b" else None)
    )


def _by_value(
    a: np.ndarray, b: np.ndarray, problem: Difference, same: Any, tolerance: float
) -> Difference | None:
    """Every entry is another one in the same way."""
    found: Mapping[str, Any] = problem.parameters
    if a.dtype.kind == "b":
        return Difference("negated", {**found, "boolean": True}) if same(a, ~b) else None
    largest = np.abs(a).max()
    if problem.aspect != "not_zero" and (digits := _digits(np.abs(a - b).max() / largest)):
        return Difference("digits", {**found, "digits": digits})
    if same(a, -b):
        return Difference("negated", found)
    factor = float((a * b).sum() / (a * a).sum())
    telling = abs(factor) > 1e-6 and not math.isclose(factor, 1, rel_tol=1e-5)
    if telling and same(factor * a, b):
        return Difference("scale", {**found, "factor": factor})
    shift = float((b - a).mean())
    # of nearly equal numbers everything is true
    if same(a + shift, b) and abs(shift) > 10 * tolerance and a.std() > 1e-3 * largest:
        return Difference("offset", {**found, "offset": shift})
    return None


def _by_order(a: np.ndarray, b: np.ndarray, same: Any) -> Difference | None:
    """The right entries at other places."""
    for axes in itertools.combinations(range(a.ndim), 2):
        if a.shape[axes[0]] == a.shape[axes[1]] and same(a.swapaxes(*axes), b):
            return Difference("transposed", {"axes": list(axes)})
    for axis in range(a.ndim):
        if same(np.flip(a, axis), b):
            return Difference("flipped", {"axis": axis, "of": a.ndim})
    different = len(np.unique(a))
    for axis, step in itertools.product(range(a.ndim), (1, -1)):
        inner = (slice(None),) * axis
        # what comes in at the end may be anything
        ahead, behind = (*inner, slice(1, None)), (*inner, slice(None, -1))
        moved = (a[behind], b[ahead]) if step > 0 else (a[ahead], b[behind])
        if a.shape[axis] > 2 and different > 3 and same(*moved):
            return Difference("shifted", {"axis": axis, "step": step, "of": a.ndim})
    if different > 5 and same(np.sort(a, axis=None), np.sort(b, axis=None)):
        return Difference("order", {})
    return None


def _other_shape(a: np.ndarray, b: np.ndarray, same: Any) -> Difference | None:
    shapes = {"expected": list(a.shape), "got": list(b.shape)}
    if a.size != b.size:
        return None
    if a.ndim == b.ndim:
        for axes in itertools.permutations(range(a.ndim)):
            if a.transpose(axes).shape == b.shape and same(a.transpose(axes), b):
                return Difference("transposed", shapes)
    if same(a.ravel(), b.ravel()):
        return Difference("reshaped", shapes)
    return None


def _of_weights(a: np.ndarray, b: np.ndarray) -> Difference | None:
    return _along_another_axis(a, b) or _masked(a, b)


def _along_another_axis(a: np.ndarray, b: np.ndarray) -> Difference | None:
    """Whether sums are 1 along another axis than they should be."""
    if a.ndim < 2 or (a < 0).any() or (b < 0).any():
        return None

    def axes(values: np.ndarray) -> list[int]:
        """Along which axes all sums are 1, but for rows of zeros."""
        found = []
        for axis in range(values.ndim):
            sums = values.sum(axis)
            ones = np.isclose(sums, 1, atol=1e-5)
            if values.shape[axis] > 1 and ones.any() and (ones | (sums == 0)).all():
                found.append(axis)
        return found

    wanted, found = axes(a), axes(b)
    if len(wanted) == 1 and len(found) == 1 and wanted != found:
        return Difference("axis", {"expected": wanted[0], "got": found[0]})
    return None


def _masked(a: np.ndarray, b: np.ndarray) -> Difference | None:
    """Whether only those entries are wrong that are exactly 0, or minus infinity, in the right result."""
    with np.errstate(invalid="ignore"):
        right = (a == b) | (np.isfinite(a) & (np.abs(a - b) <= 1e-6 * np.abs(a)))
    masked = (a == 0) | (a == -np.inf) | (a < -1e30)
    others = a[~masked]
    wrong = ~right
    if not wrong.any() or (wrong & ~masked).any() or len(np.unique(others)) <= 3:
        return None
    found = {"wrong": int(wrong.sum()), "size": int(a.size), "zero": bool((a[wrong] == 0).all())}
    return Difference("masked", found)


def _slices(
    a: np.ndarray, b: np.ndarray, problem: Difference, tolerance: float
) -> Difference | None:
    """Whether all is right at some indices along an axis, and nearly nothing at the others."""
    close = np.abs(a - b) <= tolerance
    for axis in range(a.ndim):
        others = tuple(n for n in range(a.ndim) if n != axis)
        share = close.mean(axis=others)
        right = np.flatnonzero(share == 1)
        told = [n for n in right if len(np.unique(np.take(a, n, axis))) > 3]
        if 0 < len(told) == len(right) < len(share) and share[share < 1].max() < 0.25:
            found = {"axis": axis, "of": a.ndim, "right": [int(n) for n in right]}
            return Difference("slices", {**problem.parameters, **found})
    return None
