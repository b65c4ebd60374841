"""What is expected of a submission, as plain data; `reference` computes it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from autograder.runtime.functions import code
from autograder.runtime.grade_cell import Agreement
from autograder.runtime.mistakes import Fingerprint
from autograder.runtime.plain_data import Array, Dictionary, Items, Value, decode

# by line, what submissions that have failed it gave on its first draw: whether that was right, its fingerprint
Failed = Sequence[Sequence[tuple[bool, Fingerprint]]]


@dataclass(frozen=True)
class ExpectedDraw:
    """One line on one draw.

    inputs: as JSON, by name, those that the expression names; expected: JSON for `Expected.read`;
    right: the expected value's fingerprint; mistakes: of those that give another value, by name; rounded:
    those of them that only round in float32 what they return.
    """

    inputs: Mapping[str, dict]
    parameter_seed: int
    expected: Mapping[str, Any]
    right: Fingerprint
    mistakes: Mapping[str, Fingerprint]
    rounded: Sequence[str] = ()


@dataclass(frozen=True)
class ExpectedLine:
    """One autotest line of a grade cell.

    draws: of a line that trains something the first is asked for, and the second at a second try;
    small: what is right on the smallest draw, where a student may see it; only the build asks for it;
    megabytes: the memory that it may use, None for a line that is not measured; functions: the source of
    those that it calls.
    """

    expression: str
    points: float
    draws: tuple[ExpectedDraw, ...]
    agreement: Agreement | None = None
    small: Mapping[str, Any] | None = None
    megabytes: int | None = None
    functions: str = ""

    @property
    def code(self) -> str:
        """What is evaluated."""
        return code(self.expression, self.functions)

    @property
    def is_plain(self) -> bool:
        """Whether nothing but its value is judged: what is measured must be asked for alone."""
        return self.agreement is None and self.megabytes is None

    @property
    def asked(self) -> tuple[ExpectedDraw, ...]:
        """The draws that are asked for at the same time."""
        return self.draws[:1] if self.agreement else self.draws

    def as_data(self) -> dict[str, Any]:
        """What `read` takes, as `ExpectedCell.as_data`."""
        draws = [dict(vars(draw)) for draw in self.draws]
        return {
            **vars(self),
            "draws": draws,
            "agreement": self.agreement and asdict(self.agreement),
        }

    @staticmethod
    def read(data: dict) -> ExpectedLine:
        """From JSON."""
        draws = tuple(ExpectedDraw(**draw) for draw in data["draws"])
        agreement = data["agreement"] and Agreement(**data["agreement"])
        return ExpectedLine(**{**data, "draws": draws, "agreement": agreement})


@dataclass(frozen=True)
class ExpectedCell:
    """One grade cell; forbidden: what its expressions may not call."""

    forbidden: tuple[str, ...]
    lines: tuple[ExpectedLine, ...]

    @functools.cached_property
    def messages(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the lines, in order, by message: those that a kernel may be asked for together.

        Who answers a line of a message can read the inputs of those that follow in it. So a line that is
        given what is expected of an earlier one comes in a later message.
        """
        messages: list[list[int]] = []
        told: set[bytes] = set()
        for number, line in enumerate(self.lines):
            given, expected = _arrays_given(line), _arrays_expected(line)
            last = self.lines[number - 1]
            if number and line.is_plain and last.is_plain and not given & told:
                messages[-1].append(number)
                told |= expected
            else:
                messages.append([number])
                told = expected
        return tuple(map(tuple, messages))

    @property
    def without_mistakes(self) -> ExpectedCell:
        """The same without what mistakes give."""
        lines = (
            replace(line, draws=tuple(replace(one, mistakes={}, rounded=()) for one in line.draws))
            for line in self.lines
        )
        return replace(self, lines=tuple(lines))

    def as_data(self) -> dict[str, Any]:
        """What `read` takes, for JSON. `dataclasses.asdict` would copy all values, which takes longer than JSON."""
        return {"forbidden": self.forbidden, "lines": [line.as_data() for line in self.lines]}

    @staticmethod
    def read(data: dict) -> ExpectedCell:
        """From JSON."""
        return ExpectedCell(tuple(data["forbidden"]), tuple(map(ExpectedLine.read, data["lines"])))


@dataclass(frozen=True)
class Unexplained:
    """A cell that somebody has failed, and no known mistake explains.

    answers: those that it grades; found: by line and draw, what was given; failed: numbers of lines.
    """

    expected: ExpectedCell
    answers: Sequence[str]
    found: Sequence[Sequence[Fingerprint]]
    failed: Sequence[int]


def _arrays_given(line: ExpectedLine) -> set[bytes]:
    """The arrays among a line's inputs on its first draw; the others are made alike."""
    trees = line.draws[0].inputs.values()
    return {array for tree in trees for array in _arrays(decode(tree))}


def _arrays_expected(line: ExpectedLine) -> set[bytes]:
    """The arrays in what is expected of a line on its first draw."""
    return set(_arrays(decode(line.draws[0].expected["value"])))


def _arrays(value: Value) -> Iterator[bytes]:
    """The arrays in a value, whatever their types and shapes; single numbers say too little."""
    match value:
        case Array(values=values) if values.size > 1:
            yield values.astype(complex).tobytes()
        case Items(items):
            for item in items:
                yield from _arrays(item)
        case Dictionary(items):
            for item in items.values():
                yield from _arrays(item)
