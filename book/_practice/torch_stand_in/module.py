"""`torch.nn.Module`, and modules that hold others."""

from __future__ import annotations

import re
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from . import graph
from .dtypes import DType, float32, float64
from .refusals import refuse, refuse_if
from .tensor import Parameter, Tensor

HELD = ("_parameters", "_buffers", "_modules")
# what torch's modules have beside
LACKING = frozenset(
    re.findall(
        r"\w+",
        "T_destination apply zero_grad bfloat16 call_super_init compile cpu cuda dump_patches extra_repr "
        "get_extra_state get_parameter get_submodule half ipu mtia register_backward_hook "
        "register_forward_pre_hook register_full_backward_hook register_full_backward_pre_hook "
        "register_load_state_dict_post_hook register_load_state_dict_pre_hook register_module "
        "register_state_dict_post_hook register_state_dict_pre_hook set_extra_state set_submodule "
        "share_memory to_empty type xpu",
    )
)


class Module:
    """A part of a network: parameters, buffers and other modules under their names.

    Its methods do what those of torch's modules do.
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _transient: set[str]
    _forward_hooks: dict[object, Callable]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        vars(self).update(training=True, _transient=set(), _forward_hooks={})
        vars(self).update({held: {} for held in HELD})

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        found = self.forward(*arguments, **named)
        for hook in [*vars(self).get("_forward_hooks", {}).values()]:
            changed = hook(self, arguments, found)
            found = found if changed is None else changed
        return found

    def register_forward_hook(self, hook: Callable[[Module, Any, Any], Any]) -> Any:
        key = object()
        self._forward_hooks[key] = hook
        return types.SimpleNamespace(remove=lambda: self._forward_hooks.pop(key, None))

    def forward(self, *arguments: Any, **named: Any) -> Any:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __getattr__(self, name: str) -> Any:
        for held in HELD:
            if name in vars(self).get(held, ()):
                return vars(self)[held][name]
        refuse_if(name in LACKING, f"Module.{name}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        held = _place_of(value)
        if held and held not in vars(self):
            kind = "parameters" if isinstance(value, Parameter) else "module"
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if held:
            for place in (vars(self), *(vars(self)[one] for one in HELD if one != held)):
                place.pop(name, None)
            vars(self)[held][name] = value
            return
        for place in HELD:
            if name in vars(self).get(place, ()):
                if value is not None and not (place == "_buffers" and isinstance(value, Tensor)):
                    word = {"_parameters": "parameter", "_modules": "child module"}.get(place)
                    refuse(f"another value of a {word or 'buffer'}")
                vars(self)[place][name] = value
                return
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # what it holds

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        self._buffers[name] = tensor
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        self._modules[name] = module

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        return self._named_modules(prefix, set())

    def _named_modules(self, prefix: str, seen: set[int]) -> Iterator[tuple[str, Module]]:
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module._named_modules(f"{prefix}.{name}" if prefix else name, seen)

    def _held(self, held: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, value in vars(module)[held].items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._held("_parameters", prefix, recurse)

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._held("_buffers", prefix, recurse)

    def named_children(self) -> Iterator[tuple[str, Module]]:
        return ((name, one) for name, one in self._modules.items() if one is not None)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (value for _, value in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (value for _, value in self.named_buffers(recurse=recurse))

    def modules(self) -> Iterator[Module]:
        return (value for _, value in self.named_modules())

    def children(self) -> Iterator[Module]:
        return (value for _, value in self.named_children())

    def get_buffer(self, target: str) -> Tensor:
        return dict(self.named_buffers())[target]

    # changes

    def train(self, mode: bool = True) -> Module:
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def to(self, *arguments: Any, dtype: DType | None = None, device: Any = "cpu") -> Module:
        for value in (*self.parameters(), *self.buffers()):
            if value.is_floating_point():
                value.data = value.detach().to(*arguments, dtype=dtype, device=device)
        return self

    def float(self) -> Module:
        return self.to(float32)

    def double(self) -> Module:
        return self.to(float64)

    def state_dict(self) -> OrderedDict[str, Tensor]:
        found: OrderedDict[str, Tensor] = OrderedDict()
        for path, module in self.named_modules():
            for held in (module._parameters, module._buffers):
                for name, value in held.items():
                    if value is not None and name not in module._transient:
                        found[f"{path}.{name}" if path else name] = value.detach()
        return found

    def load_state_dict(self, state_dict: dict[str, Tensor], strict: bool = True) -> Any:
        own = self.state_dict()
        fits = own.keys() == state_dict.keys()
        if not fits or any(own[name].shape != one.shape for name, one in state_dict.items()):
            refuse("a state that doesn't fit its module")
        with graph.no_grad():
            for name, tensor in state_dict.items():
                own[name].copy_(tensor)
        return types.SimpleNamespace(missing_keys=[], unexpected_keys=[])


def functional_call(
    module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = (), kwargs: Any = None
) -> Any:
    """Call a module with other tensors in place of its own."""
    modules, kept = dict(module.named_modules()), []
    try:
        for path, value in parameters_and_buffers.items():
            parent, _, name = path.rpartition(".")
            held = vars(modules[parent])
            place = held["_parameters" if name in held["_parameters"] else "_buffers"]
            kept.append((place, name, place[name]))
            place[name] = value
        given = args if isinstance(args, tuple) else (args,)
        return module(*given, **(kwargs or {}))
    finally:
        for place, name, value in kept:
            place[name] = value


def _place_of(value: Any) -> str:
    if isinstance(value, Parameter):
        return "_parameters"
    return "_modules" if isinstance(value, Module) else ""


class _InARow(Module):
    def __init__(self, modules: Iterable[Module]) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter([*self._modules.values()])


class ModuleList(_InARow):
    """Modules in a row."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        for module in modules:
            self.append(module)
        return self

    def __getitem__(self, index: Any) -> Any:
        held = [*self]
        return type(self)(held[index]) if isinstance(index, slice) else held[index]


class Sequential(_InARow):
    """Modules that are called one after another."""

    def __init__(self, *modules: Module) -> None:
        refuse_if(isinstance(next(iter(modules), None), dict), "torch.nn.Sequential of these")
        super().__init__(modules)

    def __getitem__(self, index: int) -> Any:
        refuse_if(isinstance(index, slice), "part of a torch.nn.Sequential")
        return [*self][index]

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


for _kind in (Module, ModuleList, Sequential):
    _kind.__module__ = "torch.nn"
