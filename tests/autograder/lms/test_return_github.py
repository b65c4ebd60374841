"""Feedback goes back as one text for each repository: what is new, in a folder that holds nothing else."""

import pytest
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.errors import ExportError, OutputError
from autograder.lms import return_github
from autograder.lms.names import LmsName, remember_names
from tests.support.course import COURSE
from tests.support.grading import add_exercise

EXERCISE = COURSE.exercise("ch1_additive_attention")
TEXTS = {"s1": "# one\n", "s2": "# two\n"}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class of three with repositories, two of whom have handed in, and a fourth without a repository."""
    made = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("class"))
    with Gradebook(made.db_url) as book:
        add_exercise(book, EXERCISE.name, all=30)
        for student in ("s1", "s2", "s3", "s4"):
            book.add_student(student)
            if student != "s3":
                book.add_submission(EXERCISE.name, student)
    return made


def returned(course, folder, texts=TEXTS, **options):
    """What was written, and the files, for texts by student."""
    text_of = lambda student, exercise: texts[student]
    done = return_github.write(course, EXERCISE, folder, text_of, **options)
    files = folder.iterdir() if folder.exists() else ()
    return done, {path.name: path.read_text() for path in files}


def test_what_is_new_is_written_under_the_names_of_repositories(course, tmp_path):
    with pytest.raises(ExportError, match="collect-github"):
        returned(course, tmp_path / "none")
    names = {student: LmsName("github", f"hw-{student}") for student in ("s1", "s2", "s3")}
    remember_names(course, EXERCISE, names | {"s4": LmsName("moodle", "x")})
    done, files = returned(course, tmp_path / "first")
    assert files == {"hw-s1.md": "# one\n", "hw-s2.md": "# two\n"}
    assert (done.written, done.without) == (("s1", "s2"), ("s3",))
    with pytest.raises(OutputError, match="has files already"):
        returned(course, tmp_path / "first")
    done, files = returned(course, tmp_path / "second", TEXTS | {"s2": "# more\n"})
    assert files == {"hw-s2.md": "# more\n"} and done.unchanged == ("s1",)
    done, files = returned(course, tmp_path / "third", everything=True)
    assert files == {"hw-s1.md": "# one\n", "hw-s2.md": "# two\n"}


def test_a_text_that_no_issue_holds_is_cut_and_says_so(course, tmp_path):
    names = {"s1": LmsName("github", "hw-s1")}
    remember_names(course, EXERCISE, names)
    texts = TEXTS | {"s1": "x" * 100_000}
    _, files = returned(course, tmp_path / "long", texts)
    assert len(files["hw-s1.md"]) == return_github.MAX_TEXT
    assert files["hw-s1.md"].endswith("Ask for the whole page.\n")
