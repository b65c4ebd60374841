"""The course as its users meet it: our commands and nbgrader's own, in a copy of the repository."""

import csv
import json
import os
import shutil
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook

from autograder.catalogue import ROOT
from autograder.sample import SAMPLE_PREFIX

pytestmark = pytest.mark.xdist_group("course")
EXERCISE = "ch2_scaled_dot_product"
COPIED = ("autograder", "solutions", "exercises")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with the sample class graded in it."""
    root = tmp_path_factory.mktemp("course") / "repository"
    root.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for pattern in ("*.py", "*.yml", "*.txt"):
        for path in ROOT.glob(pattern):
            shutil.copy(path, root)
    for command in ("sample", "grade", "feedback", "report"):
        done = run(root, "autograder", command, "--exercise", EXERCISE)
        assert done.returncode == 0, done.stderr
    return root


def run(root, module, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def scores(root):
    with Gradebook(f"sqlite:///{root}/course/gradebook.db") as gradebook:
        return {
            submission.student.id.removeprefix(SAMPLE_PREFIX): submission.score
            for submission in gradebook.assignment_submissions(EXERCISE)
        }


def automatic_points(root):
    with Gradebook(f"sqlite:///{root}/course/gradebook.db") as gradebook:
        cells = gradebook.find_notebook(EXERCISE, EXERCISE).grade_cells
        return sum(cell.max_score for cell in cells if cell.cell_type == "code")


def test_the_sample_class_gets_what_it_deserves(copy):
    found, full = scores(copy), automatic_points(copy)
    assert {found[name] for name in ("ada", "ben", "chi", "max")} == {full}
    assert found["ida"] == 0
    for name in ("dia", "eli", "fay", "gus", "hao", "jon", "kim", "lea"):
        assert 0 < found[name] < full, name


def test_feedback_and_summary_say_what_went_wrong(copy):
    folder = copy / "course" / "feedback"
    for student, words in (
        ("kim", "SyntaxError"),
        ("lea", "does a loop never end?"),
        ("ida", "To do:"),
        ("dia", "Hint:"),
    ):
        page = folder / f"{SAMPLE_PREFIX}{student}" / EXERCISE / f"{EXERCISE}.html"
        assert words in page.read_text(encoding="utf-8"), student
    summary = (copy / "course" / "summary.html").read_text(encoding="utf-8")
    assert "What the class misunderstood" in summary and "sample-kim" in summary
    with (copy / "course" / "summary.csv").open(encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert float(rows["sample-ada"]["score"]) == automatic_points(copy)


def test_a_second_run_grades_nothing_again_and_json_has_every_line(copy):
    path = copy / "course" / "autograded" / "sample-ada" / EXERCISE / f"{EXERCISE}.ipynb"
    before = path.stat().st_mtime_ns
    done = run(copy, "autograder", "grade", "--json", "results.json")
    assert done.returncode == 0, done.stderr
    assert path.stat().st_mtime_ns == before
    results = {r["student"]: r for r in json.loads((copy / "results.json").read_text())}
    lines = [line for cell in results["sample-dia"]["cells"].values() for line in cell]
    assert {"expression", "points", "earned", "verdict", "message", "mistake"} <= set(lines[0])
    assert any(line["mistake"] for line in lines)
    assert results["sample-dia"]["score"] == scores(copy)["dia"]


def test_an_edited_submission_is_graded_again_and_only_that(copy):
    student = copy / "course" / "submitted" / "sample-ida" / EXERCISE / f"{EXERCISE}.ipynb"
    graded = copy / "course" / "autograded"
    others = graded / "sample-ada" / EXERCISE / f"{EXERCISE}.ipynb"
    before, untouched = others.stat().st_mtime_ns, student.read_text(encoding="utf-8")
    full = copy / "course" / "submitted" / "sample-ada" / EXERCISE / f"{EXERCISE}.ipynb"
    try:
        shutil.copy(full, student)
        assert run(copy, "autograder", "grade").returncode == 0
        assert scores(copy)["ida"] == automatic_points(copy)
        assert others.stat().st_mtime_ns == before
    finally:
        student.write_text(untouched, encoding="utf-8")
        assert run(copy, "autograder", "grade").returncode == 0
