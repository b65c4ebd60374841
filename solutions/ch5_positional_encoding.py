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
# # Exercise 5: Positional encoding
#
# Attention does not know the order of its inputs. Here you build three ways to tell it: the table of sines and cosines of
# the first Transformer, with the matrix that moves it along and the module that adds it, then rotations (RoPE) and a penalty
# on distance (ALiBi). Chapter 5 has the ideas, worked out for one clock hand or one head.
#
# **The core** is tasks 1 and 3, which the Transformer of exercise 6 uses, and task 4, which exercise 10 uses: about 90 minutes, by our estimate.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks they are equal.
# When you are graded, the same checks run on other inputs. Keep the names and the arguments as they are;
# helper functions of your own are welcome, and a later task may use what you wrote for an earlier one. No function changes its arguments.
#
# Where a check fails, call `hint()` in a cell of your own: each call helps a little more. `failing_case()` gives inputs on which your answer is wrong, small ones where there are any.
# Where it passes, `discuss()` shows other ways to write it. `progress()` shows your points and what is open.
#
# The letters are the same everywhere in this notebook:
#
# | letter | size |
# |---|---|
# | `B` | examples in a batch |
# | `T` | positions of a sequence |
# | `L` | positions that a table has room for |
# | `D` | `d_model`, the width of the vectors of a model |
# | `H`, `d` | heads, and the width of one head |
# | `...` | any number of leading axes (batch, heads), also none |
#
# Positions are counted from 0. Some checks add 100 to your result. It makes them compare to four digits after the
# point, so that angles in float32 are as good as angles in float64. Where nothing is added, six digits have to be correct
# for vectors in float64: compute in the data type of what you get.
# A table, a matrix or a bias, which you make of plain numbers, may be float32 or float64.

# %% nbgrader={"grade_id": "imports", "locked": true}
import torch
from torch import nn

# %% [markdown]
# ## 1. The table of sines and cosines
#
# Write the table that has a row for each position $p$. Its entries come in pairs, a sine and a cosine of the same angle, and pair $i$ turns more slowly than pair $i - 1$:
#
# $$\text{pe}[p, 2i] = \sin\frac{p}{\text{base}^{\,2i/D}}, \qquad \text{pe}[p, 2i+1] = \cos\frac{p}{\text{base}^{\,2i/D}},
# \qquad i = 0, 1, \dots, D/2 - 1$$
#
# A small case: `sinusoidal(3, 4, base=100.0)` is, to four digits,
#
# ```
# [[0.0000, 1.0000, 0.0000, 1.0000],      sin 0, cos 0, sin 0,   cos 0
#  [0.8415, 0.5403, 0.0998, 0.9950],      sin 1, cos 1, sin 0.1, cos 0.1
#  [0.9093, -0.4161, 0.1987, 0.9801]]     sin 2, cos 2, sin 0.2, cos 0.2
# ```
#
# An odd `d_model` leaves a sine without its cosine. Raise a `ValueError` then.


# %% nbgrader={"grade_id": "sinusoidal", "solution": true}
def sinusoidal(n_positions: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    """Sine and cosine of every position at d_model / 2 frequencies, interleaved.

    Source: Vaswani et al. (2017), section 3.5.

    Args:
        n_positions: number of rows L, for the positions 0 .. L - 1.
        d_model: width D, even.
        base: pair i turns by base ** (-2 i / D) from one position to the next.

    Returns:
        (L, D): sines in the even columns, cosines in the odd ones.

    Raises:
        ValueError: d_model is odd.
    """
    ### BEGIN SOLUTION
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd: sines and cosines come in pairs")
    # float64: in float32 the angles of late positions are off in the fourth digit
    i = torch.arange(d_model // 2, dtype=torch.float64)
    positions = torch.arange(n_positions, dtype=torch.float64)
    angles = positions[:, None] * base ** (-2 * i / d_model)  # (L, D / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "sinusoidal_values", "grade": true, "points": 5}
# n, half = draw.integer(21, 40), draw.integer(3, 8)
# base = float(draw.integer(50, 20000))
# sizes = [2 * draw.integer(1, 9) for _ in range(4)]
# says("every entry is right, whatever the base is")
# ### 2p AUTOTEST 100 + sinusoidal(n, 2 * half, base)
# says("every entry is right for the usual base")
# ### 2p AUTOTEST 100 + sinusoidal(n, 2 * half)
# says("is right with as many positions as columns, with one position, and with two columns",
#     parts="sinusoidal({rows}, {width})")
# ### 1p AUTOTEST sinusoidal_sizes

# %% active="ipynb" nbgrader={"grade_id": "sinusoidal_odd", "grade": true, "points": 2}
# sizes = [draw.integer(1, 30) for _ in range(14)]
# says("raises a ValueError for an odd width, and for no other", parts="d_model={size}")
# ### 2p AUTOTEST [raised(sinusoidal, 5, size) for size in sizes]

# %% [markdown]
# ## 2. A step along the table is a rotation
#
# Build the matrix that takes each row of the table $\delta$ positions further, whatever the position:
#
# $$M(\delta)\; \text{pe}[p] = \text{pe}[p + \delta] \qquad \text{for all } p$$
#
# A small case, for one pair and $\delta = 2$, at $p = 1$: the matrix takes $(\sin 1, \cos 1)$ to $(\sin 3, \cos 3)$.
#
# Each row is a column vector here, as in `M @ pe[p]`. The matrix mixes each sine only with the cosine of the same pair, and the
# addition theorems say how. Negative steps go back.


# %% nbgrader={"grade_id": "shift_matrix", "solution": true}
def shift_matrix(delta: int, d_model: int, base: float = 10000.0) -> torch.Tensor:
    """The matrix M with M @ sinusoidal(...)[p] = sinusoidal(...)[p + delta] for every p.

    Source: the claim of Vaswani et al. (2017), section 3.5, written out.

    Args:
        delta: how many positions to move, of any sign.
        d_model: width D, even.
        base: as in sinusoidal.

    Returns:
        (D, D), block-diagonal, orthogonal.
    """
    ### BEGIN SOLUTION
    i = torch.arange(d_model // 2, dtype=torch.float64)
    angles = delta * base ** (-2 * i / d_model)
    cos, sin = angles.cos(), angles.sin()
    rows = torch.stack([cos, sin], dim=-1), torch.stack([-sin, cos], dim=-1)
    return torch.block_diag(*torch.stack(rows, dim=1))
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "shift_matrix_values", "grade": true, "points": 5}
# half, delta = draw.integer(3, 6), draw.integer(3, 30)
# base = float(draw.integer(50, 20000))
# deltas = [draw.integer(-20, 20) for _ in range(4)] + [0]
# equal("a shift and the same shift back don't give the start", shift_there_and_back)
# equal("two shifts, one after the other, aren't their sum", shift_twice)
# says("moves every row some positions ahead")
# ### 2p AUTOTEST 100 + shift_matrix(delta, 2 * half, base)
# says("moves back for negative steps, also a single pair", parts="d_model={width}")
# ### 1p AUTOTEST [100 + shift_matrix(-delta, width, base) for width in (2 * half, 2)]
# says("is right for the usual base", parts="delta={delta}")
# ### 2p AUTOTEST [100 + shift_matrix(delta, 2 * half) for delta in deltas]

# %% [markdown]
# ## 3. Adding it to the vectors
#
# Write the module that adds positions to the vectors of a batch: row `offset + t` of the table to the vector at position `t`, in every example. Then it
# applies dropout to the sum. A small case: without dropout, and with `x` all zeros, the result is the rows from `offset` on.
#
# - The table for `max_len` positions is made once, by `sinusoidal`. It is a *buffer* named `encoding`, of shape `(max_len, D)`, persistent or not: it moves with the
#   module but is never trained. The module has no parameter.
# - `offset` is the position of the first vector. A decoder that writes one word at a time needs it: each call brings a sequence of length 1.
# - Dropout acts on the sum, nowhere else, and in training mode only. The result has the data type of `x`, and `x` stays as it was. Gradients flow to `x`.
# - One module is called many times, with sequences of different lengths and offsets, and no call has an influence on the next.
#
# The checks put a table of their own into your buffer, so that they judge this task and not the first one again.


# %% nbgrader={"grade_id": "PositionalEncoding", "solution": true}
class PositionalEncoding(nn.Module):
    """Adds the sinusoidal encoding to a batch of sequences, then applies dropout.

    Source: Vaswani et al. (2017), sections 3.5 and 5.4.

    Args:
        d_model: width of the vectors, even.
        dropout: the probability of dropping an entry of the sum.
        max_len: number of positions in the table.
    """

    def __init__(self, d_model: int, dropout: float = 0.0, max_len: int = 5000) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        encoding = sinusoidal(max_len, d_model).to(torch.get_default_dtype())
        self.register_buffer("encoding", encoding)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor, offset: int = 0) -> torch.Tensor:
        """Add the rows offset .. offset + T - 1 of the table.

        Args:
            x: (B, T, D), with offset + T at most max_len.
            offset: position of x[:, 0].

        Returns:
            (B, T, D), in the data type of x.
        """
        ### BEGIN SOLUTION
        rows = self.encoding[offset : offset + x.shape[1]]
        return self.dropout(x + rows.to(x.dtype))
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "encoding_values", "grade": true, "points": 6}
# B, T, half, offset, more = draw.sizes(5, low=3, high=9)
# x, table = draw.tensor(B, T, 2 * half), draw.tensor(offset + T + more, 2 * half)
# equal, other = draw.tensor(T, T, 2 * half), draw.tensor(T - 1, B + 1, 2 * half)
# rate = draw.integer(20, 60) / 100
# says("adds row t of the table to position t of every example")
# ### 1p AUTOTEST encoding_adds
# says("begins at the row of the offset", parts=["all of x", "one example", "one position",
#     "one position of one example"])
# ### 2p AUTOTEST encoding_offset
# says("drops nothing in evaluation mode, and has 5000 positions if it is told nothing else",
#     parts=["a table of other length", "at the last positions of 5000"])
# ### 1p AUTOTEST encoding_drops_nothing
# says("is right where B and T are equal, and leaves x as it was", parts=["x", "result"])
# ### 1p AUTOTEST encoding_leaves_x
# says("one module, called several times: no call has an influence on the next",
#     parts=["first call", "second call", "third call", "the last rows of the table",
#     "after a call in half precision"])
# ### 1p AUTOTEST encoding_many_calls

# %% active="ipynb" nbgrader={"grade_id": "encoding_module", "grade": true, "points": 5}
# B, T, half = draw.sizes(3, low=4, high=9)
# sizes, rate = draw.sizes(3, low=10, high=50), draw.integer(20, 60) / 100
# x = 10 + draw.tensor(B, T, 2 * half)
# names = draw.choices(10, ["float32", "float64", "float16", "bfloat16"])
# wide = 10 + draw.tensor(2, 2, 64)
# says("has a buffer called encoding, with your table, and no parameter", parts=("max_len={size}",
#     ["parameters", "buffer", "table"]))
# ### 1p AUTOTEST encoding_buffer
# says("in training mode, each entry of the sum is 0 or divided by 1 - dropout",
#     parts=["what becomes of a number", "both examples alike", "both positions alike"])
# ### 2p AUTOTEST encoding_dropout
# says("passes gradients to x, and adds something to it", parts=["gradient of x",
#     "something is added"])
# ### 1p AUTOTEST encoding_gradients
# says("keeps the data type of x", parts=("{name} x", ["data type", "values"]))
# ### 1p AUTOTEST encoding_data_types

# %% [markdown]
# ## 4. Rotary positions
#
# Turn each vector by an angle that depends on its position. RoPE does so with queries and keys, before their dot product: the vector at position $p$ is cut into $d/2$ pairs of *adjacent* entries, and pair $i$ is
# turned by the angle $\varphi_i = p \cdot \theta^{-2i/d}$,
#
# $$\begin{pmatrix} y_{2i} \\ y_{2i+1} \end{pmatrix} =
# \begin{pmatrix} \cos\varphi_i & -\sin\varphi_i \\ \sin\varphi_i & \cos\varphi_i \end{pmatrix}
# \begin{pmatrix} x_{2i} \\ x_{2i+1} \end{pmatrix}.$$
#
# A small case: at position 1 the pair $(1, 0)$ with $i = 0$ becomes $(\cos 1, \sin 1)$.
#
# - A pair is two neighbours. Some libraries pair entry $i$ with entry $i + d/2$ instead.
# - `positions` has one integer for each vector: either `(T,)`, the same for all leading axes, or `(..., T)` with the leading axes of `x`, where each sequence has
#   different positions. They are never negative, need not start at 0 or be in order, and can be as large as you like.
# - The result has the shape and data type of `x`. `x`, in any layout in memory, stays as it was, and gradients flow to it.
# - Compute the angles in float32 or float64, whatever the type of `x`: in bfloat16, position 257 would become 256.


# %% nbgrader={"grade_id": "rope", "solution": true}
def rope(x: torch.Tensor, positions: torch.Tensor, theta: float = 10000.0) -> torch.Tensor:
    """Turn each adjacent pair of entries by an angle proportional to the position.

    Source: Su et al. (2021), equations 14 and 15.

    Args:
        x: (..., T, d), d even.
        positions: (T,) or (..., T), integers, 0 or larger.
        theta: pair i turns by theta ** (-2 i / d) from one position to the next.

    Returns:
        (..., T, d), in the data type of x.
    """
    ### BEGIN SOLUTION
    d = x.shape[-1]
    i = torch.arange(d // 2, dtype=torch.float64, device=x.device)
    angles = positions[..., None] * theta ** (-2 * i / d)  # (..., T, d / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1).flatten(-2)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "rope_values", "grade": true, "points": 6}
# B, H, T, half = draw.sizes(4, low=3, high=7)
# x, theta = draw.tensor(B, H, T, 2 * half), float(draw.integer(50, 20000))
# in_order, positions = torch.arange(T), torch.from_numpy(draw.integers(T, low=5, high=40))
# own = torch.from_numpy(draw.integers(B, H, T, low=0, high=40))
# first, own_first = x[:, :, :1].contiguous(), own[:, :, :1].contiguous()
# equal = draw.tensor(T, T, T, 2 * half)
# equal_own = torch.from_numpy(draw.integers(T, T, T, low=0, high=40))
# equal("at position 0 something is turned", rope_at_position_0)
# equal("the length of a vector changes", rope_length)
# equal("products of turned vectors depend on more than the distance of their positions",
#     rope_distance)
# equal("what a vector becomes depends on others", rope_without_first_position)
# says("turns the pairs of a single sequence")
# ### 1p AUTOTEST 100 + rope(x[0, 0], in_order)
# says("takes positions in any order, the same for all heads", parts=["first call",
#     "the same tensors with other numbers in them"])
# ### 1p AUTOTEST rope_any_order
# says("uses theta, also at large positions", parts=["positions up to 40", "positions around 6000"])
# ### 1p AUTOTEST rope_theta
# says("takes positions of its own for each sequence, and a single position",
#     parts=["one leading axis", "two leading axes", "one position, one pair",
#     "one position, the same for all", "one position of its own for each", "one example"])
# ### 1p AUTOTEST rope_own_positions
# says("is right with as many examples and heads as positions", parts=["the same positions for all",
#     "positions of its own for each"])
# ### 1p AUTOTEST [100 + rope(equal, positions), 100 + rope(equal, equal_own)]
# says("takes tensors in any memory layout, such as transposed ones")
# ### 1p AUTOTEST 100 + rope(x.mT.contiguous().mT.transpose(0, 1), positions)

# %% active="ipynb" nbgrader={"grade_id": "rope_edges", "grade": true, "points": 3}
# H, T, half = draw.sizes(3, low=3, high=7)
# x, positions = draw.tensor(H, T, 2 * half), torch.from_numpy(draw.integers(T, low=5, high=40))
# late = 5001 + 2 * torch.from_numpy(draw.integers(T, low=0, high=90))
# usual = draw.choices(5, ["float32", "float64"])
# half_precision = draw.choices(5, ["float16", "bfloat16"])
# says("leaves its arguments as they were", parts=["x", "positions", "result"])
# ### 1p AUTOTEST [100 + part for part in inputs_after(rope, x, positions)]
# says("passes gradients to x", parts=["x"])
# ### 1p AUTOTEST [100 + gradient for gradient in gradients(rope, x, positions)["inputs"]]
# says("keeps the data type of x, with angles that are right in half precision, too",
#     parts=(["float32 and float64", "half precision, late positions"], None, ["data type",
#     "values"]))
# ### 1p AUTOTEST rope_data_types

# %% [markdown]
# ## 5. A penalty on distance
#
# Compute what ALiBi adds to the score of query $i$ and key $j$ in head $h$. It leaves queries and keys alone:
#
# $$b_{hij} = -m_h\, |i - j|, \qquad m_h = 2^{-8 (h + 1) / H}, \qquad h = 0, \dots, H - 1.$$
#
# A small case: with `H = 2` the slopes are $m_0 = 1/16$ and $m_1 = 1/256$, so that head 0 adds $-3/16$ at distance 3. Each head has a different slope.
# Use this formula for every `H`. (For an `H` that is no power of 2, the authors' program mixes slopes of two neighbouring powers instead.)


# %% nbgrader={"grade_id": "alibi_bias", "solution": true}
def alibi_bias(n_heads: int, T: int) -> torch.Tensor:
    """What ALiBi adds to the scores.

    Source: Press et al. (2022), section 3; with |i - j|, so that it serves both directions.

    Args:
        n_heads: number of heads H.
        T: number of positions.

    Returns:
        (H, T, T): entry [h, i, j] is -2 ** (-8 (h + 1) / H) * |i - j|.
    """
    ### BEGIN SOLUTION
    slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
    positions = torch.arange(T)
    distance = (positions[:, None] - positions).abs()
    return -slopes[:, None, None] * distance
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "alibi_values", "grade": true, "points": 5}
# H, T = draw.sizes(2, low=5, high=14)  # at most one of them is a power of 2
# heads = [draw.integer(1, 12), 3 * draw.integer(1, 4), 1, draw.integer(1, 12)]
# lengths = [draw.integer(2, 9) for _ in range(3)] + [1]
# equal = [1 + 2 * draw.integer(1, 4) for _ in range(3)]
# says("is right for any number of heads", parts=["alibi_bias(H, T)", "alibi_bias(T, H)"])
# ### 2p AUTOTEST [alibi_bias(H, T), alibi_bias(T, H)]
# says("is right for few heads and for many", parts="alibi_bias({n}, {length})")
# ### 2p AUTOTEST [alibi_bias(n, length) for n, length in zip(heads, lengths)]
# says("is right with as many heads as positions", parts="alibi_bias({n}, {n})")
# ### 1p AUTOTEST [alibi_bias(n, n) for n in equal]

# %% [markdown] nbgrader={"grade_id": "why_positions", "grade": true, "solution": true, "points": 3}
# **Written answer.** (a) A translator without recurrence and without positional encoding gets *the dog bites the man* and *the man bites the dog*. What
# can it not do, and why? (b) A colleague proposes to add the position itself, $p = 0, 1, 2, \dots$, to every entry of the vector at $p$. Name two properties that a good
# encoding has and this one lacks. Two to five sentences.
#
# ### BEGIN SOLUTION
# (a) Attention is permutation-equivariant: if the words come in another order, each word gets the same vector as before. Both sentences consist of the same
# words, so the encoder returns the same vectors, in another order, and a decoder that attends to them gets the same result for both. It cannot say who bites.
#
# (b) The numbers grow without bound: without a norm they drown the word vectors, and positions beyond the training length are larger than anything seen. A layer norm in front of the
# sublayers subtracts the mean of the entries, and with it a number that is the same in all of them: such a model never learns where a word stands. And there is one direction and one
# scale only: the same shift should look the same wherever it happens, so that a comparison of two positions depends on their difference, and near positions should be easy to tell apart
# while distant ones stay comparable. The sines have bounded entries, many scales, and a shift that is one matrix for all positions.
#
# Rubric: 1 point for "the two inputs cannot be told apart, because attention only permutes its outputs when its inputs are permuted"; 1 point for each of two properties that
# $p$ itself lacks: bounded (or of the size of the word vectors), usable at unseen lengths, a shift that acts alike everywhere (dot products that depend on the difference), both fine and coarse
# scales, more than one direction (a layer norm in front of the sublayers removes what is the same in every entry). "It drowns the word vectors" earns its point as "not bounded", whether or not the
# answer says that a layer norm would hide it. "Unique for each position" earns nothing in (b): $p$ has this property.
# ### END SOLUTION

# %% [markdown]
# ## An experiment: which came first?
#
# No points here. A sequence of 16 letters holds one A and one B among others. Which of the two came first? A network of one attention layer, which looks
# in both directions, learns the answer. Then it gets sequences of 32. It runs on what you wrote: the table, the rotation, the bias, or on a learned
# table, or on nothing.
#
# **Predict before you run it.** Which of the five learn the task? Which still solve it at twice the length? In chapter 5 ALiBi still finds the last digit at four times the
# length, nearly as well as the best encodings there, and hasn't learned the two other tasks. Which of these is the task here like?
#
# The next cell defines everything. Take the `#` off its last line and run it (about half a minute), or call `experiment("rope", length=24)` and the like in a cell of your own.

# %% active="ipynb" nbgrader={"grade_id": "experiment", "locked": true}
# from torch.nn import functional as F
#
#
# class WhichFirst(nn.Module):
#     """One attention layer over letters; kind names the encoding."""
#
#     def __init__(self, kind, n_letters=10, d_model=32, n_heads=4, max_len=400):
#         super().__init__()
#         self.kind, self.n_heads = kind, n_heads
#         self.embedding = nn.Embedding(n_letters, d_model)
#         self.learned = nn.Parameter(0.3 * torch.randn(max_len, d_model))
#         self.projections = nn.Linear(d_model, 3 * d_model)
#         self.output = nn.Sequential(nn.Linear(d_model, 64), nn.ReLU(), nn.Linear(64, 2))
#
#     def forward(self, letters):
#         x, T = self.embedding(letters), letters.shape[1]
#         if self.kind == "sinusoidal":
#             x = x + sinusoidal(T, x.shape[-1]).to(x.dtype)
#         if self.kind == "learned":
#             x = x + self.learned[:T]
#         query, key, value = (
#             part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
#             for part in self.projections(x).chunk(3, dim=-1)
#         )
#         if self.kind == "rope":
#             query, key = rope(query, torch.arange(T)), rope(key, torch.arange(T))
#         bias = alibi_bias(self.n_heads, T).to(x.dtype) if self.kind == "alibi" else None
#         attended = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
#         return self.output(x + attended.transpose(1, 2).flatten(2)).mean(dim=1)
#
#
# def letters_and_answers(batch, length):
#     """Letter 0 (A) and letter 1 (B) once each among the others; 1 where A came first."""
#     letters = torch.randint(2, 10, (batch, length))
#     a, b = torch.rand(batch, length).argsort(dim=1)[:, :2].T
#     letters[torch.arange(batch), a], letters[torch.arange(batch), b] = 0, 1
#     return letters, (a < b).long()
#
#
# def experiment(*kinds, length=16, steps=400):
#     for kind in kinds or ("none", "sinusoidal", "learned", "rope", "alibi"):
#         torch.manual_seed(0)
#         model = WhichFirst(kind)
#         optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
#         for _ in range(steps):
#             letters, answers = letters_and_answers(64, length)
#             loss = F.cross_entropy(model(letters), answers)
#             optimiser.zero_grad()
#             loss.backward()
#             optimiser.step()
#         shares = []
#         for factor in (1, 2):
#             letters, answers = letters_and_answers(2000, factor * length)
#             shares.append((model(letters).argmax(dim=-1) == answers).float().mean())
#         print(f"{kind:10}  right at length {length}: {shares[0]:.2f}   at {2 * length}: {shares[1]:.2f}")
#
#
# # experiment()

# %% [markdown]
# What to make of it: swap the two directions in every sequence, and the right answer changes. Now look at your `alibi_bias`: what does it know about direction?
# Chapter 5 ends with a table of what each encoding can tell.
