"""Correct work in unusual styles gets full marks, and the student's own check says so too."""

from dataclasses import replace

import pytest

from autograder.audit import audit, cases
from autograder.audit.examiner import AuditedClass
from autograder.audit.registry import HONEST_STYLES, register_cases
from autograder.exercises import copied, reference_answers, solved
from tests.support.class_keys import give_keys
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("honest")
register_cases(COURSE.root)
# Every style runs here once: on an exercise of one answer; where it names torch, on chapter 2's; where modules
# make a difference, on one with modules, too. Some run every time, and all of them weekly; `audit` runs all on all.
EXERCISE, MODULES = "ch2_scaled_dot_product", "ch1_additive_attention"
ON_MODULES = [
    "float16 as default dtype",
    "gradients switched off",
    "lists for tuples",
    "every call in another thread",
    "layers in another order, with a mixin and an extra Dropout",
    "results that require grad",
    "results that aren't contiguous",
    "metadata stripped by another editor",
]
# the student's own check takes as long as the grade: `audit` runs it for all, this for every sixth
OWN_CHECK = list(HONEST_STYLES)[::6]


SOLVED = solved(COURSE.exercise(EXERCISE), reference_answers(COURSE.exercise(EXERCISE)))


def names_torch(notebook):
    """How often a notebook names torch."""
    return sum(cell.source.count("torch") for cell in notebook.cells)


def brings_torch(name):
    """Whether a style names torch where the solved notebook doesn't."""
    notebook = copied(SOLVED)
    HONEST_STYLES[name].change(notebook)
    return names_torch(notebook) > names_torch(SOLVED)


WITH_TORCH = [name for name in HONEST_STYLES if brings_torch(name)]
ON_ONE_ANSWER = [name for name in HONEST_STYLES if name not in WITH_TORCH]
CASES = [(EXERCISE, name) for name in WITH_TORCH] + [(MODULES, name) for name in ON_MODULES]


def cases_of(exercise):
    """The styles that fit an exercise, by name; with the student's own check where it is asked for."""
    return {
        case.name: case if case.name in OWN_CHECK else replace(case, checked="")
        for case in cases.honest_cases(exercise)
    }


@pytest.fixture(scope="module")
def known(few_mistakes):
    return {
        (exercise, name): case
        for exercise in (EXERCISE, MODULES)
        for name, case in cases_of(few_mistakes.exercise(exercise)).items()
    }


@pytest.fixture(scope="module")
def audited(tmp_path_factory, few_mistakes, known):
    course = replace(few_mistakes, class_folder=tmp_path_factory.mktemp("honest"))
    give_keys(course, EXERCISE, MODULES)
    with AuditedClass(course.root, course.home, [known[case] for case in CASES]) as audited:
        yield audited


@pytest.fixture(scope="module")
def known_on_one_answer(small_exercise):
    return cases_of(small_exercise)


@pytest.fixture(scope="module")
def audited_on_one_answer(tmp_path_factory, small_exercise, known_on_one_answer):
    chosen, folder = known_on_one_answer.values(), tmp_path_factory.mktemp("small")
    with AuditedClass(small_exercise.root, folder, [*chosen]) as audited:
        yield audited


def check(found):
    assert [line for _, line in found.result.lines() if not line.passed] == []
    assert found.full_marks
    assert audit.disagreements(found) == []


@pytest.mark.parametrize("style", ON_ONE_ANSWER)
def test_honest_work_on_one_answer_gets_full_marks_and_is_told_so(
    audited_on_one_answer, known_on_one_answer, style
):
    check(audited_on_one_answer.grade(known_on_one_answer[style]))


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_honest_work_gets_full_marks_and_is_told_so(audited, known, case):
    check(audited.grade(known[case]))


def test_the_styles_that_are_named_exist():
    assert set(ON_MODULES) <= set(HONEST_STYLES)
