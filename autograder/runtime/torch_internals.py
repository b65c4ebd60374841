"""Everything of torch 2.13.0 that is touched here although it isn't documented.

- `torch.library.Library("aten", "IMPL")` with private operators, and `Library._destroy`: to refuse an
  operator however a notebook has come by it.
- `__code__` and `__kwdefaults__` of Python functions of torch: a name that was imported before the
  refusal is refused, too.
- `torch.utils._python_dispatch.TorchDispatchMode` with `_should_skip_dynamo`, and
  `torch.multiprocessing.reductions.StorageWeakRef`: to see every tensor that is made, and whether it still exists.
- `torch.overrides._len_torch_function_stack`, `_pop_mode` and `_push_mode`, by which a default device is in force, too;
  the hooks of all modules in `torch.nn.modules.module`; `torch.autograd.graph`'s hooks of saved tensors, of
  which `torch._C._autograd` tells the last: to run a check without a notebook's own.
- `torch._tensor_str.PRINT_OPTS`: to print as usual in a check.
- `torch.default_generator`: `torch.manual_seed` keeps a stack trace for every accelerator.

tests/autograder/test_adapters.py fails when one of these moves.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .tensors import loaded, needed

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
                f"{name} must not be called here: this exercise builds it from scratch."
            )

        return refuse

    def swap(target: Any, attribute: str, value: Any) -> None:
        stack.callback(setattr, target, attribute, getattr(target, attribute))
        setattr(target, attribute, value)

    if not names:
        yield
        return
    torch = needed()
    with contextlib.ExitStack() as stack:
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


# after so many new tensors, those that are gone are forgotten
MANY = 16


def tensor_memory(most: int) -> contextlib.AbstractContextManager:
    """Count the memory of the tensors that exist at the same time, of those made in the block.

    MemoryError is raised in it when they take more than most bytes. What NumPy or another library
    allocates is not counted. ModuleNotFoundError where torch isn't installed.
    """
    torch = needed()
    # private modules, which `import torch` has loaded
    weak_reference = torch.multiprocessing.reductions.StorageWeakRef

    class TensorMemory(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self._sizes: dict[Any, int] = {}
            self._total, self._look_at = 0, MANY

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Nothing is compiled here; to say that it should not be would import 800 modules of torch."""
            return False

        def __torch_dispatch__(
            self,
            function: Callable,
            types: Any,
            args: Sequence = (),
            kwargs: dict | None = None,
        ) -> Any:
            """Call an operator, and count what it returns."""
            found = function(*args, **(kwargs or {}))
            for item in found if isinstance(found, list | tuple) else (found,):
                # a sparse tensor has no storage of its own
                with contextlib.suppress(NotImplementedError):
                    if isinstance(item, torch.Tensor):
                        self._count(item.untyped_storage())
            return found

        def _count(self, storage: Any) -> None:
            reference = weak_reference(storage)
            if reference not in self._sizes:
                self._sizes[reference] = storage.nbytes()
                self._total += storage.nbytes()
            # a reference to what is gone takes a few bytes, between which malloc finds no room for large blocks
            if self._total > most or len(self._sizes) > self._look_at:
                self._sizes = {ref: n for ref, n in self._sizes.items() if not ref.expired()}
                self._total, self._look_at = sum(self._sizes.values()), MANY + 2 * len(self._sizes)
                if self._total > most:
                    raise MemoryError

    return TensorMemory()


def seed_default_generator(seed: int) -> None:
    """Seed torch's generator for the CPU, if there is torch."""
    if torch := loaded():
        torch.default_generator.manual_seed(seed)


# of all modules there are: dictionaries of hooks, in torch.nn.modules.module
HOOKS = (
    "_global_buffer_registration_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
    "_global_backward_pre_hooks",
    "_global_backward_hooks",
    "_global_forward_pre_hooks",
    "_global_forward_hooks",
    "_global_forward_hooks_always_called",
    "_global_forward_hooks_with_kwargs",
)


@contextlib.contextmanager
def without_modes_and_hooks() -> Iterator[None]:
    """For its duration, nothing that a notebook has entered or registered changes what torch does."""
    torch = needed()
    overrides, module = torch.overrides, torch.nn.modules.module
    modes = [overrides._pop_mode() for _ in range(overrides._len_torch_function_stack())]
    held = [(hooks, dict(hooks)) for name in HOOKS if (hooks := getattr(module, name))]
    for hooks, _ in held:
        hooks.clear()
    printed = torch._tensor_str.PRINT_OPTS
    options = dict(vars(printed))
    torch.set_printoptions(profile="default")
    saved = contextlib.nullcontext()
    if torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        # only the last pair counts
        saved = torch.autograd.graph.saved_tensors_hooks(_as_it_is, _as_it_is)
    try:
        with saved:
            yield
    finally:
        vars(printed).update(options)
        for hooks, before in held:
            hooks.update(before)
        for _ in range(overrides._len_torch_function_stack()):
            overrides._pop_mode()
        for mode in reversed(modes):
            overrides._push_mode(mode)


def _as_it_is(tensor: Any) -> Any:
    return tensor
