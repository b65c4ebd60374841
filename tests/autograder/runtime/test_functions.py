"""Functions of grade cells: what a line calls, what is evaluated, what a person is shown."""

import ast

import pytest

from autograder.programs import names_in
from autograder.runtime.draw import Draw
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.functions import returned, shown
from autograder.runtime.grade_cell import checks_with_inputs, parse_cell
from autograder.runtime.offsets import added_constant
from autograder.runtime.parts import part_name
from autograder.runtime.plain_data import Error, Number

SOURCE = """def twice(x):
    return 2 * answer(x)


def sums(x, y):
    # both, one after the other
    first = twice(x) + 1
    return [100 + first, 100 + twice(y)]


def drawn(draw):
    return draw.integer(2, 9), 1


def unchanged(x):
    return [answer(x), answer(x)]


x, y = drawn(draw)
equal("it moves", unchanged)
says("adds", parts=["x", "y"])
check('sums', points=1)
check('twice', points=1)
check('[answer(n) for n in (x, y)]', points=1)"""
SUMS, TWICE, PLAIN = parse_cell(SOURCE).checks


def test_a_lines_code_is_the_functions_that_it_uses_and_their_call():
    assert SUMS.code.startswith("def twice(x):") and SUMS.code.endswith("\n\n\nsums(x, y)")
    assert "drawn" not in SUMS.code and "unchanged" not in SUMS.code
    assert (SUMS.call, TWICE.call, PLAIN.code) == ("sums(x, y)", "twice(x)", PLAIN.expression)
    assert "answer" in names_in(TWICE.code)
    (relation,) = parse_cell(SOURCE).relations
    assert relation.expression.endswith("\n\n\nunchanged(x)")


def test_functions_are_no_inputs_and_draw_them():
    ((_, inputs), *_) = checks_with_inputs(parse_cell(SOURCE), Draw(0))
    assert set(inputs) == {"x", "y"}


def test_what_is_asked_is_code_without_comments_and_relations():
    asks = parse_cell(SOURCE).asks()
    assert asks == parse_cell(SOURCE.replace("    # both, one after the other\n", "")).asks()
    assert asks == parse_cell(SOURCE.replace("[answer(x), answer(x)]", "[1, 2]")).asks()
    assert asks != parse_cell(SOURCE.replace("2 * answer", "3 * answer")).asks()


def test_a_person_reads_what_is_returned_or_the_functions():
    assert shown(TWICE.code) == "2 * answer(x)" and shown(PLAIN.code) == PLAIN.expression
    assert shown(SUMS.code) == SUMS.code.rpartition("\n\n\n")[0]
    assert ast.unparse(returned(SUMS.code)) == "[100 + first, 100 + twice(y)]"
    assert added_constant(SUMS.code, (("part", 2),)) == 100
    assert part_name(SUMS, {"x": 1, "y": 2}, (1,)) == "y"


def test_no_name_of_a_notebook_or_an_input_takes_the_place_of_a_function():
    def forged(*_):
        return 0

    names = {"answer": lambda x: x, "sums": forged, "twice": forged}
    got = Evaluation.read(evaluate(TWICE.code, names, {"x": 5, "twice": forged}, 0))
    assert got.value == Number(10)


def test_frames_of_a_function_are_the_checks_own():
    namespace = {}
    exec(compile("def answer(x):\n    return x / 0", "student.py", "exec"), namespace)
    error = Evaluation.read(evaluate(TWICE.code, namespace, {"x": 1.0}, 0)).value
    assert isinstance(error, Error) and not error.by_check
    error = Evaluation.read(
        evaluate("def f(x):\n    return x[1]\n\n\nf(x)", {}, {"x": ()}, 0)
    ).value
    assert isinstance(error, Error) and error.by_check and error.at == ""


def test_a_relation_that_names_no_function_is_refused():
    with pytest.raises(ValueError, match="`moved` is no function"):
        parse_cell("equal('it moves', moved)")
