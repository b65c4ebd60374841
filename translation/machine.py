"""What a run computes on: the device, its number format, and how many processes share the work."""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import os
import platform
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed

from translation import TranslationError
from translation.graphs import Record

MALLOC_SETTINGS = {-1: 2**31 - 1, -2: 2**26, -4: 0}  # M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX
KERNELS = 16
# On an H100 the first compiled step took 41 seconds, and a step without compiling 30 milliseconds. If a third
# of them is saved, that takes as many steps to come in. With CUDA graphs a step took 6 milliseconds on an H200,
# and compiling saved a sixth.
STEPS_TO_COMPILE = {"eager": 4000, "graphs": 40_000}
TIMEOUT = datetime.timedelta(hours=2)  # others wait so long while one process works by itself


@dataclass(frozen=True)
class Hardware:
    """What PyTorch finds on a computer.

    Args:
        gpus: the compute capability of each GPU that CUDA has, such as (9, 0) of an H100.
        mps: whether there is Apple's GPU.
        cpu_bfloat16: whether the processor computes with bfloat16 itself.
    """

    gpus: tuple[tuple[int, int], ...] = ()
    mps: bool = False
    cpu_bfloat16: bool = False

    @classmethod
    def read(cls) -> Hardware:
        """That of this computer."""
        # of a build for CUDA without a GPU, the count is 0
        found = range(torch.cuda.device_count())
        return cls(
            tuple(torch.cuda.get_device_capability(n) for n in found),
            torch.backends.mps.is_available(),
            torch.cpu._is_avx512_bf16_supported(),
        )

    def device(self, asked: str, local_rank: int | None = None) -> torch.device:
        """A device that is there. One of CUDA has its index, without which PyTorch doesn't take it
        everywhere.

        Args:
            asked: "auto", or the name of a device.
            local_rank: the number of this process among those of this computer, if there are several;
                each takes its own GPU.

        Raises:
            TranslationError: it is not there.
        """
        if asked == "auto":
            asked = "cuda" if self.gpus else "mps" if self.mps else "cpu"
        try:
            device = torch.device(asked)
        except RuntimeError as error:
            raise TranslationError(
                f"--device {asked}: there is no such device; --device auto takes the best that is there"
            ) from error
        there = {"cuda": bool(self.gpus), "mps": self.mps, "cpu": True}
        if not there.get(device.type, False):
            raise TranslationError(
                f"--device {asked}: PyTorch finds no such device here; --device auto takes what is there"
            )
        if device.type != "cuda":
            return device
        index = (device.index or 0) if local_rank is None else local_rank
        if index >= len(self.gpus):
            raise TranslationError(
                f"cuda:{index} is not here, PyTorch finds {len(self.gpus)} GPUs, numbered from 0: name "
                f"one of them, or start torchrun with --nproc-per-node {len(self.gpus)}"
            )
        return torch.device("cuda", index)

    def precision(self, asked: str, device: torch.device) -> tuple[str, str]:
        """The number format of matrix products, and why it is not the one that might be expected.

        Args:
            asked: "auto", "float32", "bfloat16" or "float16".
            device: where they are computed.

        Returns:
            The format, and a remark or "".

        Raises:
            TranslationError: bfloat16 would be emulated.
        """
        if device.type != "cuda":
            native = device.type == "cpu" and self.cpu_bfloat16
            faster = "--precision bfloat16 is faster with large models on this processor"
            chosen = "float32" if asked == "auto" else asked
            return chosen, faster if native and asked == "auto" else ""
        native, tensor_cores = self.gpus[device.index] >= (8, 0), self.has_tensor_cores(device)
        if asked == "bfloat16" and not native:
            raise TranslationError(
                "--precision bfloat16: this GPU only emulates it, slowly; "
                f"--precision {'float16' if tensor_cores else 'float32'} or auto is what it is made for"
            )
        if asked != "auto":
            return asked, ""
        if native:
            return "bfloat16", ""
        if tensor_cores:
            return "float16", "with scaled gradients, since this GPU has no bfloat16"
        return "float32", "since this GPU has neither bfloat16 nor tensor cores"

    def has_tensor_cores(self, device: torch.device) -> bool:
        """Whether a device is a GPU from 2017 or later, for which alone torch.compile makes code, too."""
        return device.type == "cuda" and self.gpus[device.index] >= (7, 0)


@dataclass(frozen=True)
class Machine:
    """A process's place: device; precision "float32", "bfloat16" or "float16"; whether to compile; which
    attention; its rank among world_size processes; why it has this precision, if that was left open;
    whether the same bits come out each time; and how steps are recorded as CUDA graphs, or None."""

    device: torch.device
    precision: str = "float32"
    compile: bool = False
    attention: str = "fused"
    rank: int = 0
    world_size: int = 1
    reason: str = ""
    deterministic: bool = False
    record: Record | None = None

    @property
    def dtype(self) -> torch.dtype:
        """The number format of matrix products."""
        return getattr(torch, self.precision)

    @property
    def multiple(self) -> int:
        """Lengths are rounded up to a multiple of this: tensor cores want 8."""
        return 8 if self.device.type == "cuda" else 1

    def autocast(self) -> contextlib.AbstractContextManager:
        """The context for forward passes."""
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, self.dtype)

    def take(self) -> Machine:
        """Let this process use the device, before anything is on it; returns the machine."""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
            torch.set_float32_matmul_precision("high")  # TF32, where a product is in float32 at all
        if self.deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
            torch.use_deterministic_algorithms(True)
        return self

    def join(self) -> None:
        """Join the other processes, if there are any; each waits here for all."""
        if self.world_size > 1 and not distributed.is_initialized():
            backend = "nccl" if self.device.type == "cuda" else "gloo"
            distributed.init_process_group(backend, timeout=TIMEOUT)

    def share(self, value: Any) -> Any:
        """The value that process 0 has; so the others need none of its files."""
        if self.world_size == 1:
            return value
        values = [value]
        distributed.broadcast_object_list(values, 0, device=self.device)
        return values[0]


def set_threads(asked: int | None) -> int:
    """Set the threads that PyTorch uses on a CPU: as many as asked for, or as OMP_NUM_THREADS says, or all
    cores if that is faster than one, which it is not where other work keeps the cores busy.

    Returns:
        The number of threads.

    Raises:
        TranslationError: fewer than one is asked for.
    """
    if asked is not None and asked < 1:
        raise TranslationError(f"--threads {asked}: at least 1")
    if asked is None and "OMP_NUM_THREADS" not in os.environ:
        all_ = torch.get_num_threads()
        asked = all_ if all_ > 1 and _speed(all_) > 1.2 * _speed(1) else 1
    if asked is not None:
        torch.set_num_threads(asked)
    return torch.get_num_threads()


def keep_freed_memory() -> None:
    """Let the C library keep memory that tensors have freed for the next ones.

    It gives large blocks back to the system otherwise, so that each page of the next tensor costs a page
    fault, and two threads wait for each other there. Only glibc has these settings (`man mallopt`); with
    another library nothing changes.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        for parameter, value in MALLOC_SETTINGS.items():
            library.mallopt(parameter, value)


def keep_few_kernels() -> None:
    """Let oneDNN, which multiplies bfloat16 matrices on a CPU, forget kernels that were not used lately.

    It compiles a kernel for each shape and keeps 1,024 of them, but nearly every batch has another shape:
    within 200 steps they fill 0.6 GB. It reads this before its first product, and what the user has set
    stays (oneDNN's documentation, *Primitive Cache*).
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(KERNELS))


def _speed(threads: int) -> float:
    """Products a second of matrices as large as those of a small Transformer."""
    torch.set_num_threads(threads)
    x, weight = torch.ones(2048, 128), torch.ones(128, 256)
    done, begun = 0, time.perf_counter()
    while (seconds := time.perf_counter() - begun) < 0.2 or done < 5:
        (x @ weight).relu_()
        done += 1
    return done / seconds


def choose(
    device: str = "auto",
    precision: str = "auto",
    compile: bool | None = None,
    attention: str = "fused",
    deterministic: bool = False,
    hardware: Hardware | None = None,
) -> Machine:
    """Fill in what was left open. On CUDA: half precision and compiled, unless the GPU is older than
    either; elsewhere float32, not compiled. Nothing is changed in this process; `Machine.take` does that.

    Under torchrun every process takes its own GPU, or a share of the CPU; they are to `join` later.

    Args:
        device: "auto" (CUDA, else MPS, else CPU), "cpu", "cuda", "cuda:1", "mps".
        precision: "auto", "float32", "bfloat16" or "float16".
        compile: None = on CUDA, if PyTorch can.
        attention: "formula" or "fused".
        deterministic: only operations that give the same bits each time; slower on CUDA.
        hardware: what there is; None = that of this computer.

    Returns:
        The machine of this process.

    Raises:
        TranslationError: there is no such device here, or it lacks the precision.
    """
    hardware = hardware or Hardware.read()
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    local_rank = int(os.environ.get("LOCAL_RANK", 0)) if world_size > 1 else None
    chosen = hardware.device(device, local_rank)
    kind, reason = hardware.precision(precision, chosen)
    compiled = hardware.has_tensor_cores(chosen) if compile is None else compile
    return Machine(
        chosen, kind, compiled, attention, rank, world_size, reason, deterministic=deterministic
    )


def worth_compiling(
    here: Machine, asked: bool | None, steps: int, graphs: bool = False
) -> tuple[bool, str]:
    """Whether to compile for a run of so many steps, and a line that says what that means.

    Args:
        here: on which it could be compiled.
        asked: what the user wants; None = what is faster.
        steps: how many are to be done.
        graphs: whether CUDA graphs repeat them, so that compiling saves less.

    Returns:
        The answer, and a remark or "".
    """
    if not here.compile:
        return False, ""
    enough = STEPS_TO_COMPILE["graphs" if graphs else "eager"]
    if asked or steps >= enough:
        return True, (
            "the layers are compiled in the first step, which can take a minute; "
            "--no-compile begins at once"
        )
    return False, (
        f"not compiled, which can take a minute and is no gain in fewer than {enough:,} steps; "
        "--compile does it all the same"
    )


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory does not suffice, a GPU's or the computer's."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


def leave() -> None:
    """Part from the other processes, if there are any."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
