"""The instructors' archive: whole solutions side by side, and the concept tests with their answers.

None of it is in the book, whose search would find it, nor in the release that students get.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import markupsafe

from autograder.catalogue import Alternative, alternatives, discussions
from autograder.course import Course, Exercise
from autograder.exercises import heading, reference_answers, released
from autograder.programs import bound_names, docstring_of, names_in, spans_of
from autograder.publish.concept_tests import with_answers
from autograder.runtime.guide import Way
from autograder.text import with_code

TEMPLATES = [
    Path(__file__).parent / "templates",
    Path(__file__).parents[1] / "report" / "templates",
]
REFERENCE = "The version that is graded against, and that the next exercise begins with."
README = """\
Attention from Scratch: for instructors, {version}

solutions/         for each exercise a page with the ways to solve it side by side,
                   and what each costs: to talk about when the exercise is handed back
catalogue/         for each exercise its known mistakes, what their values mean, and the hints
concept_tests.md   the questions of the book's page "Concept tests", with answers

Students get the other archive. The same is in the course's public repository, in
solutions/; whoever grades with public tasks should know that.
"""


@dataclass(frozen=True)
class Version:
    """One way to write an answer, whole."""

    title: str
    source: str
    cost: str

    @property
    def lines(self) -> int:
        """Its lines with code, without docstrings."""
        docstrings = filter(None, map(docstring_of, ast.walk(ast.parse(self.source))))
        words = {n for one in docstrings for n in range(one.lineno, (one.end_lineno or 0) + 1)}
        lines = enumerate(self.source.split("\n"), 1)
        return sum(bool(line.strip()) and number not in words for number, line in lines)


@dataclass(frozen=True)
class SolvedAnswer:
    """An answer with all versions of it that are known, and the ways that students are shown."""

    name: str
    versions: tuple[Version, ...]
    ways: tuple[Way, ...]


def _whole_answers(program: str, alternative: Alternative) -> dict[str, str]:
    """Each answer of an alternative by name, with the imports and helpers that it needs.

    program: the reference, whose definitions are the answers; everything else is a helper.
    """
    source, own = alternative.source.strip("\n"), spans_of(program)
    lines = source.split("\n")
    answers, helpers = {}, []
    for node in ast.parse(source).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        text = "\n".join(lines[first - 1 : node.end_lineno])
        if (name := getattr(node, "name", None)) in own:
            answers[name] = text
        else:
            helpers.append((text, set(bound_names(text))))
    return {name: _with_helpers(text, helpers) for name, text in answers.items()}


def _with_helpers(answer: str, helpers: Sequence[tuple[str, set[str]]]) -> str:
    """An answer behind those helpers (text, names) that it uses, directly or through others."""
    used: list[str] = []
    while more := [
        text
        for text, names in helpers
        if text not in used and any(names & names_in(one) for one in (answer, *used))
    ]:
        used += more
    imports = [text for text, _ in helpers if text in used and "import " in text.split("\n")[0]]
    others = [text for text, _ in helpers if text in used and text not in imports]
    return "\n\n\n".join([*(["\n".join(imports)] if imports else []), *others, answer])


def solved_answers(exercise: Exercise) -> list[SolvedAnswer]:
    """An exercise's answers in their order, each with the reference and the catalogue's alternatives."""
    program = exercise.program()
    versions: dict[str, list[Version]] = {}

    def add(name: str, title: str, source: str, cost: str) -> None:
        versions.setdefault(name, []).append(Version(title, source, cost))

    for name, source in reference_answers(exercise).items():
        add(name, "Reference", source, REFERENCE)
    for alternative in alternatives(exercise):
        for name, source in _whole_answers(program, alternative).items():
            add(name, alternative.name, source, alternative.cost)
    ways = {discussion.function: discussion.ways for discussion in discussions(exercise)}
    return [
        SolvedAnswer(name, tuple(found), ways.get(name, ())) for name, found in versions.items()
    ]


def discussion_page(exercise: Exercise) -> str:
    """The page of an exercise, as HTML that loads nothing."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    found.filters["words"] = lambda text: markupsafe.Markup(with_code(text))
    first = next(cell for cell in released(exercise).cells if cell.cell_type == "markdown")
    title = heading(first.source, "# ") or exercise.name
    return found.get_template("discussion.html").render(
        title=f"{title}: ways to solve it", answers=solved_answers(exercise)
    )


def contents(course: Course, name: str) -> dict[str, bytes]:
    """What the archive holds: path in the zip -> content. name: its top folder."""
    texts = {
        f"solutions/{exercise.name}.html": discussion_page(exercise)
        for exercise in course.exercises()
    }
    texts |= {
        f"catalogue/{exercise.name}.md": exercise.catalogue.read_text(encoding="utf-8")
        for exercise in course.exercises()
    }
    texts["concept_tests.md"] = with_answers(course.root)
    texts["README.txt"] = README.format(version=name)
    return {f"{name}/{path}": text.encode() for path, text in texts.items()}
