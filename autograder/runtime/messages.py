"""What a student reads about a difference or a recognised mistake."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .compare import Difference

Parameters = Mapping[str, Any]


def describe(summary: Parameters) -> str:
    """A value in a few words; summary: from `compare.summary`."""
    kind = summary["kind"]
    if kind == "none":
        return "None"
    if kind == "number":
        value = summary["value"]
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if kind == "text":
        return repr(summary["value"])
    if kind in ("array", "tensor"):
        noun = "NumPy array" if kind == "array" else "torch tensor"
        return f"a {noun} of shape {tuple(summary['shape'])}"
    if kind in ("list", "dict"):
        noun = "list or tuple" if kind == "list" else "dictionary"
        return f"a {noun} of {summary['length']}"
    if kind == "error":
        return f"{summary['name']}: {summary['message']}"
    return f"something of type {summary['type']}"


def _names(missing: Sequence[str], extra: Sequence[str]) -> str:
    words = [f"missing: {', '.join(missing)}"] if missing else []
    words += [f"not expected: {', '.join(extra)}"] if extra else []
    return "the names differ (" + "; ".join(words) + ")"


def _error(p: Parameters) -> str:
    line = f"  (at: {p['line']})" if p["line"] else ""
    return f"your code raised {p['name']}: {p['message']}{line}"


def _expected_and_got(p: Parameters) -> str:
    return f"expected {describe(p['expected'])}, got {describe(p['got'])}"


def _entries(p: Parameters) -> str:
    place = f"first at index {p['index']}" if p["index"] else "its one entry"
    numbers = f"expected {p['expected']:.6g}, got {p['got']:.6g}"
    return f"{p['wrong']} of {p['size']} entries differ, {place}: {numbers}"


def _number(p: Parameters) -> str:
    return f"expected {p['expected']!r}, got {p['got']!r}"


def _agreement(p: Parameters) -> str:
    aspect, parameters, place = p["first"]
    first = sentence(Difference(aspect, parameters, tuple(tuple(step) for step in place)))
    right = f"{p['right']} of {p['total']} parts are right"
    return f"{right}, {p['share']:.0%} are asked for; the first that is not: {first}"


SENTENCES: dict[str, Callable[[Parameters], str]] = {
    "to_do": lambda p: p["message"],
    "forbidden": lambda p: (
        f"{', '.join(p['names'])} was called; this exercise asks you to build attention from scratch"
    ),
    "error": _error,
    "kind": _expected_and_got,
    "keys": lambda p: _names(p["missing"], p["extra"]),
    "length": _expected_and_got,
    "shape": lambda p: f"shape: expected {tuple(p['expected'])}, got {tuple(p['got'])}",
    "dtype": lambda p: f"dtype: expected {p['expected']}, got {p['got']}",
    "not_finite": lambda p: f"{p['not_finite']} entries are NaN or infinite; {_entries(p)}",
    "not_zero": lambda p: f"entries that must be exactly 0 are not; {_entries(p)}",
    "rows": lambda p: f"the rows do not sum to one; {_entries(p)}",
    "scale": lambda p: f"every entry is {p['factor']:.6g} times the expected one; {_entries(p)}",
    "entries": _entries,
    "number": _number,
    "text": _expected_and_got,
    "parameters": lambda p: (
        f"your module's parameters: {_names(p['missing'], p['extra'])}; attribute names are part of "
        "the task"
    ),
    "agreement": _agreement,
}


def sentence(difference: Difference) -> str:
    """A difference in words, with its place in a nested value."""
    words = SENTENCES[difference.aspect](difference.parameters)
    steps = ", ".join(map(_step, difference.place))
    return f"in {steps}: {words}" if steps else words


def _step(step: Sequence[str | int]) -> str:
    match step:
        case "part", _, _, name:
            return str(name)
        case "part", number, total:
            return f"part {number} of {total}"
        case _, key:
            return repr(key)


def explanation(name: str, function: str, means: str, hint: str, expression: str) -> str:
    """What a student reads about a recognised mistake in a function, below the line that shows it."""
    used = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    lines = [f"Recognised: {name}. {means}"]
    if function in used:
        lines.append(f"Hint: {hint}")
    else:
        lines.append(
            f"It is in your `{function}`, which this uses: right, given what comes from there. Mend "
            "that first."
        )
    return "\n".join(lines)
