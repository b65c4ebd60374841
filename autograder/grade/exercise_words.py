"""What an exercise's catalogue, its checks and the book say, as results are put into words with it."""

from __future__ import annotations

import functools

from autograder.book_index import book_sections
from autograder.catalogue import mistakes, sections
from autograder.course import Exercise
from autograder.errors import ExerciseError
from autograder.exercises import grade_cells, released
from autograder.grade.words import Words
from autograder.runtime import messages
from autograder.runtime.grade_cell import Check, parse_cell
from autograder.runtime.hints import MistakeWords


def words_of(exercise: Exercise) -> Words:
    """The words of an exercise as they stand in its catalogue and the book now, without any code."""
    checks = _checks(exercise)
    return Words(
        {
            m.name: MistakeWords(m.function, m.cell, m.means, m.hint, m.section)
            for m in mistakes(exercise)
        },
        {(name, check.expression): messages.title(check) for name, check in checks},
        sections(exercise),
        book_sections(exercise.root),
        {check.expression: check.code for _, check in checks if check.functions},
    )


def _checks(exercise: Exercise) -> list[tuple[str, Check]]:
    """The lines of an exercise as it is handed out now, with their grade cells; none when there is none."""
    try:
        cells = grade_cells(released(exercise))
    except ExerciseError:
        return []
    return [(name, check) for name, source in cells.items() for check in _checks_in(source)]


@functools.cache
def _checks_in(source: str) -> tuple[Check, ...]:
    """The lines of a grade cell: a page asks for them twice."""
    return tuple(parse_cell(source).checks)
