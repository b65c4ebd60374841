"""Known mistakes and accepted alternatives of an exercise, and the program each of them makes.

One catalogue serves three ends: it tests the grader, it explains failures to students, and it tells
an instructor what the class misunderstood.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from autograder.course import Exercise
from autograder.errors import CatalogueError
from autograder.runtime.guide import Way

# a fragment shows an idea; a whole answer would give the next student's away
MAX_FRAGMENT = 3


@dataclass(frozen=True)
class Mistake:
    """A named, wrong version of one answer.

    name: unique in the exercise; function: the answer it is a version of; cell: grade_id of the cell
    meant to catch it; means: what the wrong values are; hint: the way on, without the solution;
    section: label of the book section that helps. Either edits, pairs (old, new) with old occurring
    exactly once in the reference function, or source, the whole wrong answer.
    """

    name: str
    function: str
    cell: str
    means: str
    hint: str
    section: str
    edits: Sequence[tuple[str, str]] | None = None
    source: str | None = None


@dataclass(frozen=True)
class Alternative:
    """A correct solution in another style.

    source: one or more whole answers; cost: what speaks for this style and against it, for instructors.
    """

    name: str
    source: str
    cost: str = ""


@dataclass(frozen=True)
class Discussion:
    """Two other ways to solve a task, shown after it is passed. function: the task's answer."""

    function: str
    ways: tuple[Way, Way]


@functools.lru_cache(maxsize=64)
def _module(path: Path, changed: int) -> ModuleType:
    """A catalogue's module; changed: when the file was, so that an edited one is read again."""
    spec = importlib.util.spec_from_file_location(f"catalogue_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _catalogue(exercise: Exercise) -> ModuleType:
    path = exercise.catalogue
    if not path.is_file():
        raise CatalogueError(f"{path.relative_to(exercise.root)} is missing.")
    return _module(path, path.stat().st_mtime_ns)


def mistakes(exercise: Exercise) -> list[Mistake]:
    """The exercise's catalogue of known mistakes."""
    return list(_catalogue(exercise).MISTAKES)


def ideas(exercise: Exercise) -> dict[str, str]:
    """Which mistakes are one idea in different answers: the name of each -> the name of its idea.

    An idea is called like the first of its mistakes. One idea are those that mean the same, word for word,
    and those that the catalogue lists together in IDEAS, if it has it. Raises CatalogueError for a name
    there that is no mistake's.
    """
    found, first = {}, {}
    for mistake in mistakes(exercise):
        found[mistake.name] = first.setdefault(mistake.means, mistake.name)
    for names in getattr(_catalogue(exercise), "IDEAS", ()):
        for name in names:
            if name not in found:
                raise CatalogueError(
                    f"solutions/catalogue/{exercise.name}.py: IDEAS names {name!r}, which is no mistake."
                )
        joined = {found[name] for name in names}
        found = {name: found[names[0]] if i in joined else i for name, i in found.items()}
    return found


def alternatives(exercise: Exercise) -> list[Alternative]:
    """The exercise's catalogue of correct solutions in other styles."""
    return list(_catalogue(exercise).ALTERNATIVES)


def discussions(exercise: Exercise) -> list[Discussion]:
    """What is said about an exercise's tasks after they are passed; not every catalogue has it yet.

    Raises CatalogueError for a fragment of more than MAX_FRAGMENT lines.
    """
    found = list(getattr(_catalogue(exercise), "DISCUSSIONS", []))
    for discussion in found:
        for way in discussion.ways:
            if len(way.fragment.strip("\n").split("\n")) > MAX_FRAGMENT:
                raise CatalogueError(
                    f"solutions/catalogue/{exercise.name}.py: the discussion of {discussion.function!r} "
                    f"shows more than {MAX_FRAGMENT} lines of code. Say the rest in words."
                )
    return found


def sections(exercise: Exercise) -> dict[str, str]:
    """The section of the book to read again, by grade cell: grade_id -> label."""
    return dict(_catalogue(exercise).SECTIONS)


def definitions(source: str) -> dict[str, tuple[int, int]]:
    """Top-level functions and classes of a program: name -> (first line, last line), from 1."""
    return dict(_spans(source))


# a catalogue asks for the same few programs hundreds of times
@functools.lru_cache(maxsize=128)
def _spans(source: str) -> dict[str, tuple[int, int]]:
    spans = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            spans[node.name] = (first, node.end_lineno)
    return spans


def definition_source(program: str, name: str) -> str:
    """The text of one top-level definition; CatalogueError when the program has none of that name."""
    spans = definitions(program)
    if name not in spans:
        raise CatalogueError(f"The reference solution defines no {name!r}.")
    first, last = spans[name]
    return "\n".join(program.split("\n")[first - 1 : last])


def mistake_source(program: str, mistake: Mistake) -> str:
    """The wrong answer of a mistake as text; CatalogueError when its edits don't fit the reference."""
    if (mistake.edits is None) == (mistake.source is None):
        raise CatalogueError(f"Mistake {mistake.name!r} needs either edits or source.")
    if mistake.source is not None:
        return mistake.source.strip("\n")
    text = definition_source(program, mistake.function)
    for old, new in mistake.edits:
        if text.count(old) != 1:
            raise CatalogueError(
                f"Mistake {mistake.name!r}: {old!r} occurs {text.count(old)} times in the reference "
                f"{mistake.function!r}; it must occur exactly once."
            )
        text = text.replace(old, new)
    return text


def without_markers(source: str) -> str:
    """A program without nbgrader's solution markers."""
    lines = source.split("\n")
    return "\n".join(line for line in lines if "### BEGIN" not in line and "### END" not in line)


def mistake_answers(program: str, mistake: Mistake) -> dict[str, str]:
    """The answer that a mistake replaces: {function: wrong text}."""
    return {mistake.function: without_markers(mistake_source(program, mistake))}


def alternative_answers(program: str, alternative: Alternative) -> dict[str, str]:
    """The answers that an alternative gives: {name: text}; imports and helpers travel with them."""
    lines = alternative.source.strip("\n").split("\n")
    own = definitions(program)
    answers, start = {}, 0
    for name, (_, last) in definitions("\n".join(lines)).items():
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
