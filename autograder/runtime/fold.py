"""Lines of a check that stand behind one: a notebook opens them with a click."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fold:
    """One line in sight, and those behind it, which only a notebook can show."""

    summary: str
    lines: Sequence[str]

    def __repr__(self) -> str:
        return self.summary

    def _repr_html_(self) -> str:
        lines = html.escape("\n".join(self.lines))
        return (
            '<details><summary style="font-family: monospace; cursor: pointer">'
            f"{html.escape(self.summary)}</summary><pre>{lines}</pre></details>"
        )
