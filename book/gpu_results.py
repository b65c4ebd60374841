"""What `benchmarks.gpu` has stored about a GPU, for the pages that speak of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILES = {"H100": "book/measured/gpu_h100.json"}


@dataclass(frozen=True)
class Card:
    """A GPU and what was measured on it."""

    name: str
    measured: dict[str, Any]

    def part(self, name: str) -> dict[str, Any]:
        """What one part of `benchmarks.gpu` found."""
        return self.measured["parts"][name]

    def commit(self, part: str) -> str:
        """With which commit one part was measured."""
        return (self.measured | self.part(part))["commit"]

    def source(self, *parts: str) -> str:
        """Where the numbers of some parts come from, for a caption."""
        about = [self.measured | self.part(name) for name in parts]
        versions = [one["versions"]["torch"].partition("+")[0] for one in about]
        version, date, commit = (
            " and ".join(sorted({*found}))
            for found in (
                versions,
                [one["date"] for one in about],
                [one["commit"] for one in about],
            )
        )
        return (
            f"One {self.name}, PyTorch {version}, {date}, commit {commit}, "
            f"stored in {FILES[self.name]}."
        )

    def steps(self, kind: str) -> dict[int, float]:
        """Milliseconds of a training step by the number of sentences; `kind` as in "adam, graphs"."""
        rows = self.part("steps")[kind]["rows"]
        return {row["sentences"]: row["milliseconds"] for row in rows}

    def layer(self, number_format: str) -> list[tuple[float, float]]:
        """Arithmetic intensity (FLOPs a byte) and FLOPs a second of a layer of 4096 x 4096, from one vector
        to many."""
        rows = self.part("roofline")["layer of 4096"][number_format]
        return [(row["flops"] / row["bytes"], row["flops_per_second"]) for row in rows]


def card(name: str) -> Card:
    """What was measured on the "H100"."""
    return Card(name, json.loads((ROOT / FILES[name]).read_text(encoding="utf-8")))
