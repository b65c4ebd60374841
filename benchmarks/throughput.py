"""Training steps: target tokens a second of this course's Transformer beside torch.nn.Transformer.

python -m benchmarks.throughput

All take the same batches in turn; every number is the median of the rounds. On a GPU the models have
512 features and 6 + 6 layers, and ours is compiled while the other runs as it comes, both in bfloat16.
Then our model with fused attention beside the formula, for lengths up to 2048.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from benchmarks.record import save
from solutions.ch5_positional_encoding import PositionalEncoding
from solutions.ch6_transformer import shift
from solutions.ch7_training import smoothed_cross_entropy
from solutions.translation import machine
from solutions.translation.model import build, n_parameters
from solutions.translation.settings import complete
from solutions.translation.tokenizer import PAD

PEAK = {
    "H100": 989e12,
    "H200": 989e12,
    "A100": 312e12,
}  # dense bfloat16, from the makers' data sheets
VOCAB = 8000


class Theirs(nn.Module):
    """torch.nn.Transformer between the same embeddings, positions and last layer as ours."""

    def __init__(self, settings: dict) -> None:
        super().__init__()
        width = settings["d_model"]
        self.embedding = nn.Embedding(VOCAB, width)
        self.positions = PositionalEncoding(width, settings["dropout"])
        self.transformer = nn.Transformer(
            width,
            settings["heads"],
            settings["layers"],
            settings["layers"],
            settings["d_ff"],
            settings["dropout"],
            batch_first=True,
            norm_first=True,
        )
        self.project = nn.Linear(width, VOCAB)
        self.project.weight = self.embedding.weight
        self.scale = width**0.5

    def forward(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """Logits (B, T, V) of source (B, S) and target_in (B, T)."""
        length, device = target_in.shape[1], target_in.device
        future = torch.ones(length, length, dtype=torch.bool, device=device).triu(1)
        out = self.transformer(
            self.positions(self.embedding(source) * self.scale),
            self.positions(self.embedding(target_in) * self.scale),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target_in == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )
        return self.project(out)


def make_batches(count: int, tokens: int, length: int, device: torch.device) -> list:
    """Random batches: sentences of `length`, a tenth of them shorter at the end."""
    made = []
    for seed in range(count):
        draw = torch.Generator().manual_seed(seed)
        rows = max(1, tokens // length)
        pair = [torch.randint(4, VOCAB, (rows, length + extra), generator=draw) for extra in (0, 1)]
        for ids in pair:
            ids[: (rows + 9) // 10, length - length // 4 :] = PAD
        made.append([ids.to(device) for ids in pair])
    return made


def stepper(model: nn.Module, here: machine.Machine) -> Callable:
    """A function that does one training step on a batch."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=here.device.type != "mps")
    forward = torch.compile(model) if here.compile else model

    def step(source: torch.Tensor, target: torch.Tensor) -> None:
        target_in, target_out = shift(target)
        with here.autocast():
            logits = forward(source, target_in)
        smoothed_cross_entropy(logits.float(), target_out, 0.1, PAD).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def compare(steps: dict[str, Callable], batches: list, rounds: int, cuda: bool) -> dict[str, float]:
    """Target tokens a second of each, medians of rounds in which they take turns."""
    tokens = sum(int((target[:, 1:] != PAD).sum()) for _, target in batches)
    speeds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            begun = time.perf_counter()
            for batch in batches:
                step(*batch)
            if cuda:
                torch.cuda.synchronize()
            if number:  # the first round warms up and compiles
                speeds[name].append(tokens / (time.perf_counter() - begun))
    return {name: statistics.median(found) for name, found in speeds.items()}


def flops_per_token(settings: dict, parameters: int, length: int) -> float:
    """Floating-point operations of a training step for one target token, source of the same length.

    Twice the multiplications of a forward pass, and twice as many again for the backward pass
    (Kaplan et al. 2020, section 2.1): 6 a parameter, where the embedding counts once, as the last layer;
    and 12 T D for each attention, of which a layer of encoder and decoder together has three. A causal
    one is counted in full.
    """
    return 6 * parameters + 3 * settings["layers"] * 12 * length * settings["d_model"]


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="cores to use (default 2)")
    lengths = [32, 64, 128, 256, 512, 1024, 2048]
    parser.add_argument("--lengths", type=int, nargs="+", default=lengths)
    parser.add_argument("--tokens", type=int, help="of a batch (default 2048, on a GPU 16384)")
    parser.add_argument("--width", type=int, help="of the models (default 256, on a GPU 512)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    here = machine.choose(arguments.device)
    eager = machine.choose(arguments.device, compile=False)
    cuda = here.device.type == "cuda"
    size = {"d_model": 512, "layers": 6, "d_ff": 2048, "heads": 8} if cuda else {}
    if arguments.width:
        size["d_model"] = arguments.width
    settings = complete({"task": "parallel"} | size)
    tokens = arguments.tokens or (16_384 if cuda else 2048)
    torch.manual_seed(0)
    count = 8 if cuda else 2
    fused, formula, theirs = (
        model.to(here.device).train()
        for model in (
            build(settings, VOCAB, "fused"),
            build(settings, VOCAB, "formula"),
            Theirs(settings),
        )
    )
    steps = {
        "ours": stepper(fused, here),
        "torch.nn.Transformer": stepper(theirs, eager),
    }
    short = compare(steps, make_batches(count, tokens, 32, here.device), arguments.rounds, cuda)
    long_ = {}
    pair = {"fused": stepper(fused, here), "formula": stepper(formula, here)}
    for length in arguments.lengths:
        batches = make_batches(count, tokens, length, here.device)
        found = compare(pair, batches, arguments.rounds, cuda)
        long_[length] = found | {"fused_to_formula": found["fused"] / found["formula"]}
    measured = {
        "tokens_per_second_at_length_32": short,
        "ours_to_torch": short["ours"] / short["torch.nn.Transformer"],
        "by_length": long_,
        "d_model": settings["d_model"],
        "layers": settings["layers"],
        "parameters": {"ours": n_parameters(fused), "torch.nn.Transformer": n_parameters(theirs)},
        "precision": here.precision,
        "compiled": here.compile,
        "threads": arguments.threads,
        "tokens_of_a_batch": tokens,
        "rounds": arguments.rounds,
    }
    if cuda:
        name = torch.cuda.get_device_name(here.device)
        peak = next((value for card, value in PEAK.items() if card in name), None)
        for length, found in long_.items():
            used = found["fused"] * flops_per_token(settings, n_parameters(fused), length)
            found["flops_per_second"] = used
            found["share_of_peak"] = used / peak if peak else None
    save(__file__, measured, "_cuda" if cuda else "")


if __name__ == "__main__":
    main()
