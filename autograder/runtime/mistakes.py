"""Recognising known mistakes by the values that they give."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .plain_data import Array, Dictionary, Error, Items, Nothing, Number, Text, Unsupported, Value

# a digest of the structure, then a projection and a norm of every floating number or array
Fingerprint = Sequence[str | float]
NO_FINGERPRINT: Fingerprint = ("nothing",)


@dataclass(frozen=True)
class Judged:
    """One line on one draw: whether it passed, what came, and what known mistakes give there.

    mistakes: name -> fingerprint; a mistake that gives the right value is left out.
    """

    passed: bool
    fingerprint: Fingerprint
    mistakes: Mapping[str, Fingerprint] = field(default_factory=dict)


def fingerprint(value: Value) -> Fingerprint:
    """A value in short: [digest of its structure, projection, norm, projection, norm, ...].

    Two values with the same structure whose projections agree are taken for the same; the value
    cannot be read off it.
    """
    structure: list[str] = []
    numbers: list[float] = []
    _walk(value, structure, numbers)
    digest = hashlib.sha256("|".join(structure).encode()).hexdigest()[:10]
    return [digest, *(float(f"{number:.8g}") for number in numbers)]


def _walk(value: Value, structure: list[str], numbers: list[float]) -> None:
    match value:
        case Nothing():
            structure.append("none")
        case Number(number) if isinstance(number, float) and math.isfinite(number):
            structure.append("number")
            numbers.extend([number, abs(number)])
        case Number(plain):
            structure.extend(["number", repr(plain)])
        case Text(plain):
            structure.extend(["text", repr(plain)])
        case Error(name, message):
            structure.extend(["error", f"{name}: {message}"])
        case Unsupported(type_name):
            structure.extend(["unsupported", type_name])
        case Items(items):
            structure.extend(["list", str(len(items))])
            for item in items:
                _walk(item, structure, numbers)
        case Dictionary(items):
            structure.append("dict")
            for key in sorted(items):
                structure.append(key)
                _walk(items[key], structure, numbers)
        case Array():
            structure.append("tensor" if value.is_tensor else "array")
            _walk_array(value.values, structure, numbers)


def _walk_array(array: np.ndarray, structure: list[str], numbers: list[float]) -> None:
    structure.append(f"{list(array.shape)}{array.dtype.kind}")
    if array.dtype.kind in "biu":
        structure.append(",".join(str(int(number)) for number in array.reshape(-1)))
        return
    flat = array.reshape(-1).astype(np.complex128)
    flat = np.concatenate([flat.real, flat.imag]) if array.dtype.kind == "c" else flat.real
    finite = np.isfinite(flat)
    # not str() of an array: it depends on NumPy's print options, which a notebook may set
    places = np.flatnonzero(~finite).tolist()
    structure.append(",".join(str(float(flat[place])) for place in places) + str(places))
    flat = np.where(finite, flat, 0.0)
    weights = np.cos(1.3 * np.arange(flat.size) + 0.4) + 1.7
    with np.errstate(all="ignore"):
        numbers.extend([float(weights @ flat), float(weights @ np.abs(flat))])


def same_fingerprint(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints are of the same value, within tolerance."""
    if one[0] != other[0] or len(one) != len(other):
        return False
    for i in range(1, len(one), 2):
        if not all(math.isfinite(number) for number in (*one[i : i + 2], *other[i : i + 2])):
            return False
        norm = max(abs(one[i + 1]), abs(other[i + 1]), 1e-12)
        if abs(one[i] - other[i]) > 2e-6 * norm or abs(one[i + 1] - other[i + 1]) > 2e-6 * norm:
            return False
    return True


def recognise(judged: Sequence[Judged], own: Collection[str], known: Collection[str]) -> str | None:
    """The one known mistake that explains every line of a cell, or None.

    judged: every line on every draw. own: the mistakes that this cell is meant to catch. known: those
    already recognised in the notebook; they win where several explain the cell. No other is named:
    the lines that would tell it from mistakes that nobody knows stand in its own cell.
    """
    if all(line.passed for line in judged):
        return None
    names = dict.fromkeys(name for line in judged for name in line.mistakes)
    names = [name for name in names if name in own or name in known]

    def explains(name: str) -> bool:
        return all(
            same_fingerprint(line.fingerprint, line.mistakes[name])
            if name in line.mistakes
            else line.passed
            for line in judged
        )

    candidates = [name for name in names if explains(name)]
    before = [name for name in candidates if name in known]
    if before:
        return before[0]
    return candidates[0] if len(candidates) == 1 else None
