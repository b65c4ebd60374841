"""What a run computes on: the device, its number format, and how many processes share the work."""

from __future__ import annotations

import ctypes
import datetime
import os
import platform
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import distributed

from solutions.translation import TranslationError
from solutions.translation.graphs import Record

MALLOC_SETTINGS = {-1: 2**31 - 1, -2: 2**26, -4: 0}  # M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX
KERNELS = 16
TIMEOUT = datetime.timedelta(hours=2)  # others wait so long while one process works by itself


@dataclass(frozen=True)
class Machine:
    """A process's place: device; precision "float32", "bfloat16" or "float16"; whether to compile; which
    attention; its rank among world_size processes; why it has this precision, if that was left open; and
    how steps are recorded as CUDA graphs, or None."""

    device: torch.device
    precision: str = "float32"
    compile: bool = False
    attention: str = "fused"
    rank: int = 0
    world_size: int = 1
    reason: str = ""
    record: Record | None = None

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
        half = self.precision != "float32"
        return torch.autocast(self.device.type, self.dtype if half else None, enabled=half)

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


def choose_precision(asked: str, device: str, native: bool, tensor_cores: bool) -> tuple[str, str]:
    """The number format of matrix products, and why it is not the one that might be expected.

    Args:
        asked: "auto", "float32", "bfloat16" or "float16".
        device: its type.
        native: whether the device computes with bfloat16 itself.
        tensor_cores: whether it is a GPU that is faster in float16.

    Returns:
        The format, and a remark or "".

    Raises:
        TranslationError: bfloat16 would be emulated.
    """
    if asked == "bfloat16" and device == "cuda" and not native:
        raise TranslationError(
            "--precision bfloat16: this GPU only emulates it, slowly; "
            f"--precision {'float16' if tensor_cores else 'float32'} or auto is what it is made for"
        )
    if asked != "auto":
        return asked, ""
    if device == "cuda" and native:
        return "bfloat16", ""
    if device == "cuda" and tensor_cores:
        return "float16", "with scaled gradients, since this GPU has no bfloat16"
    if device == "cuda":
        return "float32", "since this GPU has neither bfloat16 nor tensor cores"
    if native:
        return "float32", "--precision bfloat16 is faster with large models on this processor"
    return "float32", ""


def _precision(asked: str, device: torch.device, tensor_cores: bool) -> tuple[str, str]:
    if device.type == "cuda":
        native = torch.cuda.is_bf16_supported(including_emulation=False)
        return choose_precision(asked, "cuda", native, tensor_cores)
    native = device.type == "cpu" and torch.cpu._is_avx512_bf16_supported()
    return choose_precision(asked, device.type, native, False)


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
) -> Machine:
    """Fill in what was left open. On CUDA: half precision and compiled, unless the GPU is older than
    either; elsewhere float32, not compiled.

    Under torchrun every process takes its own GPU, or a share of the CPU; they are to `join` later.

    Args:
        device: "auto" (CUDA, else MPS, else CPU), "cpu", "cuda", "cuda:1", "mps".
        precision: "auto", "float32", "bfloat16" or "float16".
        compile: None = on CUDA, if PyTorch can.
        attention: "formula" or "fused".
        deterministic: only operations that give the same bits each time; slower on CUDA.

    Returns:
        The machine of this process.

    Raises:
        TranslationError: there is no such device here, or it lacks the precision.
    """
    rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        device = next((name for name, there in available.items() if there), "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise TranslationError(
            f"--device {device}: there is no such device; --device auto takes the best that is there"
        ) from error
    if not available.get(chosen.type, chosen.type == "cpu"):
        raise TranslationError(
            f"--device {device}: PyTorch finds no such device here; --device auto takes what is there"
        )
    recent = False
    if chosen.type == "cuda":
        if world_size > 1:
            chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        if (chosen.index or 0) >= (there := torch.cuda.device_count()):
            raise TranslationError(
                f"{chosen} is not here, PyTorch finds {there} GPUs, numbered from 0: name one of them, "
                f"or start torchrun with --nproc-per-node {there}"
            )
        recent = torch.cuda.get_device_capability(chosen)[0] >= 7
        torch.cuda.set_device(chosen)
        torch.set_float32_matmul_precision("high")  # TF32, where a product is in float32 at all
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    # GPUs since 2017 have tensor cores, and torch.compile makes code for them alone
    kind, reason = _precision(precision, chosen, tensor_cores=recent)
    compiled = recent if compile is None else compile
    return Machine(chosen, kind, compiled, attention, rank, world_size, reason)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory does not suffice, a GPU's or the computer's."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


def leave() -> None:
    """Part from the other processes, if there are any."""
    if distributed.is_initialized():
        distributed.destroy_process_group()
