"""Correct work in unusual styles gets full marks, and the student's own check says so too."""

from dataclasses import replace

import pytest

from autograder.audit import audit, cases
from autograder.audit.examiner import AuditedClass
from autograder.audit.honest import HONEST_STYLES
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("honest")
# every style runs here on one exercise, those that touch answers on one with modules; `audit` runs all
# on all
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
# the student's own check takes as long as the grade: `audit` runs it for all, this for every third
OWN_CHECK = list(HONEST_STYLES)[::3]
CASES = [(EXERCISE, name) for name in HONEST_STYLES] + [(MODULES, name) for name in ON_MODULES]


@pytest.fixture(scope="module")
def known():
    made = [
        case for name in (EXERCISE, MODULES) for case in cases.honest_cases(COURSE.exercise(name))
    ]
    without = {case.name: "" for case in made if case.name not in OWN_CHECK}
    return {
        (case.exercise.name, case.name): replace(case, checked=without.get(case.name, case.checked))
        for case in made
    }


@pytest.fixture(scope="module")
def audited(tmp_path_factory, known):
    folder = tmp_path_factory.mktemp("honest")
    with AuditedClass(COURSE.root, folder, [known[case] for case in CASES]) as audited:
        yield audited


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_honest_work_gets_full_marks_and_is_told_so(audited, known, case):
    found = audited.grade(known[case])
    assert [line for _, line in found.result.lines() if not line.passed] == []
    assert found.full_marks
    assert audit.disagreements(found) == []


def test_there_are_enough_styles():
    assert len(HONEST_STYLES) >= 80
    assert set(ON_MODULES) <= set(HONEST_STYLES)
