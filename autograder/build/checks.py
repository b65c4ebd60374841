"""What the build refuses: checks that a constant passes, and mistakes that aren't caught or told apart.

Runs in a process of its own (`python -m autograder.build.checks`), as everything that evaluates the
reference.
"""

from __future__ import annotations

import collections
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.catalogue import Mistake, mistakes
from autograder.course import Exercise
from autograder.errors import CatalogueError
from autograder.expected import ExpectedCell
from autograder.reference import (
    ERROR_MARK,
    Asked,
    answer_job,
    caught_answers,
    draws_of,
    expected_cell,
    expected_value,
    namespace_of,
    place,
    run_job,
)
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.mistakes import Judged, fingerprint, fitting, same_fingerprint
from autograder.runtime.plain_data import decode

VARIETY_SEEDS = 200
VARIETY_SHARE = 0.05
# for a cell whose lines take long, as those whose memory is limited
FEW_VARIETY_SEEDS = 20
# on so many draws a mistake is evaluated in cells of other answers
ELSEWHERE = 3


def check_variety(exercise: Exercise, grade_id: str, source: str) -> None:
    """Refuse an autotest that often gives the same value: it could be answered by a constant."""
    program = exercise.program()
    # the checks' input statements use what it imports
    namespace_of(program)
    where = place(exercise, grade_id)
    cell = parse_cell(source)
    counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    limited = any(check.megabytes is not None for check in cell.checks)
    seeds = FEW_VARIETY_SEEDS if limited else VARIETY_SEEDS
    for seed in range(seeds):
        draw, checks = draws_of(where, cell, [seed], grade_id)
        for check, inputs in checks:
            expected = expected_value(where, program, check, inputs, draw.parameter_seed)
            value = fingerprint(decode(expected["value"]))
            counts[check.expression][tuple(value)] += 1
    for expression, counter in counts.items():
        share = counter.most_common(1)[0][1] / seeds
        if share > VARIETY_SHARE:
            raise CatalogueError(
                f"{where}: `{expression}` gives the same value under {share:.0%} of {seeds} "
                f"seeds (at most {VARIETY_SHARE:.0%} are allowed): a constant would pass. Return more "
                "data: the results for several drawn inputs, not one bit."
            )


def _judged(mistake: Mistake, cell: ExpectedCell) -> list[Judged]:
    """What the grader sees of a mistake in a cell."""
    return [
        Judged(
            mistake.name not in draw.mistakes,
            draw.mistakes.get(mistake.name, draw.right),
            draw.mistakes,
        )
        for line in cell.lines
        for draw in line.draws
    ]


def _is_twin(other: Mistake, judged: Sequence[Judged]) -> bool:
    """Whether another mistake gives what this one gives, on every line and draw."""
    return all(
        (other.name in line.mistakes) is (not line.passed)
        and (line.passed or same_fingerprint(line.mistakes[other.name], line.fingerprint))
        for line in judged
    )


def check_catalogue(exercise: Exercise, cells: Mapping[str, ExpectedCell]) -> None:
    """Refuse a mistake that its cell doesn't catch, or that can't be told from another."""
    where = f"solutions/catalogue/{exercise.name}.md"
    known = mistakes(exercise)
    for mistake in known:
        if mistake.cell not in cells:
            raise CatalogueError(
                f"{where}: mistake {mistake.name!r} names no grade cell: {mistake.cell!r}."
            )
        judged = _judged(mistake, cells[mistake.cell])
        if all(line.passed for line in judged):
            raise CatalogueError(f"{where}: cell {mistake.cell} doesn't catch {mistake.name!r}.")
        beside = [other for other in known if other.cell == mistake.cell]
        names = {other.name for other in beside}
        if names.intersection(fitting(judged)) != {mistake.name}:
            twins = [o.name for o in beside if o is not mistake and _is_twin(o, judged)]
            raise CatalogueError(
                f"{where}: in cell {mistake.cell} no line tells {mistake.name!r} from "
                f"{', '.join(map(repr, twins))}. Merge them into one mistake with two causes, or add "
                "a line that separates them."
            )


def check_certainty(exercise: Exercise, cells: Mapping[str, ExpectedCell]) -> None:
    """Refuse a line that catches a mistake under some seeds only: naming it would be a matter of luck.

    How far float32 rounds is luck, so a line may see it now and then.
    """
    function = {mistake.name: mistake.function for mistake in mistakes(exercise)}
    for name, cell in cells.items():
        own = caught_answers(exercise, name)
        for line in cell.lines:
            caught = collections.Counter(wrong for draw in line.draws for wrong in draw.mistakes)
            rounded = {wrong for draw in line.draws for wrong in draw.rounded}
            for wrong, count in caught.items():
                if wrong in rounded:
                    continue
                draws = len(line.draws) if function[wrong] in own else ELSEWHERE
                if count < min(draws, len(line.draws)):
                    raise CatalogueError(
                        f"{place(exercise, name)}: `{line.expression}` shows the mistake {wrong!r} "
                        f"under {count} of {min(draws, len(line.draws))} seeds. Draw larger sizes or more cases, so "
                        "that it shows under every seed or under none."
                    )


def checked_cells(
    exercise: Exercise, cells: Mapping[str, str], seeds: Sequence[Sequence[int]]
) -> dict[str, ExpectedCell]:
    """What is expected of an exercise's grade cells, after all of these checks, in a process of its own.

    cells: grade_id -> source; seeds: of every draw, at least two. Raises CatalogueError.
    """
    job: dict[str, Any] = {"cells": dict(cells), "seeds": list(map(list, seeds))}
    found = run_job("autograder.build.checks", exercise, **job)
    return {name: ExpectedCell.read(cell) for name, cell in found.items()}


def _main() -> None:
    job = answer_job()
    exercise, cells = job["exercise"], job["cells"]
    try:
        found = {
            name: expected_cell(
                exercise, name, source, job["seeds"], Asked(elsewhere=ELSEWHERE), for_release=True
            )
            for name, source in cells.items()
        }
        check_catalogue(exercise, found)
        check_certainty(exercise, found)
        for name, source in cells.items():
            check_variety(exercise, name, source)
    except CatalogueError as error:
        sys.exit(f"{ERROR_MARK}{error}")
    json.dump({name: cell.as_data() for name, cell in found.items()}, sys.stdout)


if __name__ == "__main__":
    _main()
