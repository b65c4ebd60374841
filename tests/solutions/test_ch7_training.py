"""Exercise 7: the reference against torch, sacreBLEU, searches through everything, and its catalogue."""

import itertools
import math
import random
import time

import pytest
import sacrebleu
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

import solutions.ch7_training as ch7
from autograder import catalogue
from autograder.exercises import grade_cells, released
from autograder.programs import spans_of
from autograder.runtime.draw import Draw
from autograder.runtime.grade_cell import checks_with_inputs, parse_cell
from solutions.ch2_scaled_dot_product import attention
from solutions.ch3_multi_head import MultiHeadAttention
from solutions.ch4_masking import causal_mask
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch7_training")
seeds = st.integers(0, 2**31)
PAD, BOS, EOS = 0, 1, 2


def close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-12)


def test_the_small_cases_of_the_notebook():
    loss = ch7.smoothed_cross_entropy(
        torch.tensor([[[math.log(3), 0.0]]]), torch.tensor([[0]]), 0.2, -100
    )
    wanted = -0.8 * math.log(3 / 4) - 0.1 * (math.log(3 / 4) + math.log(1 / 4))
    assert loss.item() == pytest.approx(wanted) and round(wanted, 4) == 0.3975
    assert ch7.noam_rate(4, 4, 4) == 0.25
    says = torch.tensor([[5, 2, 0], [6, 7, 2]])
    step_fn = lambda prefix: F.one_hot(says[:, prefix.shape[1] - 1], 8).double()
    assert ch7.greedy_decode(step_fn, 1, 2, 9, 2, 0).tolist() == [[5, 2, 0], [6, 7, 2]]
    assert ch7.greedy_decode(step_fn, 1, 2, 2, 2, 0).tolist() == [[5, 2], [6, 7]]
    score = ch7.corpus_bleu([list("aab")], [list("abcd")], 2)
    assert score == pytest.approx(100 * math.exp(-1 / 3) * math.sqrt(1 / 3))
    assert round(score, 2) == 41.37


@given(seeds, st.sampled_from([0.0, 0.1, 0.4]), st.sampled_from([0, 3, -100]))
def test_the_smoothed_loss_equals_torch(seed, smoothing, pad):
    torch.manual_seed(seed)
    B, T, V = torch.randint(2, 8, (3,)).tolist()
    V += 3
    logits = torch.randn(B, T, V, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(V, (B, T))
    targets[:, 1:][torch.rand(B, T - 1) < 0.3] = pad
    targets[0, 0] = 1
    loss = ch7.smoothed_cross_entropy(logits, targets, smoothing, pad)
    wanted = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, ignore_index=pad
    )
    assert loss.shape == ()
    close(loss, wanted)
    (one,) = torch.autograd.grad(loss, logits, retain_graph=True)
    (other,) = torch.autograd.grad(wanted, logits)
    close(one, other)
    assert (one[targets == pad] == 0).all()


def test_the_rate_rises_to_its_peak_at_the_end_of_the_warm_up():
    rates = [ch7.noam_rate(step, 512, 40) for step in range(1, 400)]
    assert rates.index(max(rates)) == 39
    assert max(rates) == pytest.approx((512 * 40) ** -0.5)
    assert rates[19] == pytest.approx(max(rates) / 2) and rates[159] == pytest.approx(
        max(rates) / 2
    )
    for step in (0, -1, -7):
        with pytest.raises(ValueError, match=str(step)):
            ch7.noam_rate(step, 512, 40)


def written(table, row, max_len):
    """One row of greedy decoding, by a loop: table[row, position, last token]."""
    tokens = [BOS]
    while len(tokens) <= max_len and (len(tokens) == 1 or tokens[-1] != EOS):
        tokens.append(int(table[row, len(tokens) - 1, tokens[-1]].argmax()))
    return tokens[1:]


@given(seeds, st.integers(1, 7))
def test_greedy_decoding_equals_a_loop_over_rows(seed, max_len):
    torch.manual_seed(seed)
    B, V = 5, 6
    table = torch.randn(B, max_len, V, V)
    step_fn = lambda prefix: table[torch.arange(B), prefix.shape[1] - 1, prefix[:, -1]]
    ids = ch7.greedy_decode(step_fn, BOS, EOS, max_len, B, PAD)
    rows = [written(table, row, max_len) for row in range(B)]
    width = max(map(len, rows))
    assert ids.tolist() == [row + [PAD] * (width - len(row)) for row in rows]
    assert ids.dtype == torch.int64


def model(V, L, seed, scale=2.0):
    """log p(next | prefix) from a table that the whole prefix chooses from."""
    generator = torch.Generator().manual_seed(seed)
    table = scale * torch.randn(31, V, dtype=torch.float64, generator=generator)
    factors = torch.tensor([7**i for i in range(L + 1)])
    return lambda prefix: table[(prefix * factors[: prefix.shape[1]]).sum(1) % 31].log_softmax(-1)


def sentences(V, L):
    """Every sentence of at most L tokens: EOS at its end and nowhere else, or L tokens without."""
    for n in range(1, L + 1):
        for tokens in itertools.product(range(V), repeat=n):
            if EOS not in tokens[:-1] and (tokens[-1] == EOS or n == L):
                yield tokens


def log_p_of(step_fn, tokens):
    prefix = torch.tensor([[BOS, *tokens]])
    return sum(step_fn(prefix[:, : i + 1])[0, token].item() for i, token in enumerate(tokens))


@given(seeds, st.sampled_from([0.0, 0.6, 2.0]))
def test_a_wide_beam_finds_the_best_sentence_of_all(seed, alpha):
    V, L = 4, 4
    step_fn = model(V, L, seed)
    scores = {
        tokens: log_p_of(step_fn, tokens) / ((5 + len(tokens)) / 6) ** alpha
        for tokens in sentences(V, L)
    }
    ids, score = ch7.beam_search(step_fn, BOS, EOS, V**L, L, alpha)
    best = max(scores, key=scores.get)
    assert tuple(ids.tolist()) == best
    assert isinstance(score, float) and score == pytest.approx(scores[best])
    # a narrow one finds one of them, with its own score
    ids, score = ch7.beam_search(step_fn, BOS, EOS, 2, L, alpha)
    assert score == pytest.approx(scores[tuple(ids.tolist())])


@given(seeds)
def test_a_beam_of_one_is_greedy(seed):
    step_fn = model(6, 7, seed)
    ids, _ = ch7.beam_search(step_fn, BOS, EOS, 1, 7, 0.7)
    assert ids.tolist() == ch7.greedy_decode(step_fn, BOS, EOS, 7, 1, PAD)[0].tolist()


def test_greedy_is_wrong_in_every_trap_that_the_grader_draws():
    """The probability of the greedy sentence is below that of the one that the beam finds."""
    cell = parse_cell(grade_cells(released(EXERCISE))["beam_search_values"])
    for seed in range(200):
        _, inputs = next(checks_with_inputs(cell, Draw(seed)))
        trap, bos, eos, L = (inputs[name] for name in ("trap", "bos", "eos", "L"))
        step_fn = lambda prefix, trap=trap: trap.log_softmax(-1)[prefix.shape[1] - 1, prefix[:, -1]]
        greedy, low = ch7.beam_search(step_fn, bos, eos, 1, L, inputs["alpha"])
        _, high = ch7.beam_search(step_fn, bos, eos, inputs["V"], L, inputs["alpha"])
        assert greedy[0] == inputs["decoy"]
        assert high > low + 0.1, seed


@given(seeds)
def test_the_cache_gives_what_the_full_pass_gives(seed):
    torch.manual_seed(seed)
    B, T, D, H = 3, 6, 12, 4
    mha = MultiHeadAttention(D, H, attention=attention).double()
    x = torch.randn(B, T, D, dtype=torch.float64)
    for _ in range(2):
        cache = None
        for t in range(T):
            before = cache and {name: held.clone() for name, held in cache.items()}
            given_cache = cache
            output, cache = ch7.cached_attention(mha, x[:, t : t + 1], cache)
            past = x[:, : t + 1]
            close(output, mha(past, past, past, causal_mask(t + 1))[0][:, -1:])
            assert cache["key"].shape == cache["value"].shape == (B, H, t + 1, D // H)
            if before:
                assert all(torch.equal(given_cache[name], before[name]) for name in before)


def corpus(seed):
    """Sentences and noisy copies, some of them short, long, stuttering or empty."""
    chance = random.Random(seed)
    words = [f"w{i}" for i in range(chance.randint(5, 25))]
    references = [[chance.choice(words) for _ in range(chance.randint(1, 15))] for _ in range(20)]
    hypotheses = []
    for reference in references:
        copy = [w if chance.random() < 0.8 else chance.choice(words) for w in reference]
        cut = chance.choice([0, len(copy), len(copy), chance.randint(0, len(copy))])
        hypotheses.append(copy[:cut] + chance.choices(words, k=chance.choice([0, 0, 3])))
    return hypotheses, references


@pytest.mark.parametrize("seed", range(50))
def test_bleu_equals_sacrebleu(seed):
    hypotheses, references = corpus(seed)
    for n in (1, 2, 4, 6):
        theirs = sacrebleu.BLEU(
            tokenize="none", smooth_method="none", max_ngram_order=n, force=True
        ).corpus_score(
            [" ".join(tokens) for tokens in hypotheses],
            [[" ".join(tokens) for tokens in references]],
        )
        ours = ch7.corpus_bleu(hypotheses, references, n)
        assert ours == pytest.approx(theirs.score, rel=1e-9, abs=1e-9)


def test_bleu_at_its_ends():
    sentence = list("abcde")
    assert ch7.corpus_bleu([sentence], [sentence]) == pytest.approx(100)
    assert ch7.corpus_bleu([[]], [sentence]) == 0
    assert ch7.corpus_bleu([sentence[:3]], [sentence[:3]]) == 0  # no 4-gram to be right
    assert ch7.corpus_bleu([sentence, []], [sentence, sentence]) == pytest.approx(
        100 * math.exp(-1)
    )


def drawn_language(seed):
    """Pairs, unseen sentences and their translations, as the grader draws them."""
    cell = parse_cell(grade_cells(released(EXERCISE))["fit_values"])
    _, inputs = next(checks_with_inputs(cell, Draw(seed)))
    return inputs["pairs"], inputs["unseen"], inputs["targets"]


def test_the_unseen_sentences_are_not_among_the_pairs():
    for seed in range(20):
        pairs, unseen, targets = drawn_language(seed)
        assert len(pairs) == 2000 and len(unseen) == len(targets) == 200
        assert not {tuple(s) for s in unseen} & {tuple(s) for s, _ in pairs}
        assert all(3 <= word <= 99 for pair in pairs for row in pair for word in row)
        assert {word for s in unseen for word in s} <= {word for s, _ in pairs for word in s}


def test_fit_learns_a_language_that_it_has_never_seen():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    pairs, unseen, targets = drawn_language(3)
    begun = time.process_time()
    translated = ch7.fit(pairs, 12)(unseen)
    assert time.process_time() - begun < 12
    right = sum(got == wanted for got, wanted in zip(translated, targets, strict=True))
    assert right >= 0.9 * len(targets)


def by_least_squares(pairs):
    """A translator that is linear in which word stands where."""
    longest = max(len(source) for source, _ in pairs)

    def features(sentences):
        rows = torch.zeros(len(sentences), longest, 100, dtype=torch.float64)
        for row, sentence in enumerate(sentences):
            rows[row, range(len(sentence)), sentence] = 1
        return torch.cat(
            [rows.flatten(1), rows.sum(1), rows.sum((1, 2))[:, None] == torch.arange(9)], 1
        )

    x, y = (features([pair[side] for pair in pairs]) for side in (0, 1))
    weights = torch.linalg.solve(x.T @ x + 0.01 * torch.eye(x.shape[1]), x.T @ y)
    return lambda sentences: [
        row[: len(sentence)].argmax(-1).tolist()
        for row, sentence in zip(
            (features(sentences) @ weights)[:, : 100 * longest].view(-1, longest, 100),
            sentences,
            strict=True,
        )
    ]


def test_least_squares_does_not_learn_the_language():
    for seed in range(3):
        pairs, unseen, targets = drawn_language(seed)
        translated = by_least_squares(pairs)(unseen)
        right = sum(got == wanted for got, wanted in zip(translated, targets, strict=True))
        assert right < 0.4 * len(targets)


def test_every_function_but_one_has_a_mistake():
    names = set(spans_of(EXERCISE.program()))
    mistakes = catalogue.mistakes(EXERCISE)
    # what is trained has no fingerprint by which a mistake could be recognised
    assert {mistake.function for mistake in mistakes} == names - {"fit"}
