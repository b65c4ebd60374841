"""An audit asks right answers under many seeds, and tells of lines that are lost under a few."""

from autograder.audit import many_seeds
from autograder.course import Course
from tests.support import small_course as small

# right, but for inputs that few seeds draw
RARELY = "x + x + 1e-5 * (x.max() > 2)"
NEVER = "x + x"


def lost(folder, alternative, seeds):
    cells = [small.IMPORTS, small.DOUBLE, small.check_cell(small.CHECK)]
    exercise = small.write_exercise(folder, "ch9_small", cells, others=[alternative])
    return many_seeds.surprises(Course(folder), exercise, seeds)


def test_a_line_that_a_right_answer_loses_under_a_few_seeds_is_told(course_folder):
    (text,) = lost(course_folder, RARELY, 50)
    count = int(text.removesuffix(" of 50 seeds").rpartition(" ")[2])
    assert text.startswith(f"alternative {RARELY!r} loses values: double(x), under ")
    assert 0 < count < 15
    assert lost(course_folder, NEVER, 50) == []
