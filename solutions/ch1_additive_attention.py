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
# # Exercise 1: Additive attention
#
# You build the attention of Bahdanau, Cho and Bengio (2015) in four steps: the alignment scores and the
# context in NumPy, then both as a PyTorch module, then one step of a decoder that uses it.
# Chapter 1 has the ideas, worked out for one query. Here everything comes in batches.
#
# **The core** is tasks 1 and 2: about 90 minutes, by our estimate. Later exercises need none of these functions, but
# each of them meets the softmax under a mask of task 2 again.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks all are equal.
# When you are graded, the same checks run on other inputs. Keep the names and the arguments as they are;
# helper functions of your own are welcome.
# Most inputs are in float64, and then six digits of each number have to be correct: compute in the data type of what you get. A tensor that you make of plain numbers is float32 unless you say otherwise, and so is its root: `torch.zeros(3)`, `torch.tensor(5).sqrt()`.
#
# Where a check fails, call `hint()` in a cell of your own: each call helps a little more. `failing_case()` gives inputs on which your answer is wrong, small ones where there are any.
# Where it passes, `discuss()` shows other ways to write it. `progress()` shows your points and what is open.
#
# The letters are the same everywhere in this notebook:
#
# | letter | size |
# |---|---|
# | `B` | examples in the batch |
# | `S` | source positions |
# | `Dq`, `Dk`, `Dv` | width of a query, a key, a value |
# | `A` | hidden width of the attention |
# | `E`, `H` | width of the decoder's embedding and of its state |

# %% nbgrader={"grade_id": "imports", "locked": true}
import numpy as np
import torch
from torch import nn

# %% [markdown]
# ## 1. Alignment scores
#
# Score how well each source position fits what the decoder is looking for. Each example has one query $q$
# and $S$ keys $k_1, \dots, k_S$, and the score of position $i$ is
#
# $$e_i = v^\top \tanh(W_q\, q + W_k\, k_i).$$
#
# A small case to check by hand, with $B = 1$, $D_q = 2$, $D_k = 1$, $A = 2$:
#
# - $q = (1, 2)$, $W_q$ is the identity, so $W_q\, q = (1, 2)$
# - the keys are $-1$ and $0$, $W_k$ is the column $(1, 2)$, so $W_k\, k_i$ is $(-1, -2)$ and $(0, 0)$
# - with $v = (1, -1)$ the scores are $0$ and $\tanh 1 - \tanh 2 \approx -0.2024$.
#
# The projected query has no source axis and the projected keys have one. Write both shapes down
# before you add them. The numbers may be large: `np.tanh` can take them.


# %% nbgrader={"grade_id": "additive_scores", "solution": true}
def additive_scores(
    query: np.ndarray, key: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Score every key against its example's query.

    Source: Bahdanau et al. (2015), appendix A.1.2.

    Args:
        query: (B, Dq), one query per example.
        key: (B, S, Dk), the keys of each example.
        w_q: (A, Dq), projects the query.
        w_k: (A, Dk), projects each key.
        v: (A,), turns the hidden layer into one number.

    Returns:
        (B, S), the scores before any softmax.
    """
    ### BEGIN SOLUTION
    projected_query = query @ w_q.T  # (B, A)
    projected_key = key @ w_k.T  # (B, S, A)
    return np.tanh(projected_query[:, None] + projected_key) @ v  # (B, S)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "additive_scores_values", "grade": true, "points": 4}
# B, S, Dq, Dk, A = draw.sizes(5)
# query, key = draw.array(B, Dq), draw.array(B, S, Dk)
# w_q, w_k, v = draw.array(A, Dq), draw.array(A, Dk), draw.array(A)
# n = draw.integer(4, 7)
# equal_query, equal_key = draw.array(n, n), draw.array(n, n, n)
# equal_w_q, equal_w_k, equal_v = draw.array(n, n), draw.array(n, n), draw.array(n)
# equal("what an example gives depends on the other examples of the batch", scores_example_alone)
# equal("in another order the keys give other scores", scores_other_order)
# says("scores every key against its example's query")
# ### 2p AUTOTEST additive_scores(query, key, w_q, w_k, v)
# says("is right where all sizes are equal")
# ### 1p AUTOTEST additive_scores(equal_query, equal_key, equal_w_q, equal_w_k, equal_v)
# says("is right for large queries, where each tanh is nearly -1 or 1, and where a size is 1",
#     parts=["large queries", "one example", "one position", "hidden width 1"])
# ### 1p AUTOTEST scores_edges

# %% [markdown]
# ## 2. Weights and context
#
# Turn the scores into weights, with a softmax over the source positions, and the values into one context, their
# weighted sum.
#
# A small case: scores $(0, \ln 3)$ and values $(4, 0)$, $(8, 4)$ give weights $(1/4, 3/4)$ and
# the context $(7, 3)$. With `mask` $=$ `(True, False)` the weights are $(1, 0)$ and the context is $(4, 0)$.
#
# Two cases need care:
#
# - **Padding.** `mask` is boolean and `True` means *may attend*. A position with `False` gets weight
#   exactly 0, however large its score is, and the weights of the others sum to 1. `mask=None` means that every
#   position may be attended to. Every example has at least one `True`; chapter 4 deals with those that have none.
# - **Large scores.** `np.exp(10000)` overflows, and `np.exp(-10000)` is 0. Adding the same number to all the scores of one
#   example does not change its weights, so you are free to choose a better one.


# %% nbgrader={"grade_id": "attend", "solution": true}
def attend(
    scores: np.ndarray, value: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn scores into weights, and weights into one context vector per example.

    Source: Bahdanau et al. (2015), equations 5 and 6. The arguments are left unchanged.

    Args:
        scores: (B, S), of both signs, up to a million in size.
        value: (B, S, Dv), what is averaged.
        mask: (B, S), boolean, True = may attend, at least once in each row. None = all may be
            attended to.

    Returns:
        context (B, Dv) and weights (B, S). Each row of weights sums to 1.
    """
    ### BEGIN SOLUTION
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)  # (B, S)
    context = np.einsum("bs,bsd->bd", weights, value)  # (B, Dv)
    return context, weights
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "attend_values", "grade": true, "points": 4}
# B, S, Dv = draw.sizes(3, low=4)
# scores, value, mask = 2 * draw.array(B, S), draw.array(B, S, Dv), draw.mask(B, S)
# n = draw.integer(4, 7)
# equal_scores, equal_value, equal_mask = 2 * draw.array(n, n), draw.array(n, n, n), draw.mask(n, n)
# equal("what an example gives depends on the other examples of the batch", attend_example_alone)
# equal("one number added to all scores changes the weights", attend_shifted_scores)
# says("weights and context are right without a mask", parts=["context", "weights"])
# ### 2p AUTOTEST attend(scores, value)
# says("padding gets weight 0, and the other weights sum to 1", parts=["context", "weights"])
# ### 1p AUTOTEST attend(scores - 9, value, mask)
# says("is right where all sizes are equal", parts=["context", "weights"])
# ### 1p AUTOTEST attend(equal_scores, equal_value, mask=equal_mask)

# %% active="ipynb" nbgrader={"grade_id": "attend_edges", "grade": true, "points": 4}
# B, S, Dv = draw.sizes(3, low=4)
# scores, value = draw.array(B, S), draw.array(B, S, Dv)
# mask = draw.mask(B, S)
# below = (1 + draw.permutation(B))[:, None]
# equal("a context moves when only scores change that the mask hides", attend_hidden_scores)
# says("is right for large scores, and where a size is 1", parts=(["scores around 10000",
#     "one example, large scores of both signs", "one position", "values of width 1"], ["context",
#     "weights"]))
# ### 1p AUTOTEST attend_large_scores
# says("is right where the scores of one example lie far below those of another",
#     parts=("by {step:g}", ["context", "weights"]))
# ### 1p AUTOTEST [attend(scores - step * below, value, mask) for step in (1e4, 1e5)]
# says("a masked score has no influence, however large it is", parts=["context", "weights"])
# ### 1p AUTOTEST attend(np.where(mask, scores, 1e5 + scores), value, mask)
# says("leaves its arguments as they were, with a mask and without", parts=(["with a mask",
#     "without"], ["scores", "value", "mask", "result"], ["context", "weights"]))
# ### 1p AUTOTEST attend_leaves_arguments

# %% [markdown]
# ## 3. The same as a PyTorch module
#
# Make a module of the two functions, so that its three weight matrices can be learned. With equal weights it returns what
# your two NumPy functions return; as in Bahdanau's model, the values are the keys themselves.
#
# The module has three linear layers **without bias**, under exactly these names, because the checks set their weights
# by name:
#
# | attribute | from | to |
# |---|---|---|
# | `w_q` | `d_query` | `d_hidden` |
# | `w_k` | `d_key` | `d_hidden` |
# | `v` | `d_hidden` | 1 |
#
# - The rules for `mask` and for large scores are those of task 2.
# - Gradients reach all three layers and both inputs, and the inputs stay as they were.
# - One module is called many times, with batches of different sizes, and no call has an influence on the next.
#
# `v` returns `(B, S, 1)`, and the weights have to be `(B, S)`. Which axis do you drop, and what happens to your code
# when `B` is 1?


# %% nbgrader={"grade_id": "additive_attention", "solution": true}
class AdditiveAttention(nn.Module):
    """Additive attention with learned weights; the values are the keys.

    Source: Bahdanau et al. (2015), equations 5 and 6 and appendix A.1.2.

    Args:
        d_query: width Dq of a query.
        d_key: width Dk of a key.
        d_hidden: width A of the hidden layer.

    Attributes:
        w_q, w_k, v: the linear layers, without bias.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)
        ### END SOLUTION

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Attend to the keys.

        Args:
            query: (B, Dq).
            key: (B, S, Dk).
            mask: (B, S), boolean, True = may attend, at least once in each row. None = all may
                be attended to.

        Returns:
            context (B, Dk) and weights (B, S).
        """
        ### BEGIN SOLUTION
        hidden = torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))  # (B, S, A)
        scores = self.v(hidden).squeeze(-1)  # (B, S)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        context = torch.einsum("bs,bsd->bd", weights, key)  # (B, Dk)
        return context, weights
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "additive_attention_values", "grade": true, "points": 6}
# B, S, Dq, Dk, A = draw.sizes(5, low=4)
# query, key, mask = draw.tensor(B, Dq), draw.tensor(B, S, Dk), torch.from_numpy(draw.mask(B, S))
# other_query, by_position = draw.tensor(B + 1, Dq), draw.tensor(S + 2, B + 1, Dk)
# n = draw.integer(4, 7)
# equal_query = draw.tensor(n, n)
# equal_key = draw.tensor(n, n, n)
# equal_mask = torch.from_numpy(draw.mask(n, n))
# equal("what an example gives depends on the other examples of the batch", additive_example_alone)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     additive_modes)
# equal("in another order the keys give another context", additive_keys_in_other_order)
# equal("a result moves when only keys change that the mask hides", additive_hidden_keys)
# unequal("the mask has no influence on the weights", additive_mask_or_none)
# unequal("the query has no influence on the weights", additive_other_query)
# says("has the layers w_q, w_k and v, without bias")
# ### 1p AUTOTEST parameter_shapes(AdditiveAttention(Dq, Dk, A))
# says("weights and context are right without a mask", parts=["context", "weights"])
# ### 1p AUTOTEST fill(AdditiveAttention(Dq, Dk, A))(query, key)
# says("padding gets weight 0, and a mask counts for its own call only, in training mode too",
#     parts=(["first mask", "another mask", "then without a mask"], ["context", "weights"]))
# ### 1p AUTOTEST additive_masks
# says("works with a single example in the batch, and with a single position",
#     parts=(["one example", "one position"], ["context", "weights"]))
# ### 1p AUTOTEST additive_single
# says("is right where all sizes are equal", parts=["context", "weights"])
# ### 1p AUTOTEST fill(AdditiveAttention(n, n, n))(equal_query, equal_key, equal_mask)
# says("one module, called four times: no call has an influence on the next", parts=(["first call",
#     "the same inputs after the weights have changed", "third call", "fourth call"], ["context",
#     "weights"]))
# ### 1p AUTOTEST additive_four_calls

# %% active="ipynb" nbgrader={"grade_id": "additive_attention_gradients", "grade": true, "points": 4}
# B, S, Dq, Dk, A = draw.sizes(5, low=4)
# query, key = draw.tensor(B, Dq), draw.tensor(B, S, Dk)
# mask = torch.from_numpy(draw.mask(B, S))
# mask[draw.integer(0, B - 1)] = torch.arange(S) == draw.integer(0, S - 1)
# says("passes gradients to both inputs and all three layers", parts=["query", "key"])
# ### 1p AUTOTEST gradients(fill(AdditiveAttention(Dq, Dk, A)), query, key)
# says("passes gradients also where there is a mask", parts=["query", "key"])
# ### 1p AUTOTEST gradients(fill(AdditiveAttention(Dq, Dk, A)), query, key, mask)
# says("is right where v is large, and so are the scores, masked ones too", parts=(["v as it is",
#     "v times 200000", "v times 200000, inputs negated", "v times 200000, no mask"], ["context",
#     "weights"]))
# ### 1p AUTOTEST additive_large_scores
# says("leaves its inputs as they were, and works in float32", parts=(["query", "key", "mask",
#     "result"], ["context", "weights"]))
# ### 1p AUTOTEST additive_leaves_inputs

# %% [markdown]
# ## 4. One step of the decoder
#
# Take one step of the decoder: it first looks at the source, then updates its state.
#
# 1. Attend to the keys with the **previous** state as the query, and obtain the context.
# 2. Join the embedding of the previous word and the context, **in this order**: `[embedded; context]`.
# 3. Give that to an `nn.GRUCell`, together with the previous state, and obtain the new state.
#
# - Use your `AdditiveAttention` under the name `attention` and an `nn.GRUCell` under the name `cell`.
# - The state comes in as an argument and goes out as a result: the module keeps nothing from one call to the next.


# %% nbgrader={"grade_id": "attention_decoder_step", "solution": true}
class AttentionDecoderStep(nn.Module):
    """One step of a recurrent decoder with additive attention.

    Source: Bahdanau et al. (2015), section 3.1 and appendix A.2.2.

    Args:
        d_embed: width E of an embedded word.
        d_state: width H of the decoder's state.
        d_key: width Dk of a key.
        d_hidden: width A of the attention's hidden layer.

    Attributes:
        attention: the AdditiveAttention, with the state as query.
        cell: the nn.GRUCell over [embedded; context].
    """

    def __init__(self, d_embed: int, d_state: int, d_key: int, d_hidden: int):
        super().__init__()
        ### BEGIN SOLUTION
        self.attention = AdditiveAttention(d_state, d_key, d_hidden)
        self.cell = nn.GRUCell(d_embed + d_key, d_state)
        ### END SOLUTION

    def forward(
        self,
        embedded: torch.Tensor,
        state: torch.Tensor,
        key: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Take one step.

        Args:
            embedded: (B, E), the embedded previous word.
            state: (B, H), the previous state.
            key: (B, S, Dk), the encoder's states.
            mask: (B, S), boolean, True = may attend, at least once in each row. None = all may be
                attended to.

        Returns:
            new_state (B, H), context (B, Dk) and weights (B, S).
        """
        ### BEGIN SOLUTION
        context, weights = self.attention(state, key, mask)
        new_state = self.cell(torch.cat([embedded, context], dim=-1), state)
        return new_state, context, weights
        ### END SOLUTION


# %% [markdown]
# The first check below has a single source position. Its weight is 1 whatever its score,
# so that check looks at your cell alone.

# %% active="ipynb" nbgrader={"grade_id": "decoder_step_values", "grade": true, "points": 7}
# B, S, E, H, Dk, A = draw.sizes(6, low=4)
# embedded, state, key = draw.tensor(B, E), draw.tensor(B, H), draw.tensor(B, S, Dk)
# key[:, 1] = 0
# mask = torch.from_numpy(draw.mask(B, S))
# n = draw.integer(4, 7)
# equal = [draw.tensor(n, n) for _ in range(2)]
# equal_key = draw.tensor(n, n, n)
# equal_mask = torch.from_numpy(draw.mask(n, n))
# other, other_key = [draw.tensor(B, n) for _ in range(2)], draw.tensor(B, S, n)
# says("the cell is right: with one source position, the weight is 1 anyway", parts=["new state",
#     "context", "weights"])
# ### 2p AUTOTEST fill(AttentionDecoderStep(E, H, Dk, A))(embedded, state, key[:, :1])
# says("new state, context and weights are right", parts=["new state", "context", "weights"])
# ### 2p AUTOTEST fill(AttentionDecoderStep(E, H, Dk, A))(embedded, state, key)
# says("the attention is called attention, and gets the mask, in training mode too",
#     parts=["the step", "step.attention"])
# ### 1p AUTOTEST step_masked
# says("one module, called five times: it keeps nothing between the calls", parts=(["first call",
#     "second call", "third call", "fourth call", "fifth call, one example"], ["new state",
#     "context", "weights"]))
# ### 1p AUTOTEST step_five_calls
# says("passes gradients to all three inputs and to every layer", parts=["embedded", "state",
#     "key"])
# ### 1p AUTOTEST gradients(fill(AttentionDecoderStep(E, H, Dk, A)), embedded, state, key)

# %% [markdown] nbgrader={"grade_id": "previous_state", "grade": true, "solution": true, "points": 3}
# **Written answer.** Bahdanau's decoder computes the scores from its previous state $s_{t-1}$.
# Why can it not use the new state $s_t$ in this design? And which layers of your module would receive no training signal
# if the scores were computed from the query alone, without the keys? Explain in two to five sentences.
#
# ### BEGIN SOLUTION
# The new state is computed from the context, and the context from the weights. Weights that needed the
# new state would need themselves, so only the previous state is available. If the keys did not enter the
# scores, all positions of an example would get the same score, the weights would be uniform whatever the
# query, and the context a plain average. Equal changes of all scores leave a softmax unchanged, so the
# gradient of `w_q` and `v` would be zero, and `w_k` would not be used at all: none of the three layers
# could learn.
#
# Rubric: 1 point for the circle (context before new state), 1 point for uniform weights or scores that cancel in the softmax,
# 1 point for the conclusion that no layer learns (`w_k` unused, `w_q` and `v` with zero gradient).
# ### END SOLUTION

# %% [markdown]
# ## Now use it
#
# No points here, and grading leaves the next cell out. It trains a translator with your `AttentionDecoderStep`: from German number words to English ones, where *drei und vierzig* (three and forty)
# becomes *forty three*. So the words cross. Then it draws where your attention looks in a number that the translator never saw. Take the `#` off the last line and run it: it takes less than half a minute
# on one core. What will the map look like where the words cross? Ask for another number with `shown`.

# %% active="ipynb" nbgrader={"grade_id": "now_use_it", "locked": true}
# import time
#
# from torch.nn import functional as F
#
# GERMAN = "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn".split()
# ENGLISH = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
# GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()
# ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
#
#
# def in_words(n, german):
#     """A number below 10,000, word by word."""
#     for size, name in (1000, "tausend" if german else "thousand"), (100, "hundert" if german else "hundred"):
#         if n >= size:
#             return [*in_words(n // size, german), name, *(in_words(n % size, german) if n % size else [])]
#     if n < 20:
#         return [(GERMAN if german else ENGLISH)[n]]
#     tens, ones = [(GERMAN_TENS if german else ENGLISH_TENS)[n // 10 - 2]], in_words(n % 10, german) if n % 10 else []
#     return [*ones, "und", *tens] if german and ones else [*tens, *ones]
#
#
# class Translator(nn.Module):
#     """A recurrent encoder that reads both ways, and your step as the decoder."""
#
#     def __init__(self, n_source, n_target, width=48):
#         super().__init__()
#         self.embed, self.embed_target = nn.Embedding(n_source, width), nn.Embedding(n_target, width)
#         self.encoder = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
#         self.step = AttentionDecoderStep(width, width, width, width)
#         self.start, self.logits = nn.Linear(width, width), nn.Linear(2 * width, n_target)
#
#     def forward(self, source, target):
#         """Logits (B, T, V) for the words of the target, and weights (B, T, S)."""
#         key, mask = self.encoder(self.embed(source))[0], source > 0
#         state = torch.tanh(self.start(key.mean(dim=1)))
#         embedded = self.embed_target(F.pad(target[:, :-1], (1, 0)))
#         found = []
#         for t in range(target.shape[1]):
#             state, context, weights = self.step(embedded[:, t], state, key, mask)
#             found.append((self.logits(torch.cat([state, context], dim=-1)), weights))
#         return [torch.stack(parts, dim=1) for parts in zip(*found)]
#
#
# def now_use_it(seconds=20, shown=2743):
#     if still_missing("AdditiveAttention", "AttentionDecoderStep"):
#         return
#     torch.manual_seed(0)
#     numbers = [n for n in torch.randperm(9999).add(1).tolist() if n != shown]
#     both = [[in_words(n, german) for n in [shown, *numbers]] for german in (True, False)]
#     vocabularies = [["", *sorted({word for words in sentences for word in words})] for sentences in both]
#     source, target = (
#         nn.utils.rnn.pad_sequence([torch.tensor([vocabulary.index(word) for word in words]) for words in sentences], batch_first=True)
#         for sentences, vocabulary in zip(both, vocabularies)
#     )
#     model = Translator(*map(len, vocabularies))
#     optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
#     begun = time.process_time()
#     while (left := 1 - (time.process_time() - begun) / seconds) > 0:
#         # the first 1,000 are kept for asking
#         rows = torch.randint(1000, len(source), (64,))
#         loss = F.cross_entropy(model(source[rows], target[rows])[0].flatten(0, 1), target[rows].flatten())
#         optimiser.param_groups[0]["lr"] = 0.005 * left
#         optimiser.zero_grad()
#         loss.backward()
#         optimiser.step()
#     with torch.no_grad():
#         logits, weights = model(source[:1000], target[:1000])
#     right = (logits.argmax(-1) == target[:1000])[target[:1000] > 0].double().mean().item()
#     print(f"{right:.1%} of the words of 1,000 numbers that it never saw are right, after the right words before them.\n")
#     german, english = both[0][0], both[1][0]
#     weights = weights[0, : len(english), : len(german)]
#     for word, row in zip(english, weights):
#         print(f"{word:>10} looks at " + ", ".join(f"{german[s]} {row[s]:.2f}" for s in row.topk(2).indices))
#     try:
#         import matplotlib.pyplot as plt
#     except ImportError:
#         print("There is no matplotlib here, so there is no map.")
#         return
#     plt.imshow(weights, cmap="Blues", vmin=0, vmax=1)
#     plt.xticks(range(len(german)), german, rotation=45)
#     plt.yticks(range(len(english)), english)
#     plt.title("Rows: the word that is written. Columns: where it looks.")
#     plt.show()
#
#
# # now_use_it()
