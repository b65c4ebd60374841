"""The lines of grade cells on drawn inputs, each with what the reference gives for it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autograder.course import Exercise
from autograder.reference import draws_of, expected_value, namespace_of, place
from autograder.runtime.compare import Difference, Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import Check, GradeCell, parse_cell


@dataclass(frozen=True)
class Line:
    """A line under one seed. number: the seed of parameters; expected: what the reference gives."""

    grade_id: str
    seed: int
    cell: GradeCell
    check: Check
    inputs: dict[str, Any]
    number: int
    expected: Expected

    def value(self, names: dict[str, Any]) -> Evaluation:
        """What an answer among these names gives."""
        inputs, forbidden = copy.deepcopy(self.inputs), self.cell.forbidden
        told = evaluate(self.check.code, names, inputs, self.number, forbidden)
        return Evaluation.read(told)

    def problem(self, names: dict[str, Any]) -> Difference | None:
        """What is wrong with an answer among these names; None if nothing is."""
        return judge(self.expected, self.value(names))


def lines_of(exercise: Exercise, cells: Mapping[str, str], seeds: Iterable[int]) -> Iterator[Line]:
    """The lines of some cells under each seed. cells: their text by grade_id.

    Lines that train something, or whose memory is limited, take too long and are left out. Raises
    CatalogueError.
    """
    program, seeds = exercise.program(), list(seeds)
    # the checks' input statements use what it imports
    namespace_of(program)
    for grade_id, text in cells.items():
        cell, where = parse_cell(text), place(exercise, grade_id)
        for seed in seeds:
            draw, checks = draws_of(where, cell, [seed], grade_id)
            for check, inputs in checks:
                if check.agreement or check.megabytes is not None:
                    continue
                number = draw.parameter_seed
                wanted = expected_value(where, program, check, copy.deepcopy(inputs), number)
                # as JSON, as an answer key has it
                expected = Expected.read(json.loads(json.dumps(wanted)))
                yield Line(grade_id, seed, cell, check, inputs, number, expected)
