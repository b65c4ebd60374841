"""Functions of an exercise's checks: in its notebook, in the grader, and on the pages that students read."""

import pytest

from autograder.build import generate
from autograder.course import Course
from autograder.errors import CatalogueError
from autograder.exercises import (
    baked_answers,
    baked_relations,
    grade_cells,
    reference_answers,
    released,
)
from autograder.grade.examine import grade_submission
from autograder.grade.exercise_words import words_of
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

CHECKS = '''
from solutions.ch9_small import double


def drawn(draw):
    return draw.array(3), draw.array(4)


def both(x, y):
    """Not shown."""
    first = double(x)
    return [first, double(y)]


def unmoved(x):
    return [double(x), double(x)]
'''
LINES = """# x, y = drawn(draw)
# equal("twice x moves",
#     unmoved)
# says("doubles both", parts=["x", "y"])
# ### 2p AUTOTEST both"""


@pytest.fixture
def folder(tmp_path):
    with settings_of_a_course(tmp_path) as root:
        yield root


def exercise_in(folder, checks=CHECKS):
    exercise = write_exercise(folder, "ch9_small", [IMPORTS, DOUBLE, check_cell(LINES)])
    exercise.checks.parent.mkdir()
    exercise.checks.write_text(checks)
    return exercise


def test_a_line_that_names_a_function_is_built_graded_and_shown(folder):
    exercise = exercise_in(folder)
    generate.build(Course(folder))
    source = grade_cells(released(exercise))["values"]
    assert "def both(x, y):" in source and "def drawn(draw):" in source
    assert "unmoved" not in source and "Not shown" not in source
    assert [*baked_answers(released(exercise))["values"]] == ["both"]
    (relation,) = baked_relations(released(exercise))["values"]
    assert relation.expression.endswith("unmoved(x)")

    key = answer_key(Course(folder), exercise)
    right = reference_answers(exercise)["double"]
    for answer, score in ((right, 2), ("def double(x):\n    return x / 2", 0)):
        submission = Submission("ada", (SubmittedCell("code", answer, grade_id="double"),))
        found = grade_submission(submission, key, Settings(Limits(sandbox=False)))
        (cell,) = found.result.cells
        assert sum(line.earned for line in cell.lines) == score
    assert cell.mistake == "halved"
    words = words_of(exercise)
    assert words.shown("both").startswith("def both(x, y):")
    # the line calls the answer that is wrong
    assert "Hint: Which factor?" in words.line(cell.lines[0])


def test_a_function_may_not_hide_an_answer(folder):
    exercise_in(folder, f"{CHECKS}\n\ndef double(x):\n    return x\n")
    with pytest.raises(CatalogueError, match="`double` is the name of an answer"):
        generate.build(Course(folder))
