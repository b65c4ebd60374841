"""Errors that end a command: one class per kind of failure, one line, exit status 2."""

import errno
import os
import shutil
from pathlib import Path

import nbformat
import pytest

from autograder.__main__ import main
from autograder.build import generate
from autograder.course import Course
from autograder.errors import OutputError
from autograder.grade import submission
from autograder.grade.grade_class import Grader
from autograder.grade.result import Remark
from autograder.grade.words import remark
from tests.support.course import COURSE

NOTEBOOK = nbformat.v4.new_notebook()


@pytest.fixture
def ended(capsys):
    """A function that runs a command which must end with status 2, and returns what it said."""

    def ended(*words):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        assert end.value.code == 2
        return capsys.readouterr().err

    return ended


def test_an_error_ends_a_command_with_one_line(ended):
    said = ended("grade", "--exercise", "ch0_nothing")
    assert said.startswith("Error: There is no exercise 'ch0_nothing'. Known: ch1_")
    assert said.count("\n") == 1


# What can't be written ----------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course folder with these exercises and nothing graded; the working directory."""
    root = tmp_path / "repository"
    root.mkdir()
    for name in ("solutions", "book", "autograder"):
        (root / name).symlink_to(COURSE.root / name)
    (root / "exercises").mkdir()
    for exercise in COURSE.exercises()[:2]:
        shutil.copytree(exercise.notebook.parent, root / "exercises" / exercise.name)
    shutil.copy(COURSE.root / "nbgrader_config.py", root)
    monkeypatch.chdir(root)
    return Course(root)


def test_results_that_could_not_be_written_are_told_before_grading(ended, course, tmp_path):
    (tmp_path / "file").touch()
    said = ended("grade", "--json", tmp_path / "file" / "results.json")
    assert f"{tmp_path}/file/results.json can't be written: Not a directory" in said
    assert said.count("\n") == 1
    assert not course.home.exists()


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.EROFS, "Make {0} writable, or copy the course"), (errno.ENOSPC, "make room and run")],
)
def test_a_folder_that_takes_nothing_is_told(ended, course, monkeypatch, number, advice):
    def refused(path, *_, **named):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    said = ended("grade")
    assert os.strerror(number) in said and advice.format(f"{course.home}/source") in said
    assert said.count("\n") == 1 and not course.home.exists()


@pytest.mark.parametrize("name", ["numpy.py", "random/__init__.py"])
def test_a_file_that_would_stand_for_a_module_is_refused(ended, course, name):
    path = course.root / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    assert f"{path} has the name of a module that the grader needs" in ended("grade")


def test_a_build_into_a_folder_that_cannot_be_written_changes_nothing(course):
    shutil.rmtree(course.root / "exercises")
    (course.root / "exercises").touch()
    with pytest.raises(OutputError, match="exercises can't be written: File exists"):
        generate._swap_in(course, {course.exercises()[0]: NOTEBOOK})
    assert (course.root / "exercises").read_text() == ""


def test_an_exercise_that_cannot_be_replaced_stays(course, monkeypatch):
    first, second = course.exercises()[:2]
    before, move = second.notebook.read_bytes(), shutil.move

    def full(source, target):
        if Path(target).name == second.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return move(source, target)

    monkeypatch.setattr(shutil, "move", full)
    with pytest.raises(OutputError, match="exercises can't be written: No space left"):
        generate._swap_in(course, dict.fromkeys((first, second), NOTEBOOK))
    assert nbformat.read(first.notebook, as_version=4) == NOTEBOOK
    assert second.notebook.read_bytes() == before
    names = {path.name for path in (course.root / "exercises").iterdir()}
    assert names == {first.name, second.name}


# What can't be read, or is no number --------------------------------------------------------------


@pytest.mark.parametrize("number", ["0", "-2", "two"])
def test_a_number_of_workers_is_at_least_one(ended, number):
    assert "--workers" in ended("grade", "--workers", number)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "The submitted file is empty: it was not saved"),
        (" \n", "The submitted file is empty: it was not saved"),
        pytest.param('{"cells":' + "[" * 200_000, "nested more deeply than any", id="nested"),
    ],
)
def test_what_is_no_notebook_is_told_in_our_words(tmp_path, content, told):
    path = tmp_path / "s1" / "ch1" / "ch1.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    cells, (only,), _ = submission.read_notebook(path)
    assert cells == () and told in remark(only)


def test_a_submission_that_this_account_may_not_read_is_told(tmp_path, monkeypatch, capsys):
    exercise = COURSE.exercises()[0]
    course = Course(COURSE.root, class_folder=tmp_path)
    path = course.submitted / "s1" / exercise.name / exercise.notebook.name
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    real = os.open

    def forbidden(name, *arguments):
        if name == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
        return real(name, *arguments)

    monkeypatch.setattr(submission.os, "open", forbidden)
    (found,) = Grader(course).read("s1", exercise).remarks
    assert found == Remark("unreadable", {"what": "notebook", "reason": "Permission denied"})
    assert remark(found) == "The submitted notebook can't be read: Permission denied."
    said = capsys.readouterr().err
    assert said.startswith(
        f"{path.parent}: the notebook can't be read from this account (Permission"
    )
    assert said.count("\n") == 1
    monkeypatch.undo()
    Grader(course).read("s1", exercise)
    assert capsys.readouterr().err == ""
