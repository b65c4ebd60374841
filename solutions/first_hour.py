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
# # Your first hour: attention in NumPy
#
# These are the tasks of the page *Your first hour*. You write attention for one sentence: scores, a weighted sum,
# attention for all words at once, and a mask. No class is graded on them; they lead to exercise 2, which asks for
# the general case.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# Where a check fails, call `hint()` in a cell of your own; `failing_case()` gives small inputs on which your answer is
# wrong. The page asks for `softmax`, too, which is a task of exercise 2; here it's given.
#
# Arguments are NumPy arrays of ordinary floats (float64), and so are results. Six digits have to be correct, and the
# arguments must be left as they were: `a = a / 2` makes a new array, `a /= 2` overwrites the one that was passed in.
#
# The letters are the same everywhere in this notebook:
#
# | letter | size |
# |---|---|
# | `T` | queries |
# | `S` | keys, and values: one value belongs to each key |
# | `dk`, `dv` | width of a query and of a key, width of a value |

# %% nbgrader={"grade_id": "imports", "locked": true}
import numpy as np

from solutions.ch2_scaled_dot_product import softmax

# %% [markdown]
# ## 1. Scores
#
# Score each key by its dot product with the query: multiply entry by entry, then add up.
# For example, the query $(1, 1, 1)$ and the key $(0, 0, 2)$ have the score $2$. Nothing is divided yet.


# %% nbgrader={"grade_id": "dot_scores", "solution": true}
def dot_scores(query: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """How well each key fits the query: their dot products.

    The arguments are left unchanged.

    Args:
        query: (dk,).
        keys: (S, dk), one key in each row.

    Returns:
        The scores, an array (S,).
    """
    ### BEGIN SOLUTION
    return keys @ query
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "dot_scores_values", "grade": true, "points": 3}
# S, dk, n = draw.sizes(3, low=3)
# query, keys = draw.array(dk), draw.array(S, dk)
# equal_query, equal_keys = draw.array(n), draw.array(n, n)
# says("gives one dot product for each key")
# ### 1p AUTOTEST dot_scores(query, keys)
# says("is right with as many keys as entries")
# ### 1p AUTOTEST dot_scores(equal_query, equal_keys)
# says("leaves its arguments as they were", parts=["query", "keys", "result"])
# ### 1p AUTOTEST inputs_after(dot_scores, query, keys)

# %% [markdown]
# ## 2. Weighted sum
#
# Multiply each value by its weight, then add the results up. For example, the weights $(1/4, 3/4)$ and the values
# $(4, 0)$ and $(8, 4)$ give $(7, 3)$.


# %% nbgrader={"grade_id": "weighted_sum", "solution": true}
def weighted_sum(
    weights: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """The sum of the values, each multiplied by its weight.

    The arguments are left unchanged.

    Args:
        weights: (S,), positive numbers that sum to 1.
        values: (S, dv), one value in each row.

    Returns:
        An array as wide as a value, (dv,).
    """
    ### BEGIN SOLUTION
    return weights @ values
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "weighted_sum_values", "grade": true, "points": 3}
# S, dv, n = draw.sizes(3, low=3)
# shares, equal_shares = np.exp(draw.array(S)), np.exp(draw.array(n))
# weights, values = shares / shares.sum(), draw.array(S, dv)
# equal_weights, equal_values = equal_shares / equal_shares.sum(), draw.array(n, n)
# says("gives one vector, mixed from all values")
# ### 1p AUTOTEST weighted_sum(weights, values)
# says("is right with as many values as entries")
# ### 1p AUTOTEST weighted_sum(equal_weights, equal_values)
# says("leaves its arguments as they were", parts=["weights", "values", "result"])
# ### 1p AUTOTEST inputs_after(weighted_sum, weights, values)

# %% [markdown]
# ## 3. Attention for all queries at once
#
# Do all three steps for several queries: each has a row of scores, the softmax turns each row into weights, and each row of
# weights makes a weighted sum of the values.
#
# $$\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# For example, the query $(2, 0, 0, 0)$, the keys $(0, 0, 0, 0)$ and $(\ln 3, 0, 0, 0)$ and the
# values $(4, 0)$ and $(8, 4)$ have the scaled scores $(0, \ln 3)$, the weights $(1/4, 3/4)$ and the output $(7, 3)$.
#
# Scores may be in the thousands, so the exponentials need a `softmax` that doesn't overflow.


# %% nbgrader={"grade_id": "full_attention", "solution": true}
def full_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Scaled dot-product attention for matrices.

    The arguments are left unchanged.

    Args:
        query: (T, dk), one query in each row.
        key: (S, dk).
        value: (S, dv).

    Returns:
        Two arrays: output (T, dv) and weights (T, S).
        Each row of weights sums to 1.
    """
    ### BEGIN SOLUTION
    weights = softmax(query @ key.T / np.sqrt(query.shape[1]))
    return weights @ value, weights
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "full_attention_values", "grade": true, "points": 6}
# T, S, dv = draw.sizes(3, high=4)
# dk, n = draw.integer(5, 7), draw.integer(5, 7)
# query, key, value = 2 * draw.array(T, dk), draw.array(S, dk), draw.array(S, dv)
# equal_query, equal_key, equal_value = 2 * draw.array(n, n), draw.array(n, n), draw.array(n, n)
# says("is right where all sizes differ", parts=["output", "weights"])
# ### 2p AUTOTEST full_attention(query, key, value)
# says("is right where all sizes are equal", parts=["output", "weights"])
# ### 2p AUTOTEST full_attention(equal_query, equal_key, equal_value)
# says("is right with scores in the thousands, of both signs", parts=["output", "weights"])
# ### 1p AUTOTEST full_attention(4000 * query, key, value)
# says("leaves its arguments as they were", parts=(["query", "key", "value", "result"], ["output",
#     "weights"]))
# ### 1p AUTOTEST inputs_after(full_attention, query, key, value)

# %% [markdown]
# ## 4. A mask
#
# Hide some keys from the queries. For example, the scores $(0, \ln 3)$ with the mask `(True, False)` give the weights $(1, 0)$.
#
# - `mask` is boolean, and `True` means *may attend*.
# - A key with `False` gets weight exactly 0, and the weights of the others sum to 1.
# - What is hidden has no influence, however large its score and its value are.


# %% nbgrader={"grade_id": "masked_attention", "solution": true}
def masked_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Scaled dot-product attention in which some keys are hidden.

    The arguments are left unchanged.

    Args:
        query: (T, dk), one query in each row.
        key: (S, dk).
        value: (S, dv).
        mask: (T, S), boolean, True = may attend.
            Each row has at least one True.

    Returns:
        Two arrays: output (T, dv) and weights (T, S).
        Each row of weights sums to 1.
    """
    ### BEGIN SOLUTION
    scores = query @ key.T / np.sqrt(query.shape[1])
    weights = softmax(np.where(mask, scores, -np.inf))
    return weights @ value, weights
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "masked_attention_values", "grade": true, "points": 6}
# T, S, dk, dv, n = draw.sizes(5, low=4)
# query, key, value = 2 * draw.array(T, dk), draw.array(S, dk), draw.array(S, dv)
# mask, future = draw.mask(T, S), np.tri(n, dtype=bool)
# equal_query, equal_key, equal_value = 2 * draw.array(n, n), draw.array(n, n), draw.array(n, n)
# low_query = np.column_stack([query, np.ones(T)])
# low_key = np.column_stack([key, np.full(S, -1000000.0)])
# shown = np.arange(S)[None] != draw.integer(0, 3)
# high_key, high_value = np.where(shown.T, key, 1e5 + key), np.where(shown.T, value, 1e200)
# says("gives hidden keys no weight, and the others weights that sum to 1", parts=["output",
#     "weights"])
# ### 2p AUTOTEST masked_attention(query, key, value, mask)
# says("is right where each word may see itself and the words before it", parts=["output",
#     "weights"])
# ### 1p AUTOTEST masked_attention(equal_query, equal_key, equal_value, future)
# says("is right where the scores that may be seen are far below zero", parts=["output", "weights"])
# ### 1p AUTOTEST masked_attention(low_query, low_key, value, mask)
# says("gives hidden keys weight exactly 0, however large their scores and values are")
# ### 1p AUTOTEST masked_high_scores
# says("leaves its arguments as they were", parts=(["query", "key", "value", "mask", "result"],
#     ["output", "weights"]))
# ### 1p AUTOTEST inputs_after(masked_attention, query, key, value, mask)
