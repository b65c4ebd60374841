"""Induction in GPTs: the texts with blocks, the watched attention, and what is observed of a GPT."""

import pytest
import torch

from book.models.gpt_induction import (
    BLOCK,
    GAP,
    WatchedAttention,
    observed,
    trained_gpt,
    with_blocks,
)
from book.models.small_gpt import GPT, bits, manual, rotary_attention
from solutions.ch4_masking import causal_mask


@pytest.mark.parametrize("repeated", [True, False])
def test_blocks_come_twice_or_are_new(repeated):
    # tokens of the text are above all others
    tokens = torch.arange(1000, 1000 + 3 * 64 + 10)
    found = with_blocks(tokens, 40, repeated, number=1).tolist()
    assert [t for t in found if t >= 1000] == tokens.tolist()
    blocks, block = [], []
    for token in found:
        if token < 1000:
            block.append(token)
        elif block:
            blocks.append(block)
            block = []
    blocks.append(block)
    assert len(blocks) == 4
    for block in blocks:
        assert 2 * BLOCK <= len(block) < 2 * BLOCK + GAP
        assert (block[:BLOCK] == block[-BLOCK:]) == repeated


def test_the_watched_attention_is_that_of_the_gpt():
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 7, 8)
    watched = WatchedAttention()
    found, _ = watched(query, key, value, causal_mask(7))
    expected, _ = rotary_attention()(query, key, value, causal_mask(7))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(watched.weights @ value, found)


def test_a_gpt_is_observed_as_it_is():
    text = manual()
    torch.manual_seed(0)
    model = GPT(len(text.characters)).eval()
    pieces = text.validation[:6500].view(100, 65)
    with torch.no_grad():
        before = bits(model, pieces)[:, 32:].mean().item()
    found = observed(model, text, 0)
    assert found["text"] == pytest.approx(before, abs=1e-4)
    # an untrained network looks nowhere in particular, and learns nothing from the first copy
    assert max(found["matching"]) < 0.1
    assert found["second"] == pytest.approx(found["first"], abs=0.2)


def test_blocks_reach_the_training():
    text = manual()
    ends = [
        trained_gpt(text, 0, n_steps=1, blocks=blocks).output.bias
        for blocks in ("none", "new", "repeated")
    ]
    assert not torch.equal(ends[0], ends[1]) and not torch.equal(ends[1], ends[2])
