"""Where nothing explains a failed line, the grader tells which of its cell's relations are violated."""

import pytest

from autograder.build import generate
from autograder.course import Course
from autograder.exercises import baked_relations, grade_cells, released
from autograder.grade.examine import grade_submission
from autograder.grade.make_keys import answer_key
from autograder.grade.submission import Submission, SubmittedCell
from autograder.grade.words import sentence
from autograder.grade.words_without_values import sentence as without_values
from autograder.instructor_settings import Limits, Settings
from tests.support.small_course import (
    DOUBLE,
    IMPORTS,
    check_cell,
    mistake,
    settings_of_a_course,
    write_exercise,
)

LINES = """# x = draw.array(6)
# equal('an entry has an influence on others', '[double(x)[:2], double(x[:2])]')
# ### 1p AUTOTEST double(x)
# ### 1p AUTOTEST double(x[:3])"""


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    with settings_of_a_course(tmp_path_factory.mktemp("related")) as root:
        cells = [IMPORTS, DOUBLE, check_cell(LINES)]
        exercise = write_exercise(root, "ch9_related", cells, known=(mistake(),))
        generate.build(Course(root))
        # a student reads the lines without them
        (source,) = grade_cells(released(exercise)).values()
        assert "equal(" not in source and source.count("check(") == 2
        assert [one.says for one in baked_relations(released(exercise))["values"]] == [
            "an entry has an influence on others"
        ]
        yield answer_key(Course(root), exercise)


def lines(key, answer, own="last = None"):
    cells = (SubmittedCell("code", own), SubmittedCell("code", answer, grade_id="double"))
    settings = Settings(Limits(sandbox=False, grade_cell_seconds=2))
    (cell,) = grade_submission(Submission("ada", cells), key, settings).result.cells
    return cell.lines


def test_a_violated_relation_is_told_at_the_first_line(key):
    first, second = lines(key, "def double(x):\n    return x**2 + x.sum()")
    assert sentence(first) == "an entry has an influence on others" == without_values(first)
    assert "differ" in sentence(second)


def test_a_mistake_that_explains_the_cell_is_told_alone(key):
    first, _ = lines(key, "def double(x):\n    return x / 2")
    assert first.mistake == "halved" and "violated" not in first.difference.parameters


def test_relations_are_tried_when_all_verdicts_are_made(key):
    """Code that counts its calls gives the lines what it gives without relations, and may then hang."""
    answer = (
        "def double(x):\n    global last\n    last = (last or 0) + 1\n"
        "    return 3.25 * x + last if last <= 6 else hang()\n\ndef hang():\n    while True: pass"
    )
    first, second = lines(key, answer)
    assert not first.passed and not second.passed
    assert "violated" not in first.difference.parameters
