"""Decoding with and without a cache, and a beam search with and without batches.

python -m benchmarks.decoding

First greedy decoding with a cache beside computing each prefix anew: batch 32, d_model 256, 4 layers, 100
tokens. Then a beam of 5 that translates a thousand sentences, a hundred side by side beside one at a
time: held-out number words with the default run, which is trained for it, or validation sentences with
`--run RUN`.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.greedy import cached, decode, uncached
from benchmarks.record import save
from translation import data, machine
from translation.__main__ import main as trainer
from translation.decoding import Translator
from translation.model import build
from translation.run_folder import RunFolder
from translation.settings import complete

VOCAB = 8000
BATCH = 32


def side_by_side(
    folder: RunFolder, here: machine.Machine, place: str, beam: int, rounds: int
) -> dict:
    """Seconds of a beam search for a thousand sentences, in batches and one at a time, medians."""
    settings = folder.settings()
    if place:
        settings = dataclasses.replace(settings, data=place)
    split = "test" if settings.task == "numbers" else "valid"
    texts = [source for source, _ in data.load(settings, split)][:1000]
    translator = Translator.load(folder, here)
    sizes = {"batches of 100": 100, "one at a time": 1}
    wall: dict[str, list[float]] = {name: [] for name in sizes}
    processor: dict[str, list[float]] = {name: [] for name in sizes}
    written = {}
    for _ in range(rounds):
        for name, translator.batch in sizes.items():
            begun = time.perf_counter(), time.process_time()
            written[name] = translator(texts, beam)
            wall[name].append(time.perf_counter() - begun[0])
            processor[name].append(time.process_time() - begun[1])
    found = {}
    for clock, seconds in (("wall", wall), ("processor", processor)):
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        times = medians["one at a time"] / medians["batches of 100"]
        found[clock] = {"seconds": medians, "times_as_fast": times}
    same = written["batches of 100"] == written["one at a time"]
    about = {"task": settings.task, "sentences": len(texts), "beam": beam, "rounds": rounds}
    return found | about | {"same_translations": same}


@torch.inference_mode()
def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="cores to use (default 2)")
    parser.add_argument("--length", type=int, default=100, help="tokens (default 100)")
    parser.add_argument(
        "--longest", type=int, default=800, help="longest prefix whose cost is taken"
    )
    parser.add_argument("--run", help="a run for the beam search (default: one on number words)")
    parser.add_argument("--data", default="", help="multi30k: folder of its files")
    parser.add_argument("--beam", type=int, default=5, help="hypotheses (default 5)")
    parser.add_argument("--beam-rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    here = machine.choose(arguments.device, precision="float32", compile=False).take()
    load = os.getloadavg()[0]
    torch.manual_seed(0)
    settings = complete({"task": "parallel", "layers": 4})
    model = build(settings, VOCAB, "fused").to(here.device).eval()
    source = torch.randint(4, VOCAB, (BATCH, 30), device=here.device)
    kinds = {"cached": cached, "uncached": uncached}
    totals: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(arguments.rounds + 1):
        tokens = {}
        for name, kind in kinds.items():
            begun = time.perf_counter()
            tokens[name], _ = decode(
                kind(model, source, arguments.length), BATCH, arguments.length, here.device
            )
            if number:  # the first round warms up
                totals[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(found) for name, found in totals.items()}
    step = cached(model, source, arguments.longest)
    _, seconds = decode(step, BATCH, arguments.longest, here.device)
    ends = [end for end in (50, 100, 200, 400, 800) if end <= arguments.longest]
    per_token = {end: 1000 * statistics.median(seconds[end - 20 : end]) for end in ends}
    with tempfile.TemporaryDirectory() as name:
        run = arguments.run or str(Path(name) / "run")
        words = ["--threads", str(arguments.threads), "--device", str(here.device)]
        with torch.inference_mode(False):
            if not arguments.run and (status := trainer(["train", "--folder", run, *words])):
                raise SystemExit(status)
        beam = side_by_side(
            RunFolder(run), here, arguments.data, arguments.beam, arguments.beam_rounds
        )
    save(
        __file__,
        {
            "load_average": load,
            "beam": beam,
            "seconds": medians,
            "times_as_fast": medians["uncached"] / medians["cached"],
            "tokens_per_second_cached": BATCH * arguments.length / medians["cached"],
            "same_tokens": torch.equal(tokens["cached"], tokens["uncached"]),
            "milliseconds_per_token_at_prefix": per_token,
            "settings": {"batch": BATCH, "d_model": settings.d_model, "layers": 4},
            "tokens": arguments.length,
            "threads": arguments.threads,
            "rounds": arguments.rounds,
        },
        "_cuda" if here.device.type == "cuda" else "",
    )


if __name__ == "__main__":
    main()
