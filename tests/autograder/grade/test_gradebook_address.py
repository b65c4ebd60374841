"""One rule for the gradebook's database: --db, or else nbgrader_config.py, for every command."""

import csv
import zipfile

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.errors import GradebookError
from autograder.exercises import reference_answers, solved
from autograder.grade.gradebook import register
from tests.support.class_keys import give_keys
from tests.support.copies import command, configure, repository, run
from tests.support.course import COURSE

EXERCISE = "ch1_additive_attention"
pytestmark = pytest.mark.xdist_group("gradebook_address")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A copy of the repository whose nbgrader_config.py names other folders and another database."""
    root = repository(tmp_path_factory.mktemp("elsewhere"), few_mistakes=True)
    (root / "course").mkdir()
    give_keys(Course(root), EXERCISE)
    other = root.parent / "other"
    other.mkdir()
    configure(
        root,
        f'c.CourseDirectory.db_url = "sqlite:///{other}/grades.db"',
        f'c.CourseDirectory.submitted_directory = "{other}/handed-in"',
        'c.CourseDirectory.autograded_directory = "course/marked"',
        f'c.CourseDirectory.feedback_directory = "{other}/feedback"',
    )
    (root / "roster.csv").write_text("id,lms_user_id\ns1,1001\ns2,\n", encoding="utf-8")
    exercise = COURSE.exercise(EXERCISE)
    notebook = nbformat.writes(solved(exercise, reference_answers(exercise)))
    with zipfile.ZipFile(root / "class.zip", "w") as archive:
        archive.writestr(f"whoever_1001_1_{EXERCISE}.ipynb", notebook)
    one = ("--exercise", EXERCISE)
    for module, *words in (
        ("nbgrader", "db", "student", "import", "roster.csv"),
        ("autograder", "import-zip", "class.zip", *one),
        ("autograder", "grade", *one),
        ("autograder", "feedback", *one),
        ("autograder", "report", *one),
        ("autograder", "export", "--output", "ours.csv", "--format", "nbgrader", *one),
        ("nbgrader", "export", "--to=theirs.csv"),
        ("nbgrader", "generate_feedback", EXERCISE, "--force"),
    ):
        if module == "nbgrader":
            done = run(root, module, *words)
            assert done.returncode == 0, (words, done.stderr)
        else:
            done = command(root, *words)
            assert done.status == 0, (words, done.stderr)
    return root


def students(path):
    with path.open(newline="", encoding="utf-8") as file:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}


def test_every_command_uses_the_database_of_the_configuration(elsewhere):
    ours, theirs = students(elsewhere / "ours.csv"), students(elsewhere / "theirs.csv")
    assert ours == theirs
    assert set(ours) == {"s1", "s2"} and ours["s1"] > ours["s2"] == 0
    assert not (elsewhere / "course" / "gradebook.db").exists()


def test_every_command_uses_the_folders_of_the_configuration(elsewhere):
    other = elsewhere.parent / "other"
    own = f"s1/{EXERCISE}/{EXERCISE}"
    assert (other / f"handed-in/{own}.ipynb").is_file()
    assert (elsewhere / f"course/marked/{own}.ipynb").is_file()
    assert (other / f"feedback/{own}.html").is_file()
    for name in ("submitted", "autograded", "feedback"):
        assert not (elsewhere / "course" / name).exists()


def test_the_option_wins_over_the_configuration(elsewhere, tmp_path):
    assert Course(elsewhere).config  # puts alembic, which nbgrader calls, on the path
    address = f"sqlite:///{tmp_path}/third.db"
    with Gradebook(address) as gradebook:
        gradebook.add_student("s9", lms_user_id="1001")
    words = ("--exercise", EXERCISE, "--db", address, "--submitted", str(tmp_path / "in"))
    done = command(elsewhere, "import-zip", "class.zip", *words)
    assert done.status == 0, done.stderr
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["s9"]
    done = command(elsewhere, "grade", *words)
    assert done.status == 0, done.stderr
    with Gradebook(address) as gradebook:
        (submission,) = gradebook.assignment_submissions(EXERCISE)
        assert submission.student.id == "s9" and submission.score > 0
    assert set(students(elsewhere / "theirs.csv")) == {"s1", "s2"}


@pytest.mark.parametrize("address", ["nonsense", "oracle+none://host/x", "sqlite//x.db"])
def test_what_is_no_address_of_a_database_is_an_error_with_a_way_out(tmp_path, address):
    course = Course(COURSE.root, class_folder=tmp_path, database=address)
    with pytest.raises(GradebookError, match=r"Write it like.*postgresql://user@host/name"):
        register(course, COURSE.exercise(EXERCISE))
