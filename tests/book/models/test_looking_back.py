"""Chapter 5's tasks and networks, against loops."""

import itertools
import math
from collections import Counter

import pytest
import torch

from book.models.looking_back import (
    FARTHEST,
    N_BUCKETS,
    N_DIGITS,
    N_HEADS,
    NO_ANSWER,
    TASKS,
    Decoder,
    Layer,
    accuracy,
    bucket,
    guesses_from_bags,
    streams,
    trained,
)
from solutions.ch5_positional_encoding import rope, sinusoidal

KINDS = ["none", "sinusoidal", "learned", "Shaw", "T5", "RoPE", "ALiBi"]


def make(kind, n_layers=1):
    """An untrained network whose relative biases aren't zero."""
    torch.manual_seed(0)
    model = Decoder(kind, n_layers)
    for layer in model.layers:
        if kind == "T5":
            torch.nn.init.normal_(layer.bias)
    return model


def test_answers_are_those_of_a_loop():
    torch.manual_seed(0)
    tokens, answers = streams(50, 12)
    assert answers.shape == (len(TASKS), 50, 12)
    for b, row in enumerate(tokens.tolist()):
        for t in range(12):
            digits = [token for token in row[: t + 1] if token < N_DIGITS]
            assert answers[0, b, t] == digits[-1]
            assert answers[1, b, t] == (row[t - 3] if t >= 3 else NO_ANSWER)
            assert answers[2, b, t] == row[0] == digits[0]
    assert 0.2 < (tokens < N_DIGITS).double().mean() < 0.45


def test_buckets_are_exact_then_logarithmic_then_one():
    found = bucket(torch.arange(200)).tolist()
    exact = N_BUCKETS // 2
    assert found[:exact] == list(range(exact))
    for distance in range(exact, FARTHEST):
        part = math.log(distance / exact) / math.log(FARTHEST / exact)
        assert found[distance] == exact + int(part * exact + 1e-9)
    assert set(found[FARTHEST:]) == {N_BUCKETS - 1}
    # every bucket occurs at the length of training
    assert set(found[:FARTHEST]) == set(range(N_BUCKETS))


@pytest.mark.parametrize("kind", KINDS)
def test_no_network_sees_the_future_and_all_see_the_past(kind):
    model = make(kind, n_layers=2)
    tokens, _ = streams(1, 20)
    scores, weights = model(tokens)
    assert weights.shape == (1, N_HEADS, 20, 20)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(1, N_HEADS, 20))
    tokens[0, 9] = (tokens[0, 9] + 1) % 16
    moved = (model(tokens)[0] - scores).abs().amax(dim=-1)[0] > 1e-7
    assert moved.tolist() == [False] * 9 + [True] * 11


@pytest.mark.parametrize("kind", KINDS)
def test_who_can_tell_the_order_of_earlier_tokens(kind):
    tokens = torch.tensor([[0, 9, 10, 11, 12]])
    other = torch.tensor([[0, 10, 9, 11, 12]])
    for n_layers in (1, 2):
        model = make(kind, n_layers)
        difference = (model(tokens)[0] - model(other)[0])[0, -1].abs().max()
        # without positions, one layer sees a bag of tokens, and two layers don't
        assert (difference > 1e-5) == (kind != "none" or n_layers == 2)


def test_turning_pairs_is_rope():
    torch.manual_seed(0)
    layer, x = Layer("RoPE", theta=500.0), torch.randn(2, N_HEADS, 7, 8)
    torch.testing.assert_close(layer.turned(x), rope(x, torch.arange(7), 500.0))


def test_relative_biases_are_those_of_a_loop():
    torch.manual_seed(0)
    x = torch.randn(1, 20, 32)
    for kind in ("none", "Shaw", "T5"):
        layer = Layer(kind)
        if kind == "T5":
            torch.nn.init.normal_(layer.bias)
        query, key, _ = layer.heads(layer.norm(x)).unflatten(-1, (3, N_HEADS, 8)).unbind(2)
        for head, i in ((1, 19), (3, 5)):
            scores = []
            for j in range(i + 1):
                asked, found = query[0, i, head], key[0, j, head]
                if kind == "Shaw":
                    found = found + layer.vectors[min(i - j, FARTHEST - 1)]
                score = asked @ found / math.sqrt(8)
                if kind == "T5":
                    score = score + layer.bias[bucket(torch.tensor(i - j)), head]
                scores.append(score)
            expected = torch.stack(scores).softmax(dim=0)
            torch.testing.assert_close(layer(x)[1][0, head, i, : i + 1], expected)


def test_a_factor_on_the_scores_sharpens():
    torch.manual_seed(0)
    layer, x = Layer("RoPE"), torch.randn(1, 9, 32)
    before = layer(x)[1]
    layer.sharpness = 2.0
    power = before**2
    torch.testing.assert_close(layer(x)[1], power / power.sum(dim=-1, keepdim=True))


def test_the_table_of_sines_can_be_another():
    model = make("sinusoidal")
    tokens, _ = streams(1, 20)
    before = model(tokens)[0]
    model.table = lambda T, d_model: sinusoidal(T + 5, d_model)[5:]
    assert (model(tokens)[0] - before).abs().max() > 0.01
    plain = make("sinusoidal")
    plain.table = lambda T, d_model: torch.zeros(T, d_model)
    torch.testing.assert_close(plain(tokens)[0], make("none")(tokens)[0])


def test_no_guess_from_a_bag_is_better():
    torch.manual_seed(0)
    tokens, _ = streams(40, 7)
    guesses = guesses_from_bags(tokens)
    for b, row in enumerate(tokens.tolist()):
        for t, now in enumerate(row):
            # all orders of the earlier tokens are equally likely, if a digit stands first
            orders = [
                order for order in itertools.permutations(row[:t]) if t and order[0] < N_DIGITS
            ]
            streams_so_far = [(*order, now) for order in orders] or [(now,)]
            right = [
                Counter(next(i for i in reversed(s) if i < N_DIGITS) for s in streams_so_far),
                Counter(s[t - 3] for s in streams_so_far) if t >= 3 else Counter(),
                Counter(s[0] for s in streams_so_far),
            ]
            for task, counted in enumerate(right):
                best = max(counted.values(), default=0)
                assert counted[guesses[task, b, t].item()] == best, (task, row[: t + 1])


def test_a_network_learns_its_task():
    untrained, learned = (trained("Shaw", 0, 0, n_steps=n) for n in (1, 60))
    last = [sum(accuracy(model, 0)[:16]) / 16 for model in (untrained, learned)]
    assert last[1] > last[0] + 0.2
    one, other = (trained("Shaw", 1, 0, n_steps=1).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)
