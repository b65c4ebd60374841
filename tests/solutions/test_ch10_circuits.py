"""Exercise 10: the reference against slow loops and its own properties."""

import copy
import functools
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import solutions.ch10_circuits as ch10
from autograder.build.source_notebook import source_notebook
from autograder.instructor_settings import Settings
from solutions.attention_only import AttentionOnly
from tests.support import numbers
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch10_circuits")
seeds = st.integers(0, 2**32 - 1)
sizes = st.permutations(range(2, 8))


assert_close = functools.partial(numbers.assert_close, rtol=1e-9, atol=1e-11)


def drawn(rng, *shape):
    return torch.from_numpy(rng.normal(size=shape))


# prefix_matching --------------------------------------------------------------------------------


def loop_matching(weights, tokens):
    """The rules of the statement, number by number."""
    scores = []
    for rows in weights:
        total, n = 0.0, 0
        for q, token in enumerate(tokens):
            earlier = [p for p in range(q) if tokens[p] == token]
            if earlier:
                total += sum(rows[q][p + 1] for p in earlier)
                n += 1
        scores.append(total / n if n else 0.0)
    return scores


@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 5), seeds)
def test_prefix_matching_equals_the_loop(n_heads, length, n_tokens, seed):
    rng = np.random.default_rng(seed)
    weights = drawn(rng, n_heads, length, length).softmax(dim=-1)
    tokens = torch.from_numpy(rng.integers(0, n_tokens, length))
    before = weights.clone()
    wanted = loop_matching(weights.tolist(), tokens.tolist())
    assert_close(ch10.prefix_matching(weights, tokens), wanted)
    assert torch.equal(weights, before)
    assert ch10.prefix_matching(weights.float(), tokens).dtype == torch.float32


# ov_circuit and copying -------------------------------------------------------------------------


@given(sizes, seeds)
def test_the_ov_circuit_is_what_full_attention_adds_to_a_logit(shape, seed):
    rng, (V, D, d, *_) = np.random.default_rng(seed), shape
    w_e, w_v, w_o, w_u = drawn(rng, V, D), drawn(rng, d, D), drawn(rng, D, d), drawn(rng, V, D)
    circuit = ch10.ov_circuit(w_e, w_v, w_o, w_u)
    for s, t in itertools.product(range(V), repeat=2):
        value = [sum(w_v[i, a] * w_e[s, a] for a in range(D)) for i in range(d)]
        written = [sum(w_o[a, i] * value[i] for i in range(d)) for a in range(D)]
        assert_close(circuit[s, t], sum(w_u[t, a] * written[a] for a in range(D)))


def test_the_ov_circuit_is_that_of_the_models_own_layers():
    """A text of one token: every head looks at it with all its weight."""
    torch.manual_seed(0)
    run = AttentionOnly(7, 12, 3, 1).double()
    trace = run.trace(torch.arange(7)[:, None])
    for head in range(3):
        own = slice(4 * head, 4 * head + 4)
        layer = run.layers[0]
        circuit = ch10.ov_circuit(
            run.embed.weight, layer.w_v.weight[own], layer.w_o.weight[:, own], run.unembed.weight
        )
        torch.testing.assert_close(run.unembed(trace.added[0, :, head, 0]), circuit)


@given(st.integers(1, 4), st.integers(0, 3), seeds)
def test_copying_is_that_of_the_eigenvalues_put_in(n_real, n_pairs, seed):
    rng = np.random.default_rng(seed)
    real = rng.normal(size=n_real)
    pairs = rng.normal(size=(n_pairs, 2))
    blocks = [torch.tensor([[r]]) for r in real]
    blocks += [torch.tensor([[a, b], [-b, a]]) for a, b in pairs]
    diagonal = torch.block_diag(*blocks)
    # an orthogonal basis twice, stretched, so that the matrix is not normal
    basis = torch.linalg.qr(drawn(rng, *diagonal.shape)).Q @ torch.diag(
        torch.from_numpy(rng.uniform(0.5, 2, len(diagonal)))
    )
    above = real.sum() + 2 * pairs[:, 0].sum()
    below = np.abs(real).sum() + 2 * np.hypot(*pairs.T).sum()
    found = ch10.copying(basis @ diagonal @ torch.linalg.inv(basis))
    assert isinstance(found, float)
    np.testing.assert_allclose(found, above / below, rtol=1e-6, atol=1e-9)


def test_copying_of_plain_cases():
    assert ch10.copying(torch.eye(5)) == pytest.approx(1)
    assert ch10.copying(-torch.eye(5)) == pytest.approx(-1)
    assert ch10.copying(torch.zeros(5, 5)) == 0
    # a token raises the next one: the eigenvalues are the fifth roots of 1
    assert ch10.copying(torch.eye(5).roll(1, dims=1)) == pytest.approx(0, abs=1e-6)


# logit_attribution ------------------------------------------------------------------------------


@given(sizes, seeds)
def test_attribution_equals_the_loop_and_adds_up(shape, seed):
    rng, (n, T, D, V, *_) = np.random.default_rng(seed), shape
    parts, w_u = drawn(rng, n, T, D), drawn(rng, V, D)
    scale = 0.5 + drawn(rng, T).abs()
    targets = torch.from_numpy(rng.integers(0, V, T))
    shares = ch10.logit_attribution(parts, scale, w_u, targets)
    assert shares.shape == (n, T)
    for i, t in itertools.product(range(n), range(T)):
        wanted = sum(parts[i, t, a] * w_u[targets[t], a] for a in range(D)) / scale[t]
        assert_close(shares[i, t], wanted)
    logits = (parts.sum(dim=0) / scale[:, None]) @ w_u.T
    assert_close(shares.sum(dim=0), logits[torch.arange(T), targets])


# patch and mean_ablated -------------------------------------------------------------------------


def make_run(n_layers, seed=0, batch=2, length=5):
    torch.manual_seed(seed)
    run = AttentionOnly(7, 12, 3, n_layers).double()
    with torch.no_grad():
        for parameter in run.parameters():
            parameter.normal_(std=0.6)
    return run, torch.randint(7, (batch, length))


def slow_logits(run, text, change):
    """A text's logits, each head computed by itself; change(layer, head, added) gives what is added."""
    x = run.embed(text)
    D = x.shape[-1]
    d = D // 3
    for number, layer in enumerate(run.layers):
        total = torch.zeros_like(x)
        added, _ = layer(x[None])
        for head in range(3):
            own = slice(head * d, head * d + d)
            alone = copy.deepcopy(layer)
            others = [i for i in range(D) if i not in range(own.start, own.stop)]
            alone.w_o.weight.data[:, others] = 0
            by_itself = alone(x[None])[0].sum(dim=1)[0]
            torch.testing.assert_close(by_itself, added[0, head])
            total = total + change(number, head, by_itself)
        x = x + total
    return run.unembed(x / (x.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt())


def collected(run, text):
    """What every head adds in a text: {(layer, head): (T, D)}."""
    found = {}

    def keep(layer, head, added):
        found[layer, head] = added
        return added

    slow_logits(run, text, keep)
    return found


@pytest.mark.parametrize("n_layers", [1, 3])
@torch.no_grad()
def test_patch_equals_a_run_head_by_head(n_layers):
    run, clean = make_run(n_layers)
    corrupted = (clean + torch.randint(1, 7, clean.shape)) % 7
    before = copy.deepcopy(run.state_dict()), clean.clone(), corrupted.clone()
    for place in itertools.product(range(n_layers), range(3), range(5)):
        *where, position = place
        got = ch10.patch(run, clean, corrupted, *place)
        for text in range(len(clean)):
            source = collected(run, clean[text])

            def change(layer, head, added, where=where, position=position, source=source):
                if [layer, head] == where:
                    added = added.clone()
                    added[position] = source[layer, head][position]
                return added

            torch.testing.assert_close(got[text], slow_logits(run, corrupted[text], change))
        # earlier positions can't see it
        torch.testing.assert_close(got[:, :position], run(corrupted)[:, :position])
    assert all(torch.equal(run.state_dict()[name], value) for name, value in before[0].items())
    assert torch.equal(clean, before[1]) and torch.equal(corrupted, before[2])


@pytest.mark.parametrize("n_layers", [1, 3])
@torch.no_grad()
def test_mean_ablated_equals_a_run_head_by_head(n_layers):
    run, tokens = make_run(n_layers)
    reference = torch.randint(7, (6, 5))
    before = copy.deepcopy(run.state_dict())
    for where in itertools.product(range(n_layers), range(3)):
        means = sum(collected(run, text)[where] for text in reference) / 6
        got = ch10.mean_ablated(run, tokens, *where, reference)
        for text in range(len(tokens)):
            change = lambda layer, head, added, where=where, means=means: (
                means if (layer, head) == where else added
            )
            torch.testing.assert_close(got[text], slow_logits(run, tokens[text], change))
    assert all(torch.equal(run.state_dict()[name], value) for name, value in before.items())


# restored and composition -----------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(2, 6), seeds)
def test_restored_equals_the_loop(batch, n_tokens, seed):
    rng = np.random.default_rng(seed)
    runs = [drawn(rng, batch, n_tokens) for _ in range(3)]
    right, wrong = torch.from_numpy(
        np.stack([rng.permutation(n_tokens)[:2] for _ in range(batch)], axis=1)
    )
    means = [
        sum((run[b, right[b]] - run[b, wrong[b]]).item() for b in range(batch)) / batch
        for run in runs
    ]
    wanted = (means[2] - means[1]) / (means[0] - means[1])
    assert_close(ch10.restored(*runs, right, wrong), wanted, rtol=1e-6)
    clean, corrupted, _ = runs
    assert ch10.restored(clean, corrupted, clean, right, wrong) == 1
    assert ch10.restored(clean, corrupted, corrupted, right, wrong) == 0
    halfway = ch10.restored(clean, corrupted, (clean + corrupted) / 2, right, wrong)
    assert halfway == pytest.approx(0.5)
    with pytest.raises(ValueError, match="differ in nothing"):
        ch10.restored(clean, clean, corrupted, right, wrong)


@given(sizes, seeds)
def test_composition_equals_the_loop_and_lies_between_0_and_1(shape, seed):
    rng, (n, m, k, *_) = np.random.default_rng(seed), shape
    w_a, w_b = drawn(rng, m, n), drawn(rng, k, m)
    product = [[sum(w_b[i, j] * w_a[j, a] for j in range(m)) for a in range(n)] for i in range(k)]
    size = lambda rows: math.sqrt(sum(float(x) ** 2 for row in rows for x in row))
    found = ch10.composition(w_a, w_b)
    assert isinstance(found, float) and 0 <= found <= 1
    assert_close(found, size(product) / size(w_a) / size(w_b))
    assert ch10.composition(2 * w_a, -3 * w_b) == pytest.approx(found)


def test_composition_of_plain_cases():
    writes, reads = torch.zeros(4, 4), torch.zeros(4, 4)
    writes[2, 0] = 3.0  # from direction 0 to direction 2
    reads[1, 2] = 5.0  # from direction 2 to direction 1
    assert ch10.composition(writes, reads) == pytest.approx(1)
    assert ch10.composition(reads, writes) == 0
    assert ch10.composition(writes, torch.zeros(4, 4)) == 0
    assert ch10.composition(torch.eye(4), torch.eye(4)) == pytest.approx(0.5)


def test_the_hand_worked_examples_of_the_notebook():
    weights = torch.arange(16.0).reshape(1, 4, 4)
    found = ch10.prefix_matching(weights, torch.tensor([7, 7, 4, 7]))
    assert found.tolist() == [(5 + 13 + 14) / 2]

    w_e, w_u = torch.tensor([[1.0, 0], [0, 1], [1, 1]]), torch.tensor([[0.0, 0], [0, 1], [5, 0]])
    circuit = ch10.ov_circuit(w_e, torch.tensor([[2.0, 0]]), torch.tensor([[0.0], [3]]), w_u)
    assert circuit.tolist() == [[0, 6, 0], [0, 0, 0], [0, 6, 0]]

    assert ch10.copying(torch.tensor([[0.0, 1], [-1, 2]])) == pytest.approx(1, abs=1e-3)
    assert ch10.copying(torch.tensor([[3.0, 4], [-4, 3]])) == pytest.approx(6 / 10)

    parts = torch.tensor([[[3.0, 0]], [[0, 4]]])
    w_u = torch.tensor([[0.0, 0], [2, 1]])
    shares = ch10.logit_attribution(parts, torch.tensor([2.0]), w_u, torch.tensor([1]))
    assert shares.tolist() == [[3], [2]]

    right, wrong = torch.tensor([0]), torch.tensor([1])
    runs = (torch.tensor([[difference, 0.0]]) for difference in (4.0, -2.0, 1.0))
    assert ch10.restored(*runs, right, wrong) == 3 / 6

    w_a, w_b = torch.tensor([[1.0, 0], [0, 0]]), torch.tensor([[1.0, 1], [0, 0]])
    assert ch10.composition(w_a, w_b) == pytest.approx(0.5**0.5)
    assert ch10.composition(w_b, w_a) == pytest.approx(1)


def test_the_model_in_the_notebook_is_that_of_the_course():
    """The notebook has the definitions in another order than the module."""
    cells = {cell.id: cell.source for cell in source_notebook(EXERCISE, Settings()).cells}
    names = {}
    exec(cells["imports"], names)
    exec(cells["built_so_far"], names)
    run, tokens = make_run(2)
    own = names["AttentionOnly"](7, 12, 3, 2).double()
    own.load_state_dict(run.state_dict())
    torch.testing.assert_close(own(tokens), run(tokens))
