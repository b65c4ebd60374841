"""formgrader in a real browser: a graded submission is found and read, and nothing comes from elsewhere."""

import json
import os
import re
import secrets
import subprocess
import sys
import time

import nbformat
import pytest

from autograder.audit.sample_class import sample_submissions
from autograder.build.generate import write_missing_sources
from autograder.course import SAMPLE_PREFIX, Course
from autograder.grade.exercise_words import words_of
from autograder.grade.gradebook import stored_result
from autograder.grade.written_questions import read_questions
from tests.support.class_keys import give_keys
from tests.support.copies import repository
from tests.support.course import COURSE
from tests.support.grading import grade_here

pytestmark = pytest.mark.xdist_group("formgrader")
EXERCISE = COURSE.exercise("ch2_scaled_dot_product")
STUDENTS = ("ada", "dia")
KEPT = "See what happens to the variance."


def as_read(text):
    """A text without what a formula turns into."""
    return " ".join(re.sub(r"\$[^$]*\$", "", text).split())


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A copy of the course with two graded submissions in it, one right and one wrong."""
    root = repository(tmp_path_factory.mktemp("formgrader"), few_mistakes=True)
    course = Course(root)
    course.home.mkdir()
    give_keys(course, EXERCISE.name)
    made = sample_submissions(course.exercise(EXERCISE.name))
    for student in STUDENTS:
        folder = course.submitted / f"{SAMPLE_PREFIX}{student}" / EXERCISE.name
        folder.mkdir(parents=True)
        nbformat.write(made[student], folder / f"{EXERCISE}.ipynb")
    comments = root / "solutions" / "comments" / f"{EXERCISE}.csv"
    comments.parent.mkdir(exist_ok=True)
    (question,) = read_questions(EXERCISE)
    comments.write_text(f"question,key,points,comment\n{question},kept,-1,{KEPT}\n")
    # formgrader lists the assignments that have a source
    write_missing_sources(course, [course.exercise(EXERCISE.name)])
    grade_here(course, EXERCISE.name)
    return course


@pytest.fixture(scope="module")
def formgrader(graded, tmp_path_factory):
    """JupyterLab as the teaching page starts it, with formgrader in it: address and token."""
    settings = tmp_path_factory.mktemp("jupyter")
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1", "OMP_NUM_THREADS": "1"}
    for name in ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"):
        environment[f"JUPYTER_{name}"] = str(settings / name)
    token = secrets.token_hex()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    options = [
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--IdentityProvider.token={token}",
    ]
    with (settings / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, *options], cwd=graded.root, env=environment, stdout=log, stderr=log
        )
    try:
        while not (told := list(settings.glob("RUNTIME_DIR/jpserver-*.json"))):
            assert server.poll() is None, (settings / "log").read_text()
            time.sleep(0.1)
        address = json.loads(told[0].read_text())["url"]
        yield address.rstrip("/"), token
    finally:
        server.terminate()
        server.wait()


def verdicts(course, student):
    """What the grader found, as a page shows it: grade cell -> points and lines of text."""
    exercise = course.exercise(EXERCISE.name)
    words = words_of(exercise)
    found = {}
    for cell in stored_result(course, student, EXERCISE.name).cells:
        lines = []
        for line in cell.lines:
            mark = "✓" if line.passed else "✗"
            title = words.title(cell.grade_id, line.expression)
            told = f"{mark} {line.earned:g}/{line.points:g} points {title}\n{words.line(line)}"
            # what stands between backticks is shown as code
            lines += filter(None, told.replace("`", "").split("\n"))
            if title != line.expression:
                lines.append("What was checked")
        found[cell.grade_id] = cell.earned, lines
    return found


def test_a_graded_submission_is_found_and_its_verdicts_read(graded, formgrader, open_tab):
    address, token = formgrader
    troubles, seen = [], set()
    page = open_tab(f"{address}/")
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("response", lambda had: had.status < 400 or troubles.append(f"{had.status} {had.url}"))
    page.on("console", lambda had: "Security Policy" in had.text and troubles.append(had.text))
    # the way of whoever grades by hand: exercise, notebook, submission, then the next one
    page.goto(f"{address}/formgrader/gradebook?token={token}")
    for name, leads_to in (
        (EXERCISE.name, f"**/gradebook/{EXERCISE}"),
        (EXERCISE.name, f"**/gradebook/{EXERCISE}/{EXERCISE}"),
        ("Submission #1", "**/submissions/*/"),
    ):
        page.locator("#main-table").get_by_role("link", name=name).click()
        page.wait_for_url(leads_to)
    for _ in STUDENTS:
        page.wait_for_load_state("networkidle")
        student = page.locator(".breadcrumb .name-shown").first.text_content().strip()
        shown = [line.strip() for line in page.inner_text("#notebook").split("\n") if line.strip()]
        wanted = verdicts(graded, student)
        assert len(wanted) > 5
        for cell, (earned, lines) in wanted.items():
            start = shown.index(lines[0])
            assert shown[start : start + len(lines)] == lines
            assert float(page.locator(f"#{cell}").get_attribute("placeholder")) == earned
        # beside the written answer: its rubric, and the comments kept for it
        (rubric,) = [line for line in shown if line.startswith("Rubric. ")]
        wanted = as_read(next(iter(read_questions(EXERCISE).values())).rubric)
        assert as_read(rubric.removeprefix("Rubric. "))[:60] == wanted[:60]
        assert [line for line in shown if line.startswith("/kept")] == [f"/kept (-1): {KEPT}"]
        # ready for typing, formulas shown
        assert page.evaluate("document.activeElement.className").count("tabbable") == 1
        assert page.locator("#notebook math").count() > 10
        # formgrader's own handlers run under its page's policy
        page.locator("span.glyphicon.name-hidden").click()
        assert page.locator("a.name-shown").is_visible()
        page.locator("span.glyphicon.name-shown").click()
        assert page.locator("a.name-hidden").is_visible()
        seen.add(student)
        page.get_by_role("link", name="Next").click()
    assert seen == {f"{SAMPLE_PREFIX}{student}" for student in STUDENTS}
    assert not troubles
    page.go_back()
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'acted = 1'}))"
    )
    assert page.evaluate("typeof acted") == "undefined"
    assert len(troubles) == 1
