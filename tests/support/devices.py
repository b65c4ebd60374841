"""What a GPU would have to wait for or could not compute, noted without one."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten


class Waits(TorchDispatchMode):
    """Counts what makes the processor wait for a GPU: numbers and sizes that depend on data, and copies
    from one device to another that are not asynchronous."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2")

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        indices = args[1] if "index" in name and isinstance(args[1], (list, tuple)) else []
        bools = [x for x in indices if isinstance(x, torch.Tensor) and x.dtype is torch.bool]
        device = kwargs.get("device")
        moved = name == "_to_copy" and device and device != args[0].device
        if name == "copy_":
            moved = args[0].device != args[1].device and not any(args[2:])
        if name in self.NAMES or bools or (moved and not kwargs.get("non_blocking")):
            self.found.append(name)
        return function(*args, **kwargs)


class OneDevice(TorchDispatchMode):
    """Raises where an operator gets tensors of two devices, which a GPU can't compute with. A number of
    dimension 0 may come from the CPU."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        given, _ = tree_flatten((args, kwargs))
        devices = {x.device.type for x in given if isinstance(x, torch.Tensor) and x.dim() > 0}
        if len(devices) > 1 and function.overloadpacket.__name__ != "copy_":
            raise RuntimeError(f"{function} got tensors of {sorted(devices)}")
        return function(*args, **kwargs)
