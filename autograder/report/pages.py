"""The report: a page and a CSV file for each exercise, a summary of all, and a table for the terminal.

Each exercise has a second page to show in the lecture, which names nobody and quotes nobody. A page is one
file that loads nothing. All of its text is escaped by its template.
"""

from __future__ import annotations

import collections
import json
import os
import statistics
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from rapidfuzz.distance import Indel
from rich.console import Console
from rich.table import Table

from autograder.book_index import book_sections, book_url
from autograder.course import Course, Exercise
from autograder.files import PRIVATE, write_whole
from autograder.grade.class_grades import Grade, recorded_grades
from autograder.grade.exercise_words import words_of
from autograder.grade.feedback import feedback_page
from autograder.grade.gradebook import autograded_notebook
from autograder.grade.groups import read_groups
from autograder.grade.result import Remark, Result
from autograder.grade.words import Words, remark, sentence
from autograder.points import as_shown, rounded
from autograder.progress import plain_cell
from autograder.report import analysis, plots, similarity, standing
from autograder.report.current import Stamps
from autograder.tables import write_csv
from autograder.text import with_code

MAX_GROUPS = 20
# Comparing takes time with the product of the two numbers of lines. No answer of the course has 100.
MAX_LINES = 500
MAX_CHARACTERS = 20_000
MAX_SENTENCES = 3
# students in a cell of a table before they are folded
MAX_LISTED = 12
MAX_TROUBLES = 6
# checks on the summary's first screen
MAX_FAILED = 5


@dataclass(frozen=True)
class ResultLine:
    """A line of an answer; differs: it has no counterpart in the other answer."""

    text: str
    differs: bool


@dataclass(frozen=True)
class Side:
    """One of two near-identical answers: as it was compared, and as it was handed in."""

    student: str
    compared: Sequence[ResultLine]
    handed_in: str


def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["with_code"] = lambda text: Markup(with_code(text))
    found.filters["percent"] = lambda share: f"{share:.0%}"
    found.filters["points"] = as_shown
    found.filters["signed"] = lambda share: f"{100 * share:+.0f}"
    found.globals.update(bar=plots.bar, signed_bar=plots.signed_bar, share=standing.share)
    return found


def _names(grades: Sequence[Grade]) -> dict[str, str]:
    """Students as the report calls them: the id, and the name if the gradebook has one."""
    full = {g.student.id: f"{g.student.first_name} {g.student.last_name}".strip() for g in grades}
    return {student: f"{student} ({name})" if name else student for student, name in full.items()}


def _chapter(exercise: Exercise) -> str:
    """The title of an exercise's chapter; empty when the book has no such page.

    The chapter's first page has the name of this exercise, or of another one of the chapter.
    """
    others = [e for e in Course(exercise.root).exercises() if e.chapter == exercise.chapter]
    titles: dict[str, str] = {}
    for section in book_sections(exercise.root).values():
        titles.setdefault(section.page, section.title)
    return next((titles[e.name] for e in (exercise, *others) if e.name in titles), "")


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


def side_by_side(one: str, other: str) -> tuple[list[ResultLine], list[ResultLine]]:
    """The lines of two texts, each with whether the other text lacks it; long texts are shortened."""
    texts = shortened(one), shortened(other)
    differing: tuple[set[int], set[int]] = set(), set()
    for step in Indel.opcodes(*texts):
        if step.tag != "equal":
            differing[0].update(range(step.src_start, step.src_end))
            differing[1].update(range(step.dest_start, step.dest_end))
    first, second = (
        [ResultLine(line, number in found) for number, line in enumerate(lines)]
        for lines, found in zip(texts, differing, strict=True)
    )
    return first, second


def _sides(group: similarity.Group, answers: dict[str, dict[str, str]], stub: str) -> list[Side]:
    raw = [answers[student][group.answers[0]] for student in group.pair]
    compared = side_by_side(*(similarity.own_part(text, stub) for text in raw))
    return [
        Side(student, lines, "\n".join(shortened(text)))
        for student, lines, text in zip(group.pair, compared, raw, strict=True)
    ]


def _failure_row(failure: analysis.Failure) -> dict[str, Any]:
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


def _by_answer(near_public: dict[str, dict[str, list[str]]]) -> list[tuple[str, str, list[str]]]:
    """Who is near which public solution in which answer: (solution, answer, students)."""
    found: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for solution, students in near_public.items():
        for student, answers in students.items():
            for answer in answers:
                found[solution, answer].append(student)
    return [(*place, students) for place, students in found.items()]


def _about_the_class(exercise: Exercise, results: Sequence[Result]) -> dict[str, Any]:
    """What both pages of an exercise say: nothing that names a student, and nothing that one wrote."""
    words = words_of(exercise)
    shares = [result.share for result in results]
    questions = analysis.questions(results)
    return {
        "title": exercise.name,
        "chapter": _chapter(exercise),
        "sections": book_sections(exercise.root),
        "size": len(results),
        "points": results[0].points,
        "mean": statistics.mean(shares),
        "median": statistics.median(shares),
        "full_marks": shares.count(1),
        "histogram": plots.histogram(shares),
        "misunderstood": analysis.misunderstood(exercise, results),
        "losses": analysis.losses(results),
        "to_teach_again": analysis.to_teach_again(exercise, results),
        "questions": questions,
        "title_of": lambda question: words.title(question.cell, question.expression),
        "shown": words.shown,
        "min_class": analysis.MIN_CLASS,
        "oddities": analysis.oddities(questions),
    }


def _exercise_page(
    templates: jinja2.Environment,
    course: Course,
    exercise: Exercise,
    results: Sequence[Result],
    grades: Sequence[Grade],
    about: Mapping[str, Any],
) -> str:
    """One exercise's page.

    grades: those of the exercise, of all students; none without a gradebook; about: of the class.
    """
    folder = course.home / "reports"
    answers = {result.student: _answers(course, result) for result in results}
    words = words_of(exercise)
    public = similarity.public_answers(exercise)
    similar, near_public = similarity.compare(answers, public)
    groups = read_groups(course, exercise.name)
    # who hands in together may have the same answers
    similar = [group for group in similar if not groups.are_together(group.students)]
    counts_for: dict[str, list[str]] = collections.defaultdict(list)
    for grade in grades:
        if grade.submitter not in ("", grade.student.id):
            counts_for[grade.submitter].append(grade.student.id)

    def relative(path: Path) -> str:
        return Path(os.path.relpath(path, folder)).as_posix()

    def feedback(student: str) -> str:
        return urllib.parse.quote(relative(feedback_page(course, student, exercise.name)))

    names = _names(grades)
    return templates.get_template("exercise.html").render(
        for_lecture=False,
        max_listed=MAX_LISTED,
        named=lambda student: names.get(student, student),
        summary=relative(course.home / "summary.html"),
        lecture=relative(course.home / "lecture" / f"{exercise.name}.html"),
        book=book_url() or relative(course.built_book),
        **about,
        standing=standing.handed_in(grades) if grades else None,
        min_tokens=similarity.MIN_TOKENS,
        near=similarity.NEAR,
        near_public=_by_answer(near_public),
        groups=[
            {
                "students": group.students,
                "answers": group.answers,
                "similarity": group.similarity,
                "near": group.near,
                "sides": _sides(group, answers, public[group.answers[0]][similarity.STUB]),
            }
            for group in similar[:MAX_GROUPS]
        ],
        more_groups=[group.students for group in similar[MAX_GROUPS:]],
        median_seconds=statistics.median(result.seconds for result in results),
        slowest=max(results, key=lambda result: result.seconds),
        failures=[_failure_row(failure) for failure in analysis.failures(results)],
        students=sorted(results, key=lambda result: (-result.score, result.student)),
        counts_for=counts_for,
        feedback={result.student: feedback(result.student) for result in results},
        troubles={result.student: _troubles(result, words) for result in results},
    )


def _summary_page(
    templates: jinja2.Environment,
    by_exercise: dict[Exercise, list[Result]],
    grades: Sequence[Grade],
) -> str:
    """The page that leads to the exercises' pages, and shows every student over the exercises."""
    rows, failed = [], []
    for exercise, results in by_exercise.items():
        words = words_of(exercise)
        for question in analysis.most_failed(analysis.questions(results)):
            failed.append((exercise, question, words.title(question.cell, question.expression)))
        rows.append(
            {
                "exercise": exercise,
                "mean": statistics.mean(result.share for result in results),
                "got": analysis.how_many(results),
                "mistake": next(iter(analysis.misunderstood(exercise, results)), None),
                "missing": sum(g.exercise == exercise.name and not g.submitter for g in grades),
            }
        )
    names = _names(grades)
    return templates.get_template("summary.html").render(
        title="Class summary",
        rows=rows,
        failed=sorted(failed, key=lambda one: -one[1].wrong)[:MAX_FAILED],
        open=[not r.basis.limits.sandbox for results in by_exercise.values() for r in results],
        named=lambda student: names.get(student, student),
        students=standing.by_student(grades),
    )


def write(course: Course, results: Sequence[Result]) -> Path:
    """Write a report for each exercise into reports/, and summary.html and summary.csv beside it.

    What may be shown in the lecture is in lecture/. Reports that are up to date are left as they are.

    Returns the path of the summary, which leads to the reports. Raises OutputError when one of the
    files can't be written.
    """
    found: dict[str, list[Result]] = collections.defaultdict(list)
    for result in results:
        found[result.exercise].append(result)
    by_exercise = {e: found[e.name] for e in course.exercises() if e.name in found}
    templates = _templates()
    reports, lecture = course.home / "reports", course.home / "lecture"
    book = book_url() or Path(os.path.relpath(course.built_book, lecture)).as_posix()
    grades = recorded_grades(course, list(by_exercise))
    stamps = Stamps(course)
    for exercise, own in by_exercise.items():
        graded = [grade for grade in grades if grade.exercise == exercise.name]
        made_from = stamps.made_from(exercise, own, graded)
        private, table = (reports / f"{exercise.name}.{kind}" for kind in ("html", "csv"))
        for_lecture = lecture / f"{exercise.name}.html"
        files = private, table, for_lecture
        if stamps.are_current(exercise, made_from, files):
            continue
        about = _about_the_class(exercise, own)
        text = _exercise_page(templates, course, exercise, own, graded, about)
        write_whole(private, text, PRIVATE)
        page = templates.get_template("exercise.html")
        write_whole(for_lecture, page.render(for_lecture=True, book=book, **about))
        write_csv(
            table,
            ["student", "cell", "expression", "points", "earned", "verdict", "mistake"],
            (
                [
                    *(result.student, cell, ln.expression, rounded(ln.points), rounded(ln.earned)),
                    *(ln.verdict, ln.mistake),
                ]
                for result in own
                for cell, ln in result.lines()
            ),
        )
        stamps.remember(exercise, made_from, files)
    summary = course.home / "summary.html"
    write_whole(summary, _summary_page(templates, by_exercise, grades), PRIVATE)
    rows = []
    for result in results:
        named = sorted({line.mistake for _, line in result.lines() if line.mistake})
        who = [result.exercise, result.student]
        rows.append([*who, rounded(result.score), rounded(result.points), "; ".join(named)])
    head = ["exercise", "student", "score", "points", "mistakes"]
    write_csv(course.home / "summary.csv", head, rows)
    return summary


def _score(result: Result | None, most: float) -> str:
    """A score in a column whose head tells the points; in another version of the exercise they may be others."""
    if result is None:
        return "-"
    own = "" if result.points == most else f" of {as_shown(result.points)}"
    return f"{as_shown(result.score)}{own}"


def print_scores(results: Sequence[Result]) -> None:
    """Print one row per student and one column per exercise, ten of which fit a terminal."""
    exercises = list(dict.fromkeys(result.exercise for result in results))
    scores = {(result.student, result.exercise): result for result in results}
    table = Table(title="Automatic points")
    # a long name takes further lines, not the place of everybody's points
    table.add_column("student", overflow="fold")
    chapters = [exercise.partition("_")[0] for exercise in exercises]
    points = [max(r.points for r in results if r.exercise == exercise) for exercise in exercises]
    for exercise, chapter, most in zip(exercises, chapters, points, strict=True):
        name = chapter if chapters.count(chapter) == 1 else exercise
        table.add_column(f"{name}\nof {as_shown(most)}", justify="right")
    for student in sorted({result.student for result in results}):
        found = [scores.get((student, exercise)) for exercise in exercises]
        table.add_row(
            plain_cell(student),
            *(_score(r, most) for r, most in zip(found, points, strict=True)),
        )
    Console(width=100).print(table)
