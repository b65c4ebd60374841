"""The stand-in for torch does what torch does, or refuses: values, data types, gradients, errors."""

import copy
import itertools
import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import book._practice.torch_stand_in as stand_in
from book._practice.torch_stand_in import module, shapes
from book._practice.torch_stand_in.refusals import NotAvailable
from book._practice.training import numbers
from tests.support.course import COURSE

# here everybody may ask for float32
shapes.CHECKS = (*shapes.CHECKS, __file__)
DTYPES = ("float64", "float32", "int64", "bool")
NUMBERS = (-2.5, -1.0, 0.0, 0.5, 1.0, 3.0, 800.0)
ODD = (*NUMBERS, math.inf, -math.inf, math.nan)
DIMS = st.sampled_from([-1, 0, 1, -2, 3])
MATRICES = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)
ANY_SHAPE = st.lists(st.integers(1, 3), max_size=3).map(tuple)
MAYBE_DIM = st.sampled_from([None, None, -1, 0, 1, -2, 3])
FLAG = st.booleans()
SCALAR = st.sampled_from([2, 0, -1, 0.5, -3.0, True, False, math.inf, 1e300])
LAYOUTS = {
    "as made": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1) if x.ndim else x,
    "every other": lambda x: x[::2],
    "expanded": lambda x: x.expand(2, *x.shape),
    "axes 0 and 1 exchanged": lambda x: x.transpose(0, 1),
}


class Made:
    """A tensor that both can make: its numbers, its layout, whether gradients flow to it."""

    def __init__(self, array, layout, needs_grad):
        self.array, self.layout, self.needs_grad = array, layout, needs_grad

    def __repr__(self):
        return f"{self.array!r} {self.layout} {'with gradient' if self.needs_grad else ''}"

    def by(self, library):
        """The leaf, and the tensor in its layout."""
        leaf = library.from_numpy(self.array.copy())
        if self.needs_grad and leaf.is_floating_point():
            leaf.requires_grad_()
        return leaf, LAYOUTS[self.layout](leaf)


@st.composite
def arrays(draw, dtypes=DTYPES, shapes=ANY_SHAPE):
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes)
    numbers = draw(st.sampled_from([NUMBERS, ODD] if dtype.startswith("float") else [NUMBERS]))
    size = math.prod(shape)
    entries = draw(st.lists(st.sampled_from(numbers), min_size=size, max_size=size))
    return np.array(entries).reshape(shape).astype(dtype)


@st.composite
def tensors(draw, dtypes=DTYPES, shapes=ANY_SHAPE):
    array = draw(arrays(dtypes, shapes))
    names = ["as made"] * 3 + [name for name in LAYOUTS if array.ndim > 1 or name == "as made"]
    return Made(array, draw(st.sampled_from(names)), draw(FLAG))


def methods(names, *options, **named):
    """Methods of tensors; options and named are strategies of their arguments."""
    return [(name, options, named) for name in names.split()]


RESHAPED = st.sampled_from([(-1,), (2, -1), (1, 2, 2), (3,), (0,)])
# methods of one tensor, with their arguments
OF_ONE = [
    *methods("exp log sqrt reciprocal cos abs __neg__ isnan logical_not bitwise_not __invert__"),
    *methods("sin tanh sigmoid relu square atan sign round isfinite isneginf mean argmax unique"),
    *methods("half flatten diag"),
    *methods("mean amin argmax", MAYBE_DIM, keepdim=FLAG),
    *methods("norm", dim=MAYBE_DIM, keepdim=FLAG),
    *methods("cumsum", DIMS),
    *methods("roll repeat_interleave", st.sampled_from([1, 2]), DIMS),
    *methods("repeat", st.sampled_from([(2, 1), (1, 2, 3), (2,)])),
    *methods("__pow__ __rpow__ __mod__ __floordiv__", SCALAR),
    *methods("chunk split", st.sampled_from([1, 2]), DIMS),
    *methods("narrow", DIMS, st.sampled_from([0, 1]), st.sampled_from([1, 2])),
    *methods("clone contiguous float double long bool int nan_to_num item tolist numel dim detach"),
    *methods("is_contiguous __len__ __bool__ __float__ sum max amax all any unbind"),
    *methods("sum amax max logsumexp all any", MAYBE_DIM, keepdim=FLAG),
    *methods("softmax log_softmax unsqueeze squeeze flip unbind size", DIMS),
    *methods("transpose swapaxes", DIMS, DIMS),
    *methods("tril triu", st.sampled_from([0, 1, -1])),
    *methods("clamp", min=st.sampled_from([0, 0.5])),
    *methods("nan_to_num", st.sampled_from([0.0, 2.0])),
    *methods("view reshape", RESHAPED),
    *methods("expand", st.sampled_from([(2, -1), (2, 3, 2), (3,), (2, 2, -1, -1)])),
    *methods("permute", st.sampled_from([(1, 0), (2, 0, 1), (0,), (0, 2, 1)])),
    *methods("__add__ __sub__ __mul__ __truediv__ __radd__ __rsub__ __rmul__ __rtruediv__", SCALAR),
    *methods("__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __and__ __or__", SCALAR),
]
# where rounding stays small
STEADY = [
    one for one in OF_ONE if one[0] not in ("log", "sqrt", "reciprocal", "logsumexp", "log_softmax")
]
# in place
PLACES = st.sampled_from([0, -1, ..., (..., 0), slice(1, None)])
CHANGES = [
    *methods("exp_ logical_not_ neg_ zero_ relu_"),
    *methods("add_ sub_ mul_ div_ __iadd__ __isub__ __imul__ __itruediv__", SCALAR),
    *3 * methods("__setitem__", PLACES, SCALAR),
]
INDEX = st.sampled_from(
    [
        0,
        -1,
        2,
        None,
        ...,
        (..., 0),
        (0, 1),
        slice(1, None),
        slice(None, None, -1),
        (slice(None), None),
        (..., None, 0),
        (0, ..., 1),
        slice(-2, 5),
        (slice(None), slice(0, 2)),
        slice(0, 0),
        [0, -1],
        ([0, 1], 0),
        (slice(None), []),
        (slice(None), [1, 0]),
        (0, ..., [0]),
        ([0, 1], slice(None), [1, 1]),
        [True, False],
        [5],
    ]
)
OF_TWO = {
    "+": lambda t, x, y: x + y,
    "-": lambda t, x, y: x - y,
    "*": lambda t, x, y: x * y,
    "/": lambda t, x, y: x / y,
    "@": lambda t, x, y: x @ y,
    "@ mT": lambda t, x, y: x @ y.mT,
    "==": lambda t, x, y: x == y,
    "<": lambda t, x, y: x < y,
    "&": lambda t, x, y: x & y,
    "|": lambda t, x, y: x | y,
    "^": lambda t, x, y: x ^ y,
    "where": lambda t, x, y: t.where(x > 0, x, y),
    "where itself": lambda t, x, y: t.where(x, y, 0.0),
    "where numbers": lambda t, x, y: t.where(x > 0, 0.0, -math.inf) + y,
    "where method": lambda t, x, y: x.where(y > 0, 1),
    "masked_fill": lambda t, x, y: x.masked_fill(y, -math.inf),
    "masked_fill comparison": lambda t, x, y: x.masked_fill(y > 0, -1e30),
    "masked_fill too large": lambda t, x, y: x.masked_fill(y > 0, -1e300),
    "masked_fill tensor": lambda t, x, y: x.masked_fill(y > 0, x.sum()),
    "to": lambda t, x, y: x.to(y),
    "stack": lambda t, x, y: t.stack([x, y], -1),
    "cat": lambda t, x, y: t.cat([x, y], 0),
    "index by mask": lambda t, x, y: x[y > 0],
    "index by numbers": lambda t, x, y: x[y],
    "index by both": lambda t, x, y: x[..., y > 0],
    "+=": lambda t, x, y: x.clone().add_(y),
    "*=": lambda t, x, y: (x * 1).mul_(y),
    "/=": lambda t, x, y: x.exp().div_(y),
    "masked_fill_": lambda t, x, y: (x * 1.0).masked_fill_(y > 0, 0.0),
    "argument in place": lambda t, x, y: x.mul_(y),
    "einsum": lambda t, x, y: t.einsum("...td,...sd->...ts", x, y),
    "bmm": lambda t, x, y: t.bmm(x, y),
    "zeros_like": lambda t, x, y: t.zeros_like(x) + t.ones_like(y, dtype=t.float32),
    "new": lambda t, x, y: x.new_ones(2) * y.new_full((2,), 3) + x.new_zeros(1, 2),
    "NumPy's number": lambda t, x, y: np.float64(0.5) * x - np.float64(2) / y,
    "NumPy's array": lambda t, x, y: np.where(x > 0, x, 1.0).sum() * y,
    "full": lambda t, x, y: t.full((2,), 1.5) * t.full_like(x, 2),
    "gather": lambda t, x, y: x.gather(-1, y.long()),
    "maximum": lambda t, x, y: t.maximum(x, y),
    "**": lambda t, x, y: x**y,
    "block_diag": lambda t, x, y: t.block_diag(x, y),
    "outer": lambda t, x, y: t.outer(x, y),
    "linear": lambda t, x, y: t.nn.functional.linear(x, y),
    "layer_norm": lambda t, x, y: t.nn.functional.layer_norm((x + y).double(), x.shape[-1:]),
    "cross_entropy": lambda t, x, y: t.nn.functional.cross_entropy(x, y.long().flatten()),
    "dropout": lambda t, x, y: t.nn.functional.dropout(t.manual_seed(0) and x, 0.4) * y,
    "randn": lambda t, x, y: t.manual_seed(0) and t.randn_like(x) * y + t.rand(2),
    "allclose": lambda t, x, y: [t.allclose(x, y), t.equal(x, y), t.isclose(x, y)],
    "half": lambda t, x, y: (x.half() + y.half()).float() * x.bfloat16(),
    "softmax in half precision": lambda t, x, y: ((x.bfloat16() * 0.3).softmax(-1) + y).float(),
    "copy_": lambda t, x, y: (x * 1).copy_(y),
    "iand": lambda t, x, y: x.clone().bitwise_and_(y),
    "clamp": lambda t, x, y: x.clamp(-1, 0.5) * y.clamp(max=1),
}


@st.composite
def calls(draw, table):
    name, options, named = draw(st.sampled_from(table))
    arguments = [draw(option) for option in options]
    return name, arguments, {key: draw(option) for key, option in named.items()}


def numbers_in(value):
    """A result as data that can be compared."""
    if isinstance(value, torch.Tensor | stand_in.Tensor):
        return (
            "tensor",
            str(value.dtype),
            tuple(value.shape),
            value.requires_grad,
            value.detach().numpy().copy(),
        )
    if isinstance(value, tuple | list):
        return [numbers_in(one) for one in value]
    return type(value).__name__, value


def outcome(library, makes, function):
    """What a function of tensors gives, and the gradients behind it; an error as its type and message."""
    found = []
    pairs = [one.by(library) for one in makes]
    try:
        with warnings.catch_warnings(action="ignore"):
            result = function(library, *(tensor for _, tensor in pairs))
        found.append(numbers_in(result))
        parts = result if isinstance(result, tuple | list) else [result]
        total = 0.0
        for part in parts:
            if isinstance(part, library.Tensor) and part.requires_grad:
                weights = library.cos(library.arange(part.numel(), dtype=library.float64))
                total = total + (part.double() * weights.reshape(part.shape)).sum()
        leaves = [leaf for leaf, _ in pairs if leaf.requires_grad]
        if isinstance(total, library.Tensor):
            gradients = library.autograd.grad(total, leaves, allow_unused=True)
            found += [None if one is None else numbers_in(one) for one in gradients]
    except NotAvailable:
        raise
    except Exception as error:
        found.append((type(error).__name__, str(error)))
    found += [numbers_in(tensor) for _, tensor in pairs]
    return found


def same(one, other, loose=False):
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype.kind != "f":
            return bool((one == other).all())
        finite = one[np.isfinite(one)].astype(float)
        largest = np.abs(finite).max(initial=0.0)
        close = 2e-6 if loose or one.dtype == np.float32 else 1e-12
        with np.errstate(all="ignore"):
            return np.allclose(one, other, rtol=4 * close, atol=close * largest, equal_nan=True)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(
            same(*pair, loose) for pair in zip(one, other, strict=True)
        )
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-5) or (math.isnan(one) and math.isnan(other))
    return one == other


def check(makes, function, loose=False):
    # a gradient of float64 may have passed through float32
    loose = loose or any(one.array.dtype != np.float64 for one in makes)
    try:
        found = outcome(stand_in, makes, function)
    except NotAvailable:
        return
    expected = outcome(torch, makes, function)
    assert same(found, expected, loose), f"\n{makes}\nstand-in: {found}\ntorch:    {expected}"


quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)


@quick
@given(tensors(), calls(OF_ONE))
def test_methods(made, call):
    name, arguments, named = call
    check([made], lambda t, x: getattr(x, name)(*arguments, **named))


@quick
@given(tensors(shapes=MATRICES), INDEX)
def test_indices(made, index):
    check([made], lambda t, x: x[index])


@quick
@given(tensors(), tensors(), st.sampled_from(sorted(OF_TWO)))
def test_functions_of_two(one, two, name):
    check([one, two], OF_TWO[name])


FLOATS = ("float64", "float32")
SQUARES = st.sampled_from([(2, 2), (3, 3), (2, 3, 3), (1, 3, 3), (2, 1, 3, 3), (3, 2), (3,)])


@quick
@given(
    tensors(FLOATS, SQUARES),
    tensors(FLOATS, SQUARES),
    st.sampled_from(["@", "@ mT", "einsum", "bmm", "where", "*", "stack"]),
)
def test_matrices(one, two, name):
    check([one, two], OF_TWO[name])


@quick
@given(
    tensors(FLOATS),
    calls(OF_ONE),
    calls(CHANGES),
    st.sampled_from(["argument", "result", "detached", "leaf"]),
)
def test_what_is_changed_in_place_before_the_gradient(made, call, change, which):
    name, arguments, named = call
    changed, options, others = change

    def function(t, x):
        before = x * 1
        result = getattr(before, name)(*arguments, **named)
        target = {"argument": before, "result": result, "leaf": x}.get(which)
        target = before.detach() if target is None else target
        if isinstance(target, t.Tensor):
            getattr(target, changed)(*options, **others)
        return result if isinstance(result, t.Tensor) else before

    check([made], function)


@quick
@given(tensors(FLOATS, MATRICES), INDEX, calls(CHANGES), FLAG)
def test_views_share_memory(made, index, change, later):
    changed, options, others = change

    def function(t, x):
        before = x * 1
        part = before[index]
        target, seen = (before, part) if later else (part, before)
        getattr(target, changed)(*options, **others)
        return seen * 2

    check([made], function)


@quick
@given(tensors(FLOATS, MATRICES), st.lists(calls(STEADY) | INDEX, min_size=2, max_size=4))
def test_several_in_a_row(made, steps):
    def function(t, x):
        for step in steps:
            if not isinstance(x, t.Tensor):
                break
            if isinstance(step, tuple) and len(step) == 3 and isinstance(step[0], str):
                name, arguments, named = step
                x = getattr(x, name)(*arguments, **named)
            else:
                x = x[step]
        return x

    # what is float64 may have been float32
    check([made], function, loose=True)


@quick
@given(tensors(FLOATS, MATRICES), tensors(FLOATS, MATRICES), st.sampled_from(sorted(OF_TWO)))
def test_how_results_lie_in_memory(one, two, name):
    def function(t, x, y):
        result = OF_TWO[name](t, x, y)
        return result.is_contiguous(), result.flatten(), result.view(-1)

    check([one, two], function)


LAYERS = {
    "Linear": (lambda nn: nn.Linear(3, 4), (2, 3)),
    "LayerNorm": (lambda nn: nn.LayerNorm(3), (2, 4, 3)),
    "GRUCell": (lambda nn: nn.GRUCell(3, 4), (2, 3)),
    "Sequential": (
        lambda nn: nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Dropout(0.3), nn.Linear(20, 2)),
        (5, 3),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_begin_with_the_same_numbers_and_learn_the_same(name):
    make, shape = LAYERS[name]
    found = []
    for library in (stand_in, torch):
        library.manual_seed(3)
        layer = make(library.nn)
        x = library.randn(*shape, requires_grad=True)
        (layer(x) ** 2).sum().backward()
        parts = {"x": x.grad, **{n: p.grad for n, p in layer.named_parameters()}}
        state = {n: value.numpy() for n, value in layer.state_dict().items()}
        found.append([state, {n: value.numpy() for n, value in parts.items()}])
    for ours, theirs in zip(*found, strict=True):
        assert [*ours] == [*theirs]
        for part in theirs:
            np.testing.assert_allclose(ours[part], theirs[part], rtol=1e-4, atol=1e-5)


# numbers.py on the stand-in, which is a module `torch` here as in a page
LEARNING = """
import itertools, json, sys
import book._practice.torch_stand_in as stand_in
here = stand_in.__name__
sys.modules |= {name.replace(here, "torch"): one for name, one in sys.modules.items() if name.startswith(here)}
from book._practice.training import numbers
print(json.dumps([*itertools.islice(numbers.train({}, seed=1), 5)]))
"""


def test_number_words_are_learned_as_with_torch():
    theirs = [*itertools.islice(numbers.train({}, seed=1), 5)]
    run = [sys.executable, "-c", LEARNING]
    done = subprocess.run(run, cwd=COURSE.root, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(done.stdout), theirs, rtol=1e-3)


def test_a_module_has_what_torchs_has_or_refuses():
    ours = {*dir(stand_in.nn.Module), *module.LACKING, *vars(stand_in.nn.Module())}
    theirs = {*dir(torch.nn.Module), *vars(torch.nn.Module())}
    assert {name for name in theirs - ours if not name.startswith("_")} == set()


def test_what_it_lacks_is_noted():
    from book._practice.torch_stand_in.refusals import noted

    noted.clear()
    x = stand_in.tensor([1.0])
    for use in (
        lambda: stand_in.kron(x, x),
        lambda: x.kron(x),
        lambda: stand_in.softmax(x, None),
        lambda: 1.0 in x,
        lambda: np.exp(x),
        lambda: np.ones(1) @ x,
        lambda: np.ones(1) * x,
        lambda: copy.copy(x),
        lambda: stand_in.nn.Conv1d(1, 2, 3),
        lambda: stand_in.nn.init.orthogonal_(x),
        lambda: stand_in.nn.Linear(1, 2).cuda(),
        lambda: stand_in.Tensor([1.0]),
    ):
        before = len(noted)
        with pytest.raises(NotAvailable):
            use()
        assert len(noted) == before + 1
