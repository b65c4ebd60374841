"""An audit judges known mistakes in float32, and right values with small errors."""

import numpy as np
import pytest

from autograder.audit.near_misses import changed, in_float32, slightly_off, surprises
from autograder.course import Course
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation
from autograder.runtime.mistakes import fingerprint
from tests.support import small_course as small
from tests.support.course import plain

VALUE = [np.array([0.0, 1.5, -2.0]), {"count": 3, "single": np.ones(2, np.float32)}]


def test_only_float64_is_changed():
    single = changed(plain(VALUE), in_float32)
    assert single.items[0].dtype == "float32"
    assert fingerprint(single.items[1]) == fingerprint(plain(VALUE[1]))
    off = slightly_off(Expected(plain(VALUE)))
    np.testing.assert_allclose(off.items[0].values, VALUE[0], rtol=2e-5)
    assert (off.items[0].values != VALUE[0]).sum() == 2


@pytest.mark.parametrize("expression", ["", "100 + f(x)"])
def test_what_is_slightly_off_is_wrong_in_both_data_types(expression):
    shift = 100 if expression else 0
    expected = Expected(plain(shift + np.array([0.5, 1.5, -2.0])), expression=expression)
    off = slightly_off(expected)
    for near in (off, changed(off, in_float32)):
        assert judge(expected, Evaluation(near)) is not None


def test_a_small_course_has_no_near_miss_that_passes(course_folder):
    lines = "# x = draw.array(3)\n# ### 1p AUTOTEST double(x)\n# ### 1p AUTOTEST 100 + double(x)"
    cells = [small.IMPORTS, small.DOUBLE, small.check_cell(lines)]
    exercise = small.write_exercise(course_folder, "ch9_small", cells)
    assert surprises(Course(course_folder), exercise) == []
