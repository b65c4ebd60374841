"""`c.Grader` in nbgrader_config.py: what is refused, with the way out, and what is understood."""

import dataclasses
import sys
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import CourseError, SandboxError
from autograder.grade.grade_class import WorkerOptions
from autograder.instructor_settings import Limits, Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cell_seconds", 0),
        ("cell_seconds", float("nan")),
        ("notebook_seconds", "600"),
        ("memory_mb", 100),
        ("memory_mb", True),
        ("disk_mb", 1e12),
        ("sandbox", False),
        ("memory", 2000),
        ("python", "/no/such/python"),
        ("python", 3),
        ("packages", "scipy"),
        ("packages", ["scikit-learn"]),
        ("packages", [3]),
        ("require_sandbox", "yes"),
        ("follow_through", 0),
        pytest.param("python", str(Path(__file__).parent), id="a folder"),
    ],
)
def test_an_impossible_setting_is_named(name, value):
    with pytest.raises(CourseError, match=rf"nbgrader_config.py: .*c\.Grader\.{name}\b") as raised:
        Settings.read({name: value})
    # the value that was given, or the names that there are
    told = "memory_mb" if name in ("sandbox", "memory") else repr(value)
    assert told in str(raised.value)


def test_settings_are_read():
    given = {"memory_mb": 500, "cell_seconds": 2.5, "python": sys.executable}
    settings = Settings.read(given)
    assert settings.limits == Limits(memory_mb=500, cell_seconds=2.5)
    assert settings.limits.memory_bytes == 500_000_000
    assert settings.python == sys.executable
    assert Settings.read({"require_sandbox": True}).require_sandbox
    assert Settings().follow_through
    assert not Settings.read({"follow_through": False}).follow_through
    assert Settings.read({}) == Settings() and not Settings().require_sandbox
    assert Settings.read({"packages": ["einops", "einops"]}).packages == ("einops",)
    assert Settings.read({"packages": []}).packages == ()


def test_the_interpreter_of_an_environment_is_not_its_links_target(tmp_path, monkeypatch):
    (tmp_path / "python").symlink_to(sys.executable)
    assert Settings.read({"python": str(tmp_path / "python")}).python == str(tmp_path / "python")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings.read({"python": "~/python"}).python == str(tmp_path / "python")


def test_a_setting_requires_a_sandbox_as_the_option_does():
    without = dataclasses.replace(Settings(), limits=Limits(sandbox=False))
    strict = dataclasses.replace(without, require_sandbox=True)
    with pytest.raises(SandboxError, match=r"c\.Grader\.require_sandbox"):
        WorkerOptions().pool({}, strict)
    with pytest.raises(SandboxError):
        WorkerOptions(require_sandbox=True).pool({}, without)


def test_an_exercise_may_be_called_by_its_chapter(tmp_path):
    (tmp_path / "solutions").mkdir()
    for name in ("ch1_one", "ch2_two", "ch2_more", "ch11_eleven"):
        (tmp_path / "solutions" / f"{name}.py").touch()
    course = Course(tmp_path)
    assert course.exercise("ch1").name == "ch1_one" and course.exercise("ch11").chapter == 11
    with pytest.raises(CourseError, match=r"ch2 has several exercises, ch2_more, ch2_two:"):
        course.exercise("ch2")
    for name in ("ch3", "ch", "1"):
        with pytest.raises(CourseError, match=f"no exercise '{name}'"):
            course.exercise(name)
