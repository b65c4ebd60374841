"""The course as its users meet it: our commands and nbgrader's own.

In a copy of the repository, and where any exercise will do in a course of one answer.
"""

import csv
import json
import re
import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.catalogue import mistake_answers, mistakes
from autograder.course import SAMPLE_PREFIX, Course
from autograder.exercises import reference_answers, solved
from tests.support.class_keys import give_keys
from tests.support.copies import command, repository, run, with_short_limits
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("course")
EXERCISE, SMALL = "ch2_scaled_dot_product", "ch9_small"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with the sample class graded in it."""
    folder = tmp_path_factory.mktemp("course")
    root = with_short_limits(repository(folder, few_mistakes=True))
    (root / "course").mkdir()
    give_keys(Course(root), EXERCISE)
    for words in (("sample",), ("grade", "--feedback")):
        done = command(root, *words, "--exercise", EXERCISE)
        assert done.status == 0, done.stderr
    return root


def submitted(root, student, exercise=SMALL):
    return root / "course" / "submitted" / student / exercise / f"{exercise}.ipynb"


def graded_at(root, student, exercise=SMALL):
    """When a student's result was written."""
    folder = root / "course" / "autograded" / student / exercise
    return (folder / f"{exercise}.result.json").stat().st_mtime_ns


def scores(root, exercise=SMALL):
    with Gradebook(f"sqlite:///{root}/course/gradebook.db") as gradebook:
        return {
            submission.student.id.removeprefix(SAMPLE_PREFIX): submission.score
            for submission in gradebook.assignment_submissions(exercise)
        }


def automatic_points(root, exercise=SMALL):
    with Gradebook(f"sqlite:///{root}/course/gradebook.db") as gradebook:
        cells = gradebook.find_notebook(exercise, exercise).grade_cells
        return sum(cell.max_score for cell in cells if cell.cell_type == "code")


def test_the_sample_class_gets_what_it_deserves(copy):
    found, full = scores(copy, EXERCISE), automatic_points(copy, EXERCISE)
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
    assert float(rows["sample-ada"]["score"]) == automatic_points(copy, EXERCISE)


def test_a_second_run_grades_nothing_again_and_json_has_every_line(copy):
    before = graded_at(copy, "sample-ada", EXERCISE)
    done = command(copy, "grade", "--json", "results.json")
    assert done.status == 0, done.stderr
    assert graded_at(copy, "sample-ada", EXERCISE) == before
    results = {r["student"]: r for r in json.loads((copy / "results.json").read_text())}
    lines = [line for cell in results["sample-dia"]["cells"] for line in cell["lines"]]
    assert {"expression", "points", "difference", "mistake", "by_line", "given"} == set(lines[0])
    assert any(line["mistake"] for line in lines)
    earned = sum(line["points"] for line in lines if line["difference"] is None)
    assert earned == scores(copy, EXERCISE)["dia"]


# A class of three -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(small_exercise):
    """A course with a real class: one with full marks, one with a known mistake, one with nothing done."""
    root, program = small_exercise.root, small_exercise.program()
    # which nbgrader's commands import from the folder of their settings
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(COURSE.root / "autograder", root / "autograder", ignore=ignored)
    (known,) = mistakes(small_exercise)
    answers = {
        "zoe": reference_answers(small_exercise),
        "dia": mistake_answers(program, known),
        "yan": {},
    }
    for student, own in answers.items():
        submitted(root, student).parent.mkdir(parents=True)
        nbformat.write(solved(small_exercise, own), submitted(root, student))
    done = command(root, "grade", "--feedback")
    assert done.status == 0, done.stderr
    full = automatic_points(root)
    found = scores(root)
    assert found["zoe"] == full > found["dia"] > found["yan"] == 0
    return root


# nbgrader's own commands --------------------------------------------------------------------------


def test_nbgrader_validate_tells_right_from_wrong(small):
    for student, words in (("zoe", "Success"), ("dia", "FAILED")):
        path = submitted(small, student)
        done = run(small, "nbgrader", "validate", path)
        assert (words.lower() in done.stdout.lower()) is True, done.stdout


def test_late_work_pays_the_penalty_that_nbgrader_is_told(small):
    config = small / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    stamp = submitted(small, "zoe").with_name("timestamp.txt")
    due = "--duedate=2027-03-01 18:00:00 UTC"
    try:
        config.write_text(text + '\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
        stamp.write_text("2027-03-01 21:00:00 UTC\n")
        assert run(small, "nbgrader", "db", "assignment", "add", SMALL, due).returncode == 0
        words = ("autograde", SMALL, "--student=zoe", "--force")
        assert run(small, "nbgrader", *words).returncode == 0
        with Gradebook(f"sqlite:///{small}/course/gradebook.db") as gradebook:
            submission = gradebook.find_submission(SMALL, "zoe")
            (notebook,) = submission.notebooks
            assert submission.score == automatic_points(small)
            assert notebook.late_submission_penalty == submission.score
    finally:
        stamp.unlink()
        config.write_text(text, encoding="utf-8")


# What else an instructor and a student meet -------------------------------------------------------


def test_the_seed_is_secret_kept_and_renewed_on_request(small):
    path = small / "course" / "seeds.json"
    before = json.loads(path.read_text())
    assert path.stat().st_mode & 0o077 == 0
    assert len(before[SMALL]) == 8
    graded = [graded_at(small, student) for student in ("zoe", "yan")]
    assert command(small, "grade", "--new-seed").status == 0
    after = json.loads(path.read_text())
    assert after[SMALL] != before[SMALL]
    assert all(graded_at(small, one) > t for one, t in zip(("zoe", "yan"), graded, strict=True))
    found = scores(small)
    assert (found["zoe"], found["yan"]) == (automatic_points(small), 0)
    assert command(small, "grade").status == 0
    assert json.loads(path.read_text()) == after


def test_an_exercise_that_changed_since_it_was_graded_is_refused_or_graded_anew(
    small, small_exercise
):
    text = small_exercise.solution.read_text(encoding="utf-8")
    changed = text.replace("### 1p AUTOTEST double(x)", "### 0.5p AUTOTEST double(x)")
    changed = changed.replace(
        '"values", "grade": true, "points": 2', '"values", "grade": true, "points": 1.5'
    )
    assert changed.count("0.5p") == 3 and '"points": 1.5' in changed
    small_exercise.solution.write_text(changed, encoding="utf-8")
    done = command(small, "grade", "--new-seed")
    assert done.status == 2
    assert "values" in done.stderr
    assert command(small, "build", "--exercise", SMALL).status == 0
    done = command(small, "grade")
    assert done.status == 2
    assert "--rerelease" in done.stderr
    full = automatic_points(small)
    done = command(small, "grade", "--rerelease")
    assert done.status == 0, done.stderr
    found = scores(small)
    assert (found["zoe"], found["yan"]) == (full - 0.5, 0)
    results = list((small / "course" / "autograded").rglob("*.result.json"))
    written = [path.stat().st_mtime_ns for path in results]
    assert len(results) == 3 and command(small, "grade", "--rerelease").status == 0
    # only what an exercise that has changed gave is graded again
    assert [path.stat().st_mtime_ns for path in results] == written


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("grade", "--exercise", "ch0_nothing"), "There is no exercise 'ch0_nothing'"),
        (("report", "--submitted", "nowhere"), "Nothing has been graded yet"),
        (("serve",), "make book"),
    ],
)
def test_an_instructors_error_is_one_line_with_the_way_out(copy, arguments, words):
    done = command(copy, *arguments)
    assert done.status == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
