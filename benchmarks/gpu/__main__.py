"""What limits a GPU: the time of operators, of training steps and of decoding.

python -m benchmarks.gpu                       the parts of the first minutes
python -m benchmarks.gpu --only attention      others: attention, recurrence

Each part is a process of its own with a time limit. What it has found is written as soon as it is found, so
that a part that fails or takes too long leaves an error beside it, and the others run. Other parts that the
file has from before stay, each with its own commit and date. Without a GPU, sizes are tiny: then the program
is tested, and nothing else. Needed are PyTorch, NumPy and sentencepiece alone.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu import operators, training, translating
from benchmarks.gpu.bench import Bench
from benchmarks.record import MEASURED, about
from translation.machine import Hardware

Function = Callable[[Bench], Iterator[tuple[str, Any]]]


@dataclass(frozen=True)
class Part:
    """What to measure, how many seconds it may take on a GPU, and whether it is one of the first."""

    function: Function
    limit: int
    first: bool = False


def parts() -> dict[str, Part]:
    """All parts by name, those of the first minutes in front, the most valuable ones first."""
    return {
        "steps": Part(training.steps, 75, first=True),
        "ladder": Part(training.ladder, 130, first=True),
        "decoding": Part(translating.decoding, 60, first=True),
        "roofline": Part(operators.roofline, 45, first=True),
        "launches": Part(operators.launches, 20, first=True),
        "attention": Part(operators.attention, 60),
        "recurrence": Part(operators.recurrence, 60),
    }


def device_of(asked: str, hardware: Hardware) -> torch.device:
    """Where to measure: a GPU of CUDA, with its index, or the CPU if there is none.

    Args:
        asked: "auto", "cpu", "cuda" or "cuda:1".
        hardware: what there is.

    Raises:
        TranslationError: it is not there.
    """
    return hardware.device("cpu" if asked == "auto" and not hardware.gpus else asked)


def _work(function: Function, device: str, send: Connection) -> None:
    """Send all that a part finds, and the error that ends it."""
    os.setsid()  # a group with the processes that it starts, so that all end together
    try:
        chosen = device_of(device, Hardware.read())
        if chosen.type == "cuda":
            torch.cuda.set_device(chosen)
        for found in function(Bench(chosen)):
            send.send(found)
    except Exception:
        send.send(("error", traceback.format_exc()[-1500:]))
    finally:
        send.close()


def measure(
    part: Part, device: str, keep: Callable[[dict[str, Any]], None] = lambda found: None
) -> dict[str, Any]:
    """What a part has found when it ends or when its time is up.

    keep: gets what has been found so far, each time that there is more.
    """
    # PyTorch is imported already, and this process never uses the device
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(part.function, device, send))
    process.start()
    send.close()
    found: dict[str, Any] = {}
    begun = time.monotonic()
    try:
        while receive.poll(max(0.0, begun + part.limit - time.monotonic())):
            name, value = receive.recv()
            found[name] = value
            keep(found)
        found["error"] = f"stopped after {part.limit} seconds"
    except EOFError:
        process.join()
    finally:
        _end(process)
    process.join()
    if process.exitcode and "error" not in found:
        found["error"] = f"ended with status {process.exitcode}"
    return found | {"seconds": round(time.monotonic() - begun, 1)}


def _end(process: multiprocessing.process.BaseProcess) -> None:
    """End a part's process, if it hasn't ended, and the commands that it has started: a trainer that goes
    on would share the device with the next part."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _about(bench: Bench) -> Iterator[tuple[str, Any]]:
    """Device, versions, date, commit and command."""
    yield from about().items()


def earlier(path: Path, now: dict[str, Any]) -> dict[str, Any]:
    """The parts that a file has from before, each with where, when and how it was measured, as far as that
    differs from now."""
    if not path.exists():
        return {}
    before = json.loads(path.read_text(encoding="utf-8"))
    other = {name: before[name] for name in now if before.get(name, now[name]) != now[name]}
    return {name: other | part for name, part in before["parts"].items()}


def write(path: Path, result: dict[str, Any]) -> None:
    """Write what has been found so far, whole or not at all."""
    neighbour = path.with_name(path.name + ".part")
    neighbour.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    neighbour.replace(path)


def add(path: Path, result: dict[str, Any], name: str, found: dict[str, Any]) -> None:
    """Add what a part has found to the result, and write it."""
    result["parts"][name] = found
    write(path, result)


def main() -> None:
    """Measure and save, part by part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = parts()
    parser.add_argument("--only", nargs="+", choices=known, metavar="PART", help=", ".join(known))
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1 (default auto)")
    parser.add_argument("--commit", help="of this code, where git doesn't know it")
    parser.add_argument(
        "--output", help="where to write (default: in book/measured, by the device)"
    )
    arguments = parser.parse_args()
    names = arguments.only or [name for name, part in known.items() if part.first]
    result = measure(Part(_about, 60), arguments.device)
    del result["seconds"]
    if arguments.commit:
        result["commit"] = arguments.commit
    card = result["device"].rpartition(", ")[2].split() if "NVIDIA" in result["device"] else []
    name = "_".join(card[1:2]).lower() or "cpu"
    path = Path(arguments.output or MEASURED / f"gpu_{name}.json")
    result["parts"] = earlier(path, result)
    for name in names:
        keep = functools.partial(add, path, result, name)
        found = measure(known[name], arguments.device, keep)
        keep(found)
        print(name, json.dumps(found)[:600], flush=True)


if __name__ == "__main__":
    main()
