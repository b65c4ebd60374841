"""The course's checks: drawing inputs, evaluating an expression to plain data, comparing, diagnosing.

This one file runs in three places: in the student's notebook (it is embedded in a locked cell), in the
student's kernel when a submission is graded, and beside the reference. It needs numpy and torch alone.
An autotest returns data; whoever holds the expected data compares.
"""

from __future__ import annotations

import ast
import base64
import builtins
import contextlib
import copy
import functools
import hashlib
import json
import math
import sys
import sysconfig
import traceback
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
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


# Drawing inputs ---------------------------------------------------------------------------------


class Draw:
    """Draws the inputs of a grade cell from numpy's RandomState, whose stream is frozen.

    words: integers that seed it. Normal values are rounded to 4 digits, so that every machine draws
    the same numbers.
    """

    def __init__(self, *words: int) -> None:
        self._random = np.random.RandomState([word % 2**32 for word in words])
        self.parameter_seed = int(self._random.randint(2**31 - 1))

    def sizes(self, n: int, low: int = 2, high: int = 9) -> list[int]:
        """n pairwise distinct integers between low and high, both included."""
        return [int(size) for size in low + self._random.permutation(high - low + 1)[:n]]

    def integer(self, low: int, high: int) -> int:
        """One integer between low and high, both included."""
        return int(self._random.randint(low, high + 1))

    def integers(self, *shape: int, low: int, high: int) -> np.ndarray:
        """An int64 array of integers between low and high, both included."""
        return self._random.randint(low, high + 1, size=shape).astype(np.int64)

    def choices(self, n: int, options: Sequence) -> list:
        """n options drawn with replacement."""
        return [options[i] for i in self._random.randint(len(options), size=n)]

    def permutation(self, n: int) -> np.ndarray:
        """A permutation of 0 .. n - 1."""
        return self._random.permutation(n).astype(np.int64)

    def array(self, *shape: int) -> np.ndarray:
        """A float64 array of about standard normal values."""
        return np.round(self._random.standard_normal(shape), 4)

    def tensor(self, *shape: int) -> torch.Tensor:
        """A float64 tensor of about standard normal values."""
        return torch.from_numpy(self.array(*shape))

    def mask(self, *shape: int, empty: int = 0) -> np.ndarray:
        """A boolean array, True = may attend; every row (last axis) has a True and, if it can, a False.

        empty: so many rows, drawn, are all False.
        """
        rows = self._random.random_sample(shape).reshape(-1, shape[-1]) < 0.6
        for row in rows:
            allowed = self._random.permutation(shape[-1])
            row[allowed[0]] = True
            if shape[-1] > 1:
                row[allowed[1]] = False
        rows[self._random.permutation(len(rows))[:empty]] = False
        return rows.reshape(shape)


# Helpers of autotest expressions: each returns data ---------------------------------------------


class _Evaluation:
    """What the helpers note beside the value: the parameters that `fill` met, forbidden calls."""

    parameter_seed: int
    parameters: list[dict[str, list[int]]]
    forbidden: list[str]


def fill(module: torch.nn.Module, **buffers: torch.Tensor) -> torch.nn.Module:
    """Set every parameter by its name from the draw, in float64, and switch to evaluation mode.

    buffers: values for buffers, by name; a table that another answer made can't cost points then.
    """
    module = module.double().eval()
    shapes = {}
    for name, parameter in module.named_parameters():
        words = [_Evaluation.parameter_seed, zlib.crc32(name.encode())]
        values = 0.6 * np.random.RandomState(words).standard_normal(tuple(parameter.shape))
        parameter.data = torch.from_numpy(np.round(values, 4)).to(torch.float64)
        shapes[name] = list(parameter.shape)
    for name, values in buffers.items():
        module.get_buffer(name).copy_(values)
    _Evaluation.parameters.append(shapes)
    return module


def parameter_shapes(module: torch.nn.Module) -> dict[str, list[int]]:
    """Name and shape of every parameter."""
    return {name: list(value.shape) for name, value in module.named_parameters()}


def dtype_of(value: Any) -> str:
    """The name of an array's or tensor's dtype."""
    return str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")


def inputs_after(function: Callable, *arguments: Any, **named: Any) -> list:
    """The arguments as they are after the call, so that in-place changes show, and the result.

    Without the result a function that does nothing at all would be right.
    """
    result = function(*arguments, **named)
    return [*arguments, *named.values(), result]


def raised(function: Callable, *arguments: Any, **named: Any) -> str:
    """The name of the built-in exception class that the call raises, or "nothing"."""
    try:
        function(*arguments, **named)
    except NotImplementedError:
        raise
    except Exception as error:
        names = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return next(names)
    return "nothing"


def _floating_leaves(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if value.is_floating_point():
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _floating_leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _floating_leaves(item)


def gradients(function: Callable, *arguments: Any, **named: Any) -> dict:
    """Gradients of a fixed, generic weighted sum of the outputs.

    Returns {"inputs": [...], "parameters": {name: ...}}, one for every floating tensor argument and,
    if function is a module, every parameter; a text where no gradient reaches any.
    """

    def leaf(argument: Any) -> Any:
        if isinstance(argument, torch.Tensor) and argument.is_floating_point():
            return argument.detach().clone().requires_grad_()
        return argument

    arguments = [leaf(argument) for argument in arguments]
    named = {name: leaf(argument) for name, argument in named.items()}
    inputs = list(_floating_leaves([*arguments, *named.values()]))
    parameters = {}
    if isinstance(function, torch.nn.Module):
        parameters = dict(function.named_parameters())
        for parameter in parameters.values():
            parameter.requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for number, output in enumerate(_floating_leaves(function(*arguments, **named))):
        weights = torch.cos(0.7 * torch.arange(output.numel(), dtype=torch.float64) + number)
        total = total + (output.double() * weights.reshape(output.shape)).sum()
    if not total.requires_grad:
        nothing = "no gradient reaches it"
        return {
            "inputs": [nothing for _ in inputs],
            "parameters": dict.fromkeys(parameters, nothing),
        }
    targets = [*inputs, *parameters.values()]
    found = torch.autograd.grad(total, targets, allow_unused=True)
    found = [
        torch.zeros_like(target) if grad is None else grad
        for target, grad in zip(targets, found, strict=True)
    ]
    return {
        "inputs": found[: len(inputs)],
        "parameters": dict(zip(parameters, found[len(inputs) :], strict=True)),
    }


# what an expression means by these names, whatever a student calls by them: `from numpy import *` has a sum
HELPERS = {
    **vars(builtins),
    "np": np,
    "torch": torch,
    "fill": fill,
    "gradients": gradients,
    "inputs_after": inputs_after,
    "raised": raised,
    "parameter_shapes": parameter_shapes,
    "dtype_of": dtype_of,
}


# Calls that a cell forbids ----------------------------------------------------------------------


class ForbiddenCall(RuntimeError):
    """A ready-made attention was called where the exercise asks for one from scratch."""


# what a cell may forbid, and all that computes it: torch's operators, functions and modules
FORBIDDABLE = {
    "scaled_dot_product_attention": {
        "operators": [
            *("scaled_dot_product_attention", "_scaled_dot_product_attention_math"),
            "_scaled_dot_product_flash_attention_for_cpu",
        ],
        "functions": ["torch.nn.attention.flex_attention.flex_attention"],
    },
    "MultiheadAttention": {
        "operators": ["_native_multi_head_attention"],
        "functions": ["torch.nn.functional.multi_head_attention_forward"],
        "modules": ["MultiheadAttention"],
    },
    "Transformer": {
        "operators": ["_transformer_encoder_layer_fwd"],
        "modules": [
            *("Transformer", "TransformerEncoder", "TransformerDecoder"),
            *("TransformerEncoderLayer", "TransformerDecoderLayer"),
        ],
    },
}


def _refused(*arguments: Any, refuse: Callable, **named: Any) -> None:
    refuse()


@contextlib.contextmanager
def _forbidding(names: Sequence[str]) -> Iterator[None]:
    """Refuse torch's ready-made attention while the block runs, and note every attempt."""

    def refusal(name: str) -> Callable:
        def refuse(*arguments: Any, **named: Any) -> None:
            _Evaluation.forbidden.append(name)
            raise ForbiddenCall(
                f"{name} may not be called here: this exercise builds it from scratch."
            )

        return refuse

    def swap(target: Any, attribute: str, value: Any) -> None:
        stack.callback(setattr, target, attribute, getattr(target, attribute))
        setattr(target, attribute, value)

    with contextlib.ExitStack() as stack:
        # operators and the code of functions: a name imported earlier is refused too
        if names:
            library = torch.library.Library("aten", "IMPL")
            stack.callback(library._destroy)
        for ready_made in (FORBIDDABLE[name] for name in names):
            for operator in ready_made["operators"]:
                for key in ("CPU", "AutogradCPU", "AutogradNestedTensor"):
                    # torch warns that it is overridden
                    with warnings.catch_warnings(action="ignore"):
                        library.impl(operator, refusal(operator.lstrip("_")), key)
            for path in ready_made.get("functions", ()):
                module, _, name = path.rpartition(".")
                function = getattr(sys.modules.get(module), name, None)
                if function is not None:
                    swap(function, "__kwdefaults__", {"refuse": refusal(name)})
                    swap(function, "__code__", _refused.__code__)
            for kind in (getattr(torch.nn, name) for name in ready_made.get("modules", ())):
                for method in ("__init__", "forward"):
                    swap(kind, method, refusal(kind.__name__))
        yield


# Values as plain data ---------------------------------------------------------------------------


class PlainDataError(ValueError):
    """A value, or what claims to be one, that isn't plain data within the limits."""


def encode(value: Any, depth: int = 0) -> dict:
    """A value as a tree that JSON can carry; anything unknown becomes its type's name."""
    if depth > MAX_DEPTH:
        raise PlainDataError("the result is nested too deeply")
    if value is None:
        return {"kind": "none"}
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
    if isinstance(value, torch.dtype):
        return {"kind": "text", "value": str(value)}
    if isinstance(value, torch.Tensor):
        return _encode_tensor(value)
    if isinstance(value, np.ndarray):
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


def decode(tree: Any, depth: int = 0) -> dict:
    """Check a tree made by `encode` or `bake` and turn its data into arrays.

    Raises PlainDataError on anything that such a tree cannot be: what comes from a student's kernel
    is not trusted.
    """
    if depth > MAX_DEPTH or not isinstance(tree, dict):
        raise PlainDataError("not plain data")
    kind = tree.get("kind")
    if kind == "none":
        return {"kind": "none"}
    if kind == "number" and type(tree.get("value")) in NUMBERS:
        if type(tree["value"]) is int and abs(tree["value"]) >= 2**63:
            raise PlainDataError("an integer of more than 64 bits")
        return {"kind": "number", "value": tree["value"]}
    if kind == "text" and isinstance(tree.get("value"), str):
        return {"kind": "text", "value": tree["value"][:MAX_TEXT]}
    if kind == "unsupported":
        return {"kind": "unsupported", "type": str(tree.get("type"))[:100]}
    if kind == "error":
        name, message = str(tree.get("name"))[:100], str(tree.get("message"))[:MAX_TEXT]
        return {"kind": "error", "name": name, "message": message, "at": str(tree.get("at"))[:300]}
    items = tree.get("items")
    if kind == "list" and isinstance(items, list) and len(items) <= MAX_ITEMS:
        return {"kind": "list", "items": [decode(item, depth + 1) for item in items]}
    if kind == "dict" and isinstance(items, dict) and len(items) <= MAX_ITEMS:
        items = {str(key)[:200]: decode(item, depth + 1) for key, item in items.items()}
        return {"kind": "dict", "items": items}
    if kind in ("array", "tensor"):
        return _decode_array(kind, tree)
    raise PlainDataError("not plain data")


def _decode_array(kind: str, tree: dict) -> dict:
    dtype, shape, data = tree.get("dtype"), tree.get("shape"), tree.get("data")
    sizes_fit = (
        isinstance(shape, list)
        and len(shape) <= 16
        and all(type(size) is int and 0 <= size <= MAX_BYTES for size in shape)
    )
    if dtype not in ARRAY_DTYPES or not sizes_fit or math.prod(shape) > MAX_BYTES:
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
    return {"kind": kind, "dtype": dtype, "shape": shape, "array": array}


def restore(tree: dict) -> Any:
    """The Python value of a decoded tree: how drawn inputs reach the kernel that needs them."""
    kind = tree["kind"]
    if kind == "none":
        return None
    if kind == "text" and tree["value"].startswith("torch."):
        return getattr(torch, tree["value"].removeprefix("torch."))
    if kind in ("number", "text"):
        return tree["value"]
    if kind == "list":
        return [restore(item) for item in tree["items"]]
    if kind == "dict":
        return {key: restore(item) for key, item in tree["items"].items()}
    array = tree["array"].astype(tree["array"].dtype.newbyteorder("="))
    if kind == "tensor":
        return torch.from_numpy(array).to(getattr(torch, tree["dtype"]))
    return array


def bake(tree: dict) -> dict:
    """An encoded tree with its arrays as lists of numbers of 10 significant digits."""

    def short(number: Any) -> Any:
        return number if isinstance(number, bool | int) else float(f"{number:.10g}")

    if tree["kind"] == "number":
        return {**tree, "value": short(tree["value"])}
    if tree["kind"] in ("array", "tensor"):
        array = decode(tree)["array"]
        if array.dtype.kind == "c":
            raise PlainDataError("complex values can't be baked")
        return {**tree, "data": [short(number) for number in array.reshape(-1).tolist()]}
    if tree["kind"] == "list":
        return {**tree, "items": [bake(item) for item in tree["items"]]}
    if tree["kind"] == "dict":
        return {**tree, "items": {key: bake(item) for key, item in tree["items"].items()}}
    return tree


# Evaluating one expression ----------------------------------------------------------------------


@functools.lru_cache(maxsize=1024)
def _compiled(text: str, mode: str) -> Any:
    return compile(text, "<autotest>", mode)


@contextlib.contextmanager
def _usual_settings() -> Iterator[None]:
    """What a notebook may have set for itself and that would make right answers raise."""
    with (
        np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
        warnings.catch_warnings(),
        torch.inference_mode(False),
        torch.enable_grad(),
    ):
        if any(action == "error" for action, *_ in warnings.filters):
            warnings.simplefilter("default")
        default = torch.get_default_dtype()
        if default.itemsize < 4:
            # tables and parameters would be too coarse to tell right from wrong
            torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(default)


def evaluate(
    expression: str, names: dict[str, Any], parameter_seed: int, forbidden: Sequence[str] = ()
) -> dict:
    """Evaluate an autotest expression over some definitions: {"value": tree, "parameters": ...}.

    names: the definitions, and the drawn inputs over them. An exception becomes a value of kind
    "error". Anything but an interrupt is caught.
    """
    _Evaluation.parameter_seed = parameter_seed
    _Evaluation.parameters = []
    _Evaluation.forbidden = []
    namespace = {"__builtins__": builtins, **names}
    try:
        with _forbidding(forbidden), _usual_settings():
            np.random.seed(parameter_seed % 2**32)
            # not torch.manual_seed: it keeps a stack trace per call for every accelerator
            torch.default_generator.manual_seed(parameter_seed)
            value = encode(eval(_compiled(expression, "eval"), namespace))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        value = _encode_error(error)
    return {
        "value": value,
        "parameters": _Evaluation.parameters,
        "forbidden": sorted(set(_Evaluation.forbidden)),
    }


def _encode_error(error: BaseException) -> dict:
    # the last line of the student's own, not that of a library which it calls
    library = tuple(sysconfig.get_paths()[kind] for kind in ("stdlib", "purelib", "platlib"))
    at = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if (
            frame.line
            and not frame.filename.startswith(library)
            and "autotest" not in frame.filename
        ):
            at = frame.line
    return {
        "kind": "error",
        "name": type(error).__name__,
        "message": str(error)[:MAX_TEXT],
        "at": at.strip()[:300],
    }


def serve(request: str, definitions: dict[str, Any]) -> str:
    """Evaluate one expression on several draws, for a grader in another process: JSON to JSON."""
    job = json.loads(request)
    results = []
    for draw in job["draws"]:
        inputs = {name: restore(decode(tree)) for name, tree in draw["inputs"].items()}
        names = {**definitions, **HELPERS, **inputs}
        results.append(evaluate(job["expression"], names, draw["parameter_seed"], job["forbidden"]))
    return json.dumps(results)


# Comparing --------------------------------------------------------------------------------------


def describe(tree: dict) -> str:
    """A value in a few words."""
    kind = tree["kind"]
    if kind == "none":
        return "None"
    if kind == "number":
        value = tree["value"]
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if kind == "text":
        return repr(tree["value"][:80])
    if kind in ("array", "tensor"):
        noun = "NumPy array" if kind == "array" else "torch tensor"
        return f"a {noun} of shape {tuple(tree['shape'])}"
    if kind in ("list", "dict"):
        noun = "list or tuple" if kind == "list" else "dictionary"
        return f"a {noun} of {len(tree['items'])}"
    if kind == "error":
        return f"{tree['name']}: {tree['message'][:300]}"
    return f"something of type {tree['type']}"


def difference(expected: dict, got: dict, where: str = "") -> dict | None:
    """The first way in which a value is not the expected one, or None.

    Both are decoded trees. Returns {"aspect": kind | shape | dtype | finite | mask | rows | scale |
    value, "message": ...}.
    """

    def differs(aspect: str, message: str) -> dict:
        place = f"in {where}: " if where else ""
        return {"aspect": aspect, "message": f"{place}{message}"}

    if got["kind"] == "error":
        line = f"  (at: {got['at']})" if got["at"] else ""
        return differs("error", f"your code raised {describe(got)}{line}")
    if expected["kind"] == "number" and got["kind"] in ("array", "tensor") and got["shape"] == []:
        got = {"kind": "number", "value": got["array"].item()}
    if expected["kind"] != got["kind"]:
        return differs("kind", f"expected {describe(expected)}, got {describe(got)}")
    if expected["kind"] in ("array", "tensor"):
        problem = _array_difference(expected, got)
        return problem and differs(*problem)
    if expected["kind"] == "number":
        return _number_difference(expected["value"], got["value"], differs)
    if expected["kind"] == "text" and expected["value"] != got["value"]:
        return differs("value", f"expected {describe(expected)}, got {describe(got)}")
    if expected["kind"] == "list":
        if len(expected["items"]) != len(got["items"]):
            return differs("shape", f"expected {describe(expected)}, got {describe(got)}")
        total = len(expected["items"])
        pairs = zip(expected["items"], got["items"], strict=True)
        for number, (wanted, found) in enumerate(pairs, start=1):
            problem = difference(wanted, found, _inside(where, f"part {number} of {total}"))
            if problem:
                return problem
    if expected["kind"] == "dict":
        missing = sorted(set(expected["items"]) - set(got["items"]))
        extra = sorted(set(got["items"]) - set(expected["items"]))
        if missing or extra:
            return differs("kind", _names_message(missing, extra))
        for key, wanted in expected["items"].items():
            problem = difference(wanted, got["items"][key], _inside(where, repr(key)))
            if problem:
                return problem
    return None


def _disagreement(expected: dict, got: dict, share: float) -> dict | None:
    """Why fewer than this share of a list's items are the expected ones, or None. Both are decoded."""
    if got["kind"] != "list" or len(got["items"]) != len(expected["items"]):
        return difference(expected, got)
    pairs = zip(expected["items"], got["items"], strict=True)
    problems = [difference(*pair, f"part {n}") for n, pair in enumerate(pairs, start=1)]
    wrong = [problem for problem in problems if problem]
    if 1 - len(wrong) / len(problems) >= share:
        return None
    right = f"{len(problems) - len(wrong)} of {len(problems)} parts are right"
    message = f"{right}, {share:.0%} are asked for; the first that is not: {wrong[0]['message']}"
    return {"aspect": "agreement", "message": message}


def _inside(where: str, place: str) -> str:
    return f"{where}, {place}" if where else place


def _names_message(missing: Sequence[str], extra: Sequence[str]) -> str:
    words = [f"missing: {', '.join(missing)}"] if missing else []
    words += [f"not expected: {', '.join(extra)}"] if extra else []
    return "the names differ (" + "; ".join(words) + ")"


def _tolerance(expected: str, got: str) -> tuple[float, float]:
    """Relative tolerance, and absolute tolerance as a share of the largest value.

    Half precision is tolerated where it is expected: elsewhere it would make near misses right.
    """
    if expected in ("float16", "bfloat16"):
        return 2e-2, 2e-3
    if {expected, got} & {"float32", "complex64"}:
        return 1e-4, 1e-6
    return 1e-6, 1e-10


def _number_difference(expected: float, got: Any, differs: Callable) -> dict | None:
    if isinstance(expected, bool) or isinstance(got, bool | complex):
        same = type(expected) is type(got) and expected == got
    elif isinstance(expected, int):
        same = got == expected
    elif not math.isfinite(got) and math.isfinite(expected):
        return differs("finite", f"expected {expected:.6g}, got {got}")
    else:
        # no tighter: a plain number may be a sum of float32 terms of order 1
        same = math.isclose(expected, got, rel_tol=1e-5, abs_tol=2e-7)
        same = same or (math.isnan(expected) and math.isnan(got))
    return None if same else differs("value", f"expected {expected!r}, got {got!r}")


def _array_difference(expected: dict, got: dict) -> tuple[str, str] | None:
    if expected["shape"] != got["shape"]:
        wanted, found = tuple(expected["shape"]), tuple(got["shape"])
        return "shape", f"shape: expected {wanted}, got {found}"
    a, b = expected["array"], got["array"]
    families = {"b": "boolean", "i": "integer", "u": "integer", "f": "floating", "c": "complex"}
    if families[a.dtype.kind] != families[b.dtype.kind]:
        return "dtype", f"dtype: expected {expected['dtype']}, got {got['dtype']}"
    if a.size == 0:
        return None
    if a.dtype.kind in "biu":
        same = a == b
        a, b = a.astype(float), b.astype(float)
    else:
        a, b = a.astype(np.complex128), b.astype(np.complex128)
        relative, absolute = _tolerance(expected["dtype"], got["dtype"])
        scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
        with np.errstate(invalid="ignore"):
            close = np.isfinite(a) & (
                np.abs(a - b) <= relative * np.abs(a) + absolute * scale + 1e-13
            )
        same = close | (a == b) | (np.isnan(a) & np.isnan(b))
        a, b = a.real, b.real
    if same.all():
        return None
    wrong = np.argwhere(~same)
    index = tuple(int(i) for i in wrong[0])
    place = f"first at index {list(index)}" if index else "its one entry"
    numbers = f"expected {a[index]:.6g}, got {b[index]:.6g}"
    count = f"{len(wrong)} of {a.size} entries differ, {place}: {numbers}"
    return _name_violation(a, b, same, count)


def _name_violation(
    a: np.ndarray, b: np.ndarray, same: np.ndarray, count: str
) -> tuple[str, str] | None:
    """Which property of the expected array the other breaks first."""
    finite = np.isfinite(b)
    if np.isfinite(a).all() and not finite.all():
        return "finite", f"{int((~finite).sum())} entries are NaN or infinite; {count}"
    if ((a == 0) & (b != 0) & ~same).any() and (a != 0).any():
        return "mask", f"entries that must be exactly 0 are not; {count}"
    if a.ndim and a.shape[-1] > 1 and (a >= 0).all():
        sums, found = a.sum(-1), b.sum(-1)
        rows = np.isclose(sums, 1) | (sums == 0)
        if rows.all() and np.isclose(sums, 1).any() and not np.allclose(found, sums, atol=1e-6):
            return "rows", f"the rows do not sum to one; {count}"
    used = np.isfinite(a) & (np.abs(a) > 1e-8)
    if used.sum() > 2:
        with np.errstate(all="ignore"):
            ratios = b[used] / a[used]
        if np.allclose(ratios, ratios.flat[0], rtol=1e-6) and abs(ratios.flat[0]) > 1e-9:
            return "scale", f"every entry is {ratios.flat[0]:.6g} times the expected one; {count}"
    return "value", count


# Recognising known mistakes ---------------------------------------------------------------------


def fingerprint(tree: dict) -> list:
    """A value in short: [digest of its structure, projection, norm, projection, norm, ...].

    Two values with the same structure whose projections agree are taken for the same; the value
    cannot be read off it.
    """
    structure: list[str] = []
    numbers: list[float] = []
    _walk(tree, structure, numbers)
    digest = hashlib.sha256("|".join(structure).encode()).hexdigest()[:10]
    return [digest, *(float(f"{number:.8g}") for number in numbers)]


def _walk(tree: dict, structure: list[str], numbers: list[float]) -> None:
    kind = tree["kind"]
    structure.append(kind)
    if kind == "number" and isinstance(tree["value"], float) and math.isfinite(tree["value"]):
        numbers.extend([tree["value"], abs(tree["value"])])
    elif kind in ("number", "text"):
        structure.append(repr(tree["value"]))
    elif kind == "error":
        structure.append(f"{tree['name']}: {tree['message']}")
    elif kind == "unsupported":
        structure.append(tree["type"])
    elif kind == "list":
        structure.append(str(len(tree["items"])))
        for item in tree["items"]:
            _walk(item, structure, numbers)
    elif kind == "dict":
        for key in sorted(tree["items"]):
            structure.append(key)
            _walk(tree["items"][key], structure, numbers)
    elif kind in ("array", "tensor"):
        _walk_array(tree, structure, numbers)


def _walk_array(tree: dict, structure: list[str], numbers: list[float]) -> None:
    array = tree["array"]
    structure.append(f"{tree['shape']}{array.dtype.kind}")
    if array.dtype.kind in "biu":
        structure.append(",".join(str(int(number)) for number in array.reshape(-1)))
        return
    flat = array.reshape(-1).astype(np.complex128)
    flat = np.concatenate([flat.real, flat.imag]) if array.dtype.kind == "c" else flat.real
    finite = np.isfinite(flat)
    structure.append(
        ",".join(str(float(number)) for number in flat[~finite])
        + _shown_indices(np.flatnonzero(~finite).tolist())
    )
    flat = np.where(finite, flat, 0.0)
    weights = np.cos(1.3 * np.arange(flat.size) + 0.4) + 1.7
    with np.errstate(all="ignore"):
        numbers.extend([float(weights @ flat), float(weights @ np.abs(flat))])


def _shown_indices(indices: list[int]) -> str:
    """Ascending indices, all of them, as NumPy shows a short array under its default print options.

    A notebook may have changed those options, and the digests in released exercises must not depend
    on them.
    """
    width = len(str(indices[-1])) if indices else 1
    # NumPy breaks lines at 75 characters, brackets included
    per_line = max(1, 74 // (width + 1))
    shown = [str(index).rjust(width) for index in indices]
    lines = [" ".join(shown[i : i + per_line]) for i in range(0, len(shown), per_line)]
    return "[" + "\n ".join(lines) + "]"


def same_fingerprint(one: Sequence, other: Sequence) -> bool:
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


# Judging the lines of a grade cell --------------------------------------------------------------


def is_to_do(tree: dict) -> bool:
    """Whether a value is the error of an answer that nobody has begun."""
    return (
        tree["kind"] == "error"
        and tree["name"] == "NotImplementedError"
        and tree["message"].startswith("To do")
    )


def judge(expected: dict, got: dict) -> dict:
    """One result of `evaluate` against the expected one: {"passed", "aspect", "message"}."""
    value = decode(got["value"])
    if got.get("forbidden"):
        names = ", ".join(str(name)[:60] for name in got["forbidden"][:5])
        message = f"{names} was called; this exercise asks you to build attention from scratch"
        return {"passed": False, "aspect": "forbidden", "message": message}
    if is_to_do(value):
        return {"passed": False, "aspect": "to do", "message": value["message"]}
    if "share" in expected:
        problem = _disagreement(decode(expected["value"]), value, expected["share"])
    else:
        problem = difference(decode(expected["value"]), value)
    if problem is None:
        return {"passed": True, "aspect": "", "message": ""}
    wanted, found = expected.get("parameters"), got.get("parameters")
    if wanted and isinstance(found, list) and wanted != found:
        problem = {"aspect": "names", "message": _parameters_message(wanted, found, problem)}
    return {"passed": False, **problem}


def _parameters_message(wanted: list, found: list, problem: dict) -> str:
    def named(shapes: Any) -> set[str]:
        if not isinstance(shapes, dict):
            return set()
        return {f"{str(name)[:80]} {tuple(shape)}" for name, shape in list(shapes.items())[:200]}

    for one, other in zip(wanted, found, strict=False):
        if one != other:
            missing, extra = sorted(named(one) - named(other)), sorted(named(other) - named(one))
            if missing or extra:
                names = _names_message(missing[:6], extra[:6])
                return f"your module's parameters: {names}; attribute names are part of the task"
    return problem["message"]


def recognise(lines: Sequence[dict], own: Collection[str], known: Collection[str]) -> str | None:
    """The one known mistake that explains every line of a cell, or None.

    lines: one per line and draw, {"passed": bool, "fingerprint": of the value that came, "mistakes":
    {name: fingerprint of what the mistake gives, left out where it gives the right value}}.
    own: the mistakes that this cell is meant to catch. known: those already recognised in the
    notebook; they win where several explain the cell. No other is named: the lines that would tell
    it from mistakes that nobody knows stand in its own cell.
    """
    if all(line["passed"] for line in lines):
        return None
    names = dict.fromkeys(name for line in lines for name in line["mistakes"])
    names = [name for name in names if name in own or name in known]

    def explains(name: str) -> bool:
        return all(
            same_fingerprint(line["fingerprint"], line["mistakes"][name])
            if name in line["mistakes"]
            else line["passed"]
            for line in lines
        )

    candidates = [name for name in names if explains(name)]
    before = [name for name in candidates if name in known]
    if before:
        return before[0]
    return candidates[0] if len(candidates) == 1 else None


def explain(mistake: dict, expression: str) -> str:
    """What a student reads about a recognised mistake."""
    names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
    lines = [f"Recognised: {mistake['name']}. {mistake['means']}"]
    if mistake["function"] in names:
        lines.append(f"Hint: {mistake['hint']}")
    else:
        lines.append(
            f"It is in your `{mistake['function']}`, which this uses: right, given what comes from "
            "there. Mend that first."
        )
    return "\n".join(lines)


# A grade cell as the student sees it ------------------------------------------------------------


def pack(data: Any) -> str:
    """JSON data as a short text."""
    text = json.dumps(data, separators=(",", ":"))
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode()


def unpack(text: str) -> Any:
    """The data that `pack` packed."""
    return json.loads(zlib.decompress(base64.b85decode(text)))


def parse_cell(source: str) -> tuple[list[str], list[str | dict]]:
    """A grade cell's forbidden names, and its steps in order.

    A step is the text of an input statement or a line {"expression", "points", "answer"}. The
    `%%autotest` line, if there is one, is skipped. After `agreement("targets", share=..., seconds=...)`
    lines hold "truth", "share" and "seconds" as well: no value of the reference is expected then, but
    the drawn input of that name, of whose items at least this share must come back. Such a line, which
    trains a model, is asked once, and has so much time.
    """
    body = "\n".join(line for line in source.split("\n") if not line.startswith("%%autotest"))
    forbidden: list[str] = []
    steps: list[str | dict] = []
    agreement: dict[str, Any] = {}
    for node in ast.parse(body).body:
        call = node.value if isinstance(node, ast.Expr) else None
        name = getattr(getattr(call, "func", None), "id", None)
        if name == "forbid":
            forbidden += [ast.literal_eval(argument) for argument in call.args]
        elif name in ("check", "agreement"):
            named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            first = ast.literal_eval(call.args[0])
            if name == "check":
                steps.append({"expression": first, **named, **agreement})
            else:
                agreement = {"truth": first, **named}
        else:
            steps.append(ast.unparse(node))
    return forbidden, steps


def lines_with_inputs(steps: Sequence[str | dict], draw: Draw) -> Iterator[tuple[dict, dict]]:
    """Run a cell's input statements; give each line with a copy of the inputs drawn so far."""
    own = {"np": np, "torch": torch, "draw": draw}
    names = dict(own)
    for step in steps:
        if isinstance(step, str):
            exec(_compiled(step, "exec"), names)
        else:
            inputs = {k: v for k, v in names.items() if k not in own and k != "__builtins__"}
            yield step, copy.deepcopy(inputs)


class AutotestFailure(Exception):
    """Raised at the end of a grade cell that is not yet right, so that no tool takes it for done."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def _shown(points: float) -> str:
    return f"{points:g}"


def run_cell(cell_name: str, source: str, definitions: dict[str, Any], course: dict) -> None:
    """Check a grade cell in the student's notebook: show every line, then raise if one is wrong.

    course: {"mistakes": the exercise's, by name, "sections": where to read again, by cell}.
    """
    forbidden, steps = parse_cell(source)
    draw = Draw(zlib.crc32(cell_name.encode()))
    lines = []
    for line, inputs in lines_with_inputs(steps, draw):
        answer = unpack(line["answer"])
        with contextlib.redirect_stderr(sys.stdout):
            names = {**definitions, **HELPERS, **inputs}
            got = evaluate(line["expression"], names, draw.parameter_seed, forbidden)
        verdict = judge(answer, got)
        print_of_value = fingerprint(decode(got["value"]))
        lines.append(
            {**line, **verdict, "fingerprint": print_of_value, "mistakes": answer["mistakes"]}
        )
    _report(cell_name, lines, **course)


_recognised: list[str] = []


def _report(cell_name: str, lines: list[dict], mistakes: dict, sections: dict) -> None:
    if all(line["aspect"] == "to do" for line in lines):
        raise AutotestFailure(lines[0]["message"])
    own = [name for name, mistake in mistakes.items() if mistake["cell"] == cell_name]
    name = recognise(lines, own, _recognised)
    if name:
        _recognised.append(name)
    earned = sum(line["points"] for line in lines if line["passed"])
    total = sum(line["points"] for line in lines)
    told = False
    for line in lines:
        mark, points = ("✓", line["points"]) if line["passed"] else ("✗", 0)
        print(f"{mark} {_shown(points)}/{_shown(line['points'])} points   {line['expression']}")
        if line["passed"]:
            continue
        print(f"    {line['message']}")
        if name and not told:
            told = True
            explanation = explain({"name": name, **mistakes[name]}, line["expression"])
            print("    " + explanation.replace("\n", "\n    "))
    if earned < total:
        section = mistakes[name]["section"] if name else sections.get(cell_name)
        if section:
            print(f"Read again: {section}")
        raise AutotestFailure(f"Not yet: {_shown(earned)} of {_shown(total)} points in this cell.")


def install(course_text: str) -> None:
    """Make `%%autotest` known to the notebook. course_text: packed, what `run_cell` needs."""
    from IPython import get_ipython

    shell = get_ipython()
    course = unpack(course_text)

    def autotest(line: str, cell: str) -> None:
        run_cell(line.strip(), cell, dict(shell.user_ns), course)

    shell.register_magic_function(autotest, magic_kind="cell")
