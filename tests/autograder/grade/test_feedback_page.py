"""The feedback page: a table of tasks, what was lost in view, the rest folded."""

import copy
import html
import re
from dataclasses import replace

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import GetGrades

from autograder.exercises import (
    metadata_of,
    reference_answers,
    released,
    solved,
    task_names,
)
from autograder.grade.exercise_words import words_of
from autograder.grade.feedback import feedback_page, write_feedback
from autograder.grade.feedback_page import (
    CellSection,
    LineRow,
    Page,
    TaskSection,
    as_markdown,
    as_text,
)
from autograder.grade.gradebook import autograded_notebook
from autograder.grade.page_exporter import PageExporter
from autograder.grade.recorded_points import RecordedPoints
from autograder.grade.seeds import has_feedback
from autograder.points import as_shown
from tests.support.copies import run
from tests.support.course import COURSE
from tests.support.grading import grade_here

pytestmark = pytest.mark.xdist_group("submissions")
EXERCISE = COURSE.exercise("ch2_scaled_dot_product")


def test_every_named_cell_belongs_to_a_task():
    for exercise in COURSE.exercises():
        title, places = task_names(released(exercise))
        assert title
        for cell in released(exercise).cells:
            own = cell.metadata.get("nbgrader", {})
            if own.get("grade"):
                assert re.match(r"\d+\. ", places[own.grade_id]), (exercise, own.grade_id)


@pytest.fixture(scope="module")
def pages(new_class):
    """The class, and its page before and after somebody has read the written answer."""
    course = new_class()
    answers = reference_answers(EXERCISE)
    last = list(answers)[-1]
    del answers[last]
    folder = course.submitted / "ann" / EXERCISE.name
    folder.mkdir(parents=True)
    nbformat.write(solved(EXERCISE, answers), folder / f"{EXERCISE.name}.ipynb")
    results = grade_here(course, EXERCISE.name)
    write_feedback(course, results)
    path = feedback_page(course, "ann", EXERCISE.name)
    before = path.read_text(encoding="utf-8")
    with Gradebook(course.db_url) as gradebook:
        place = ("why_the_root", EXERCISE.name, EXERCISE.name, "ann")
        gradebook.find_grade(*place).manual_score = 2
        gradebook.find_comment(*place).manual_comment = "Almost."
        gradebook.db.commit()
    assert write_feedback(course, results) == 1
    return course, results[0], before, path.read_text(encoding="utf-8")


def rows(page):
    found = re.findall(r"<tr class=.*?</tr>", page, flags=re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in found]


def test_an_unread_answer_is_open_and_no_zero(pages):
    _, result, before, after = pages
    assert (
        f"<strong>{result.score:g} of {result.points:g} points</strong>; 3 more are open" in before
    )
    assert "Not read yet: 3 points are open." in before
    assert "has not been read yet" not in after
    assert f"<strong>{result.score + 2:g} of {result.points + 3:g} points</strong>" in after
    assert "Almost." in after and "2 of 3 points." in after
    assert "3 open" in rows(before)[-1] and "open" not in rows(after)[-1]


def test_what_is_lost_is_in_view_and_the_rest_folded(pages):
    _, _, page, _ = pages
    task = r'<section id="task-\d+"( class="right")?>(<details>)?'
    found = [bool(right) for right, _ in re.findall(task, page)]
    assert [bool(d) for _, d in re.findall(task, page)] == found
    assert found.count(False) == 1
    assert all(f'href="#task-{n}"' in page and f'id="task-{n}"' in page for n in range(1, 6))
    assert len(rows(page)) == len(found) == 5
    assert "<details open" not in page
    assert "What was given" in page
    assert "load_checks" not in page


def test_a_check_is_shown_by_what_it_tests_and_its_expression_folded(pages):
    _, result, page, _ = pages
    words, page = words_of(EXERCISE), " ".join(html.unescape(page).split()).replace(" <", "<")
    for cell, line in result.lines():
        title = words.title(cell, line.expression)
        assert title != line.expression and f"</strong> {title}<" in page
        shown = " ".join(words.shown(line.expression).split())
        assert f"<summary>What was checked</summary><code>{shown}</code>" in page
        assert f"</strong><code>{line.expression}" not in page


def test_nothing_outside_is_asked_for(pages):
    _, _, page, _ = pages
    assert "Content-Security-Policy" in page and "<script" not in page
    assert not re.search(r'(src|href)="(?!data:image|#)', page)


def test_nbgraders_command_writes_the_same_page_and_remembers_it(graded_class):
    course, results = graded_class
    student = next(name for name, result in results.items() if result.score == result.points)
    path = feedback_page(course, student, EXERCISE.name)
    before = path.read_text(encoding="utf-8")
    (course.home / "told" / f"{EXERCISE.name}.json").unlink()
    options = ["--student", student, "--force"]
    done = run(course.root, "nbgrader", "generate_feedback", EXERCISE.name, *options)
    assert done.returncode == 0, done.stderr
    theirs = path.read_text(encoding="utf-8")
    without = re.compile(r"\s*<!-- feedback \w+ \w+ -->\s*")
    assert without.sub("", theirs).strip() == without.sub("", before).strip()
    assert has_feedback(course, EXERCISE.name)


def test_points_and_comments_are_those_of_nbgraders_own_step(pages):
    course, *_ = pages
    graded = nbformat.read(autograded_notebook(course, "ann", EXERCISE.name), as_version=4)
    whose = {"student": "ann", "assignment": EXERCISE.name, "notebook": EXERCISE.name}
    found = []
    for step in (GetGrades, RecordedPoints):
        resources = {"nbgrader": {**whose, "db_url": course.db_url}}
        notebook, _ = step().preprocess(copy.deepcopy(graded), resources)
        for cell in notebook.cells:
            metadata_of(cell).pop("unread", None)
        found.append((notebook, resources))
    assert found[0] == found[1]
    assert "Almost." in [metadata_of(cell).get("comment") for cell in found[1][0].cells]


def test_a_page_is_what_nbconverts_own_exporter_makes_of_it(pages, monkeypatch):
    course, result, _, page = pages
    path = feedback_page(course, "ann", EXERCISE.name)
    path.unlink()
    monkeypatch.delattr(PageExporter, "from_notebook_node")
    assert write_feedback(course, [result]) == 1
    stamp = re.compile(r"\s*<!-- feedback \w+ \w+ -->\s*")
    ours, theirs = (
        stamp.sub("", str(BeautifulSoup(one, "html.parser")))
        for one in (page, path.read_text(encoding="utf-8"))
    )
    assert ours == theirs


# In short, as text --------------------------------------------------------------------------------


@pytest.fixture
def some_page():
    """A page of four tasks with everything that can be told, and its totals."""
    right = LineRow("keeps the type", "f(x)", 2, 2, "", is_passed=True)
    later = LineRow("adds", "k(x)", 1, 1, "correct, given a correct `f`", is_passed=True)
    with_it = LineRow("multiplies", "m(x)", 1, 0, "8 of 8 entries differ", folded=True)
    lost = LineRow("sums to one", "g(x)", 3, 0, "the values differ\n\nRecognised:  none.\n")
    dropped = LineRow("is fast", "h(x)", 0, 0, "too slow")
    answer = new_markdown_cell("Because.")
    answer.metadata.nbgrader = {"grade": True, "comment": "Say why, too."}
    tasks = (
        TaskSection(
            "Scores", 5, 2, checks={"a": CellSection((right, lost, with_it, dropped, later), "")}
        ),
        TaskSection("Context", 4, 4, checks={"b": CellSection((right, dropped), "")}),
        TaskSection("In words", 0, 0, unread=3, cells=[answer]),
        TaskSection("Before the first task"),
    )
    page = Page("Exercise 1", ("Your file was renamed.",), tasks, ())
    return page, {"score": 16 / 3, "max_score": 12, "late_penalty": 2 / 3}


def test_a_page_in_short_has_what_was_lost_and_what_is_open(some_page):
    assert as_text(*some_page).split("\n") == [
        f"Exercise 1: {as_shown(16 / 3)} of 9 points",
        "3 more are open: a written answer has not been read yet.",
        f"{as_shown(2 / 3)} points were taken off for handing in late.",
        "Your file was renamed.",
        "",
        "Scores: 2 of 5 points",
        "- sums to one: the values differ",
        "  Recognised: none.",
        "- 1 more check fails with it",
        "",
        "In words: 3 points are open",
        "- Comment: Say why, too.",
    ]


def test_a_page_in_markdown_has_the_same(some_page):
    assert as_markdown(*some_page).split("\n") == [
        *("# Exercise 1", "", f"**{as_shown(16 / 3)} of 9 points.**"),
        "3 more are open: a written answer has not been read yet.",
        f"{as_shown(2 / 3)} points were taken off for handing in late.",
        *("", "```text", "Your file was renamed.", "```", ""),
        *("| task | points |", "| --- | --- |"),
        *("| Scores | 2 of 5 |", "| Context | 4 of 4 |", "| In words | open |"),
        *("", "## Scores", "", "**sums to one** (0 of 3)", ""),
        *("```text", "the values differ", "", "Recognised:  none.", "", "```"),
        *("", "1 more check fails with it."),
        *("", "## In words", "", "A comment:", "", "> Say why, too.", ""),
    ]


def test_in_markdown_nothing_of_a_students_acts(some_page):
    page, totals = some_page
    hostile = "```\n@somebody <img src=x>\n[x](https://example.org)\x1b[2J\n````` #1"
    line = LineRow("keeps the type", "f(x)", 2, 0, hostile)
    task = TaskSection("Scores", 2, 0, checks={"a": CellSection((line,), "<a href='x'>there</a>")})
    told = as_markdown(replace(page, tasks=(task,), remarks=(hostile,)), totals)
    blocks = re.findall(r"^(``````)text\n(.*?)\n\1$", told, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2 and all("@somebody" in text for _, text in blocks)
    outside = re.sub(r"^(``````)text\n.*?\n\1$", "", told, flags=re.MULTILINE | re.DOTALL)
    assert not [part for part in ("@", "<img", "#1", "example.org") if part in outside]
    assert "\x1b" not in told and "Read again: <a href='x'>there</a>" in told
