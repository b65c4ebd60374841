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
# # Exercise 8: A model that writes
#
# A language model says how likely each next token is. Here you write what it takes to get from that to a text: drawing from the probabilities, a mask that looks back only a few positions, a cache that doesn't grow, the arithmetic of its bytes, attention whose keys and values were compressed, rotations for texts longer than those of the training, and a small model's guesses that a large model checks. Chapter 8 has the ideas, worked out for one case each.
#
# **The core** is tasks 1, 2 and 4: about 90 minutes, by our estimate. Later exercises need none of these functions, but
# a token drawn, the mask of a window and the size of a cache are what everything else in the chapter uses.
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
# | `B` | texts in a batch |
# | `H` | heads |
# | `T` | queries: the newest positions of a text |
# | `S` | keys: all positions of a text so far |
# | `V` | tokens in the vocabulary |
# | `d`, `dv` | width of a key, width of a value |
# | `...` | any number of leading axes (batch, positions), including none |
#
# Positions and tokens are counted from 0, and tensors of them are `int64`. A mask is boolean, and `True` means *may attend*.

# %% nbgrader={"grade_id": "imports", "locked": true}
import math

import torch

from solutions.ch2_scaled_dot_product import attention

# %% [markdown]
# ## 1. From logits to probabilities
#
# Turn the logits of each row into the probabilities from which the next token is drawn.
#
# A small case: the logits $(0, \ln 2, \ln 5)$. At temperature 1 the probabilities are $(1/8, 2/8, 5/8)$. `top_k=2` makes them $(0, 2/7, 5/7)$. `top_p=0.7` does the same, since $5/8$ isn't enough. With both, the second token is no longer needed: $5/7 \ge 0.7$, and the result is $(0, 0, 1)$.
#
# Three numbers shape the distribution, in this order; `None` leaves out step 2 or 3:
#
# 1. **Temperature.** The probabilities are the softmax of `logits / temperature`. With temperature 0 the most likely token has probability 1.
# 2. **`top_k`.** The `top_k` most likely tokens stay; all of them if `top_k` is larger than `V`. The others get probability exactly 0, and those that stay are divided by their sum.
# 3. **`top_p`.** It looks at what step 2 has left. The most likely tokens stay, one after the other, until together they have *at least* `top_p`: the token with which the sum reaches `top_p` still belongs to them. At least one token stays. The others get 0, and those that stay are divided by their sum. `top_p=1` changes nothing.
#
# | rule | |
# |---|---|
# | tokens with the same logit | The one with the smaller index counts as the more likely one. So exactly `top_k` tokens stay, and exactly one at temperature 0, where `top_k` and `top_p` make no difference. |
# | large logits | They may be in the hundreds and of both signs, even in float32. A logit may be `-inf`, for a token that isn't allowed; each row has a finite one. |
# | data type | That of the logits, float32 or float64. Logits in float16 or bfloat16 are converted to float32 first, so the result is float32: three digits are too few for the sum of many small probabilities. |
# | errors | A `ValueError` for a temperature below 0, a `top_k` below 1, and a `top_p` that isn't in $(0, 1]$, whatever the other arguments are. |
# | rounding | No check comes so close to `top_p` that rounding decides. |
#
# Hugging Face Transformers and vLLM take the steps in this order, too; llama.cpp, left to itself, takes the temperature last. Libraries differ where tokens tie: some keep all tokens that tie with the last one that stays.


# %% nbgrader={"grade_id": "token_probabilities", "solution": true}
def token_probabilities(
    logits: torch.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> torch.Tensor:
    """The distribution from which the next token is drawn.

    Source: top_p is the nucleus of Holtzman et al. (2020), section 3.1.

    Args:
        logits: (..., V), of any floating data type; -inf for a token that is not allowed.
        temperature: divides the logits; 0 = the most likely token only.
        top_k: how many tokens stay, or None for all.
        top_p: the probability that the tokens that stay have at least, or None.

    Returns:
        (..., V): probabilities, each row with the sum 1; float32 for logits in half precision,
        otherwise in the data type of the logits.

    Raises:
        ValueError: temperature < 0, top_k < 1, or top_p outside of (0, 1].
    """
    ### BEGIN SOLUTION
    if temperature < 0:
        raise ValueError(f"temperature={temperature} is negative")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k={top_k}: at least one token has to stay")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p} is not in (0, 1]")
    if logits.dtype.itemsize < 4:
        logits = logits.float()
    # stable: of equal logits the one with the smaller index comes first
    ordered, tokens = logits.sort(dim=-1, descending=True, stable=True)
    if temperature == 0:
        temperature, top_k = 1.0, 1
    p = torch.softmax(ordered / temperature, dim=-1)
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1], device=p.device) < top_k)
        p = p / p.sum(dim=-1, keepdim=True)
    if top_p is not None and top_p < 1:
        before = p.cumsum(dim=-1) - p  # what the more likely tokens have together
        p = p * (before < top_p)
        p = p / p.sum(dim=-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, tokens, p)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "token_probabilities_values", "grade": true, "points": 5}
# B, T, V = draw.sizes(3, low=7, high=12)
# logits, n = 1.5 * draw.tensor(B, T, V), draw.integer(7, 9)
# equal = 1.5 * draw.tensor(n, n, n)
# cold, hot = 0.4 + draw.integer(1, 30) / 100, 1.5 + draw.integer(1, 90) / 100
# low = 0.2 + draw.integer(1, 9) / 100
# middle = 0.5 + draw.integer(1, 9) / 100
# high = 0.8 + draw.integer(1, 9) / 100
# equal("what an example gives depends on the other examples of the batch",
#     probabilities_example_alone)
# equal("one number added to all logits changes the probabilities", probabilities_of_shifted_logits)
# says("divides the logits by the temperature", parts=["one row", "leading axes of size 1",
#     "many rows", "many rows, colder", "the default", "equal sizes"])
# ### 1p AUTOTEST probabilities_temperature
# says("keeps the top_k most likely tokens, or all if there are fewer", parts="top_k={k}")
# ### 1p AUTOTEST [token_probabilities(logits, top_k=k) for k in (1, 3, V - 1, V, V + 1, V + n)]
# says("keeps the most likely tokens until they have at least top_p", parts="top_p={share:g}")
# ### 1p AUTOTEST probabilities_top_p
# says("applies the temperature before top_p", parts="temperature {degree:g}, top_p={share:g}")
# ### 1p AUTOTEST probabilities_temperature_and_top_p
# says("applies top_p to what top_k has left", parts="top_k={k}, top_p={share:g}")
# ### 1p AUTOTEST probabilities_top_k_and_top_p

# %% active="ipynb" nbgrader={"grade_id": "token_probabilities_edges", "grade": true, "points": 6}
# B, tied, cold, share, large, near, many, names, cases = draw_token_probabilities_edges(draw)
# says("at temperature 0, gives everything to the first of the most likely tokens", parts=["alone",
#     "with top_k", "with top_p", "no ties"])
# ### 1p AUTOTEST probabilities_greedy
# says("where tokens tie, keeps those with the smaller index", parts=["top_k", "top_p", "both"])
# ### 1p AUTOTEST probabilities_ties
# says("is right for logits of ±200 and -inf, also where it is cold", parts=["around ±200", "cold",
#     "float32", "top_k", "top_p"])
# ### 1p AUTOTEST probabilities_large_logits
# says("keeps float32 and float64, and computes half precision in float32",
#     parts=("{name} logits, temperature {degree:g}", ["data type", "values"]))
# ### 1p AUTOTEST probabilities_data_types
# says("takes logits in any memory layout and leaves them as they were", parts=["logits",
#     "temperature", "top_k", "top_p", "result"])
# ### 1p AUTOTEST probabilities_leave_logits
# says("raises a ValueError for what can't be meant, and nothing otherwise",
#     parts="(temperature, top_k, top_p) = {case}")
# ### 1p AUTOTEST [raised(token_probabilities, large, *case) for case in cases]

# %% [markdown]
# ## 2. A window, and sinks
#
# Write the mask of a layer in which a query sees only the newest positions and, if there are any, the first positions of the text, the *sinks*.
#
# A small case: `window_mask(2, 5, window=2, sinks=1)` has the rows `1 0 1 1 0` and `1 0 0 1 1` (1 for `True`).
#
# The window includes the query's own position: with `window=3`, position 7 sees 5, 6 and 7. The queries are the **last** `T` of `S` positions: query $t$ is at position $p = S - T + t$. It may attend to key $s$ if
#
# $$s \le p \qquad\text{and}\qquad \bigl(s > p - \text{window} \quad\text{or}\quad s < \text{sinks}\bigr).$$
#
# - Sinks are no exception to causality, and they take no place in the window.
# - Raise a `ValueError` where `T` is larger than `S`, `window` below 1 or `sinks` below 0.
#
# Libraries don't agree about what a window counts: with some of them the query sees `window` positions *besides* its own. Sinks are there because a model that was trained without a window may break when it loses the first tokens, on which its heads put much of their weight (Xiao et al., 2024, call them *attention sinks*).


# %% nbgrader={"grade_id": "window_mask", "solution": true}
def window_mask(T: int, S: int, window: int, sinks: int = 0) -> torch.Tensor:
    """Which keys a query sees through a causal window with sinks.

    Source: the window of Beltagy et al. (2020), one-sided; the sinks of Xiao et al. (2024).

    Args:
        T: number of queries, the last T of S positions.
        S: number of keys.
        window: how many positions a query sees, its own included.
        sinks: how many positions at the beginning of the text stay visible.

    Returns:
        (T, S), boolean, True = may attend.

    Raises:
        ValueError: T > S, window < 1 or sinks < 0.
    """
    ### BEGIN SOLUTION
    if T > S or window < 1 or sinks < 0:
        raise ValueError(f"T={T}, S={S}, window={window}, sinks={sinks}: no such mask")
    query = torch.arange(S - T, S)[:, None]
    key = torch.arange(S)
    return (key <= query) & ((key > query - window) | (key < sinks))
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "window_mask_values", "grade": true, "points": 7}
# T, S, n = draw.integer(4, 6), draw.integer(12, 16), draw.integer(9, 14)
# window, sinks, wide = 4 + draw.integer(0, 1), draw.integer(2, 3), draw.integer(6, 8)
# cases = [
#     (draw.integer(1, 9), draw.integer(1, 9), draw.integer(-1, 3), draw.integer(-1, 2))
#     for _ in range(16)
# ]
# cases = [*cases, (4, 3, 1, 0), (3, 3, 1, 0), (2, 3, 0, 0), (2, 3, 1, -1), (2, 3, 1, 1)]
# equal("the first positions see others when the text is longer", window_longer_text)
# equal("with the newest queries alone, other keys are seen", window_newest_alone)
# says("lets a query see itself and the positions before it, window in all",
#     parts="window_mask({n}, {n}, {width})")
# ### 2p AUTOTEST [window_mask(n, n, width) for width in (window, wide, 1)]
# says("takes the queries for the last T of S positions",
#     parts="window_mask({count}, {S}, {width})")
# ### 1p AUTOTEST window_newest_queries
# says("keeps the sinks visible, causally and beside the window",
#     parts="window_mask({count}, {S}, {window}, {sinks})")
# ### 2p AUTOTEST [window_mask(count, S, window, sinks=sinks) for count in (S, T, 1)]
# says("is right where the window or the sinks reach over the whole text",
#     parts="window_mask({count}, {length}, {width}, {first})")
# ### 1p AUTOTEST window_over_all
# says("raises a ValueError for impossible sizes, and nothing otherwise",
#     parts="window_mask({case})")
# ### 1p AUTOTEST [raised(window_mask, *case) for case in cases]

# %% [markdown]
# ## 3. A cache that does not grow
#
# Write the cache of one layer with a window and sinks: `update` gets the keys and values of the next positions and returns those that their queries need.
#
# A small case: `RollingCache(sinks=1, window=2)` gets positions 0 to 3 as one piece and returns all four. Then come 4 and 5 as a piece: it returns 0, 3, 4, 5. Then only 6: 0, 5, 6.
#
# Let $p$ be the **first** position of the new piece. `update` returns all keys that have come so far, including the new ones, whose position $s$ satisfies $s > p - \text{window}$ or $s < \text{sinks}$, in the order of their positions, each once; with them their values and their positions in the text.
#
# | rule | |
# |---|---|
# | one position | At most `window` keys and the sinks come back. |
# | a long piece | All new keys are returned, even those of a piece longer than the window: each of its queries has its own window, and only the mask can tell them apart. |
# | memory | Between the calls the cache holds only what a later call can return. No check looks at how, but one counts the numbers in the tensors that the object holds (in its attributes, and in lists, tuples, dictionaries and the like there), and they must not be more than those of $2\,(\text{window} + \text{sinks})$ positions. |
# | order | The positions of a piece are consecutive, and continue where the last piece ended; the first piece of all begins at 0. |
# | new texts | A piece that begins at position 0 begins a **new text**: what was held is forgotten, and the batch may have a different size. |
# | positions | Those that come back are those in the text, not numbers of slots: rotations and masks need them. (The authors of the paper number the slots instead, anew after each eviction.) |
# | sharing | Each object is a separate cache. What `update` has returned stays as it is when later pieces come. It may share memory with the pieces or with what the cache holds: no check writes into a piece or into a result. Gradients through what the cache holds aren't asked for. |


# %% nbgrader={"grade_id": "RollingCache", "solution": true}
class RollingCache:
    """Keys and values of a layer with a window and sinks.

    Source: Xiao et al. (2024), section 3.2, with the positions of the text.

    Args:
        sinks: how many positions at the beginning of a text are kept, at least 0.
        window: how many positions a query sees, its own included, at least 1.
    """

    def __init__(self, sinks: int, window: int) -> None:
        ### BEGIN SOLUTION
        self.sinks, self.window = sinks, window
        self.held = None
        ### END SOLUTION

    def update(
        self, key: torch.Tensor, value: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Take in the next piece of the text; give what its queries need.

        Args:
            key: (B, H, t, d).
            value: (B, H, t, dv).
            positions: (t,), integers: the positions of the piece, consecutive.

        Returns:
            key (B, H, n, d), value (B, H, n, dv) and positions (n,), in the order of the positions.
        """
        ### BEGIN SOLUTION
        if positions[0] > 0:
            held_key, held_value, held_positions = self.held
            key = torch.cat([held_key, key], dim=2)
            value = torch.cat([held_value, value], dim=2)
            positions = torch.cat([held_positions, positions])
        # what the piece that begins at the next position will need
        oldest = positions[-1] + 1 - self.window
        kept = (positions > oldest) | (positions < self.sinks)
        self.held = key[:, :, kept], value[:, :, kept], positions[kept]
        return key, value, positions
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "rolling_cache_values", "grade": true, "points": 4}
# B, H, d, dv = draw.sizes(4, low=2, high=6)
# sinks, window = draw.integer(2, 3), draw.integer(4, 5)
# lengths = [draw.integer(4, 6), 1, draw.integer(8, 9), 2, 1, 1, 3, draw.integer(7, 9), 1]
# n = sum(lengths)
# ends = [sum(lengths[: i + 1]) for i in range(len(lengths))]
# pieces = [(end - length, end) for length, end in zip(lengths, ends)]
# key, value = draw.tensor(B, H, n, d), draw.tensor(B, H, n, dv)
# equal("what an earlier call has returned changes with later calls", cache_keeps_what_it_returned)
# equal("what an example gives depends on the other examples of the batch", cache_example_alone)
# says("returns sinks and window when positions come one by one", parts=["key", "value",
#     "positions"])
# ### 2p AUTOTEST cache_one_by_one
# says("returns all that the queries of a piece need, short or long", parts=["key", "value",
#     "positions"])
# ### 2p AUTOTEST cache_pieces

# %% active="ipynb" nbgrader={"grade_id": "rolling_cache_edges", "grade": true, "points": 5}
# B, H, d, dv = draw.sizes(4, low=2, high=6)
# sinks, window, m = draw.integer(2, 3), draw.integer(4, 5), draw.integer(10, 12)
# n = 3 * (sinks + window) + draw.integer(1, 4)
# key, value = draw.tensor(B, H, n, d), draw.tensor(B, H, n, dv)
# other_key, other_value = draw.tensor(B + 1, H, n, d), draw.tensor(B + 1, H, n, dv)
# texts = [
#     (key, value, 0, m),
#     (key, value, m, m + 2),
#     (-key, -value, 0, 1),
#     (-key, -value, 1, 3),
#     (-key, -value, 3, 4),
#     (other_key, other_value, 0, m),
# ]
# limit = 2 * (sinks + window) * (B * H * (d + dv) + 1)
# equal("what an earlier call has returned changes with later calls",
#     cache_keeps_what_it_returned)
# equal("what an example gives depends on the other examples of the batch",
#     cache_example_alone)
# says("begins a new text at position 0", parts=(["first text", "its second piece", "second text",
#     "its second piece", "its third piece", "third text, larger batch"], ["key", "value",
#     "positions"]))
# ### 1p AUTOTEST cache_new_texts
# says("keeps two caches apart", parts=(["first cache", "second cache"], ["key", "value",
#     "positions"]))
# ### 1p AUTOTEST two_caches
# says("is right without sinks, and with a window of 1 or a very long one", parts=(["no sinks",
#     "a window of 1", "neither", "a long window"], None, ["key", "value", "positions"]))
# ### 1p AUTOTEST cache_settings
# says("holds the numbers of at most 2 (window + sinks) positions", parts=(None,
#     ["numbers held, or what is allowed", "what comes back"]))
# ### 1p AUTOTEST cache_memory
# says("leaves its arguments as they were, in float32 and on later calls, too", parts=(None, ["key",
#     "value", "positions", "result"]))
# ### 1p AUTOTEST cache_leaves_arguments

# %% [markdown]
# ## 4. What a cache weighs
#
# Count the bytes that the keys and values of a whole model take.
#
# Small cases, for one token: Llama 2 7B with 32 layers, 32 heads of width 128 and 2 bytes takes $32 \cdot 2 \cdot 32 \cdot 128 \cdot 2 = 524{,}288$ bytes. DeepSeek-V3, with 61 layers and a latent of $512 + 64$ numbers, takes $61 \cdot 576 \cdot 2 = 70{,}272$.
#
# - Every layer holds, for every text of the batch, every token and every key-value head, one key and one value of width `d_head`. (With grouped queries there are fewer key-value heads than query heads.)
# - With `window`, a layer holds at most the newest `window` tokens of a text.
# - With `latent`, a layer holds for every token one vector of `latent` numbers, from which the keys and values of all heads are computed (task 5). It replaces keys *and* values; `n_kv_heads` and `d_head` make no difference then. The shared rotated key is counted in `latent`.
# - Both may be given together.


# %% nbgrader={"grade_id": "cache_bytes", "solution": true}
def cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n_tokens: int,
    *,
    batch: int = 1,
    bytes_per_value: int = 2,
    window: int | None = None,
    latent: int | None = None,
) -> int:
    """Bytes that the cache of a decoder takes.

    Args:
        n_layers: number of layers.
        n_kv_heads: heads that have keys and values of their own, in one layer.
        d_head: width of a key, and of a value.
        n_tokens: tokens of each text.
        batch: number of texts.
        bytes_per_value: 2 for float16 and bfloat16, 4 for float32, 1 for 8 bits.
        window: the most tokens that a layer holds of a text, or None for all.
        latent: numbers that a layer holds for a token in place of keys and values, or None.

    Returns:
        A number of bytes.
    """
    ### BEGIN SOLUTION
    held = n_tokens if window is None else min(n_tokens, window)
    per_token = 2 * n_kv_heads * d_head if latent is None else latent
    return n_layers * batch * held * per_token * bytes_per_value
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "cache_bytes_values", "grade": true, "points": 4}
# layers, heads, width = draw.integer(10, 90), draw.integer(3, 64), 8 * draw.integer(3, 32)
# tokens, batch, window = draw.integer(2000, 9000), draw.integer(3, 60), draw.integer(100, 1500)
# latent = draw.integer(100, 700)
# short = window - draw.integer(1, 90)
# says("counts keys and values of all layers, heads and tokens", parts="{n} tokens")
# ### 1p AUTOTEST [cache_bytes(layers, heads, width, n) for n in (tokens, 1, 0)]
# says("counts every text, and the bytes of a value", parts="batch={texts}, bytes_per_value={size}")
# ### 1p AUTOTEST bytes_of_texts
# says("holds at most a window of each text", parts="{n} tokens, batch={texts}")
# ### 1p AUTOTEST bytes_of_window
# says("counts a latent once for all heads, also with a window", parts="window={limit}")
# ### 1p AUTOTEST bytes_of_latent

# %% [markdown]
# ## 5. Attention through a latent
#
# Compute multi-head latent attention, which stores one small vector $c_s$ for each position, the *latent*, instead of keys and values.
#
# A small case: with one head, one position, $c = (2)$, $W^{UV} = (3)$ and any query, the only weight is 1, and the output is the unpacked value, $(6)$.
#
# Head $h$ has two matrices that unpack the latent, and every head has the same rotated key $r_s$ alongside it:
#
# $$k_{hs} = W^{UK}_h c_s, \qquad v_{hs} = W^{UV}_h c_s, \qquad
# \text{score}_{hts} = \frac{q_{ht} \cdot k_{hs} + q^R_{ht} \cdot r_s}{\sqrt{d_n + d_r}},$$
#
# and the output of head $h$ is, as ever, the sum of the values with the softmax of the scores as weights. `query` and `key` parts with $R$ come rotated already.
#
# | letter | width |
# |---|---|
# | `dn` | part of a query without positions |
# | `dr` | rotated part of a query, and the shared rotated key |
# | `r` | latent |
# | `dv` | value |
#
# Unpacked like this, all keys and values would be in memory again. But $q \cdot (W c) = (W^\top q) \cdot c$: the query can be packed instead, and then the latent itself serves as key, and as value, too, if what attention returns is unpacked at the end. Both ways give the same numbers, and a check can't tell which you took; write the second one.
#
# - The width under the root is that of the key that was *meant*, $d_n + d_r$, not the width of what you multiply in the end. The `attention` of exercise 2 is at the top of this notebook; you may call it, and it divides by the root of the width that it sees. Some models multiply the scores by one more factor when texts are long; here there is none.
# - `mask` is broadcastable to `(B, H, T, S)`. A query that may attend to nothing has output 0. Scores may be ±200 and more, even masked ones.
# - Gradients flow to the six tensors, and are never NaN. The result has their data type, float32 or float64; their layout in memory makes no difference.


# %% nbgrader={"grade_id": "latent_attention", "solution": true}
def latent_attention(
    query: torch.Tensor,
    rope_query: torch.Tensor,
    latent: torch.Tensor,
    rope_key: torch.Tensor,
    w_uk: torch.Tensor,
    w_uv: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention whose keys and values are linear functions of one latent per position.

    Source: DeepSeek-AI (2024), DeepSeek-V2, section 2.1, with both projections absorbed.

    Args:
        query: (B, H, T, dn).
        rope_query: (B, H, T, dr), rotated.
        latent: (B, S, r).
        rope_key: (B, S, dr), rotated, the same for all heads.
        w_uk: (H, dn, r), unpacks keys.
        w_uv: (H, dv, r), unpacks values.
        mask: broadcastable to (B, H, T, S), boolean, True = may attend. None = no mask.

    Returns:
        (B, H, T, dv); zero where a query has nothing to attend to.
    """
    ### BEGIN SOLUTION
    packed = torch.einsum("bhtn,hnr->bhtr", query, w_uk)
    queries = torch.cat([packed, rope_query], dim=-1)  # (B, H, T, r + dr)
    keys = torch.cat([latent, rope_key], dim=-1)[:, None]  # one for all heads
    meant = query.shape[-1] + rope_query.shape[-1]
    # attention divides by the root of the width that it sees
    queries = queries * (queries.shape[-1] / meant) ** 0.5
    found, _ = attention(queries, keys, latent[:, None], mask)  # (B, H, T, r)
    return torch.einsum("bhtr,hvr->bhtv", found, w_uv)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "latent_attention_values", "grade": true, "points": 4}
# B, H, n = *draw.sizes(2, low=2, high=4), draw.integer(4, 5)
# T, S, dn, dr, dv = draw.sizes(5, low=3, high=7)
# r = dn + dr + draw.integer(1, 3)
# query, rope_query = 2 * draw.tensor(B, H, T, dn), 2 * draw.tensor(B, H, T, dr)
# latent, rope_key = draw.tensor(B, S, r), draw.tensor(B, S, dr)
# w_uk, w_uv = draw.tensor(H, dn, r), draw.tensor(H, dv, r)
# mask, padding = torch.from_numpy(draw.mask(B, H, T, S)), torch.from_numpy(draw.mask(B, 1, 1, S))
# equal = [
#     draw.tensor(n, n, n, n),
#     draw.tensor(n, n, n, n),
#     draw.tensor(n, n, n),
#     draw.tensor(n, n, n),
#     draw.tensor(n, n, n),
#     draw.tensor(n, n, n),
# ]
# equal_mask = torch.from_numpy(draw.mask(n, n, n, n))
# equal("what an example gives depends on the other examples of the batch", latent_example_alone)
# equal("in another order the keys give another output", latent_keys_in_other_order)
# equal("twice the matrix of the values doesn't give twice the output", latent_twice_the_values)
# unequal("the part of the keys with positions has no influence", latent_other_rope_key)
# unequal("the mask has no influence", latent_mask_or_none)
# equal("a result moves when only keys change that the mask hides", latent_hidden_keys)
# says("is right without a mask")
# ### 1p AUTOTEST latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv)
# says("gives no weight to masked keys")
# ### 1p AUTOTEST latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv, mask)
# says("takes a mask that broadcasts, and a single query", parts=["mask (B, 1, 1, S)",
#     "mask (T, S)", "mask (B, 1, T, S)", "mask (H, T, S)", "one query"])
# ### 1p AUTOTEST latent_broadcast_masks
# says("is right where all sizes are equal", parts=["with a mask", "without"])
# ### 1p AUTOTEST [latent_attention(*equal, equal_mask), latent_attention(*equal)]

# %% active="ipynb" nbgrader={"grade_id": "latent_attention_edges", "grade": true, "points": 4}
# B, H = draw.sizes(2, low=2, high=3)
# T, S, dn, dr, dv = draw.sizes(5, low=3, high=7)
# r = dn + dr + draw.integer(1, 3)
# query, rope_query = draw.tensor(B, H, T, dn), draw.tensor(B, H, T, dr)
# latent, rope_key = draw.tensor(B, S, r), draw.tensor(B, S, dr)
# w_uk, w_uv = draw.tensor(H, dn, r), draw.tensor(H, dv, r)
# mask = torch.from_numpy(draw.mask(B, H, T, S))
# with_empty = torch.from_numpy(draw.mask(B, H, T, S, empty=2))
# names = draw.choices(8, ["float32", "float64"])
# says("gives 0 to a query with nothing to attend to, and is right for large scores",
#     parts=["scores of ±200", "signs reversed, a thousand times as large", "all far below 0",
#     "an empty row"])
# ### 1p AUTOTEST latent_large_scores
# says("passes gradients to all six tensors, never NaN", parts=["query", "rope_query", "latent",
#     "rope_key", "w_uk", "w_uv"])
# ### 1p AUTOTEST latent_gradients
# says("keeps the data type of its inputs", parts=("{name} inputs", ["data type", "values"]))
# ### 1p AUTOTEST latent_data_types
# says("takes any memory layout and leaves its arguments as they were", parts=["query",
#     "rope_query", "latent", "rope_key", "w_uk", "w_uv", "mask", "result"])
# ### 1p AUTOTEST latent_leaves_arguments

# %% [markdown]
# ## 6. Longer than trained
#
# Slow down the rotations of RoPE, so that a model can read texts that are `factor` times as long as those of its training.
#
# A small case: $d = 4$, base 100, so $\theta = (1, 0.1)$, and $s = 4$. `"linear"` gives $(0.25, 0.025)$; `"ntk"` has the base $100 \cdot 4^2 = 1600$ and gives $(1, 0.025)$. With $L = 100$ the pairs turn $15.92$ and $1.59$ times, so `"yarn"` gives about $(0.6108, 0.0264)$.
#
# RoPE turns pair $i$ by $\theta_i = \text{base}^{-2i/d}$ from one position to the next (exercise 5). A model trained on texts of `original_length` $= L$ has never seen larger angles. For texts `factor` $= s$ times as long there are three ways, for $i = 0, \dots, d/2 - 1$:
#
# - `"linear"`: all positions are squeezed, $\theta_i' = \theta_i / s$.
# - `"ntk"`: the base grows, $\theta_i' = (\text{base} \cdot s^{\,d/(d-2)})^{-2i/d}$. The fastest pair stays as it is, the slowest is $s$ times slower.
# - `"yarn"`: pairs that turn often in the original length stay, pairs that turn less than once are squeezed, and those between are a mixture. With $n_i = L\, \theta_i / (2 \pi)$, the number of turns within $L$,
#
# $$\theta_i' = (1 - \gamma_i)\, \frac{\theta_i}{s} + \gamma_i\, \theta_i, \qquad
# \gamma_i = \begin{cases} 0 & n_i < 1 \\ 1 & n_i > 32 \\ (n_i - 1) / (32 - 1) & \text{otherwise.} \end{cases}$$
#
# This is the ramp of the paper, linear in the number of turns. (Llama 3.1 has the same ramp from 1 to 4. The authors' program and the libraries that follow it let the ramp be linear in the index $i$, between two rounded indices: take the formula above.) YaRN's second part, a factor on the scores, is no part of this task.
#
# The angles may be float32 or float64. `d` is even and at least 4, `factor` at least 1. `original_length` matters only for `"yarn"`. Raise a `ValueError` for any other method.


# %% nbgrader={"grade_id": "rope_frequencies", "solution": true}
def rope_frequencies(
    d: int, base: float, factor: float, original_length: int, method: str
) -> torch.Tensor:
    """By how much each pair turns from one position to the next, for texts longer than trained.

    Source: "linear": Chen et al. (2023), section 2.3; "ntk" and "yarn": Peng et al. (2024),
    section 3.

    Args:
        d: width of a head, even, at least 4.
        base: pair i turned by base ** (-2 i / d) in training.
        factor: how many times as long the texts are, at least 1.
        original_length: positions of a text in training.
        method: "linear", "ntk" or "yarn".

    Returns:
        (d / 2,): angles in radians, the fastest pair first.

    Raises:
        ValueError: another method.
    """
    ### BEGIN SOLUTION
    exponents = -2 * torch.arange(d // 2, dtype=torch.float64) / d
    theta = base**exponents
    if method == "linear":
        return theta / factor
    if method == "ntk":
        return (base * factor ** (d / (d - 2))) ** exponents
    if method == "yarn":
        turns = original_length * theta / (2 * math.pi)
        unchanged = ((turns - 1) / (32 - 1)).clamp(0, 1)
        return (1 - unchanged) * theta / factor + unchanged * theta
    raise ValueError(f"method={method!r}: there are 'linear', 'ntk' and 'yarn'")
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "rope_frequencies_values", "grade": true, "points": 6}
# d, base = 2 * draw.integer(20, 40), float(draw.integer(5000, 20000))
# factor, length = 2 + draw.integer(1, 60) / 10, draw.integer(1000, 3000)
# other_d, other_base = 2 * draw.integer(6, 12), float(draw.integer(300, 900))
# methods = draw.choices(14, ["linear", "ntk", "yarn", "dynamic", "YaRN", "none", ""])
# factors = draw.choices(14, [1.0, factor])
# says("squeezes all positions with linear")
# ### 1p AUTOTEST rope_frequencies(d, base, factor, length, "linear").float()
# says("changes the base with ntk", parts=["a wide head", "a narrow head"])
# ### 1p AUTOTEST frequencies_ntk
# says("mixes with yarn, by the number of turns", parts="original_length={n}")
# ### 2p AUTOTEST frequencies_yarn
# says("is right for the narrowest heads, and for a factor of 1",
#     parts="d={width}, factor={s:g}, {method}")
# ### 1p AUTOTEST frequencies_narrow_heads
# says("raises a ValueError for a method that it does not know",
#     parts="factor={s:g}, method={method!r}")
# ### 1p AUTOTEST frequencies_raise

# %% [markdown]
# ## 7. Guess and check
#
# Decide which of a small model's guesses stay, in such a way that the text is distributed *exactly* as if the large model had written it alone.
#
# A small case: $V = 2$, one guess, $x_0 = 0$, with $q_0 = (0.8, 0.2)$ and $p_0 = (0.4, 0.6)$, so the guess is accepted if $u < 0.5$. With uniforms $(0.7, 0.9, 0.3, 0.1)$ it isn't; the residual is $(0, 0.4)$, divided by its sum $(0, 1)$, and the result is `[1]`. With $(0.2, 0.9, 0.3, 0.1)$ and $p_1 = (0.5, 0.5)$ it is `[0, 0]`.
#
# The small model, the draft, guesses `n` tokens, and the large one, the target, computes in one pass what it would have said at each of these places and after them. For $i = 0, 1, \dots, n - 1$ in turn, with the guess $x_i$, the draft's probabilities $q_i$ (row $i$ of `p_draft`) and the target's $p_i$ (row $i$ of `p_target`):
#
# - The guess is **accepted** if $u < p_i(x_i) / q_i(x_i)$, with $u$ `= uniforms[2 * i]`.
# - At the first guess that isn't accepted, a token is drawn from the *residual*, $\max(p_i - q_i, 0)$ divided by its sum, and takes its place. There it ends.
# - If all guesses were accepted, one more token is drawn from $p_n$, the last row of `p_target`.
#
# Chance comes from `uniforms`, `2 * n + 2` numbers in $[0, 1)$, so that the result is determined: the token at place $i$ is *drawn* with $u$ `= uniforms[2 * i + 1]`, as the smallest token $v$ with $u < P(0) + \dots + P(v)$. The token after all guesses is at place $n$, so `uniforms[2 * n]` isn't used.
#
# - Rows may hold zeros, but $q_i(x_i) > 0$, as $x_i$ was drawn from $q_i$. A token whose probability is 0 is never drawn.
# - `n` may be 0: then one token is drawn from the target.
# - No check comes so close to a limit that rounding decides.


# %% nbgrader={"grade_id": "speculative_step", "solution": true}
def speculative_step(
    draft: torch.Tensor, p_draft: torch.Tensor, p_target: torch.Tensor, uniforms: torch.Tensor
) -> torch.Tensor:
    """The tokens that one step of speculative sampling adds to a text.

    Source: Leviathan et al. (2023), algorithm 1.

    Args:
        draft: (n,), integers: the guesses.
        p_draft: (n, V): the distributions that they were drawn from.
        p_target: (n + 1, V): what the target says at their places and after them.
        uniforms: (2 n + 2,), numbers in [0, 1).

    Returns:
        (m,), integers, 1 <= m <= n + 1: the accepted guesses, then one more token.
    """
    ### BEGIN SOLUTION
    n = len(draft)
    accepted = 0
    while accepted < n:
        token = draft[accepted]
        # no quotient, which could be infinite
        if uniforms[2 * accepted] * p_draft[accepted, token] >= p_target[accepted, token]:
            break
        accepted += 1
    p = p_target[accepted]
    if accepted < n:
        p = (p - p_draft[accepted]).clamp(min=0)
    cumulative = p.cumsum(dim=0) / p.sum()
    last = (cumulative <= uniforms[2 * accepted + 1]).sum()
    return torch.cat([draft[:accepted], last[None]])
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "speculative_values", "grade": true, "points": 5}
# n, V = draw.integer(4, 5), draw.integer(6, 8)
# guesses = 1.5 * draw.tensor(n, V)
# wanted = torch.cat([guesses + draw.tensor(n, V), draw.tensor(1, V)])
# drafts = torch.from_numpy(draw.integers(60, n, low=0, high=V - 1))
# uniforms = (torch.from_numpy(draw.integers(60, 2 * n + 2, low=0, high=9999)) + 0.5) / 10000
# first, second = [1 + int(token) for token in draw.permutation(V - 1)[:2]]
# p_draft = guesses.softmax(-1)
# p_target = wanted.softmax(-1)
# planned = drafts.clone()
# extreme = uniforms.clone()
# planned[:, 0], planned[:, 1] = first, second
# wanted[0, first] = 5 + wanted[0, first]
# wanted[1, second] = wanted[1, second] - 6
# wanted[2, second] = 6 + wanted[2, second]
# extreme[:, 0], extreme[:30, 2], extreme[30:, 2::2] = 0.0, 0.999, 0.0
# arranged, safe = wanted.softmax(-1), torch.cat([p_draft, p_target[n:]])
# says("accepts, replaces and adds as the rule says", parts="uniforms {number}")
# ### 2p AUTOTEST speculative_rule
# says("replaces the first guess that is not accepted, from the residual",
#     parts="uniforms {number}")
# ### 1p AUTOTEST speculative_first_refused
# says("adds one more token where the draft is as good as the target", parts="uniforms {number}")
# ### 1p AUTOTEST speculative_equal_models
# says("is right for one guess, and without any", parts=(["one guess", "no guess"],
#     "uniforms {number}"))
# ### 1p AUTOTEST speculative_few_guesses

# %% active="ipynb" nbgrader={"grade_id": "speculative_edges", "grade": true, "points": 3}
# n, V = draw.integer(3, 4), draw.integer(7, 9)
# guesses = draw.tensor(n, V)
# wanted = torch.cat([guesses + 1.5 * draw.tensor(n, V), draw.tensor(1, V)])
# drafts = torch.from_numpy(draw.integers(70, n, low=0, high=V - 1))
# uniforms = (torch.from_numpy(draw.integers(70, 2 * n + 2, low=0, high=9999)) + 0.5) / 10000
# closed = torch.from_numpy(draw.mask(n + 1, V)) | (torch.arange(V) == 1)
# closed[:, 0], closed[:, V - 1] = False, False
# p_draft, p_target = guesses.softmax(-1), wanted.softmax(-1)
# excluding = p_target * closed / (p_target * closed).sum(-1, keepdim=True)
# ends, mixed = uniforms.clone(), uniforms.clone()
# ends[:20, 1::2], ends[20:50, ::2], ends[50:, 1::2], drafts[35:50] = 0.0, 0.0, 0.9999, 1
# mixed[::3, ::2], mixed[1::3, ::2] = 0.0, 0.9999
# says("never gives a token that the target excludes", parts="uniforms {number}")
# ### 1p AUTOTEST speculative_excluded_tokens
# says("is right at the ends, where a uniform number is 0 or nearly 1", parts="uniforms {number}")
# ### 1p AUTOTEST speculative_extreme_uniforms
# says("takes any memory layout and leaves its arguments as they were", parts=("uniforms {number}",
#     ["draft", "p_draft", "p_target", "uniforms", "result"]))
# ### 1p AUTOTEST speculative_leaves_arguments

# %% [markdown] nbgrader={"grade_id": "why_the_same", "grade": true, "solution": true, "points": 3}
# **Written answer.** (a) One guess is drawn from $q$ and handled by the rule of task 7. Show that the token that comes out has the distribution $p$, whatever $q$ is. (b) What does a better draft change then, and what
# happens if the guess at an unlikely place is replaced by a token drawn from $p$ in place of the residual? Three to seven sentences, formulas welcome.
#
# ### BEGIN SOLUTION
# (a) The token $v$ comes out in two ways. It is guessed and accepted with probability $q(v) \min(1, p(v)/q(v)) = \min(q(v), p(v))$. Or some guess is rejected, with probability $1 - \sum_w \min(q(w), p(w))$, and $v$ is
# drawn from the residual. Because $\max(p - q, 0) = p - \min(p, q)$, the residual's sum is $1 - \sum_w \min(q(w), p(w))$ as well, so that this way has probability exactly $p(v) - \min(q(v), p(v))$. The sum of both is $p(v)$.
#
# (b) A better draft changes only the speed: the probability of acceptance is $\sum_w \min(q(w), p(w))$, so that more guesses stay for each call of the target. If a rejected guess were replaced by a token from $p$ itself,
# tokens with $q(v) > p(v)$ would come out too often, since they have had their full share by way of acceptance, and tokens that the draft neglects would come out too seldom.
#
# Rubric: 1 point for the probability of acceptance as $\min(p, q)$; 1 point for the residual that fills up exactly what is missing; 1 point for "only the speed" together with the bias towards what the draft prefers.
# ### END SOLUTION

# %% [markdown]
# ## Now use it
#
# No points here, and grading leaves the next cell out. It trains a small language model on the documentation that comes with Python, under your `window_mask` and with your
# `rope_frequencies`. Then the model writes, with your `RollingCache` and your `token_probabilities`. Take the `#` off the last line and run it: it takes less than half a minute on one core.

# %% active="ipynb" nbgrader={"grade_id": "now_use_it", "locked": true}
# import time
# from pydoc_data.topics import topics
#
# from torch import nn
# from torch.nn import functional as F
#
# WINDOW, SINKS, WIDTH, HEADS = 24, 2, 64, 4
#
#
# class Layer(nn.Module):
#     """Attention that looks back a few positions, and a feed-forward network."""
#
#     def __init__(self):
#         super().__init__()
#         self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
#         self.project, self.merge = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
#         self.think = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH))
#
#     def turned(self, x, positions):
#         angles = positions[:, None] * rope_frequencies(WIDTH // HEADS, 10000.0, 1.0, 64, "linear").float()
#         first, second = x[..., 0::2], x[..., 1::2]
#         parts = first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()
#         return torch.stack(parts, dim=-1).flatten(-2)
#
#     def forward(self, x, positions, cache=None):
#         """x: (B, T, WIDTH), the newest positions; cache: of what came before, if it is in none of x."""
#         query, key, value = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.project(self.norm1(x)).chunk(3, dim=-1))
#         query, key = self.turned(query, positions), self.turned(key, positions)
#         if cache is None:
#             mask = window_mask(len(positions), len(positions), WINDOW, SINKS)
#         else:
#             # a single query, to which everything that comes back is visible
#             (key, value, _), mask = cache.update(key, value, positions), None
#         found, _ = attention(query, key, value, mask)
#         x = x + self.merge(found.transpose(1, 2).flatten(2))
#         return x + self.think(self.norm2(x))
#
#
# def now_use_it(seconds=18, length=64):
#     if still_missing("window_mask", "rope_frequencies", "RollingCache", "token_probabilities"):
#         return
#     torch.manual_seed(0)
#     text = " ".join(" ".join(topics[name] for name in sorted(topics)).split())
#     letters = sorted(set(text))
#     number = {letter: n for n, letter in enumerate(letters)}
#     tokens = torch.tensor([number[letter] for letter in text])
#     embed, layers, logits = nn.Embedding(len(letters), WIDTH), nn.ModuleList([Layer(), Layer()]), nn.Linear(WIDTH, len(letters))
#     model = nn.ModuleList([embed, layers, logits])
#     optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
#     begun = time.process_time()
#     while (left := 1 - (time.process_time() - begun) / seconds) > 0:
#         starts = torch.randint(len(tokens) - length, (24, 1))
#         batch = tokens[starts + torch.arange(length + 1)]
#         x, positions = embed(batch[:, :-1]), torch.arange(length)
#         for layer in layers:
#             x = layer(x, positions)
#         loss = F.cross_entropy(logits(x).flatten(0, 1), batch[:, 1:].flatten())
#         optimiser.param_groups[0]["lr"] = 0.003 * left
#         optimiser.zero_grad()
#         loss.backward()
#         optimiser.step()
#     print(f"{loss.item() / math.log(2):.2f} bits for each character. It writes:\n")
#     written, caches = tokens[:1].tolist(), [RollingCache(SINKS, WINDOW) for _ in layers]
#     with torch.no_grad():
#         for position in range(400):
#             x, positions = embed(torch.tensor([written[-1:]])), torch.tensor([position])
#             for layer, cache in zip(layers, caches):
#                 x = layer(x, positions, cache)
#             p = token_probabilities(logits(x)[0, 0], temperature=0.8, top_p=0.9)
#             written.append(torch.multinomial(p, 1).item())
#     print("".join(letters[token] for token in written))
#
#
# # now_use_it()
