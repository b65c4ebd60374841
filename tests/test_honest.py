"""Correct work in strange clothes gets full marks, and the student's own check says so too."""

import pytest

from autograder.audit import run
from autograder.audit.honest import ODDITIES

pytestmark = pytest.mark.xdist_group("honest")
# every oddity runs here on one exercise, those that touch answers on one with modules; `audit` runs
# all on all
EXERCISE, MODULES = "ch2_scaled_dot_product", "ch1_additive_attention"
ON_MODULES = [
    "float16 as default dtype",
    "gradients switched off",
    "lists for tuples",
    "decorators",
    "layers in another order, with a mixin and an extra Dropout",
    "results that require grad",
    "results that aren't contiguous",
    "metadata stripped by another editor",
]
CASES = [(EXERCISE, name) for name in ODDITIES] + [(MODULES, name) for name in ON_MODULES]


@pytest.fixture(scope="module")
def graded():
    cases = run.honest_cases(EXERCISE)
    cases += [case for case in run.honest_cases(MODULES) if case.name in ON_MODULES]
    return {(case.exercise, case.name): case for case in run.grade_cases(cases)}


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_honest_work_gets_full_marks_and_is_told_so(graded, case):
    found = graded[case]
    lines = [line for cell in found.result["cells"].values() for line in cell]
    assert [line["message"] for line in lines if line["verdict"] != "passed"] == []
    assert found.full_marks
    assert run.disagreements(found) == []


def test_there_are_enough_oddities():
    assert len(ODDITIES) >= 24
