"""What a run computes on: the device, its number format, and how many processes share the work."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
from torch import distributed

from solutions.translation import TranslationError


@dataclass(frozen=True)
class Machine:
    """A process's place: device; precision "float32" or "bfloat16"; whether to compile; which
    attention; its rank among world_size processes."""

    device: torch.device
    precision: str = "float32"
    compile: bool = False
    attention: str = "fused"
    rank: int = 0
    world_size: int = 1

    @property
    def dtype(self) -> torch.dtype:
        """The number format of matrix products."""
        return getattr(torch, self.precision)

    @property
    def multiple(self) -> int:
        """Lengths are rounded up to a multiple of this: tensor cores want 8."""
        return 8 if self.device.type == "cuda" else 1

    def autocast(self) -> torch.autocast:
        """The context for forward passes."""
        half = self.precision == "bfloat16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=half)


def choose(
    device: str = "auto",
    precision: str = "auto",
    compile: bool | None = None,
    attention: str = "fused",
    deterministic: bool = False,
) -> Machine:
    """Fill in what was left open. On CUDA: bfloat16 and compiled; elsewhere float32, not compiled.

    Under torchrun every process takes its own GPU, or a share of the CPU, and they join here.

    Args:
        device: "auto" (CUDA, else MPS, else CPU), "cpu", "cuda", "cuda:1", "mps".
        precision: "auto", "float32" or "bfloat16".
        compile: None = where the device is CUDA.
        attention: "formula" or "fused".
        deterministic: only operations that give the same bits each time; slower on CUDA.

    Returns:
        The machine of this process.

    Raises:
        TranslationError: there is no such device here.
    """
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        device = next((name for name, there in available.items() if there), "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise TranslationError(f"--device {device}: there is no such device") from error
    if not available.get(chosen.type, chosen.type == "cpu"):
        raise TranslationError(f"--device {device}: PyTorch finds no such device here")
    if chosen.type == "cuda":
        if world_size > 1:
            chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(chosen)
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    if world_size > 1 and not distributed.is_initialized():
        distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    on_cuda = chosen.type == "cuda"
    return Machine(
        chosen,
        ("bfloat16" if on_cuda else "float32") if precision == "auto" else precision,
        on_cuda if compile is None else compile,
        attention,
        rank,
        world_size,
    )


def leave() -> None:
    """Part from the other processes, if there are any."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
