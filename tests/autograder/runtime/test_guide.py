"""What a student can ask for after a check: a failing case, hints, other ways."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from autograder.runtime.draw import Draw
from autograder.runtime.guide import STUBS, Case, Way
from autograder.runtime.hints import MistakeWords
from autograder.runtime.mistakes import fingerprint
from autograder.runtime.notebook import AutotestFailure, Checks, seed_of
from autograder.runtime.plain_data import encode
from tests.support.course import plain

SOURCE = """m, n = draw.sizes(2)
x, scale = draw.array(m, n), draw.integer(2, 9)
says("is right for a row", case=False)
check('twice(x[0])', points=1)
says("doubles")
check('twice(x)', points=1)"""
HALVED = MistakeWords("twice", "values", "Half.", "Which factor?", 'chapter 1, "A"')
WAYS = {
    "twice": [Way("By addition.", "x + x", "Nothing."), Way("By a loop.", "for row in x:", "Time.")]
}


def answer(value, **more):
    return {"value": encode(value), "parameters": [], "mistakes": {}, **more}


@pytest.fixture
def checks():
    made = Checks(
        {"halved": HALVED}, {"values": 'chapter 1, "B"'}, WAYS, graded={"values": ["twice"]}
    )
    drawn, small = Draw(seed_of("values")), Draw(seed_of("values"), small=True)
    x, smallest = (draw.array(*draw.sizes(2)) for draw in (drawn, small))
    assert smallest.shape == (2, 3) != x.shape
    halved = {"mistakes": {"halved": fingerprint(plain(x / 2))}}
    whole = answer(2 * x, small=answer(2 * smallest)) | halved
    row = answer(2 * x[0]) | {"mistakes": {"halved": fingerprint(plain(x[0] / 2))}}
    made.use_answers({"values": {"twice(x[0])": row, "twice(x)": whole}})
    return made


@pytest.fixture
def check(checks, capsys):
    """A function that checks an answer, and returns the notebook's guide."""

    def check(twice):
        with contextlib.suppress(AutotestFailure):
            checks.run_cell("values", SOURCE, {"twice": twice})
        capsys.readouterr()
        return checks.guide

    return check


def test_a_failing_case_is_the_smallest_and_has_no_more_than_the_line_uses(check):
    case = check(lambda x: x / 2).failing_case()
    assert list(vars(case)) == ["x", "check", "code", "expected", "yours", "difference"]
    assert case.x.shape == (2, 3) and case.check == "doubles"
    assert np.allclose(case.expected, 2 * case.x) and np.array_equal(case.yours, case.x / 2)
    rows = repr(case).splitlines()
    assert [row[:10].strip() for row in rows] == ["input", "expected", "yours"]
    assert sorted(case.x.ravel()) == [-3, -2, -1, 1, 2, 3] and "." not in rows[0] + rows[1]
    assert "every entry is 0.5 times" in case.difference or "entries differ" in case.difference


def test_where_the_last_check_has_passed_the_first_that_failed_is_spoken_of(checks, check, capsys):
    guide = check(lambda x: x / 2)
    guide.record("later", replace(guide._outcomes["values"], problems=[None]))
    guide.hint()
    assert capsys.readouterr().out.startswith("Hint 1 of ")
    assert guide.failing_case() is not None


def test_after_all_checks_the_first_that_failed_is_spoken_of_and_then_the_one_that_ran(
    check, capsys
):
    guide = check(lambda x: x / 2)
    later = replace(guide._outcomes["values"], hints=["another"])
    guide.record("later", later)
    assert "another" not in hints(guide, capsys, 1)[0]
    guide.record("later", later)
    assert hints(guide, capsys, 1) == ["Hint 1 of 1. another"]


def test_a_printed_case_is_short_however_large_its_inputs_are():
    case = Case(x=np.zeros((30, 40)), n=list(range(500)), expected=2 / 3, yours="an error")
    assert repr(case).splitlines() == [
        "input     x = ndarray of shape (30, 40): print(case.x)",
        "          n = list of 500: print(case.n)",
        "expected  0.6667",
        "yours     an error",
    ]


def test_where_the_smallest_case_passes_it_is_the_one_that_was_checked(check):
    case = check(lambda x: 2 * x if len(x) == 2 else x).failing_case()
    assert case.x.shape != (2, 3) and np.allclose(case.expected, 2 * case.x)


def test_an_answer_that_changes_its_argument_leaves_the_case_as_it_was_drawn(check):
    def in_place(x):
        x += 1
        return x

    case = check(in_place).failing_case()
    assert np.allclose(case.expected, 2 * case.x) and np.allclose(case.yours, case.x + 1)


def test_a_case_whose_answer_raises_says_so(check):
    def raises(x):
        raise ValueError("no")

    assert "ValueError: no" in check(raises).failing_case().yours


def test_without_a_failure_there_is_no_case_and_no_hint(checks, check, capsys):
    assert checks.guide.failing_case() is None
    check(lambda x: 2 * x)
    assert checks.guide.failing_case() is None
    checks.guide.hint()
    assert "run a check that fails first" in capsys.readouterr().out


def test_a_task_that_nobody_has_begun_has_no_hint(check, capsys):
    def not_begun(x):
        raise NotImplementedError("To do: write double")

    check(not_begun).hint()
    assert "no hint beyond what the check says" in capsys.readouterr().out


def test_a_line_whose_author_forbids_it_has_no_case(check, capsys):
    guide = check(lambda x: x if x.ndim == 1 else 2 * x)
    assert guide.failing_case() is None
    assert "shows no case" in capsys.readouterr().out


def hints(guide, capsys, number):
    for _ in range(number):
        guide.hint()
    return capsys.readouterr().out.splitlines()


def test_hints_lead_from_what_is_tested_to_what_to_read(check, capsys):
    lines = hints(check(lambda x: x / 2), capsys, 5)
    assert lines[0].startswith("Hint 1 of 4. This is about the check *is right for a row*. `case")
    assert lines[1:4] == [
        "Hint 2 of 4. Half.",
        "Hint 3 of 4. In `twice`: Which factor?",
        'Hint 4 of 4. Read again: chapter 1, "A"',
    ]
    assert lines[4] == lines[3]


def test_hints_about_what_nobody_knows_lead_to_the_case(check, capsys):
    lines = hints(check(lambda x: 7 * x + 1), capsys, 2)
    assert "failing_case()" in lines[0] and lines[1].endswith('chapter 1, "B"')


def test_other_ways_are_shown_once_all_of_a_task_is_passed(check, capsys):
    check(lambda x: x).discuss()
    assert "Pass all checks" in capsys.readouterr().out
    check(lambda x: 2 * x).discuss()
    shown = capsys.readouterr().out
    assert "`twice`" in shown and "    x + x\n" in shown and "What it costs: Time." in shown
    check(lambda x: x).discuss()
    assert "Pass all checks" in capsys.readouterr().out


def test_in_the_grader_they_do_nothing():
    names = {}
    exec(STUBS, names)
    for name in ("failing_case", "hint", "discuss", "progress"):
        assert names[name]() is None
    assert isinstance(Case(a=1), Case)
