"""The report: a page and a CSV file for each exercise, a summary of all, and a table for the terminal.

A page is one file that loads nothing. All of its text is escaped by its template.
"""

from __future__ import annotations

import collections
import json
import os
import statistics
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from rapidfuzz.distance import Indel
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from autograder.book_index import book_sections, book_url
from autograder.course import Course, Exercise
from autograder.files import write_whole
from autograder.grade.feedback import feedback_page
from autograder.grade.gradebook import autograded_notebook
from autograder.grade.result import Remark, Result
from autograder.grade.words import Words, remark, sentence
from autograder.report import analysis, plots, similarity
from autograder.tables import write_csv

MAX_GROUPS = 20
# Comparing takes time with the product of the two numbers of lines. No answer of the course has 100.
MAX_LINES = 500
MAX_CHARACTERS = 20_000
MAX_SENTENCES = 3
MAX_TROUBLES = 6


@dataclass(frozen=True)
class Line:
    """A line of an answer; differs: it has no counterpart in the other answer."""

    text: str
    differs: bool


@dataclass(frozen=True)
class Side:
    """One of two near-identical answers: as it was compared, and as it was handed in."""

    student: str
    compared: Sequence[Line]
    handed_in: str


def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["percent"] = lambda share: f"{share:.0%}"
    found.filters["number"] = lambda number: f"{number:g}"
    found.globals.update(bar=plots.bar, signed_bar=plots.signed_bar)
    return found


def _chapter(exercise: Exercise) -> str:
    """The title of an exercise's chapter; empty when the book has no such page."""
    pages = book_sections(exercise.root).values()
    return next((section.title for section in pages if section.page == exercise.name), "")


def _answers(course: Course, result: Result) -> dict[str, str]:
    """A student's answers by answer cell, from the graded notebook; empty when there is none."""
    path = autograded_notebook(course, result.student, result.exercise)
    if not path.is_file():
        return {}
    # Not validated, which would take longer than the rest of the report: the grader has written it.
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution")
    }


def shortened(text: str) -> list[str]:
    """The lines of a text, of at most MAX_LINES and MAX_CHARACTERS; what is left out is counted."""
    lines = text[:MAX_CHARACTERS].split("\n")[:MAX_LINES]
    left_out = len(text) - len("\n".join(lines))
    return [*lines, f"... and {left_out} more characters"] if left_out else lines


def side_by_side(one: str, other: str) -> tuple[list[Line], list[Line]]:
    """The lines of two texts, each with whether the other text lacks it; long texts are shortened."""
    texts = shortened(one), shortened(other)
    differing = set(), set()
    for tag, start, end, other_start, other_end in Indel.opcodes(*texts):
        if tag != "equal":
            differing[0].update(range(start, end))
            differing[1].update(range(other_start, other_end))
    first, second = (
        [Line(line, number in found) for number, line in enumerate(lines)]
        for lines, found in zip(texts, differing, strict=True)
    )
    return first, second


def _sides(group: similarity.Group, answers: dict[str, dict[str, str]]) -> list[Side]:
    raw = [answers[student][group.answers[0]] for student in group.pair]
    compared = side_by_side(*map(similarity.normalised, raw))
    return [
        Side(student, lines, "\n".join(shortened(text)))
        for student, lines, text in zip(group.pair, compared, raw, strict=True)
    ]


def _told(failure: analysis.Failure) -> dict[str, Any]:
    """A failure as its row says it: the sentences of one kind may differ from student to student."""
    words = [remark(f) if isinstance(f, Remark) else sentence(f) for _, f in failure.found]
    sentences = list(dict.fromkeys(words))
    return {
        "cell": failure.cell,
        "sentences": sentences[:MAX_SENTENCES],
        "more": len(sentences[MAX_SENTENCES:]),
        "students": failure.students,
    }


def _troubles(result: Result, words: Words) -> list[str]:
    """What went wrong for a student: remarks, then mistakes, then the first line of other cells."""
    found = list(dict.fromkeys(cell.mistake for cell in result.cells if cell.mistake))
    for cell in result.cells:
        failed = [line for line in cell.lines if not line.passed]
        if failed and not cell.mistake:
            first = sentence(failed[0]).partition("\n")[0]
            title = words.title(cell.grade_id, failed[0].expression)
            found.append(f"{cell.grade_id}, {title[:160]}: {first[:160]}")
    return [*map(remark, result.remarks), *found[:MAX_TROUBLES]]


def _exercise_page(
    templates: jinja2.Environment, course: Course, exercise: Exercise, results: Sequence[Result]
) -> str:
    """One exercise's page."""
    folder = course.home / "reports"
    shares = [result.share for result in results]
    questions = analysis.questions(results)
    answers = {result.student: _answers(course, result) for result in results}
    words = Words.of(exercise)
    groups, near_public = similarity.compare(answers, similarity.public_answers(exercise))

    def relative(path: Path) -> str:
        return Path(os.path.relpath(path, folder)).as_posix()

    def feedback(student: str) -> str:
        return urllib.parse.quote(relative(feedback_page(course, student, exercise.name)))

    return templates.get_template("exercise.html").render(
        title=exercise.name,
        chapter=_chapter(exercise),
        summary=relative(course.home / "summary.html"),
        book=book_url() or relative(course.built_book),
        sections=book_sections(exercise.root),
        size=len(results),
        points=results[0].points,
        mean=statistics.mean(shares),
        median=statistics.median(shares),
        full_marks=shares.count(1),
        histogram=plots.histogram(shares),
        misunderstood=analysis.misunderstood(exercise, results),
        to_teach_again=analysis.to_teach_again(exercise, results),
        questions=questions,
        title_of=lambda question: words.title(question.cell, question.expression),
        min_class=analysis.MIN_CLASS,
        oddities=analysis.oddities(questions),
        min_tokens=similarity.MIN_TOKENS,
        near=similarity.NEAR,
        near_public=near_public,
        groups=[
            {
                "students": group.students,
                "answers": group.answers,
                "similarity": group.similarity,
                "sides": _sides(group, answers),
            }
            for group in groups[:MAX_GROUPS]
        ],
        more_groups=len(groups[MAX_GROUPS:]),
        median_seconds=statistics.median(result.seconds for result in results),
        slowest=max(results, key=lambda result: result.seconds),
        failures=[_told(failure) for failure in analysis.failures(results)],
        students=sorted(results, key=lambda result: (-result.score, result.student)),
        feedback={result.student: feedback(result.student) for result in results},
        troubles={result.student: _troubles(result, words) for result in results},
    )


def _summary_page(templates: jinja2.Environment, by_exercise: dict[Exercise, list[Result]]) -> str:
    """The page that leads to the exercises' pages."""
    rows = []
    for exercise, results in by_exercise.items():
        shares = [result.share for result in results]
        made = analysis.misunderstood(exercise, results)
        rows.append(
            {
                "exercise": exercise.name,
                "chapter": _chapter(exercise),
                "submissions": len(results),
                "mean": statistics.mean(shares),
                "full_marks": shares.count(1),
                "mistake": made[0] if made else None,
            }
        )
    return templates.get_template("summary.html").render(title="Class summary", rows=rows)


def write(course: Course, results: Sequence[Result]) -> Path:
    """Write a report for each exercise into reports/, and summary.html and summary.csv beside it.

    Returns the path of the summary, which leads to the reports. Raises OutputError when one of the
    files can't be written.
    """
    found: dict[str, list[Result]] = collections.defaultdict(list)
    for result in results:
        found[result.exercise].append(result)
    by_exercise = {e: found[e.name] for e in course.exercises() if e.name in found}
    templates = _templates()
    reports = course.home / "reports"
    for exercise, own in by_exercise.items():
        page = _exercise_page(templates, course, exercise, own)
        write_whole(reports / f"{exercise.name}.html", page)
        write_csv(
            reports / f"{exercise.name}.csv",
            ["student", "cell", "expression", "points", "earned", "verdict", "mistake"],
            (
                [result.student, cell, ln.expression, ln.points, ln.earned, ln.verdict, ln.mistake]
                for result in own
                for cell, ln in result.lines()
            ),
        )
    summary = course.home / "summary.html"
    write_whole(summary, _summary_page(templates, by_exercise))
    rows = []
    for result in results:
        named = sorted({line.mistake for _, line in result.lines() if line.mistake})
        own = [result.exercise, result.student, result.score, result.points]
        rows.append([*own, "; ".join(named)])
    head = ["exercise", "student", "score", "points", "mistakes"]
    write_csv(course.home / "summary.csv", head, rows)
    return summary


def print_scores(results: Sequence[Result]) -> None:
    """Print one row per student and one column per exercise."""
    exercises = list(dict.fromkeys(result.exercise for result in results))
    scores = {(result.student, result.exercise): result for result in results}
    table = Table(title="Automatic points")
    table.add_column("student", no_wrap=True)
    for exercise in exercises:
        table.add_column(exercise.split("_")[0], justify="right")
    for student in sorted({result.student for result in results}):
        found = [scores.get((student, exercise)) for exercise in exercises]
        # a folder's name may look like rich's markup
        table.add_row(
            escape(student), *(f"{r.score:g} / {r.points:g}" if r else "-" for r in found)
        )
    Console(width=100).print(table)
