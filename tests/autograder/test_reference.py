"""What is expected of a grade cell, compared with evaluating everything."""

import itertools
import json
from dataclasses import asdict

import pytest

from autograder.catalogue import mistake_answers, mistakes, with_answers
from autograder.dependencies import depends_on
from autograder.errors import CatalogueError
from autograder.exercises import grade_cells, released
from autograder.expected import ExpectedCell
from autograder.reference import (
    Asked,
    Conditions,
    expected_cell,
    expected_cells,
    namespace_of,
    wrong_print,
)
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.plain_data import decode, restore
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")


@pytest.fixture
def sampled(few_mistakes):
    """The exercise with a sample of its known mistakes."""
    return few_mistakes.exercise(EXERCISE.name)


@pytest.mark.filterwarnings("ignore")
def test_mistakes_that_are_skipped_would_have_given_the_right_value(sampled):
    """`expected_cell` leaves out mistakes of answers that a line doesn't use; here all are evaluated."""
    program = sampled.program()
    skipped = 0
    for grade_id, source in grade_cells(released(sampled)).items():
        for line in expected_cell(sampled, grade_id, source, [[5]]).lines:
            (draw,) = line.draws
            found = {}
            for mistake in mistakes(sampled):
                wrong = with_answers(program, mistake_answers(program, mistake))
                inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
                names, seed = namespace_of(wrong), draw.parameter_seed
                got = Evaluation.read(evaluate(line.code, names, inputs, seed))
                if judge(Expected.read(draw.expected), got) is not None:
                    found[mistake.name] = wrong_print(program, got.value)
                else:
                    affected = depends_on(program, mistake.function)
                    skipped += not any(name in line.expression for name in affected)
            assert found == draw.mistakes, line.expression
    assert skipped > 15


def test_what_depends_on_an_answer_is_found_through_others():
    program = (
        "def a(): ...\ndef b(): return a()\nclass C:\n    def run(self): return b()\n"
        "def d(): return 'a'\n"
    )
    assert depends_on(program, "a") == {"a", "b", "C"}
    assert depends_on(program, "C") == {"C"}
    assert depends_on(program, "d") == {"d"}


def test_a_process_of_its_own_gives_the_same(sampled):
    cells = grade_cells(released(sampled))
    one = next(iter(cells))
    several = [Conditions([[1], [2, 3]]), Conditions([[4]])]
    found = expected_cells(sampled, {one: cells[one]}, several)
    alone = [{one: expected_cell(sampled, one, cells[one], under.seeds)} for under in several]
    assert found == alone
    assert [len(line.draws) for line in found[0][one].lines] == [2] * len(found[0][one].lines)


def test_processes_that_share_the_mistakes_give_the_same_in_the_same_order(sampled):
    cells = dict(itertools.islice(grade_cells(released(sampled)).items(), 2))
    one, many = (expected_cells(sampled, cells, [Conditions([[1], [2]])], n) for n in (1, 3))
    prints = [
        draw.mistakes for cell in one[0].values() for line in cell.lines for draw in line.draws
    ]
    assert max(map(len, prints)) > 3
    # as text, which has an order
    assert json.dumps([asdict(cell) for cell in one[0].values()]) == json.dumps(
        [asdict(cell) for cell in many[0].values()]
    )


def test_expected_cells_as_data_are_what_asdict_gives_in_the_same_order(sampled):
    for name, source in grade_cells(released(sampled)).items():
        cell = expected_cell(sampled, name, source, [[1]], Asked(elsewhere=0), for_release=True)
        assert json.dumps(cell.as_data()) == json.dumps(asdict(cell))
        assert ExpectedCell.read(json.loads(json.dumps(cell.as_data()))).lines


def test_that_process_names_the_cell_whose_reference_is_wrong():
    with pytest.raises(
        CatalogueError, match=r"^solutions/ch1_additive_attention\.py, cell c: .*NameError"
    ):
        expected_cells(EXERCISE, {"c": "check('nothing(1)', points=1)"}, [Conditions([[1]])])


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("equal('the sign counts', '[x, -x]')", "violates the relation 'the sign counts'"),
        ("unequal('nothing counts', '[x, +x]')", "violates the relation 'nothing counts'"),
        ("equal('one result', 'x')", "at least two results"),
        # a grader has only what the lines name
        ("equal('unknown to the line', '[n, n]')", "NameError: name 'n' is not defined"),
    ],
)
def test_a_relation_that_the_reference_does_not_keep_is_refused(statement, words):
    source = f"n = draw.integer(2, 9)\nx = draw.array(n)\n{statement}\ncheck('x + 0', points=1)"
    with pytest.raises(CatalogueError, match=words):
        expected_cell(EXERCISE, "c", source, [[1]], for_release=True)
    # it costs nobody a grading
    assert expected_cell(EXERCISE, "c", source, [[1]]).lines


def test_relations_that_the_reference_keeps_change_nothing_of_what_is_expected():
    plain = "x = draw.array(5)\ncheck('x + 0', points=1)"
    both = "equal('a', '[x, x + 0]')\nunequal('b', '[x, -x]')\n"
    cells = [
        expected_cell(EXERCISE, "c", source, [[1], [2]], for_release=True)
        for source in (plain, plain.replace("check", f"{both}check"))
    ]
    assert cells[0] == cells[1]
