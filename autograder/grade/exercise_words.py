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
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.hints import MistakeWords


def words_of(exercise: Exercise) -> Words:
    """The words of an exercise as they stand in its catalogue and the book now, without any code."""
    return Words(
        {
            m.name: MistakeWords(m.function, m.cell, m.means, m.hint, m.section)
            for m in mistakes(exercise)
        },
        _titles(exercise),
        sections(exercise),
        book_sections(exercise.root),
    )


def _titles(exercise: Exercise) -> dict[tuple[str, str], str]:
    """What the lines of an exercise as it is handed out now are called; empty when there is none."""
    try:
        cells = grade_cells(released(exercise))
    except ExerciseError:
        return {}
    return {
        (name, expression): title
        for name, source in cells.items()
        for expression, title in _titles_in(source)
    }


@functools.cache
def _titles_in(source: str) -> tuple[tuple[str, str], ...]:
    """The lines of a grade cell and what each is called: a page asks for them twice."""
    return tuple((check.expression, messages.title(check)) for check in parse_cell(source).checks)
