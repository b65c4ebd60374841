"""nbgrader's exchange: whole folders travel, and nothing that students must not see or send."""

import logging
import os
import shutil

import nbformat
import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError, ExchangeFactory

from autograder.course import Course
from autograder.exercises import reference_answers, solved
from autograder.grade import exchange
from autograder.grade.submission import read_companions
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME = EXERCISE.notebook.name


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A function that runs a step of the exchange; instructor's folder course/, student's home/."""
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    release = tmp_path / "course" / "exercises" / EXERCISE.name
    shutil.copytree(EXERCISE.notebook.parent, release)
    (release / "figure.png").write_bytes(b"figure")
    for name in ("solution.py", "results.json", "gradebook.db", "summary.csv", ".secret"):
        (release / name).write_text("not for students")

    def step(name):
        config = Course(COURSE.root).config
        config.CourseDirectory.root = str(tmp_path / "course")
        config.CourseDirectory.submitted_directory = "submitted"
        # a new course has no folder for it yet
        config.CourseDirectory.db_url = f"sqlite:///{tmp_path}/course/course/gradebook.db"
        config.CourseDirectory.assignment_id = EXERCISE.name
        config.Exchange.root = str(tmp_path / "exchange")
        config.Exchange.cache = str(tmp_path / "cache")
        config.ExchangeCollect.check_owner = False
        options = {
            "coursedir": CourseDirectory(config=config),
            "authenticator": Authenticator(config=config),
            "config": config,
        }
        getattr(ExchangeFactory(config=config), name)(**options).start()

    return step


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_exercise_goes_out_and_a_whole_submission_comes_back(course, tmp_path):
    course("ReleaseAssignment")
    course("FetchAssignment")
    home = tmp_path / "home" / EXERCISE.name
    assert files(home) == {NAME, "figure.png"}
    assert (home / NAME).read_bytes() == EXERCISE.notebook.read_bytes()
    answered = nbformat.writes(solved(EXERCISE, reference_answers(EXERCISE)))
    (home / NAME).write_text(answered, encoding="utf-8")
    (home / "helper.py").write_text("three = 3")
    (home / "data").mkdir()
    (home / "data" / "table.csv").write_text("1,2")
    (home / ".ipynb_checkpoints").mkdir()
    (home / ".ipynb_checkpoints" / NAME).write_text("old")
    course("Submit")
    course("Collect")
    (student,) = (tmp_path / "course" / "submitted").iterdir()
    collected = student / EXERCISE.name
    own = {NAME, "figure.png", "helper.py", "data/table.csv"}
    assert files(collected) == own | {"timestamp.txt", "submission_secret.txt"}
    assert (collected / NAME).read_text(encoding="utf-8") == answered
    assert read_companions(collected, NAME)[0].keys() == {"figure.png", "helper.py"}


def test_an_exercise_with_a_solution_in_it_is_not_released(course, tmp_path):
    path = tmp_path / "course" / "exercises" / EXERCISE.name / NAME
    path.write_text(path.read_text(encoding="utf-8") + "\n### BEGIN SOLUTION", encoding="utf-8")
    with pytest.raises(ExchangeError, match="holds a solution"):
        course("ReleaseAssignment")
    assert not files(tmp_path / "exchange")


def test_links_pipes_and_huge_files_are_not_copied(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(exchange, "MAX_NOTEBOOK", 100)
    source, secret = tmp_path / "source", tmp_path / "secret"
    (source / "folder").mkdir(parents=True)
    secret.mkdir()
    (secret / "grades").write_text("secret")
    (source / "folder" / "kept").write_text("small")
    (source / "huge").write_bytes(bytes(101))
    os.mkfifo(source / "pipe")
    (source / "link").symlink_to(secret / "grades")
    (source / "linked-folder").symlink_to(secret)
    with caplog.at_level(logging.WARNING):
        exchange.copy_folder(source, tmp_path / "target", (), logging.getLogger("exchange"))
    assert files(tmp_path / "target") == {"folder/kept"}
    for name in ("huge", "pipe", "link"):
        assert f"{source / name} is left out" in caplog.text
    (tmp_path / "linked").symlink_to(secret)
    with pytest.raises(ExchangeError, match="is a link"):
        exchange.copy_folder(tmp_path / "linked", tmp_path / "other", (), logging.getLogger())
    assert not (tmp_path / "other").exists()


def test_the_limits_of_a_folder_hold(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    for number in range(5):
        (tmp_path / "source" / str(number)).write_bytes(bytes(10))
    log = logging.getLogger("exchange")
    monkeypatch.setattr(exchange, "MAX_TOTAL", 35)
    assert len(exchange.copy_folder(tmp_path / "source", tmp_path / "a", (), log)) == 3
    monkeypatch.setattr(exchange, "MAX_FILES", 2)
    assert len(exchange.copy_folder(tmp_path / "source", tmp_path / "b", (), log)) == 2
