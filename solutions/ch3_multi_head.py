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
# # Exercise 3: Multi-head attention
#
# One attention makes one average. Here you build the layer that makes several at once: you split vectors into heads,
# attend in each, and join the results. Then you load your layer into PyTorch's own, count its parameters, and take a
# single head out. Chapter 3 has the ideas, worked out for one sentence and two heads.
#
# **The core** is tasks 1 to 3, since later exercises use these functions and the layer: about 90 minutes, by our estimate.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks all are equal.
# When you are graded, the same checks run on other inputs. Keep the names and the arguments as they are;
# helper functions of your own are welcome, and a later task may use what you wrote for an earlier one. No function changes its arguments. Gradients flow through all that returns floats, and are never NaN.
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
# | `H` | heads |
# | `D` | `d_model`, the width of the vectors that come in and go out |
# | `d` | the width of one head, `D / H` |
#
# The cell *What you have built so far* holds the `attention` of exercise 2. You may put your own in its place.
# You need nothing else: `nn.MultiheadAttention` may be used only in task 4.

# %% nbgrader={"grade_id": "imports", "locked": true}
from collections.abc import Callable

import torch
from torch import nn

from solutions.ch2_scaled_dot_product import attention

# %% [markdown]
# ## 1. Split
#
# Cut every vector into `H` pieces, one for each head: head 0 works on the first `d` entries of every vector, head 1 on the
# next `d`, and so on. A small case: in a sentence of two words with `D = 4`,
#
# ```
# x[0] = [[ 1,  2,  3,  4],        head 0 = [[1, 2],      head 1 = [[3, 4],
#         [ 5,  6,  7,  8]]                  [5, 6]]                [7, 8]]
# ```
#
# Afterwards the head has a separate axis, in front of the positions, so that each head looks like a batch of sequences:
#
# ```python
# split[b, h, t] == x[b, t, h * d : (h + 1) * d]    # for every b, h and t
# ```
#
# The correct shape is not enough to make it correct.


# %% nbgrader={"grade_id": "split_heads", "solution": true}
def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    """Give each head its own part of every vector.

    Args:
        x: (B, T, D), in any memory layout, of any data type.
        n_heads: the number of heads H, which divides D.

    Returns:
        (B, H, T, D / H), of the same data type.
    """
    ### BEGIN SOLUTION
    batch, length, d_model = x.shape
    return x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "split_heads_values", "grade": true, "points": 4}
# B, T, H, d = draw.sizes(4, low=3, high=7)
# x, equal = draw.tensor(B, T, H * d), draw.tensor(H, H, H * H)
# integers = torch.from_numpy(draw.integers(T, B, H * d, low=-99, high=99))
# equal("what an example gives depends on the other examples of the batch", split_example_alone)
# equal("what a position gives depends on other positions", split_without_first_position)
# says("gives each head its own part of every vector")
# ### 1p AUTOTEST split_heads(x, H)
# says("is right where B, T, H and d are equal")
# ### 1p AUTOTEST split_heads(equal, H)
# says("takes any data type and memory layout, and sizes of 1", parts=["transposed integers",
#     "one example, float32", "one position", "one head", "heads of width 1", "data types"])
# ### 1p AUTOTEST split_layouts
# says("passes gradients to x", parts=["x"])
# ### 1p AUTOTEST gradients(split_heads, x, H)

# %% [markdown]
# ## 2. Merge
#
# Undo the split: `merge_heads(split_heads(x, H))` is `x`, for every `x` and `H`.


# %% nbgrader={"grade_id": "merge_heads", "solution": true}
def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Join the parts of all heads into one vector per position, head 0 first.

    Args:
        x: (B, H, T, d), in any memory layout, of any data type.

    Returns:
        (B, T, H * d), of the same data type.
    """
    ### BEGIN SOLUTION
    batch, n_heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * d_head)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "merge_heads_values", "grade": true, "points": 4}
# B, T, H, d = draw.sizes(4, low=3, high=7)
# x, heads_last, equal = draw.tensor(B, H, T, d), draw.tensor(B, T, d, H), draw.tensor(H, H, H, H)
# integers = torch.from_numpy(draw.integers(B, T, d, H, low=-99, high=99))
# equal("what an example gives depends on the other examples of the batch", merge_example_alone)
# equal("what a position gives depends on other positions", merge_without_first_position)
# says("joins the parts of all heads, head 0 first")
# ### 1p AUTOTEST merge_heads(x)
# says("is right where B, T, H and d are equal")
# ### 1p AUTOTEST merge_heads(equal)
# says("takes any data type and memory layout, and sizes of 1", parts=["transposed",
#     "transposed integers", "one example, float32", "one position", "one head", "heads of width 1",
#     "data types"])
# ### 1p AUTOTEST merge_layouts
# says("passes gradients to x", parts=["x"])
# ### 1p AUTOTEST gradients(merge_heads, x)

# %% [markdown]
# ## 3. Multi-head attention
#
# Write the layer that attends in several heads at once and joins their results:
#
# $$\operatorname{MultiHead}(Q, K, V) = [\text{head}_1; \dots; \text{head}_H]\, W_O, \qquad
# \text{head}_h = \operatorname{Attention}(Q W_Q^h, K W_K^h, V W_V^h)$$
#
# In code all heads are projected at once: `w_q`, `w_k` and `w_v` are layers of type `nn.Linear` from `D` to `D`, and head `h` is the
# `h`-th part of their output. A fourth layer, `w_o`, works on the merged heads.
#
# A small case: with one head, and all four layers the identity without bias, the layer returns what `attention` returns.
#
# | what | rule |
# |---|---|
# | layers | They are called `w_q`, `w_k`, `w_v` and `w_o`; the grader sets their weights by these names. `bias=False` leaves out the bias of all four. |
# | attributes | Keep `n_heads` and `attention` as attributes as well: tasks 4 and 6 need them. |
# | `attention` | Any function that is called like the one of exercise 2, `attention(query, key, value, mask)`, with tensors of shape `(B, H, T, d)` and `(B, H, S, d)`, and that returns an output `(B, H, T, d)` and weights `(B, H, T, S)`. Some fast ones have no weights to give and return `None` instead. Pass on what you get. |
# | `mask` | It is boolean, `True` means *may attend*, and its shape broadcasts to `(B, H, T, S)`, for example `(T, S)` or `(B, 1, 1, S)`. `None` means that there is none. |
# | state | The layer has no dropout and keeps nothing between two calls: even in training mode it computes the formula and nothing else. |
# | widths | If `n_heads` does not divide `d_model`, the constructor raises a `ValueError` whose message names both numbers. |
# | not allowed | PyTorch's ready-made attention must not be called here. |


# %% nbgrader={"grade_id": "MultiHeadAttention", "solution": true}
class MultiHeadAttention(nn.Module):
    """Attention in n_heads subspaces at once.

    Source: Vaswani et al. (2017), section 3.2.2.

    Args:
        d_model: width of queries, keys, values and outputs.
        n_heads: number of heads; each has the width d_model / n_heads.
        attention: function of (query, key, value, mask) that returns (output, weights or None).
        bias: whether the four linear layers have a bias.

    Raises:
        ValueError: n_heads does not divide d_model; the message names both.
    """

    def __init__(
        self, d_model: int, n_heads: int, attention: Callable = attention, bias: bool = True
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % n_heads:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        self.n_heads = n_heads
        self.attention = attention
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        ### END SOLUTION

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend.

        Args:
            query: (B, T, D).
            key: (B, S, D).
            value: (B, S, D).
            mask: broadcastable to (B, H, T, S), boolean, True = may attend. None = no mask.

        Returns:
            output (B, T, D) and weights (B, H, T, S), or None if the attention gives no weights.
        """
        ### BEGIN SOLUTION
        output, weights = self.attention(
            split_heads(self.w_q(query), self.n_heads),
            split_heads(self.w_k(key), self.n_heads),
            split_heads(self.w_v(value), self.n_heads),
            mask,
        )
        return self.w_o(merge_heads(output)), weights
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "multi_head_values", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# B, T, S, H, d = draw.sizes(5, low=3, high=7)
# D = H * d
# query, key, value = 0.3 * draw.tensor(B, T, D), 0.3 * draw.tensor(B, S, D), draw.tensor(B, S, D)
# mask, padding = torch.from_numpy(draw.mask(B, H, T, S)), torch.from_numpy(draw.mask(B, 1, 1, S))
# own_mask = torch.from_numpy(draw.mask(B, 1, T, T))
# n = draw.integer(3, 5)
# equal_query, equal_key, equal_value = [0.3 * draw.tensor(n, n, n * n) for _ in range(3)]
# equal_mask = torch.from_numpy(draw.mask(n, 1, n, n))
# equal("what an example gives depends on the other examples of the batch",
#     multi_head_example_alone)
# equal("what a query gets depends on other queries", multi_head_query_alone)
# equal("in another order the keys, with their values, give another output",
#     multi_head_keys_in_other_order)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     multi_head_modes)
# unequal("the mask has no influence on the output", multi_head_mask_or_none)
# equal("a result moves when only keys and values change that the mask hides",
#     multi_head_hidden_keys)
# unequal("the query has no influence on the output", multi_head_other_query)
# unequal("the key has no influence on the output", multi_head_other_key)
# unequal("the value has no influence on the output", multi_head_other_value)
# says("output and weights are right without a mask", parts=["output", "weights"])
# ### 1p AUTOTEST fill(MultiHeadAttention(D, H))(query, key, value)
# says("attends to the query itself, in a layer where no part has a bias", parts=(["parameters",
#     "result"], ["output", "weights"]))
# ### 1p AUTOTEST multi_head_without_bias
# says("attends to the query itself under a mask", parts=["output", "weights"])
# ### 1p AUTOTEST fill(MultiHeadAttention(D, H))(query, query, query, own_mask)
# says("follows a mask with an own part for every head", parts=["output", "weights"])
# ### 1p AUTOTEST fill(MultiHeadAttention(D, H))(3 * query, 3 * key, value, mask)
# says("takes a mask that broadcasts, of shape (B, 1, 1, S)", parts=(["all examples and heads",
#     "one example, one query, one head"], ["output", "weights"]))
# ### 1p AUTOTEST multi_head_padding
# says("is right where B, T, S, H and d are equal", parts=["output", "weights"])
# ### 1p AUTOTEST multi_head_equal_sizes

# %% active="ipynb" nbgrader={"grade_id": "multi_head_edges", "grade": true, "points": 7}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# H, d, B, T, S = draw.sizes(5, low=3, high=7)
# D = H * d
# query, key, value = 0.3 * draw.tensor(B, T, D), 0.3 * draw.tensor(B, S, D), draw.tensor(B, S, D)
# mask, shared = torch.from_numpy(draw.mask(B, H, T, S, empty=1)), torch.from_numpy(draw.mask(T, S))
# other, more = 0.3 * draw.tensor(T + 2, B + 1, D), 0.3 * draw.tensor(S + 1, B + 1, D)
# heads = [draw.integer(2, 6) for _ in range(12)]
# widths = [n * draw.integer(1, 5) + draw.integer(0, 1) for n in heads]
# equal("what an example gives depends on the other examples of the batch", multi_head_example_alone)
# equal("what a query gets depends on other queries", multi_head_query_alone)
# equal("in another order the keys, with their values, give another output",
#     multi_head_keys_in_other_order)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     multi_head_modes)
# equal("an earlier call has an influence on a later one", multi_head_after_other_calls)
# says("passes gradients to its inputs and all four layers, also under a mask", parts=["query",
#     "key", "value"])
# ### 1p AUTOTEST multi_head_gradients
# says("leaves its inputs as they were, and works in float32", parts=(["query", "key", "value",
#     "mask", "result"], ["output", "weights"]))
# ### 1p AUTOTEST multi_head_leaves_inputs
# says("takes a mask that broadcasts, of two or three axes", parts=(["mask (T, S)",
#     "mask (H, T, S)"], ["output", "weights"]))
# ### 1p AUTOTEST multi_head_broadcast_masks
# says("uses the attention function that it is given, also one without weights",
#     parts=(["by keyword", "by position, then no bias"], ["output", "weights"]))
# ### 1p AUTOTEST multi_head_given_attention
# says("raises a ValueError that names both numbers where n_heads does not divide d_model",
#     parts="d_model={width}, n_heads={n}")
# ### 1p AUTOTEST [raised_naming(MultiHeadAttention, width, n) for width, n in zip(widths, heads)]
# says("computes the same in training mode, and afterwards in evaluation mode",
#     parts=(["training mode", "evaluation mode afterwards"], ["output", "weights"]))
# ### 1p AUTOTEST multi_head_both_modes
# says("one layer, called four times: no call has an influence on the next", parts=(["first call",
#     "second call", "third call", "fourth call, another mask"], ["output", "weights"]))
# ### 1p AUTOTEST multi_head_four_calls

# %% [markdown]
# ## 4. The same layer in PyTorch
#
# Make a layer of PyTorch's from yours. `nn.MultiheadAttention(d_model, n_heads, bias=..., batch_first=True)` computes the same
# function, if its parameters are yours:
#
# | parameter | shape | holds |
# |---|---|---|
# | `in_proj_weight` | `(3 D, D)` | the weights of queries, keys and values, one below the other |
# | `in_proj_bias` | `(3 D,)` | their biases; `None` with `bias=False` |
# | `out_proj.weight`, `out_proj.bias` | `(D, D)`, `(D,)` | the layer on the merged heads |
#
# - It has the data type of your layer, its own copy of the numbers, and takes `(B, T, D)`.
# - Your layer stays as it was.
# - Whether the one that you return is in training or in evaluation mode makes no difference: it has no dropout.


# %% nbgrader={"grade_id": "to_torch", "solution": true}
def to_torch(mha: MultiHeadAttention) -> nn.MultiheadAttention:
    """PyTorch's layer with the weights of ours.

    Args:
        mha: a layer with scaled dot-product attention, with or without bias.

    Returns:
        A layer with batch_first=True that gives the same outputs, in the data type of mha.
    """
    ### BEGIN SOLUTION
    weight, bias = mha.w_q.weight, mha.w_q.bias
    theirs = nn.MultiheadAttention(
        weight.shape[0], mha.n_heads, bias=bias is not None, batch_first=True, dtype=weight.dtype
    )
    projections = mha.w_q, mha.w_k, mha.w_v
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in projections]))
        theirs.out_proj.weight.copy_(mha.w_o.weight)
        if bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in projections]))
            theirs.out_proj.bias.copy_(mha.w_o.bias)
    return theirs
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "to_torch_values", "grade": true, "points": 5}
# B, T, S, H, d = draw.sizes(5, low=3, high=7)
# D = H * d
# query, key, value = 0.3 * draw.tensor(B, T, D), 0.3 * draw.tensor(B, S, D), draw.tensor(B, S, D)
# equal = 0.3 * draw.tensor(H, H, D)
# hidden = torch.from_numpy(~draw.mask(B, S))
# says("PyTorch's layer gives the same output and weights", parts=["output", "weights"])
# ### 1p AUTOTEST torch_same_values
# says("takes (B, T, D), also where B and T are equal", parts=["output", "weights"])
# ### 1p AUTOTEST to_torch(fill(MultiHeadAttention(D, H))).train()(equal, equal, equal)
# says("works for a layer without bias, in float64 and float32", parts=("{name}", ["parameters",
#     "result"], ["output", "weights"]))
# ### 1p AUTOTEST torch_without_bias
# says("gives the same with a key_padding_mask", parts=["output", "weights"])
# ### 1p AUTOTEST torch_padding
# says("has its own copy: making and changing it leaves your layer as it was", parts=["parameters",
#     "requires_grad of each", "in training mode"])
# ### 1p AUTOTEST torch_own_copy

# %% [markdown]
# ## 5. What do more heads cost?
#
# Count the parameters of `MultiHeadAttention(d_model, n_heads, bias=bias)`, layer by layer or head by head.
#
# A small case: `count_parameters(4, 2, False)` is 64, and with bias it is 80.


# %% nbgrader={"grade_id": "count_parameters", "solution": true}
def count_parameters(d_model: int, n_heads: int, bias: bool) -> int:
    """How many numbers a multi-head attention learns.

    Args:
        d_model: width of the layer.
        n_heads: number of heads, which divides d_model.
        bias: whether the four linear layers have a bias.

    Returns:
        The number of all entries of weights and biases.
    """
    ### BEGIN SOLUTION
    d_head = d_model // n_heads
    into_head = 3 * (d_model + bias) * d_head  # its part of w_q, w_k and w_v
    out_of_head = d_head * d_model  # its part of w_o, whose bias belongs to no head
    return n_heads * (into_head + out_of_head) + bias * d_model
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "count_parameters_values", "grade": true, "points": 4}
# forbid("MultiheadAttention")
# heads = [draw.integer(1, 8) for _ in range(10)]
# widths, biases = [n * draw.integer(2, 64) for n in heads], draw.choices(10, [False, True])
# says("counts every weight and bias", parts="d_model={width}, n_heads={n}, bias={bias}")
# ### 2p AUTOTEST count_all
# says("counts right without biases", parts="d_model={width}, n_heads={n}")
# ### 2p AUTOTEST [count_parameters(width, n, False) for width, n in zip(widths, heads)]

# %% [markdown]
# ## 6. What does one head add?
#
# Return what one head adds to the output of the layer. Joining the heads and multiplying by one matrix is the same as
# multiplying each head by its own part of that matrix and adding up:
#
# $$[\text{head}_1; \dots; \text{head}_H]\, W_O = \sum_h \text{head}_h\, W_O^h$$
#
# The output of the layer is therefore a sum over heads, plus the bias of `w_o`, and you return the term of one head. Without its
# term, a head is gone: that is how the chapter prunes heads.
#
# - The terms of all heads and the bias add up to the layer's output. Mind that `nn.Linear` keeps its weight as `(out, in)`.
# - The head attends with the layer's own `attention`.
# - The layer stays as it is, and gradients flow through the result.


# %% nbgrader={"grade_id": "head_contribution", "solution": true}
def head_contribution(
    mha: MultiHeadAttention,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head: int,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """The part of the output that one head adds.

    Args:
        mha: the layer; it is left as it is.
        query: (B, T, D).
        key: (B, S, D).
        value: (B, S, D).
        head: the head's number, from 0.
        mask: broadcastable to (B, H, T, S), boolean, True = may attend. None = no mask.

    Returns:
        (B, T, D), without the bias of w_o.
    """
    ### BEGIN SOLUTION
    outputs, _ = mha.attention(
        split_heads(mha.w_q(query), mha.n_heads),
        split_heads(mha.w_k(key), mha.n_heads),
        split_heads(mha.w_v(value), mha.n_heads),
        mask,
    )
    d_head = outputs.shape[-1]
    part = mha.w_o.weight[:, head * d_head : (head + 1) * d_head]  # (D, d)
    return outputs[:, head] @ part.T
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "head_contribution_values", "grade": true, "points": 5}
# B, T, S, H, d = draw.sizes(5, low=3, high=7)
# D, head = H * d, draw.integer(1, H - 1)
# query, key, value = 0.3 * draw.tensor(B, T, D), 0.3 * draw.tensor(B, S, D), draw.tensor(B, S, D)
# mask = torch.from_numpy(draw.mask(B, H, T, S))
# n = draw.integer(3, 5)
# equal_query, equal_key, equal_value = [0.3 * draw.tensor(n, n, n * n) for _ in range(3)]
# equal_mask = torch.from_numpy(draw.mask(n, 1, n, n))
# equal("the layer gives another output after you took a head out of it", contribution_leaves_layer)
# equal("the parts of all heads and the bias don't add up to what your layer gives",
#     contributions_add_up)
# unequal("each head gives the same part", contributions_of_two_heads)
# equal("what an example gives depends on the other examples of the batch",
#     contribution_example_alone)
# unequal("the mask has no influence", contribution_mask_or_none)
# equal("in another order the keys, with their values, give another result",
#     contribution_keys_in_other_order)
# says("the part of one head is right")
# ### 1p AUTOTEST head_contribution(fill(MultiHeadAttention(D, H)), query, key, value, head)
# says("one layer, asked for its heads in turn: part 1 is head 0, and the layer stays as it is",
#     parts=["terms, head 0 once more, and for other inputs", "requires_grad of each parameter",
#     "sum of all numbers in each parameter", "in training mode"])
# ### 1p AUTOTEST contributions_in_turn
# says("attends with the layer's own attention, and to the query itself in a layer without bias",
#     parts=["another attention", "without bias"])
# ### 1p AUTOTEST contribution_given_attention
# says("follows the mask, also for one example or one query", parts=["all examples and queries",
#     "one example, mask (T, S)", "one query"])
# ### 1p AUTOTEST contribution_masked
# says("passes gradients to its inputs and to all four layers, also where all sizes are equal",
#     parts=["inputs", "the head's part of w_o, w_q, w_k and w_v"])
# ### 1p AUTOTEST contribution_gradients

# %% [markdown]
# ## 7. Fewer keys and values than queries
#
# Let several heads share one key and one value head, so that less has to be kept while a model writes. This is grouped-query
# attention: there are `H` heads of queries and `G` groups of keys and values.
#
# A small case: with `H = 6` and `G = 2`, heads 0, 1 and 2 use group 0, and heads 3, 4 and 5 use group 1: head `h` uses group
# `h // (H / G)`. With `G = H` this is ordinary attention in heads, with `G = 1` it is multi-query attention.
#
# - The tensors are already projected and split.
# - As in exercise 2, a query with nothing to attend to gets zeros, and a masked key has weight 0 however large its score is.
# - If `G` does not divide `H`, raise a `ValueError`.


# %% nbgrader={"grade_id": "grouped_query_attention", "solution": true}
def grouped_query_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scaled dot-product attention in which groups of heads share their keys and values.

    Source: Ainslie et al. (2023), section 2.2; Shazeer (2019) for one group.

    Args:
        query: (B, H, T, d).
        key: (B, G, S, d).
        value: (B, G, S, d).
        mask: broadcastable to (B, H, T, S), boolean, True = may attend. None = no mask.

    Returns:
        output (B, H, T, d) and weights (B, H, T, S).

    Raises:
        ValueError: G does not divide H.
    """
    ### BEGIN SOLUTION
    n_heads, n_groups = query.shape[1], key.shape[1]
    if n_heads % n_groups:
        raise ValueError(f"{n_groups} groups do not divide {n_heads} heads")
    share = n_heads // n_groups
    key = key.repeat_interleave(share, dim=1)
    value = value.repeat_interleave(share, dim=1)
    return attention(query, key, value, mask)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "grouped_query_values", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention")
# B, T, d, G, share = draw.sizes(5, low=2, high=7)
# S, H = draw.integer(8, 10), G * share
# query, key, value = 2 * draw.tensor(B, H, T, d), draw.tensor(B, G, S, d), draw.tensor(B, G, S, d)
# mask = torch.from_numpy(draw.mask(B, H, T, S))
# with_empty = torch.from_numpy(draw.mask(B, H, T, S, empty=2))
# padding = torch.from_numpy(draw.mask(B, 1, 1, S))
# equal_query = 2 * draw.tensor(4, 4, 4, 4)
# equal_key = draw.tensor(4, 2, 4, 4)
# equal_value = draw.tensor(4, 2, 4, 4)
# many = draw.integer(17, 23)
# many_query = 2 * draw.tensor(1, 2 * many, 1, d)
# equal_mask = torch.from_numpy(draw.mask(4, 1, 4, 4))
# high_key = torch.where(padding.mT, key, 1e5 + key)
# equal("what an example gives depends on the other examples of the batch", grouped_example_alone)
# equal("twice the values don't give twice the output", grouped_twice_the_values)
# equal("one vector added to all keys changes the weights", grouped_shifted_keys)
# equal("in another order the keys, with their values, give another output",
#     grouped_keys_in_other_order)
# unequal("the mask has no influence on the output", grouped_mask_or_none)
# equal("a result moves when only keys and values change that the mask hides", grouped_hidden_keys)
# equal("what a head gives depends on other heads of its group", grouped_other_heads)
# unequal("all groups of keys and values count as one", grouped_one_key_for_all)
# says("each head uses the keys and values of its group", parts=["output", "weights"])
# ### 1p AUTOTEST grouped_query_attention(query, key, value)
# says("is ordinary attention with as many groups as heads", parts=["output", "weights"])
# ### 1p AUTOTEST grouped_query_attention(query[:, :G], key, value)
# says("follows a mask with an own part for every head, and leaves its inputs as they were",
#     parts=(["query", "key", "value", "mask", "result"], ["output", "weights"]))
# ### 1p AUTOTEST grouped_leaves_inputs
# says("gives zeros to a query with nothing to attend to", parts=["output", "weights"])
# ### 1p AUTOTEST grouped_query_attention(query, key, value, with_empty)
# says("is right with one group, one query, many heads, masks that broadcast, large masked scores",
#     parts=(["one group, mask (B, 1, 1, S)", "several groups, mask (H, T, S)",
#     "one query, mask (1, S)", "two groups of many heads, where one ends",
#     "masked scores far above the others"], ["output", "weights"]))
# ### 1p AUTOTEST grouped_edges
# says("is right where B, H, T, S and d are all 4, and G is 2", parts=(["with a mask",
#     "without a mask"], ["output", "weights"]))
# ### 1p AUTOTEST grouped_equal_sizes

# %% active="ipynb" nbgrader={"grade_id": "grouped_query_groups", "grade": true, "points": 2}
# groups = [draw.integer(2, 4) for _ in range(24)]
# heads = [n * draw.integer(1, 3) + draw.integer(0, 1) for n in groups]
# T, S, d = draw.sizes(3)
# query, key, value = draw.tensor(1, 16, T, d), draw.tensor(1, 4, S, d), draw.tensor(1, 4, S, d)
# with_empty = torch.from_numpy(draw.mask(1, 1, T, S, empty=1))
# says("raises a ValueError where G does not divide H", parts="H={h}, G={n}")
# ### 1p AUTOTEST grouped_raises
# says("passes gradients to query, key and value", parts=(["no mask",
#     "a query with nothing to attend to"], ["query", "key", "value"]))
# ### 1p AUTOTEST grouped_gradients

# %% [markdown] nbgrader={"grade_id": "why_not_view", "grade": true, "solution": true, "points": 3}
# **Written answer.** A colleague splits heads with `x.view(B, H, T, d)` and merges them with `x.view(B, T, H * d)`. All shapes are right,
# merging undoes splitting, and training makes the loss fall. What do the rows of head 0 hold if `x` is one sentence with `T = 6` and `H = 2`?
# Why is the result not multi-head attention, and for which two settings would you see no difference? Two to five sentences.
#
# ### BEGIN SOLUTION
# `view` keeps the order of the numbers in memory, where the sentence lies word after word. The first half of the memory, and so head 0, holds
# the first three words whole, each cut into two rows; head 1 holds the last three. Within a head a word attends to halves of words of its own half of the sentence,
# so no word in the first half ever receives anything from the second: heads divide the sentence, not the vector. The loss falls because the layer still
# mixes neighbouring words. With `H = 1` or `T = 1` the two ways agree, and a test of shapes alone never sees the difference.
#
# Rubric: 1 point for what head 0 holds (half of the words, each cut into pieces), 1 point for the consequence (words of different parts of the sentence
# cannot attend to each other, or: rows are pieces of words and not words), 1 point for `H = 1` and `T = 1`.
# ### END SOLUTION

# %% [markdown]
# ## Now use it
#
# No points here, and grading leaves the next cell out. It trains your layer to name the letters one and three places before, on a ring.
# What will one head get right, what two? Take the `#` off the last line and run it: half a minute.

# %% active="ipynb" nbgrader={"grade_id": "now_use_it", "locked": true}
# import time
#
#
# def now_use_it(seconds=8, T=12, D=32, n=8):
#     if still_missing("split_heads", "merge_heads", "MultiHeadAttention"):
#         return
#     for heads in (1, 2):
#         torch.manual_seed(0)
#         layers = nn.ModuleList([nn.Embedding(n, D), nn.Embedding(T, D), MultiHeadAttention(D, heads), nn.Linear(D, 2 * n)])
#         embed, place, mha, logits = layers
#         adam = torch.optim.Adam(layers.parameters(), lr=0.01)
#         end = time.process_time() + seconds
#         while time.process_time() < end:
#             ids = torch.randint(n, (64, T))
#             goal = torch.stack([ids.roll(1, 1), ids.roll(3, 1)], -1)
#             x = embed(ids) + place.weight
#             out, w = mha(x, x, x)
#             guess = logits(out).unflatten(-1, (2, n))
#             adam.zero_grad()
#             nn.functional.cross_entropy(guess.flatten(0, 2), goal.flatten()).backward()
#             adam.step()
#         right = (guess.argmax(-1) == goal).float().mean((0, 1))
#         print(f"{heads} head(s): {right[0]:.0%} one before, {right[1]:.0%} three. Weights 0 to 4 before:")
#         for head in w.mean(0):
#             print([round(head.roll(back, 1).trace().item() / T, 2) for back in range(5)])
#
#
# # now_use_it()
