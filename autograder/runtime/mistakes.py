"""Recognising known mistakes by the values that they give."""

from __future__ import annotations

import ast
import builtins
import hashlib
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .compare import difference
from .helpers import NOTHING, Unusable
from .plain_data import Array, Dictionary, Error, Items, Nothing, Number, Text, Unsupported, Value

# a digest of the structure, then a projection and a norm of every floating number or array; of an exception, a
# digest of its kind and of the code that raised it, if that is known
Fingerprint = Sequence[Any]
NO_FINGERPRINT: Fingerprint = ("nothing",)
# of a fingerprint, projections and norms in turn
MOST_NUMBERS = 24
# where zeros are computed as differences, what remains is of this size times the tolerance, and differs with
# the machine and its number of threads
ROUNDING = 1e-6
# in the name of a mistake that may show in one mode only
OF_MODE = re.compile(r"\b(training|evaluation|mode|dropout)\b")
# what a line adds to compare digits after the point, and how far from it results are
ADDED, AROUND = 100, 50


@dataclass(frozen=True)
class Judged:
    """One line on one draw: whether it passed, what came, and what known mistakes give there.

    mistakes: name -> fingerprint; a mistake that gives the right value is left out; says_little: what
    came may come of many mistakes; is_evidence: from `is_evidence`.
    """

    passed: bool
    fingerprint: Fingerprint
    mistakes: Mapping[str, Fingerprint] = field(default_factory=dict)
    says_little: bool = False
    is_evidence: bool = True


def fingerprint(value: Value) -> Fingerprint:
    """A value in short: [digest of its structure, projection, norm, projection, norm, ...].

    Two values with the same structure whose projections agree are taken for the same; the value
    cannot be read off it.
    """
    structure: list[str] = []
    numbers: list[float] = []
    _walk(value, structure, numbers)
    digest = _digest("|".join(structure))
    if isinstance(value, Error) and (code := tree_of(value.at)):
        return [digest, _digest(f"{value.name} at {code}")]
    return [digest, *(float(f"{number:.7g}") for number in _folded(numbers))]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def tree_of(line: str) -> str:
    """What a line of code computes, whatever its variables are called; empty if it isn't a whole statement."""
    text = line.strip()
    try:
        (node,) = ast.parse(f"{text} pass" if text.endswith(":") else text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    tree: ast.AST = getattr(node, "value", None) or node
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        # everybody writes another message
        tree = node.exc.func
    called = [part.func for part in ast.walk(tree) if isinstance(part, ast.Call)]
    names: dict[str, str] = {}
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and not any(part is one for one in called):
            part.id = names.setdefault(part.id, f"name {len(names)}")
    return ast.dump(tree)


def _folded(numbers: Sequence[float]) -> list[float]:
    """Of many projections and norms, sums with weights: all gradients of a model would take much space."""
    found = list(numbers[:MOST_NUMBERS])
    for at, number in enumerate(numbers[MOST_NUMBERS:], start=MOST_NUMBERS):
        found[at % MOST_NUMBERS] += (1 + 0.7 * (at // MOST_NUMBERS)) * number
    return found


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
    entries = array.reshape(-1).astype(np.complex128)
    is_complex = array.dtype.kind == "c"
    flat = np.concatenate([entries.real, entries.imag]) if is_complex else entries.real
    finite = np.isfinite(flat)
    # not str() of an array: it depends on NumPy's print options, which a notebook may set
    places = np.flatnonzero(~finite).tolist()
    structure.append(",".join(str(float(flat[place])) for place in places) + str(places))
    flat = np.where(finite, flat, 0.0)
    if flat.size and (np.abs(flat - ADDED) < AROUND).all():
        # beside a constant all results look alike
        structure.append("added")
        flat = flat - ADDED
    weights = np.cos(1.3 * np.arange(flat.size) + 0.4) + 1.7
    with np.errstate(all="ignore"):
        numbers.extend([float(weights @ flat), float(weights @ np.abs(flat))])


def same_fingerprint(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints are of the same value, within tolerance."""
    if one[0] != other[0]:
        return False
    if _is_exception(one) or _is_exception(other):
        return True
    if len(one) != len(other):
        return False
    for i in range(1, len(one), 2):
        if not all(math.isfinite(number) for number in (*one[i : i + 2], *other[i : i + 2])):
            return False
        norm = max(abs(one[i + 1]), abs(other[i + 1]), ROUNDING)
        if abs(one[i] - other[i]) > 2e-6 * norm or abs(one[i + 1] - other[i + 1]) > 2e-6 * norm:
            return False
    return True


def _is_exception(one: Fingerprint) -> bool:
    return len(one) == 2 and isinstance(one[1], str)


def same_code_raised(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints are of exceptions of one kind, raised by the same code, whatever their messages."""
    return _is_exception(one) and _is_exception(other) and one[1] == other[1]


def says_little(expected: Value, value: Value) -> bool:
    """Whether a wrong value may come of many mistakes: an error, all zeros, NaN, a few words, or what
    differs from the right value in its last digits only."""

    def plain(value: Value) -> list[Any]:
        """Texts and whole numbers, of which it takes several that differ."""
        match value:
            case Text(found) | Number(found):
                return [found]
            case Items(items):
                return [leaf for item in items for leaf in plain(item)]
            case Dictionary(items):
                return [leaf for item in items.values() for leaf in plain(item)]
            case Array(values=values) if values.dtype.kind in "biu":
                return values.reshape(-1).tolist()
        return []

    def has_fractions(value: Value) -> bool:
        match value:
            case Number(number):
                return type(number) is float and math.isfinite(number) and not number.is_integer()
            case Items(items):
                return any(map(has_fractions, items))
            case Dictionary(items):
                return any(map(has_fractions, items.values()))
            case Array(values=values) if values.dtype.kind == "f":
                return len(np.unique(values[np.isfinite(values)])) > 2
        return False

    if same_fingerprint(fingerprint(expected), fingerprint(value)):
        return True
    leaves = plain(value)
    return not has_fractions(value) and (len(leaves) < 6 or len(set(leaves)) < 2)


def is_evidence(expected: Value, got: Value) -> bool:
    """Whether what is wrong with a value may be told as a known mistake.

    An exception that a student's code raised may come of anything, and so may a single True or False.
    What the check itself provokes is evidence: an exception that had to come, memory that is used up.
    """
    match expected, got:
        case _, Error(name):
            return name == Unusable.__name__
        case Items(wanted), Items(found) if len(wanted) == len(found):
            return _any_evidence(zip(wanted, found, strict=True))
        case Dictionary(wanted), Dictionary(found) if wanted.keys() == found.keys():
            return _any_evidence((wanted[key], found[key]) for key in wanted)
        case Text(wanted), Text(found) if _names_exception(found):
            return wanted != NOTHING
        case Number(), Number(found):
            return not isinstance(found, bool)
    return True


def _any_evidence(pairs: Iterable[tuple[Value, Value]]) -> bool:
    return any(is_evidence(*pair) for pair in pairs if difference(*pair) is not None)


def _names_exception(text: str) -> bool:
    kind = getattr(builtins, text.partition(" ")[0], None)
    return isinstance(kind, type) and issubclass(kind, Exception)


def fits(judged: Sequence[Judged], name: str) -> bool:
    """Whether every one of these is what a mistake gives there."""
    return all(_fits(line, name) for line in judged)


def _fits(line: Judged, name: str) -> bool:
    if name not in line.mistakes:
        return line.passed
    pair = line.fingerprint, line.mistakes[name]
    return same_fingerprint(*pair) or same_code_raised(*pair)


def _is_told_by(line: Sequence[Judged], name: str, cell: Sequence[Judged]) -> bool:
    """Whether what a failed line shows may be told as a mistake that fits it, whatever other lines show.

    What raises hides every other mistake, so that all of the cell's lines which it changes show it.
    """
    if all((one.is_evidence and not one.says_little) for one in line if not one.passed):
        return True
    shown = [one for one in cell if name in one.mistakes]
    return all(_raises(one, name) for one in line if not one.passed) and fits(shown, name)


def _raises(one: Judged, name: str) -> bool:
    """Whether the code raised what a mistake raises."""
    return name in one.mistakes and same_code_raised(one.fingerprint, one.mistakes[name])


def _best(names: Sequence[str], lines: Sequence[Judged]) -> str | None:
    """Of the mistakes that fit a line, the one that fits most lines of the cell; None if that is not one."""
    score = {name: sum(_fits(one, name) for one in lines) for name in names}
    best = [name for name in names if score[name] == max(score.values())]
    return best[0] if len(best) == 1 else None


def fitting(judged: Sequence[Judged]) -> list[str]:
    """The known mistakes that fit, and show; none where everything passed."""
    if all(line.passed for line in judged):
        return []
    names = dict.fromkeys(name for line in judged for name in line.mistakes)
    found = [name for name in names if fits(judged, name)]
    # messages tell apart what the same code raises
    exact = [name for name in found if all(_equals(line, name) for line in judged)]
    return exact or found


def _equals(line: Judged, name: str) -> bool:
    """Whether a line passed or shows what a mistake gives there, down to the message of an exception."""
    return line.passed or same_fingerprint(line.fingerprint, line.mistakes[name])


@dataclass(frozen=True)
class Origin:
    """The answer that a known mistake is a version of, and the grade cell that is meant to catch it."""

    function: str
    cell: str


@dataclass(frozen=True)
class NamedMistake:
    """A mistake that is told at a line; by_line: only this line shows it, others of the cell may not."""

    name: str
    by_line: bool = False


class Recognition:
    """Which known mistakes are told where, cell by cell of one notebook.

    A mistake that explains every line of a cell is named there, others line by line. In either case no
    other known mistake may fit as well, and an exception of the student's own code names none. What the cells before
    have shown counts: a mistake whose own cell has passed is none, and one that was named before is named again.
    """

    def __init__(self, origins: Mapping[str, Origin]) -> None:
        self._origins = origins
        self._passed: set[str] = set()
        self._named: dict[str, list[str]] = {}
        # by cell, the mistake that was named for sure
        self._sure: dict[str, str] = {}
        # cells with a line that failed; and those in which nothing explains one
        self._failed: set[str] = set()
        self._unexplained: set[str] = set()
        # by cell, the answers that its lines depend on
        self._uses: dict[str, set[str]] = {}

    def cell(
        self,
        grade_id: str,
        lines: Sequence[Sequence[Judged]],
        given: Collection[str] = (),
        by_mode: bool = False,
    ) -> list[NamedMistake | None]:
        """What is told at each line of a cell. lines: for every line its draws.

        given: the answers in whose place right versions stood; by_mode: training and evaluation give different results
        although nothing is dropped. A cell may come again, with other values.
        """
        self._uses[grade_id] = self._used(one for line in lines for one in line)
        self._passed.discard(grade_id)
        self._failed.discard(grade_id)
        self._unexplained.discard(grade_id)
        self._named.pop(grade_id, None)
        self._sure.pop(grade_id, None)
        named: list[NamedMistake | None] = [None] * len(lines)
        failed = [n for n, line in enumerate(lines) if not all(one.passed for one in line)]
        if not failed:
            self._passed.add(grade_id)
            return named
        self._failed.add(grade_id)
        before = {name for names in self._named.values() for name in names}
        together = [one for line in lines for one in line]
        whole = self._possible(fitting(together), together, given, by_mode)
        wrong = [one for one in together if not one.passed]
        known = [name for name in whole if name in before]
        if not any(one.is_evidence for one in wrong):
            whole = [n for n in whole if n in known or any(_raises(one, n) for one in wrong)]
        if known or len(whole) == 1:
            name = (known or whole)[0]
            # the lines that would tell it from what nobody knows stand in its own cell
            sure = name in self._sure.values() or self._origins[name].cell == grade_id
            if sure:
                self._sure[grade_id] = name
            named[failed[0]] = NamedMistake(name, by_line=not sure)
            self._named[grade_id] = [name]
            return named
        candidates = {
            n: self._possible(fitting(lines[n]), lines[n], given, by_mode) for n in failed
        }
        names = self._named.setdefault(grade_id, [])
        for n in failed:
            told = [name for name in candidates[n] if _is_told_by(lines[n], name, together)]
            best = _best([one for one in told if one in before] or told, together)
            if best and best not in names:
                named[n] = NamedMistake(best, by_line=True)
                names.append(best)
        if not all(set(candidates[n]) & set(names) for n in failed):
            self._unexplained.add(grade_id)
        return named

    def waits_for(self, grade_id: str, line: Sequence[Judged]) -> set[str]:
        """The answers of other cells that a line which failed uses, and that aren't right."""
        wrong = set().union(*map(self._functions_of, self._failed - {grade_id}))
        is_used = self._used(line) if any(not one.passed for one in line) else set()
        return (is_used & wrong) - self._functions_of(grade_id)

    def suspects(self, grade_id: str, lines: Sequence[Sequence[Judged]]) -> list[str]:
        """The answers of other cells that these lines use, and in which something is unexplained.

        Those that use another of them are left out: they may be right but for that.
        """
        own = self._functions_of(grade_id)
        found = self._unsure(one for line in lines for one in line) - own
        waiting = {
            function
            for cell, used in self._uses.items()
            for function in self._functions_of(cell)
            if found & used - self._functions_of(cell)
        }
        return sorted(found - waiting or found)

    def _functions_of(self, grade_id: str) -> set[str]:
        return {origin.function for origin in self._origins.values() if origin.cell == grade_id}

    def _unsure(self, judged: Iterable[Judged]) -> set[str]:
        """Answers that lines depend on, and that are wrong in a way that nobody knows."""
        return self._used(judged) & set().union(*map(self._functions_of, self._unexplained))

    def _used(self, judged: Iterable[Judged]) -> set[str]:
        """The answers that lines depend on, as their mistakes show there."""
        names = {name for one in judged for name in one.mistakes}
        return {self._origins[name].function for name in names if name in self._origins}

    def _possible(
        self, names: Sequence[str], judged: Sequence[Judged], given: Collection[str], by_mode: bool
    ) -> list[str]:
        """Those of some mistakes that what is known of other cells leaves open."""
        unsure = self._unsure(judged) - set(given)
        return [
            name
            for name in names
            if name in self._origins
            and (not by_mode or OF_MODE.search(name))
            and self._origins[name].cell not in self._passed
            and unsure <= {self._origins[name].function}
        ]
