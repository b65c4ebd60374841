"""Deliberate faults in the grader, the book and the references, which the tests have to catch."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
TESTS = FOLDER.parent


@dataclass(frozen=True)
class Fault:
    """A change of a file that breaks what its name says; caught_by: modules, below tests/."""

    name: str
    file: str
    old: str
    new: str
    caught_by: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The file's text with the fault. Raises ValueError where it has no one place for it."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file}: {self.old!r} occurs {text.count(self.old)} times")
        return text.replace(self.old, self.new)


def faults() -> list[Fault]:
    """All of faults.toml."""
    found = tomllib.loads((FOLDER / "faults.toml").read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**one, "caught_by": tuple(one["caught_by"])}) for one in found]
