"""What a student reads about a difference; about a recognised mistake: `hints`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .compare import MAX_SHOWN, Difference
from .grade_cell import Check
from .helpers import NOTHING, Unusable
from .violations import MAX_PLACES

# a longer expression of a check tells a student nothing that its title does not
MAX_READABLE = 120

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


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(name[:80] for name in names[:MAX_SHOWN]) + more


def _names(missing: Sequence[str], extra: Sequence[str]) -> str:
    words = [f"missing: {_listed(missing)}"] if missing else []
    words += [f"unexpected: {_listed(extra)}"] if extra else []
    return "the names differ (" + "; ".join(words) + ")"


def uses_wrong(names: Sequence[str]) -> str:
    """That an answer uses others which aren't right."""
    listed = " and ".join(f"`{name}`" for name in names)
    return f"This uses your {listed}, which {'is' if len(names) == 1 else 'are'}n't correct yet"


def offered(packages: Sequence[str]) -> str:
    """What to do about a package that is missing; packages: those that there are."""
    return (
        f"You can use {', '.join(packages)}, and what comes with Python. Ask your instructor for other packages, and "
        "hand in your own files with the notebook"
    )


# what torch says where a GPU, or another device, is missing
NO_DEVICE = re.compile(
    r"not compiled with \w+ enabled|not linked with support for \w+ devices|no NVIDIA driver"
    r"|No \w+ GPUs are available|'(?:CUDA|MPS|XPU)' backend|Cannot get \w+ generator",
    re.IGNORECASE,
)


def without_device(message: str) -> str:
    """What to add to an error's message that comes of a device which isn't there; empty for any other."""
    if not NO_DEVICE.search(message):
        return ""
    return (
        ". Answers are checked without a GPU, and all inputs are on the CPU: remove `.cuda()`, and make new tensors "
        "with `device=x.device`, where x is an input"
    )


def _error(p: Parameters) -> str:
    undefined = re.fullmatch(r"name '(\w+)' is not defined", p["message"])
    if p["name"] == "NameError" and undefined and not p["line"]:
        return f"`{undefined[1]}` is not defined yet: run the cell above that defines it"
    if p["name"] == Unusable.__name__:
        return p["message"]
    if p["by_check"]:
        return f"the check could not continue: {p['name']}: {p['message']}"
    places = [f"at: {p['line']}"] if p["line"] else []
    if p["inside"]:
        places.append(f"inside what you have built so far: {p['inside']}")
    where = f"  ({'; '.join(places)})" if places else ""
    words = f"your code raised {p['name']}: {p['message']}{where}"
    if "deepcopy protocol" in p["message"]:
        words += ". Copy a tensor with `.clone()`: that also lets gradients through"
    words += without_device(p["message"])
    return f"{words}. {offered(p['offered'])}" if "offered" in p else words


def _expected_and_got(p: Parameters) -> str:
    expected, got = p["expected"], p["got"]
    if expected["kind"] == got["kind"] == "text":
        if got["value"] == NOTHING:
            return f"no {expected['value']} was raised"
        if expected["value"] == NOTHING:
            return f"{got['value']} was raised, although the input is valid"
    return f"expected {describe(expected)}, got {describe(got)}"


def _pair(expected: Any, got: Any) -> str:
    """An expected and another number, with six digits each."""
    shown = [f"{n:.6g}" if isinstance(n, float) else repr(n) for n in (expected, got)]
    words = f"expected {shown[0]}, got {shown[1]}"
    if shown[0] != shown[1] or not isinstance(got, float | int):
        return words
    return f"{words}, which differ by {abs(got - expected):.1g}"


def _entries(p: Parameters) -> str:
    numbers = _pair(p["expected"], p["got"])
    if p["size"] == 1:
        return numbers
    place = f"at index {p['index']}: {numbers}"
    if p["wrong"] == 1:
        return f"1 of {p['size']} entries differs, {place}"
    many = "all" if p["wrong"] == p["size"] else f"{p['wrong']} of"
    which = "with the largest difference" if p.get("largest") else "the first of them"
    return f"{many} {p['size']} entries differ, {which} {place}"


def _not_finite(p: Parameters) -> str:
    number = p["not_finite"]
    return f"{number} {'entry is' if number == 1 else 'entries are'} NaN or infinite; {_entries(p)}"


def _parameters(p: Parameters) -> str:
    if p["repeated"]:
        first = f"{p['repeated'].rpartition('.')[0]}.0"
        return (
            f"`{p['repeated']}` has no separate parameters. Is it the same module as `{first}`? "
            "`[layer] * n` repeats one layer n times; make a new layer for each place"
        )
    lacking = [name.partition(".bias ")[0] for name in p["missing"] if ".bias " in name]
    if p["missing"] and len(lacking) == len(p["missing"]) and not p["extra"]:
        return f"{_listed([f'`{name}`' for name in lacking])} {'has' if len(lacking) == 1 else 'have'} no bias"
    names = _names(p["missing"], p["extra"])
    task = "; attribute names are part of the task" if p["missing"] else ""
    return f"your module's parameters: {names}{task}"


def _dtype(p: Parameters) -> str:
    words = f"dtype: expected {p['expected']}, got {p['got']}"
    wrong = p.get("wrong_as_booleans")
    if wrong is None:
        return words
    if wrong == 0:
        return f"{words}; as True and False, every entry would be correct"
    return f"{words}; as True and False, {wrong} of {p['size']} entries would be incorrect, too"


def _numbers(p: Parameters) -> str:
    """Where there are numbers to show, a clause that shows the first."""
    if "size" in p:
        return f"; {_entries(p)}"
    return f"; {_pair(p['expected'], p['got'])}" if "expected" in p else ""


def _scale(p: Parameters) -> str:
    subject = "every entry is" if "size" in p or "expected" not in p else "yours is"
    return f"{subject} {p['factor']:.6g} times the expected one{_numbers(p)}"


def _negated(p: Parameters) -> str:
    if p.get("boolean"):
        return "True and False are exchanged everywhere"
    subject = "every entry has" if "size" in p or "expected" not in p else "yours has"
    return f"{subject} the wrong sign{_numbers(p)}"


def _digits(p: Parameters) -> str:
    # float32 has 24 binary digits
    cause = "computed in float32" if p["digits"] >= 5 else "rounded, or computed in half precision"
    smaller = (
        " of the largest number, and to fewer than six of a smaller one" if p["digits"] >= 6 else ""
    )
    numbers = _numbers(p).removeprefix("; ")
    return (
        f"correct, but only to {p['digits']} digits{smaller}. Is something {cause}? Is a small number such as an "
        f"epsilon missing, too large or in a different place? {numbers[:1].upper()}{numbers[1:]}".rstrip()
    )


def _transposed(p: Parameters) -> str:
    if "axes" in p:
        return "correct, but with axes {} and {} exchanged".format(*p["axes"])
    return (
        f"the axes are in a different order: expected {tuple(p['expected'])}, got {tuple(p['got'])}"
    )


def _along(p: Parameters) -> str:
    return f" along axis {p['axis']}" if p["of"] > 1 else ""


def _slices(p: Parameters) -> str:
    many = f", and at {len(p['right']) - MAX_SHOWN} more" if len(p["right"]) > MAX_SHOWN else ""
    places = ", ".join(map(str, p["right"][:MAX_SHOWN]))
    return f"correct at index {places}{many}{_along(p)}, incorrect at the others{_numbers(p)}"


def _exchanged(p: Parameters) -> str:
    if p.get("shapes_only"):
        return "the parts have each other's shapes. Are they exchanged? Their numbers differ, too"
    if len(p["order"]) == 2:
        return "the two parts are correct, but exchanged"
    order = ", ".join(p["keys"][n - 1] if "keys" in p else str(n) for n in p["order"])
    return f"the parts are correct, but in a different order: in yours, the expected parts are at {order}"


# what the sentences of a translator show that has been trained or read out wrongly
USUAL = {
    "end": "most would be correct without their last token, {}. Is that EOS? Leave it out of the translation",
    "padding": (
        "most continue with token {}. Is padding learned like a word? Leave it out of the loss, and out of the "
        "translation"
    ),
    "copies": (
        "most repeat token {}, so the model has learned to copy what it gets. Is each target one token ahead of the "
        "decoder's input?"
    ),
    "only": "most are nothing but token {}. Is that BOS? Continue after it until EOS",
}


def _agreement(p: Parameters) -> str:
    aspect, parameters, place = p["first"]
    first = sentence(Difference(aspect, parameters, tuple(tuple(step) for step in place)))
    right = f"{p['right']} of {p['total']} are correct, and {p['share']:.0%} are needed"
    if p.get("usual"):
        kind, token = p["usual"]
        right += f"; {USUAL[kind].format(token)}"
    time = (
        f". {p['used']:.1f} of {p['given']:g} seconds of processor time were used"
        if "used" in p
        else ""
    )
    if "example" not in p:
        return f"{right}; the first that is not: {first}{time}"
    example = p["example"]
    shown = (
        f"{example['source']} should become {example['expected']}, and yours is {example['got']}"
    )
    return f"{right}; the first that is not: {shown}{time}"


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
    "dtype": _dtype,
    "not_finite": _not_finite,
    "not_zero": lambda p: f"entries that must be exactly 0 are not; {_entries(p)}",
    "rows": lambda p: f"the rows do not sum to one; {_entries(p)}",
    "scale": _scale,
    "entries": _entries,
    "number": lambda p: _pair(p["expected"], p["got"]),
    "text": _expected_and_got,
    "no_gradient": lambda p: (
        "no gradient arrives here. Is something on the way detached, turned into NumPy or plain numbers, "
        "or copied with copy.deepcopy? `.clone()` lets gradients through"
    ),
    "parameters": _parameters,
    "agreement": _agreement,
    "processor_time": lambda p: (
        f"it used {p['used']:.1f} seconds of processor time. The limit is {p['given']:g} seconds, and up to "
        f"{p['allowed']:g} are tolerated. Does your loop check time.process_time()?"
    ),
    "negated": _negated,
    "offset": lambda p: (
        f"every entry is {abs(p['offset']):.6g} too {'large' if p['offset'] > 0 else 'small'}"
    ),
    "digits": _digits,
    "transposed": _transposed,
    "flipped": lambda p: f"correct, but in reverse order{_along(p)}",
    "shifted": lambda p: (
        f"correct, but shifted by one{_along(p)}: every entry is one place too "
        f"{'late' if p['step'] > 0 else 'early'}"
    ),
    "order": lambda p: "the correct numbers, but in a different order",
    "reshaped": lambda p: (
        f"the correct numbers in the correct order, but in shape {tuple(p['got'])} instead of "
        f"{tuple(p['expected'])}"
    ),
    "axis": lambda p: (
        f"the numbers sum to 1 along axis {p['got']}; they should sum to 1 along axis {p['expected']}"
    ),
    "masked": lambda p: (
        f"correct except for {p['wrong']} of {p['size']} entries, all of them masked: they should be "
        f"{'exactly 0' if p['zero'] else 'minus infinity'}"
    ),
    "slices": _slices,
    "changed": lambda p: (
        "your code changes this argument: after the call it is no longer what was passed in. Change a copy, or use "
        "operations that return a new array"
    ),
    "exchanged": _exchanged,
    "not_judged": lambda p: (
        "the arguments stay as they were; this line passes once the result is correct"
    ),
}


def _violation(found: Parameters) -> str:
    """A violated relation in words; found: from `violations.with_violations`."""
    places = found["places"]
    if not places:
        return found["says"]
    shown = ", ".join(map(str, places[:MAX_PLACES])) + (", ..." if len(places) > MAX_PLACES else "")
    return f"{found['says']} (at position {shown})"


def sentence(difference: Difference) -> str:
    """A difference in words, with its place in a nested value; a violated relation alone, if there is one."""
    if found := difference.parameters.get("violated"):
        return "; ".join(map(_violation, found))
    words = SENTENCES[difference.aspect](difference.parameters)
    # one result of several may be None on purpose
    if difference.aspect == "kind" and not difference.place and words.endswith("got None"):
        words += ": is a `return` missing?"
    if right := difference.parameters.get("right_beside"):
        words += f"; {' and '.join(right)} {'is' if len(right) == 1 else 'are'} correct"
    steps = ", ".join(map(_step, difference.place))
    return f"{_preposition(difference)}{steps}: {words}" if steps else words


def _preposition(difference: Difference) -> str:
    """What leads over to the first step of a place: "in training mode", "for d_model=8", "in weights"."""
    match difference.place[0]:
        case "part", _, _, name if str(name).startswith(("in ", "at ", "with ", "without ")):
            return ""
        case "part", _, _, name if "=" in str(name):
            return "for "
    return "in "


def _step(step: Sequence[str | int]) -> str:
    match step:
        case "part", _, _, name:
            return str(name)
        case "part", number, total:
            return f"part {number} of {total}"
    return repr(step[1])


def is_readable(expression: str) -> bool:
    """Whether showing an expression helps a student who knows its title: a long one hardly can."""
    return len(expression) <= MAX_READABLE


def title(check: Check) -> str:
    """What a line is called: what it tests in words, or its expression."""
    return check.says.text if check.says else check.expression
