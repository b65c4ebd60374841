"""A line that trains something is asked once more: of a fresh kernel, and with other inputs."""

import pytest

from autograder.build import generate
from autograder.course import Course
from autograder.grade.examine import grade_submission
from autograder.grade.make_keys import answer_key
from autograder.grade.submission import Submission, SubmittedCell
from autograder.instructor_settings import Limits, Settings
from tests.support.small_course import (
    DOUBLE,
    IMPORTS,
    check_cell,
    settings_of_a_course,
    write_exercise,
)

LINES = (
    "# agreement('twice', share=0.9, seconds=30, processor_seconds=5)\n"
    "# x = draw.integers(20, low=0, high=999).tolist()\n"
    "# twice = [2 * number for number in x]\n"
    "# ### 2p AUTOTEST [double(number) for number in x]"
)
OWN = "calls = 0"


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """The answer key of an exercise with one line that is judged by agreement."""
    with settings_of_a_course(tmp_path_factory.mktemp("trained")) as root:
        exercise = write_exercise(
            root, "ch9_trained", [IMPORTS, DOUBLE, check_cell(LINES)], known=()
        )
        generate.build(Course(root))
        yield answer_key(Course(root), exercise)


def score(key, answer, own=OWN):
    cells = (SubmittedCell("code", own), SubmittedCell("code", answer, grade_id="double"))
    settings = Settings(Limits(sandbox=False))
    return grade_submission(Submission("ada", cells), key, settings).result.score


def inputs(key):
    """What `x` is at the first try, and at the second."""
    (line,) = key.cells["values"].lines
    return [[item["value"] for item in draw.inputs["x"]["items"]] for draw in line.draws]


def test_the_second_try_has_other_inputs(key):
    first, second = inputs(key)
    assert len(first) == len(second) == 20 and first != second


def test_bad_luck_at_the_first_try_costs_nothing(key):
    unlucky = f"def double(x):\n    return 0 if x in {inputs(key)[0]} and x not in {inputs(key)[1]} else 2 * x"
    assert score(key, unlucky) == 2
    assert score(key, "def double(x):\n    return 0") == 0


def test_what_the_first_try_has_learnt_is_gone_at_the_second(key):
    """Right from the 21st call on, which one process would reach with its second try."""
    learning = (
        "def double(x):\n    global calls\n    calls += 1\n    return 2 * x if calls > 20 else 0"
    )
    assert score(key, learning) == 0
    assert score(key, learning, own="calls = 20") == 2
