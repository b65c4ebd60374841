"""The task of chapter 10: its texts, what is measured, and that training is repeatable."""

import pytest
import torch

from book.models.induction import (
    LENGTH,
    N_TOKENS,
    SEGMENT,
    copied,
    measured,
    network,
    texts,
    train,
    trained,
    vote,
)
from solutions.attention_only import Trace


def place_of_copy(tokens, known):
    """Where the first copy begins, found by trying every place."""
    second = known.index(True)
    size = sum(known) + 1
    segment = tokens[second : second + size]
    return [s for s in range(second - size + 1) if tokens[s : s + size] == segment]


@pytest.mark.parametrize("fixed", [False, True])
def test_the_next_token_is_known_in_the_second_copy(fixed):
    torch.manual_seed(0)
    tokens, known = texts(3000, fixed)
    assert tokens.shape == known.shape == (3000, LENGTH)
    assert tokens.min() == 0 and tokens.max() == N_TOKENS - 1
    starts = set()
    for text, where in zip(tokens.tolist(), known.tolist(), strict=True):
        first = place_of_copy(text, where)
        assert len(first) == 1
        starts.add((*first, where.index(True)))
        assert sum(where) == (LENGTH // 2 if fixed else SEGMENT) - 1
    if fixed:
        assert starts == {(0, LENGTH // 2)}
    else:
        assert {first for first, _ in starts} == set(range(LENGTH - 2 * SEGMENT + 1))
        assert {second - first for first, second in starts} == set(
            range(SEGMENT, LENGTH - SEGMENT + 1)
        )


def test_a_copied_text_repeats_one_segment_and_nothing_else():
    torch.manual_seed(0)
    tokens, spare = copied(4, 26, 16, batch=500)
    for text, unused in zip(tokens.tolist(), spare.tolist(), strict=True):
        assert text[26:42] == text[4:20] and unused not in text
        assert len(set(text)) == LENGTH - 16
    assert len(set(tokens[:, 4].tolist())) > N_TOKENS / 2


class Perfect:
    """Two layers of two heads, of which head 1 of layer 1 looks at the right place."""

    def trace(self, tokens):
        batch, length = tokens.shape
        weights = torch.zeros(2, batch, 2, length, length)
        logits = torch.zeros(batch, length, N_TOKENS)
        for text, words in enumerate(tokens.tolist()):
            for q, token in enumerate(words):
                weights[0, text, :, q, max(q - 1, 0)] = 1
                earlier = [p for p in range(q) if words[p] == token]
                weights[1, text, 0, q, q] = 1
                weights[1, text, 1, q, earlier[-1] + 1 if earlier else 0] = 1
                if earlier:
                    logits[text, q, words[earlier[0] + 1]] = 1
        return Trace(None, None, weights, None, logits)


def test_what_is_measured_of_a_network_that_is_made_by_hand():
    torch.manual_seed(0)
    found = measured(Perfect(), fixed=True, batch=20)
    # a token that also stands elsewhere by chance may lead to another place
    assert 0.6 < found.right < 1
    assert found.matching.shape == (2, 2)
    assert found.matching[1, 1] == 1
    assert found.matching[1, 0] < 0.05 and found.matching[0].max() < 0.05
    torch.testing.assert_close(found.previous[0], torch.ones(2))
    assert found.previous[1, 0] == 0


def test_training_gives_what_was_measured_and_is_repeatable():
    (model, found), (again, same) = (trained(3, steps=4) for _ in range(2))
    assert list(found) == [0]
    for name, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[name])
    assert found[0].right == same[0].right
    assert list(train(model, steps=4, every=2)) == [0, 2, 4]
    assert not torch.equal(model.unembed.weight, again.unembed.weight)


def test_fixed_texts_and_the_rate_reach_the_training():
    def end(**settings):
        torch.manual_seed(0)
        model = network(n_layers=1)
        train(model, 2, **settings)
        return model.unembed.weight

    assert not torch.equal(end(), end(fixed=True))
    assert not torch.equal(end(), end(rate=0.01))
    assert trained(0, n_layers=1, fixed=True, steps=1)[0].place is None


def test_a_vote_is_that_of_a_count_over_all_places():
    torch.manual_seed(0)
    tokens, _ = texts(3)
    votes = vote(tokens)
    room = range(LENGTH - 2 * SEGMENT + 1)
    for text, shares in zip(tokens.tolist(), votes.tolist(), strict=True):
        for q in (20, 31, 46):
            counts = [0] * N_TOKENS
            for one in room:
                for other in room:
                    first, second = sorted((one, other))
                    second += SEGMENT
                    if second <= q < second + SEGMENT - 1:
                        counts[text[first + q - second + 1]] += 1
            assert shares[q] == counts
