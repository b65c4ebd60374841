"""The memory of chapter 9, against loops over single numbers."""

import math
import re

import pytest
import torch

from book.models.associative_memory import KINDS, keys_of, recalled, written


def slowly_written(keys, values, step, fade):
    """The state as nested lists, number by number."""
    d, dv = len(keys[0]), len(values[0])
    state = [[0.0] * dv for _ in range(d)]
    for key, value in zip(keys, values, strict=True):
        for row in state:
            for j in range(dv):
                row[j] *= fade
        answer = [sum(key[i] * state[i][j] for i in range(d)) for j in range(dv)]
        for i in range(d):
            for j in range(dv):
                change = value[j] if step is None else step * (value[j] - answer[j])
                state[i][j] += key[i] * change
    return state


@pytest.mark.parametrize("fade", [1.0, 0.8])
@pytest.mark.parametrize("step", [None, 1.0, 0.3])
def test_a_state_is_that_of_a_loop_over_numbers(step, fade):
    torch.manual_seed(0)
    keys, values = keys_of("positive", 9, 5), torch.randn(9, 4)
    slow = slowly_written(keys.tolist(), values.tolist(), step, fade)
    torch.testing.assert_close(written(keys, values, step, fade), torch.tensor(slow))


def test_after_a_full_step_the_newest_pair_is_read_exactly():
    torch.manual_seed(1)
    keys, values = keys_of("isotropic", 30, 8), torch.randn(30, 3)
    state = written(keys, values, step=1.0)
    torch.testing.assert_close(keys[-1] @ state, values[-1])
    assert not torch.allclose(keys[0] @ state, values[0], atol=0.1)


def test_what_is_recalled_is_the_most_alike_of_all_values():
    torch.manual_seed(2)
    values = torch.randn(7, 4)
    read = values[3:] + 1.5 * torch.randn(4, 4)
    for i, (one, right) in enumerate(zip(read, recalled(read, values).tolist(), strict=True)):
        angles = [
            sum(a * b for a, b in zip(one.tolist(), value.tolist(), strict=True))
            / math.hypot(*value.tolist())
            for value in values
        ]
        assert right == (angles.index(max(angles)) == 3 + i)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_have_length_1_and_are_of_their_kind(kind):
    torch.manual_seed(3)
    keys = keys_of(kind, 500)
    torch.testing.assert_close(keys.norm(dim=1), torch.ones(500))
    alike = ((keys @ keys.T).sum().item() - 500) / (500 * 499)
    expected = {"isotropic": 0, "positive": 1 / math.pi}
    assert alike == pytest.approx(expected[kind], abs=0.03)
    assert (keys.min() < 0) == (kind == "isotropic")


def test_another_kind_is_refused():
    with pytest.raises(ValueError, match=re.escape("'spherical', but has to be in")):
        keys_of("spherical", 3)
