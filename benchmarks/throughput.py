"""Training steps: target tokens a second of this course's Transformer beside torch.nn.Transformer.

python -m benchmarks.throughput

Both sides have the same sizes, dropouts, batches, loss, optimizer, number format and threads, both are
compiled or both are not, and they take turns; every number is the median of the rounds, by the clock on
the wall and by processor time. "model" is forward and backward of the model alone, "step" is all that a
step does. On a CPU the sizes are those of the Multi30k recipe, on a GPU 512 features and 6 + 6 layers.
Then our model with fused attention beside the formula, for lengths up to 2048.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from benchmarks.record import save
from solutions.ch5_positional_encoding import PositionalEncoding
from solutions.ch6_transformer import DecoderLayer, EncoderLayer, shift
from translation import machine
from translation.loss import linear_cross_entropy
from translation.model import build, n_parameters
from translation.settings import ModelSettings, complete
from translation.tokenizer import PAD

# Operations per second in dense bfloat16, from the makers' data sheets, by a part of the name that CUDA
# gives a card; the first that fits, since cards for a PCIe slot are slower than those of the same name.
PEAK = {
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H200 NVL": 835e12,
    "H100": 989e12,
    "H200": 989e12,
    "A100": 312e12,
}
VOCAB = 10_000


def peak_of(card: str) -> float | None:
    """Operations per second that a card can do at most; None for one that isn't in the table."""
    return next((value for part, value in PEAK.items() if part in card), None)


class Theirs(nn.Module):
    """torch.nn.Transformer between the same embeddings, positions and last layer as ours."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        width = settings.d_model
        self.embedding = nn.Embedding(VOCAB, width)
        self.positions = PositionalEncoding(width, settings.dropout)
        self.transformer = nn.Transformer(
            width,
            settings.heads,
            settings.layers,
            settings.layers,
            settings.d_ff,
            settings.dropout,
            batch_first=True,
            norm_first=settings.norm_first,
        )
        if not settings.norm_first:  # it would normalise twice at the end
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers]:
            layer.dropout.p = settings.activation_dropout
            layer.self_attn.dropout = settings.attention_dropout
        for layer in self.transformer.decoder.layers:
            layer.multihead_attn.dropout = settings.attention_dropout
        self.project = nn.Linear(width, VOCAB)
        self.project.weight = self.embedding.weight
        self.scale = width**0.5

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """What is projected to logits, (B, T, D), of source (B, S) and target_in (B, T)."""
        length, device = target_in.shape[1], target_in.device
        future = torch.ones(length, length, dtype=torch.bool, device=device).triu(1)
        return self.transformer(
            self.positions(self.embedding(source) * self.scale),
            self.positions(self.embedding(target_in) * self.scale),
            tgt_mask=future,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target_in == PAD,
            memory_key_padding_mask=source == PAD,
            tgt_is_causal=True,
        )


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


def compile_layers(model: nn.Module) -> None:
    """Let PyTorch compile each layer of encoder and decoder; equal layers share what is compiled. A whole
    model takes minutes."""
    kinds = EncoderLayer, DecoderLayer, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    for layer in model.modules():
        if isinstance(layer, kinds):
            layer.compile(dynamic=True)


def stepper(model: nn.Module, here: machine.Machine) -> Callable:
    """A function that does one training step on a batch."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=here.device.type != "mps")
    if here.compile:
        compile_layers(model)

    def step(source: torch.Tensor, target: torch.Tensor) -> None:
        target_in, target_out = shift(target)
        with here.autocast():
            found = model.hidden(source, target_in)
        last = model.project.weight, model.project.bias
        arguments = found.float().flatten(0, 1), *last, target_out.flatten(), 0.1, PAD, here.dtype
        (linear_cross_entropy(*arguments) / target_out.numel()).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def alone(model: nn.Module, here: machine.Machine) -> Callable:
    """A function that goes forward and backward through the model, without loss and optimizer."""
    if here.compile:
        compile_layers(model)

    def both(source: torch.Tensor, target: torch.Tensor) -> None:
        with here.autocast():
            found = model.hidden(source, target[:, :-1])
        found.float().mean().backward()

    return both


def compare(
    steps: dict[str, Callable], batches: list, rounds: int, cuda: bool
) -> dict[str, dict[str, float]]:
    """Target tokens a second of each by both clocks, medians of rounds in which they take turns."""
    tokens = sum(int((target[:, 1:] != PAD).sum()) for _, target in batches)
    speeds: dict[str, dict[str, list[float]]] = {
        name: {"wall": [], "processor": []} for name in steps
    }
    for number in range(rounds + 1):
        for name, step in steps.items():
            begun, processor = time.perf_counter(), time.process_time()
            for batch in batches:
                step(*batch)
            if cuda:
                torch.cuda.synchronize()
            if number:  # the first round warms up and compiles
                speeds[name]["wall"].append(tokens / (time.perf_counter() - begun))
                speeds[name]["processor"].append(tokens / (time.process_time() - processor))
    return {
        name: {clock: statistics.median(found) for clock, found in clocks.items()}
        for name, clocks in speeds.items()
    }


def ratios(found: dict[str, dict[str, float]], one: str, other: str) -> dict[str, float]:
    """How many times as fast one is as the other, by both clocks."""
    return {clock: found[one][clock] / found[other][clock] for clock in found[one]}


def flops_per_token(settings: ModelSettings, parameters: int, length: int) -> float:
    """Floating-point operations of a training step for one target token, source of the same length.

    Twice the multiplications of a forward pass, and twice as many again for the backward pass
    (Kaplan et al. 2020, section 2.1): 6 a parameter, where the embedding counts once, as the last layer;
    and 12 T D for each attention, of which a layer of encoder and decoder together has three. A causal
    one is counted in full.
    """
    return 6 * parameters + 3 * settings.layers * 12 * length * settings.d_model


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--length", type=int, default=16, help="of a sentence (default 16)")
    parser.add_argument("--eager", action="store_true", help="leave out what is compiled")
    parser.add_argument("--threads", type=int, default=2, help="cores to use (default 2)")
    lengths = [32, 64, 128, 256, 512, 1024, 2048]
    parser.add_argument("--lengths", type=int, nargs="*", default=lengths)
    parser.add_argument("--tokens", type=int, help="of a batch (default 2048, on a GPU 16384)")
    parser.add_argument("--width", type=int, help="of the models (default 256, on a GPU 512)")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    eager = machine.choose(arguments.device, arguments.precision, compile=False).take()
    cuda = eager.device.type == "cuda"
    size = {"d_model": 512, "layers": 6, "d_ff": 2048, "heads": 8} if cuda else {}
    if arguments.width:
        size["d_model"] = arguments.width
    settings = complete({"task": "multi30k"} | size)
    tokens = arguments.tokens or (16_384 if cuda else 2048)
    count = 8 if cuda else 2

    def made(model: Callable) -> nn.Module:
        torch.manual_seed(0)
        return model().to(eager.device).train()

    def ours(attention: str = "fused") -> nn.Module:
        return made(lambda: build(settings, VOCAB, attention, eager.device.type))

    measured: dict = {"load_averages": [os.getloadavg()[0]]}
    short = make_batches(count, tokens, arguments.length, eager.device)
    kinds = {"eager": eager}
    if not arguments.eager:
        kinds["compiled"] = dataclasses.replace(eager, compile=True)
    for kind, here in kinds.items():
        for name, what in (("step", stepper), ("model", alone)):
            sides = {
                "ours": what(ours(), here),
                "torch.nn.Transformer": what(made(lambda: Theirs(settings)), here),
            }
            found = compare(sides, short, arguments.rounds, cuda)
            found["ours_to_torch"] = ratios(found, "ours", "torch.nn.Transformer")
            measured[f"{name}, {kind}"] = found
            measured["load_averages"].append(os.getloadavg()[0])
    long_ = {}
    fused, formula = ours(), ours("formula")
    pair = {"fused": stepper(fused, eager), "formula": stepper(formula, eager)}
    for length in arguments.lengths:
        batches = make_batches(count, tokens, length, eager.device)
        found = compare(pair, batches, arguments.rounds, cuda)
        long_[length] = found | {"fused_to_formula": ratios(found, "fused", "formula")}
    measured |= {
        "by_length": long_,
        "d_model": settings.d_model,
        "layers": settings.layers,
        "parameters": {
            "ours": n_parameters(fused),
            "torch.nn.Transformer": n_parameters(Theirs(settings)),
        },
        "precision": eager.precision,
        "threads": arguments.threads,
        "tokens_of_a_batch": tokens,
        "length": arguments.length,
        "rounds": arguments.rounds,
    }
    if cuda:
        peak = peak_of(torch.cuda.get_device_name(eager.device))
        for length, found in long_.items():
            used = found["fused"]["wall"] * flops_per_token(settings, n_parameters(fused), length)
            found["flops_per_second"] = used
            found["share_of_peak"] = used / peak if peak else None
    save(__file__, measured, "_cuda" if cuda else "")


if __name__ == "__main__":
    main()
