"""A result in words that quote no value, for students who see them at once and hand in again and again.

An expected value that a sentence told could be typed into the next submission, and what a student's code
puts into a message, a shape or a name could be an input that was drawn. So what is said about a line
depends on its verdict's identifier alone. It tells less than `words`; the checks in a student's own
notebook tell the values of their own draw.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection

from autograder.grade import words
from autograder.grade.result import LineResult, Remark
from autograder.runtime import messages
from autograder.runtime.compare import Difference

# what is said about these holds nothing but limits, and the names of cells and checks of the release
WITHOUT_VALUES = frozenset({"no_code", "ended", "time_used_up", "timeout"})
SENTENCES = {
    "to_do": "nobody has begun this answer yet",
    "forbidden": "a function was called that this exercise forbids",
    "error": "your code raised an error",
    "kind": "the result is of a different kind than what is asked for: is it None, a list or an array?",
    "keys": "the names in the result are not those that are asked for",
    "length": "the result is longer or shorter than what is asked for",
    "shape": "the shape is wrong",
    "dtype": "the data type is wrong",
    "not_finite": "entries are NaN or infinite that should not be",
    "not_zero": "entries that must be exactly 0 are not",
    "rows": "the rows do not sum to one",
    "scale": "everything is the correct result times one and the same number",
    "entries": "some entries are incorrect",
    "number": "the number is wrong",
    "text": "the text is wrong, or a different error was raised than the one that is asked for",
    "parameters": (
        "your module's parameters are not those that are asked for; attribute names are part of the task"
    ),
    "agreement": "too few of the results are correct",
    "no_gradient": messages.SENTENCES["no_gradient"]({}),
    "changed": messages.SENTENCES["changed"]({}),
    "not_judged": messages.SENTENCES["not_judged"]({}),
    "order": messages.SENTENCES["order"]({}),
    "processor_time": "it used more processor time than the limit",
    "negated": "everything has the wrong sign, or True and False are exchanged",
    "offset": "everything is too large or too small by one and the same number",
    "digits": (
        "correct, but only to some digits. Is something computed in float32 or rounded? Is a small number such as an "
        "epsilon missing, too large or in a different place?"
    ),
    "transposed": "the axes are in a different order",
    "flipped": "correct, but in reverse order",
    "shifted": "correct, but shifted by one place",
    "reshaped": "the correct numbers in the correct order, but in a different shape",
    "axis": "the numbers sum to 1 along a different axis than they should",
    "masked": "correct except for entries that are masked",
    "slices": "some parts are correct, others are not",
    "exchanged": "parts of the result are exchanged",
    "memory_held": (
        "not run: it is about memory, and your own cells have taken too much before; delete large arrays with `del`"
    ),
    "memory_processes": words.SENTENCES["memory_processes"]({}),
    "memory_threads": words.SENTENCES["memory_threads"]({}),
    "memory_ended": words.SENTENCES["memory_ended"]({}),
    "unreadable": "your code's result could not be read",
    "not_plain": "your code's result is not plain data",
    "answer_elsewhere": (
        "this answer cell is as it was handed out, and a cell of your own defines the answer: move it there"
    ),
    "not_defined": "an answer cell doesn't define what it was handed out for: keep the name",
    "cell_failed": "something that this uses doesn't exist: the cell that should define it failed",
}
# of the other remarks, only the submission decides what they say
REMARKS = {
    "failed": "This submission could not be graded. Your instructor can see why.",
    "no_follow_through": (
        "Answers that use an earlier one which is wrong could not be graded with a correct version "
        "instead."
    ),
    "by_clock": (
        "Something in this notebook was stopped by the clock, before it had computed as long as it may: the "
        "machine had too much else to do, or the notebook waits. Your instructor can run it again."
    ),
}


def sentence(line: LineResult, parts: Collection[str] = ()) -> str:
    """What is said about a line; empty for one that passed with the notebook as it stands.

    parts: the names of its value's parts that the notebook tells; others could hold what was drawn.
    """
    if line.difference is None:
        return words.sentence(line)
    named = [str(step[3]) for step in line.difference.place if len(step) > 3 and step[3] in parts]
    return ": ".join([*named, _verdict(line.difference)])


def _verdict(found: Difference) -> str:
    if violated := found.parameters.get("violated"):
        # the words are those of the release
        return "; ".join(one["says"] for one in violated)
    if found.aspect in WITHOUT_VALUES:
        return words.SENTENCES[found.aspect](found.parameters)
    if found.aspect == "error" and _is_builtin_error(found.parameters["name"]):
        return f"your code raised {found.parameters['name']}"
    return SENTENCES[found.aspect]


def _is_builtin_error(name: str) -> bool:
    """Whether a name is of one of Python's own errors, and not one that a student's code made up."""
    known = getattr(builtins, name, None)
    return isinstance(known, type) and issubclass(known, BaseException)


def remark(found: Remark) -> str:
    """A remark as a sentence."""
    return REMARKS.get(found.kind) or words.remark(found)
