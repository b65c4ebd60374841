"""The checks themselves: drawing, plain data, comparing, recognising."""

import base64
import json
import runpy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.runtime import autotest


def plain(value):
    return autotest.decode(json.loads(json.dumps(autotest.encode(value))))


def aspect(expected, got):
    problem = autotest.difference(plain(expected), plain(got))
    return problem and problem["aspect"]


def test_the_stream_of_draws_is_frozen():
    draw = autotest.Draw(1, 2)
    assert draw.sizes(4) == [4, 7, 3, 6]
    assert draw.array(2, 2).tolist() == [[0.7296, 1.9988], [1.6788, -0.7005]]


def test_sizes_are_distinct_and_masks_leave_something_and_hide_something():
    for seed in range(50):
        draw = autotest.Draw(seed)
        sizes = draw.sizes(5)
        assert len(set(sizes)) == 5 and min(sizes) >= 2 and max(sizes) <= 9
        mask = draw.mask(3, 4, 5)
        assert mask.any(-1).all() and not mask.all(-1).any()
        assert (draw.mask(3, 4, 5, empty=2).any(-1) == 0).sum() == 2


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        "text",
        [1, (2.5, None)],
        {"a": np.arange(6.0).reshape(2, 3)},
        torch.tensor([[1.5, float("nan")]]),
        torch.ones(2, dtype=torch.bfloat16),
        np.zeros((0, 3)),
        np.asfortranarray(np.arange(6).reshape(2, 3))[:, ::-1],
        np.array([1.0, 2.0], dtype=">f8"),
    ],
)
def test_plain_data_survives_the_journey(value):
    back = autotest.restore(plain(value))
    assert autotest.difference(plain(value), plain(back)) is None
    if isinstance(value, np.ndarray):
        assert np.array_equal(value, back) and back.dtype.kind == value.dtype.kind


def deep(levels):
    tree = {"kind": "none"}
    for _ in range(levels):
        tree = {"kind": "list", "items": [tree]}
    return tree


EIGHT = base64.b64encode(b"12345678").decode()


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {"kind": "code"},
        {"kind": "number", "value": "1"},
        {"kind": "number", "value": [1]},
        {"kind": "list", "items": {}},
        deep(200),
        {"kind": "array", "dtype": "object", "shape": [1], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [2], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [-1], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [10**12], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [1] * 40, "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [True], "data": EIGHT},
        {"kind": "array", "dtype": "float64", "shape": [1], "data": "!!"},
        {"kind": "array", "dtype": "float64", "shape": [1], "data": [{}]},
    ],
)
def test_what_is_not_plain_data_is_refused(tree):
    with pytest.raises(autotest.PlainDataError):
        autotest.decode(tree)


def test_differences_are_named_by_the_first_property_that_breaks():
    weights = np.array([[0.2, 0.8, 0.0], [0.5, 0.25, 0.25]])
    assert aspect(weights, weights + 1e-12) is None
    assert aspect(weights, torch.from_numpy(weights)) == "kind"
    assert aspect(weights, weights[:, None]) == "shape"
    assert aspect(weights, weights.astype(int)) == "dtype"
    assert aspect(weights, np.where(weights > 0.7, np.nan, weights)) == "finite"
    assert aspect(weights, weights + 1e-3) == "mask"
    assert aspect(weights, weights * [[2], [1]]) == "rows"
    assert aspect(weights - 5, 3 * (weights - 5)) == "scale"
    assert aspect(weights, weights[:, [1, 0, 2]]) == "value"
    assert aspect([1, 2], (1, 2)) is None
    assert aspect({"a": 1}, {"b": 1}) == "kind"
    assert aspect(3, 4) == "value"
    assert aspect(3.0, np.float32(3.0)) is None
    assert aspect(0.5, torch.tensor(0.5)) is None
    assert aspect(True, 1) == "value"


def test_a_float32_result_is_accepted_and_a_rounded_one_is_not():
    values = np.random.RandomState(0).standard_normal((4, 5))
    assert aspect(values, values.astype(np.float32)) is None
    assert aspect(values, np.round(values, 3)) == "value"


def test_the_message_names_place_and_both_numbers():
    expected, got = np.zeros((2, 3)), np.zeros((2, 3))
    got[1, 2] = 7
    message = autotest.difference(plain([expected]), plain([got]))["message"]
    assert "part 1 of 1" in message and "[1, 2]" in message
    assert "expected 0" in message and "got 7" in message


def test_fingerprints_tell_values_apart_and_forgive_rounding():
    values = np.random.RandomState(0).standard_normal((4, 5))
    one = autotest.fingerprint(plain(values))
    assert autotest.same_fingerprint(one, autotest.fingerprint(plain(values * (1 + 1e-9))))
    assert not autotest.same_fingerprint(one, autotest.fingerprint(plain(values[::-1])))
    assert not autotest.same_fingerprint(one, autotest.fingerprint(plain(values.T)))
    assert not autotest.same_fingerprint(one, autotest.fingerprint(plain(-values)))


@pytest.mark.parametrize("options", [{"threshold": 5}, {"linewidth": 20}, {"legacy": "1.13"}])
def test_a_fingerprint_does_not_depend_on_print_options(options):
    one = np.where(np.arange(1500) % 3 == 0, np.nan, 1.0)
    one[3], other = np.inf, one.copy()
    other[[750, 751]] = other[[751, 750]]
    before = autotest.fingerprint(plain(one))
    with np.printoptions(**options):
        assert autotest.fingerprint(plain(one)) == before
    assert autotest.fingerprint(plain(other))[0] != before[0]


def test_indices_in_a_fingerprint_are_shown_as_numpy_shows_short_arrays():
    random = np.random.RandomState(0)
    for length in (0, 1, 2, 18, 19, 20, 24, 25, 26, 37, 38, 200, 999):
        for largest in (999, 1001, 9_999, 100_000):
            indices = np.sort(random.choice(largest, length, replace=False))
            assert autotest._shown_indices(indices.tolist()) == str(indices)


def test_a_mistake_is_named_only_if_it_explains_every_line():
    def line(passed, value, **mistakes):
        prints = {k: autotest.fingerprint(plain(v)) for k, v in mistakes.items()}
        found = autotest.fingerprint(plain(value))
        return {"passed": passed, "fingerprint": found, "mistakes": prints}

    both = [line(False, 2.0, a=2.0, b=2.0), line(False, 3.0, a=3.0, b=4.0)]
    assert autotest.recognise(both, own="ab", known=()) == "a"
    assert autotest.recognise(both[:1], own="ab", known=()) is None
    assert autotest.recognise(both[:1], own="ab", known=["b"]) == "b"
    assert autotest.recognise(both, own=(), known=["b"]) is None
    assert autotest.recognise([*both, line(False, 9.0)], own="ab", known=()) is None
    assert autotest.recognise([line(True, 1.0, a=2.0)], own="ab", known=()) is None


def test_a_mistake_that_another_cell_catches_is_named_only_after_that_cell():
    value = autotest.fingerprint(plain(2.0))
    lines = [{"passed": False, "fingerprint": value, "mistakes": {"a": value}}]
    assert autotest.recognise(lines, own=(), known=()) is None
    assert autotest.recognise(lines, own=(), known=["a"]) == "a"


def test_an_evaluation_never_raises_but_tells():
    def error(expression):
        value = autotest.evaluate(expression, {"exit": exit}, 0)["value"]
        return value["kind"], value.get("name")

    assert error("1/0") == ("error", "ZeroDivisionError")
    assert error("exit(3)") == ("error", "SystemExit")
    assert error("lambda: 0") == ("unsupported", None)
    assert error("[" * 20 + "]" * 20) == ("error", "PlainDataError")


def test_fill_sets_by_name_whatever_the_order_of_creation():
    class One(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 4)

        def forward(self, x):
            return self.b(self.a(x))

    class Other(One):
        def __init__(self):
            nn.Module.__init__(self)
            self.drop = nn.Dropout(0.9)
            self.b, self.a = nn.Linear(3, 4), nn.Linear(2, 3)

        def forward(self, x):
            return self.b(self.drop(self.a(x)))

    names = {**autotest.HELPERS, "One": One, "Other": Other, "x": torch.ones(1, 2).double()}
    one = autotest.evaluate("fill(One())(x)", names, 5)
    other = autotest.evaluate("fill(Other())(x)", names, 5)
    assert autotest.judge(one, other)["passed"]
    assert not autotest.judge(one, autotest.evaluate("fill(Other())(x)", names, 6))["passed"]


def test_gradients_agree_with_autograd_and_name_what_they_do_not_reach():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    found = autotest.gradients(lambda x: (x**2).sum(), x)["inputs"][0]
    assert torch.allclose(found, 2 * x)
    assert autotest.gradients(lambda x: x.detach(), x)["inputs"] == ["no gradient reaches it"]


def test_raised_names_the_builtin_class_and_lets_to_do_through():
    class Mine(ValueError):
        pass

    def fail():
        raise Mine

    def to_do():
        raise NotImplementedError("To do: ...")

    assert autotest.raised(fail) == "ValueError"
    assert autotest.raised(int, "3") == "nothing"
    with pytest.raises(NotImplementedError):
        autotest.raised(to_do)


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
        got = autotest.evaluate(expression, names, 0, forbidden)
        assert got["forbidden"], expression
        verdict = autotest.judge(got, got)
        assert not verdict["passed"] and verdict["aspect"] == "forbidden"
    assert early(q, q, q).shape == q.shape
    assert nn.MultiheadAttention(4, 2)(q, q, q)[0].shape == q.shape


def test_a_cell_is_read_into_its_steps():
    source = "%%autotest c\nforbid('Transformer')\nx = 1\ncheck('f(x)', points=2, answer='a')"
    forbidden, steps = autotest.parse_cell(source)
    assert forbidden == ["Transformer"]
    assert steps == ["x = 1", {"expression": "f(x)", "points": 2, "answer": "a"}]


def test_each_line_gets_inputs_that_nobody_has_changed():
    steps = ["x = np.zeros(2)", {"expression": "a"}, {"expression": "b"}]
    seen = []
    for _, inputs in autotest.lines_with_inputs(steps, autotest.Draw(0)):
        seen.append(inputs["x"].tolist())
        inputs["x"] += 1
    assert seen == [[0, 0], [0, 0]]


AGREEMENT = """%%autotest c
agreement('targets', share=0.75, seconds=40)
targets = [[int(n)] for n in draw.permutation(8)]
rows = targets[::-1]
check('answer(rows)', points=2)"""


def test_a_share_of_a_list_can_be_asked_for():
    _, steps = autotest.parse_cell(AGREEMENT)
    (line,) = (step for step in steps if isinstance(step, dict))
    assert (line["truth"], line["share"], line["seconds"]) == ("targets", 0.75, 40)
    expected = {"value": autotest.encode([[1, 2], [3], [4], [5]]), "share": 0.75}

    def judged(value):
        return autotest.judge(expected, {"value": autotest.encode(value)})

    assert judged([[1, 2], [3], [4], [5]])["passed"]
    assert judged([[1, 2], [3], [4], [0]])["passed"]
    half = judged([[1, 2], [3], [0], "five"])
    assert not half["passed"] and half["aspect"] == "agreement"
    assert "2 of 4 parts are right, 75% are asked for" in half["message"]
    assert "part 3" in half["message"]
    for other in (None, [], [[1, 2], [3], [4]], {"0": [1, 2]}, torch.ones(4), "text"):
        assert not judged(other)["passed"]
    error = autotest.evaluate("1 / 0", {}, 0)
    assert autotest.judge(expected, error)["aspect"] == "error"


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
        value = autotest.evaluate(f"{name}()(1)", names, 0)["value"]
        assert value["kind"] == "error"
        assert value["at"].startswith(f"return torch.nn.functional.{line}"), value
