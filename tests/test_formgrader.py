"""formgrader in a real browser: a graded submission is found and read, and nothing comes from elsewhere."""

import json
import os
import secrets
import subprocess
import sys
import time

import nbformat
import pytest

from autograder.audit.sample_class import SAMPLE_PREFIX, sample_submissions
from autograder.grade.examine import results_of
from tests.test_course import EXERCISE, repository, run

pytestmark = pytest.mark.xdist_group("formgrader")
STUDENTS = ("ada", "dia")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A copy of the repository with two graded submissions in it, one right and one wrong."""
    root = repository(tmp_path_factory.mktemp("formgrader"))
    made = sample_submissions(EXERCISE)
    for student in STUDENTS:
        folder = root / "course" / "submitted" / f"{SAMPLE_PREFIX}{student}" / EXERCISE
        folder.mkdir(parents=True)
        nbformat.write(made[student], folder / f"{EXERCISE}.ipynb")
    done = run(root, "autograder", "grade", "--exercise", EXERCISE)
    assert done.returncode == 0, done.stderr
    return root


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
            [*command, *options], cwd=graded, env=environment, stdout=log, stderr=log
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


def verdicts(root, student):
    """What the grader wrote, as a page shows it: grade cell -> lines of text."""
    folder = root / "course" / "autograded" / f"{SAMPLE_PREFIX}{student}" / EXERCISE
    found = {}
    for cell in nbformat.read(folder / f"{EXERCISE}.ipynb", as_version=4).cells:
        for line in results_of(cell):
            mark = "✓" if line["verdict"] == "passed" else "✗"
            told = f"{mark} {line['earned']:g}/{line['points']:g} {line['expression']}"
            of_cell = found.setdefault(cell.metadata.nbgrader.grade_id, [0, []])
            of_cell[0] += line["earned"]
            of_cell[1] += [told, *filter(None, line["message"].split("\n"))]
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
        (EXERCISE, f"**/gradebook/{EXERCISE}"),
        (EXERCISE, f"**/gradebook/{EXERCISE}/{EXERCISE}"),
        ("Submission #1", "**/submissions/*/"),
    ):
        page.locator("#main-table").get_by_role("link", name=name).click()
        page.wait_for_url(leads_to)
    for _ in STUDENTS:
        page.wait_for_load_state("networkidle")
        student = page.locator(".breadcrumb .name-shown").first.text_content().strip()
        shown = [line.strip() for line in page.inner_text("#notebook").split("\n")]
        wanted = verdicts(graded, student.removeprefix(SAMPLE_PREFIX))
        assert len(wanted) > 5
        for cell, (earned, lines) in wanted.items():
            start = shown.index(lines[0])
            assert shown[start : start + len(lines)] == lines
            assert float(page.locator(f"#{cell}").get_attribute("placeholder")) == earned
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
