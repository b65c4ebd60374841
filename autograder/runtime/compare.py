"""Comparing what came with what is expected. The answer is data; `messages` puts it into words."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np

from .evaluate import Evaluation, read_parameters
from .functions import returned
from .grade_cell import Check
from .offsets import adds, constant_of, parsed, part_of
from .plain_data import (
    Array,
    Dictionary,
    Error,
    Items,
    Nothing,
    Number,
    Text,
    Unsupported,
    Value,
    decode,
)

# how the message of an answer that nobody has begun starts; nbgrader_settings puts it into the stubs
TO_DO = "To do"
MAX_SHOWN = 6
# a line that is given processor time may use so many times as much
TIME_TOLERANCE = 1.25
FAMILIES = {"b": "boolean", "i": "integer", "u": "integer", "f": "floating", "c": "complex"}
# ("part", number from 1, of how many), with a name behind it where the part has one, or ("key", name)
Step = tuple[Any, ...]


@dataclass(frozen=True)
class Difference:
    """The first way in which a value is not the expected one.

    aspect: an identifier, a key of `messages.SENTENCES`; parameters: what a sentence about it needs, as JSON; place:
    the way into a nested value.
    """

    aspect: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    place: tuple[Step, ...] = ()

    def inside(self, *step: str | int) -> Difference:
        """The same difference, seen from one level further out."""
        return replace(self, place=(step, *self.place))


@dataclass(frozen=True)
class Expected:
    """What a line expects on one draw.

    share: for a line that trains something, the share of a list's items that must be right;
    processor_seconds: the processor time that it is given; expression: what the line returns if that adds a
    constant to results, so that they are compared to so many digits after the point; summed: how much larger than
    the results what was added up to them is, where much of it cancels (see `cancellation`).
    """

    value: Value
    parameters: tuple[dict[str, list[int]], ...] = ()
    share: float | None = None
    processor_seconds: float | None = None
    expression: str = ""
    summed: float = 1.0

    @staticmethod
    def read(data: Mapping[str, Any]) -> Expected:
        """From JSON {"value", "parameters", "share", "processor_seconds", "expression", "summed"}."""
        return Expected(
            decode(data["value"]),
            read_parameters(data["parameters"]),
            data.get("share"),
            data.get("processor_seconds"),
            data.get("expression", ""),
            data.get("summed", 1.0),
        )

    @staticmethod
    def data(check: Check, value: dict, parameters: Sequence[dict]) -> dict[str, Any]:
        """JSON for `read`: a right value of a line and its parameters, with what the line says of itself."""
        found = {"value": value, "parameters": parameters}
        if check.agreement:
            seconds = check.agreement.processor_seconds
            return {**found, "share": check.agreement.share, "processor_seconds": seconds}
        if adds(check.code):
            return {**found, "expression": ast.unparse(returned(check.code))}
        return found

    def missed_by(self, values: np.ndarray) -> np.ndarray:
        """An error for right entries in float64 that is small, and not tolerated in any data type."""
        if self.expression:
            # four digits after the point are right, and no more
            return np.full(values.shape, 9e-3)
        # ten times what float64 is allowed, and a tenth of what float32 is
        return 10 * _DOUBLE.relative * values


def summary(value: Value) -> dict[str, Any]:
    """What a sentence may say about a value, as JSON: its kind and size, or itself if it is short."""
    match value:
        case Nothing():
            return {"kind": "none"}
        case Number(number):
            return {"kind": "number", "value": number}
        case Text(text):
            return {"kind": "text", "value": text[:80]}
        case Array():
            return {"kind": "tensor" if value.is_tensor else "array", "shape": value.shape}
        case Items(items):
            return {"kind": "list", "length": len(items)}
        case Dictionary(items):
            return {"kind": "dict", "length": len(items)}
        case Error(name, message):
            return {"kind": "error", "name": name, "message": message[:300]}
        case Unsupported(type_name):
            return {"kind": "unsupported", "type": type_name}


def error_difference(error: Error) -> Difference:
    """An exception as a difference, whatever was expected."""
    return Difference(
        "error",
        {
            "name": error.name,
            "message": error.message[:300],
            "line": error.at,
            "inside": error.inside,
            "by_check": error.by_check,
            **({"part": list(error.part)} if error.part else {}),
        },
    )


def difference(
    expected: Value,
    got: Value,
    node: ast.expr | None = None,
    lenient: bool = False,
    summed: float = 1.0,
) -> Difference | None:
    """The first way in which a value is not the expected one, or None.

    node: the expression of both, if it adds constants; lenient: as for `judge`; summed: as in Expected.
    """
    if isinstance(got, Error):
        return error_difference(got)
    if isinstance(expected, Number) and isinstance(got, Array) and got.shape == []:
        got = Number(got.values.item())
    unlike = {"expected": summary(expected), "got": summary(got)}
    if unlike["expected"]["kind"] != unlike["got"]["kind"]:
        return Difference("kind", unlike)
    match expected, got:
        case Array(), Array():
            return _array_difference(expected, got, constant_of(node), lenient, summed)
        case Number(wanted), Number(found):
            return _number_difference(wanted, found)
        case Text(wanted), Text(found) if wanted != found:
            return Difference("text", unlike)
        case Items(parts), Items(others) if len(parts) != len(others):
            return Difference("length", unlike)
        case Items(parts), Items(others):
            for number, pair in enumerate(zip(parts, others, strict=True), start=1):
                step: Step = ("part", number, len(parts))
                if problem := difference(*pair, part_of(node, step), lenient, summed):
                    return problem.inside(*step)
        case Dictionary(named), Dictionary(others):
            missing, extra = sorted(set(named) - set(others)), sorted(set(others) - set(named))
            if missing or extra:
                return Difference("keys", {"missing": missing, "extra": extra})
            for key, value in named.items():
                step = ("key", key)
                other = others[key]
                if problem := difference(value, other, part_of(node, step), lenient, summed):
                    return problem.inside(*step)
    return None


@dataclass(frozen=True)
class _Tolerance:
    """How far an entry may be off: shares of itself, of the largest entry, and of an added constant."""

    relative: float
    of_largest: float
    of_offset: float


_HALF = _Tolerance(2e-2, 2e-3, 2e-2)
_SINGLE = _Tolerance(1e-4, 1e-6, 1e-6)
_DOUBLE = _Tolerance(1e-6, 1e-10, 1e-6)


# a change of inputs that shows what is added up, as a share of each number; what cancels counts so many times at most
NUDGE, MOST_SUMMED = 2.0**-20, 100.0


def cancellation(value: Value, nudged: Value) -> float:
    """How much more a result has moved than its numbers are large, after inputs were moved by NUDGE; at least 1.

    Rounding moves a sum as its largest terms move, however small the sum itself is.
    """
    match value, nudged:
        case Items(parts), Items(others):
            return max(map(cancellation, parts, others), default=1.0)
        case Dictionary(parts), Dictionary(others):
            return max(
                (cancellation(one, others.get(key, one)) for key, one in parts.items()), default=1.0
            )
        case Array(dtype="float32" | "float64"), Array() if value.shape == nudged.shape:
            a, b = value.values, nudged.values
            known = np.isfinite(a) & np.isfinite(b)
            largest = np.abs(a[known]).max(initial=0.0)
            if largest > 1e-9:
                moved = np.abs(b[known] - a[known]).max()
                return float(np.clip(moved / largest / NUDGE, 1.0, MOST_SUMMED))
    return 1.0


def _tolerance(expected: str, got: str, lenient: bool) -> _Tolerance:
    """What is tolerated, by data types.

    A data type's rounding is tolerated where it is expected: elsewhere it would make near misses right.
    """
    if expected in ("float16", "bfloat16"):
        return _HALF
    single = ("float32", "complex64")
    return _SINGLE if expected in single or (lenient and got in single) else _DOUBLE


def _number_difference(expected: float, got: Any) -> Difference | None:
    if isinstance(expected, bool) or isinstance(got, bool | complex):
        same = type(expected) is type(got) and expected == got
    elif isinstance(expected, int):
        same = got == expected
    else:
        # no tighter: a plain number may be a sum of float32 terms of order 1
        same = math.isclose(expected, got, rel_tol=1e-5, abs_tol=2e-7)
        same = same or (math.isnan(expected) and math.isnan(got))
    if same:
        return None
    # a complex number is no JSON
    got = str(got) if isinstance(got, complex) else got
    return Difference("number", {"expected": expected, "got": got})


def _array_difference(
    expected: Array, got: Array, offset: float, lenient: bool, summed: float
) -> Difference | None:
    if expected.shape != got.shape:
        return Difference("shape", {"expected": expected.shape, "got": got.shape})
    a, b = expected.values, got.values
    shown = bool if a.dtype.kind == "b" else float
    if FAMILIES[a.dtype.kind] != FAMILIES[b.dtype.kind]:
        dtypes: dict[str, Any] = {"expected": expected.dtype, "got": got.dtype}
        if a.dtype.kind == "b" and np.isin(b, (0, 1)).all():
            dtypes |= {"wrong_as_booleans": int((a != b).sum()), "size": int(a.size)}
        return Difference("dtype", dtypes)
    if a.size == 0:
        return None
    if a.dtype.kind in "biu":
        same = a == b
        a, b = a.astype(float), b.astype(float)
    else:
        a, b = a.astype(np.complex128), b.astype(np.complex128)
        tolerance = _tolerance(expected.dtype, got.dtype, lenient)
        with np.errstate(invalid="ignore"):
            size = np.abs(a) if lenient else np.abs(a - offset)
            largest = float(size[np.isfinite(size)].max(initial=0.0))
            # half precision has room for it
            largest *= 1 if tolerance is _HALF else summed
            allowed = tolerance.relative * size + tolerance.of_largest * largest + 1e-13
            if not lenient:
                allowed = allowed + tolerance.of_offset * abs(offset)
            close = np.isfinite(a) & (np.abs(a - b) <= allowed)
        same = close | (a == b) | (np.isnan(a) & np.isnan(b))
        a, b = a.real, b.real
    if same.all():
        return None
    wrong = np.argwhere(~same)
    with np.errstate(invalid="ignore"):
        # what is not finite at only one place comes first
        distances = np.nan_to_num(np.abs(a - b)[~same], nan=np.inf)
    index = tuple(int(i) for i in wrong[distances.argmax()])
    entries = {
        "wrong": len(wrong),
        "size": int(a.size),
        "index": list(index),
        "expected": shown(a[index]),
        "got": shown(b[index]),
    }
    if np.isfinite(distances.max()) and distances.min() < distances.max():
        entries["largest"] = True
    # False is no zero
    return (
        Difference("entries", entries) if shown is bool else _violated_property(a, b, same, entries)
    )


def _violated_property(
    a: np.ndarray, b: np.ndarray, same: np.ndarray, entries: dict[str, Any]
) -> Difference:
    """Which property of the expected array the other breaks first."""
    finite = np.isfinite(b)
    if np.isfinite(a).all() and not finite.all():
        return Difference("not_finite", {**entries, "not_finite": int((~finite).sum())})
    if ((a == 0) & (b != 0) & ~same).any() and (a != 0).any():
        return Difference("not_zero", entries)
    if a.ndim and a.shape[-1] > 1 and (a >= 0).all():
        sums, found = a.sum(-1), b.sum(-1)
        rows = np.isclose(sums, 1) | (sums == 0)
        if rows.all() and np.isclose(sums, 1).any() and not np.allclose(found, sums, atol=1e-6):
            return Difference("rows", entries)
    used = np.isfinite(a) & (np.abs(a) > 1e-8)
    if used.sum() > 2:
        with np.errstate(all="ignore"):
            ratios = b[used] / a[used]
        factor = float(ratios.flat[0])
        # a factor of nearly 1 says nothing of what is wrong
        telling = abs(factor) > 1e-9 and not math.isclose(factor, 1, rel_tol=1e-5)
        if telling and np.allclose(ratios, factor, rtol=1e-6):
            return Difference("scale", {**entries, "factor": factor})
    return Difference("entries", entries)


def _disagreement(expected: Value, got: Value, share: float) -> Difference | None:
    """Why fewer than this share of a list's items are the expected ones, or None."""
    if not isinstance(got, Items) or not isinstance(expected, Items):
        return difference(expected, got)
    if len(got.items) != len(expected.items):
        return difference(expected, got)
    pairs = zip(expected.items, got.items, strict=True)
    total = len(expected.items)
    wrong = [
        problem.inside("part", number, total)
        for number, pair in enumerate(pairs, start=1)
        if (problem := difference(*pair))
    ]
    if 1 - len(wrong) / total >= share:
        return None
    first = wrong[0]
    found = {
        "right": total - len(wrong),
        "total": total,
        "share": share,
        "number": first.place[0][1],
    }
    return Difference(
        "agreement",
        {**found, "first": [first.aspect, dict(first.parameters), [list(s) for s in first.place]]},
    )


def is_to_do(value: Value) -> TypeGuard[Error]:
    """Whether a value is the error of an answer that nobody has begun."""
    return (
        isinstance(value, Error)
        and value.name == "NotImplementedError"
        and value.message.startswith(TO_DO)
    )


def judge(expected: Expected, got: Evaluation, lenient: bool = False) -> Difference | None:
    """Why an evaluation isn't what is expected, or None when it is.

    lenient: whether the rounding of float32 is tolerated wherever a result is float32: how far
    it goes is luck, so a build asks for nothing that rests on it.
    """
    if got.forbidden:
        return Difference("forbidden", {"names": list(got.forbidden[:5])})
    if is_to_do(got.value):
        return Difference("to_do", {"message": got.value.message})
    if isinstance(got.value, Error):
        # before its parameters: what was never reached has none
        return error_difference(got.value)
    given, used = expected.processor_seconds, got.processor_seconds
    if given is not None and used > TIME_TOLERANCE * given:
        allowed = TIME_TOLERANCE * given
        return Difference("processor_time", {"used": used, "given": given, "allowed": allowed})
    if expected.share is not None:
        problem = _disagreement(expected.value, got.value, expected.share)
        if problem and given is not None:
            problem = replace(
                problem, parameters={**problem.parameters, "used": used, "given": given}
            )
    else:
        node = parsed(expected.expression)
        problem = difference(expected.value, got.value, node, lenient, expected.summed)
    if problem is not None and expected.parameters and expected.parameters != got.parameters:
        return _other_parameters(expected.parameters, got.parameters) or problem
    return problem


def _other_parameters(
    wanted: Sequence[Mapping[str, list[int]]], found: Sequence[Mapping[str, list[int]]]
) -> Difference | None:
    def named(shapes: Mapping[str, list[int]]) -> set[str]:
        return {f"{name[:80]} {tuple(shape)}" for name, shape in shapes.items()}

    for one, other in zip(wanted, found, strict=False):
        missing, extra = sorted(named(one) - named(other)), sorted(named(other) - named(one))
        if missing or extra:
            return Difference(
                "parameters",
                {
                    "missing": missing[:MAX_SHOWN],
                    "extra": extra[:MAX_SHOWN],
                    "repeated": _repeated(set(one) - set(other), set(other) - set(one), other),
                },
            )
    return None


def _repeated(missing: set[str], extra: set[str], found: Mapping[str, list[int]]) -> str:
    """Which layer of a list has no parameters of its own, although layer 0 has: "encoder.1".

    PyTorch names a parameter that several modules share once, so this is what `[layer] * n` gives.
    Empty when the names differ in another way.
    """
    layers = []
    for name in sorted(missing):
        layer = re.match(r"(.*?)\.(\d+)\.(.*)", name)
        if extra or layer is None or f"{layer[1]}.0.{layer[3]}" not in found:
            return ""
        layers.append(f"{layer[1]}.{layer[2]}")
    return layers[0] if layers else ""
