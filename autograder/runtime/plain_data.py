"""Values as plain data: what an expression returns, as JSON that needs no trust and no pickle.

`encode` turns a Python value into JSON, `decode` checks such JSON, whoever sent it, and turns it into
one of the classes below.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .tensors import is_tensor, loaded, needed

if TYPE_CHECKING:
    import torch

MAX_BYTES = 32_000_000
MAX_DEPTH = 12
MAX_ITEMS = 20_000
MAX_TEXT = 4_000
ARRAY_DTYPES = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
}
NUMBERS = (bool, int, float)
# what marks a tensor of zeros that stands for a gradient which hasn't arrived
UNREACHED = "unreached"


class PlainDataError(ValueError):
    """A value, or what claims to be one, that isn't plain data within the limits."""


@dataclass(frozen=True)
class Nothing:
    """None."""


@dataclass(frozen=True)
class Number:
    """A Python number; integers have at most 64 bits."""

    value: bool | int | float


@dataclass(frozen=True)
class Text:
    """A text of at most MAX_TEXT characters."""

    value: str


@dataclass(frozen=True)
class Array:
    """A NumPy array or a torch tensor, as a NumPy array; dtype is the original's (bfloat16 too).

    unreached: see UNREACHED.
    """

    is_tensor: bool
    dtype: str
    values: np.ndarray
    unreached: bool = False

    @property
    def shape(self) -> list[int]:
        """The sizes of its axes."""
        return list(self.values.shape)


@dataclass(frozen=True)
class Items:
    """A list or tuple."""

    items: tuple[Value, ...]


@dataclass(frozen=True)
class Dictionary:
    """A dictionary whose keys are texts."""

    items: dict[str, Value]


@dataclass(frozen=True)
class Error:
    """An exception: its class's name, its message, and where it was raised.

    at: the innermost line in a cell that the student may edit; inside: of the course's own code in the
    notebook, if that is further in; by_check: no code of the notebook was running; part: the part of the
    line's value that was being computed, by the positions in its nested lists, from 0.
    """

    name: str
    message: str
    at: str = ""
    inside: str = ""
    by_check: bool = False
    part: tuple[int, ...] = ()


@dataclass(frozen=True)
class Unsupported:
    """Anything else."""

    type_name: str


Value = Nothing | Number | Text | Array | Items | Dictionary | Error | Unsupported


def valid_text(text: Any, limit: int = MAX_TEXT) -> str:
    """Text of at most limit characters that every file and database takes.

    A lone surrogate, which JSON can carry, can't be written as UTF-8: it becomes a question mark.
    """
    return str(text)[:limit].encode("utf-8", "replace").decode()


def encode(value: Any, depth: int = 0) -> dict:
    """A value as JSON; anything unknown becomes its type's name.

    Raises PlainDataError for what is nested too deeply or too large.
    """
    if depth > MAX_DEPTH:
        raise PlainDataError("the result is nested too deeply")
    if value is None:
        return {"kind": "none"}
    if isinstance(value, np.longdouble):
        value = float(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | float):
        return {"kind": "number", "value": bool(value) if isinstance(value, bool) else float(value)}
    if isinstance(value, int):
        if abs(value) >= 2**63:
            raise PlainDataError("the result holds an integer of more than 64 bits")
        return {"kind": "number", "value": int(value)}
    if isinstance(value, str):
        return {"kind": "text", "value": str(value)[:MAX_TEXT]}
    torch = loaded()
    if torch is not None and isinstance(value, torch.dtype):
        return {"kind": "text", "value": str(value)}
    if is_tensor(value):
        mark = {UNREACHED: True} if vars(value).get(UNREACHED) is True else {}
        return {**_encode_tensor(value), **mark}
    if isinstance(value, np.ndarray):
        if value.dtype == np.longdouble:
            # compared as float64, of which nobody asks for more digits
            value = value.astype(np.float64)
        return _encode_array("array", value.dtype.name, value)
    if isinstance(value, list | tuple):
        if len(value) > MAX_ITEMS:
            raise PlainDataError(f"the result is a list of {len(value)} items")
        return {"kind": "list", "items": [encode(item, depth + 1) for item in value]}
    if isinstance(value, dict):
        if len(value) > MAX_ITEMS:
            raise PlainDataError(f"the result is a dictionary of {len(value)} items")
        items = {str(key): encode(item, depth + 1) for key, item in value.items()}
        return {"kind": "dict", "items": items}
    return {"kind": "unsupported", "type": type(value).__name__[:80]}


def _encode_tensor(tensor: torch.Tensor) -> dict:
    torch = needed()
    # a subclass may change what the calls below do
    tensor = tensor.as_subclass(torch.Tensor)
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type == "meta":
        return {"kind": "unsupported", "type": f"{tensor.layout} tensor"}
    name = str(tensor.dtype).removeprefix("torch.")
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if name == "bfloat16":
        tensor = tensor.float()
    return _encode_array("tensor", name, tensor.numpy())


def _encode_array(kind: str, dtype: str, array: np.ndarray) -> dict:
    if dtype not in ARRAY_DTYPES:
        return {"kind": "unsupported", "type": f"{kind} of dtype {dtype}"}
    if array.nbytes > MAX_BYTES:
        raise PlainDataError(f"the result is an array of {array.nbytes} bytes")
    array = np.asarray(array)
    little = array.astype(array.dtype.newbyteorder("<"))
    data = base64.b64encode(little.tobytes()).decode()
    return {"kind": kind, "dtype": dtype, "shape": list(array.shape), "data": data}


def decode(tree: Any, depth: int = 0) -> Value:
    """Check JSON made by `encode` or `bake`, and turn it into a value.

    Raises PlainDataError on anything that such JSON cannot be: what comes from a student's kernel is
    not trusted.
    """
    if depth > MAX_DEPTH or not isinstance(tree, dict):
        raise PlainDataError("not plain data")
    kind = tree.get("kind")
    if kind == "none":
        return Nothing()
    if kind == "number" and type(tree.get("value")) in NUMBERS:
        if type(tree["value"]) is int and abs(tree["value"]) >= 2**63:
            raise PlainDataError("an integer of more than 64 bits")
        return Number(tree["value"])
    if kind == "text" and isinstance(tree.get("value"), str):
        return Text(valid_text(tree["value"]))
    if kind == "unsupported":
        return Unsupported(valid_text(tree.get("type"), 100))
    if kind == "error":
        return _decode_error(tree)
    items = tree.get("items")
    if kind == "list" and isinstance(items, list) and len(items) <= MAX_ITEMS:
        return Items(tuple(decode(item, depth + 1) for item in items))
    if kind == "dict" and isinstance(items, dict) and len(items) <= MAX_ITEMS:
        return Dictionary(
            {valid_text(key, 200): decode(item, depth + 1) for key, item in items.items()}
        )
    if kind in ("array", "tensor"):
        return _decode_array(kind, tree)
    raise PlainDataError("not plain data")


def _decode_error(tree: dict) -> Error:
    name, message = valid_text(tree.get("name"), 100), valid_text(tree.get("message"))
    at, inside = (valid_text(tree.get(key, ""), 300) for key in ("at", "inside"))
    given = tree.get("part")
    part = tuple(given[:MAX_DEPTH]) if isinstance(given, list) else ()
    if not all(type(number) is int for number in part):
        raise PlainDataError("an exception in an impossible part")
    return Error(name, message, at, inside, tree.get("by_check") is True, part)


def _decode_array(kind: str, tree: dict) -> Array:
    dtype, shape, data = tree.get("dtype"), tree.get("shape"), tree.get("data")
    if (
        dtype not in ARRAY_DTYPES
        or not isinstance(shape, list)
        or len(shape) > 16
        or not all(type(size) is int and 0 <= size <= MAX_BYTES for size in shape)
        or math.prod(shape) > MAX_BYTES
    ):
        raise PlainDataError("an array with an impossible dtype or shape")
    stored = np.dtype("float32" if dtype == "bfloat16" else dtype).newbyteorder("<")
    try:
        if isinstance(data, str):
            array = np.frombuffer(base64.b64decode(data, validate=True), dtype=stored)
        else:
            array = np.array(data, dtype=stored)
        array = array.reshape(shape)
    except (ValueError, TypeError, OverflowError) as error:
        raise PlainDataError("an array whose data doesn't fit its shape") from error
    return Array(kind == "tensor", dtype, array, tree.get(UNREACHED) is True)


def restore(value: Value) -> Any:
    """The Python value: how drawn inputs reach the kernel that needs them."""
    match value:
        case Text(text) if text.startswith("torch."):
            return getattr(needed(), text.removeprefix("torch."))
        case Number(plain) | Text(plain):
            return plain
        case Items(items):
            return [restore(item) for item in items]
        case Dictionary(items):
            return {key: restore(item) for key, item in items.items()}
        case Array(is_tensor=of_torch, dtype=dtype, values=values):
            array = values.astype(values.dtype.newbyteorder("="))
            if not of_torch:
                return array
            torch = needed()
            return torch.from_numpy(array).to(getattr(torch, dtype))
    return None


def bake(tree: dict) -> dict:
    """Encoded JSON with its arrays as lists of numbers of 7 significant digits.

    The comparison tolerates a relative error of 1e-6, and digits are most of a notebook's size.
    """

    def short(number: Any) -> Any:
        return number if isinstance(number, bool | int) else float(f"{number:.7g}")

    if tree["kind"] == "number":
        return {**tree, "value": short(tree["value"])}
    if tree["kind"] in ("array", "tensor"):
        array = _decode_array(tree["kind"], tree).values
        if array.dtype.kind == "c":
            raise PlainDataError("complex values can't be baked")
        return {**tree, "data": [short(number) for number in array.reshape(-1).tolist()]}
    if tree["kind"] == "list":
        return {**tree, "items": [bake(item) for item in tree["items"]]}
    if tree["kind"] == "dict":
        return {**tree, "items": {key: bake(item) for key, item in tree["items"].items()}}
    return tree


def pack(data: Any) -> str:
    """JSON data as a short text."""
    text = json.dumps(data, separators=(",", ":"))
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode()


def unpack(text: str) -> Any:
    """The data that `pack` packed."""
    return json.loads(zlib.decompress(base64.b85decode(text)))
