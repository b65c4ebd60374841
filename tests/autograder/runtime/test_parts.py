"""Names of the parts of a line's value."""

from dataclasses import replace

import pytest

from autograder.runtime.compare import Difference, Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.messages import sentence
from autograder.runtime.parts import check_parts, part_name, with_names
from tests.support.course import plain

INPUTS = {"steps": [3, 7], "names": ["float32", "float64"]}
LOOP = """def calls(f, steps):
    found = []
    for n in steps:
        found.append(f(n))
    return found
calls(f, steps)"""
IN_TURN = "def turns(f, steps):\n    each = [f(n) for n in steps]\n"


def line(expression, parts):
    """A check with names for its parts."""
    (check,) = parse_cell(f"says('x', parts={parts!r})\ncheck({expression!r}, points=1)").checks
    return check


def test_a_list_names_each_part():
    check = line("f(steps)", ["output", "weights"])
    assert part_name(check, INPUTS, (1,)) == "weights"
    assert part_name(check, INPUTS, (1, 0)) is None


@pytest.mark.parametrize(
    ("expression", "template", "names"),
    [
        ("[f(n) for n in steps]", "step {n}", ["step 3", "step 7"]),
        ("[100 + f(n) for n in steps]", "step {n}", ["step 3", "step 7"]),
        ("[f(n, s) for n, s in zip(names, steps)]", "{n}, {s + 1}", ["float32, 4", "float64, 8"]),
        ("[f(first) for first in (True, False)]", "{first=}", ["first=True", "first=False"]),
        ("[f(n) for n in range(9) if n in steps]", "n = {n}", ["n = 3", "n = 7"]),
    ],
)
def test_a_template_names_the_parts_of_a_comprehension_by_its_loop_variables(
    expression, template, names
):
    check = line(expression, template)
    assert [part_name(check, INPUTS, (i,)) for i in range(2)] == names


def test_a_tuple_has_names_for_each_level():
    expression = "[[[kind(r), r] for r in [n, *steps]] for n in names]"
    check = line(expression, ("{n} inputs", "{r} of {n}", ["data type", "values"]))
    assert part_name(check, INPUTS, (1,)) == "float64 inputs"
    assert part_name(check, INPUTS, (1, 2)) == "7 of float64"
    assert part_name(check, INPUTS, (0, 2, 1)) == "values"
    assert part_name(line("f()", (None, ["a", "b"])), INPUTS, (0,)) is None
    assert part_name(line("f()", (None, ["a", "b"])), INPUTS, (0, 1)) == "b"


def test_names_stand_in_a_difference_beside_the_numbers():
    check = line("[f(n) for n in steps]", ("step {n}", ["a", "b"]))
    place = (("part", 2, 2), ("key", "k"), ("part", 1, 2), ("part", 1, 1))
    problem = Difference("number", {"expected": 1, "got": 2}, place)
    named = with_names(problem, check, INPUTS)
    assert named.place == (
        ("part", 2, 2, "step 7"),
        ("key", "k"),
        ("part", 1, 2, "a"),
        ("part", 1, 1),
    )
    assert sentence(named) == "in step 7, 'k', a, part 1 of 1: expected 1, got 2"


def test_parts_that_fit_are_accepted():
    check = line("inputs_after(f, steps, names)", (["steps", "names", "result"], ["a", "b"]))
    # a list that was handed over has parts, too: the names of one level hold for all of its lists
    check_parts(check, INPUTS, plain([[3, 7], ["float32", "float64"], [1, 2]]))
    check_parts(line("f()", ["a", "b"]), INPUTS, plain({"k": [1, 2], "m": 0}))


@pytest.mark.parametrize(
    ("expression", "parts", "complaint"),
    [
        ("f(steps)", ["a"], "are 1 names for 2 parts"),
        ("f(steps)", "step {n}", "needs a list comprehension, and `f(steps)` is none"),
        ("[f(n) for n in steps]", "step {m}", "raised NameError"),
        ("[f(n) for n in steps]", 5, "raised"),
    ],
)
def test_parts_that_do_not_fit_are_refused(expression, parts, complaint):
    with pytest.raises(ValueError, match=complaint.replace("(", r"\(").replace(")", r"\)")):
        check_parts(line(expression, parts), INPUTS, plain([1, 2]))


@pytest.mark.parametrize(
    ("expression", "parts", "words"),
    [
        ("[f(n) for n in steps]", "step {n}", "in step 7: your code raised"),
        ("[f(3), [f(3), f(7)]]", ["a", "b"], "in b: your code raised"),
        ("[[f(n), n] for n in steps]", ("step {n}", ["f", "n"]), "in step 7, f: your code raised"),
        ("[*[f(3)], f(7)]", ["a", "b"], "your code raised"),
        ("[f(7)]", (), "your code raised"),
        (LOOP, ["1st call", "2nd call"], "in 2nd call: your code raised"),
        (f"{LOOP} + [1]", ["1st call", "2nd call"], "your code raised"),
        (f"{IN_TURN}    return [f(3), *each]\nturns(f, steps)", ["a", "b", "c"], "in c: your code"),
        (
            f"{IN_TURN}    return [f(3), each]\nturns(f, steps)",
            (["a", "b"], ["x", "y"]),
            "in b, y: ",
        ),
        (
            f"{IN_TURN}    return [f(3), each + [1]]\nturns(f, steps)",
            ["a", "b"],
            "your code raised",
        ),
    ],
    ids=range(10),
)
def test_an_exception_names_the_part_in_which_it_came(expression, parts, words):
    functions, _, call = expression.rpartition("\n")
    check = replace(line(call, parts), functions=functions)

    def f(n):
        return [0, 0, 0, 1][n]

    found = Evaluation.read(evaluate(check.code, {"f": f}, INPUTS, 0))
    problem = with_names(judge(Expected(plain([1, 2])), found), check, INPUTS)
    assert sentence(problem).startswith(words)
