"""Everything of torch 2.13.0 that is touched here although it isn't documented.

- `torch.library.Library("aten", "IMPL")` with private operators, and `Library._destroy`: to refuse an
  operator however a notebook has come by it.
- `__code__` and `__kwdefaults__` of Python functions of torch: a name that was imported before the
  refusal is refused, too.
- `torch.default_generator`: `torch.manual_seed` keeps a stack trace for every accelerator.

tests/test_adapters.py fails when one of these moves.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

DISPATCH_KEYS = ("CPU", "AutogradCPU", "AutogradNestedTensor")


class ForbiddenCall(RuntimeError):
    """A ready-made attention was called where the exercise asks for one from scratch."""


@dataclass(frozen=True)
class ReadyMade:
    """All that computes something ready-made: aten operators, paths of functions, modules of torch.nn."""

    operators: tuple[str, ...]
    functions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


# what a grade cell may forbid
FORBIDDABLE = {
    "scaled_dot_product_attention": ReadyMade(
        operators=(
            "scaled_dot_product_attention",
            "_scaled_dot_product_attention_math",
            "_scaled_dot_product_flash_attention_for_cpu",
        ),
        functions=("torch.nn.attention.flex_attention.flex_attention",),
    ),
    "MultiheadAttention": ReadyMade(
        operators=("_native_multi_head_attention",),
        functions=("torch.nn.functional.multi_head_attention_forward",),
        modules=("MultiheadAttention",),
    ),
    "Transformer": ReadyMade(
        operators=("_transformer_encoder_layer_fwd",),
        modules=(
            "Transformer",
            "TransformerEncoder",
            "TransformerDecoder",
            "TransformerEncoderLayer",
            "TransformerDecoderLayer",
        ),
    ),
}


def _refused(*arguments: Any, refuse: Callable, **named: Any) -> None:
    refuse()


@contextlib.contextmanager
def forbidding(names: Sequence[str], noted: list[str]) -> Iterator[None]:
    """Refuse torch's ready-made attention while the block runs.

    names: keys of FORBIDDABLE; noted: every attempt is added to it. A refused call raises
    ForbiddenCall.
    """

    def refusal(name: str) -> Callable:
        def refuse(*arguments: Any, **named: Any) -> None:
            noted.append(name)
            raise ForbiddenCall(
                f"{name} may not be called here: this exercise builds it from scratch."
            )

        return refuse

    def swap(target: Any, attribute: str, value: Any) -> None:
        stack.callback(setattr, target, attribute, getattr(target, attribute))
        setattr(target, attribute, value)

    with contextlib.ExitStack() as stack:
        if names:
            library = torch.library.Library("aten", "IMPL")
            stack.callback(library._destroy)
        for ready_made in (FORBIDDABLE[name] for name in names):
            for operator in ready_made.operators:
                for key in DISPATCH_KEYS:
                    # torch warns that the operator is overridden
                    with warnings.catch_warnings(action="ignore"):
                        library.impl(operator, refusal(operator.lstrip("_")), key)
            for path in ready_made.functions:
                module, _, name = path.rpartition(".")
                function = getattr(sys.modules.get(module), name, None)
                if function is not None:
                    swap(function, "__kwdefaults__", {"refuse": refusal(name)})
                    swap(function, "__code__", _refused.__code__)
            for kind in (getattr(torch.nn, name) for name in ready_made.modules):
                for method in ("__init__", "forward"):
                    swap(kind, method, refusal(kind.__name__))
        yield


def seed_default_generator(seed: int) -> None:
    """Seed torch's generator for the CPU."""
    torch.default_generator.manual_seed(seed)
