"""How long a check cell takes beside the answers that it evaluates, in the student's own process.

python -m benchmarks.check_cell

For every grade cell of every exercise, with reference answers and with the first known mistakes of its
answers: the time of the whole check (inputs drawn,
answers evaluated, compared, shown) and, in turn with it, the time of evaluating its expressions on inputs
that are drawn already. What is trained for a given processor time is left out.
"""

from __future__ import annotations

import contextlib
import copy
import io
import statistics
import time
from collections.abc import Callable
from typing import Any

from autograder.catalogue import mistake_answers, mistakes, with_answers
from autograder.course import Course, Exercise
from autograder.exercises import baked_answers, grade_cells, released
from autograder.reference import namespace_of, prepare_process
from autograder.runtime.draw import Draw
from autograder.runtime.evaluate import evaluate
from autograder.runtime.grade_cell import GradeCell, checks_with_inputs, parse_cell
from autograder.runtime.notebook import AutotestFailure, Checks, seed_of
from benchmarks.record import save

ROUNDS, MISTAKES = 5, 3
SHARE, SECONDS = 1.5, 0.3


def _seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured(exercise: Exercise) -> list[dict[str, float | str]]:
    """The grade cells of an exercise with their median times in seconds; answer: "right" or a mistake."""
    notebook, program = released(exercise), exercise.program()
    checks = Checks({}, {})
    checks.use_answers(baked_answers(notebook))
    rows = []
    for grade_id, source in grade_cells(notebook).items():
        cell = parse_cell(source)
        if any(check.agreement for check in cell.checks):
            continue
        known = [mistake for mistake in mistakes(exercise) if mistake.cell == grade_id][:MISTAKES]
        programs = {"right": program}
        programs |= {m.name: with_answers(program, mistake_answers(program, m)) for m in known}
        for answer, text in programs.items():
            names = namespace_of(text)
            whole, alone = _whole(checks, grade_id, source, names), _answers(grade_id, cell, names)
            pairs = [(_seconds(whole), _seconds(alone)) for _ in range(ROUNDS)]
            check, evaluated = (statistics.median(times) for times in zip(*pairs, strict=True))
            row = {"cell": grade_id, "answer": answer, "check": check, "answers": evaluated}
            rows.append(row)
    return rows


def _whole(checks: Checks, grade_id: str, source: str, names: dict[str, Any]) -> Callable[[], None]:
    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(AutotestFailure):
            checks.run_cell(grade_id, source, names)

    return run


def _answers(grade_id: str, cell: GradeCell, names: dict[str, Any]) -> Callable[[], None]:
    drawn, draw = [], Draw(seed_of(grade_id))
    for check, inputs in checks_with_inputs(cell, draw):
        drawn.append((check.expression, copy.deepcopy(inputs), draw.parameter_seed))

    def run() -> None:
        for expression, inputs, seed in drawn:
            evaluate(expression, names, inputs, seed, cell.forbidden)

    return run


def main() -> None:
    """Measure all exercises and store what was found."""
    prepare_process()
    found = {exercise.name: measured(exercise) for exercise in Course.find().exercises()}
    over = [
        row["cell"]
        for rows in found.values()
        for row in rows
        if row["check"] > SHARE * row["answers"] + SECONDS
    ]
    worst = max(
        (row["check"] - SHARE * row["answers"], row["cell"], row["answer"])
        for rows in found.values()
        for row in rows
    )
    save(
        __file__,
        {
            "rounds": ROUNDS,
            "limit": f"{SHARE:g} times the answers' time plus {SECONDS:g} s",
            "over_the_limit": over,
            "checks": sum(map(len, found.values())),
            "closest_to_it": {
                "cell": worst[1],
                "answer": worst[2],
                "seconds_beyond_share": worst[0],
            },
            "seconds": found,
        },
    )


if __name__ == "__main__":
    main()
