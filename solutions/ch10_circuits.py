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
# # Exercise 10: What is a head doing?
#
# A picture of attention weights says where a head looks. It doesn't say what the head does with what it finds, or whether the model needs it.
# Here you build the instruments that answer such questions: a score for one kind of head, the matrix that says what a head writes, the share of each head in a logit, two experiments on a running model, and a measure for two heads that work together. Chapter 10 has the ideas, worked out on one network.
#
# **The core** is tasks 1, 2, 5 and 6: about 90 minutes, by our estimate. No later exercise needs these functions, but
# a score, what a head writes, and a patch with its measure are the instruments that you'll meet again.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks they are equal.
# When you are graded, the same checks run on other inputs. Keep the names and the arguments as they are;
# helper functions of your own are welcome, and a later task may use what you wrote for an earlier one.
# No function changes its arguments, and none leaves anything behind in a model that it gets.
# Most inputs are in float64, and then six digits of each number have to be correct: compute in the data type of what you get. A tensor that you make of plain numbers is float32 unless you say otherwise, and so is its root: `torch.zeros(3)`, `torch.tensor(5).sqrt()`.
#
# Where a check fails, call `hint()` in a cell of your own: each call helps a little more. `failing_case()` gives inputs on which your answer is wrong, small ones where there are any.
# Where it passes, `discuss()` shows other ways to write it. `progress()` shows your points and what is open.
#
# The letters are the same everywhere in this notebook:
#
# | letter | size |
# |---|---|
# | `B`, `T` | texts in a batch, positions of a text |
# | `V` | tokens in the vocabulary |
# | `D` | `d_model`, the width of the vectors of a model |
# | `H`, `d` | heads of a layer, and the width of one head |
#
# Layers, heads and positions are counted from 0; tensors of tokens are `int64`. The embeddings have a row for each token. Every other matrix is kept as `nn.Linear` keeps it: its shape is (outputs, inputs), and it makes `W @ x` of a vector `x`, or `x @ W.T` of the rows of `x`.
#
# The cell *What you have built so far* holds the model of this chapter, `AttentionOnly`, and what it needs of earlier exercises. It has layers of attention heads and nothing else: no feed-forward network, no bias. Its weights are drawn here, so nothing has to be trained. A model `run` is used like this:
#
# - `run(tokens)`, with tokens of shape `(B, T)`, gives the logits for the token after each position, `(B, T, V)`.
# - `run.trace(tokens)` gives more of the same run: `run.trace(tokens).added` is what each head adds at each position, of shape `(n_layers, B, H, T, D)`, and `run.trace(tokens).weights` is where it looks, `(n_layers, B, H, T, T)`.
# - `run(tokens, replace={(layer, head): function})` calls `function` with what this head would add, `(B, T, D)`, and adds what the function returns instead. All later layers see the change. The function may change the tensor that it gets, since that is a copy, but has to return one. The next call of `run` knows nothing of it.
#
# For example, `run(tokens, replace={(1, 0): lambda added: 2 * added})` gives the logits when head 0 of layer 1 adds twice as much as it does.

# %% nbgrader={"grade_id": "imports", "locked": true}
from collections.abc import Callable, Mapping  # noqa: F401
from dataclasses import dataclass  # noqa: F401

import torch
from torch import nn  # noqa: F401

from solutions.attention_only import AttentionHeads, AttentionOnly, Trace  # noqa: F401
from solutions.ch2_scaled_dot_product import attention  # noqa: F401
from solutions.ch3_multi_head import split_heads  # noqa: F401
from solutions.ch4_masking import causal_mask  # noqa: F401
from solutions.ch5_positional_encoding import rope  # noqa: F401

# %% [markdown]
# ## 1. A score for one kind of head
#
# Measure how much of its weight each head puts where an *induction head* looks: at the token that came *after* an earlier occurrence of the current one.
#
# A small case: for the tokens `(7, 7, 4, 7)` the positions 1 and 3 count. Position 1 has the place 1, and position 3 has the places 1 and 2. So the score is `(weights[h, 1, 1] + weights[h, 3, 1] + weights[h, 3, 2]) / 2`.
#
# The rules, for one text and all heads of a layer:
#
# - Position `q` *counts* if its token occurred before, so if `tokens[p] == tokens[q]` for some `p < q`.
# - For each such `p`, the place to look at is `p + 1`. The score of position `q` is the sum of `weights[h, q, p + 1]` over all earlier occurrences `p`, not only the latest one. If a token comes twice in a row, the place after the first one is `q` itself; it is treated like any other.
# - The score of head `h` is the mean over the positions that count. The others are left out, both from the sum and from the number that it is divided by.
# - If no token occurs twice, all scores are 0.
# - Row `q` of `weights[h]` belongs to the query at position `q`. The weights may come from any attention, with a causal mask or without one.


# %% nbgrader={"grade_id": "prefix_matching", "solution": true}
def prefix_matching(weights: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """How much each head attends from a repeated token to the token after its earlier occurrences.

    Source: Olsson et al. (2022), who call it the prefix matching score.

    Args:
        weights: (H, T, T), the weights of each query (row) over the keys.
        tokens: (T,), integers.

    Returns:
        (H,), in the data type of weights: the mean over the positions whose token occurred
        before; 0 if there are none.
    """
    ### BEGIN SOLUTION
    earlier = (tokens[:, None] == tokens).tril(-1)  # (q, p), True where p is an earlier occurrence
    counts = earlier.any(dim=1)
    if not counts.any():
        return weights.new_zeros(len(weights))
    # the last column is empty, so nothing comes in at the front
    places = earlier.roll(1, dims=1)
    return (weights * places).sum(dim=-1)[:, counts].mean(dim=-1)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "prefix_matching_values", "grade": true, "points": 5}
# both_ways, equal, causal, texts, segment, over_segment = draw_prefix_matching_values(draw)
# equal("a head's score depends on other heads", matching_head_alone)
# equal("other numbers for the same tokens give another score", matching_other_numbers)
# says("is right for a segment that comes twice")
# ### 2p AUTOTEST prefix_matching(over_segment, segment)
# says("is right where tokens come any number of times, at any places", parts="text {number}")
# ### 1p AUTOTEST [prefix_matching(causal, texts[number]) for number in range(6)]
# says("reads no other weight, also where a head may look ahead", parts="text {number}")
# ### 1p AUTOTEST [prefix_matching(weights=both_ways, tokens=texts[number]) for number in range(6)]
# says("is right with as many heads as positions")
# ### 1p AUTOTEST [prefix_matching(equal, texts[number]) for number in range(3)]

# %% active="ipynb" nbgrader={"grade_id": "prefix_matching_edges", "grade": true, "points": 3}
# H, T = draw.sizes(2, low=3, high=8)
# weights = torch.softmax(2 * draw.tensor(H, T, T), dim=-1)
# without, at_the_end = torch.from_numpy(draw.permutation(T)), torch.from_numpy(draw.permutation(T))
# at_the_end[-1] = at_the_end[0]
# in_a_row = at_the_end.clone()
# in_a_row[-1] = in_a_row[-2]
# names = draw.choices(10, ["float32", "float64"])
# says("gives 0 where no token occurs twice", parts=["no token twice", "the last is the first",
#     "the last two are equal"])
# ### 1p AUTOTEST [prefix_matching(weights, tokens) for tokens in (without, at_the_end, in_a_row)]
# says("keeps the data type of the weights", parts=("{name} weights, {kind}", ["data type",
#     "values"]))
# ### 1p AUTOTEST matching_data_types
# says("leaves its arguments as they were, in any memory layout", parts=["weights", "tokens",
#     "result"])
# ### 1p AUTOTEST inputs_after(prefix_matching, weights.mT.contiguous().mT, at_the_end)

# %% [markdown]
# ## 2. What a head writes
#
# Compute the *OV circuit* of a head: a matrix whose entry `[s, t]` is what the logit of token `t` gains when the head looks at token `s` with all its weight.
#
# A small case with `V` $=$ 3, `D` $=$ 2, `d` $=$ 1: the embeddings are $(1, 0)$, $(0, 1)$, $(1, 1)$, the value matrix is $(2, 0)$, the output matrix $(0, 3)^\top$, the rows of the unembedding are $(0, 0)$, $(0, 1)$, $(5, 0)$. Token 0 has the value $2$, which the head writes as $(0, 6)$, and only token 1 gains from it: row 0 is $(0, 6, 0)$. Token 1 has the value $0$, so row 1 is zero, and row 2 is like row 0.
#
# The token's embedding goes through the head's value matrix, then through the output matrix, and the result is read by the unembedding. All of it is linear, so four matrices become one, with one row and one column for each token. Positions and the norm at the end are left out.


# %% nbgrader={"grade_id": "ov_circuit", "solution": true}
def ov_circuit(
    w_e: torch.Tensor, w_v: torch.Tensor, w_o: torch.Tensor, w_u: torch.Tensor
) -> torch.Tensor:
    """What every token, if a head looks at it, does to the logit of every token.

    Source: Elhage et al. (2021), the OV circuit of a head.

    Args:
        w_e: (V, D), the embeddings, a row for each token.
        w_v: (d, D), the head's value matrix.
        w_o: (D, d), the head's output matrix: its columns of the layer's.
        w_u: (V, D), the unembedding.

    Returns:
        (V, V): entry [s, t] is what looking at token s adds to the logit of token t.
    """
    ### BEGIN SOLUTION
    return w_e @ w_v.T @ w_o.T @ w_u.T
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "ov_circuit_values", "grade": true, "points": 5}
# V, D, d, n = draw.sizes(4, low=3)
# w_e, w_v, w_o, w_u = draw.tensor(V, D), draw.tensor(d, D), draw.tensor(D, d), draw.tensor(V, D)
# equal = [draw.tensor(n, n) for _ in range(4)]
# merged_v, merged_o = draw.tensor(3 * d, D), draw.tensor(D, 3 * d)
# equal("twice the output matrix doesn't give twice the circuit", ov_twice_the_output_matrix)
# says("is right for a head that is narrower or wider than the model")
# ### 2p AUTOTEST ov_circuit(w_e, w_v, w_o, w_u)
# says("is right where all sizes are equal")
# ### 1p AUTOTEST ov_circuit(*equal)
# says("takes the rows and columns of one head out of a layer's matrices", parts="head {head}")
# ### 1p AUTOTEST ov_heads_of_a_layer
# says("leaves its arguments as they were", parts=["w_e", "w_v", "w_o", "w_u", "result"])
# ### 1p AUTOTEST inputs_after(ov_circuit, -w_e, w_v, w_o, w_u)

# %% [markdown]
# ## 3. Does it copy?
#
# Compute a number from $-1$ to $1$ that says whether looking at a token raises the logit of that same token.
#
# A small case: the matrix with the rows $(0, 1)$ and $(-1, 2)$ has the eigenvalue 1 twice, so the measure is 1. With the rows $(3, 4)$ and $(-4, 3)$ the eigenvalues are $3 + 4i$ and $3 - 4i$, both of absolute value 5, and the measure is $6 / 10$.
#
# The diagonal of the OV circuit isn't enough, since what a token gains counts only compared with what the others gain. Elhage et al. (2021) look at the eigenvalues $\lambda_i$ instead. If $v$ is a left eigenvector, `v @ ov` $= \lambda v$, with a positive eigenvalue, then a mixture $v$ of tokens raises the logits of just this mixture. Their measure compares the eigenvalues with their absolute values:
#
# $$\text{copying} = \frac{\sum_i \lambda_i}{\sum_i |\lambda_i|}$$
#
# - The matrix isn't symmetric, so some eigenvalues are complex, and then $|\lambda| = \sqrt{\operatorname{Re}(\lambda)^2 + \operatorname{Im}(\lambda)^2}$. They come in pairs whose imaginary parts cancel in the sum above. So the result is real; return it as a `float`.
# - For a matrix of zeros it is 0; no check has any other matrix all of whose eigenvalues are 0.


# %% nbgrader={"grade_id": "copying", "solution": true}
def copying(ov: torch.Tensor) -> float:
    """Whether a head raises the logits of what it looks at (1) or lowers them (-1).

    Source: Elhage et al. (2021), the sum of the eigenvalues over that of their absolute values.

    Args:
        ov: (V, V), real.

    Returns:
        A real number from -1 to 1; 0 for a matrix of zeros.
    """
    ### BEGIN SOLUTION
    eigenvalues = torch.linalg.eigvals(ov)
    total = eigenvalues.abs().sum().item()
    return eigenvalues.real.sum().item() / total if total else 0.0
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "copying_values", "grade": true, "points": 5}
# V, W, d = draw.sizes(3, low=9, high=13)
# matrix, larger = draw.tensor(V, V), draw.tensor(W, W)
# left = draw.tensor(12, 2)
# narrow = left @ torch.tensor([[1, 4], [-4, 1]]).double() @ left.T
# towards, own = draw.tensor(V, V) + 2 * torch.eye(V), torch.diag(draw.tensor(V))
# symmetric = matrix + matrix.T
# equal("a positive factor changes the measure", copying_factor)
# equal("the negative matrix doesn't give the negative measure", copying_negative)
# says("is right for any matrix", parts=["a matrix", "another size", "small numbers"])
# ### 2p AUTOTEST [copying(matrix), copying(larger), copying(-1e-5 * matrix)]
# says("is right for heads that copy, and for heads that do the opposite", parts=["copies",
#     "does the opposite", "each token alone"])
# ### 1p AUTOTEST [copying(towards), copying(-towards), copying(own)]
# says("is right for a symmetric matrix, and for one that comes of a narrow head",
#     parts=["symmetric", "narrow"])
# ### 1p AUTOTEST [copying(symmetric), copying(narrow)]
# says("gives 0 for a matrix of zeros, and leaves its argument as it was", parts=(["zeros",
#     "matrix"], ["ov", "result"]))
# ### 1p AUTOTEST [inputs_after(copying, 0 * matrix), inputs_after(copying, 3 * larger)]

# %% [markdown]
# ## 4. The logit as a sum
#
# Compute the share of each part in the logit of one token per position, `targets[t]`.
#
# A small case, with one position, two parts and $D = 2$: the parts are $(3, 0)$ and $(0, 4)$, so the sum is $(3, 4)$. With `scale` $= 2$ and the target's row of `w_u` equal to $(2, 1)$ the shares are $3$ and $2$, and the logit is $(3 \cdot 2 + 4 \cdot 1) / 2 = 5$.
#
# At the end, the vector of a position is a sum: the embedding, and what each head of each layer has added. The norm divides this sum by one number, `scale[t]`, its root mean square at position `t`, and the unembedding makes logits of the result. Once `scale` is known, every part has its share in every logit, and the shares add up to the logit.
#
# - The norm is that of the whole sum, as the model computed it: it is given, and is the same for all parts.
# - `targets[t]` is the token that comes *after* position `t`. It has been shifted already, so nothing has to be moved here.
# - `w_u` holds all that is linear after the norm.


# %% nbgrader={"grade_id": "logit_attribution", "solution": true}
def logit_attribution(
    parts: torch.Tensor, scale: torch.Tensor, w_u: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """The share of each part of a sum in one logit per position.

    Args:
        parts: (n, T, D); their sum over n is what stands at each position before the norm.
        scale: (T,), what the norm divides this sum by.
        w_u: (V, D), the unembedding.
        targets: (T,), integers, the token whose logit is asked for at each position.

    Returns:
        (n, T), in the data type of parts; the sum over n is the logit of targets[t] at position t.
    """
    ### BEGIN SOLUTION
    directions = w_u[targets]  # (T, D)
    return (parts * directions).sum(dim=-1) / scale
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "logit_attribution_values", "grade": true, "points": 6}
# n, T, D, V = draw.sizes(4, low=3)
# parts, scale, w_u = draw.tensor(n, T, D), 0.5 + draw.tensor(T).abs(), draw.tensor(V, D)
# targets = torch.from_numpy(draw.permutation(V + T)[:T] % V)
# others = torch.from_numpy(draw.integers(V, low=0, high=V - 1))
# others[:3] = torch.from_numpy(draw.permutation(V)[:3])
# equal_parts = draw.tensor(V, V, V)
# equal_scale = 0.5 + draw.tensor(V).abs()
# equal_w_u = draw.tensor(V, V)
# tokens = torch.from_numpy(draw.integers(1, T, low=0, high=V - 1))
# names = draw.choices(8, ["float32", "float64"])
# equal("the shares don't add up to the logit of the sum", attribution_sum)
# equal("what a position gives depends on other positions", attribution_position_alone)
# says("every share is right")
# ### 2p AUTOTEST logit_attribution(parts, scale, w_u, targets)
# says("is right where all sizes are equal")
# ### 1p AUTOTEST logit_attribution(equal_parts, equal_scale, equal_w_u, others)
# says("the shares of the heads of a model add up to its logits", parts=["sum of the shares",
#     "shares"])
# ### 1p AUTOTEST attribution_of_a_model
# says("keeps the data type of the parts", parts=("{name} parts", ["data type", "values"]))
# ### 1p AUTOTEST attribution_data_types
# says("leaves its arguments as they were, in any memory layout", parts=["parts", "scale", "w_u",
#     "targets", "result"])
# ### 1p AUTOTEST attribution_leaves_arguments

# %% [markdown]
# ## 5. Patching
#
# Run the model on a corrupted text, with one head at one position adding what it adds in the clean text.
#
# A small case: with `clean` equal to `corrupted`, the result is what the model gives without any patch.
#
# Two texts differ in something, and so do the model's answers. Which head carries the difference? *Activation patching* asks one head at a time:
#
# - The model reads `corrupted`, at all positions and in all heads as usual, with one exception: at `position`, head `head` of layer `layer` adds what the same head adds at the same position when the model reads `clean`. Each text of the batch takes it from the text in its own row of `clean`.
# - Everything that comes later is computed anew: heads of later layers, and later positions, see the change.
# - Afterwards the model is as it was.
#
# `run` is a model as described at the top. You need nothing of it but `run(tokens, replace=...)` and `run.trace(tokens)`.


# %% nbgrader={"grade_id": "patch", "solution": true}
def patch(
    run: AttentionOnly,
    clean: torch.Tensor,
    corrupted: torch.Tensor,
    layer: int,
    head: int,
    position: int,
) -> torch.Tensor:
    """Logits of the corrupted texts when one head, at one position, adds what it adds in the clean ones.

    Args:
        run: an AttentionOnly; it is left as it is.
        clean: (B, T), tokens.
        corrupted: (B, T), tokens.
        layer: the layer's number, from 0.
        head: the head's number in its layer, from 0.
        position: the position, from 0.

    Returns:
        (B, T, V).
    """
    ### BEGIN SOLUTION
    source = run.trace(clean).added[layer, :, head, position]  # (B, D)

    def patched(added: torch.Tensor) -> torch.Tensor:
        added[:, position] = source
        return added

    return run(corrupted, replace={(layer, head): patched})
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "patch_values", "grade": true, "points": 5}
# (H, L), (B, T, V) = draw.sizes(2, low=2, high=3), draw.sizes(3, low=4, high=7)
# clean, corrupted = [torch.from_numpy(draw.integers(B, T, low=0, high=V - 1)) for _ in range(2)]
# corrupted[:, :-1] = (
#     clean[:, :-1] + 1 + torch.from_numpy(draw.integers(B, T - 1, low=0, high=V - 3))
# ) % V
# position = draw.integer(1, T - 2)
# equal_clean, equal_corrupted = [
#     torch.from_numpy(draw.integers(T, T, low=0, high=T - 1)) for _ in range(2)
# ]
# says("is right for a head of the first layer")
# ### 2p AUTOTEST patch(fill(AttentionOnly(V, 4 * H, H, L)), clean, corrupted, 0, 1, position)
# says("is right for a head of the second layer, at the first and at the last position",
#     parts="position {where}")
# ### 1p AUTOTEST patch_second_layer
# says("is right for every head, for a batch of one text", parts="layer {layer}, head {head}")
# ### 1p AUTOTEST patch_every_head
# says("is right where all sizes are equal")
# ### 1p AUTOTEST patch_equal_sizes

# %% active="ipynb" nbgrader={"grade_id": "patch_state", "grade": true, "points": 3}
# (H, L), (B, T, V) = draw.sizes(2, low=2, high=3), draw.sizes(3, low=4, high=7)
# clean, corrupted = [torch.from_numpy(draw.integers(B, T, low=0, high=V - 1)) for _ in range(2)]
# corrupted[:, :-1] = (
#     clean[:, :-1] + 1 + torch.from_numpy(draw.integers(B, T - 1, low=0, high=V - 3))
# ) % V
# position = draw.integer(1, T - 2)
# says("leaves the model as it was", parts=["the patched model", "the model by itself, afterwards",
#     "training", "requires_grad", "attributes"])
# ### 1p AUTOTEST patch_leaves_model
# says("one model, patched three times: no call has an influence on the next", parts=["first call",
#     "the other way round", "shorter texts"])
# ### 1p AUTOTEST patch_three_times
# says("leaves the texts as they were", parts=["clean", "corrupted", "result"])
# ### 1p AUTOTEST patch_leaves_texts

# %% [markdown]
# ## 6. How much did it restore?
#
# Put a patched run on a scale on which the corrupted run is 0 and the clean run is 1.
#
# A small case with one text: if right minus wrong is 4 in the clean run, $-2$ in the corrupted and 1 in the patched one, the result is $3/6$.
#
# For each text two answers are chosen, the one that is right in the clean text and a wrong one. Of each run only the difference between their two logits is kept, and first the mean over the texts is taken, for each of the three runs:
#
# $$\text{difference} = \text{mean over the texts of}\; \bigl(\text{logit of the right answer} - \text{logit of the wrong answer}\bigr)$$
#
# $$\text{restored} = \frac{\text{difference of patched} - \text{difference of corrupted}}{\text{difference of clean} - \text{difference of corrupted}}$$
#
# - Nothing is cut off: the result may be negative, or larger than 1. Return a `float`, not rounded.
# - If the clean and the corrupted run have exactly the same difference, there is no such scale. Raise a `ValueError` then, and only then: a difference that is small makes a scale, and no check has one that rounding by itself could make.


# %% nbgrader={"grade_id": "restored", "solution": true}
def restored(
    clean: torch.Tensor,
    corrupted: torch.Tensor,
    patched: torch.Tensor,
    right: torch.Tensor,
    wrong: torch.Tensor,
) -> float:
    """How far a patched run has come from the corrupted run (0) to the clean run (1).

    Source: Wang et al. (2022), the logit difference, normalised.

    Args:
        clean: (B, V), the logits of the clean run where the answer is asked for.
        corrupted: (B, V), those of the corrupted run.
        patched: (B, V), those of the patched run.
        right: (B,), integers, for each text the right answer.
        wrong: (B,), integers, for each text the wrong answer.

    Returns:
        A number, 0 if nothing was restored and 1 if all was.

    Raises:
        ValueError: the clean and the corrupted run have the same mean difference.
    """
    ### BEGIN SOLUTION
    texts = torch.arange(len(right))

    def difference(logits: torch.Tensor) -> float:
        return (logits[texts, right] - logits[texts, wrong]).mean().item()

    low, high = difference(corrupted), difference(clean)
    if low == high:
        raise ValueError("the clean and the corrupted run differ in nothing that could be restored")
    return (difference(patched) - low) / (high - low)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "restored_values", "grade": true, "points": 6}
# (
#     clean, corrupted, right, wrong, patched, equal, equal_right, equal_wrong, beyond,
#     below, close, kinds, others,
# ) = draw_restored_values(draw)
# says("is right for a batch of texts")
# ### 2p AUTOTEST restored(clean, corrupted, patched, right, wrong)
# says("is right where there are as many texts as tokens, and for one text",
#     parts=["as many texts as tokens", "one text", "clean close to corrupted"])
# ### 1p AUTOTEST restored_sizes
# says("cuts nothing off below 0 or above 1", parts=["above 1", "below 0"])
# ### 1p AUTOTEST restored_beyond
# says("raises a ValueError where clean and corrupted don't differ, and only there",
#     parts="corrupted is {kind}")
# ### 1p AUTOTEST [raised(restored, clean, others[kind], patched, right, wrong) for kind in kinds]
# says("leaves its arguments as they were", parts=["clean", "corrupted", "patched", "right",
#     "wrong", "result"])
# ### 1p AUTOTEST inputs_after(restored, clean, corrupted, -patched, right, wrong)

# %% [markdown]
# ## 7. Taking a head out
#
# Run the model with one head adding what it adds *on average* over reference texts.
#
# A small case: with one reference text that equals the text that is read, the result is what the model gives as it is.
#
# How well does a model do without one of its heads? A head that adds nothing at all leaves the later layers with vectors that they have never seen. If it adds its mean, it says nothing about the text that is read.
#
# - At each position `t`, and in each of the texts `tokens`, the head adds the mean of what it adds at position `t` in the texts `reference`.
# - So the mean is taken only over the reference texts: there is one for each position, of width `D`. It doesn't depend on `tokens`.
# - `reference` has as many positions as `tokens`, but may have a different number of texts, `R`. While the mean is taken, the model is as it is.
# - Heads of later layers see the change, and afterwards the model is as it was.


# %% nbgrader={"grade_id": "mean_ablated", "solution": true}
def mean_ablated(
    run: AttentionOnly, tokens: torch.Tensor, layer: int, head: int, reference: torch.Tensor
) -> torch.Tensor:
    """Logits when a head adds, at each position, what it adds there on average in reference texts.

    Args:
        run: an AttentionOnly; it is left as it is.
        tokens: (B, T), the texts that are read.
        layer: the layer's number, from 0.
        head: the head's number in its layer, from 0.
        reference: (R, T), the texts over which the mean is taken.

    Returns:
        (B, T, V), for the texts tokens.
    """
    ### BEGIN SOLUTION
    mean = run.trace(reference).added[layer, :, head].mean(dim=0)  # (T, D)
    return run(tokens, replace={(layer, head): lambda added: mean.expand_as(added)})
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "mean_ablated_values", "grade": true, "points": 5}
# (H, L), (B, T, V, R) = draw.sizes(2, low=2, high=3), draw.sizes(4, low=3, high=6)
# tokens = torch.from_numpy(draw.integers(B, T, low=0, high=V - 1))
# reference = torch.from_numpy(draw.integers(R, T, low=0, high=V - 1))
# reference[0, 0], reference[1, 0], reference[2, 0] = 0, 1, 2
# tokens[0], tokens[1] = (reference[1] + 1) % V, (reference[0] + 2) % V
# n = draw.integer(4, 6)
# equal_tokens, equal_reference = [
#     torch.from_numpy(np.stack([draw.permutation(n) for _ in range(n)])) for _ in range(2)
# ]
# equal("what a text gives depends on the other texts", ablated_text_alone)
# unequal("the reference texts have no influence", ablated_other_references)
# says("is right for a head of the first layer")
# ### 2p AUTOTEST mean_ablated(fill(AttentionOnly(V, 4 * H, H, L)), tokens, 0, 1, reference)
# says("is right for a head of the second layer")
# ### 1p AUTOTEST ablated_second_layer
# says("is right for every head, for a single text, and for a single reference",
#     parts="layer {layer}, head {head}")
# ### 1p AUTOTEST ablated_every_head
# says("is right where all sizes are equal")
# ### 1p AUTOTEST ablated_equal_sizes

# %% active="ipynb" nbgrader={"grade_id": "mean_ablated_state", "grade": true, "points": 2}
# (H, L), (B, T, V, R) = draw.sizes(2, low=2, high=3), draw.sizes(4, low=3, high=6)
# tokens = torch.from_numpy(draw.integers(B, T, low=0, high=V - 1))
# reference = torch.from_numpy(draw.integers(R, T, low=0, high=V - 1))
# reference[0, 0], reference[1, 0], reference[2, 0] = 0, 1, 2
# says("one model, used four times and then alone: nothing is left behind", parts=["first call",
#     "another head", "other references", "shorter texts", "the model by itself", "training",
#     "requires_grad", "attributes"])
# ### 1p AUTOTEST ablated_leaves_model
# says("leaves the texts as they were", parts=["tokens", "reference", "result"])
# ### 1p AUTOTEST ablated_leaves_texts

# %% [markdown]
# ## 8. Do two heads work together?
#
# Compute the *composition score* of two matrices: how much of what the first one writes the second one reads.
#
# A small case: with $W_A = \begin{pmatrix} 1 & 0 \\ 0 & 0 \end{pmatrix}$ and $W_B = \begin{pmatrix} 1 & 1 \\ 0 & 0 \end{pmatrix}$ the product $W_B W_A$ has the single entry 1, the norms are 1 and $\sqrt 2$, and the score is $1 / \sqrt 2$. The other way round, $W_A W_B$ would have two entries of 1, and the score would be 1.
#
# An induction head needs the help of a head in an earlier layer. Let `w_a` be what the earlier head does to a vector, and `w_b` what the later one does to it then. If the directions that `w_a` writes are those that `w_b` reads, their product is large. The score is
#
# $$\frac{\lVert W_B W_A \rVert}{\lVert W_A \rVert \, \lVert W_B \rVert}, \qquad \lVert W \rVert = \sqrt{\textstyle\sum_{ij} W_{ij}^2} \;\text{ (the Frobenius norm)},$$
#
# a number from 0 to 1. The matrices need not be square. If one of them is all zeros, the score is 0.


# %% nbgrader={"grade_id": "composition", "solution": true}
def composition(w_a: torch.Tensor, w_b: torch.Tensor) -> float:
    """How much of what one matrix writes another one reads.

    Source: Elhage et al. (2021), the composition of heads, as a ratio of Frobenius norms.

    Args:
        w_a: (m, n), what acts first.
        w_b: (k, m), what acts on its result.

    Returns:
        A number from 0 to 1; 0 if one of the matrices is zero.
    """
    ### BEGIN SOLUTION
    together, product = w_b @ w_a, w_a.norm() * w_b.norm()
    return (together.norm() / product).item() if product else 0.0
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "composition_values", "grade": true, "points": 5}
# n, m, k = draw.sizes(3, low=3)
# w_a, w_b = draw.tensor(m, n), draw.tensor(k, m)
# square_a, square_b = draw.tensor(n, n), draw.tensor(n, n)
# narrow_a, narrow_b = draw.tensor(9, 2) @ draw.tensor(2, 9), draw.tensor(9, 3) @ draw.tensor(3, 9)
# equal("a factor of a matrix changes the score", composition_factor)
# says("is right for any two matrices that fit")
# ### 2p AUTOTEST composition(w_a, w_b)
# says("is right for square matrices, in this order", parts=["first a, then b", "first b, then a",
#     "narrow heads"])
# ### 1p AUTOTEST composition_order
# says("gives 0 where a matrix is zero", parts=["neither is zero", "the first is", "the second is",
#     "both are small"])
# ### 1p AUTOTEST composition_zero
# says("leaves its arguments as they were", parts=["w_a", "w_b", "result"])
# ### 1p AUTOTEST inputs_after(composition, w_a + 1, w_b)

# %% [markdown] nbgrader={"grade_id": "what_a_map_shows", "grade": true, "solution": true, "points": 3}
# **Written answer.** A report shows the attention map of one head: from nearly every repeated token, nearly all weight lies on the token after its earlier occurrence.
# The report concludes that the model completes repeated texts *because of this head*. Name two other explanations of the same picture, or of the model's success, and for each say which experiment
# with the functions above would tell it from the report's. Why is one good score on one kind of text not enough? Four to seven sentences.
#
# ### BEGIN SOLUTION
# A head may look there without writing anything that matters: what it adds may have no effect on the right token's logit, which `logit_attribution` and the OV circuit with `copying` show. Or the head matters no
# more than others: there may be a second head that does the same, so that the model does as well when this one is `mean_ablated`, or the model may solve the task by another way, for example by position, if
# the repeat always comes at the same distance. Patching tells which head at which position carries the difference between a clean and a corrupted text, and `restored` how much of it. The score by itself measures where the
# head looks on these texts: a head that looks a fixed number of positions back gets the same score where the repeat stands at a fixed distance, and loses it on texts where the distance varies.
#
# Rubric: 1 point for an explanation in which the head looks but what it writes does not matter, with a fitting experiment (attribution, OV circuit, ablation); 1 point for a second one (a redundant head, a shortcut by position) with
# a fitting experiment (ablation or patching, texts with other distances); 1 point for why one score on one kind of text is not enough.
# ### END SOLUTION

# %% [markdown]
# ## Now use it
#
# No points here, and grading leaves the next cell out. It trains a model of two layers on texts in which a segment comes twice, and points your instruments at it: which head looks at the token
# after an earlier occurrence, does it copy, with which head of the first layer does it work together, and what is the model without it? Then it draws that head's map.
# Take the `#` off the last line and run it: it takes less than half a minute on one core.

# %% active="ipynb" nbgrader={"grade_id": "now_use_it", "locked": true}
# import time
#
# from torch.nn import functional as F
#
#
# def texts(batch, n_tokens=48, length=40, size=13):
#     """Random tokens, among which one segment comes twice; and where the next token can be known."""
#     tokens = torch.randint(n_tokens, (batch, length))
#     starts = torch.randint(length - 2 * size + 1, (batch, 2)).sort(dim=1).values
#     places = torch.arange(size)
#     tokens.scatter_(1, starts[:, 1:] + size + places, tokens.gather(1, starts[:, :1] + places))
#     known = torch.zeros(batch, length, dtype=torch.bool)
#     return tokens, known.scatter(1, starts[:, 1:] + size + places[:-1], True)
#
#
# def share_right(logits, tokens, known):
#     return (logits[:, :-1].argmax(-1) == tokens[:, 1:])[known[:, :-1]].double().mean().item()
#
#
# def now_use_it(seconds=20):
#     if still_missing("prefix_matching", "ov_circuit", "copying", "mean_ablated", "composition"):
#         return
#     torch.manual_seed(0)
#     run = AttentionOnly(48, 64, 4, 2)
#     optimiser = torch.optim.Adam(run.parameters(), lr=0.004)
#     begun = time.process_time()
#     while time.process_time() - begun < seconds:
#         tokens, known = texts(48)
#         asked = known[:, :-1]
#         loss = F.cross_entropy(run(tokens)[:, :-1][asked], tokens[:, 1:][asked])
#         optimiser.zero_grad()
#         loss.backward()
#         optimiser.step()
#     with torch.no_grad():
#         tokens, known = texts(64)
#         trace = run.trace(tokens)
#         print(f"{share_right(trace.logits, tokens, known):.0%} of the tokens that can be known are right.\n")
#         scores = [[prefix_matching(w, text) for w, text in zip(layer, tokens)] for layer in trace.weights]
#         scores = torch.stack([torch.stack(layer).mean(dim=0) for layer in scores])
#         print("layer  head  prefix matching  copying  right without it")
#         for layer in (0, 1):
#             w_v, w_o = (getattr(run.layers[layer], name).weight for name in ("w_v", "w_o"))
#             for head in range(4):
#                 part = slice(16 * head, 16 * head + 16)
#                 copies = copying(ov_circuit(run.embed.weight, w_v[part], w_o[:, part], run.unembed.weight))
#                 without = share_right(mean_ablated(run, tokens, layer, head, texts(64)[0]), tokens, known)
#                 print(f"{layer:5} {head:5} {scores[layer, head]:16.2f} {copies:8.2f} {without:17.0%}")
#         best = scores[1].argmax().item()
#         w_k = run.layers[1].w_k.weight[16 * best : 16 * best + 16]
#         w_v, w_o = run.layers[0].w_v.weight, run.layers[0].w_o.weight
#         parts = [slice(16 * head, 16 * head + 16) for head in range(4)]
#         helped = [composition(w_o[:, part] @ w_v[part], w_k) for part in parts]
#         print(f"\nWhat the heads of layer 0 write, head {best} of layer 1 reads: {', '.join(f'{score:.2f}' for score in helped)}")
#     try:
#         import matplotlib.pyplot as plt
#     except ImportError:
#         print("There is no matplotlib here, so there is no map.")
#         return
#     plt.imshow(trace.weights[1, 0, best], cmap="Blues")
#     plt.title(f"Layer 1, head {best}, one text")
#     plt.xlabel("it looks at position")
#     plt.ylabel("the position")
#     plt.show()
#
#
# # now_use_it()
