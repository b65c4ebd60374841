"""Training several networks at once gives what training each alone gives."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from book.models.side_by_side import train_side_by_side
from solutions.ch6_transformer import Transformer


def loss_of(model, x, wanted):
    return F.cross_entropy(model(x), wanted)


def transformer_loss(model, source, target):
    return F.cross_entropy(model(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten())


def small_network():
    return nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 3)).double()


def small_transformer():
    return Transformer(7, 8, 8, 2, 1, 12).double()


CASES = {
    "a small network": (
        small_network,
        loss_of,
        lambda: (torch.randn(3, 5, 4).double(), torch.randint(3, (3, 5))),
    ),
    "a Transformer": (
        small_transformer,
        transformer_loss,
        lambda: (torch.randint(7, (3, 2, 4)), torch.randint(8, (3, 2, 5))),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_networks_trained_side_by_side_are_those_trained_alone(case):
    make, loss, draw = CASES[case]
    torch.manual_seed(0)
    models = [make() for _ in range(3)]
    alone = copy.deepcopy(models)
    batches = [draw() for _ in range(6)]
    rates = torch.linspace(0.01, 0.05, 18).double().view(6, 3)
    left = iter(batches)
    losses = train_side_by_side(models, lambda: next(left), loss, rates)
    for i, model in enumerate(alone):
        optimiser = torch.optim.Adam(model.parameters())
        for step, batch in enumerate(batches):
            optimiser.param_groups[0]["lr"] = rates[step, i].item()
            value = loss(model, *(part[i] for part in batch))
            torch.testing.assert_close(losses[step, i], value.detach())
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
        for one, other in zip(model.parameters(), models[i].parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_networks_keep_their_own_starts_and_rates():
    torch.manual_seed(1)
    models = [small_network() for _ in range(3)]
    before = copy.deepcopy(models)
    rates = torch.tensor([[0.0, 0.1, 0.1]]).double().repeat(3, 1)
    losses = train_side_by_side(models, CASES["a small network"][2], loss_of, rates)
    assert losses.shape == (3, 3) and not losses.requires_grad
    for i, (model, old) in enumerate(zip(models, before, strict=True)):
        moved = (model[0].weight - old[0].weight).abs().max()
        assert (moved > 0.01) == (i > 0) and not model.training
