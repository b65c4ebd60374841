"""Muon for all matrices of a shape at once, beside PyTorch's, which goes through them one by one."""

import copy

import pytest
import torch

from translation.muon import Muon

SHAPES = [(8, 8), (12, 6), (6, 12), (8, 8), (5, 7), (12, 6)]


class Exact(torch.Tensor):
    """A gradient that PyTorch's Muon doesn't round to bfloat16."""

    def bfloat16(self):
        """As it is."""
        return self


def matrices(dtype):
    draw = torch.Generator().manual_seed(0)
    return [
        torch.nn.Parameter(torch.randn(*shape, generator=draw, dtype=torch.float64).to(dtype))
        for shape in SHAPES
    ]


def give_gradients(step, ours, theirs, kind=torch.Tensor):
    """The same to both; the fourth matrix has none in the second step, the fifth never has."""
    draw = torch.Generator().manual_seed(step)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        gradient = torch.randn(one.shape, generator=draw, dtype=torch.float64).to(one.dtype)
        left_out = number == 4 or (step, number) == (2, 3)
        one.grad = None if left_out else gradient
        other.grad = None if left_out else gradient.clone().as_subclass(kind)


def torch_muon(parameters, decay=0.1):
    return torch.optim.Muon(parameters, weight_decay=decay, adjust_lr_fn="match_rms_adamw")


@pytest.mark.parametrize("tensor", [False, True], ids=["rate", "rate in a tensor"])
def test_it_takes_the_steps_of_pytorchs_muon(tensor):
    ours, theirs = matrices(torch.float64), matrices(torch.float64)
    one, other = Muon(ours, 0.1, precision=torch.float64), torch_muon(theirs)
    for step, rate in enumerate([0.25, 0.5, 0.125, 1.0], 1):
        give_gradients(step, ours, theirs, Exact)
        one.param_groups[0]["lr"] = torch.tensor(rate).double() if tensor else rate
        other.param_groups[0]["lr"] = rate
        one.step()
        other.step()
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-10)
    start = matrices(torch.float64)
    assert torch.equal(ours[4], start[4])
    assert all((a - b).abs().max() > 0.1 for a, b in zip(ours[:4], start[:4], strict=True))


def test_it_goes_on_with_the_state_of_pytorchs_muon():
    """In float32, with steps in bfloat16, as in training."""
    ours, theirs = matrices(torch.float32), matrices(torch.float32)
    one, other = Muon(ours, 0.1), torch_muon(theirs)
    give_gradients(1, theirs, theirs)
    other.step()
    with torch.no_grad():
        for a, b in zip(ours, theirs, strict=True):
            a.copy_(b)
    one.load_state_dict(copy.deepcopy(other.state_dict()))
    fresh, begun = matrices(torch.float32), Muon(matrices(torch.float32), 0.1)
    assert not begun.state and fresh[0].grad is None
    give_gradients(2, ours, theirs)
    one.step()
    other.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-4)
    saved = one.state_dict()["state"]
    assert saved.keys() == other.state_dict()["state"].keys()
    assert all(
        torch.equal(saved[n]["momentum_buffer"], m["momentum_buffer"])
        for n, m in other.state_dict()["state"].items()
    )
