"""Do right answers stay right, whatever is drawn?

A class has one seed, so an answer that loses a line under one seed in three hundred has full marks in nearly
every audit. Here the alternatives are asked under many seeds, in a process of its own, as everything that
evaluates the reference; they are our own and need no sandbox.
"""

from __future__ import annotations

import collections
import json
import sys
from collections.abc import Iterator, Mapping

from autograder.audit.lines import lines_of
from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.catalogue import alternative_answers, alternatives, with_answers
from autograder.course import Course, Exercise
from autograder.dependencies import depends_on
from autograder.errors import CatalogueError
from autograder.programs import names_in
from autograder.reference import ERROR_MARK, answer_job, namespace_of, run_job

SEEDS = 100


def surprises(course: Course, exercise: Exercise, seeds: int = SEEDS) -> list[str]:
    """A sentence for every line that an alternative loses, with how often.

    Lines that `lines_of` leaves out aren't asked. Raises CatalogueError.
    """
    cells = unanswered_cells(source_notebook(exercise, course.settings))
    lost = run_job("autograder.audit.many_seeds", exercise, cells=cells, seeds=seeds)
    return [
        f"alternative {name!r} loses {cell}: {expression}, under {count} of {seeds} seeds"
        for name, cell, expression, count in lost
    ]


def _lost(
    exercise: Exercise, cells: Mapping[str, str], seeds: int
) -> Iterator[tuple[str, str, str]]:
    """The lines that alternatives lose, once for each seed: alternative, grade cell and expression."""
    program = exercise.program()
    for line in lines_of(exercise, cells, range(seeds)):
        expression = line.check.expression
        for alternative in alternatives(exercise):
            answers = alternative_answers(program, alternative)
            if any(
                depends_on(program, answer) & names_in(line.check.code) for answer in answers
            ) and (line.problem(namespace_of(with_answers(program, answers)))):
                yield alternative.name, line.grade_id, expression


def _main() -> None:
    job = answer_job()
    try:
        lost = collections.Counter(_lost(job["exercise"], job["cells"], job["seeds"]))
    except CatalogueError as error:
        sys.exit(f"{ERROR_MARK}{error}")
    json.dump([[*line, count] for line, count in lost.items()], sys.stdout)


if __name__ == "__main__":
    _main()
