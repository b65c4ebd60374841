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
# # Exercise 9: Exact, and never written down
#
# The scores of `T` queries and `S` keys are a matrix of `T * S` numbers. Here you compute attention, and its gradient, without ever having that matrix: tile by tile, as FlashAttention does. You say which tiles a causal mask leaves, count what has to be moved between a large slow memory and a small fast one, and attend to keys that are scattered over pages. At the end the softmax goes, too. Chapter 9 has the ideas, worked out for one row or one tile.
#
# **The core** is tasks 1, 2 and 4: about 90 minutes, by our estimate. Later exercises need none of these functions, but
# merging two parts, the forward pass in tiles and the tiles of a mask are the idea of FlashAttention.
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
# | `T` | queries, at least 1 |
# | `S` | keys, and values: one value belongs to each key; at least 1 |
# | `d`, `dv` | width of a query and of a key, width of a value |
# | `...` | any number of leading axes (batch, heads), including none; the same for all arguments |
#
# The *score* of a query and a key is their dot product divided by $\sqrt d$. All tensors are floating unless a task says otherwise; integers are `int64`. No function here changes its arguments, whatever their layout in memory is. None has to let gradients through: task 3 computes them by hand.
#
# PyTorch has attention ready-made. Here you write it yourself, so you must not call `scaled_dot_product_attention` or `nn.MultiheadAttention`.

# %% nbgrader={"grade_id": "imports", "locked": true}
import torch

# %% [markdown]
# ## 1. Two parts become one
#
# Write `merge`, which puts the attention over two parts of the keys together to the attention over all of them.
#
# A small case, for one query and $d_v = 2$: the outputs $(4, 0)$ and $(8, 4)$ with the lse $0$ and $\ln 3$ become the output $(7, 3)$ with the lse $\ln 4$.
#
# Cut the keys into two parts and attend to each part separately. For each query that gives two outputs, one from each part. They can be put together if each part also says how much weight it has. That is one number for each query, its *log-sum-exp*:
#
# $$\text{lse} = \ln \sum_s e^{\text{score}_s}, \qquad \text{the sum running over the keys of the part.}$$
#
# A *partial result* is the pair `(output, lse)`. `merge` makes one partial result of two:
#
# - The result is again a partial result, so that it can be merged with a third one.
# - A part in which a query may attend to nothing has output 0 and lse minus infinity for it. Merging with it changes nothing, and two such parts give output 0 and lse minus infinity, never NaN.
# - The lse may be large, in the thousands and of both signs.
# - A result with several parts may be a tuple or a list, here and in all tasks. Both parts of this one have the data type of what is merged.


# %% nbgrader={"grade_id": "merge", "solution": true}
def merge(
    a: tuple[torch.Tensor, torch.Tensor], b: tuple[torch.Tensor, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention over the keys of two parts, from the attention over each.

    Args:
        a: output (..., T, dv) and lse (..., T) of the first part.
        b: the same for the second part, which has none of the first part's keys.

    Returns:
        output (..., T, dv) and lse (..., T) over the keys of both; zero and minus infinity for a query
        that may attend to nothing in either.
    """
    ### BEGIN SOLUTION
    (output_a, lse_a), (output_b, lse_b) = a, b
    highest = torch.maximum(lse_a, lse_b)
    # where both are minus infinity, the difference of the two would be NaN
    shift = highest.masked_fill(highest.isneginf(), 0.0)
    share_a, share_b = (lse_a - shift).exp(), (lse_b - shift).exp()
    total = share_a + share_b
    output = share_a[..., None] * output_a + share_b[..., None] * output_b
    # the larger share is exp(0) = 1, so the total is below 1 only where both parts are empty
    return output / total.clamp(min=1.0)[..., None], shift + total.log()
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "merge_values", "grade": true, "points": 3}
# b, h, T, dv = draw.sizes(4, low=3, high=7)
# first, second, third = [(draw.tensor(b, h, 1, dv), 2 * draw.tensor(b, h, 1)) for _ in range(3)]
# equal_first, equal_second = [(draw.tensor(T, T, T), 2 * draw.tensor(T, T)) for _ in range(2)]
# says("is right for a matrix of outputs, without leading axes", parts=["output", "lse"])
# ### 1p AUTOTEST merge((first[0][0, 0], first[1][0, 0]), (second[0][0, 0], second[1][0, 0]))
# says("is right with leading axes, three parts in either order", parts=(["the first two at first",
#     "the last two at first"], ["output", "lse"]))
# ### 1p AUTOTEST [merge(merge(first, second), third), merge(first, merge(second, third))]
# says("is right where all sizes are equal, and keeps the data type", parts=("{name}", ["output",
#     "lse"], ["data type", "values"]))
# ### 1p AUTOTEST merge_data_types

# %% active="ipynb" nbgrader={"grade_id": "merge_edges", "grade": true, "points": 4}
# T, first, second, half_empty = draw_merge_edges(draw)
# says("a part that is empty for a query changes nothing there", parts=(["empty on the right",
#     "empty on the left"], ["output", "lse"]))
# ### 1p AUTOTEST [merge(first, half_empty), merge(half_empty, first)]
# says("two parts that are empty give zeros and minus infinity",
#     parts=(["both empty in half of the rows", "and merged with a third"], ["output", "lse"]))
# ### 1p AUTOTEST merge_both_empty
# says("is right for lse in the thousands, of both signs", parts=(["all far below zero",
#     "all far above zero", "rows far apart"], ["output", "lse"]))
# ### 1p AUTOTEST merge_large_lse
# says("leaves its arguments as they were", parts=(["first part", "second part", "result"],
#     ["output", "lse"]))
# ### 1p AUTOTEST inputs_after(merge, first, half_empty)

# %% [markdown]
# ## 2. Forward, tile by tile
#
# Compute attention and the lse of each query without ever having the matrix of scores.
#
# A small case, with one query, two keys, $d = 4$ and $d_v = 2$: the query $(2, 0, 0, 0)$, the keys $(0, 0, 0, 0)$ and $(\ln 3, 0, 0, 0)$ and the values $(4, 0)$ and $(8, 4)$. The scores are $0$ and $\ln 3$, the output is $(7, 3)$, the lse $\ln 4$, whatever the block sizes are.
#
# Queries come in tiles of `block_q`, keys and values in tiles of `block_k`. The last tile of each may be smaller. For each tile of queries, go through the tiles of keys, one after the other. In between, keep only three things for each query: the largest score so far, the sum of the exponentials so far, and the output so far, both relative to that largest score. When the largest score grows, what you have so far has to be corrected.
#
# | rule | |
# |---|---|
# | `causal=True` | A query must not attend to keys of its future. The queries are the *last* `T` positions of the sequence, as in exercise 4: query `t` may attend to the keys `0` to `t + S - T`, counted from 0. So the last query sees every key, and with more queries than keys the first `T - S` queries see none. |
# | nothing to attend to | The query has output 0 and lse minus infinity. |
# | block sizes | They need not divide `T` and `S`, may be larger than these, and need not be equal. They change nothing in the result but rounding. |
# | large scores | They may be in the millions and of both signs. A key of the future has no weight, however large its score is. |
# | data type | The inputs have one, and the output has it, too. Compute in float32 where it is float16 or bfloat16: convert each tile to float32 when you take it. In this case the lse is float32. For float32 and float64 inputs everything has their type. |
# | memory | You never have the whole matrix of scores, nor anything else as large. One check has several thousand queries and keys, and little memory: 60 MB on top of what your function is given. A tile of `block_q` queries and *all* keys would still fit several times, but the whole matrix would take more than 500 MB. In your notebook this check counts the tensors that exist at the same time. When you are graded, the memory of the process is limited from outside: then arrays of NumPy count as well. A notebook that itself holds more than 240 MB by then doesn't get these points. No thread and no process can be started there. |


# %% nbgrader={"grade_id": "flash_forward", "solution": true}
def flash_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention without the matrix of scores: one tile of it at a time.

    Source: Dao (2023), FlashAttention-2, algorithm 1.

    Args:
        query: (..., T, d).
        key: (..., S, d).
        value: (..., S, dv).
        block_q: queries in a tile.
        block_k: keys in a tile.
        causal: whether query t may attend to the keys 0 .. t + S - T only.

    Returns:
        output (..., T, dv), in the data type of query, and lse (..., T), the logarithm of the sum of
        exponentials of a query's scores; zero and minus infinity for a query that may attend to nothing.
    """
    ### BEGIN SOLUTION
    T, S = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5
    dtype = torch.promote_types(query.dtype, torch.float32)
    outputs, all_lse = [], []
    for first in range(0, T, block_q):
        q = query[..., first : first + block_q, :].to(dtype)
        rows = torch.arange(first, first + q.shape[-2])
        highest = torch.full(q.shape[:-1], -torch.inf, dtype=dtype)  # (..., block_q)
        total = torch.zeros(q.shape[:-1], dtype=dtype)
        output = torch.zeros((*q.shape[:-1], value.shape[-1]), dtype=dtype)
        for start in range(0, S, block_k):
            k = key[..., start : start + block_k, :].to(dtype)
            v = value[..., start : start + block_k, :].to(dtype)
            scores = scale * (q @ k.mT)  # (..., block_q, block_k)
            if causal:
                columns = torch.arange(start, start + k.shape[-2])
                scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
            new = torch.maximum(highest, scores.amax(dim=-1))
            # a row that has seen nothing yet stays at minus infinity, and -inf - -inf is NaN
            shift = new.masked_fill(new.isneginf(), 0.0)
            weights = (scores - shift[..., None]).exp()
            correction = (highest - shift).exp()
            total = correction * total + weights.sum(dim=-1)
            output = correction[..., None] * output + weights @ v
            highest = new
        # a row that has seen something has a total of 1 or more
        outputs.append(output / total.clamp(min=1.0)[..., None])
        all_lse.append(highest + total.log())
    return torch.cat(outputs, dim=-2).to(query.dtype), torch.cat(all_lse, dim=-1)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "flash_forward_values", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# b, h = draw.sizes(2, high=4)
# m, n = sorted(draw.sizes(2, low=3, high=6))
# d, dv = draw.sizes(2, low=4, high=9)
# T = draw.choices(1, [size for size in range(n + 1, m * n) if size % m and size % n])[0]
# S = draw.choices(1, [size for size in range(m * n + 1, m * n + 6) if size % m and size % n])[0]
# query, key, value = 2 * draw.tensor(b, h, T, d), draw.tensor(b, h, S, d), draw.tensor(b, h, S, dv)
# more_query, less_key, less_value = 2 * draw.tensor(S, d), draw.tensor(T, d), draw.tensor(T, dv)
# few = query[0, 0, : m + 1].float(), key[0, 0, : n + 1].float(), value[0, 0, : n + 1].float()
# equal_query = 2 * draw.tensor(n, n, n)
# equal_key = draw.tensor(n, n, n)
# equal_value = draw.tensor(n, n, n)
# more_query, less_key = [
#     torch.cat([x, draw.tensor(len(x), 64)], dim=-1) for x in (more_query, less_key)
# ]
# says("is right for matrices, with fewer queries than keys", parts=["output", "lse"])
# ### 2p AUTOTEST flash_forward(query[0, 0], key[0, 0], value[0, 0], m, n)
# says("is right with more queries than keys, block_q larger than block_k, and d above 64",
#     parts=["output", "lse"])
# ### 1p AUTOTEST flash_forward(more_query, less_key, less_value, block_q=n, block_k=m)
# says("is right with one leading axis, with two, and with three", parts=(["one", "two", "three"],
#     ["output", "lse"]))
# ### 1p AUTOTEST forward_leading_axes
# says("is right where all sizes are equal", parts=(["one tile", "tiles of one query and one key"],
#     ["output", "lse"]))
# ### 1p AUTOTEST forward_equal_sizes
# says("is right for any block sizes", parts=("block_q={sizes[0]}, block_k={sizes[1]}", ["output",
#     "lse"]))
# ### 1p AUTOTEST forward_block_sizes

# %% active="ipynb" nbgrader={"grade_id": "flash_forward_causal", "grade": true, "points": 5}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# b = draw.integer(2, 4)
# m, n = sorted(draw.sizes(2, low=3, high=6))
# d, dv = draw.sizes(2, low=4, high=9)
# T = draw.choices(1, [size for size in range(n + 1, m * n) if size % m and size % n])[0]
# S = draw.choices(1, [size for size in range(m * n + 1, m * n + 6) if size % m and size % n])[0]
# query, key, value = 2 * draw.tensor(b, T, d), draw.tensor(b, S, d), draw.tensor(b, S, dv)
# more_query = 2 * draw.tensor(b, S, d)
# less_key = draw.tensor(b, T, d)
# less_value = draw.tensor(b, T, dv)
# square_query = 2 * draw.tensor(S, d)
# square_key = draw.tensor(S, d)
# square_value = draw.tensor(S, dv)
# equal("the size of the tiles changes the result", causal_tiles)
# equal("a query's result moves when only later keys and values change", causal_later_keys, axis=0)
# says("hides the future with as many queries as keys", parts=(["block_q smaller",
#     "block_k smaller", "both equal"], ["output", "lse"]))
# ### 2p AUTOTEST causal_square
# says("lets the last query see every key, with fewer queries than keys", parts=(["block_q smaller",
#     "block_k smaller"], ["output", "lse"]))
# ### 1p AUTOTEST causal_fewer_queries
# says("gives zeros and minus infinity to queries that see nothing", parts=(["block_q smaller",
#     "both equal"], ["output", "lse"]))
# ### 1p AUTOTEST causal_more_queries
# says("a single new query sees all keys", parts=(["keys", "keys in reverse order"], ["output",
#     "lse"]))
# ### 1p AUTOTEST causal_new_query

# %% active="ipynb" nbgrader={"grade_id": "flash_forward_edges", "grade": true, "points": 5}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# b = draw.integer(2, 4)
# m, n = sorted(draw.sizes(2, low=3, high=6))
# d, dv = draw.sizes(2, low=4, high=9)
# T = draw.choices(1, [size for size in range(n + 1, m * n) if size % m and size % n])[0]
# S = draw.choices(1, [size for size in range(m * n + 1, m * n + 6) if size % m and size % n])[0]
# query, key, value = 1 + draw.tensor(b, T, d).abs(), draw.tensor(b, S, d), draw.tensor(b, S, dv)
# rising = key + 200 * torch.arange(S)[:, None]
# many_key, many_value = (draw.tensor(100, d) / 4).bfloat16(), draw.tensor(100, dv).bfloat16()
# names = draw.choices(10, ["float16", "bfloat16", "float32", "float64"])
# says("is right for scores in the thousands, of both signs",
#     parts=("{factor} * query, {shift} + key", ["output", "lse"]))
# ### 1p AUTOTEST forward_large_scores
# says("is right where masked scores are thousands above or below the others",
#     parts=(["rising to the end", "all far below zero", "falling to the end",
#     "rising a hundred times as fast"], ["output", "lse"]))
# ### 1p AUTOTEST forward_large_masked_scores
# says("gives the data type of its inputs, and an lse of at least float32", parts=("{name} inputs",
#     ["output", "lse"], ["data type", "values"]))
# ### 1p AUTOTEST forward_data_types
# says("adds in float32 where the inputs are bfloat16, as the lse shows")
# ### 1p AUTOTEST flash_forward(query[0].bfloat16() / 2, many_key, many_value, T, 9)[1]
# says("leaves its arguments as they were, in any memory layout", parts=(["query", "key", "value",
#     "result"], ["output", "lse"]))
# ### 1p AUTOTEST forward_leaves_arguments

# %% active="ipynb" nbgrader={"grade_id": "flash_forward_memory", "grade": true, "points": 2}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# T, S = 7900 + draw.integer(20, 90), 8000 + draw.integer(10, 90)
# block_q, block_k = draw.integer(60, 70), draw.integer(700, 900)
# query, key, value = 60 * draw.tensor(T, 4), draw.tensor(S, 4), draw.tensor(S, 3)
# memory(megabytes=60)
# says("never has the whole matrix of scores, which would take more than 500 MB",
#     parts=(["all keys", "causal"], ["output", "lse"]), case=False)
# ### 2p AUTOTEST forward_memory

# %% [markdown]
# ## 3. Backward, tile by tile
#
# Compute the gradients of a loss with respect to `query`, `key` and `value`, again without the whole matrix; here, too, one check has only 60 MB of memory.
#
# A small case, with one query, one key and one value: the only weight is 1, so `dv` is `grad`, and `dq` and `dk` are 0.
#
# `grad` is the gradient of the loss with respect to the output. The weights aren't kept from the forward pass. They are computed anew in each tile, from the scores and the lse: $P_{ts} = e^{\text{score}_{ts} - \text{lse}_t}$, and 0 where a query must not attend. With $O$ the output, $G$ the `grad` and all of them matrices,
#
# $$dV = P^\top G, \qquad D_t = \sum_j G_{tj} O_{tj}, \qquad dS_{ts} = P_{ts} \left( \sum_j G_{tj} V_{sj} - D_t \right),
# \qquad dQ = \frac{dS\, K}{\sqrt d}, \qquad dK = \frac{dS^\top Q}{\sqrt d}.$$
#
# Every tile of scores adds to one tile of $dQ$, and to one tile of $dK$ and one of $dV$.
#
# - Block sizes, `causal` and large scores: as in task 2. The data type is float32 or float64, and the results have it, too.
# - A query with nothing to attend to (its lse is minus infinity) has gradient 0 and adds nothing to the others, and nothing is NaN.
# - `key` and `value` may be a *part* of all keys, as where many machines share a long text. Even then, `output` and `lse` belong to all keys, so take them as they are given. Then `dk` and `dv` are correct for this part, and the `dq` of all parts add up to the whole gradient. (With `causal=True` the checks give you all keys.)


# %% nbgrader={"grade_id": "flash_backward", "solution": true}
def flash_backward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    output: torch.Tensor,
    lse: torch.Tensor,
    grad: torch.Tensor,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of attention without the matrix of weights: one tile of it at a time.

    Source: Dao (2023), FlashAttention-2, algorithm 2.

    Args:
        query: (..., T, d).
        key: (..., S, d).
        value: (..., S, dv).
        output: (..., T, dv), from the forward pass.
        lse: (..., T), from the forward pass.
        grad: (..., T, dv), gradient of the loss with respect to output.
        block_q: queries in a tile.
        block_k: keys in a tile.
        causal: whether query t may attend to the keys 0 .. t + S - T only.

    Returns:
        dq (..., T, d), dk (..., S, d), dv (..., S, dv).
    """
    ### BEGIN SOLUTION
    T, S = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5
    dq = torch.zeros(query.shape, dtype=query.dtype)
    dk = torch.zeros(key.shape, dtype=query.dtype)
    dv = torch.zeros(value.shape, dtype=query.dtype)
    delta = (grad * output).sum(dim=-1, keepdim=True)  # (..., T, 1)
    for start in range(0, S, block_k):
        columns = torch.arange(start, min(start + block_k, S))
        k, v = key[..., columns, :], value[..., columns, :]
        for first in range(0, T, block_q):
            rows = torch.arange(first, min(first + block_q, T))
            q, g = query[..., rows, :], grad[..., rows, :]
            scores = scale * (q @ k.mT)  # (..., block_q, block_k)
            if causal:
                scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
            # an empty row has scores of minus infinity only; any finite lse gives it weights of 0
            finite = lse[..., rows, None].clamp(min=torch.finfo(lse.dtype).min)
            weights = (scores - finite).exp()
            dscores = weights * (g @ v.mT - delta[..., rows, :])
            dv[..., columns, :] += weights.mT @ g
            dk[..., columns, :] += scale * (dscores.mT @ q)
            dq[..., rows, :] += scale * (dscores @ k)
    return dq, dk, dv
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "flash_backward_values", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# (
#     m, n, query, key, value, grad, output, lse, few, other, other_output, other_lse,
#     equal, equal_output, equal_lse,
# ) = draw_flash_backward_values(draw)
# equal("the size of the tiles changes the gradients", backward_tiles)
# equal("twice the gradient doesn't give twice the gradients", backward_twice_the_gradient)
# says("is right for matrices, with fewer queries than keys", parts=["dq", "dk", "dv"])
# ### 2p AUTOTEST backward_matrices
# says("is right with more queries than keys, and block_q larger than block_k", parts=["dq", "dk",
#     "dv"])
# ### 1p AUTOTEST backward_more_queries
# says("is right with one leading axis, and with two", parts=(["one", "two"], ["dq", "dk", "dv"]))
# ### 1p AUTOTEST backward_leading_axes
# says("is right where all sizes are equal", parts=(["one tile", "tiles of one query and one key"],
#     ["dq", "dk", "dv"]))
# ### 1p AUTOTEST backward_equal_sizes
# says("is right for any block sizes", parts=("block_q={sizes[0]}, block_k={sizes[1]}", ["dq", "dk",
#     "dv"]))
# ### 1p AUTOTEST backward_block_sizes

# %% active="ipynb" nbgrader={"grade_id": "flash_backward_edges", "grade": true, "points": 7}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# (
#     m, n, S, query, key, value, grad, whole_output, whole_lse, output, lse, other,
#     other_output, other_lse, far_query, far_key, far_output, far_lse, low_key, low_output,
#     low_lse, names,
# ) = draw_flash_backward_edges(draw)
# says("hides the future, with fewer queries than keys", parts=(["block_q smaller",
#     "block_k smaller"], ["dq", "dk", "dv"]))
# ### 2p AUTOTEST backward_fewer_queries
# says("gives gradient 0, and never NaN, where a query sees nothing", parts=(["block_q smaller",
#     "both equal"], ["dq", "dk", "dv"]))
# ### 1p AUTOTEST backward_queries_that_see_nothing
# says("is right for a part of the keys, with the output and lse of all", parts=(["first keys",
#     "last keys"], ["dq", "dk", "dv"]))
# ### 1p AUTOTEST backward_part_of_the_keys
# says("is right for scores in the thousands, masked ones too",
#     parts=(["causal, the last key far above", "all far below zero"], ["dq", "dk", "dv"]))
# ### 1p AUTOTEST backward_large_scores
# says("gives the data type of its inputs", parts=("{name} inputs", ["dq", "dk", "dv"],
#     ["data type", "values"]))
# ### 1p AUTOTEST backward_data_types
# says("leaves its arguments as they were, in any memory layout", parts=(["query", "key", "value",
#     "output", "lse", "grad", "result"], ["dq", "dk", "dv"]))
# ### 1p AUTOTEST backward_leaves_arguments

# %% active="ipynb" nbgrader={"grade_id": "flash_backward_memory", "grade": true, "points": 1}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# T, S = 7900 + draw.integer(20, 90), 8000 + draw.integer(10, 90)
# block_q, block_k = draw.integer(60, 70), draw.integer(700, 900)
# query, key, value = draw.tensor(T, 4), draw.tensor(S, 4), draw.tensor(S, 3)
# output, lse, grad = draw.tensor(T, 3) / 30, 10 + draw.tensor(T), draw.tensor(T, 3)  # of more
# memory(megabytes=60)
# says("never has the whole matrix of weights, which would take more than 500 MB",
#     parts=(["all keys", "causal"], ["dq", "dk", "dv"]), case=False)
# ### 1p AUTOTEST backward_memory

# %% [markdown]
# ## 4. Which tiles there are
#
# List the tiles that have work under a causal mask, and say which of them the mask cuts through.
#
# A small case: `tiles(3, 5, 2, 2, True)`. Query 0 sees the keys 0 to 2, query 1 the keys 0 to 3, query 2 all five. The result is `[(0, 0, "full"), (0, 1, "edge"), (1, 0, "full"), (1, 1, "full"), (1, 2, "full")]`.
#
# Under a causal mask about half of the tiles hold nothing that may be attended to. A kernel leaves them out, and it looks at the mask only in tiles that the mask cuts through. Tile `(i, j)` holds the queries from `i * block_q` on and the keys from `j * block_k` on, as in task 2; the last tiles may be smaller. Only queries and keys that exist count. Return the tiles that have work, each as a tuple `(i, j, kind)`, in the order of `i` and, for the same `i`, of `j`:
#
# - `"full"`: every query of the tile may attend to every key of the tile.
# - `"edge"`: some pairs may, others may not.
# - A tile in which no pair may is left out.
# - With `causal=False` every tile is full, including a smaller one at the end.


# %% nbgrader={"grade_id": "tiles", "solution": true}
def tiles(T: int, S: int, block_q: int, block_k: int, causal: bool) -> list[tuple[int, int, str]]:
    """The tiles of the scores in which something may be attended to.

    Args:
        T: number of queries.
        S: number of keys.
        block_q: queries in a tile.
        block_k: keys in a tile.
        causal: whether query t may attend to the keys 0 .. t + S - T only.

    Returns:
        (i, j, "full" or "edge") for the i-th tile of queries and the j-th tile of keys, in this order.
    """
    ### BEGIN SOLUTION
    found = []
    for i, first in enumerate(range(0, T, block_q)):
        for j, start in enumerate(range(0, S, block_k)):
            last, end = min(first + block_q, T) - 1, min(start + block_k, S) - 1
            if not causal or end <= first + S - T:
                found.append((i, j, "full"))
            elif start <= last + S - T:
                found.append((i, j, "edge"))
    return found
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "tiles_values", "grade": true, "points": 5}
# blocks = [draw.sizes(2, low=2, high=6) for _ in range(8)]
# wide = [
#     (2 * q + draw.integer(1, q - 1), 2 * q + 2 * k + 2 * draw.integer(1, 4), q, k)
#     for q, k in blocks
# ]
# tall = [(S, T, q, k) for T, S, q, k in wide] + [
#     (3 * q + 1, 2 * q + 1, q, q + 1) for q, k in blocks[:2]
# ]
# square = [(S, S, q, k) for T, S, q, k in wide] + [
#     (2 * q + 1, 2 * q + 1, q, q + 1) for q, k in blocks[:2]
# ]
# equal = [(3 * q + draw.integer(1, q - 1),) * 2 + (q, q) for q, k in blocks]
# says("is right with as many queries as keys and equal blocks", parts="tiles{sizes} causal")
# ### 1p AUTOTEST [tiles(*sizes, True) for sizes in equal]
# says("is right where the blocks differ", parts="tiles{sizes} causal")
# ### 1p AUTOTEST [tiles(*sizes, True) for sizes in square]
# says("is right with fewer queries than keys", parts="tiles{sizes} causal")
# ### 1p AUTOTEST [tiles(*sizes, causal=True) for sizes in wide]
# says("leaves out the tiles of queries that see nothing", parts="tiles{sizes} causal")
# ### 1p AUTOTEST [tiles(*sizes, True) for sizes in tall]
# says("without a causal mask all tiles are there, and full", parts="tiles{sizes} not causal")
# ### 1p AUTOTEST [tiles(*sizes, False) for sizes in wide[:3] + tall[3:6]]

# %% [markdown]
# ## 5. What has to be moved
#
# Count the numbers that attention loads and stores for one head, without a mask, on a machine with a slow and a fast memory.
#
# A small case, with `T = 3`, `S = 4`, `d = 2`, `dv = 1`, `block_q = 2`, `block_k = 3`. Not tiled: the first program loads 6 + 8 numbers and stores 12; the second loads 12 and stores 12; the third loads 12 + 4 and stores 3. Together 42 are loaded and 27 stored. Tiled: the first program has two queries. It loads 4 numbers of these, then 8 + 4 of keys and values, and stores 2 + 2. The second has one query. It loads 2, then 8 + 4 again, and stores 1 + 1. Together 30 are loaded and 6 stored.
#
# All inputs and results are in the slow memory; the machine computes in the fast one. Every number has to be *loaded* into the fast memory before it is used, and *stored* in the slow memory if it is needed after its program has ended. A program keeps in its fast memory what it has loaded or computed, until it ends.
#
# **Not tiled**, attention is three programs, each with a fast memory that is as large as it needs:
#
# 1. load all queries and all keys, store the scores, `T` times `S` numbers;
# 2. load the scores, store the weights, which are as many;
# 3. load the weights and all values, store the output.
#
# **Tiled**, there is one program for each tile of queries. It loads its own queries, then all keys and all values, one tile after the other, and keeps the scores of a tile and all that it needs for each query in its fast memory. At its end it stores the output of its queries and their lse, which is one number for each. A last tile that is smaller moves only the numbers that exist.


# %% nbgrader={"grade_id": "traffic", "solution": true}
def traffic(
    T: int, S: int, d: int, dv: int, block_q: int, block_k: int, tiled: bool
) -> dict[str, int]:
    """Numbers that attention moves between the slow memory and the fast one.

    Args:
        T: number of queries.
        S: number of keys.
        d: width of a query and of a key.
        dv: width of a value.
        block_q: queries in a tile.
        block_k: keys in a tile.
        tiled: in tiles, or as three programs with the whole matrix of scores.

    Returns:
        "loaded": numbers copied from the slow memory to the fast one.
        "stored": numbers copied from the fast memory to the slow one.
    """
    ### BEGIN SOLUTION
    if not tiled:
        loaded = T * d + S * d + T * S + T * S + S * dv
        return {"loaded": loaded, "stored": T * S + T * S + T * dv}
    programs = -(-T // block_q)  # rounded up
    return {"loaded": T * d + programs * (S * d + S * dv), "stored": T * dv + T}
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "traffic_values", "grade": true, "points": 4}
# blocks = [draw.sizes(2, low=3, high=9) for _ in range(4)]
# ragged = [
#     (
#         2 * q + draw.integer(1, q - 1),
#         5 * k + draw.integer(1, k - 1),
#         *draw.sizes(2, low=2, high=20),
#         q,
#         k,
#     )
#     for q, k in blocks
# ]
# even = [(3 * q, 2 * k, *draw.sizes(2, low=2, high=20), q, k) for q, k in blocks]
# large = [(T, S, d, dv, T + q, T + S + k) for T, S, d, dv, q, k in ragged]
# says("is right without tiles", parts="traffic{sizes} not tiled")
# ### 1p AUTOTEST [traffic(*sizes, False) for sizes in ragged]
# says("is right where the blocks divide", parts="traffic{sizes} tiled")
# ### 1p AUTOTEST [traffic(*sizes, True) for sizes in even]
# says("is right where the last tiles are smaller", parts="traffic{sizes} tiled")
# ### 1p AUTOTEST [traffic(*sizes, tiled=True) for sizes in ragged]
# says("is right where one tile holds everything", parts="traffic{sizes} tiled")
# ### 1p AUTOTEST [traffic(*sizes, True) for sizes in large]

# %% [markdown]
# ## 6. Keys on pages
#
# Attend with one new query for each text and head to the keys of its text, which are on *pages*.
#
# A small case with pages of 2 slots: a text of length 3 with the table row $(4, 1, 7)$ has its first two tokens on page 4 and its third in slot 0 of page 1. Nothing else is looked at.
#
# A server writes many texts at once, and can't know how long each will become, so their keys and values are on pages of equal size, which are given out one by one. A table says which pages a text has: token `s` of text `b` is on page `table[b, s // page]`, in slot `s % page`, where `page` is the number of slots. The query attends to the `lengths[b]` tokens of its text, and to nothing else.
#
# - A text of length 0 has output 0.
# - The table has `n` entries for each text. Those that the text doesn't need yet are left over from other texts, or -1, or larger than any page. Don't use them.
# - Slots that hold no token of a text may hold anything, even NaN and infinity. Two texts that begin alike may share pages.
# - Scores may be large, as in task 2.


# %% nbgrader={"grade_id": "paged_attention", "solution": true}
def paged_attention(
    query: torch.Tensor,
    key_pages: torch.Tensor,
    value_pages: torch.Tensor,
    table: torch.Tensor,
    lengths: torch.Tensor,
) -> torch.Tensor:
    """Attention of one new query for each text, whose keys and values lie on pages.

    Source: Kwon et al. (2023), PagedAttention, section 4.1.

    Args:
        query: (B, H, d), one query for each of B texts and H heads.
        key_pages: (P, H, page, d), for all texts together.
        value_pages: (P, H, page, dv).
        table: (B, n), integers: the pages of each text, in order.
        lengths: (B,), integers from 0 to n * page: the number of tokens of each text.

    Returns:
        (B, H, dv).
    """
    ### BEGIN SOLUTION
    page = key_pages.shape[2]
    outputs = []
    for b, length in enumerate(lengths.tolist()):
        used = table[b, : -(-length // page)]  # rounded up
        # (used, H, page, d) -> (H, length, d)
        k = key_pages[used].transpose(0, 1).flatten(1, 2)[:, :length]
        v = value_pages[used].transpose(0, 1).flatten(1, 2)[:, :length]
        scores = query[b, :, None] @ k.mT / query.shape[-1] ** 0.5  # (H, 1, length)
        outputs.append((torch.softmax(scores, dim=-1) @ v)[:, 0])
    return torch.stack(outputs)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "paged_attention_values", "grade": true, "points": 7}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# (
#     page, n, P, query, key_pages, value_pages, table, whole, lengths, stale, full,
#     with_empty, holes, shared, square,
# ) = draw_paged_attention_values(draw)
# equal("what a text gives depends on the other texts", paged_text_alone)
# equal("twice the values don't give twice the output", paged_twice_the_values)
# says("is right where every last page is filled")
# ### 1p AUTOTEST paged_attention(query, key_pages, value_pages, table, whole)
# says("attends to the tokens of the text only, not to the rest of the last page")
# ### 1p AUTOTEST paged_attention(query, key_pages, value_pages, table, lengths)
# says("looks at no entry of the table that is not needed, also for a single text",
#     parts=["last pages in part", "last pages filled", "one text"])
# ### 1p AUTOTEST paged_stale_entries
# says("gives zeros to a text of length 0", parts=["its pages in the table",
#     "other numbers in the table"])
# ### 1p AUTOTEST paged_empty_text
# says("lets nothing show of slots that were never written, which are NaN or infinite")
# ### 1p AUTOTEST paged_attention(query, *holes, stale, lengths)
# says("is right for shared pages, and for scores in the thousands", parts=["a shared first page",
#     "large scores"])
# ### 1p AUTOTEST paged_shared_pages
# says("is right where sizes are equal, and leaves its arguments as they were", parts=["query",
#     "key_pages", "value_pages", "table", "lengths", "result"])
# ### 1p AUTOTEST inputs_after(paged_attention, *square)

# %% [markdown]
# ## 7. Attention without softmax
#
# Compute causal attention without the softmax and without the division by $\sqrt d$, chunk by chunk, and return the outputs and the state after the last position.
#
# A small case with $d = d_v = 1$: the queries $(1, 2, 3)$, the keys $(1, 1, 2)$ and the values $(5, 0, 1)$ have the outputs $(5, 10, 21)$ and the state $7$, whatever the chunk is.
#
# A query at position $t$ gives each value the dot product with its key as weight:
#
# $$o_t = \sum_{s \le t} (q_t \cdot k_s)\, v_s = q_t \sum_{s \le t} k_s v_s^\top.$$
#
# The right side shows that all earlier keys and values fit into one matrix of $d \times d_v$ numbers, the *state*, whatever their number is. Go through the sequence in chunks of `chunk` positions; the last may be smaller. In each chunk, take what comes from the chunks before it from the state, and what comes from the chunk itself, up to and including the query's own position, by a small causal matrix. Then add the chunk to the state.
#
# - There are as many keys as queries, both `T`.
# - No matrix of `T` times `T` numbers is needed, and one check has only 60 MB of memory, as in task 2.
# - The results have the data type of the inputs.


# %% nbgrader={"grade_id": "linear_attention_chunked", "solution": true}
def linear_attention_chunked(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, chunk: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Causal attention without softmax, chunk by chunk.

    Args:
        query: (..., T, d).
        key: (..., T, d).
        value: (..., T, dv).
        chunk: positions in a chunk.

    Returns:
        output (..., T, dv) and state (..., d, dv), the sum of the outer products of all keys and values.
    """
    ### BEGIN SOLUTION
    T = query.shape[-2]
    state = torch.zeros((*key.shape[:-2], key.shape[-1], value.shape[-1]), dtype=value.dtype)
    outputs = []
    for start in range(0, T, chunk):
        q, k, v = (x[..., start : start + chunk, :] for x in (query, key, value))
        outputs.append(q @ state + (q @ k.mT).tril() @ v)
        state = state + k.mT @ v
    return torch.cat(outputs, dim=-2), state
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "linear_attention_values", "grade": true, "points": 6}
# b, h = draw.sizes(2, high=4)
# chunk, d, dv = draw.sizes(3, low=3, high=8)
# T = 3 * chunk + draw.integer(1, chunk - 1)
# query, key, value = draw.tensor(b, h, T, d), draw.tensor(b, h, T, d), draw.tensor(b, h, T, dv)
# equal = (
#     draw.tensor(chunk, chunk, chunk),
#     draw.tensor(chunk, chunk, chunk),
#     draw.tensor(chunk, chunk, chunk),
# )
# names = draw.choices(8, ["float32", "float64"])
# equal("the size of the chunks changes the result", linear_size_of_chunks)
# equal("a position's output moves when only later positions change", linear_later_positions,
#     axis=0)
# equal("twice the values don't give twice the output", linear_twice_the_values)
# says("is right where the chunk divides", parts=["output", "state"])
# ### 1p AUTOTEST linear_whole_chunks
# says("is right where the last chunk is smaller", parts=["output", "state"])
# ### 1p AUTOTEST linear_attention_chunked(query[0, 0], key[0, 0], value[0, 0], chunk)
# says("is right for any chunk", parts=("chunk={size}", ["output", "state"]))
# ### 1p AUTOTEST linear_chunks
# says("is right with leading axes, and where all sizes are equal", parts=(["one", "two",
#     "equal sizes"], ["output", "state"]))
# ### 1p AUTOTEST linear_leading_axes
# says("gives the data type of its inputs", parts=("{name} inputs", ["output", "state"],
#     ["data type", "values"]))
# ### 1p AUTOTEST linear_data_types
# says("leaves its arguments as they were, in any memory layout", parts=(["query", "key", "value",
#     "result"], ["output", "state"]))
# ### 1p AUTOTEST linear_leaves_arguments

# %% active="ipynb" nbgrader={"grade_id": "linear_attention_memory", "grade": true, "points": 1}
# T, chunk = 7960 + draw.integer(0, 90), draw.integer(60, 90)
# query, key, value = draw.tensor(T, 4), draw.tensor(T, 4), draw.tensor(T, 3)
# memory(megabytes=60)
# says("never has a matrix of T times T numbers", parts=["output", "state"], case=False)
# ### 1p AUTOTEST [x[::301] for x in linear_attention_chunked(query, key, value, chunk)]

# %% [markdown] nbgrader={"grade_id": "why_it_is_faster", "grade": true, "solution": true, "points": 3}
# **Written answer.** The tiled forward pass computes no fewer products than the three programs of task 5, and the tiled backward pass computes all scores a second time. Why is it still faster on many machines? Which of the arguments of your `traffic` makes
# no difference when `tiled` is true, and which does: what would you change to move less, and what stands in the way? And what does not change, however good the tiles are, when a text becomes twice as long? Four to seven sentences; check what you say with your `traffic`, and compare it with the times in the book's section *Is it faster?*
#
# ### BEGIN SOLUTION
# Where the arithmetic units wait for memory most of the time, the time depends on the numbers that are moved, not on the products. The three programs move the matrix of scores four times, twice in each
# direction. Tiled, it never leaves the fast memory, and computing the scores again is cheaper than loading them. (On a processor, much of the gain is that no matrix has to be fetched anew from the system.) `block_k` makes no difference: all keys are loaded once for each tile of queries, in pieces of whatever size. `block_q` does: twice as many queries in a tile
# mean half as many tiles, and so the keys and values are loaded half as often. What stands in the way is the fast memory, which has to hold the tiles, the scores of a tile and the output so far. The number of products still grows with $T \cdot S$: twice the text is four times the work, and for a fixed `block_q` also
# about four times the traffic. Only the memory for the scores is gone.
#
# Rubric: 1 point for traffic, or fetching memory, and not arithmetic, as the limit, with the matrix of scores as what is saved, 1 point for `block_q` (larger is better) and `block_k` (no difference) with the size of the fast memory as the limit,
# 1 point for the work that stays quadratic.
# ### END SOLUTION

# %% [markdown]
# ## Now use it
#
# No points here, and grading leaves the next cell out. It times your `flash_forward` beside the formula, which writes the whole matrix down, and beside PyTorch's own attention.
# Take the `#` off the last line and run it: it takes less than half a minute on one core. Which of the three has the fewest numbers in memory, and which is the fastest on your machine? Change the blocks.

# %% active="ipynb" nbgrader={"grade_id": "now_use_it", "locked": true}
# import time
#
# from torch.nn import functional as F
#
#
# def formula(query, key, value, causal):
#     scores = query @ key.mT / query.shape[-1] ** 0.5
#     if causal:
#         scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -torch.inf)
#     return scores.softmax(dim=-1) @ value
#
#
# def milliseconds(function):
#     """The fastest of three calls, and what it returns."""
#     times = []
#     for _ in range(3):
#         begun = time.perf_counter()
#         result = function()
#         times.append(1000 * (time.perf_counter() - begun))
#     return min(times), result
#
#
# def now_use_it(block_q=128, block_k=512, lengths=(512, 1024, 2048, 4096)):
#     if still_missing("flash_forward"):
#         return
#     threads = torch.get_num_threads()
#     torch.set_num_threads(1)
#     torch.manual_seed(0)
#     try:
#         print("milliseconds on one core      formula   PyTorch   yours   largest difference")
#         for causal in (False, True):
#             for length in lengths:
#                 query, key, value = torch.randn(3, length, 64)
#                 slow, right = milliseconds(lambda: formula(query, key, value, causal))
#                 ready, _ = milliseconds(lambda: F.scaled_dot_product_attention(query[None], key[None], value[None], is_causal=causal))
#                 own, found = milliseconds(lambda: flash_forward(query, key, value, block_q, block_k, causal)[0])
#                 kind = "causal" if causal else "all keys"
#                 print(f"{length:6} positions, {kind:10} {slow:11.1f} {ready:9.1f} {own:7.1f}   {(found - right).abs().max():.0e}")
#     finally:
#         torch.set_num_threads(threads)
#
#
# # now_use_it()
