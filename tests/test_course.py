"""The course as its users meet it: our commands and nbgrader's own, in a copy of the repository."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from nbgrader.api import Gradebook

from autograder.audit.sample_class import SAMPLE_PREFIX
from autograder.catalogue import ROOT

pytestmark = pytest.mark.xdist_group("course")
EXERCISE = "ch2_scaled_dot_product"
COPIED = ("autograder", "solutions", "exercises", "book")


def repository(folder):
    """What grading needs of this repository, copied to a folder."""
    root = folder / "repository"
    root.mkdir()
    for name in COPIED:
        shutil.copytree(
            ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "_vendor")
        )
    for pattern in ("*.py", "*.yml", "*.txt"):
        for path in ROOT.glob(pattern):
            shutil.copy(path, root)
    return root


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with the sample class graded in it."""
    root = repository(tmp_path_factory.mktemp("course"))
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
        ("kim", "doesn't exist: its cell failed with SyntaxError"),
        ("lea", "does a loop never end?"),
        ("ida", "To do:"),
        ("dia", "Hint:"),
    ):
        page = folder / f"{SAMPLE_PREFIX}{student}" / EXERCISE / f"{EXERCISE}.html"
        text = page.read_text(encoding="utf-8")
        assert words.replace("'", "&#x27;") in text or words in text, student
        # formulas need no script, and nothing is loaded
        assert "<math" in text and not re.search(r"<(script|link|img)[^>]*(src|href)=.http", text)
    summary = (copy / "course" / "summary.html").read_text(encoding="utf-8")
    assert f"reports/{EXERCISE}.html" in summary
    page = copy / "course" / "reports" / f"{EXERCISE}.html"
    text = page.read_text(encoding="utf-8")
    assert "What the class misunderstood" in text and "sample-kim" in text
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


# nbgrader's own commands --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stock(copy):
    """The same course after nbgrader's own generate_assignment, autograde, feedback and export."""
    generation = "from autograder.build import generate as generation"
    source = f"{generation}; generation.write_sources([{EXERCISE!r}])"
    done = subprocess.run([sys.executable, "-c", source], cwd=copy, check=False)
    assert done.returncode == 0
    before = scores(copy)
    released = (copy / "exercises" / EXERCISE / f"{EXERCISE}.ipynb").read_text(encoding="utf-8")
    for command in (
        ("generate_assignment", EXERCISE, "--force"),
        ("autograde", EXERCISE, "--student=sample-dia", "--force"),
        ("generate_feedback", EXERCISE, "--student=sample-dia", "--force"),
        ("export", "--to=grades.csv"),
    ):
        done = run(copy, "nbgrader", *command)
        assert done.returncode == 0, done.stderr
    return before, released


def test_nbgraders_commands_give_what_ours_give(copy, stock):
    before, released = stock
    regenerated = copy / "exercises" / EXERCISE / f"{EXERCISE}.ipynb"
    assert json.loads(regenerated.read_text(encoding="utf-8")) == json.loads(released)
    assert scores(copy) == before
    page = copy / "course" / "feedback" / "sample-dia" / EXERCISE / f"{EXERCISE}.html"
    assert "Hint:" in page.read_text(encoding="utf-8")
    with (copy / "grades.csv").open(encoding="utf-8") as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert exported == {f"{SAMPLE_PREFIX}{name}": score for name, score in before.items()}


def test_nbgrader_validate_tells_right_from_wrong(copy):
    for student, words in (("ada", "Success"), ("dia", "FAILED")):
        folder = copy / "course" / "submitted" / f"{SAMPLE_PREFIX}{student}" / EXERCISE
        done = run(copy, "nbgrader", "validate", str(folder / f"{EXERCISE}.ipynb"))
        assert (words.lower() in done.stdout.lower()) is True, done.stdout


def test_late_work_pays_the_penalty_that_nbgrader_is_told(copy):
    config = copy / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    stamp = copy / "course" / "submitted" / "sample-ada" / EXERCISE / "timestamp.txt"
    due = f"--duedate={'2027-03-01 18:00:00 UTC'}"
    try:
        config.write_text(text + '\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
        stamp.write_text("2027-03-01 21:00:00 UTC\n")
        assert run(copy, "nbgrader", "db", "assignment", "add", EXERCISE, due).returncode == 0
        command = ("autograde", EXERCISE, "--student=sample-ada", "--force")
        assert run(copy, "nbgrader", *command).returncode == 0
        with Gradebook(f"sqlite:///{copy}/course/gradebook.db") as gradebook:
            submission = gradebook.find_submission(EXERCISE, "sample-ada")
            (notebook,) = submission.notebooks
            assert submission.score == automatic_points(copy)
            assert notebook.late_submission_penalty == submission.score
    finally:
        stamp.unlink()
        config.write_text(text, encoding="utf-8")


# What else an instructor and a student meet -------------------------------------------------------


def test_the_seed_is_secret_kept_and_renewed_on_request(copy):
    path = copy / "course" / "seeds.json"
    before = json.loads(path.read_text())
    assert path.stat().st_mode & 0o077 == 0
    assert len(before[EXERCISE]) == 8
    full = scores(copy)["ada"]
    assert run(copy, "autograder", "grade", "--new-seed").returncode == 0
    after = json.loads(path.read_text())
    assert after[EXERCISE] != before[EXERCISE]
    assert scores(copy)["ada"] == full and scores(copy)["ida"] == 0
    assert run(copy, "autograder", "grade").returncode == 0
    assert json.loads(path.read_text()) == after


def test_an_exercise_that_changed_since_it_was_graded_is_refused_or_graded_anew(copy):
    solution = copy / "solutions" / f"{EXERCISE}.py"
    notebook = copy / "exercises" / EXERCISE / f"{EXERCISE}.ipynb"
    real = copy / "course" / "submitted" / "zoe" / EXERCISE
    kept = {path: path.read_text(encoding="utf-8") for path in (solution, notebook)}
    real.mkdir(parents=True)
    try:
        shutil.copy(copy / "course/submitted/sample-ada" / EXERCISE / notebook.name, real)
        assert run(copy, "autograder", "grade").returncode == 0
        changed = kept[solution].replace("### 2p AUTOTEST gradients(", "### 1p AUTOTEST gradients(")
        changed = changed.replace(
            '"attention_edges", "grade": true, "points": 7',
            '"attention_edges", "grade": true, "points": 6',
        )
        assert changed != kept[solution]
        solution.write_text(changed, encoding="utf-8")
        done = run(copy, "autograder", "grade", "--new-seed")
        assert done.returncode == 2
        assert "attention_edges" in done.stderr and "Traceback" not in done.stderr
        assert run(copy, "autograder", "build", "--exercise", EXERCISE).returncode == 0
        done = run(copy, "autograder", "grade")
        assert done.returncode == 2
        assert "--rerelease" in done.stderr
        full = scores(copy)["zoe"]
        done = run(copy, "autograder", "grade", "--rerelease")
        assert done.returncode == 0, done.stderr
        assert scores(copy)["zoe"] == full - 1
    finally:
        for path, text in kept.items():
            path.write_text(text, encoding="utf-8")
        assert run(copy, "autograder", "grade", "--rerelease").returncode == 0
        shutil.rmtree(real.parent)


def test_no_sample_class_is_put_beside_a_real_one(copy):
    real = copy / "course" / "submitted" / "real"
    real.mkdir()
    missing = copy / "course" / "submitted" / "sample-ben" / EXERCISE
    kept = (missing / f"{EXERCISE}.ipynb").read_text(encoding="utf-8")
    try:
        shutil.rmtree(missing)
        done = run(copy, "autograder", "sample", "--exercise", EXERCISE)
        assert done.returncode == 0 and "No sample class" in done.stdout
        assert not missing.exists()
    finally:
        missing.mkdir()
        (missing / f"{EXERCISE}.ipynb").write_text(kept, encoding="utf-8")
        real.rmdir()


def test_lab_copies_what_is_missing_and_overwrites_nothing(copy):
    assert run(copy, "autograder", "lab", "--copy-only").returncode == 0
    mine = copy / "work" / EXERCISE / f"{EXERCISE}.ipynb"
    released = copy / "exercises" / EXERCISE / f"{EXERCISE}.ipynb"
    assert mine.read_bytes() == released.read_bytes()
    mine.write_text("my work", encoding="utf-8")
    other = next(path for path in (copy / "work").iterdir() if path.name != EXERCISE)
    shutil.rmtree(other)
    assert run(copy, "autograder", "lab", "--copy-only").returncode == 0
    assert mine.read_text(encoding="utf-8") == "my work"
    assert (other / f"{other.name}.ipynb").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("grade", "--exercise", "ch0_nothing"), "There is no exercise 'ch0_nothing'"),
        (("report", "--submitted", "nowhere"), "Nothing has been graded yet"),
        (("serve",), "make book"),
        (("audit", "--exercise", EXERCISE, "--extra", "nowhere"), "There is no folder nowhere"),
    ],
)
def test_an_instructors_error_is_one_line_with_the_way_out(copy, arguments, words):
    done = run(copy, "autograder", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
