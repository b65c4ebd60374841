"""Two known mistakes of one answer at once, where no other explains a grade cell.

Their changes are combined if each can be made beside the other. What the two give together is evaluated, in a process
of its own, only for cells that somebody has failed and that nothing else explains, and isn't kept.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.catalogue import mistake_answers, mistakes, with_answers
from autograder.course import Exercise
from autograder.errors import CatalogueError
from autograder.expected import ExpectedCell, ExpectedDraw, ExpectedLine, Unexplained
from autograder.reference import answer_job, namespace_of, run_job
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.mistakes import Fingerprint, fingerprint, same_fingerprint
from autograder.runtime.plain_data import decode, restore

# of one answer; more would take minutes
MAX_PAIRS = 400


def pairs_of(exercise: Exercise, cells: Sequence[Unexplained]) -> list[list[str]]:
    """For each cell the names of two mistakes that explain it together; none where not exactly one pair does."""
    if not cells:
        return []
    asked = [
        {**vars(one), "expected": one.expected.without_mistakes.as_data(), "failed": [*one.failed]}
        for one in cells
    ]
    return run_job("autograder.grade.combined", exercise, asked=asked)


def _programs(exercise: Exercise, answers: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """Programs with two mistakes in one of some answers, and their names."""
    program = exercise.program()
    known = [m for m in mistakes(exercise) if m.edits and not m.start and m.function in answers]
    alone = {m.name: mistake_answers(program, m)[m.function] for m in known}
    pairs = (
        (one, other)
        for one, other in itertools.combinations(known, 2)
        if one.function == other.function
    )
    for one, other in itertools.islice(pairs, MAX_PAIRS):
        try:
            both = mistake_answers(program, replace(other, start=one))
        except CatalogueError:
            # they change the same code
            continue
        if both[one.function] not in (alone[one.name], alone[other.name]):
            yield [one.name, other.name], with_answers(program, both)


def _explains(names: Mapping[str, Any], asked: Unexplained) -> bool:
    """Whether a program's names give what somebody's code gave, beginning with a line that has failed."""
    numbers = sorted(range(len(asked.found)), key=lambda number: number not in asked.failed)
    return all(
        same_fingerprint(_given(line, draw, names), found)
        for number in numbers
        for line in [asked.expected.lines[number]]
        if line.megabytes is None and line.agreement is None
        for draw, found in zip(line.draws, asked.found[number], strict=False)
    )


def _given(line: ExpectedLine, draw: ExpectedDraw, names: Mapping[str, Any]) -> Fingerprint:
    inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
    return fingerprint(
        Evaluation.read(evaluate(line.code, names, inputs, draw.parameter_seed)).value
    )


def _main() -> None:
    job = answer_job()
    cells = [
        Unexplained(**{**one, "expected": ExpectedCell.read(one["expected"])})
        for one in job["asked"]
    ]
    explained: list[list[list[str]]] = [[] for _ in cells]
    for answers in dict.fromkeys(tuple(one.answers) for one in cells):
        of_these = [n for n, one in enumerate(cells) if tuple(one.answers) == answers]
        for pair, program in _programs(job["exercise"], answers):
            names = namespace_of(program)
            for number in of_these:
                if _explains(names, cells[number]):
                    explained[number].append(pair)
    json.dump([found[0] if len(found) == 1 else [] for found in explained], sys.stdout)


if __name__ == "__main__":
    _main()
