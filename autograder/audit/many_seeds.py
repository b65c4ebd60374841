"""Do right answers stay right, whatever is drawn?

A class has one seed, so an answer that loses a line under one seed in three hundred has full marks in nearly
every audit. Here the alternatives are asked under many seeds, in a process of its own, as everything that
evaluates the reference; they are our own and need no sandbox.
"""

from __future__ import annotations

import collections
import copy
import json
import sys
from collections.abc import Iterator, Mapping

from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.catalogue import alternative_answers, alternatives, with_answers
from autograder.course import Course, Exercise
from autograder.dependencies import depends_on
from autograder.errors import CatalogueError
from autograder.programs import names_in
from autograder.reference import (
    ERROR_MARK,
    answer_job,
    draws_of,
    expected_value,
    namespace_of,
    place,
    run_job,
)
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell

SEEDS = 100


def surprises(course: Course, exercise: Exercise, seeds: int = SEEDS) -> list[str]:
    """A sentence for every line that an alternative loses, with how often.

    Lines that train something, or whose memory is limited, take too long and are left out. Raises
    CatalogueError.
    """
    cells = unanswered_cells(source_notebook(exercise, course.settings))
    lost = run_job("autograder.audit.many_seeds", exercise, cells=cells, seeds=seeds)
    return [
        f"alternative {name!r} loses {cell}: {expression}, under {count} of {seeds} seeds"
        for name, cell, expression, count in lost
    ]


def _lost(
    exercise: Exercise, cells: Mapping[str, str], seed: int
) -> Iterator[tuple[str, str, str]]:
    """The lines that alternatives lose under a seed: alternative, grade cell and expression."""
    program = exercise.program()
    # the checks' input statements use what it imports
    namespace_of(program)
    for grade_id, source in cells.items():
        cell, where = parse_cell(source), place(exercise, grade_id)
        draw, checks = draws_of(where, cell, [seed], grade_id)
        for check, inputs in checks:
            if check.agreement or check.megabytes is not None:
                continue
            number, used = draw.parameter_seed, names_in(check.code)
            wanted = expected_value(where, program, check, copy.deepcopy(inputs), number)
            for alternative in alternatives(exercise):
                answers = alternative_answers(program, alternative)
                if not any(depends_on(program, answer) & used for answer in answers):
                    continue
                names = namespace_of(with_answers(program, answers))
                given = check.code, names, copy.deepcopy(inputs), number, cell.forbidden
                if judge(Expected.read(wanted), Evaluation.read(evaluate(*given))):
                    yield alternative.name, grade_id, check.expression


def _main() -> None:
    job = answer_job()
    try:
        lost = collections.Counter(
            line
            for seed in range(job["seeds"])
            for line in _lost(job["exercise"], job["cells"], seed)
        )
    except CatalogueError as error:
        sys.exit(f"{ERROR_MARK}{error}")
    json.dump([[*line, count] for line, count in lost.items()], sys.stdout)


if __name__ == "__main__":
    _main()
