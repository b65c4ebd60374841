"""Errors that end a command: one class per kind of failure, one line, exit status 2."""

import errno
import io
import os
import shutil

import pytest
from rich.console import Console

from autograder import errors
from autograder.__main__ import main
from autograder.build import generate
from autograder.errors import OutputError
from autograder.grade import grade_class, submission

KINDS = [
    kind
    for kind in vars(errors).values()
    if getattr(kind, "__module__", "") == errors.__name__
    and isinstance(kind, type)
    and kind is not errors.CourseError
]


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


def test_a_kind_of_failure_is_no_other_kind():
    assert len(KINDS) > 5
    for kind in KINDS:
        assert [other for other in KINDS if issubclass(kind, other)] == [kind]
        assert issubclass(kind, errors.CourseError)


# What can't be written ----------------------------------------------------------------------------


def test_results_that_could_not_be_written_are_told_before_grading(ended, tmp_path, monkeypatch):
    monkeypatch.setattr(grade_class, "COURSE", tmp_path / "course")
    (tmp_path / "file").touch()
    words = ("--submitted", tmp_path / "in", "--db", f"sqlite:///{tmp_path}/x.db")
    said = ended("grade", *words, "--json", tmp_path / "file" / "results.json")
    assert f"{tmp_path}/file/results.json can't be written: Not a directory" in said
    assert said.count("\n") == 1


def test_a_build_into_a_folder_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(generate, "EXERCISES", tmp_path / "file" / "exercises")
    monkeypatch.setattr(generate, "COURSE", tmp_path / "course")
    with pytest.raises(OutputError, match="exercises can't be written: Not a directory"):
        generate.build(["ch1_additive_attention"], force=True)
    assert not (tmp_path / "course").exists()


def test_an_exercise_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    old, new = tmp_path / "exercises" / "ch1", tmp_path / "aside" / "ch1"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "ch1.ipynb").write_text(folder.parent.name)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "move", full)
    with pytest.raises(OutputError, match="ch1 can't be written: No space left"):
        generate._replace(old, new)
    assert (old / "ch1.ipynb").read_text() == "exercises"


# What can't be read, or is no number --------------------------------------------------------------


@pytest.mark.parametrize("number", ["0", "-2", "two"])
def test_a_number_of_workers_is_at_least_one(ended, number):
    assert "--workers" in ended("grade", "--workers", number)


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_submission_is_said_to_be_empty(tmp_path, content):
    path = tmp_path / "s1" / "ch1" / "ch1.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert submission.read_submission(path).remarks == ["The submitted notebook is empty."]


def test_a_submission_that_this_account_may_not_read_is_told(tmp_path, monkeypatch):
    course = grade_class.Course(home=tmp_path)
    path = course.folder("submitted", "s1", "ch1") / "ch1.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    real = os.open

    def forbidden(name, *arguments):
        if name == path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))
        return real(name, *arguments)

    monkeypatch.setattr(submission.os, "open", forbidden)
    console = Console(file=io.StringIO())
    task = grade_class._task(course, "s1", "ch1", console)
    assert task.submission.remarks == ["The submitted notebook can't be read: Permission denied."]
    said = console.file.getvalue()
    assert said.startswith(
        f"{path.parent}: the notebook can't be read from this account (Permission"
    )
    monkeypatch.undo()
    grade_class._task(course, "s1", "ch1", console)
    assert console.file.getvalue() == said
