"""What is expected of a grade cell, compared with evaluating everything."""

import pytest

from autograder.catalogue import mistake_answers, mistakes, with_answers
from autograder.dependencies import depends_on
from autograder.errors import CatalogueError
from autograder.exercises import grade_cells, released
from autograder.reference import Under, definitions, expected_cell, expected_cells
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.mistakes import fingerprint
from autograder.runtime.plain_data import decode, restore
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mistakes_that_are_skipped_would_have_given_the_right_value():
    """`expected_cell` leaves out mistakes of answers that a line doesn't use; here all are evaluated."""
    program = EXERCISE.program()
    skipped = 0
    for grade_id, source in grade_cells(released(EXERCISE)).items():
        for line in expected_cell(EXERCISE, grade_id, source, [[5]]).lines:
            (draw,) = line.draws
            found = {}
            for mistake in mistakes(EXERCISE):
                wrong = with_answers(program, mistake_answers(program, mistake))
                inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
                names, seed = definitions(wrong), draw.parameter_seed
                got = Evaluation.read(evaluate(line.expression, names, inputs, seed))
                if judge(Expected.read(draw.expected), got) is not None:
                    found[mistake.name] = fingerprint(got.value)
                else:
                    affected = depends_on(program, mistake.function)
                    skipped += not any(name in line.expression for name in affected)
            assert found == draw.mistakes, line.expression
    assert skipped > 100


def test_what_depends_on_an_answer_is_found_through_others():
    program = (
        "def a(): ...\ndef b(): return a()\nclass C:\n    def run(self): return b()\n"
        "def d(): return 'a'\n"
    )
    assert depends_on(program, "a") == {"a", "b", "C"}
    assert depends_on(program, "C") == {"C"}
    assert depends_on(program, "d") == {"d"}


def test_a_process_of_its_own_gives_the_same(tmp_path):
    cells = grade_cells(released(EXERCISE))
    one = next(iter(cells))
    several = [Under([[1], [2, 3]]), Under([[4]])]
    found = expected_cells(EXERCISE, {one: cells[one]}, several)
    alone = [{one: expected_cell(EXERCISE, one, cells[one], under.seeds)} for under in several]
    assert found == alone
    assert [len(line.draws) for line in found[0][one].lines] == [2] * len(found[0][one].lines)


def test_that_process_names_the_cell_whose_reference_is_wrong():
    with pytest.raises(
        CatalogueError, match=r"^solutions/ch1_additive_attention\.py, cell c: .*NameError"
    ):
        expected_cells(EXERCISE, {"c": "check('nothing(1)', points=1)"}, [Under([[1]])])
