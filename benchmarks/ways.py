"""How long each known way to write an answer takes, on the inputs of the answer's own checks.

python -m benchmarks.ways

For every answer: the reference and all alternatives of the catalogue, in turn, processor time for all lines of
the grade cells that grade it, medians of the rounds. The inputs are as small as the checks draw them, so
what Python does around the arithmetic weighs more than in use. Answers that are trained are left out.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.catalogue import with_answers
from autograder.course import Course, Exercise
from autograder.exercises import grade_cells, graded_answers, released
from autograder.publish.instructors import solved_answers
from autograder.reference import draws_of, namespace_of, prepare_process
from autograder.runtime.evaluate import evaluate
from autograder.runtime.grade_cell import Check, GradeCell, parse_cell
from benchmarks.record import save

ROUNDS, SEED = 7, 7
Line = tuple[Check, Mapping[str, Any], int, GradeCell]


def lines_of(exercise: Exercise, answer: str) -> list[Line]:
    """The lines that grade an answer, with their inputs; none for one that is trained."""
    notebook, found = released(exercise), []
    graded = graded_answers(notebook)
    for grade_id, source in grade_cells(notebook).items():
        cell = parse_cell(source)
        if answer not in graded[grade_id]:
            continue
        if any(check.agreement for check in cell.checks):
            return []
        draw, checks = draws_of(grade_id, cell, [SEED], grade_id)
        found += [
            (check, copy.deepcopy(inputs), draw.parameter_seed, cell) for check, inputs in checks
        ]
    return found


def seconds(names: Mapping[str, Any], lines: Sequence[Line]) -> float:
    """The processor time of all lines over the names of one program."""
    total = 0.0
    for check, inputs, seed, cell in lines:
        found = evaluate(check.code, names, copy.deepcopy(inputs), seed, cell.forbidden)
        if found["value"]["kind"] == "error":
            raise RuntimeError(f"{check.expression} raises: {found['value']['message']}")
        total += found["processor_seconds"]
    return total


def measured(exercise: Exercise) -> dict[str, dict[str, float]]:
    """Milliseconds by answer and version."""
    program, table = exercise.program(), {}
    for answer in solved_answers(exercise):
        lines = lines_of(exercise, answer.name)
        if not lines:
            continue
        names = {
            version.title: namespace_of(with_answers(program, {answer.name: version.source}))
            for version in answer.versions
        }
        rounds = [
            {title: seconds(own, lines) for title, own in names.items()} for _ in range(ROUNDS)
        ]
        table[answer.name] = {
            title: round(1000 * statistics.median(one[title] for one in rounds), 2)
            for title in names
        }
    return table


def main() -> None:
    """Measure and save."""
    prepare_process()
    course = Course.find()
    times = {exercise.name: measured(exercise) for exercise in course.exercises()}
    save(__file__, {"milliseconds": times, "rounds": ROUNDS})


if __name__ == "__main__":
    main()
