"""The small GPT of chapter 8 and its text, against slower ways to the same numbers."""

import math

import pytest
import torch

from book.models.small_gpt import GPT, MANUAL, bits, manual, rotary_attention, train, turned, write
from solutions.ch4_masking import causal_mask
from solutions.ch5_positional_encoding import rope
from solutions.ch8_language_model import rope_frequencies, window_mask


@pytest.fixture(scope="module")
def text():
    return manual()


def test_the_text_is_there_with_its_licence(text):
    assert len(text.characters) == 42
    assert len(text.training) == 9 * (len(text.training) + len(text.validation)) // 10
    words = text.words(torch.cat([text.training, text.validation]))
    assert words == " ".join(MANUAL.read_text(encoding="utf-8").split())
    assert torch.equal(text.tokens(words[:500]), text.training[:500])
    licence = MANUAL.with_suffix(".LICENSE").read_text(encoding="utf-8")
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in licence and "changed" in licence


def test_turned_is_rope_at_other_speeds():
    x, positions = torch.randn(2, 3, 7, 8), torch.arange(4, 11)
    usual = rope_frequencies(8, 10_000.0, 1.0, 1, "linear")
    torch.testing.assert_close(turned(x, positions, usual), rope(x, positions))
    torch.testing.assert_close(turned(x, positions), rope(x, positions))
    # at half the speed, twice the position is the same place
    torch.testing.assert_close(turned(x, 2 * positions, usual / 2), rope(x, positions))


def test_rotary_attention_depends_on_distances_and_on_the_mask():
    query, key, value = torch.randn(3, 2, 4, 9, 8).double().unbind()
    mask = window_mask(9, 9, 4)
    output, weights = rotary_attention()(query, key, value, mask)
    assert weights is None
    for t in range(9):
        low = max(0, t - 3)
        q = rope(query[:, :, t : t + 1], torch.tensor([t + 50]))
        k = rope(key[:, :, low : t + 1], torch.arange(low, t + 1) + 50)
        p = (q @ k.mT / math.sqrt(8)).softmax(dim=-1)
        torch.testing.assert_close(output[:, :, t], (p @ value[:, :, low : t + 1])[:, :, 0])


def test_a_gpt_does_not_see_the_future_and_bits_are_those_of_a_loop():
    torch.manual_seed(0)
    model = GPT(11, d_model=16, n_heads=2, n_layers=2).eval()
    pieces = torch.randint(11, (3, 9))
    costs = bits(model, pieces)
    assert costs.shape == (3, 8)
    for b in range(3):
        for t in range(8):
            p = model(pieces[b : b + 1, : t + 1])[0, -1].softmax(dim=0)[pieces[b, t + 1]]
            torch.testing.assert_close(costs[b, t], -torch.log2(p))
    torch.testing.assert_close(bits(model, pieces, causal_mask(8)), costs)


def test_training_counts_its_steps_and_follows_its_seed(text):
    def trained(training_seed):
        torch.manual_seed(0)
        model = GPT(42, d_model=16, n_heads=2, n_layers=1)
        before = bits(model, text.validation[None, :200]).mean().item()
        assert list(train(model, text.training, 30, 16, training_seed)) == list(range(31))
        return before - bits(model, text.validation[None, :200]).mean().item(), model

    gained, model = trained(3)
    assert gained > 0.3
    again, other = trained(3)[1], trained(4)[1]
    weight = model.output.weight
    assert torch.equal(weight, again.output.weight) and not torch.equal(weight, other.output.weight)


def test_write_draws_from_what_it_is_given(text):
    torch.manual_seed(0)
    model = GPT(42, d_model=16, n_heads=2, n_layers=1).eval()
    seen = []

    def always_e(logits):
        seen.append(logits.shape)
        return text.tokens("e").new_zeros(42).float().index_fill(0, text.tokens("e"), 1.0)

    assert write(model, text, 5, 3, always_e, start="a b") == "a beeeee"
    assert seen == [(42,)] * 5
