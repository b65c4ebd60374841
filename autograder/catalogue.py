"""Known mistakes and accepted alternatives of an exercise, and the program each of them makes.

One catalogue serves three ends: it tests the grader, it explains failures to students, and it tells
an instructor what the class misunderstood.
"""

from __future__ import annotations

import functools
from pathlib import Path

from autograder.catalogue_file import (
    Alternative,
    Catalogue,
    Discussion,
    Mistake,
    read_catalogue,
)
from autograder.course import Exercise
from autograder.edits import edited
from autograder.errors import CatalogueError
from autograder.programs import definition_source, spans_of, without_markers
from autograder.splices import EditError


@functools.lru_cache(maxsize=64)
def _read(path: Path, changed: int, name: str) -> Catalogue:
    """A catalogue's file; changed: when it was, so that an edited one is read again; name: in errors."""
    return read_catalogue(path.read_text(encoding="utf-8"), name)


def _catalogue(exercise: Exercise) -> Catalogue:
    path = exercise.catalogue
    name = path.relative_to(exercise.root).as_posix()
    if not path.is_file():
        raise CatalogueError(f"{name} is missing.")
    return _read(path, path.stat().st_mtime_ns, name)


def mistakes(exercise: Exercise) -> list[Mistake]:
    """The exercise's catalogue of known mistakes."""
    return list(_catalogue(exercise).mistakes.values())


def ideas(exercise: Exercise) -> dict[str, str]:
    """Which mistakes are one idea in different answers: the name of each -> the name of its idea.

    An idea is called like the first of its mistakes. One idea are those that mean the same, word for word,
    and those that say which mistake they are like.
    """
    first: dict[str, str] = {}
    found = {m.name: first.setdefault(m.means, m.name) for m in mistakes(exercise)}
    for mistake in mistakes(exercise):
        if mistake.like and found[mistake.name] != found[mistake.like]:
            joined, idea = found[mistake.name], found[mistake.like]
            found = {name: idea if one == joined else one for name, one in found.items()}
    return found


def alternatives(exercise: Exercise) -> list[Alternative]:
    """The exercise's catalogue of correct solutions in other styles."""
    return list(_catalogue(exercise).alternatives.values())


def discussions(exercise: Exercise) -> list[Discussion]:
    """What is said about an exercise's tasks after they are passed; not every catalogue has it."""
    return list(_catalogue(exercise).discussions.values())


def sections(exercise: Exercise) -> dict[str, str]:
    """The section of the book to read again, by grade cell: grade_id -> label."""
    return dict(_catalogue(exercise).sections)


def mistake_source(program: str, mistake: Mistake) -> str:
    """The wrong answer of a mistake as text; CatalogueError when its edits don't fit where they begin."""
    if mistake.source:
        return mistake.source
    if mistake.start:
        begun_from, named = (
            mistake_source(program, mistake.start),
            f"mistake {mistake.start.name!r}",
        )
    else:
        begun_from = definition_source(program, mistake.function)
        named = f"reference {mistake.function!r}"
    try:
        return edited(begun_from, mistake.edits)
    except EditError as error:
        raise CatalogueError(
            f"{mistake.file}, line {error.line or mistake.line}: {mistake.name!r} doesn't fit the "
            f"{named}. {error}"
        ) from None


def mistake_answers(program: str, mistake: Mistake) -> dict[str, str]:
    """The answer that a mistake replaces: {function: wrong text}."""
    return {mistake.function: without_markers(mistake_source(program, mistake))}


def alternative_answers(program: str, alternative: Alternative) -> dict[str, str]:
    """The answers that an alternative gives: {name: text}; imports and helpers travel with them."""
    lines = alternative.source.strip("\n").split("\n")
    own = spans_of(program)
    answers, start = {}, 0
    for name, (_, last) in spans_of("\n".join(lines)).items():
        if name in own:
            answers[name] = "\n".join(lines[start:last]).strip("\n")
            start = last
    if not answers:
        raise CatalogueError(f"Alternative {alternative.name!r} defines no answer of the exercise.")
    return answers


def with_answers(program: str, answers: dict[str, str]) -> str:
    """The reference program with some of its answers replaced."""
    for name, text in answers.items():
        program = program.replace(definition_source(program, name), text, 1)
    return program
