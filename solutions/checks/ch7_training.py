"""What the checks of exercise 7 draw and return. The grader knows what is right."""

import torch

from autograder.checks import Draw, fill, gradients, inputs_after
from solutions.ch7_training import (
    MultiHeadAttention,
    attention,
    beam_search,
    cached_attention,
    corpus_bleu,
    greedy_decode,
    noam_rate,
    smoothed_cross_entropy,
)


def loss_logits_of_padding(logits, pad, smoothing, targets):
    changed = logits.masked_fill((targets == pad)[..., None], 3.0)
    return [smoothed_cross_entropy(given, targets, smoothing, pad) for given in (logits, changed)]


def loss_shifted_logits(logits, pad, smoothing, targets):
    return [
        smoothed_cross_entropy(given, targets, smoothing, pad) for given in (logits, logits + 3)
    ]


def loss_more_padding(logits, pad, smoothing, targets):
    longer = torch.cat([targets, torch.full_like(targets, pad)], dim=1)
    return [
        smoothed_cross_entropy(logits, targets, smoothing, pad),
        smoothed_cross_entropy(torch.cat([logits, logits], dim=1), longer, smoothing, pad),
    ]


def loss_other_order(logits, pad, smoothing, targets):
    reverse = torch.arange(len(targets)).flip(0)
    return [
        smoothed_cross_entropy(logits[order], targets[order], smoothing, pad)
        for order in (slice(None), reverse)
    ]


def loss_without_smoothing(logits, pad, smoothing, targets):
    return [smoothed_cross_entropy(logits, targets, share, pad) for share in (0.0, smoothing)]


def loss_other_targets(V, logits, smoothing, outside):
    others = torch.where(outside == -100, outside, (outside + 1) % V)
    return [smoothed_cross_entropy(logits, given, smoothing, -100) for given in (outside, others)]


def loss_mean(logits, pad, smoothing, targets):
    cases = [
        (logits, targets),
        (logits[:1], targets[:1]),
        (logits[:, :1].contiguous(), targets[:, :1].contiguous()),
        (logits[:1, :1], targets[:1, :1]),
        (logits.float(), targets),
    ]
    return [smoothed_cross_entropy(*given, smoothing, pad) for given in cases]


def loss_pads_and_shares(V, logits, pad, smoothing, targets, outside):
    return [
        smoothed_cross_entropy(logits, marked, smoothing=share, pad=mark)
        for marked, share, mark in [
            (outside, smoothing, -100),
            (targets, 0.0, pad),
            (targets, 1.0, pad),
            ((targets - pad) % V, 0.0, 0),
        ]
    ]


def loss_layouts(V, logits, pad, smoothing, tokens, filling, targets, cube, square):
    beyond = tokens.masked_fill(filling, V + 7)
    return [
        smoothed_cross_entropy(cube, square, smoothing, -100),
        smoothed_cross_entropy(logits, beyond, smoothing, V + 7),
        smoothed_cross_entropy(logits.transpose(0, 1), targets.T, smoothing, pad),
        smoothed_cross_entropy(logits[:, 1:].contiguous(), targets[:, 1:], smoothing, pad),
    ]


def loss_leaves_arguments(logits, pad, smoothing, targets, outside):
    return [
        inputs_after(smoothed_cross_entropy, logits, target, smoothing, mark)
        for target, mark in ((targets, pad), (outside, -100))
    ]


def rate_falls(width, warmup, falling):
    return [
        1e3 * noam_rate(warmup=ramp, step=step, d_model=width)
        for step, ramp in [(warmup, warmup), *[(step, warmup) for step in falling], (1, 1), (2, 1)]
    ]


def by_step(table, rows):
    """A model that knows how long the prefix is, and its last token; table: (rows, L, V, V)."""

    def next_token(prefix):
        step = prefix.shape[1] - 1
        return table[torch.arange(rows), step, prefix[:, -1]].log_softmax(-1)

    return next_token


def greedy_first_tokens(B, L, pad, bos, eos, long):
    model = by_step(long, B)
    return [
        greedy_decode(model, bos, eos, L, B, pad)[:, :2],
        greedy_decode(model, bos, eos, 2, B, pad),
    ]


def greedy_sentence_alone(B, L, pad, bos, eos, long):
    return [
        greedy_decode(by_step(long, B), bos, eos, L, B, pad)[:1, :2],
        greedy_decode(by_step(long, 1), bos, eos, L, 1, pad)[:, :2],
    ]


def greedy_stops_at_eos(B, L, pad, bos, eos, short):
    return [greedy_decode(by_step(short, rows), bos, eos, L, rows, pad) for rows in (B, 1)]


def counting(model, calls):
    """A model that counts in a list's last entry how often it is asked."""

    def next_token(prefix):
        calls[-1] += 1
        return model(prefix)

    return next_token


def greedy_calls(B, L, pad, bos, eos, long, ends):
    calls = []
    for end in ends:
        # without the row that ends by itself
        table = long[1:].clone()
        table[..., pad], table[:, end - 1, :, eos] = -9, 9
        calls.append(0)
        greedy_decode(counting(by_step(table, B - 1), calls), bos, eos, L, B - 1, pad)
    return calls


def greedy_stops_at_max_len(B, L, pad, bos, eos, long):
    return greedy_decode(by_step(long, B), bos, eos, L, B, pad)


def greedy_whole_prefix(B, L, pad, bos, eos, table):
    def next_token(prefix):
        place = prefix[:, ::2].sum(1) % L
        return table[torch.arange(B), place, prefix[:, -1]].log_softmax(-1)

    return [greedy_decode(next_token, bos, eos, n, B, pad) for n in range(1, L)]


def by_length(table):
    """A model that knows how long the prefix is, and its last token; table: (L, V, V)."""
    return lambda prefix: table[prefix.shape[1] - 1, prefix[:, -1]]


def by_every_second(table):
    """A model that looks at the whole prefix; table: (L, V, V)."""
    return lambda prefix: table[prefix[:, ::2].sum(1) % len(table), prefix[:, -1]]


def beam_twice(V, L, bos, eos, alpha, trap):
    return [beam_search(by_length(trap), bos, eos, V, L, alpha) for _ in range(2)]


def beam_trap(V, L, bos, eos, alpha, trap):
    ids, score = beam_search(by_length(trap), bos, eos, V, L, alpha)
    return [[ids, score, isinstance(score, float)]]


def beam_unending(L, bos, eos, beam, alpha, unending):
    return [beam_search(by_every_second(table), bos, eos, beam, L, alpha) for table in unending]


def beam_greedy(L, bos, eos, tables):
    return [
        beam_search(by_every_second(table), bos, eos, 1, n, 0.0)
        for n in range(1, L)
        for table in tables
    ]


def beam_very_large(V, L, bos, eos, alpha, tables, W, start, stop, late):
    best = [beam_search(by_every_second(table), bos, eos, V**L, L, alpha) for table in tables]
    return [*best, beam_search(by_length(late), start, stop, W**3, 4, alpha)]


def beam_some_finished(M, start, stop, planned, exponents):
    return [
        beam_search(by_length(table), start, stop, 3, M, power)
        for power in exponents
        for table in planned
    ]


def beam_without_eos(L, bos, eos, alpha, endless):
    return [
        beam_search(by_length(table), bos, eos, 2, n, alpha)
        for n in range(1, L + 1)
        for table in endless
    ]


def with_twice_the_query(query, key, value, mask):
    """An attention that no layer has unless it was given."""
    return attention(2 * query, key, value, mask)[0], None


def changed(cache, change):
    """A cache with something done to its tensors."""
    return {name: change(kept) for name, kept in cache.items()}


def cached_leaves_cache(H, d, new, cache):
    before = changed(cache, torch.clone)
    cached_attention(fill(MultiHeadAttention(H * d, H)), new, cache)
    return [before, cache]


def cached_keeps_first_result(H, d, x):
    mha = fill(MultiHeadAttention(H * d, H))
    output, kept = cached_attention(mha, x[:, :1])
    before = [output.clone(), changed(kept, torch.clone)]
    cached_attention(mha, x[:, 1:2], kept)
    return [before, (output, kept)]


def cached_twice(H, d, new, cache):
    mha = fill(MultiHeadAttention(H * d, H))
    return [cached_attention(mha, new, cache), cached_attention(mha, new, cache)]


def cached_cache_or_none(H, d, new, cache):
    return [
        cached_attention(fill(MultiHeadAttention(H * d, H)), new, given)[0]
        for given in (None, cache)
    ]


def cached_earlier_part(H, d, new, cache):
    _, longer = cached_attention(fill(MultiHeadAttention(H * d, H)), new, cache)
    return [cache, changed(longer, lambda kept: kept[:, :, :-1])]


def cached_example_alone(H, d, new, cache):
    together, _ = cached_attention(fill(MultiHeadAttention(H * d, H)), new, cache)
    own = changed(cache, lambda kept: kept[:1])
    alone, _ = cached_attention(fill(MultiHeadAttention(H * d, H)), new[:1], own)
    return [[together[:1]], [alone]]


def cached_other_order(H, d, new, cache):
    flipped = changed(cache, lambda kept: kept.flip(2))
    return [
        cached_attention(fill(MultiHeadAttention(H * d, H)), new, given)[0]
        for given in (cache, flipped)
    ]


def cached_newest_position(H, d, new, cache):
    once = changed(cache, lambda kept: kept[:, :, :1])
    twice = changed(once, lambda kept: kept.expand(-1, -1, 2, -1))
    return [
        cached_attention(fill(MultiHeadAttention(H * d, H)), new, given)[0]
        for given in (once, twice)
    ]


def cached_whole_sentence(T, H, d, x):
    mha, cache = fill(MultiHeadAttention(H * d, H)), None
    outputs = []
    for i in range(T):
        output, cache = cached_attention(mha, x[:, i : i + 1], cache)
        outputs.append(output)
    return outputs


def cached_gradients(T, H, d, x):
    mha = fill(MultiHeadAttention(H * d, H))

    def last_output(x):
        cache = None
        for i in range(T):
            output, cache = cached_attention(mha, x[:, i : i + 1], cache)
        return output

    return gradients(last_output, x)["inputs"]


def cached_two_continuations(H, d, x, new):
    first = cached_attention(fill(MultiHeadAttention(H * d, H)), new)
    mha = fill(MultiHeadAttention(H * d, H))
    _, start = cached_attention(mha, x[:, :1])
    (_, one), _ = [cached_attention(mha, word, start) for word in (new, x[:, 1:2])]
    return [first, cached_attention(mha, x[:, 2:3], one)]


def cached_longer(B, H, d, new, cache):
    return [
        cached_attention(
            fill(MultiHeadAttention(heads * d, heads)),
            new[:rows, :, : heads * d].contiguous(),
            {name: kept[:rows, :heads].contiguous() for name, kept in cache.items()},
        )
        for rows, heads in [(B, H), (1, H), (B, 1)]
    ]


def cached_leaves_arguments(H, d, new, cache):
    layer = fill(MultiHeadAttention(H * d, H, bias=False)).train()
    after = inputs_after(cached_attention, layer, new, cache)[1:]
    asks = all(one.requires_grad for one in layer.parameters())
    return [*after, layer.training, asks, sum(one.sum() for one in layer.parameters())]


def cached_given_attention(H, d, new, cache):
    mha = fill(MultiHeadAttention(H * d, H, attention=with_twice_the_query))
    return cached_attention(mha, new, cache)


def bleu_other_order(right, long):
    return [corpus_bleu(long[::step], right[::step]) for step in (1, -1)]


def bleu_other_names(right, long):
    def renamed(corpus):
        return [[word.replace("tok", "word") for word in sentence] for sentence in corpus]

    return [corpus_bleu(long, right), corpus_bleu(renamed(long), renamed(right))]


def bleu_twice_over(right, long):
    return [corpus_bleu(n * long, n * right) for n in (1, 2)]


def bleu_shorter(right, short, mixed):
    return [corpus_bleu(short, right), corpus_bleu(short, right, 2), corpus_bleu(mixed, right)]


def bleu_leaves_lists(right, holes):
    hypotheses, references = [[list(sentence) for sentence in corpus] for corpus in (holes, right)]
    score = corpus_bleu(hypotheses, references)
    return [score, hypotheses == holes, references == right]


def bleu_every_n(right, noisy, tiny):
    by_n = [corpus_bleu(tiny, right, n) for n in range(1, 6)]
    empty = [[] for _ in right]
    return [
        *by_n,
        corpus_bleu(noisy, right[::-1], 5),
        corpus_bleu(right, right),
        corpus_bleu(empty, right),
    ]


def draw_fit_values(draw: Draw):
    n, turned = draw.integer(5, 6), draw.integer(0, 1)
    numbers, spoken = (3 + draw.permutation(97) for _ in range(2))
    rolls = iter(draw.integers(60000, low=0, high=10**6).tolist())

    def groups(length, new):
        """Nouns, each with 0 to 2 other words; some pairs of words meet in new sentences only."""
        found = []
        while length:
            noun, size = next(rolls) % n, min(next(rolls) % 3, length - 1)
            others = [next(rolls) % (n + 2) for _ in range(size)]
            if not new:
                others = [other + (other == noun) for other in others]
            found.append((noun, others))
            length -= 1 + size
        if not new or any(other == noun for noun, others in found for other in others):
            return found
        return groups(sum(1 + len(others) for _, others in found), new)

    def pair(found):
        """A sentence and its translation: other words have two forms, by the kind of their noun."""
        before, after = [], []
        for noun, others in found:
            words = [*(int(numbers[n + other]) for other in others), int(numbers[noun])]
            forms = [int(spoken[n + 2 * other + noun % 2]) for other in others]
            translated = [int(spoken[noun]), *forms]
            if turned:
                words, translated = words[-1:] + words[:-1], translated[1:] + translated[:1]
            before += words
            after += translated
        return [before, after]

    pairs = [pair(groups(3 + next(rolls) % 4, False)) for _ in range(2000)]
    asked = [pair(groups(3 + next(rolls) % 4, True)) for _ in range(200)]
    unseen, targets = [source for source, _ in asked], [target for _, target in asked]
    return pairs, unseen, targets
