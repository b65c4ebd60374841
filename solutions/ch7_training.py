# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 7: Training it
#
# A model is not yet a translator. Here you write what it takes to get from the one to the other: the loss, the learning rate, two ways to search for the best sentence,
# a cache that saves most of the work of writing, and the score. At the end you put it all together: a function that gets
# sentence pairs in a language it has never seen, trains for some seconds and returns a translator.
#
# **The core** is tasks 1, 2, 3 and 5: the loss, the learning rate, greedy decoding and the cache. It takes about 90 minutes; that is our estimate, and no class has been timed.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks they are equal.
# When you are graded, the same checks run on other inputs. Keep the names and the arguments as they are;
# helper functions of your own are welcome, and a later task may use what you wrote for an earlier one. No function changes its arguments.
# Most inputs are in float64, and then six digits of each number have to be correct: compute in the data type of what you get. A tensor that you make of plain numbers is float32 unless you say otherwise, and so is its root: `torch.zeros(3)`, `torch.tensor(5).sqrt()`.
#
# Where a check fails, call `hint()` in a cell of your own: each call helps a little more. `failing_case()` gives inputs on which your answer is wrong, small ones where there are any.
# Where it passes, `discuss()` shows other ways to write it. `progress()` shows your points and what is open.
#
# The letters are the same everywhere in this notebook:
#
# | letter | size |
# |---|---|
# | `B` | sentences in a batch |
# | `T` | tokens of a target sentence |
# | `V` | tokens in the vocabulary |
# | `D` | `d_model`, the width of the vectors of a model |
# | `H`, `d` | heads, and the width of one head, `D / H` |
# | `N`, `t` | prefixes, and tokens in each of them |
#
# Three tokens are special: BOS comes before a sentence, EOS ends it, and pad fills up the rest of a row.

# %% nbgrader={"grade_id": "imports", "locked": true}
import math
import time
from collections import Counter
from collections.abc import Callable

import torch
from torch import nn

from solutions.ch2_scaled_dot_product import attention  # noqa: F401
from solutions.ch3_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch4_masking import causal_mask, combine, from_key_padding  # noqa: F401
from solutions.ch5_positional_encoding import PositionalEncoding, sinusoidal  # noqa: F401
from solutions.ch6_transformer import (  # noqa: F401
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Transformer,
    shift,
)

# %% [markdown]
# ## 1. A smoothed loss
#
# Compute the mean cross-entropy of a batch with label smoothing, over its real tokens.
#
# A small case: one token, $V = 2$, the target 0, the logits $(\ln 3, 0)$, so $p = (\frac34, \frac14)$. With $\epsilon = 0.2$ it
# costs $-0.8 \ln \frac34 - 0.1 (\ln \frac34 + \ln \frac14) \approx 0.3975$.
#
# In general, the target is no longer all of one token. A share $1 - \epsilon$ belongs to the correct token $y$, and a share $\epsilon$ is spread evenly over all $V$ tokens, including $y$ and `pad`.
# With the logits' softmax $p$, one token costs
#
# $$-(1 - \epsilon) \ln p_y - \frac{\epsilon}{V} \sum_{v=1}^{V} \ln p_v$$
#
# The result is the mean over the real tokens of the whole batch, those whose target is not `pad`.
#
# - What the logits are at positions with padding makes no difference, and no gradient reaches them. All logits are finite.
# - `pad` may be any integer, even one that is no token, such as −100.
# - Every batch has at least one real token, and `smoothing` is a number from 0 to 1, both included.
# - The logits and targets may have any layout in memory. `shift` of exercise 6 gives targets that are not contiguous.


# %% nbgrader={"grade_id": "smoothed_cross_entropy", "solution": true}
def smoothed_cross_entropy(
    logits: torch.Tensor, targets: torch.Tensor, smoothing: float, pad: int
) -> torch.Tensor:
    """Mean cross-entropy with label smoothing over the real tokens of a batch.

    Source: Szegedy et al. (2016), section 7, with the uniform distribution over all V tokens.

    Args:
        logits: (B, T, V).
        targets: (B, T), integers; at least one is not pad.
        smoothing: the share epsilon that is spread over all tokens.
        pad: the target that marks padding.

    Returns:
        A tensor with one number, shape ().
    """
    ### BEGIN SOLUTION
    real = targets != pad
    log_p = torch.log_softmax(logits[real], dim=-1)  # (real tokens, V)
    right = log_p.gather(-1, targets[real][:, None]).squeeze(-1)
    return -((1 - smoothing) * right + smoothing * log_p.mean(dim=-1)).mean()
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "smoothed_cross_entropy_values", "grade": true, "points": 6}
# B, V = draw.sizes(2, low=3, high=6)
# T = draw.integer(7, 9)
# logits, pad = 2 * draw.tensor(B, T, V), draw.integer(1, V - 1)
# smoothing = 0.1 + 0.01 * draw.integer(0, 30)
# tokens = (pad + torch.from_numpy(draw.integers(B, T, low=1, high=V - 1))) % V
# lengths = 1 + draw.permutation(T)[:B]
# filling = torch.arange(T) >= torch.from_numpy(lengths)[:, None]
# targets, outside = tokens.masked_fill(filling, pad), tokens.masked_fill(filling, -100)
# cube, square = draw.tensor(V, V, V), torch.from_numpy(draw.integers(V, V, low=0, high=V - 1))
# equal("the loss moves when only the logits of padding change", loss_logits_of_padding)
# equal("one number added to all logits of a token changes the loss", loss_shifted_logits)
# equal("more padding behind the sentences changes the loss", loss_more_padding)
# equal("in another order the sentences give another loss", loss_other_order)
# unequal("the share of the smoothing has no influence", loss_without_smoothing)
# unequal("the targets have no influence", loss_other_targets)
# says("gives the mean over the real tokens of the batch", parts=["the whole batch", "one example",
#     "one position", "one token", "logits in float32"])
# ### 1p AUTOTEST loss_mean
# says("passes the right gradients, none of them to padding", parts=["logits"])
# ### 1p AUTOTEST gradients(smoothed_cross_entropy, logits, targets, smoothing, pad)
# says("takes -100 and 0 for pad, and smoothing 0 and 1", parts="pad={mark}, smoothing={share:g}")
# ### 1p AUTOTEST loss_pads_and_shares
# says("is right for logits in the thousands")
# ### 1p AUTOTEST smoothed_cross_entropy(1e3 * logits, targets, smoothing, pad)
# says("is right for equal sizes, a pad beyond the vocabulary, and any layout in memory",
#     parts=["equal sizes", "pad beyond the vocabulary", "transposed logits and targets",
#     "targets from their second position on"])
# ### 1p AUTOTEST loss_layouts
# says("leaves its arguments as they were", parts=("pad={mark}", ["logits", "targets", "smoothing",
#     "pad", "result"]))
# ### 1p AUTOTEST loss_leaves_arguments

# %% [markdown]
# ## 2. The learning rate
#
# Give the learning rate of the first Transformer at a step: it rises in proportion to the step during `warmup` steps and then falls with the root of the step.
#
# A small case: `noam_rate(4, 4, 4)` is $\frac12 \cdot \min(\frac12, 4 \cdot \frac18) = \frac14$, and there the two branches meet.
#
# $$\text{rate}(\text{step}) = d_{\text{model}}^{-1/2} \cdot \min\left(\text{step}^{-1/2},\; \text{step} \cdot \text{warmup}^{-3/2}\right)$$
#
# - Steps count from 1. Raise a `ValueError` for a step below 1.


# %% nbgrader={"grade_id": "noam_rate", "solution": true}
def noam_rate(step: int, d_model: int, warmup: int) -> float:
    """Learning rate with a linear rise and a fall with the root of the step.

    Source: Vaswani et al. (2017), equation 3.

    Args:
        step: number of the update, from 1.
        d_model: width of the model.
        warmup: number of steps during which the rate rises, at least 1.

    Raises:
        ValueError: step is below 1.
    """
    ### BEGIN SOLUTION
    if step < 1:
        raise ValueError(f"step={step}: steps count from 1")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "noam_rate_values", "grade": true, "points": 4}
# width = 8 * draw.integer(2, 90)
# warmup = draw.integer(20, 400)
# rising = [1, warmup - 1, *(draw.integer(2, warmup - 2) for _ in range(4))]
# falling = [warmup + 1, *(draw.integer(warmup + 2, 20 * warmup) for _ in range(4))]
# near = [0, 1, *(draw.integer(-5, 5) for _ in range(18))]
# steps = [near[i] for i in draw.permutation(20)]
# says("rises during the warm-up (values in thousandths)", parts="step {step}")
# ### 1p AUTOTEST [1e3 * noam_rate(step, width, warmup) for step in rising]
# says("falls after the warm-up, which may also take one step (values in thousandths)",
#     parts="step {step}, warmup {ramp}")
# ### 1p AUTOTEST rate_falls
# says("raises a ValueError for steps below 1, and nothing for others", parts="step {step}")
# ### 2p AUTOTEST [raised(noam_rate, step, width, warmup) for step in steps]

# %% [markdown]
# ## 3. Greedy decoding
#
# Write the sentences of a batch by taking the most likely token, again and again. In no check are two tokens equally likely.
#
# A small case: with `bos` 1, `eos` 2, `pad` 0, two rows that want to say `5 2` and `6 7 2` give `[[5, 2, 0], [6, 7, 2]]`, and with `max_len=2`
# they give `[[5, 2], [6, 7]]`.
#
# What you get of the model is a function: `step_fn(prefix)` takes the tokens so far, `(B, t)`, BOS first, and returns for every sentence the logarithms of
# the probabilities of the next token, `(B, V)`.
#
# - The sentences of the batch have different sources, so always pass all rows, in their order, even those that have ended. What these contain in the prefix after their EOS makes no difference.
# - The result does not contain BOS. A row contains its tokens up to and including EOS, and after that only `pad`.
# - Stop when every row has ended: the result is as wide as its longest row. Stop also at `max_len` tokens, EOS counted; a row may end without EOS then.
# - Asking the model is what takes time: call `step_fn` once for each column of the result, and not again after that.


# %% nbgrader={"grade_id": "greedy_decode", "solution": true}
def greedy_decode(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    max_len: int,
    batch: int,
    pad: int,
) -> torch.Tensor:
    """The sentences that come from always taking the most likely token.

    Args:
        step_fn: maps prefixes (B, t), BOS first, to log-probabilities of the next token (B, V).
        bos: the token that stands before every sentence.
        eos: the token that ends a sentence.
        max_len: the largest number of tokens, with EOS and without BOS, at least 1.
        batch: the number of sentences B.
        pad: what fills a row after its EOS; another token than eos.

    Returns:
        (B, <= max_len), integers, without BOS, with EOS, then pad.
    """
    ### BEGIN SOLUTION
    prefix = torch.full((batch, 1), bos)
    ended = torch.zeros(batch, dtype=torch.bool)
    while prefix.shape[1] <= max_len and not ended.all():
        token = step_fn(prefix).argmax(dim=-1).masked_fill(ended, pad)
        prefix = torch.cat([prefix, token[:, None]], dim=1)
        ended = ended | (token == eos)
    return prefix[:, 1:]
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "greedy_decode_values", "grade": true, "points": 6}
# B, V = draw.sizes(2, low=5, high=9)
# L = draw.integer(10, 12)
# pad, bos, eos = [int(token) for token in draw.permutation(V)[:3]]
# table = draw.tensor(B, L, V, V) + 1e-6 * draw.tensor(B, L, V, V)  # no two are equal
# short, long = table.clone(), table.clone()
# short[:, 0, :, eos], short[0, 2, :, eos], short[1:, 5, :, eos] = -9, 9, 9
# short[0, 5, :, eos] = -9  # a row that has ended says anything
# long[:, :, :, eos] = -9
# long[0, 2, :, eos] = 9
# table[..., pad] = table[..., pad] + 1  # said often before EOS
# ends = [draw.integer(1, L - 1) for _ in range(8)]
# equal("the first tokens depend on max_len", greedy_first_tokens)
# equal("what a sentence gives depends on the others of the batch", greedy_sentence_alone)
# says("stops when all rows have ended, and fills them up with pad", parts="batch={rows}")
# ### 1p AUTOTEST greedy_stops_at_eos
# says("asks the model once for each column of the result, and not again", added="calls")
# ### 1p AUTOTEST greedy_calls
# says("stops at max_len tokens, where most rows have not ended")
# ### 2p AUTOTEST greedy_stops_at_max_len
# says("is right for models that look at the whole prefix", parts="max_len={n}")
# ### 2p AUTOTEST greedy_whole_prefix

# %% [markdown]
# ## 4. Beam search
#
# Search for a better sentence than the greedy one by keeping several *open* prefixes.
#
# A small case, with `bos` 0 and `eos` 1: after BOS, token 2 has the probability 0.6 and token 3 has 0.4. After 2, the sentence ends with 0.5; after 3, with 0.9. With `beam=1` the result is `[2, 1]`, of probability 0.3.
# With `beam=2` and `alpha=0` it is `[3, 1]`, and its score is $\ln 0.36$.
#
# 1. The search starts with one open prefix, which is only BOS and has the log-probability 0.
# 2. Every open prefix is continued with every token. The log-probability of a continuation is the sum over all its tokens. Of **all** these continuations the
#    `beam` most likely ones are kept (all, if there are fewer; in no check are two equally likely).
# 3. Kept continuations that end in EOS are *finished*. The others are the open prefixes of the next round: as many as are left, without refilling. The next round again keeps `beam` of
#    all continuations, however many prefixes are open.
# 4. The search ends when nothing is open. What is still open at `max_len` tokens is finished as it is, without EOS.
#
# A long sentence has a small probability, because every token costs something. So the finished sentences compete by a score in which length is discounted,
# and the best score wins, whenever that sentence was finished:
#
# $$\text{score} = \frac{\ln p(\text{sentence})}{\left(\frac{5 + L}{6}\right)^{\alpha}}, \qquad L \text{ tokens, EOS counted, BOS not}$$
#
# Here there is one sentence, so `step_fn` takes any number of prefixes `(N, t)`, BOS first, and returns `(N, V)`.


# %% nbgrader={"grade_id": "beam_search", "solution": true}
def beam_search(
    step_fn: Callable[[torch.Tensor], torch.Tensor],
    bos: int,
    eos: int,
    beam: int,
    max_len: int,
    alpha: float,
) -> tuple[torch.Tensor, float]:
    """The best sentence that a search with several open prefixes finds.

    Source: the length penalty of Wu et al. (2016), equation 14, without the coverage term.

    Args:
        step_fn: maps prefixes (N, t), BOS first, to log-probabilities of the next token (N, V).
        bos: the token that stands before the sentence.
        eos: the token that ends it.
        beam: how many continuations are kept in each round, at least 1.
        max_len: the largest number of tokens, with EOS and without BOS, at least 1.
        alpha: exponent of the length penalty; 0 = none.

    Returns:
        ids (L,), integers, without BOS, with EOS if the sentence has ended, and its score, a float.
    """
    ### BEGIN SOLUTION
    prefixes, log_p = torch.full((1, 1), bos), torch.zeros(1)
    best, best_score = prefixes[0], -math.inf
    for length in range(1, max_len + 1):
        step = step_fn(prefixes)  # (N, V)
        totals = (log_p[:, None] + step).flatten()
        log_p, places = totals.topk(min(beam, len(totals)))
        parents, tokens = places // step.shape[-1], places % step.shape[-1]
        prefixes = torch.cat([prefixes[parents], tokens[:, None]], dim=1)
        finished = (tokens == eos) | (length == max_len)
        scores = log_p / ((5 + length) / 6) ** alpha
        for ids, score in zip(prefixes[finished], scores[finished].tolist(), strict=True):
            if score > best_score:
                best, best_score = ids, score
        prefixes, log_p = prefixes[~finished], log_p[~finished]
        if not len(prefixes):
            break
    return best[1:], best_score
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "beam_search_values", "grade": true, "points": 7}
# V, L = draw.integer(6, 9), draw.integer(6, 8)
# bos, eos, decoy, good = [int(token) for token in draw.permutation(V)[:4]]
# beam = draw.integer(3, 5)
# alpha = 0.05 + 0.1 * draw.integer(4, 11)  # never 1
# tables = 2 * draw.tensor(16, L, V, V) + 1e-6 * draw.tensor(16, L, V, V)  # no two are equal
# tables[..., eos] = tables[..., eos] - 1
# trap = 1.5 * tables[0]
# trap[:, decoy] = 0.1 * draw.tensor(L, V)
# trap[0, bos] = 0.1 * draw.tensor(V) - 3
# trap[0, bos, decoy], trap[0, bos, good] = 1, 0.8
# trap[1, good, good], trap[2, good, eos] = 20, 20
# trap = (trap + 1e-6 * draw.tensor(L, V, V)).log_softmax(-1)
# unending = tables.clone()
# unending[..., eos] = -30
# tables, unending = tables.log_softmax(-1), unending.log_softmax(-1)
# equal("a second search with the same arguments gives another sentence", beam_twice)
# says("finds the better sentence behind a less likely first token", parts=(None, ["ids", "score",
#     "whether the score is a float"]))
# ### 3p AUTOTEST beam_trap
# says("is right where no sentence ends before max_len", parts=(None, ["ids", "score"]))
# ### 2p AUTOTEST beam_unending
# says("is greedy search when beam is 1 and alpha is 0", parts=("max_len={n}", ["ids", "score"]))
# ### 2p AUTOTEST beam_greedy

# %% active="ipynb" nbgrader={"grade_id": "beam_search_edges", "grade": true, "points": 5}
# V, L = draw.integer(4, 5), 4
# bos, eos = [int(token) for token in draw.permutation(V)[:2]]
# alpha = 0.05 + 0.1 * draw.integer(4, 11)  # never 1
# logits = draw.tensor(2, 32, L, V, V) + 1e-6 * draw.tensor(2, 32, L, V, V)  # no two are equal
# logits[1, ..., eos] = -30
# logits[0, :, :, eos, bos] = 9
# tables, endless = logits.log_softmax(-1)
# W, M = draw.integer(7, 9), 6
# start, stop, a, b, c, good = [int(token) for token in draw.permutation(W)[:6]]
# planned = 0.3 * draw.tensor(3, M, W, W)
# planned[:, 0, start] = 0.1 * draw.tensor(3, W) - 4
# planned[0, 0, start, [stop, a, b, c]] += 4 + torch.tensor([2, 1.9, 1.8, 1.3]).double()
# planned[1, 0, start, [stop, a, b]] += 4 + torch.tensor([2, 2, 0.8]).double()
# planned[2, 0, start, [stop, a, b]] += 4 + 1.5
# planned[:, 1:, :, good] = -9
# planned[1, 1, a, [c, start]], planned[2, 1, b, [stop, good]] = 4, torch.tensor([4, 4.2]).double()
# planned[2, 1, a, stop], planned[0, 1, c, good], planned[1, 1, b, good] = 9, 9, 9
# planned[:, 1:, [good, stop], good] = 9
# planned = planned.log_softmax(-1)
# exponents = [0.25 * number for number in range(12)]
# late = 0.1 * draw.tensor(M, W, W)
# late[0, start] -= 9 * torch.isin(torch.arange(W), torch.tensor([start, stop, c])) + 3 * (
#     torch.arange(W) == good
# )
# late[1, :, [start, stop, c]] -= 9
# late[2:, :, c] -= 9
# late[1, good, c], late[2:, c, c] = 20, 20
# late = late.log_softmax(-1)
# says("finds the best sentence of all with a very large beam", parts=(None, ["ids", "score"]))
# ### 2p AUTOTEST beam_very_large
# says("keeps the right continuations when some are finished", parts=("alpha={power}", ["ids",
#     "score"]))
# ### 2p AUTOTEST beam_some_finished
# says("returns a sentence without EOS where the model never says it", parts=("max_len={n}", ["ids",
#     "score"]))
# ### 1p AUTOTEST beam_without_eos

# %% [markdown]
# ## 5. A cache for keys and values
#
# Run causal self-attention one position at a time: project only the new position, add its key and value to a cache, and attend from
# the one new query to everything that is in there.
#
# A small case: called with the first position and `None`, it returns the output of that position and a cache of one key and one value. Called with the second position and this cache, it returns a cache of two.
# The outputs, one after the other, are those of `mha(x, x, x, causal mask)` on the whole sequence at once.
#
# - `mha` is a layer of exercise 3: it has `w_q`, `w_k`, `w_v`, `w_o`, `n_heads` and `attention`. Call the attention as `mha.attention(query, key, value, mask)`,
#   with four arguments. The mask is `None`, or one that lets the query attend to everything.
# - The cache is a dictionary with `"key"` and `"value"`, both of the shape `(B, H, t, d)`, in the order of the positions. `None` is the empty cache.
# - The cache that comes in stays as it was, so that two continuations can start from the same one.
# - Gradients flow through the cache to the earlier positions.


# %% nbgrader={"grade_id": "cached_attention", "solution": true}
def cached_attention(
    mha: MultiHeadAttention, x: torch.Tensor, cache: dict[str, torch.Tensor] | None = None
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Causal self-attention of the newest position, with the earlier ones in a cache.

    Args:
        mha: the layer.
        x: (B, 1, D), the newest position.
        cache: "key" and "value", each (B, H, t, d), of the t positions before. None = there are none.

    Returns:
        output (B, 1, D), and a new cache with the keys and values of t + 1 positions.
    """
    ### BEGIN SOLUTION
    query, key, value = (
        split_heads(project(x), mha.n_heads) for project in (mha.w_q, mha.w_k, mha.w_v)
    )
    if cache is not None:
        key = torch.cat([cache["key"], key], dim=2)
        value = torch.cat([cache["value"], value], dim=2)
    # nothing in the cache is in the future of the newest position, so there is nothing to mask
    output, _ = mha.attention(query, key, value, None)
    return mha.w_o(merge_heads(output)), {"key": key, "value": value}
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "cached_attention_values", "grade": true, "points": 7}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# B, T, H, d, t = draw.sizes(5, low=3, high=7)
# x, new = 0.4 * draw.tensor(B, T, H * d), 0.4 * draw.tensor(B, 1, H * d)
# cache = {"key": 0.4 * draw.tensor(B, H, t, d), "value": draw.tensor(B, H, t, d)}
# equal("the cache that came in has changed", cached_leaves_cache)
# equal("the first result has changed since the second call", cached_keeps_first_result)
# equal("a second call with the same inputs gives another result", cached_twice)
# unequal("the cache has no influence on the output", cached_cache_or_none)
# equal("the part of the cache that was there before has changed in the new one",
#     cached_earlier_part)
# equal("what an example gives depends on the other examples of the batch", cached_example_alone)
# equal("in another order the positions of the cache give another output", cached_other_order)
# unequal("the newest position doesn't attend to itself", cached_newest_position)
# says("gives position by position what the whole sentence gives at once")
# ### 2p AUTOTEST cached_whole_sentence
# says("starts with an empty cache, and keeps two continuations of one cache apart",
#     parts=(["the first word", "the first continuation goes on after the second has begun"],
#     ["output", "cache"]))
# ### 1p AUTOTEST cached_two_continuations
# says("reads the cache and returns a longer one", parts=("B={rows}, H={heads}", ["output",
#     "cache"]))
# ### 1p AUTOTEST cached_longer
# says("passes gradients through the cache to the earlier positions", added="gradients")
# ### 1p AUTOTEST cached_gradients
# says("leaves its arguments as they were, the layer's mode and what it learns too", parts=(["x",
#     "cache", "result", "the layer's training mode", "whether its weights ask for gradients",
#     "the sum of its weights"], ["output", "new cache"]))
# ### 1p AUTOTEST cached_leaves_arguments
# says("calls the attention of the layer, with four arguments", parts=["output", "cache"])
# ### 1p AUTOTEST cached_given_attention

# %% [markdown]
# ## 6. BLEU
#
# Score a corpus of translations: BLEU counts n-grams, runs of $k$ tokens for $k = 1, \dots, n$, that a translation shares with its reference.
#
# A small case, with `n=2`: the hypothesis `a a b` and the reference `a b c d`. $m_1 = 2$ of $c_1 = 3$, $m_2 = 1$ of $c_2 = 2$, and
# $\text{BP} = e^{1 - 4/3}$, so BLEU is $100 \cdot e^{-1/3} \cdot \sqrt{1/3} \approx 41.37$.
#
# $$\text{BLEU} = 100 \cdot \text{BP} \cdot \left(\prod_{k=1}^{n} \frac{m_k}{c_k}\right)^{1/n}, \qquad
# \text{BP} = \begin{cases} 1 & \text{if } c \ge r \\ e^{1 - r/c} & \text{if } c < r \end{cases}$$
#
# - $c_k$ is the number of $k$-grams in all hypotheses. $m_k$ is how many of them match: in each sentence an n-gram counts at most as often as it occurs in the
#   reference of that sentence ("clipped").
# - $c$ and $r$ are the numbers of tokens in all hypotheses and all references.
# - The sums over sentences come first, the fraction last: it is not the mean of the sentences' scores.
# - There is no smoothing. If some $m_k$ is 0, the result is 0, even where no hypothesis is long enough to have a $k$-gram, or all are empty.
# - Tokens are compared as they are: `The` and `the` are two tokens, and the 2-gram `a bc` is not `ab c`. No token contains a space.


# %% nbgrader={"grade_id": "corpus_bleu", "solution": true}
def corpus_bleu(hypotheses: list[list[str]], references: list[list[str]], n: int = 4) -> float:
    """BLEU of a corpus of token lists, with one reference for each hypothesis, without smoothing.

    Source: Papineni et al. (2002), sections 2.2 and 2.3.

    Args:
        hypotheses: lists of tokens; some may be empty.
        references: as many lists of tokens, none of them empty.
        n: the longest n-grams that count.

    Returns:
        A number from 0 to 100.
    """
    ### BEGIN SOLUTION
    matches, counts = [0] * n, [0] * n
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for k in range(1, n + 1):
            own, right = (
                Counter(zip(*(tokens[i:] for i in range(k)), strict=False))
                for tokens in (hypothesis, reference)
            )
            matches[k - 1] += (own & right).total()
            counts[k - 1] += own.total()
    if not all(matches):
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    precision = math.prod(m / count for m, count in zip(matches, counts, strict=True))
    return 100 * min(1.0, math.exp(1 - r / c)) * precision ** (1 / n)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "corpus_bleu_values", "grade": true, "points": 8}
# words = ["tok%d" % i for i in range(draw.integer(9, 16))]
# right = [draw.choices(draw.integer(6, 14), words) for _ in range(20)]
# noisy = [[word if draw.integer(0, 6) else words[0] for word in sentence] for sentence in right]
# long = [sentence + draw.choices(draw.integer(1, 3), words) for sentence in noisy]
# short = [sentence[: draw.integer(5, 9)] for sentence in noisy]
# holes = [sentence[: draw.integer(0, 1) * (len(sentence) - 1)] for sentence in noisy]
# stutter = [[word for word in sentence for _ in range(draw.integer(1, 2))] for sentence in noisy]
# tiny = [sentence[: draw.integer(1, 3)] for sentence in right]
# mixed = [one if draw.integer(0, 2) else other for one, other in zip(short, long)]
# apart, joined = (
#     [[*sentence[:length], *ends] for sentence, length in zip(right, range(1, 21))]
#     for ends in (["to", "k1"], ["tok", "1"])
# )
# loud = [
#     [word.replace("t", "T") if draw.integer(0, 4) == 0 else word for word in sentence]
#     for sentence in right
# ]
# equal("in another order the sentences give another score", bleu_other_order)
# equal("other names for the tokens give another score", bleu_other_names)
# equal("the corpus twice over gives another score", bleu_twice_over)
# says("is right for hypotheses that are longer than their references")
# ### 2p AUTOTEST corpus_bleu(long, right)
# says("punishes a corpus that is too short, and no single sentence", parts=["all short, n=4",
#     "all short, n=2", "some short, some long"])
# ### 1p AUTOTEST bleu_shorter
# says("compares tokens as they are", parts=["some words with capitals",
#     "words split at another place"])
# ### 1p AUTOTEST [corpus_bleu(loud, right), corpus_bleu(apart, joined, 2)]
# says("counts a match at most as often as the reference has it")
# ### 1p AUTOTEST corpus_bleu(stutter, right, 2)
# says("takes empty hypotheses, and leaves all lists as they were", parts=["score",
#     "whether the hypotheses are as before", "whether the references are as before"])
# ### 1p AUTOTEST bleu_leaves_lists
# says("is right for every n, and 0 where some order has no match", parts=["tiny, n=1", "tiny, n=2",
#     "tiny, n=3", "tiny, n=4", "tiny, n=5", "another order, n=5", "all right", "all empty"])
# ### 2p AUTOTEST bleu_every_n

# %% [markdown]
# ## 7. All of it
#
# Train a model on pairs of sentences of a small language that you have never seen, and return a function that translates.
#
# A small case of the form: with `pairs = [[[5, 9], [7, 3, 8]], ...]`, `fit(pairs, 12)` returns a function `translate`, and `translate([[5, 9]])` gives `[[7, 3, 8]]` if it has learned that pair.
#
# Some words of the language have one translation. Others have two forms, and which one is correct depends on another word of the sentence. The order changes, too, and where a word goes depends on the words around it.
# Which words, which forms and which order is drawn anew each time. In the sentences that you are asked for afterwards, words are together that never are in the pairs. So it is not enough to count which words occur together.
#
# | rule | |
# |---|---|
# | pairs | `pairs` is a list of lists `[source, target]`. A sentence is a list of whole numbers from 3 to 99, so 0, 1 and 2 are free for padding, BOS and EOS. |
# | `translate` | It gets a list of source sentences and returns the list of their translations, without BOS, EOS and padding. |
# | `seconds` | *Processor time*, as `time.process_time()` counts it: work is counted, waiting for other programs is not. Everything runs on one thread. |
# | the check | It gives 2,000 pairs of 3 to 6 words and 12 seconds of processor time, and then asks for 200 new sentences of 3 to 6 of the same words. At least 90% of them must be correct in every word. |
# | time | What is measured is `fit` with the translating, and all processes that it starts. Up to 15 seconds, a quarter more than `seconds`, are tolerated; beyond that the points are lost, however good the translations are. By the clock on the wall it may take up to two minutes. |
# | luck | When you are graded and the first try falls short, `fit` is called once more, in a fresh Python that knows nothing of the first try, with pairs of a different language. |
# | what is seen | The check sees the translations and the time, and not how the translations were found. Rules written by hand for languages of this kind would pass it, too. |
#
# The cell *What you have built so far* has the `Transformer` of exercise 6, with `encode`, `decode` and `shift`. One layer on each side and a width of 48 are enough. Worth a thought:
# the size of the batch, how large the learning rate is and what becomes of it towards the end, and a few pairs kept aside that tell you how well it goes.


# %% nbgrader={"grade_id": "fit", "solution": true}
def fit(
    pairs: list[list[list[int]]], seconds: float
) -> Callable[[list[list[int]]], list[list[int]]]:
    """Train a translator.

    Args:
        pairs: lists [source, target] of two sentences, which are lists of numbers from 3 to 99.
        seconds: the processor time that may be used, as time.process_time() counts it.

    Returns:
        A function from a list of source sentences to the list of their translations.
    """
    ### BEGIN SOLUTION
    begin, pad, bos, eos = time.process_time(), 0, 1, 2

    def padded(rows: list[list[int]]) -> torch.Tensor:
        rows = [torch.tensor(row) for row in rows]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)

    source = padded([words for words, _ in pairs])
    target = padded([[bos, *words, eos] for _, words in pairs])
    vocab = 1 + int(max(source.max(), target.max()))
    model = Transformer(vocab, vocab, d_model=48, n_heads=4, n_layers=1, d_ff=96, pad=pad)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.98))

    @torch.no_grad()
    def translate(sentences: list[list[int]]) -> list[list[int]]:
        rows = padded(sentences)
        memory = model.encode(rows)
        ids = greedy_decode(
            lambda prefix: model.decode(prefix, memory, rows)[:, -1].log_softmax(dim=-1),
            *(bos, eos, target.shape[1], len(rows), pad),
        )
        return [[word for word in row if word not in (pad, eos)] for row in ids.tolist()]

    step = 0
    # a part is left over for translating
    while (left := 1 - (time.process_time() - begin) / (0.85 * seconds)) > 0:
        step += 1
        optimiser.param_groups[0]["lr"] = 0.01 * min(1, step / 50) * left
        rows = torch.randint(len(pairs), (64,))
        target_in, target_out = shift(target[rows])
        loss = smoothed_cross_entropy(model(source[rows], target_in), target_out, 0.0, pad)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return translate
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "fit_values", "grade": true, "points": 6}
# pairs, unseen, targets = draw_fit_values(draw)
# agreement("targets", share=0.9, seconds=120, processor_seconds=12, sources="unseen")
# says("translates at least 90 of 100 new sentences, with 12 seconds of processor time", case=False)
# ### 6p AUTOTEST fit(pairs, 12)(unseen)

# %% [markdown] nbgrader={"grade_id": "two_scores", "grade": true, "solution": true, "points": 3}
# **Written answer.** Two reports on the same test set: one says BLEU 41.0, the other 38.5. Name three things in how the score was made that could explain the difference without any model being
# better, say what each of them does to the number, and what a report must state so that others can compare. Three to six sentences.
#
# ### BEGIN SOLUTION
# The text may have been lowercased, which turns wrong capitals into matches. It may have been split differently: BLEU on tokens (or on pieces of words) counts other n-grams
# than BLEU on plain text that a standard tokeniser has split, and punctuation split off gives more easy matches. Smoothing, the number of references or the mean of the sentences' scores in place of
# the corpus's change the formula itself. The search counts as well: beam size and length penalty, which moves the brevity penalty, and whether a checkpoint was chosen on the test set.
# A report must state the score with its version, tokenisation, case, smoothing and number of references, as sacreBLEU's signature does, and which files were compared.
#
# Rubric: 1 point for three causes; 1 point for what at least two of them do to the number; 1 point for the signature or a list that says the same (tokenisation, case, smoothing, references, version).
# ### END SOLUTION

# %% [markdown]
# ## Now use it
#
# No points here, and grading leaves the next cell out. It trains the Transformer with your loss and your learning rate on 300 German number words and what they are in English, searches with your two
# functions, and scores 200 others with your BLEU. Take the `#` off the last line and run it: it takes less than half a minute on one core.
# Does the beam find what greedy decoding misses? And what does such a BLEU leave open? Try other settings.

# %% active="ipynb" nbgrader={"grade_id": "now_use_it", "locked": true}
# import time
#
# GERMAN = "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split()
# ENGLISH = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
# GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
# ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
#
#
# def in_words(n, german):
#     """A number below one million, word by word."""
#     for size, name in (1000, "tausend" if german else "thousand"), (100, "hundert" if german else "hundred"):
#         if n >= size:
#             return [*in_words(n // size, german), name, *(in_words(n % size, german) if n % size else [])]
#     if n < 20:
#         return [(GERMAN if german else ENGLISH)[n]]
#     tens, ones = [(GERMAN_TENS if german else ENGLISH_TENS)[n // 10 - 2]], in_words(n % 10, german) if n % 10 else []
#     return [*ones, "und", *tens] if german and ones else [*tens, *ones]
#
#
# def padded(rows):
#     return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
#
#
# def following(model, source):
#     """The function that your searches ask: log-probabilities of the word after each prefix."""
#     memory = model.encode(source)
#
#     def step(prefix):
#         rows = len(prefix) // len(source)
#         logits = model.decode(prefix, memory.repeat(rows, 1, 1), source.repeat(rows, 1))
#         return logits[:, -1].log_softmax(-1)
#
#     return step
#
#
# def now_use_it(seconds=20, warmup=150, smoothing=0.1, beam=4, alpha=0.6, width=48, seen=300):
#     if still_missing("smoothed_cross_entropy", "noam_rate", "greedy_decode", "beam_search", "corpus_bleu"):
#         return
#     torch.manual_seed(0)
#     numbers = torch.randint(1000, 10**6, (8000,)).unique().tolist()
#     numbers = [numbers[place] for place in torch.randperm(len(numbers))]
#     both = [[in_words(n, german) for n in numbers] for german in (True, False)]
#     # 0 is padding, 1 the begin of a sentence, 2 its end
#     words = ["", "", "", *sorted({word for sentences in both for sentence in sentences for word in sentence})]
#     source, right = ([[words.index(word) for word in sentence] for sentence in sentences] for sentences in both)
#     source, target = padded(source), padded([[1, *row, 2] for row in right])
#     model = Transformer(len(words), len(words), d_model=width, n_heads=4, n_layers=1, d_ff=2 * width)
#     optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
#     begun, step = time.process_time(), 0
#     while time.process_time() - begun < seconds:
#         step += 1
#         # the first 200 are kept for asking
#         rows = torch.randint(200, 200 + seen, (64,))
#         target_in, target_out = shift(target[rows])
#         loss = smoothed_cross_entropy(model(source[rows], target_in), target_out, smoothing, 0)
#         optimiser.param_groups[0]["lr"] = noam_rate(step, width, warmup)
#         optimiser.zero_grad()
#         loss.backward()
#         optimiser.step()
#     with torch.no_grad():
#         greedy = greedy_decode(following(model.eval(), source[:200]), 1, 2, 20, 200, 0)
#         searched = [beam_search(following(model, one[None]), 1, 2, beam, 20, alpha)[0] for one in source[:200]]
#     for name, found in (f"a beam of {beam}", searched), ("greedy", greedy):
#         texts = [[words[token] for token in row.tolist() if token > 2] for row in found]
#         exact = [text == sentence for text, sentence in zip(texts, both[1])]
#         print(f"{name}: BLEU {corpus_bleu(texts, both[1][:200]):.1f}, {sum(exact)} of 200 right in every word")
#     # the wrong ones first
#     for place in sorted(range(200), key=lambda place: exact[place])[:5]:
#         print(f"\n{numbers[place]:,}: {' '.join(both[0][place])}\nwritten: {' '.join(texts[place])}")
#
#
# # now_use_it()
