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
# # Exercise 2: Scaled dot-product attention
#
# You build the attention of the Transformer (Vaswani et al., 2017): a stable softmax, attention in NumPy and
# in PyTorch, and two instruments that show what the square root in its formula does. Chapter 2 has the ideas,
# worked out for one query or a few words. Here the inputs may be stacks of matrices, and some positions may be masked.
#
# **The core** is tasks 1 to 3, since later exercises use `attention`: about 90 minutes, by our estimate.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks all are equal.
# When you are graded, the same checks run on other inputs. Keep the names and the arguments as they are;
# helper functions of your own are welcome, and a later task may use what you wrote for an earlier one.
# Most inputs are in float64, and then six digits of each number have to be correct: compute in the data type of what you get. A tensor that you make of plain numbers is float32 unless you say otherwise, and so is its root: `torch.zeros(3)`, `torch.tensor(5).sqrt()`.
#
# Where a check fails, call `hint()` in a cell of your own: each call helps a little more. `failing_case()` gives inputs on which your answer is wrong, small ones where there are any.
# Where it passes, `discuss()` shows other ways to write it. `progress()` shows your points and what is open.
#
# The letters are the same everywhere in this notebook:
#
# | letter | size |
# |---|---|
# | `T` | queries |
# | `S` | keys, and values: one value belongs to each key |
# | `dk`, `dv` | width of a query and of a key, width of a value |
# | `...` | any number of leading axes (batch, heads), including none |

# %% nbgrader={"grade_id": "imports", "locked": true}
import numpy as np
import torch

# %% [markdown]
# ## 1. A stable softmax
#
# Turn the numbers along one axis of an array into weights that sum to 1, even if the numbers are huge:
#
# $$\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# A small case: $(0, \ln 2, \ln 5)$ becomes $(1/8, 2/8, 5/8)$.
#
# `np.exp(10000)` is infinite, and infinity divided by infinity is NaN. Yet $(10000, 10000 + \ln 2, 10000 + \ln 5)$
# has the same softmax as above, because adding a constant changes nothing. Each slice along the axis is free to
# choose its own constant. Make use of it: with numbers such as 10000 or -10000 your result must still be correct.
# Integers that come in are `int64`.


# %% nbgrader={"grade_id": "softmax", "solution": true}
def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Softmax of x along one axis, stable for large numbers.

    Args:
        x: an array of any shape, floats or integers; it is left unchanged.
        axis: the axis along which the result sums to 1.

    Returns:
        An array of floats with the shape of x.
    """
    ### BEGIN SOLUTION
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))  # the largest becomes exp(0) = 1
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "softmax_values", "grade": true, "points": 4}
# l, m, n = draw.sizes(3)
# x, stack, cube = 2 * draw.array(m, n), 2 * draw.array(l, m, n), 2 * draw.array(m, m, m)
# says("each row of a matrix becomes weights that sum to 1")
# ### 2p AUTOTEST softmax(x)
# says("works along the axis that is asked for, and for a vector", parts=["axis 1", "a vector"])
# ### 1p AUTOTEST [softmax(stack, axis=1), softmax(x[0])]
# says("works along every axis where all sizes are equal", parts="axis {axis}")
# ### 1p AUTOTEST [softmax(cube, axis=axis) for axis in (1, 0, 2, -2)]

# %% active="ipynb" nbgrader={"grade_id": "softmax_edges", "grade": true, "points": 4}
# m, n = draw.sizes(2, low=3)
# x, integers = draw.array(m, n), draw.integers(1, n, low=-3, high=3)
# says("is right for numbers around 10000 and around -10000", parts=["around 10000",
#     "around -10000"])
# ### 1p AUTOTEST [softmax(x + 1e4), softmax(x - 1e4)]
# says("is right where the rows of a matrix lie far apart")
# ### 1p AUTOTEST softmax(1e4 * x)
# says("takes integers and gives floats")
# ### 1p AUTOTEST softmax(integers)
# says("leaves its argument as it was", parts=["x", "result"])
# ### 1p AUTOTEST inputs_after(softmax, x)

# %% [markdown]
# ## 2. Attention in NumPy
#
# Give each query its own row of weights over the keys, and the weighted sum of the values as its output:
#
# $$\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# A small case, with one query, two keys, $d_k = 4$ and $d_v = 2$: the query $(2, 0, 0, 0)$, the keys $(0, 0, 0, 0)$ and
# $(\ln 3, 0, 0, 0)$ and the values $(4, 0)$ and $(8, 4)$. The scaled scores are $(0, \ln 3)$, the weights
# $(1/4, 3/4)$, the output $(7, 3)$. With `mask` $=$ `(True, False)` the weights are $(1, 0)$ and the output is $(4, 0)$.
#
# - There may be any number of leading axes: `(T, dk)`, `(batch, T, dk)`, `(batch, heads, T, dk)` and so on.
# - `mask` is boolean, has the shape of the weights, and `True` means *may attend*. A key with `False` gets weight exactly 0,
#   and the weights of the others sum to 1. `mask=None` means that every key may be attended to.
# - Scores may be large, in the thousands and of both signs. A masked key has weight 0 however large its score is.
# - A query that may attend to nothing (its row of the mask is all `False`) has weights 0 and output 0, never NaN.


# %% nbgrader={"grade_id": "attention_numpy", "solution": true}
def attention_numpy(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Scaled dot-product attention.

    Source: Vaswani et al. (2017), equation 1. The arguments are left unchanged.

    Args:
        query: (..., T, dk).
        key: (..., S, dk).
        value: (..., S, dv).
        mask: (..., T, S), boolean, True = may attend. None = all may be attended to.

    Returns:
        output (..., T, dv) and weights (..., T, S). Each row of weights sums to 1,
        or is all zero, like its output, where the query has nothing to attend to.
    """
    ### BEGIN SOLUTION
    scores = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5  # (..., T, S)
    if mask is not None:
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    weights = softmax(scores)
    if mask is not None:
        weights = weights * mask  # an empty row was uniform, now it is zero
    return weights @ value, weights
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "attention_numpy_values", "grade": true, "points": 5}
# b, h = draw.sizes(2, high=3)
# T, S, dk, dv, n = draw.sizes(5, low=4)
# query, key, value = 2 * draw.array(b, h, T, dk), draw.array(b, h, S, dk), draw.array(b, h, S, dv)
# equal_query = 2 * draw.array(n, n, n)
# equal_key = draw.array(n, n, n)
# equal_value = draw.array(n, n, n)
# says("is right for matrices, without leading axes", parts=["output", "weights"])
# ### 2p AUTOTEST attention_numpy(query[0, 0], key[0, 0], value[0, 0])
# says("is right where all sizes are equal", parts=["output", "weights"])
# ### 1p AUTOTEST attention_numpy(equal_query, equal_key, equal_value)
# says("is right with one leading axis", parts=["output", "weights"])
# ### 1p AUTOTEST attention_numpy(query[0], key[0], value[0])
# says("is right with two leading axes, batch and heads, and with three",
#     parts=(["two leading axes", "three leading axes"], ["output", "weights"]))
# ### 1p AUTOTEST numpy_more_axes

# %% active="ipynb" nbgrader={"grade_id": "attention_numpy_edges", "grade": true, "points": 5}
# b, T, S, dk, dv = draw.sizes(5, low=3)
# query, key, value = 6 * draw.array(b, T, dk), draw.array(b, S, dk), draw.array(b, S, dv)
# mask, with_empty = draw.mask(b, T, S), draw.mask(b, T, S, empty=1)
# shown = draw.mask(b, 1, S)
# high_key = np.where(shown.mT, key, 1e5 + key)
# says("gives masked keys no weight, and the others weights that sum to 1", parts=["output",
#     "weights"])
# ### 2p AUTOTEST attention_numpy(query, key, value, mask)
# says("gives zeros to a query with nothing to attend to", parts=["output", "weights"])
# ### 1p AUTOTEST attention_numpy(query, key, value, with_empty)
# says("is right with scores in the thousands, masked ones too", parts=(["scores of both signs",
#     "signs reversed", "scores moved far up or down", "masked scores far above the others",
#     "no mask"], ["output", "weights"]))
# ### 1p AUTOTEST numpy_large_scores
# says("leaves its arguments as they were", parts=(["query", "key", "value", "mask", "result"],
#     ["output", "weights"]))
# ### 1p AUTOTEST inputs_after(attention_numpy, query, key, value, mask)

# %% [markdown]
# ## 3. Attention in PyTorch
#
# Write the same function on tensors, so that a model can learn through it. The small case is that of task 2, and so are
# the rules. Beyond them:
#
# - Gradients flow to `query`, `key` and `value`, and they are never NaN, even where a query has nothing to attend to.
# - The results have the data type of the inputs (float32 or float64; half precision comes in exercise 4), with a mask as without.
# - The inputs stay as they were, whatever their layout in memory is.
# - `mask` may be smaller than `(..., T, S)` if it broadcasts to it: `(T, S)`, `(batch, 1, T, S)`, `(batch, 1, 1, S)`.
#
# PyTorch has this function ready-made. Here you write it yourself, so
# `scaled_dot_product_attention` and `nn.MultiheadAttention` must not be called. `torch.softmax` may.


# %% nbgrader={"grade_id": "attention", "solution": true}
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scaled dot-product attention, differentiable.

    Source: Vaswani et al. (2017), equation 1. The arguments are left unchanged.

    Args:
        query: (..., T, dk).
        key: (..., S, dk).
        value: (..., S, dv).
        mask: broadcastable to (..., T, S), boolean, True = may attend. None = no mask.

    Returns:
        output (..., T, dv) and weights (..., T, S), in the data type of the inputs; both zero
        where a query has nothing to attend to.
    """
    ### BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., T, S)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask  # an empty row was uniform, now it is zero
    return weights @ value, weights
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "attention_values", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# b, h = draw.sizes(2, high=3)
# T, S, dk, dv, d = draw.sizes(5, low=4)
# query = 3 * draw.tensor(b, h, T, dk)
# key = draw.tensor(b, h, S, dk)
# value = draw.tensor(b, h, S, dv)
# wide_query, wide_key = 3 * draw.tensor(T, d), draw.tensor(S, d)
# mask, padding = torch.from_numpy(draw.mask(b, h, T, S)), torch.from_numpy(draw.mask(b, 1, 1, S))
# n = draw.integer(4, 7)
# equal_query = 3 * draw.tensor(n, n, n)
# equal_key = draw.tensor(n, n, n)
# equal_value = draw.tensor(n, n, n)
# equal_mask = torch.from_numpy(draw.mask(n, n, n))
# equal("what an example gives depends on the other examples of the batch", attention_example_alone)
# equal("what a query gets depends on other queries", attention_without_first_query)
# equal("in another order the keys, with their values, give another output",
#     attention_keys_in_other_order)
# equal("one vector added to all keys changes the weights", attention_shifted_keys)
# equal("twice the values don't give twice the output", attention_twice_the_values)
# equal("a result moves when only keys and values change that the mask hides",
#     attention_hidden_keys)
# unequal("the mask has no influence on the weights", attention_mask_or_none)
# says("is right for matrices, without leading axes", parts=["output", "weights"])
# ### 1p AUTOTEST attention(wide_query, wide_key, value[0, 0])
# says("is right with two leading axes, batch and heads", parts=["output", "weights"])
# ### 1p AUTOTEST attention(query, key, value)
# says("gives masked keys no weight, and the others weights that sum to 1", parts=["output",
#     "weights"])
# ### 2p AUTOTEST attention(query, key, value, mask)
# says("takes a mask that broadcasts", parts=(["mask (batch, 1, 1, S)", "mask (T, S)",
#     "mask (batch, 1, T, S)"], ["output", "weights"]))
# ### 1p AUTOTEST attention_broadcast_masks
# says("is right where all sizes are equal", parts=(["with a mask", "without a mask"], ["output",
#     "weights"]))
# ### 1p AUTOTEST attention_equal_sizes

# %% active="ipynb" nbgrader={"grade_id": "attention_edges", "grade": true, "points": 7}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# b, T, S, dk, dv = draw.sizes(5, low=3)
# query, key, value = draw.tensor(b, T, dk), draw.tensor(b, S, dk), draw.tensor(b, S, dv)
# mask = torch.from_numpy(draw.mask(b, T, S))
# with_empty = torch.from_numpy(draw.mask(b, T, S, empty=1))
# names = draw.choices(10, ["float32", "float64"])
# shown = torch.from_numpy(draw.mask(b, 1, S))
# high_key = torch.where(shown.mT, key, 1e5 + key)
# says("passes gradients to query, key and value", parts=["query", "key", "value"])
# ### 1p AUTOTEST gradients(attention, query, key, value)
# says("gives zeros to a query with nothing to attend to", parts=["output", "weights"])
# ### 1p AUTOTEST attention(query, key, value, with_empty)
# says("passes gradients that are never NaN, also where a query sees nothing", parts=["query",
#     "key", "value"])
# ### 1p AUTOTEST gradients(attention, query, key, value, with_empty)
# says("keeps the data type of its inputs, also with a mask", parts=("{name} inputs, {kind}",
#     ["output", "weights"], ["data type", "values"]))
# ### 1p AUTOTEST attention_data_types
# says("is right with scores in the thousands, masked ones too", parts=(["scores of both signs",
#     "signs reversed", "scores moved far up or down", "masked scores far above the others",
#     "no mask"], ["output", "weights"]))
# ### 1p AUTOTEST attention_large_scores
# says("takes tensors in any memory layout, such as transposed ones", parts=["output", "weights"])
# ### 1p AUTOTEST attention_layouts
# says("leaves its arguments as they were", parts=(["query", "key", "value", "mask", "result"],
#     ["output", "weights"]))
# ### 1p AUTOTEST inputs_after(attention, query, key, value, with_empty)

# %% [markdown]
# ## 4. What does the scale do?
#
# Build an instrument that shows what the scale does to scores and weights. Given queries, keys and a number `scale`, look at
# the scaled scores `scale * (query · key)` of all pairs and at each query's softmax over the keys.
#
# A small case: the query $2$, the keys $0$ and $\ln 3$, and `scale=0.5`. The scaled scores are $0$ and $\ln 3$, the
# weights $1/4$ and $3/4$. The variance is $(\ln 3)^2 / 4 \approx 0.3017$, the largest weight $0.75$,
# the entropy $\frac14 \ln 4 + \frac34 \ln \frac43 \approx 0.5623$.
#
# Return a dictionary with three numbers:
#
# | entry | meaning |
# |---|---|
# | `"variance"` | the population variance of all `m * n` scaled scores (divide by their number, not by one less) |
# | `"max_weight"` | each query's largest weight, averaged over the queries |
# | `"entropy"` | each query's entropy $-\sum_i p_i \ln p_i$, in nats, averaged over the queries |
#
# A weight so small that it has become exactly 0 contributes nothing to the entropy, because $p \ln p \to 0$ as $p \to 0$.
# NumPy gives NaN for `0 * np.log(0)`, so this needs a thought.


# %% nbgrader={"grade_id": "score_statistics", "solution": true}
def score_statistics(query: np.ndarray, key: np.ndarray, scale: float) -> dict[str, float]:
    """Spread of the scaled scores, and how sharp the attention weights are.

    Args:
        query: (m, d).
        key: (n, d).
        scale: the number that multiplies every dot product.

    Returns:
        "variance": population variance of all scaled scores.
        "max_weight": largest weight of a query, mean over the queries.
        "entropy": entropy of a query's weights in nats, mean over the queries;
            right also where weights are exactly 0.
    """
    ### BEGIN SOLUTION
    scores = scale * (query @ key.T)  # (m, n)
    weights = softmax(scores)
    log_weights = np.log(np.where(weights > 0, weights, 1))  # 0 where the weight is 0
    return {
        "variance": float(scores.var()),
        "max_weight": float(weights.max(axis=-1).mean()),
        "entropy": float(-(weights * log_weights).sum(axis=-1).mean()),
    }
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "score_statistics_values", "grade": true, "points": 5}
# m, n, d = draw.sizes(3)
# tilted, key, scale = 1 + draw.array(m, d), 1 + draw.array(n, d), 0.5 + draw.integer(1, 99) / 100
# equal_tilted, equal_key = 1 + draw.array(m, m), 1 + draw.array(m, m)
# query, equal_query = [np.concatenate([-x[1:2], x[1:]]) for x in (tilted, equal_tilted)]
# key_and_far_key = np.concatenate([key, -1e6 * query[:1]])
# says("the variance of the scaled scores is right")
# ### 1p AUTOTEST score_statistics(query, key, scale)["variance"]
# says("the mean of the largest weights is right")
# ### 1p AUTOTEST score_statistics(query, key, scale)["max_weight"]
# says("the mean entropy is right")
# ### 1p AUTOTEST score_statistics(query, key, scale)["entropy"]
# says("all three are right where all sizes are equal")
# ### 1p AUTOTEST score_statistics(equal_query, equal_key, scale)
# says("the entropy is right where a weight is exactly 0", parts=["a key far below the others",
#     "a key far above the others"])
# ### 1p AUTOTEST statistics_weight_of_zero

# %% [markdown]
# ## 5. The derivative of attention
#
# How does the output move when the query moves a little? Compute the derivative. Take one query $q$, and let the values be
# the keys. The output is $o = \sum_s p_s k_s$ with $p = \operatorname{softmax}(K q / \sqrt d)$, and its Jacobian
# $J_{ij} = \partial o_i / \partial q_j$ has a short closed form: the covariance matrix of the keys under the weights $p$,
# divided by $\sqrt d$,
#
# $$J = \frac{1}{\sqrt d} \sum_s p_s\, (k_s - o)(k_s - o)^\top.$$
#
# In other words, where nearly all the weight is on one key, the covariance nearly vanishes, and the output hardly answers to
# the query.
#
# A small case: $d = 4$, $q = 0$ and the keys $(1, 0, 0, 0)$ and $(3, 0, 0, 0)$. Both weights are $1/2$, the output is
# $(2, 0, 0, 0)$, the first entry of the covariance is $1$, so $J_{11} = 1/2$ and the other entries are 0.
#
# Compute $J$ from this formula; no numerical differentiation is needed. The scores may be large here, too.


# %% nbgrader={"grade_id": "attention_jacobian", "solution": true}
def attention_jacobian(query: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Derivative of one query's attention output with respect to the query, where value = key.

    Args:
        query: (d,), with d at least 2.
        key: (S, d), also the values.

    Returns:
        (d, d); entry (i, j) is the derivative of output i with respect to query component j.
    """
    ### BEGIN SOLUTION
    root = len(query) ** 0.5
    weights = softmax(key @ query / root)  # (S,)
    centred = key - weights @ key  # (S, d)
    return (weights * centred.T) @ centred / root
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "attention_jacobian_values", "grade": true, "points": 5}
# S, d = draw.sizes(2, low=3)
# query, key = draw.array(d), draw.array(S, d)
# equal_query, equal_key = draw.array(S), draw.array(S, S)
# large_query = np.append(query[1:], 20000.0)
# large_key = np.column_stack([key[:, 1:], 0.3 + draw.array(S) / 10000.0])
# says("every derivative is right")
# ### 2p AUTOTEST attention_jacobian(query, key)
# says("is right for keys that are far from zero")
# ### 1p AUTOTEST attention_jacobian(2 * query, 3 + key)
# says("is right with as many keys as components")
# ### 1p AUTOTEST attention_jacobian(equal_query, equal_key)
# says("is right for scores in the thousands")
# ### 1p AUTOTEST attention_jacobian(large_query, large_key)

# %% [markdown] nbgrader={"grade_id": "why_the_root", "grade": true, "solution": true, "points": 3}
# **Written answer.** Let the components of queries and keys be independent, with mean 0 and variance 1.
# As $d_k$ grows, what happens to the variance of the scores, to the weights $p_i$, and to $p_i (1 - p_i)$, the derivative of a
# weight with respect to its score: without scaling, when you divide by $\sqrt{d_k}$, and when you divide by $d_k$?
# What does each failure mean for a model that has to learn where to look? Three to six sentences;
# check what you say with your `score_statistics`.
#
# ### BEGIN SOLUTION
# A dot product is a sum of $d_k$ independent terms of variance 1, so its variance is $d_k$ without scaling, 1 after dividing by
# $\sqrt{d_k}$ and $1 / d_k$ after dividing by $d_k$. Without scaling nearly all the weight of a query goes to one key and the entropy
# to 0. Every $p_i (1 - p_i)$ is then nearly 0, so for most queries hardly any gradient passes back through the softmax: a
# wrong choice is not corrected. Divided by $d_k$, all the weights tend to $1 / n$ and the entropy to $\ln n$. The softmax does pass gradients there,
# but attention is an average that hardly depends on the query, whose influence on each score has been divided
# by $d_k$. With the square root the weights stay between the two, whatever $d_k$ is.
#
# Rubric: 1 point for the three variances, 1 point for saturated weights with vanishing $p_i (1 - p_i)$ and what follows for learning,
# 1 point for the uniform weights, the average that ignores the query, when dividing by $d_k$.
# ### END SOLUTION
