"""Scores of tokens with rotary positions, against complex numbers and a run of the model."""

import cmath

import pytest
import torch

from book.models.qk_circuit import qk_circuit, written_by
from solutions.attention_only import AttentionOnly


def slow_score(query, key, distance):
    """The score of lists of numbers, pair by pair as complex numbers."""
    d, total = len(query), 0.0
    for i in range(0, d, 2):
        angle = distance / 10000 ** (i / d)
        turned = complex(query[i], query[i + 1]) * cmath.exp(1j * angle)
        total += (turned * complex(key[i], key[i + 1]).conjugate()).real
    return total / d**0.5


@pytest.mark.parametrize("distance", [0, 1, 17])
def test_scores_are_those_of_a_loop_over_pairs_of_numbers(distance):
    torch.manual_seed(0)
    reads, stands = torch.randn(4, 6).double(), torch.randn(3, 6).double()
    w_q, w_k = torch.randn(2, 8, 6).double()
    slow = [
        [slow_score((w_q @ x).tolist(), (w_k @ y).tolist(), distance) for y in stands]
        for x in reads
    ]
    found = qk_circuit(reads, stands, w_q, w_k, distance)
    torch.testing.assert_close(found, torch.tensor(slow).double())


def test_scores_are_those_of_a_run():
    torch.manual_seed(1)
    model = AttentionOnly(9, 12, 3, 1)
    tokens = torch.tensor([[4, 7, 2, 0, 8, 1]])
    with torch.no_grad():
        weights = model.trace(tokens).weights[0, 0, 2, 5]
        layer, e = model.layers[0], model.embed.weight
        own = slice(8, 12)
        scores = torch.stack(
            [
                qk_circuit(e[[1]], e[[t]], layer.w_q.weight[own], layer.w_k.weight[own], 5 - place)[
                    0, 0
                ]
                for place, t in enumerate(tokens[0].tolist())
            ]
        )
    torch.testing.assert_close(weights, scores.softmax(0))


def test_what_a_head_writes_is_what_it_adds_with_all_weight_on_one_position():
    torch.manual_seed(2)
    model = AttentionOnly(9, 12, 3, 1)
    layer, own = model.layers[0], slice(4, 8)
    with torch.no_grad():
        # the first position sees only itself
        added = model.trace(torch.arange(9)[:, None]).added[0, :, 1, 0]
        found = written_by(model.embed.weight, layer.w_v.weight[own], layer.w_o.weight[:, own])
    torch.testing.assert_close(found, added)
