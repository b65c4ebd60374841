"""Values as plain data: encoded, checked, restored."""

import base64
import json

import numpy as np
import pytest
import torch

from autograder.runtime.compare import difference
from autograder.runtime.plain_data import (
    PlainDataError,
    bake,
    decode,
    encode,
    pack,
    restore,
    unpack,
)
from tests.support.course import plain

EIGHT = base64.b64encode(b"12345678").decode()


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        "text",
        [1, (2.5, None)],
        {"a": np.arange(6.0).reshape(2, 3)},
        torch.tensor([[1.5, float("nan")]]),
        torch.ones(2, dtype=torch.bfloat16),
        np.zeros((0, 3)),
        np.asfortranarray(np.arange(6).reshape(2, 3))[:, ::-1],
        np.array([1.0, 2.0], dtype=">f8"),
    ],
)
def test_plain_data_survives_the_journey(value):
    back = restore(plain(value))
    assert difference(plain(value), plain(back)) is None
    assert type(back) is (list if isinstance(value, tuple) else type(value))
    if isinstance(value, np.ndarray):
        assert np.array_equal(value, back) and back.dtype.kind == value.dtype.kind
    if isinstance(value, torch.Tensor):
        assert back.dtype == value.dtype and torch.equal(back.isnan(), value.isnan())


def deep(levels):
    tree = {"kind": "none"}
    for _ in range(levels):
        tree = {"kind": "list", "items": [tree]}
    return tree


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {"kind": "code"},
        {"kind": "number", "value": [1]},
        {"kind": "number", "value": 2**63},
        {"kind": "list", "items": {}},
        deep(200),
        {"kind": "array", "dtype": "object", "shape": [1], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [2], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [10**12], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [1] * 40, "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [1], "data": "!!"},
        {"kind": "array", "dtype": "float64", "shape": [1], "data": [{}]},
    ],
)
def test_what_is_not_plain_data_is_refused(tree):
    with pytest.raises(PlainDataError):
        decode(tree)


def test_baked_numbers_have_seven_significant_digits():
    tree = bake(encode({"a": [1 / 3, 7, True], "b": np.array([2 / 3, np.nan])}))
    assert restore(decode(tree))["a"] == [0.3333333, 7, True]
    assert tree["items"]["b"]["data"][0] == 0.6666667
    assert np.isnan(restore(decode(tree))["b"][1])
    with pytest.raises(PlainDataError, match="complex"):
        bake(encode(np.ones(2, dtype=complex)))


def test_packed_data_is_unpacked():
    data = {"a": [1, 2.5, None, "text"], "b": "\u00e4"}
    assert unpack(pack(json.loads(json.dumps(data)))) == data


def test_long_doubles_and_subclasses_of_tensors_are_their_data():
    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, arguments=(), named=None):
            if function is torch.Tensor.detach:
                raise TypeError("not for me")
            return super().__torch_function__(function, types, arguments, named or {})

    values = np.array([[1.5, -2.0], [0.25, 4.0]])
    assert encode(values.astype(np.longdouble)) == encode(values)
    assert encode(np.longdouble(1.5)) == encode(1.5)
    assert encode(torch.from_numpy(values).as_subclass(Mine)) == encode(torch.from_numpy(values))
