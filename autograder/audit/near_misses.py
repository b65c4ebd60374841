"""Does what is nearly right lose its points, also in another data type?

A tolerance that is too wide is seen by no known mistake, since these are far off. So every known mistake
is judged once more with its results in float32, and what is right with a small error in it. It runs in a
process of its own, as everything that evaluates the reference.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from autograder.audit.lines import lines_of
from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.catalogue import Mistake, mistake_answers, mistakes, with_answers
from autograder.course import Course, Exercise
from autograder.dependencies import depends_on
from autograder.errors import CatalogueError
from autograder.programs import names_in
from autograder.reference import ERROR_MARK, answer_job, namespace_of, run_job
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation
from autograder.runtime.mistakes import fingerprint
from autograder.runtime.plain_data import Array, Dictionary, Items, Value


def surprises(course: Course, exercise: Exercise) -> list[str]:
    """A sentence for every line that something passes which is nearly right.

    Lines that `lines_of` leaves out aren't asked. Raises CatalogueError.
    """
    cells = unanswered_cells(source_notebook(exercise, course.settings))
    return run_job("autograder.audit.near_misses", exercise, cells=cells)


def changed(value: Value, change: Callable[[Array], Array]) -> Value:
    """A value with its arrays of float64 changed."""
    match value:
        case Array(dtype="float64"):
            return change(value)
        case Items(items):
            return Items(tuple(changed(item, change) for item in items))
        case Dictionary(items):
            return Dictionary({key: changed(item, change) for key, item in items.items()})
    return value


def in_float32(array: Array) -> Array:
    """The same numbers, rounded to float32."""
    return replace(array, dtype="float32", values=array.values.astype(np.float32))


def slightly_off(expected: Expected) -> Value:
    """A right value with an error that no rounding explains."""

    def change(array: Array) -> Array:
        # not all by the same, so that it is no factor
        signs = np.where(np.arange(array.values.size) % 2, 1, -1).reshape(array.values.shape)
        return replace(array, values=array.values + signs * expected.missed_by(array.values))

    return changed(expected.value, change)


def _passing(
    exercise: Exercise, cells: Mapping[str, str], wrong: list[tuple[Mistake, str]]
) -> Iterator[str]:
    """What passes a line and should not. wrong: mistakes with their programs."""
    program = exercise.program()
    for line in lines_of(exercise, cells, [0]):
        expected, expression = line.expected, line.check.expression
        right = Evaluation(expected.value, expected.parameters)
        off = slightly_off(expected)
        single = changed(off, in_float32)
        for value in (off, single) if fingerprint(off) != fingerprint(expected.value) else ():
            if judge(expected, replace(right, value=value)) is None:
                yield f"a small error keeps the points of {line.grade_id}: {expression}"
        for mistake, text in wrong:
            if mistake.cell == line.grade_id and names_in(line.check.code) & depends_on(
                program, mistake.function
            ):
                got = line.value(namespace_of(text))
                as_single = replace(got, value=changed(got.value, in_float32))
                if judge(expected, got) and not judge(expected, as_single):
                    yield f"mistake {mistake.name!r} gains {expression} in float32"


def _main() -> None:
    job = answer_job()
    exercise = job["exercise"]
    try:
        program = exercise.program()
        wrong = [
            (mistake, with_answers(program, mistake_answers(program, mistake)))
            for mistake in mistakes(exercise)
        ]
        found = list(_passing(exercise, job["cells"], wrong))
    except CatalogueError as error:
        sys.exit(f"{ERROR_MARK}{error}")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    _main()
