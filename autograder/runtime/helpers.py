"""What an autotest expression may call beside the student's answers. Every helper returns data."""

from __future__ import annotations

import builtins
import functools
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .functions import NOTED
from .plain_data import UNREACHED
from .tensors import is_module, is_tensor, libraries, needed

if TYPE_CHECKING:
    import torch

# in place of a gradient
NO_GRADIENT = "no gradient reaches it"
# what `raised` gives where no exception was raised
NOTHING = "nothing"


class Unusable(Exception):
    """What an answer gave can't be used by the check; the message is all that a student is told."""


@dataclass
class Notes:
    """What is noted while one expression is evaluated, beside its value.

    parameter_seed: seeds the parameters that `fill` draws; parameters: names and shapes of those of
    every module that was filled; forbidden: every attempt to call something forbidden; part: which part of
    the value is being computed (see `functions.NOTED`).
    """

    parameter_seed: int
    parameters: list[dict[str, list[int]]] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    part: list[int] = field(default_factory=list)

    def at_part(self, depth: int, number: int | None) -> None:
        """A part is begun; below one whose number nobody knows no number tells which."""
        if depth <= len(self.part):
            following = self.part[depth] + 1 if depth < len(self.part) else 0
            self.part[depth:] = [following if number is None else number][: number != -1]


# seeded anew for every parameter; making a new one takes ten times as long
_RANDOM = np.random.RandomState(0)


@functools.lru_cache(maxsize=4096)
def _parameter(seed: int, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A parameter's values. Cached, because every mistake of an answer has the same parameters."""
    _RANDOM.seed([seed, zlib.crc32(name.encode())])
    return np.round(0.6 * _RANDOM.standard_normal(shape), 4)


def fill(notes: Notes, module: torch.nn.Module, **buffers: torch.Tensor) -> torch.nn.Module:
    """Set every parameter by its name from the draw, in float64, and switch to evaluation mode.

    buffers: values for buffers, by name; a table that another answer made can't cost points then.
    Raises Unusable for what is no module and for a buffer that it doesn't have.
    """
    if not is_module(module):
        raise Unusable(f"this is not an nn.Module, but of type {type(module).__name__}")
    missing = sorted(set(buffers) - set(dict(module.named_buffers())))
    if missing:
        kind = type(module).__name__
        raise Unusable(f"your {kind} has no buffer `{missing[0]}`: create it with register_buffer")
    torch = needed()
    module = module.eval()
    # parameters are replaced below; what `double` does to them takes long
    for buffer in module.buffers():
        if buffer.is_floating_point():
            buffer.data = buffer.data.double()
    shapes = {}
    for name, parameter in module.named_parameters():
        values = _parameter(notes.parameter_seed, name, tuple(parameter.shape))
        parameter.data = torch.tensor(values, dtype=torch.float64)
        shapes[name] = list(parameter.shape)
    for name, buffer in buffers.items():
        module.get_buffer(name).copy_(buffer)
    notes.parameters.append(shapes)
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
    """The name of the built-in exception class that the call raises, or NOTHING."""
    try:
        function(*arguments, **named)
    except NotImplementedError:
        raise
    except Exception as error:
        names = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
        return next(names)
    return NOTHING


def raised_naming(function: Callable, *arguments: Any) -> str:
    """The same, and which of the arguments, whole numbers, the exception's message names."""
    said: set[str] = set()

    def noting() -> None:
        try:
            function(*arguments)
        except Exception as error:
            said.update(re.findall(r"\d+", str(error)))
            raise

    name = raised(noting)
    if name == NOTHING:
        return name
    return (
        f"{name} that names {' and '.join(str(n) for n in arguments if str(n) in said) or 'none'}"
    )


def _floating_leaves(value: Any) -> Iterator[torch.Tensor]:
    if is_tensor(value):
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
        if is_tensor(argument) and argument.is_floating_point():
            return argument.detach().clone().requires_grad_()
        return argument

    torch = needed()
    arguments = tuple(leaf(argument) for argument in arguments)
    named = {name: leaf(argument) for name, argument in named.items()}
    inputs = list(_floating_leaves([*arguments, *named.values()]))
    parameters = {}
    if is_module(function):
        parameters = dict(cast(Any, function).named_parameters())
        for parameter in parameters.values():
            parameter.requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    for number, output in enumerate(_floating_leaves(function(*arguments, **named))):
        weights = torch.cos(0.7 * torch.arange(output.numel(), dtype=torch.float64) + number)
        total = total + (output.double() * weights.reshape(output.shape)).sum()
    if not total.requires_grad:
        return {
            "inputs": [NO_GRADIENT for _ in inputs],
            "parameters": dict.fromkeys(parameters, NO_GRADIENT),
        }
    targets = [*inputs, *parameters.values()]
    found = list(torch.autograd.grad(total, targets, allow_unused=True))
    for number, target in enumerate(targets):
        if found[number] is None:
            found[number] = torch.zeros_like(target)
            # see `plain_data.Array`
            setattr(found[number], UNREACHED, True)
    return {
        "inputs": found[: len(inputs)],
        "parameters": dict(zip(parameters, found[len(inputs) :], strict=True)),
    }


def helper_names(notes: Notes) -> dict[str, Any]:
    """The names that every expression can use.

    They shadow a student's own names: after `from numpy import *` a notebook has another `sum`.
    """
    return {
        **vars(builtins),
        **libraries(),
        NOTED: notes.at_part,
        "fill": functools.partial(fill, notes),
        "gradients": gradients,
        "inputs_after": inputs_after,
        "raised": raised,
        "raised_naming": raised_naming,
        "parameter_shapes": parameter_shapes,
        "dtype_of": dtype_of,
    }
