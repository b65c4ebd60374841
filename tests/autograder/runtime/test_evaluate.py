"""Evaluating an expression: never an exception, always data."""

import json
import linecache
import runpy
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import BUILT_SO_FAR, Evaluation, evaluate, serve
from autograder.runtime.plain_data import Error, Unsupported, decode, encode, restore


def value_of(expression, names=None, inputs=None, seed=0):
    return Evaluation.read(evaluate(expression, names or {}, inputs or {}, seed)).value


def test_an_evaluation_never_raises_but_tells():
    def error(expression):
        value = value_of(expression, {"exit": exit})
        return type(value), getattr(value, "name", None)

    assert error("1/0") == (Error, "ZeroDivisionError")
    assert error("exit(3)") == (Error, "SystemExit")
    assert error("lambda: 0") == (Unsupported, None)
    assert error("[" * 20 + "]" * 20) == (Error, "PlainDataError")


def test_an_interrupt_is_not_caught():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("interrupt()", {"interrupt": interrupt}, {}, 0)


def test_inputs_shadow_helpers_and_helpers_shadow_a_notebooks_names():
    names = {"sum": lambda x: "theirs", "x": "theirs"}
    assert restore(value_of("sum([1, 2])", names)) == 3
    assert restore(value_of("x", names, {"x": 1})) == 1


def test_what_a_notebook_sets_for_itself_makes_no_answer_raise():
    before = np.seterr(all="raise"), torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        with warnings.catch_warnings(action="error"), torch.no_grad():
            with pytest.warns(RuntimeWarning, match="divide by zero"):
                one = value_of("np.array([1.0]) / 0")
            # a notebook that asks for half precision gets no tables in half precision
            two = value_of("dtype_of(torch.ones(1))")
            three = value_of("torch.ones(1, requires_grad=True).exp().requires_grad")
        assert torch.get_default_dtype() == torch.float16
    finally:
        np.seterr(**before[0])
        torch.set_default_dtype(before[1])
    assert np.isposinf(restore(one)).all()
    assert restore(two) == "float32" and restore(three) is True


def test_random_numbers_are_those_of_the_draw():
    expression = "[np.random.random(), torch.rand(1).item()]"
    one, other, third = (restore(value_of(expression, seed=seed)) for seed in (1, 1, 2))
    assert one == other
    assert one[0] != third[0] and one[1] != third[1]


def test_forbidden_calls_are_refused_only_while_the_cell_runs():
    early = F.scaled_dot_product_attention
    q = torch.randn(2, 3, 4)

    def sneaky():
        try:
            return early(q, q, q)
        except RuntimeError:
            return q

    names = {"early": early, "q": q, "sneaky": sneaky, "nn": nn}
    forbidden = ["scaled_dot_product_attention", "MultiheadAttention"]
    for expression in ("early(q, q, q)", "sneaky()", "nn.MultiheadAttention(4, 2)(q, q, q)"):
        got = Evaluation.read(evaluate(expression, names, {}, 0, forbidden))
        assert got.forbidden, expression
        # even when what comes is what is expected
        problem = judge(Expected(got.value), got)
        assert problem.aspect == "forbidden" and problem.parameters["names"]
    assert early(q, q, q).shape == q.shape
    assert nn.MultiheadAttention(4, 2)(q, q, q)[0].shape == q.shape


def test_an_error_shows_the_last_line_of_the_students_own(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(
        "import torch\n\n\nclass Answer(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.nn.functional.linear_cross_entropy_of_nothing(x)\n\n\n"
        "class Deep(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.nn.functional.multi_head_attention_forward(x, x, x, 1, 1, *[None] * 6, x, x)\n"
    )
    names = runpy.run_path(str(path))
    for name, line in (("Answer", "linear_cross"), ("Deep", "multi_head")):
        value = value_of(f"{name}()(1)", names)
        assert isinstance(value, Error)
        assert value.at.startswith(f"return torch.nn.functional.{line}"), value


def test_a_request_of_several_draws_is_served_as_json():
    draws = [{"inputs": {"x": encode(np.full(2, float(n)))}, "parameter_seed": n} for n in range(3)]
    job = {"expression": "double(x)", "forbidden": [], "draws": draws}
    found = json.loads(serve(json.dumps(job), {"double": lambda x: 2 * x}))
    assert [restore(decode(one["value"])).tolist() for one in found] == [[0, 0], [2, 2], [4, 4]]


@pytest.mark.parametrize(
    "data", [None, [], "text", {}, {"value": 3}, {"value": {"kind": "code"}, "parameters": []}]
)
def test_what_is_no_evaluation_is_refused(data):
    with pytest.raises(ValueError):
        Evaluation.read(data)


def test_odd_parameters_and_names_of_an_evaluation_are_left_out():
    data = {
        "value": {"kind": "none"},
        "parameters": [{"a": [1, 2], "b": "x", "c": [1.5], "d": [1] * 99}, 7],
        "forbidden": ["x" * 900] * 90,
    }
    read = Evaluation.read(data)
    assert read.parameters == ({"a": [1, 2]},)
    assert len(read.forbidden) == 20 and set(map(len, read.forbidden)) == {60}


def module_of(name, source):
    """The names of a program whose lines can be shown, as those of a notebook's cell."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {}
    exec(compile(source, name, "exec"), names)
    return names


def test_an_error_names_the_students_line_and_the_courses_line_inside():
    given = module_of("cell-1", f"{BUILT_SO_FAR}\ndef given(x):\n    return 1 / x\n")
    own = module_of("cell-2", "def own(given, x):\n    return given(x)\n")
    value = evaluate("own(given, 0)", {**given, **own}, {}, 0)["value"]
    assert value["at"] == "return given(x)" and value["inside"] == "return 1 / x"
    assert value["by_check"] is False
    value = evaluate("own(lambda x: x / 0, 1)", own, {}, 0)["value"]
    assert value["at"] == "return given(x)" and value["inside"] == ""


@pytest.mark.parametrize("expression", ["f()[0]", "fill(f(), table=1)", "f(1)"])
def test_an_error_of_the_check_itself_is_not_called_the_students(expression):
    value = evaluate(expression, {"f": lambda: None}, {}, 0)["value"]
    assert value["by_check"] is True and value["at"] == ""
