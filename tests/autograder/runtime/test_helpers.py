"""What autotest expressions may call: fill, gradients, raised, inputs_after."""

import numpy as np
import pytest
import torch
from torch import nn

from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.helpers import (
    Notes,
    Unusable,
    fill,
    gradients,
    inputs_after,
    raised,
    raised_naming,
)
from solutions import ch5_positional_encoding as ch5


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

    names, inputs = {"One": One, "Other": Other}, {"x": torch.ones(1, 2).double()}
    one, other, seed = (
        Evaluation.read(evaluate(expression, names, inputs, seed))
        for expression, seed in (
            ("fill(One())(x)", 5),
            ("fill(Other())(x)", 5),
            ("fill(Other())(x)", 6),
        )
    )
    expected = Expected(one.value, one.parameters)
    assert one.parameters == (
        {"a.weight": [3, 2], "a.bias": [3], "b.weight": [4, 3], "b.bias": [4]},
    )
    assert judge(expected, other) is None
    assert judge(expected, seed).aspect == "entries"


def test_parameters_of_one_shape_differ_by_their_names():
    """So that one put in the other's place shows."""
    module = fill(Notes(3), nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)}))
    assert (module["a"].weight != module["b"].weight).all()
    assert (module["a"].bias != module["b"].bias).all()


def test_filled_modules_share_no_memory():
    one, other = (fill(Notes(3), nn.Linear(2, 3)) for _ in range(2))
    with torch.no_grad():
        one.weight.zero_()
    assert other.weight.any()
    assert fill(Notes(3), nn.Linear(2, 3)).weight.any()


def test_fill_sets_buffers():
    table = torch.arange(12.0).reshape(6, 2)
    module = fill(Notes(0), ch5.PositionalEncoding(2, dropout=0.5, max_len=6), encoding=table)
    assert torch.equal(module(torch.zeros(1, 2, 2).double(), 3)[0], table[3:5].double())
    with pytest.raises(Unusable, match="your PositionalEncoding has no buffer `table`"):
        fill(Notes(0), ch5.PositionalEncoding(2), table=table)
    with pytest.raises(Unusable, match=r"not an nn\.Module, but of type int"):
        fill(Notes(0), 5)


def test_gradients_agree_with_autograd_and_name_what_they_do_not_reach():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    found = gradients(lambda x: (x**2).sum(), x)["inputs"][0]
    assert torch.allclose(found, 2 * x)
    assert gradients(lambda x: x.detach(), x)["inputs"] == ["no gradient reaches it"]


def test_inputs_after_shows_changes_in_place_and_the_result():
    def double(x):
        x *= 2
        return "done"

    x, result = inputs_after(double, np.ones(2))
    assert x.tolist() == [2, 2] and result == "done"


def test_raised_names_the_builtin_class_and_lets_to_do_through():
    class Mine(ValueError):
        pass

    def fail():
        raise Mine

    def to_do():
        raise NotImplementedError("To do: ...")

    assert raised(fail) == "ValueError"
    assert raised(int, "3") == "nothing"
    with pytest.raises(NotImplementedError):
        raised(to_do)


@pytest.mark.parametrize(
    ("message", "names"),
    [("12 % 5", "12 and 5"), ("n=5, d=12!", "12 and 5"), ("5 heads", "5"), ("125", "none")],
)
def test_raised_naming_tells_which_arguments_the_message_names(message, names):
    def fail(width, number):
        raise ValueError(message)

    def to_do(width, number):
        raise NotImplementedError("To do: ...")

    assert raised_naming(fail, 12, 5) == f"ValueError that names {names}"
    assert raised_naming(max, 12, 5) == "nothing"
    with pytest.raises(NotImplementedError):
        raised_naming(to_do, 12, 5)
