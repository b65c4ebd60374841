"""Exercise 5: the reference against slow loops and its own properties."""

import cmath
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

import solutions.ch5_positional_encoding as ch5
from autograder.build.source_notebook import source_notebook
from autograder.instructor_settings import Settings
from tests.support.course import COURSE
from tests.support.numbers import assert_close

EXERCISE = COURSE.exercise("ch5_positional_encoding")
seeds = st.integers(0, 2**32 - 1)
halves = st.integers(1, 8)
bases = st.sampled_from([10000.0, 500.0, 20.0])
positions = st.integers(0, 6000)


def loop_row(p, d_model, base):
    """Equation by equation: one sine and one cosine after the other."""
    row = []
    for i in range(d_model // 2):
        angle = p / base ** (2 * i / d_model)
        row += [math.sin(angle), math.cos(angle)]
    return row


@given(st.integers(1, 50), halves, bases)
def test_sinusoidal_equals_the_loop(n, half, base):
    table = ch5.sinusoidal(n, 2 * half, base)
    assert table.shape == (n, 2 * half)
    assert_close(table, [loop_row(p, 2 * half, base) for p in range(n)])


def test_sinusoidal_at_late_positions_and_by_default():
    table = ch5.sinusoidal(6001, 16)
    for p in (0, 1, 20, 999, 6000):
        assert_close(table[p], loop_row(p, 16, 10000.0))


@pytest.mark.parametrize("d_model", [1, 3, 7])
def test_an_odd_width_is_refused(d_model):
    with pytest.raises(ValueError, match=str(d_model)):
        ch5.sinusoidal(4, d_model)


@given(st.integers(-300, 300), positions, halves, bases)
def test_shift_matrix_shifts_every_row(delta, p, half, base):
    matrix = ch5.shift_matrix(delta, 2 * half, base)
    row = torch.tensor(loop_row(p, 2 * half, base), dtype=torch.float64)
    assert_close(matrix @ row, loop_row(p + delta, 2 * half, base))
    assert_close(matrix @ matrix.T, np.eye(2 * half))
    assert_close(matrix.T, ch5.shift_matrix(-delta, 2 * half, base))


@given(st.integers(1, 4), st.integers(1, 6), halves, st.integers(0, 20), seeds)
def test_module_adds_its_rows(batch, length, half, offset, seed):
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(batch, length, 2 * half)))
    before = x.clone()
    module = ch5.PositionalEncoding(2 * half, dropout=0.5, max_len=30).double().eval()
    module.encoding = ch5.sinusoidal(30, 2 * half)
    rows = [loop_row(offset + t, 2 * half, 10000.0) for t in range(length)]
    assert_close(module(x, offset), before + torch.tensor(rows, dtype=torch.float64))
    steps = [module(x[:, [t]], offset=offset + t) for t in range(length)]
    assert_close(torch.cat(steps, dim=1), module(x, offset))
    assert torch.equal(x, before)


def test_module_has_a_buffer_and_no_parameter():
    module = ch5.PositionalEncoding(8)
    assert list(module.parameters()) == []
    assert {name: tuple(buffer.shape) for name, buffer in module.named_buffers()} == {
        "encoding": (5000, 8)
    }
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert module(torch.ones(2, 3, 8, dtype=dtype)).dtype == dtype


def test_module_drops_in_training_only():
    torch.manual_seed(0)
    x = 10 + torch.randn(20, 30, 8)
    module = ch5.PositionalEncoding(8, dropout=0.25)
    ratio = module.train()(x) / module.eval()(x)
    assert 0.2 < (ratio == 0).float().mean() < 0.3
    assert_close(ratio[ratio != 0], 1 / 0.75, rtol=1e-5)


def loop_rope(x, position, theta):
    """One vector, as complex numbers."""
    d, result = len(x), []
    for i in range(d // 2):
        angle = position * theta ** (-2 * i / d)
        turned = complex(x[2 * i], x[2 * i + 1]) * cmath.exp(1j * angle)
        result += [turned.real, turned.imag]
    return result


@given(st.integers(0, 2), halves, bases, st.booleans(), seeds)
def test_rope_equals_the_loop(n_leading, half, theta, own_positions, seed):
    rng = np.random.default_rng(seed)
    shape = (*(2, 3)[:n_leading], 4)
    x = torch.from_numpy(rng.normal(size=(*shape, 2 * half)))
    where = torch.from_numpy(rng.integers(0, 2000, size=shape if own_positions else 4))
    before = x.clone()
    result = ch5.rope(x, where, theta)
    each = zip(
        x.reshape(-1, 2 * half).tolist(), where.expand(shape).flatten().tolist(), strict=True
    )
    wanted = [loop_rope(vector, p, theta) for vector, p in each]
    assert_close(result.reshape(-1, 2 * half), wanted)
    assert_close(result.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(x, before)


@given(positions, positions, st.integers(0, 500), halves, seeds)
def test_rope_scores_depend_on_the_difference(m, n, both, half, seed):
    query, key = torch.from_numpy(np.random.default_rng(seed).normal(size=(2, 1, 2 * half)))

    def score(m, n):
        return ch5.rope(query, torch.tensor([m])) @ ch5.rope(key, torch.tensor([n])).T

    np.testing.assert_allclose(score(m, n), score(m + both, n + both), rtol=1e-6, atol=1e-9)


def test_rope_is_differentiable_and_keeps_the_dtype():
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    where = torch.tensor([7, 0, 3])
    assert torch.autograd.gradcheck(lambda x: ch5.rope(x, where), x)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert ch5.rope(x.to(dtype), where).dtype == dtype


@given(st.integers(1, 12), st.integers(1, 9))
def test_alibi_equals_the_loop(n_heads, T):
    wanted = [
        [[-(2 ** (-8 * (h + 1) / n_heads)) * abs(i - j) for j in range(T)] for i in range(T)]
        for h in range(n_heads)
    ]
    bias = ch5.alibi_bias(n_heads, T)
    assert_close(bias, wanted)
    scores = F.scaled_dot_product_attention(
        *torch.randn(3, 2, n_heads, T, 4), attn_mask=bias
    )  # the shape that scores have
    assert scores.shape == (2, n_heads, T, 4)


def test_the_hand_worked_examples_of_the_notebook():
    wanted = [[0, 1, 0, 1], [0.8415, 0.5403, 0.0998, 0.9950], [0.9093, -0.4161, 0.1987, 0.9801]]
    np.testing.assert_allclose(ch5.sinusoidal(3, 4, base=100.0), wanted, atol=5e-5)
    pair = torch.tensor([math.sin(1), math.cos(1)], dtype=torch.float64)
    assert_close(ch5.shift_matrix(2, 2) @ pair, [math.sin(3), math.cos(3)])
    assert_close(
        ch5.rope(torch.tensor([[1.0, 0]]).double(), torch.tensor([1])), [[math.cos(1), math.sin(1)]]
    )
    assert ch5.alibi_bias(2, 4)[0, 0, 3].item() == -3 / 16
    assert ch5.alibi_bias(2, 4)[1, 0, 1].item() == -1 / 256


def test_the_experiment_of_the_notebook_runs(capsys):
    cells = {cell.id: cell.source for cell in source_notebook(EXERCISE, Settings()).cells}
    names = vars(ch5).copy()
    exec(cells["experiment"], names)
    assert capsys.readouterr().out == ""
    names["experiment"](length=4, steps=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["none", "sinusoidal", "learned", "rope", "alibi"]
