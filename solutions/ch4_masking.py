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
# # Exercise 4: Masking
#
# A mask that is wrong raises no error, and often makes the numbers look better. Here you build the masks of a Transformer,
# a softmax that survives them, and a loss that knows them. And you write a test that finds out what a function can see.
# Chapter 4 has the ideas, worked out for one sentence.
#
# **The core** is tasks 1 to 4 and the second mask of task 5: about 90 minutes, by our estimate. Later exercises use
# `causal_mask`, `combine` and `from_key_padding`, and what a query with nothing to attend to gets.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks all are equal.
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
# | `B` | examples in a batch |
# | `T` | queries |
# | `S` | keys, and values: one value belongs to each key |
# | `D` | width of the vectors |
# | `V` | tokens in the vocabulary |
# | `...` | any number of leading axes, including none |
#
# A mask is boolean, and `True` means *may attend*, unless a task says otherwise.

# %% nbgrader={"grade_id": "imports", "locked": true}
from collections.abc import Callable

import torch
from torch.nn import functional as F

# %% [markdown]
# ## 1. Padding
#
# Hide the filling of a batch: it holds sentences of different lengths, filled up to the same length at the end, and no query
# of example `b` may attend to a key that is filling.
#
# A small case: `padding_mask(torch.tensor([2, 0, 3]), 3)` has the shape `(3, 1, 1, 3)` and holds
#
# ```
# [[[[ True,  True, False]]],
#  [[[False, False, False]]],
#  [[[ True,  True,  True]]]]
# ```
#
# The result has an axis for heads and one for queries, both of length 1, so that it broadcasts to the scores `(B, H, T, S)`.


# %% nbgrader={"grade_id": "padding_mask", "solution": true}
def padding_mask(lengths: torch.Tensor, max_len: int) -> torch.Tensor:
    """Which keys are real tokens.

    Args:
        lengths: (B,), integers from 0 to max_len: the number of real tokens of each example.
        max_len: the number of keys S.

    Returns:
        (B, 1, 1, S), boolean, True = may attend.
    """
    ### BEGIN SOLUTION
    return (torch.arange(max_len) < lengths[:, None])[:, None, None, :]
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "padding_mask_values", "grade": true, "points": 3}
# B, S = draw.sizes(2, low=5)
# lengths, equal = [torch.from_numpy(draw.integers(n, low=1, high=S - 1)) for n in (B, S)]
# with_extremes = torch.tensor([0, S, *draw.integers(B, low=0, high=S)])[draw.permutation(B + 2)]
# equal("what an example gives depends on the other examples of the batch", padding_example_alone)
# says("real tokens are True, padding is False", parts=["all examples", "one example"])
# ### 1p AUTOTEST [padding_mask(lengths, S), padding_mask(lengths[:1], S)]
# says("takes lengths of 0 and of S, too")
# ### 1p AUTOTEST padding_mask(lengths=with_extremes, max_len=S)
# says("is right with as many examples as keys")
# ### 1p AUTOTEST padding_mask(equal, S)

# %% [markdown]
# ## 2. The future
#
# Hide the future: a query may attend to the keys up to its own position. Small cases: `causal_mask(3)`, `causal_mask(2, 4)`, and,
# for completeness, `causal_mask(3, 2)`, in which the first query has nothing to see:
#
# ```
# [[ True, False, False],      [[ True,  True,  True, False],      [[False, False],
#  [ True,  True, False],       [ True,  True,  True,  True]]       [ True, False],
#  [ True,  True,  True]]                                           [ True,  True]]
# ```
#
# - With as many queries as keys the mask is the lower triangle, diagonal included.
# - When a model writes, it computes only the newest positions, while the keys of all earlier ones are kept. There may be fewer
#   queries than keys, and then the queries are the *last* positions of the sequence: the last query sees every key.


# %% nbgrader={"grade_id": "causal_mask", "solution": true}
def causal_mask(T: int, S: int | None = None) -> torch.Tensor:
    """Which keys are not in the future: the lower triangle, aligned to the bottom right.

    Args:
        T: the number of queries, which are the last T positions of the sequence.
        S: the number of keys. None = as many as queries.

    Returns:
        (T, S), boolean, True = may attend.
    """
    ### BEGIN SOLUTION
    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "causal_mask_values", "grade": true, "points": 4}
# squares = [[draw.integer(2, 9)] * draw.integer(1, 2) for _ in range(10)]
# pairs = [draw.sizes(2, low=1) for _ in range(10)]
# pairs += [sorted(pair) for pair in pairs]
# squares, pairs = [*squares, [1]], [*pairs, [1, pairs[0][0] + 1], [pairs[0][0] + 1, 1]]
# says("is the lower triangle with as many queries as keys", parts="causal_mask{tuple(sizes)}")
# ### 2p AUTOTEST [causal_mask(*sizes) for sizes in squares]
# says("lets the last query see every key, with fewer or more queries than keys",
#     parts="causal_mask({T}, {S})")
# ### 2p AUTOTEST [causal_mask(S=S, T=T) for T, S in pairs]

# %% [markdown]
# ## 3. Several masks at once
#
# Join masks: a key may be attended to if *every* mask allows it. A small case: `combine(None, mask)` is equal to `mask`.
#
# - The masks may have one shape, or different ones that broadcast, such as `(B, 1, 1, S)` and `(T, S)`.
# - Some may be `None`, which means that everything is allowed. If all are `None`, or there are none at all, the result is `None`.
# - The masks that come in stay as they were.


# %% nbgrader={"grade_id": "combine", "solution": true}
def combine(*masks: torch.Tensor | None) -> torch.Tensor | None:
    """The mask that allows what all masks allow.

    Args:
        masks: boolean, True = may attend, of shapes that broadcast. None = all may be attended to.

    Returns:
        A boolean mask of the broadcast shape; None if no argument is a mask.
    """
    ### BEGIN SOLUTION
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else combined & mask
    return combined
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "combine_values", "grade": true, "points": 4}
# B, H, T, S = draw.sizes(4)
# padding, causal = torch.from_numpy(draw.mask(B, 1, 1, S)), torch.from_numpy(draw.mask(T, S))
# per_head = torch.from_numpy(draw.mask(H, T, S))
# equal, other = [torch.from_numpy(draw.mask(S, S, S, S)) for _ in range(2)]
# given = [padding, causal, per_head, None, None]
# picks = [[given[i] for i in draw.integers(n, low=0, high=4)] for n in draw.permutation(4)]
# picks += [[None] * n for n in range(3)] + [[None, padding, None, causal, per_head]]
# equal("in another order the masks give another result", combine_other_order)
# equal("a None among the masks changes the result", combine_with_none)
# says("allows what two masks of different shapes allow")
# ### 1p AUTOTEST combine(padding, causal)
# says("allows what three masks allow")
# ### 1p AUTOTEST combine(per_head, padding, causal)
# says("leaves None out, and is None without any mask", parts="{len(pick)} arguments")
# ### 1p AUTOTEST [combine(*pick) for pick in picks]
# says("takes two masks of one shape, and leaves them as they were", parts=["first mask",
#     "second mask", "result"])
# ### 1p AUTOTEST inputs_after(combine, equal, other)

# %% [markdown]
# ## 4. A softmax under a mask
#
# Write the softmax along the last axis, over the keys that may be attended to.
#
# A small case: the scores $(0, 5, \ln 3)$ with the mask `(True, False, True)` give the weights $(1/4, 0, 3/4)$.
#
# | what | rule |
# |---|---|
# | weights | A masked key has weight exactly 0, and the weights of the others sum to 1, however large or small the scores are, masked ones included (all are finite, and none is larger than a million, or in float16 than ten thousand). |
# | empty rows | A row in which nothing may be attended to is all 0. |
# | gradients | They flow to `scores` and are finite everywhere. They are 0 at masked keys, and in the whole of an empty row. |
# | `mask` | It broadcasts to the shape of the scores, and `None` means that there is none. |
# | data type | The result has the data type of `scores`, even if that is `float16`. |
# | inputs | They stay as they were, whatever their layout in memory is. |


# %% nbgrader={"grade_id": "masked_softmax", "solution": true}
def masked_softmax(scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Softmax over the keys that may be attended to.

    Args:
        scores: (..., T, S), floating.
        mask: broadcastable to (..., T, S), boolean, True = may attend. None = no mask.

    Returns:
        (..., T, S), in the data type of scores; rows with nothing to attend to are zero.
    """
    ### BEGIN SOLUTION
    if mask is None:
        return torch.softmax(scores, dim=-1)
    lowest = torch.finfo(scores.dtype).min
    # an empty row becomes uniform here, so that nothing is divided by zero; the product empties it
    return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1) * mask
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "masked_softmax_values", "grade": true, "points": 5}
# B, H, T, S = draw.sizes(4, low=3)
# scores, equal = 6 * draw.tensor(B, H, T, S), 6 * draw.tensor(H, H, H, H)
# mask, padding = torch.from_numpy(draw.mask(B, H, T, S)), torch.from_numpy(draw.mask(B, 1, 1, S))
# equal_mask = torch.from_numpy(draw.mask(H, H, H, H))
# equal("a weight moves when only masked scores change", softmax_hidden_scores)
# equal("what a row gives depends on other rows", softmax_without_first_row)
# equal("one number added to all scores changes the weights", softmax_shifted_scores)
# says("masked keys have weight 0, and the others sum to 1")
# ### 2p AUTOTEST masked_softmax(scores, mask)
# says("is right where all sizes are equal")
# ### 1p AUTOTEST masked_softmax(equal, equal_mask)
# says("takes a mask that broadcasts",
#     parts="scores of shape {tuple(part.shape)}, mask of shape {tuple(given.shape)}")
# ### 1p AUTOTEST softmax_broadcast
# says("is the plain softmax without a mask", parts=["all scores", "one key", "all sizes equal"])
# ### 1p AUTOTEST softmax_without_mask

# %% active="ipynb" nbgrader={"grade_id": "masked_softmax_edges", "grade": true, "points": 6}
# B, T, S = draw.sizes(3, low=3)
# scores = draw.tensor(B, T, S)
# mask = torch.from_numpy(draw.mask(B, T, S))
# with_empty = torch.from_numpy(draw.mask(B, T, S, empty=2))
# names = [["float16", "bfloat16", "float32", "float64"][i % 4] for i in draw.permutation(10)]
# first_empty = mask[0] & (torch.arange(T) > 0)[:, None]
# equal("a weight moves when only masked scores change", softmax_high_hidden_scores)
# says("gives zeros to a query with nothing to attend to")
# ### 1p AUTOTEST masked_softmax(scores, with_empty)
# says("passes gradients that are 0, and never NaN, where nothing may be attended to",
#     parts=["scores"])
# ### 1p AUTOTEST gradients(masked_softmax, scores, with_empty)
# says("keeps the data type of the scores, also float16 and in an empty row",
#     parts=("{name} scores, masked={masked}", ["data type", "values"]))
# ### 1p AUTOTEST softmax_data_types
# says("is right for scores in the thousands and of both signs, masked ones too",
#     parts="{factor:g} * scores + {shift:g}, masked ones {more:g} above that, masked={masked}")
# ### 1p AUTOTEST softmax_large_scores
# says("takes scores and masks in any memory layout")
# ### 1p AUTOTEST softmax_layouts
# says("leaves its arguments as they were, and looks at them in every call", parts=["scores",
#     "mask", "result", "result for other tensors", "result for these with new numbers in them"])
# ### 1p AUTOTEST softmax_leaves_arguments

# %% [markdown]
# ## 5. Other people's masks
#
# Translate between our masks and others, which don't say *True may attend*. Two functions are needed.
#
# **Additive.** Many functions add a float mask to the scores: 0 where attending is allowed, minus infinity where it is not.
# Turn one of our masks into one of these, in a given data type. A small case: `(True, False)` becomes `(0, -inf)`.


# %% nbgrader={"grade_id": "additive", "solution": true}
def additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A mask as numbers that are added to the scores.

    Args:
        mask: any shape, boolean, True = may attend.
        dtype: the floating data type of the result.

    Returns:
        The shape of mask: 0 where it is True, minus infinity where it is False.
    """
    ### BEGIN SOLUTION
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, float("-inf"))
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "additive_values", "grade": true, "points": 3}
# B, T, S = draw.sizes(3, low=3)
# mask = torch.from_numpy(draw.mask(B, T, S, empty=1))
# padding = torch.from_numpy(draw.mask(B, 1, 1, S))
# square = torch.from_numpy(draw.mask(T, T, T))
# names = [["float16", "bfloat16", "float32", "float64"][i % 4] for i in draw.permutation(10)]
# says("is 0 where attending is allowed, and minus infinity elsewhere", parts=["result",
#     "where it is minus infinity"])
# ### 1p AUTOTEST additive_zero_or_infinity
# says("is right for axes of length 1, and for equal ones",
#     parts=("mask of shape {tuple(given.shape)}", ["result", "where it is minus infinity"]))
# ### 1p AUTOTEST additive_sizes
# says("has the data type that is asked for", parts=("{name}", ["data type", "values"]))
# ### 1p AUTOTEST additive_data_types

# %% [markdown]
# **Ignore.** The `key_padding_mask` of `nn.MultiheadAttention` has the shape `(B, S)`, and `True` means *ignore this key*.
# Turn such a mask into one of ours.


# %% nbgrader={"grade_id": "from_key_padding", "solution": true}
def from_key_padding(mask: torch.Tensor) -> torch.Tensor:
    """A key_padding_mask of nn.MultiheadAttention in this course's convention.

    Args:
        mask: (B, S), boolean, True = ignore.

    Returns:
        (B, 1, 1, S), boolean, True = may attend.
    """
    ### BEGIN SOLUTION
    return ~mask[:, None, None, :]
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "from_key_padding_values", "grade": true, "points": 3}
# B, S = draw.sizes(2, low=3)
# ignore, square = torch.from_numpy(~draw.mask(B, S)), torch.from_numpy(~draw.mask(S, S))
# with_full = torch.from_numpy(~draw.mask(B, S, empty=1))
# equal("in another order the keys give another mask", key_padding_other_order)
# equal("what an example gives depends on the other examples of the batch",
#     key_padding_example_alone)
# says("turns True = ignore into True = may attend", parts=["all examples", "one example"])
# ### 1p AUTOTEST [from_key_padding(ignore), from_key_padding(ignore[:1])]
# says("takes an example that is padding only")
# ### 1p AUTOTEST from_key_padding(with_full)
# says("is right where B and S are equal, and leaves the mask as it was", parts=["mask", "result"])
# ### 1p AUTOTEST inputs_after(from_key_padding, square)

# %% [markdown]
# ## 6. Write the test yourself
#
# Find out whether a function leaks. You are given a function `fn` that maps `(B, T, D)` to `(B, T, E)`, and you cannot see how it
# works. For each pair of positions, say whether output `i` depends on input `j`: whether some number at position `i` of the
# output, in any example, moves when the numbers at position `j` of the input, in any example, are changed.
#
# A small case: for `lambda x: x.cumsum(dim=1)`, the sum of all positions so far, the answer is the lower triangle, whatever `x` is.
#
# Your test is run on functions that it has never seen: linear ones and others, correct ones and leaking ones.
#
# | what | rule |
# |---|---|
# | features and examples | A position may listen to one feature of one example only, and the answer may show in one feature of another example. |
# | means | Some subtract the mean of the features, or subtract one example from all of them, so that moving all features or all examples by the same amount changes nothing. |
# | size | All are smooth: if they depend on a number, then moving it by about 1 has an effect far above $10^{-9}$. |
# | rounding | It may change an output by $10^{-12}$ where it does not depend on the input. Count as dependent what moves by more than $10^{-9}$. |
# | derivatives | There is no randomness in them, and they let gradients through. At the numbers that you get, a derivative isn't 0 by accident, so a test by derivatives is welcome, too. |
# | input | `x` stays exactly as it was. |


# %% nbgrader={"grade_id": "leaks", "solution": true}
def leaks(fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Which outputs depend on which inputs.

    Args:
        fn: maps (B, T, D) to (B, T, E), without randomness.
        x: (B, T, D), float64: where to look.

    Returns:
        (T, T), boolean; [i, j] is True if output i depends on input j.
    """
    ### BEGIN SOLUTION
    before = fn(x)
    columns = []
    for j in range(x.shape[1]):
        moved = x.clone()
        moved[:, j] += torch.randn_like(moved[:, j])
        columns.append((fn(moved) - before).abs().amax(dim=(0, 2)) > 1e-9)
    return torch.stack(columns, dim=1)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "leaks_values", "grade": true, "points": 5}
# B, D, E = draw.sizes(3, low=2, high=4)
# T = draw.integer(5, 8)
# x, pattern = draw.tensor(B, T, D), torch.from_numpy(draw.mask(T, T))
# pattern[draw.integer(0, T - 1), 0] = False
# size = 0.1 + draw.tensor(B, T, E, B, T, D).abs()
# matrix = (size * pattern[:, None, None, :, None]).reshape(B * T * E, B * T * D)
# order = torch.from_numpy(draw.permutation(T))
# says("finds what a linear function listens to")
# ### 1p AUTOTEST leaks_linear
# says("finds it where the positions of the output are reversed")
# ### 1p AUTOTEST leaks_reversed
# says("finds it where the function is not linear")
# ### 1p AUTOTEST leaks_not_linear
# says("finds effects of about 1e-7 on numbers around 1")
# ### 1p AUTOTEST leaks_small_effects
# says("finds which positions a running sum in another order has seen", parts=["all of x",
#     "one example and one feature", "one position"])
# ### 1p AUTOTEST leaks_running_sum

# %% active="ipynb" nbgrader={"grade_id": "leaks_edges", "grade": true, "points": 6}
# B, D, E = draw.sizes(3, low=2, high=4)
# T = draw.integer(5, 8)
# x, pattern = draw.tensor(B, T, D), torch.from_numpy(draw.mask(T, T))
# size = 0.1 + draw.tensor(B, T, E, B, T, D).abs()
# matrix = -(size * pattern[:, None, None, :, None]).reshape(B * T * E, B * T * D)
# ways = torch.from_numpy(draw.integers(T, T, low=0, high=B * E * B * D - 1))
# single = torch.arange(B * E * B * D).reshape(B, 1, E, B, 1, D) == ways[:, None, None, :, None]
# thin = matrix * single.reshape(B * T * E, B * T * D)
# silent = x.clone()
# silent[:, draw.integer(0, T - 1)] = 0
# equal, four = draw.tensor(4, 4, 4), torch.from_numpy(draw.mask(4, 4))
# four = ((0.1 + draw.tensor(4, 4, 4, 4, 4, 4).abs()) * four[:, None, None, :, None]).reshape(
#     64, 64
# )
# says("sees one feature of one example that acts on one feature of another")
# ### 1p AUTOTEST leaks_single_way
# says("is right where B, T, D and E are all 4")
# ### 1p AUTOTEST leaks_equal_sizes
# says("sees through a function that subtracts the mean of the features, or one example from all",
#     parts=["the mean, from its input", "the mean, from its output",
#     "the first example, from its input"])
# ### 1p AUTOTEST leaks_means
# says("sees what depends on an input that is 0")
# ### 1p AUTOTEST leaks_input_of_zero
# says("does not take rounding for a leak", parts=["numbers of about 1e-12 added",
#     "large numbers added and subtracted"])
# ### 1p AUTOTEST leaks_rounding
# says("leaves x exactly as it was", parts=["x", "where x is the same to the last digit",
#     "whether x asks for a gradient", "result"])
# ### 1p AUTOTEST leaks_leaves_x

# %% [markdown]
# ## 7. A loss that knows the padding
#
# Compute the cross-entropy of the correct tokens, $-\ln p(\text{target})$, averaged over the real tokens of the whole batch: all
# positions whose target is not `pad`. A long sentence counts for more than a short one, because it has more tokens.
#
# A small case: two tokens in the vocabulary, `pad` $=$ 1, the targets $(0, 0, 1)$ and logits $(0, 0)$, $(\ln 3, 0)$, $(7, 8)$.
# The losses of the two real tokens are $\ln 2$ and $\ln \frac43$, so the result is $\frac12 (\ln 2 + \ln \frac43) \approx 0.4904$.
#
# - What the logits are at positions with padding makes no difference to the loss, not even where they are infinite or NaN. Where they are finite there,
#   their gradient is 0. At real tokens the logits are finite.
# - `pad` may be any integer, even one that is no token, such as −100.
# - Padding may be anywhere, even between real tokens. Every batch has at least one real token.
# - The logits and targets may have any layout in memory, and stay as they were.


# %% nbgrader={"grade_id": "masked_cross_entropy", "solution": true}
def masked_cross_entropy(logits: torch.Tensor, targets: torch.Tensor, pad: int) -> torch.Tensor:
    """Mean cross-entropy over the real tokens of a batch.

    Args:
        logits: (B, T, V).
        targets: (B, T), integers; at least one is not pad.
        pad: the target that marks padding.

    Returns:
        A tensor with one number, shape ().
    """
    ### BEGIN SOLUTION
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "masked_cross_entropy_values", "grade": true, "points": 6}
# B, V = draw.sizes(2, low=3, high=6)
# T = draw.integer(7, 9)
# logits, pad = 2 * draw.tensor(B, T, V), draw.integer(1, V - 1)
# tokens = (pad + torch.from_numpy(draw.integers(B, T, low=1, high=V - 1))) % V
# lengths = 1 + draw.permutation(T)[:B]
# filling = torch.arange(T) >= torch.from_numpy(lengths)[:, None]
# targets, outside = tokens.masked_fill(filling, pad), tokens.masked_fill(filling, -100)
# sure = 1e3 * logits
# sure[0, 0, tokens[0, 0]] = 1e4
# equal = 2 * draw.tensor(T, T, T)
# equal_targets = torch.from_numpy(draw.integers(T, T, low=0, high=T - 1))
# equal("the loss moves when only the logits of padding change", cross_entropy_logits_of_padding)
# equal("more padding behind the sentences changes the loss", cross_entropy_more_padding)
# equal("a second call with the same inputs gives another loss", cross_entropy_twice)
# says("is the mean over the real tokens", parts=["all examples", "one example", "one position",
#     "one token", "logits in float32"])
# ### 1p AUTOTEST cross_entropy_mean
# says("passes gradients to the logits, and none at padding", parts=["logits"])
# ### 1p AUTOTEST gradients(masked_cross_entropy, logits, targets, pad)
# says("takes -100 for pad, and 0, and leaves its arguments as they were", parts=("pad={number}",
#     ["logits", "targets", "pad", "result"]))
# ### 1p AUTOTEST cross_entropy_pads
# says("is right for large logits, NaN and infinity at padding, a pad beyond the vocabulary",
#     parts=["logits in the thousands", "NaN at padding", "infinity at padding",
#     "pad beyond the vocabulary"])
# ### 1p AUTOTEST cross_entropy_edges
# says("finds padding anywhere, also where B, T and V are equal")
# ### 1p AUTOTEST masked_cross_entropy(equal, equal_targets, pad)
# says("takes logits and targets in any memory layout")
# ### 1p AUTOTEST masked_cross_entropy(logits.transpose(0, 1), targets.T, pad)

# %% [markdown] nbgrader={"grade_id": "too_good", "grade": true, "solution": true, "points": 3}
# **Written answer.** A colleague trains a translation model. After two epochs it predicts 98 % of the validation tokens right, although the
# translations that it writes are nonsense. What do you suspect, and why does the one not contradict the other? How would you prove it with your
# `leaks`, what would a sound model show, and why do you run the test in training mode as well as in evaluation mode? Three to six sentences.
#
# ### BEGIN SOLUTION
# The decoder sees the token that it is to predict: the causal mask is missing, inverted, off by one, or the targets are not shifted. In validation the right
# tokens are all there as input, so it copies the answer; when it writes, the later tokens do not exist yet, so there is nothing to copy and it
# has learned nothing else. I would call `leaks` on the function from the decoder's embedded inputs to its logits: a sound model shows True only on and below the diagonal,
# a leak is a True above it. (If the shift is missing the picture is a clean triangle, and the error lies in input and target being the same token.)
# A mask may hang on the mode, as where it is built `if self.training`; then training shows a triangle and evaluation a full square, or the other way round.
#
# Rubric: 1 point for the suspicion and for why nonsense is written nevertheless (the future exists in validation and not in writing); 1 point for how the picture is
# read (nothing above the diagonal); 1 point for a mask that depends on the mode.
# ### END SOLUTION
