"""A forged reply, whatever is in it, never passes, and what is said of it is short."""

import base64
import functools
import json

import numpy as np
import pytest

from autograder.expected import ExpectedDraw
from autograder.grade import kernel_run
from autograder.runtime.plain_data import MAX_ITEMS, encode

NOTHING = {"kind": "none"}
# a reply that has as many parts as it may
PARTS = kernel_run.MAX_PARTS - 200
BYTES = kernel_run.MAX_VALUE // 4 * 3 - 3000


def text_of(value=NOTHING, parameters=(), forbidden=()):
    first = {"value": value, "parameters": parameters, "forbidden": forbidden}
    return json.dumps([first, *[{"value": NOTHING}] * 2], separators=(",", ":"))


def items(unit):
    number = PARTS // (sum(map(json.dumps(unit).count, "[{,")) + 1)
    lists = [{"kind": "list", "items": [unit] * min(number, MAX_ITEMS)}]
    return {"kind": "list", "items": lists}


def array(dtype, data):
    encoded = base64.b64encode(data.tobytes()).decode()
    return {"kind": "array", "dtype": dtype, "shape": list(data.shape), "data": encoded}


def small_array(**changes):
    return {"kind": "array", "dtype": "float64", "shape": [1], "data": [1]} | changes


LONG = "x" * (kernel_run.MAX_VALUE - 1000)
FORGED = {
    "many parameters": lambda: text_of(parameters=[{f"p{i}": [1] for i in range(PARTS // 2)}]),
    "shapes of long numbers": lambda: text_of(
        parameters=[{f"{'p' * 180}{i}": [10**4000] * 16 for i in range(8)}]
    ),
    "a wide shape": lambda: text_of(parameters=[{"p": [1] * PARTS}]),
    "a wide list": lambda: text_of(items(NOTHING)),
    "a wide list of lists": lambda: text_of(items({"kind": "list", "items": []})),
    "a wide list of arrays": lambda: text_of(items(small_array())),
    "a wide list of impossible arrays": lambda: text_of(items(small_array(shape=[1] * 17))),
    "a wide dictionary": lambda: text_of(
        {"kind": "dict", "items": {f"n{i}": NOTHING for i in range(PARTS // 2)}}
    ),
    "long names": lambda: text_of(
        {"kind": "dict", "items": {f"{i:05d}{'x' * 2000}": NOTHING for i in range(1900)}}
    ),
    "an array written as a list": lambda: text_of(small_array(shape=[PARTS], data=[1] * PARTS)),
    "an array of single bytes": lambda: text_of(array("int8", np.zeros(BYTES, dtype="int8"))),
    "an array of NaN": lambda: text_of(array("float16", np.full(BYTES // 2, np.nan, dtype="<f2"))),
    "a long text": lambda: text_of({"kind": "text", "value": LONG}),
    "lone surrogates": lambda: text_of({"kind": "text", "value": "\ud800" * (len(LONG) // 6)}),
    "many forbidden names": lambda: text_of(forbidden=["x"] * PARTS),
    "deep lists": lambda: "[" * PARTS + "]" * PARTS,
    "too many parts": lambda: "[" + "{}," * (len(LONG) // 3) + "{}]",
    "too long": lambda: json.dumps(2 * LONG),
}
LARGE = "a large array"
EXPECTED = {
    "a number": encode(1.0),
    "a list": encode([0.0] * 1000),
    "a dictionary": encode({"sum": 1.0}),
    "an array": encode(np.ones(5)),
    LARGE: encode(np.full(BYTES, 2, dtype="int8")),
}


@functools.lru_cache(maxsize=1)
def forged(name):
    """What is read of a reply for its first draw; those for the others are the same in all. None if it is refused."""
    try:
        return kernel_run._evaluations(FORGED[name](), 3)[0]
    except (ValueError, RecursionError):
        return None


@pytest.mark.parametrize("against", EXPECTED)
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_reply_never_passes_and_what_is_told_of_it_is_short(name, against):
    parameters = [{f"p{i}": [2] for i in range(500)}] * 50
    expected = {"value": EXPECTED[against], "parameters": parameters}
    draw = ExpectedDraw({}, 1, expected, ["x"], {"m": ["y", 1.0, 1.0]})
    evaluation = forged(name)
    if evaluation is not None:
        judged, problem = kernel_run._judged(None, draw, evaluation)
        assert not judged.passed
        assert len(json.dumps(vars(problem), default=str)) < 20_000


def test_honest_replies_are_far_below_the_limits():
    # the largest of the course: a list of results with their dtypes
    value = [[["torch.float32", np.ones((3, 4, 5))] for _ in range(10)] for _ in range(3)]
    reply = json.dumps([{"value": encode(value), "parameters": [], "forbidden": []}] * 3)
    assert len(kernel_run._evaluations(reply, 3)) == 3
    assert len(reply) * 10 < kernel_run.MAX_VALUE
    assert sum(map(reply.count, "[{,")) * 10 < kernel_run.MAX_PARTS


def test_no_fingerprint_is_made_of_what_is_larger_than_any_mistakes_value():
    # it took seconds for a large array of NaN, which a submission may send for every line
    draw = ExpectedDraw({}, 1, {"value": encode(1.0), "parameters": []}, [], {})
    for size in (kernel_run.MAX_NUMBERS, kernel_run.MAX_NUMBERS + 1):
        value = encode([[np.full(size - 1, np.nan, dtype="float16")], {"a": 1.0}])
        judged, _ = kernel_run._judged(None, draw, {"value": value})
        none = judged.fingerprint == kernel_run.NO_FINGERPRINT
        assert none == (size > kernel_run.MAX_NUMBERS) and not judged.passed
