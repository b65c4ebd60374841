"""Results on disk, the grader's settings, and courses that are not as they should be."""

import dataclasses
import json
import shutil

import pytest

from autograder.__main__ import main
from autograder.catalogue import mistakes
from autograder.course import Course
from autograder.errors import CourseError, ResultError
from autograder.grade.exercise_words import words_of
from autograder.grade.grade_class import recorded_results
from autograder.grade.gradebook import autograded_notebook, stored_result
from autograder.grade.result import (
    FORMAT,
    GRADER_VERSION,
    Basis,
    CellResult,
    LineResult,
    Remark,
    Result,
)
from autograder.grade.verdicts import result_path
from autograder.instructor_settings import Limits, Settings
from autograder.runtime.compare import Difference
from tests.support.course import COURSE
from tests.support.grading import grade_here
from tests.support.submissions import EXERCISE, hand_in

pytestmark = pytest.mark.xdist_group("submissions")


# Results on disk --------------------------------------------------------------------------------

# every type that can occur, and text that needs escaping
DIFFERENCE = Difference(
    "shape",
    {"got": [2, 3], "name": 'ä "注" \n\u2028', "share": 0.1, "none": None, "nested": {"a": [True]}},
    (("part", 2, 3), ("key", "weights")),
)
RESULT = Result(
    student="s1",
    exercise="ch2",
    cells=(
        CellResult(
            "values",
            (
                LineResult("softmax(x)", 2.0),
                LineResult("softmax(y)", 0.5, DIFFERENCE, "no scaling"),
                LineResult("softmax(z)", 1.0, Difference("to_do")),
            ),
            "printed\n",
        ),
        CellResult("edges", ()),
    ),
    remarks=(Remark("empty"), Remark("renamed", {"name": "a", "wanted": "b"})),
    basis=Basis("digest", "key", Limits(cell_seconds=2, sandbox=True), {"python": "3.11.0"}),
    seconds=1.5,
)


def test_a_result_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "a" / "ch2.result.json"
    RESULT.write(path)
    read = Result.read(path)
    assert read == RESULT
    assert (read.score, read.points, read.share) == (2, 3.5, 2 / 3.5)
    assert [line.verdict for _, line in read.lines()] == ["passed", "shape", "to_do"]
    assert read.cell("values").mistake == "no scaling"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_every_result_of_a_class_is_read_as_it_was_written(graded_class):
    _, results = graded_class
    for result in results.values():
        text = result.to_json()
        assert Result.from_json(text) == result
        # plain data: no sentence, no HTML, no drawn input
        assert "</" not in text and "inputs" not in json.loads(text)


def damage(**changes):
    return json.dumps(json.loads(RESULT.to_json()) | changes)


def without(name):
    data = json.loads(RESULT.to_json())
    del data[name]
    return json.dumps(data)


DAMAGED = {
    "empty": "",
    "cut off": RESULT.to_json()[:300],
    "a list": "[1, 2]",
    "a number": "7",
    "nothing in it": "{}",
    "no format": without("format"),
    "no basis": without("basis"),
    "no seconds": without("seconds"),
    "seconds that are no number": damage(seconds="long"),
    "cells that are no list": damage(cells=7),
    "a cell that is none": damage(cells=["x"]),
    "a line without points": damage(cells=[{"grade_id": "a", "lines": [{}], "printed": ""}]),
    "a remark that is none": damage(remarks=["x"]),
    "limits that are unknown": damage(
        basis=json.loads(RESULT.to_json())["basis"] | {"limits": {"patience": 1}}
    ),
    "too deep": "[" * 100_000,
    "a field that nobody knows": damage(grade="A"),
    "newer": damage(format=FORMAT + 1),
    "older": damage(format=FORMAT - 1),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_what_is_no_result_is_an_error_with_a_way_out(tmp_path, kind):
    path = tmp_path / "ch2.result.json"
    path.write_text(DAMAGED[kind], encoding="utf-8")
    with pytest.raises(ResultError) as raised:
        Result.read(path)
    said = str(raised.value)
    assert said.startswith(str(path)) and "`python -m autograder grade`" in said
    reason = f"has format {FORMAT + 1}" if kind == "newer" else "is damaged"
    assert kind == "older" or reason in said
    assert "\n" not in said


def test_bytes_that_are_no_text_are_an_error_with_a_way_out(tmp_path):
    path = tmp_path / "ch2.result.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ResultError, match=r"is damaged.*`python -m autograder grade`"):
        Result.read(path)


def test_a_result_that_is_a_folder_is_an_error_with_a_way_out(tmp_path):
    with pytest.raises(ResultError, match=r"can't be read: Is a directory.*delete it"):
        Result.read(tmp_path)


@pytest.fixture(scope="module")
def class_of_four(new_class):
    """Four students' quickly graded submissions, and their results."""
    names = ("a_list", "empty_folder", "no_cells", "not_json")
    course = hand_in(new_class(), *names)
    return course, grade_here(course, EXERCISE.name)


def test_a_result_that_cannot_be_read_is_graded_again(class_of_four):
    course, results = class_of_four
    paths = [
        result_path(autograded_notebook(course, result.student, EXERCISE.name))
        for result in results
    ]
    paths[0].write_text("{")
    newer = json.loads(paths[1].read_text()) | {"format": FORMAT + 1}
    paths[1].write_text(json.dumps(newer))
    paths[2].unlink()
    untouched = paths[3].stat().st_mtime_ns
    with pytest.raises(ResultError, match=str(paths[0])):
        recorded_results(course, [EXERCISE])
    again = grade_here(course, EXERCISE.name)
    assert [dataclasses.replace(result, seconds=0) for result in again] == [
        dataclasses.replace(result, seconds=0) for result in results
    ]
    assert paths[3].stat().st_mtime_ns == untouched
    assert recorded_results(course, [EXERCISE]) == again


def test_what_was_never_graded_has_no_result(class_of_four):
    course, _ = class_of_four
    assert stored_result(course, "nobody", EXERCISE.name) is None


def test_results_are_stored_under_the_grader_of_today(class_of_four):
    _, results = class_of_four
    assert {result.basis.grader for result in results} == {GRADER_VERSION}


# Settings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"weights": {"ch2": -1}}, r"c.Grader.weights['ch2'] is -1: "),
        ({"weights": {"ch2": "two"}}, r"c.Grader.weights['ch2'] is 'two': "),
        ({"weights": 2}, "c.Grader.weights is 2: "),
        ({"allowed": ["softmax"]}, "c.Grader.allowed is ['softmax']: "),
        ({"allowed": {"ch2": "softmax"}}, "c.Grader.allowed['ch2'] is 'softmax': "),
    ],
)
def test_weights_and_functions_that_are_none_are_named(given, words):
    with pytest.raises(CourseError) as raised:
        Settings.read(given)
    assert words in str(raised.value) and "\n" not in str(raised.value)


def test_weights_and_functions_are_what_was_set():
    given = {"memory_mb": 500, "weights": {"ch2": 2, "ch2/values": 0.5}, "allowed": {"ch2": ["f"]}}
    settings = Settings.read(given)
    assert settings.limits == Limits(memory_mb=500)
    assert (settings.weight("ch2", "values"), settings.weight("ch3", "values")) == (1, 1)
    assert settings.weight("ch2", "edges") == 2
    assert settings.allowed == {"ch2": ("f",)}


# Courses ----------------------------------------------------------------------------------------


@pytest.fixture
def course_of_one_file(tmp_path, monkeypatch):
    """A course folder with its configuration and an empty solutions/; the working directory."""
    shutil.copy(COURSE.root / "nbgrader_config.py", tmp_path)
    (tmp_path / "solutions").mkdir()
    monkeypatch.chdir(tmp_path)
    return Course(tmp_path)


def ended(capsys, *words):
    """Run a command that must end with status 2; returns what it said."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: ") and said.count("\n") == 1
    return said


def test_a_setting_of_the_configuration_ends_a_command(course_of_one_file, capsys):
    config = course_of_one_file.root / "nbgrader_config.py"
    (course_of_one_file.root / "solutions" / "ch1_a.py").touch()
    text = config.read_text(encoding="utf-8")
    config.write_text(f"{text}\nc.Grader.grade_cell_second = 5\n", encoding="utf-8")
    assert "there is no setting c.Grader.grade_cell_second" in ended(capsys, "grade")
    config.write_text(f"{text}\nc.Grader.memory_mb = -5\n", encoding="utf-8")
    assert "c.Grader.memory_mb is -5: a whole number above 300" in ended(capsys, "grade")


@pytest.mark.parametrize("text", ["c.Grader.memory_mb = = 5", "1 / 0", "import no_such_module"])
def test_a_configuration_that_cannot_be_run_ends_a_command(course_of_one_file, capsys, text):
    config = course_of_one_file.root / "nbgrader_config.py"
    (course_of_one_file.root / "solutions" / "ch1_a.py").touch()
    config.write_text(text, encoding="utf-8")
    assert f"{config} can't be read: " in ended(capsys, "grade")


@pytest.mark.parametrize("command", ["build", "grade", "report", "feedback", "audit", "course"])
def test_a_course_without_exercises_ends_a_command(course_of_one_file, capsys, command):
    said = ended(capsys, command)
    assert f"{course_of_one_file.root}/solutions has no exercises" in said


def test_an_exercise_that_is_not_there_is_named(course_of_one_file, capsys):
    said = ended(capsys, "grade", "--exercise", "ch1_nothing")
    assert "There is no exercise 'ch1_nothing'. Known: none in " in said


def test_a_folder_in_no_course_ends_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert f"{tmp_path} is in no course" in ended(capsys, "grade")


def test_a_course_is_found_from_a_folder_below(course_of_one_file, monkeypatch):
    monkeypatch.chdir(course_of_one_file.root / "solutions")
    assert Course.find().root == course_of_one_file.root


def test_a_line_that_passes_names_no_mistake_even_where_one_was_recognised():
    exercise = COURSE.exercise("ch3_multi_head")
    known, words = mistakes(exercise)[0], words_of(exercise)
    line = LineResult("double(3)", 1, mistake=known.name, given=("split_heads",))
    assert known.name not in words.line(line)
    wrong = dataclasses.replace(
        line, difference=Difference("number", {"expected": 6.0, "got": 3.0}), given=()
    )
    assert known.name in words.line(wrong)
