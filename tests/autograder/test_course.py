"""The course as its users meet it: our commands and nbgrader's own, in a copy of the repository."""

import csv
import json
import re
import shutil

import pytest
from nbgrader.api import Gradebook

from autograder.build.generate import write_sources
from autograder.course import SAMPLE_PREFIX, Course
from tests.support.copies import command, repository, run, with_short_limits

pytestmark = [pytest.mark.xdist_group("course"), pytest.mark.slow]
EXERCISE = "ch2_scaled_dot_product"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with the sample class graded in it."""
    root = with_short_limits(repository(tmp_path_factory.mktemp("course")))
    for words in (("sample",), ("grade", "--feedback")):
        done = command(root, *words, "--exercise", EXERCISE)
        assert done.status == 0, done.stderr
    return root


def submitted(root, student):
    return root / "course" / "submitted" / student / EXERCISE / f"{EXERCISE}.ipynb"


def graded_at(root, student):
    """When a student's result was written."""
    folder = root / "course" / "autograded" / student / EXERCISE
    return (folder / f"{EXERCISE}.result.json").stat().st_mtime_ns


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
    before = graded_at(copy, "sample-ada")
    done = command(copy, "grade", "--json", "results.json")
    assert done.status == 0, done.stderr
    assert graded_at(copy, "sample-ada") == before
    results = {r["student"]: r for r in json.loads((copy / "results.json").read_text())}
    lines = [line for cell in results["sample-dia"]["cells"] for line in cell["lines"]]
    assert {"expression", "points", "difference", "mistake", "by_line", "given"} == set(lines[0])
    assert any(line["mistake"] for line in lines)
    earned = sum(line["points"] for line in lines if line["difference"] is None)
    assert earned == scores(copy)["dia"]


def test_an_edited_submission_is_graded_again_and_only_that(copy):
    student = submitted(copy, "sample-ida")
    before, untouched = graded_at(copy, "sample-ada"), student.read_text(encoding="utf-8")
    try:
        shutil.copy(submitted(copy, "sample-ada"), student)
        assert command(copy, "grade").status == 0
        assert scores(copy)["ida"] == automatic_points(copy)
        assert graded_at(copy, "sample-ada") == before
    finally:
        student.write_text(untouched, encoding="utf-8")
        assert command(copy, "grade").status == 0


# nbgrader's own commands --------------------------------------------------------------------------


def feedback_page(root):
    """A student's feedback page, without its stamp and the random folder of the kernel."""
    page = root / "course" / "feedback" / "sample-dia" / EXERCISE / f"{EXERCISE}.html"
    text = page.read_text(encoding="utf-8").partition("<!-- feedback ")[0].strip()
    return re.sub(r"/tmp/\S*grade-\w+/", "", text)


@pytest.fixture(scope="module")
def stock(copy):
    """The same course after nbgrader's own generate_assignment, autograde, feedback and export."""
    course = Course(copy)
    write_sources(course, [course.exercise(EXERCISE)])
    before, page = scores(copy), feedback_page(copy)
    released = (copy / "exercises" / EXERCISE / f"{EXERCISE}.ipynb").read_text(encoding="utf-8")
    for words in (
        ("generate_assignment", EXERCISE, "--force"),
        ("autograde", EXERCISE, "--student=sample-dia", "--force"),
        ("generate_feedback", EXERCISE, "--student=sample-dia", "--force"),
        ("export", "--to=grades.csv"),
    ):
        done = run(copy, "nbgrader", *words)
        assert done.returncode == 0, done.stderr
    return before, released, page


def test_nbgraders_commands_give_what_ours_give(copy, stock):
    before, released, page = stock
    regenerated = copy / "exercises" / EXERCISE / f"{EXERCISE}.ipynb"
    assert json.loads(regenerated.read_text(encoding="utf-8")) == json.loads(released)
    assert scores(copy) == before
    assert "Hint:" in page
    assert feedback_page(copy) == page
    with (copy / "grades.csv").open(encoding="utf-8") as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert exported == {f"{SAMPLE_PREFIX}{name}": score for name, score in before.items()}


def test_nbgrader_validate_tells_right_from_wrong(copy):
    for student, words in (("ada", "Success"), ("dia", "FAILED")):
        path = submitted(copy, f"{SAMPLE_PREFIX}{student}")
        done = run(copy, "nbgrader", "validate", path)
        assert (words.lower() in done.stdout.lower()) is True, done.stdout


def test_late_work_pays_the_penalty_that_nbgrader_is_told(copy):
    config = copy / "nbgrader_config.py"
    text = config.read_text(encoding="utf-8")
    stamp = submitted(copy, "sample-ada").with_name("timestamp.txt")
    due = "--duedate=2027-03-01 18:00:00 UTC"
    try:
        config.write_text(text + '\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
        stamp.write_text("2027-03-01 21:00:00 UTC\n")
        assert run(copy, "nbgrader", "db", "assignment", "add", EXERCISE, due).returncode == 0
        words = ("autograde", EXERCISE, "--student=sample-ada", "--force")
        assert run(copy, "nbgrader", *words).returncode == 0
        with Gradebook(f"sqlite:///{copy}/course/gradebook.db") as gradebook:
            submission = gradebook.find_submission(EXERCISE, "sample-ada")
            (notebook,) = submission.notebooks
            assert submission.score == automatic_points(copy)
            assert notebook.late_submission_penalty == submission.score
    finally:
        stamp.unlink()
        config.write_text(text, encoding="utf-8")


# What else an instructor and a student meet -------------------------------------------------------


@pytest.fixture(scope="module")
def small(copy, tmp_path_factory):
    """A copy with a real class of two, one with full marks and one with none, graded."""
    root = with_short_limits(repository(tmp_path_factory.mktemp("small")))
    for student, sample in (("zoe", "sample-ada"), ("yan", "sample-ida")):
        submitted(root, student).parent.mkdir(parents=True)
        shutil.copy(submitted(copy, sample), submitted(root, student))
    done = command(root, "grade")
    assert done.status == 0, done.stderr
    return root


def test_the_seed_is_secret_kept_and_renewed_on_request(small):
    path = small / "course" / "seeds.json"
    before = json.loads(path.read_text())
    assert path.stat().st_mode & 0o077 == 0
    assert len(before[EXERCISE]) == 8
    full = automatic_points(small)
    assert scores(small) == {"zoe": full, "yan": 0}
    assert command(small, "grade", "--new-seed").status == 0
    after = json.loads(path.read_text())
    assert after[EXERCISE] != before[EXERCISE]
    assert scores(small) == {"zoe": full, "yan": 0}
    assert command(small, "grade").status == 0
    assert json.loads(path.read_text()) == after


def test_an_exercise_that_changed_since_it_was_graded_is_refused_or_graded_anew(small):
    solution = small / "solutions" / f"{EXERCISE}.py"
    text = solution.read_text(encoding="utf-8")
    changed = text.replace(
        "### 2p AUTOTEST attention(query, key, value, mask)",
        "### 1p AUTOTEST attention(query, key, value, mask)",
    )
    changed = re.sub(
        r'("attention_values", "grade": true, "points": )(\d+)',
        lambda m: f"{m[1]}{int(m[2]) - 1}",
        changed,
    )
    assert changed != text
    solution.write_text(changed, encoding="utf-8")
    done = command(small, "grade", "--new-seed")
    assert done.status == 2
    assert "attention_values" in done.stderr
    assert command(small, "build", "--exercise", EXERCISE).status == 0
    done = command(small, "grade")
    assert done.status == 2
    assert "--rerelease" in done.stderr
    full = scores(small)["zoe"]
    done = command(small, "grade", "--rerelease")
    assert done.status == 0, done.stderr
    assert scores(small) == {"zoe": full - 1, "yan": 0}
    results = list((small / "course" / "autograded").rglob("*.result.json"))
    written = [path.stat().st_mtime_ns for path in results]
    assert len(results) == 2 and command(small, "grade", "--rerelease").status == 0
    # only what an exercise that has changed gave is graded again
    assert [path.stat().st_mtime_ns for path in results] == written


def test_no_sample_class_is_put_beside_a_real_one(copy):
    real = copy / "course" / "submitted" / "real"
    real.mkdir()
    missing = copy / "course" / "submitted" / "sample-ben" / EXERCISE
    kept = (missing / f"{EXERCISE}.ipynb").read_text(encoding="utf-8")
    try:
        shutil.rmtree(missing)
        done = command(copy, "sample", "--exercise", EXERCISE)
        assert done.status == 0 and "No sample class" in done.stdout
        assert not missing.exists()
    finally:
        missing.mkdir()
        (missing / f"{EXERCISE}.ipynb").write_text(kept, encoding="utf-8")
        real.rmdir()


def test_lab_copies_what_is_missing_and_overwrites_nothing(copy):
    assert command(copy, "lab", "--copy-only").status == 0
    mine = copy / "work" / EXERCISE / f"{EXERCISE}.ipynb"
    released = copy / "exercises" / EXERCISE / f"{EXERCISE}.ipynb"
    assert mine.read_bytes() == released.read_bytes()
    mine.write_text("my work", encoding="utf-8")
    other = next(
        path for path in (copy / "work").iterdir() if path.is_dir() and path.name != EXERCISE
    )
    shutil.rmtree(other)
    assert command(copy, "lab", "--copy-only").status == 0
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
    done = command(copy, *arguments)
    assert done.status == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
