"""Feedback is no oracle: what a page tells earns nothing when its reader hands in again."""

import shutil

import nbformat
import pytest

from audit_cases.security_attacks import hand_in_table
from autograder.course import Course
from autograder.exercises import reference_answers, solved
from autograder.grade.feedback import feedback_page, write_feedback
from autograder.grade.grade_class import Grader
from autograder.grade.make_keys import AnswerKeys
from autograder.grade.result import Basis, LineResult, Result
from autograder.grade.seeds import (
    class_seed,
    end_round,
    fresh_seed,
    has_feedback,
)
from autograder.grade.words import sentence
from autograder.instructor_settings import Limits
from autograder.runtime.compare import Difference
from autograder.runtime.plain_data import Array, decode
from tests.support.course import COURSE
from tests.support.grading import grade_here

pytestmark = pytest.mark.xdist_group("submissions")
EXERCISE = COURSE.exercise("ch2_scaled_dot_product")


def graded(course, student, digest):
    """Record a result as grading does."""
    result = Result(student, "ch1_x", (), (), Basis(digest, "key", Limits(), {}), 0.0)
    folder = course.autograded / student / "ch1_x"
    folder.mkdir(parents=True, exist_ok=True)
    result.write(folder / "ch1_x.result.json")
    return result


@pytest.fixture
def course(tmp_path):
    return Course(COURSE.root, class_folder=tmp_path)


def seed(course, student, digest):
    secret = class_seed(course, "ch1_x")
    return fresh_seed(course, student, "ch1_x", digest, secret)


def test_who_is_graded_after_feedback_was_written_is_graded_on_inputs_of_a_later_round(course):
    first = graded(course, "a", "one")
    graded(course, "b", "other")
    assert seed(course, "a", "one") is seed(course, "c", "late") is None
    end_round(course, first)
    assert seed(course, "a", "one") is seed(course, "b", "other") is None
    # whoever hands in now may have read a page, their own or somebody else's
    late = seed(course, "c", "late")
    assert late == seed(course, "d", "late too") and late.round == 1 and len(late.integers) == 8
    again = [seed(course, "a", "two"), seed(course, "b", "two"), seed(course, "a", "three")]
    assert [fresh.student for fresh in again] == ["a", "b", "a"]
    assert len({fresh.integers for fresh in (late, *again)}) == 4
    # feedback about a seed of one's own tells nothing that holds for others
    end_round(course, graded(course, "a", "two"))
    assert seed(course, "c", "late") == late and seed(course, "a", "two") == again[0]
    assert seed(course, "a", "one") is None
    # and feedback on the second round ends that one
    result = graded(course, "c", "late")
    graded(course, "d", "late too")
    end_round(course, result)
    assert seed(course, "c", "late") == seed(course, "d", "late too") == late
    assert seed(course, "e", "later").round == 2 and seed(course, "c", "again").student == "c"
    assert seed(course, "e", "later").integers != late.integers
    record = course.home / "told" / "ch1_x.json"
    assert record.stat().st_mode & 0o077 == 0


def test_about_the_inputs_of_a_new_seed_nobody_has_been_told_anything(course):
    result = graded(course, "a", "one")
    old = class_seed(course, "ch1_x")
    end_round(course, result)
    late = seed(course, "c", "late")
    assert has_feedback(course, "ch1_x")
    assert class_seed(course, "ch1_x", new=True) != old
    assert not has_feedback(course, "ch1_x")
    assert seed(course, "c", "late") is seed(course, "a", "two") is None
    end_round(course, result)
    assert seed(course, "c", "late").integers != late.integers


def test_a_result_that_cannot_be_read_counts_as_not_graded(course):
    graded(course, "a", "one")
    (course.autograded / "a" / "ch1_x" / "ch1_x.result.json").write_text("{", encoding="utf-8")
    end_round(course, graded(course, "b", "two"))
    assert seed(course, "b", "two") is None and seed(course, "a", "one").round == 1


def test_a_table_of_all_that_was_expected_earns_everything_without_a_fresh_seed(
    small_exercise, tmp_path
):
    """So the attacks that hand one in again, among those of test_attacks.py, lack nothing else."""
    course = Course(small_exercise.root, class_folder=tmp_path)
    folder = course.submitted / "first" / small_exercise.name
    folder.mkdir(parents=True)
    grader = Grader(course)
    hand_in_table(small_exercise, folder, grader.key(small_exercise))
    result = grader.grade("first", small_exercise).result
    assert result.score == result.points > 0


def hand_in(course, exercise, student, notebook):
    folder = course.submitted / student / exercise.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{exercise.name}.ipynb")


def test_feedback_tells_six_digits_and_few_numbers_of_an_error():
    def told(aspect, **parameters):
        return sentence(LineResult("f(x)", 1, Difference(aspect, parameters)))

    assert told("number", expected=0.123456789, got=2.0) == "expected 0.123457, got 2"
    close = told("number", expected=0.123456789, got=0.12345671)
    assert close == "expected 0.123457, got 0.123457, which differ by 8e-08"
    inputs = [round(i + 0.123456, 6) for i in range(12)]
    where = {"line": "", "inside": "", "by_check": False}
    error = told("error", name="ValueError", message=f"{inputs} {'x' * 300}", **where)
    assert str(inputs[1]) in error and str(inputs[2]) not in error
    assert len(error) < 250
    shapes = "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"
    assert shapes in told("error", name="RuntimeError", message=shapes, **where)


TELLING = """
seen = []
def {name}(*arguments, **named):
    print("PRINTED", arguments)
    display(arguments)
    raise ValueError(repr([getattr(a, "tolist", lambda: a)() for a in arguments]).replace(" ", ""))
"""


def test_feedback_shows_no_drawn_input_in_full_and_nothing_printed_meanwhile(new_class):
    course = new_class()
    answers = {name: TELLING.format(name=name) for name in reference_answers(EXERCISE)}
    exercise = course.exercise(EXERCISE.name)
    hand_in(course, exercise, "teller", solved(EXERCISE, answers))
    (result,) = grade_here(course, EXERCISE.name)
    # else this proves nothing
    assert any("PRINTED" in cell.printed for cell in result.cells)
    write_feedback(course, [result])
    page = feedback_page(course, "teller", EXERCISE.name).read_text(encoding="utf-8")
    assert "ValueError" in page
    assert "PRINTED [" not in page and "PRINTED (" not in page
    for cell in AnswerKeys(course).of_class(exercise).cells.values():
        for line in cell.lines:
            for tree in line.draws[0].inputs.values():
                values = decode(tree)
                if isinstance(values, Array) and values.values.size > 8:
                    shown = repr(values.values.tolist()).replace(" ", "")
                    assert shown not in page
                    numbers = [repr(n) for n in values.values.reshape(-1).tolist() if n % 1]
                    assert not numbers or not all(number in page for number in numbers)
