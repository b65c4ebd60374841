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
# # Exercise 6: The Transformer
#
# Everything is there: attention, heads, masks, positions. Here you put them together, first into the two layers of the
# Transformer (Vaswani et al., 2017) and then into the whole model. Chapter 6 has the ideas, and what happens where one of them is left out.
#
# **The core** is tasks 1 to 3 and task 5, which later exercises use: about 90 minutes, by our estimate. Task 4 puts the layers together.
#
# Replace each `raise NotImplementedError(...)` with your code and run the check below it.
# A check draws inputs and compares your values with the correct ones. Mostly all sizes differ; in some checks they are equal.
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
# | `B` | examples in a batch |
# | `S` | source tokens |
# | `T` | target tokens |
# | `D` | `d_model`, the width of the vectors |
# | `H` | heads; `H` divides `D` |
# | `F` | `d_ff`, the width inside the feed-forward network |
# | `V` | tokens in the vocabulary of the target |
#
# A mask is boolean, and `True` means *may attend*. The grader sets weights by the names of your attributes, so these names are part of each task. PyTorch knows a layer by the first name that it gets, so give it this name before you put it into a list or an `nn.Sequential` as well. Modules and buffers without
# weights, such as dropout and positions, may have any name. No function and no module changes its arguments, and none remembers anything from one call to the next: a module may be called with a long sentence first and with a short one afterwards.
#
# The cell *What you have built so far* holds what earlier exercises built: `attention` (2), `MultiHeadAttention` (3), `causal_mask`, `combine` and
# `from_key_padding` (4), `PositionalEncoding` (5). You may put your own in their place. You need nothing else: PyTorch's ready-made attention and Transformer layers must not be called here.

# %% nbgrader={"grade_id": "imports", "locked": true}
from collections.abc import Callable

import torch
from torch import nn

from solutions.ch2_scaled_dot_product import attention
from solutions.ch3_multi_head import MultiHeadAttention, merge_heads, split_heads  # noqa: F401
from solutions.ch4_masking import causal_mask, combine, from_key_padding
from solutions.ch5_positional_encoding import PositionalEncoding, sinusoidal  # noqa: F401

# %% [markdown]
# ## 1. The feed-forward network
#
# Write the network that computes at each position by itself: two linear layers with a ReLU between them.
#
# $$\operatorname{FFN}(x) = W_2 \max(0,\, W_1 x + b_1) + b_2$$
#
# A small case: with `D = F = 2`, both matrices the identity and no biases, $(3, -5)$ becomes $(3, 0)$.
#
# - `linear1` leads from `D` to `F`, `linear2` back from `F` to `D`, both `nn.Linear` with bias.
# - In training mode, dropout acts on the output of the ReLU, nowhere else, and what remains is scaled up as `nn.Dropout` does it. `dropout` may be anything from 0 to 1; at 1 nothing remains, and nothing is NaN.


# %% nbgrader={"grade_id": "FeedForward", "solution": true}
class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for every position.

    Source: Vaswani et al. (2017), equation 2.

    Args:
        d_model: width D of the vectors that come in and go out.
        d_ff: width F in between.
        dropout: the probability of dropping an entry after the ReLU, in training mode.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Work on every position.

        Args:
            x: (..., D).

        Returns:
            (..., D).
        """
        ### BEGIN SOLUTION
        return self.linear2(self.dropout(self.linear1(x).relu()))
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "feed_forward_values", "grade": true, "points": 4}
# B, T, D = draw.sizes(3, low=2)
# F = draw.integer(10, 12)
# x, rate, wide = draw.tensor(B, T, D), draw.integer(200, 600) / 1000, draw.integer(200, 220)
# square, one = draw.tensor(T, T), draw.tensor(2)
# equal("what a position gives depends on other positions", without_first_position)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     feed_forward_modes)
# says("gives the right values for a batch")
# ### 1p AUTOTEST fill(FeedForward(D, F))(x)
# says("passes the right gradients to its input and its weights")
# ### 1p AUTOTEST gradients(fill(FeedForward(D, F)), x)
# says("drops nothing in evaluation mode or at rate 0, and takes inputs of other shapes")
# ### 1p AUTOTEST feed_forward_shapes
# says("drops what the ReLU gives in training mode, and scales up what remains",
#     parts=["at dropout=1.0", "what becomes of a number in training",
#     "whether equal examples, and equal positions, come out alike"])
# ### 1p AUTOTEST feed_forward_dropout

# %% [markdown]
# ## 2. The encoder layer
#
# Write the layer that reads: self-attention, then the feed-forward network. Each of these two sublayers has a residual connection and a layer normalisation, in one of two orders:
#
# | `norm_first` | a sublayer `f` turns `x` into | who does it |
# |---|---|---|
# | `True` | `x + dropout(f(norm(x)))` | most models since about 2019 |
# | `False` | `norm(x + dropout(f(x)))` | figure 1 of the paper |
#
# A small case: if both sublayers return zeros, the layer with `norm_first=True` returns `x` itself.
#
# - The parts are called `self_attention` (a `MultiHeadAttention` with bias), `feed_forward`, `norm1` (for the attention) and `norm2` (for the feed-forward network). The norms are
#   `nn.LayerNorm` as PyTorch makes them, `eps` included.
# - In self-attention the same tensor is query, key and value.
# - `attention` is the function that the heads use, and `dropout` is also the dropout of the feed-forward network. Nothing else is dropped; attention weights, for example, aren't.


# %% nbgrader={"grade_id": "EncoderLayer", "solution": true}
class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with residual and layer norm.

    Source: Vaswani et al. (2017), section 3.1; with norm_first, Xiong et al. (2020), figure 1 (b).

    Args:
        d_model: width D of the vectors.
        n_heads: number of heads.
        d_ff: width inside the feed-forward network.
        dropout: the probability of dropping an entry of a sublayer's result before it is added.
        norm_first: normalise what goes into a sublayer (True) or the sum that comes after it (False).
        attention: function of (query, key, value, mask) that returns (output, weights or None).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
        attention: Callable = attention,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first
        ### END SOLUTION

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Let every position look at the others, then think by itself.

        Args:
            x: (B, S, D).
            mask: broadcastable to (B, H, S, S), boolean, True = may attend. None = no mask.

        Returns:
            (B, S, D).
        """
        ### BEGIN SOLUTION
        if self.norm_first:
            normed = self.norm1(x)
            x = x + self.dropout(self.self_attention(normed, normed, normed, mask)[0])
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "encoder_layer_values", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention", "Transformer")
# B, S, H, d = draw.sizes(4, low=3, high=7)
# F = draw.integer(10, 12)
# D = H * d
# x = draw.tensor(B, S, D)
# mask, padding = torch.from_numpy(draw.mask(B, H, S, S)), torch.from_numpy(draw.mask(B, 1, 1, S))
# equal("what an example gives depends on the other examples of the batch", encoder_examples_alone)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     encoder_modes)
# unequal("the mask has no influence", encoder_mask_or_none)
# equal("a result moves when only positions change that the mask hides", encoder_hidden_positions)
# equal("in another order the positions give other results, though there is no mask",
#     encoder_other_order)
# unequal("a position isn't influenced by the others", encoder_position_alone)
# says("is right with norm_first and a mask for each head")
# ### 2p AUTOTEST fill(EncoderLayer(D, H, F))(x, mask)
# says("is right without norm_first, with a mask for each head")
# ### 2p AUTOTEST fill(EncoderLayer(D, H, F, norm_first=False))(x, mask)
# says("is right without a mask", parts="norm_first={first}")
# ### 1p AUTOTEST encoder_without_mask
# says("is right with large inputs and a mask of padding, of shape (batch, 1, 1, S)")
# ### 1p AUTOTEST fill(EncoderLayer(D, H, F))(6 * x, mask=padding)

# %% active="ipynb" nbgrader={"grade_id": "encoder_layer_edges", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention", "Transformer")
# B, S, H = draw.sizes(3, low=3, high=6)
# F = draw.integer(7, 9)
# D = 2 * H
# x, rate, share = draw.tensor(B, S, D), draw.integer(20, 60) / 100, draw.integer(300, 700) / 1000
# wide = draw.tensor(1, 1, 48)
# mask = torch.from_numpy(draw.mask(B, 1, S, S))
# with_empty = torch.from_numpy(draw.mask(B, H, S, S, empty=2))
# cube, square = draw.tensor(H, H, D), torch.from_numpy(draw.mask(H, 1, H, H))
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     encoder_modes)
# equal("a second call with the same inputs gives another result", encoder_twice)
# equal("an earlier call has an influence on a later one", encoder_after_other_calls)
# says("passes the right gradients to its input and its weights", parts="norm_first={first}")
# ### 1p AUTOTEST encoder_gradients
# says("is right in training mode without dropout, also where a query may see nothing",
#     parts="norm_first={first}")
# ### 1p AUTOTEST encoder_training_without_dropout
# says("drops nothing in evaluation mode", parts="norm_first={first}")
# ### 1p AUTOTEST [fill(EncoderLayer(D, H, F, rate, first))(x, mask) for first in (True, False)]
# says("drops entries of the sublayers' results in training mode, and hands its rate on",
#     parts=["at dropout=1.0", "what becomes of an entry, or whether it has no gradient"])
# ### 1p AUTOTEST encoder_dropout
# says("may be called again with other sizes, some of them equal",
#     parts=["1st call, norm_first=True", "2nd call, norm_first=True", "3rd call, norm_first=True",
#     "4th call, with a mask, norm_first=True", "5th call, other inputs, no mask, norm_first=True",
#     "6th call, another mask, norm_first=True", "7th call, a mask (S, S), norm_first=True",
#     "1st call, norm_first=False", "2nd call, norm_first=False", "3rd call, norm_first=False",
#     "4th call, with a mask, norm_first=False",
#     "5th call, other inputs, no mask, norm_first=False",
#     "6th call, another mask, norm_first=False", "7th call, a mask (S, S), norm_first=False"])
# ### 1p AUTOTEST encoder_many_calls
# says("uses the attention that it is given")
# ### 1p AUTOTEST encoder_given_attention

# %% [markdown]
# ## 3. The decoder layer
#
# Write the layer that writes. It has three sublayers: self-attention among the targets, *cross-attention* from the targets to the memory (the encoder's result), and the feed-forward network.
# Residuals, norms and dropout are as in the encoder. A small case: with one target and a memory of one position, every attention weight is 1.
#
# - The parts are called `self_attention`, `cross_attention`, `feed_forward`, and `norm1`, `norm2` and `norm3` in this order.
# - In cross-attention the targets ask: they are the query, and the memory is key and value. The memory goes in as it is, with no norm of this layer on it.
# - `target_mask` belongs to the self-attention, `memory_mask` to the cross-attention.


# %% nbgrader={"grade_id": "DecoderLayer", "solution": true}
class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to the memory, then a feed-forward network.

    Source: Vaswani et al. (2017), section 3.1; with norm_first, Xiong et al. (2020), figure 1 (b).

    Args:
        d_model: width D of the vectors, the memory's too.
        n_heads: number of heads.
        d_ff: width inside the feed-forward network.
        dropout: the probability of dropping an entry of a sublayer's result before it is added.
        norm_first: normalise what goes into a sublayer (True) or the sum that comes after it (False).
        attention: function of (query, key, value, mask) that returns (output, weights or None).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
        attention: Callable = attention,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first
        ### END SOLUTION

    def forward(
        self,
        y: torch.Tensor,
        memory: torch.Tensor,
        target_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Let every target look at the targets and at the memory, then think by itself.

        Args:
            y: (B, T, D), the targets.
            memory: (B, S, D).
            target_mask: broadcastable to (B, H, T, T), boolean, True = may attend. None = no mask.
            memory_mask: broadcastable to (B, H, T, S), likewise.

        Returns:
            (B, T, D).
        """
        ### BEGIN SOLUTION
        if self.norm_first:
            normed = self.norm1(y)
            y = y + self.dropout(self.self_attention(normed, normed, normed, target_mask)[0])
            normed = self.norm2(y)
            y = y + self.dropout(self.cross_attention(normed, memory, memory, memory_mask)[0])
            return y + self.dropout(self.feed_forward(self.norm3(y)))
        y = self.norm1(y + self.dropout(self.self_attention(y, y, y, target_mask)[0]))
        y = self.norm2(y + self.dropout(self.cross_attention(y, memory, memory, memory_mask)[0]))
        return self.norm3(y + self.dropout(self.feed_forward(y)))
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "decoder_layer_values", "grade": true, "points": 8}
# forbid("scaled_dot_product_attention", "MultiheadAttention", "Transformer")
# B, S, T, H, d = draw.sizes(5, low=3, high=7)
# F = draw.integer(10, 12)
# D = H * d
# y, memory = draw.tensor(B, T, D), draw.tensor(B, S, D)
# target_mask = torch.from_numpy(draw.mask(B, H, T, T))
# memory_mask = torch.from_numpy(draw.mask(B, H, T, S))
# padding = torch.from_numpy(draw.mask(B, 1, 1, S))
# unequal("the memory has no influence", decoder_other_memory)
# unequal("every position of the memory counts the same, whatever the target asks for",
#     decoder_mean_memory)
# equal("what an example gives depends on the other examples of the batch", decoder_examples_alone)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     decoder_modes_with_masks)
# equal("a result moves when only a part of the memory changes that its mask hides",
#     decoder_hidden_memory)
# equal("in another order the memory gives another result", decoder_memory_in_other_order)
# equal("in another order the targets give other results, though there is no mask",
#     decoder_targets_in_other_order)
# unequal("the mask of the memory has no influence", decoder_memory_mask_or_none)
# unequal("the mask of the targets has no influence", decoder_target_mask_or_none)
# says("is right with norm_first and both masks")
# ### 3p AUTOTEST fill(DecoderLayer(D, H, F))(y, memory, target_mask, memory_mask)
# says("is right without norm_first, with both masks")
# ### 2p AUTOTEST fill(DecoderLayer(D, H, F, norm_first=False))(y, memory, target_mask, memory_mask)
# says("is right without masks", parts="norm_first={first}")
# ### 1p AUTOTEST decoder_without_masks
# says("is right with a mask of padding for a large memory, and none for the targets")
# ### 1p AUTOTEST fill(DecoderLayer(D, H, F))(y, 3 * memory, memory_mask=padding)
# says("is right with a mask for the targets, and none for the memory")
# ### 1p AUTOTEST fill(DecoderLayer(D, H, F))(y, memory, target_mask=target_mask)

# %% active="ipynb" nbgrader={"grade_id": "decoder_layer_edges", "grade": true, "points": 6}
# forbid("scaled_dot_product_attention", "MultiheadAttention", "Transformer")
# B, S, T, H, d = draw.sizes(5, low=3, high=7)
# F = draw.integer(10, 12)
# D = H * d
# y = draw.tensor(B, T, D)
# memory = draw.tensor(B, S, D)
# rate = draw.integer(20, 60) / 100
# share = draw.integer(300, 700) / 1000
# wide = draw.tensor(1, 1, 48)
# target_mask = torch.from_numpy(draw.mask(T, T))
# memory_mask = torch.from_numpy(draw.mask(B, H, T, S, empty=2))
# square, more = draw.tensor(H, H, D), draw.tensor(H, H, D)
# masks = [torch.from_numpy(draw.mask(H, 1, H, H)), torch.from_numpy(draw.mask(H, 1, 1, H))]
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     decoder_modes_with_masks)
# equal("an earlier call has an influence on a later one", decoder_after_other_calls)
# unequal("the memory has no influence", decoder_other_memory)
# says("passes the right gradients to the targets and to the memory", parts="norm_first={first}")
# ### 1p AUTOTEST decoder_gradients
# says("is right in training mode without dropout, also where a target sees no memory",
#     parts="norm_first={first}")
# ### 1p AUTOTEST decoder_training_without_dropout
# says("drops nothing in evaluation mode", parts="norm_first={first}")
# ### 1p AUTOTEST decoder_evaluation_with_dropout
# says("drops entries of the sublayers' results in training mode, and hands its rate on",
#     parts=["at dropout=1.0", "what becomes of an entry, or whether it has no gradient"])
# ### 1p AUTOTEST decoder_dropout
# says("may be called again with other sizes, some of them equal",
#     parts=["1st call, norm_first=True", "2nd call, norm_first=True", "3rd call, norm_first=True",
#     "4th call, with masks, norm_first=True", "5th call, without any, norm_first=True",
#     "6th call, T equal to S, norm_first=True",
#     "7th call, other targets and memory, norm_first=True",
#     "8th call, other masks, norm_first=True", "1st call, norm_first=False",
#     "2nd call, norm_first=False", "3rd call, norm_first=False",
#     "4th call, with masks, norm_first=False", "5th call, without any, norm_first=False",
#     "6th call, T equal to S, norm_first=False",
#     "7th call, other targets and memory, norm_first=False",
#     "8th call, other masks, norm_first=False"])
# ### 1p AUTOTEST decoder_many_calls
# says("uses the attention that it is given, in both places")
# ### 1p AUTOTEST decoder_given_attention

# %% [markdown]
# ## 4. The Transformer
#
# Put the layers together into the whole model, from token numbers to logits. A small case: sources `(2, 5)` and targets `(2, 4)` give logits `(2, 4, V)`.
#
# | attribute | what it is |
# |---|---|
# | `source_embedding`, `target_embedding` | `nn.Embedding`, one for each vocabulary, not shared |
# | `encoder`, `decoder` | `nn.ModuleList` of `n_layers` encoder or decoder layers, each with weights of its own |
# | `encoder_norm`, `decoder_norm` | with `norm_first`, an `nn.LayerNorm` after the last layer: a sum that nobody has normalised yet would come out otherwise. Without `norm_first` there is no such norm: leave the attribute out, or make it `nn.Identity()` |
# | `project` | `nn.Linear` with bias, from `D` to the target's vocabulary, not tied to the embedding |
#
# - Tokens become vectors: the embedding, times $\sqrt D$, plus the sinusoidal positions (counted from 0, padding included), then dropout. Outside the layers, dropout acts nowhere else.
# - The masks are built here, from `pad`. No query attends to a key that is padding, wherever the padding stands: neither in the encoder, nor among the
#   targets, nor in the memory. A target attends to itself and to earlier targets only. All of this holds in training and in evaluation mode alike.
# - The output at positions that are padding themselves is never looked at. No sentence is all padding, and none is longer than 200 tokens.
# - `forward` is `decode` after `encode`. A program that translates calls `encode` once and `decode` for every new token.
#
# Two things are not graded. Start the embeddings with a standard deviation of $D^{-1/2}$, so that they are about as large as the positions once they have been
# scaled. And all other layers may start as PyTorch starts them.


# %% nbgrader={"grade_id": "Transformer", "solution": true}
class Transformer(nn.Module):
    """An encoder-decoder Transformer from token numbers to logits.

    Source: Vaswani et al. (2017), section 3.

    Args:
        source_vocab: number of tokens of the source language.
        target_vocab: number of tokens V of the target language.
        d_model: width D of the vectors, even.
        n_heads: number of heads, which divides d_model.
        n_layers: number of encoder layers, and of decoder layers; 0 = none.
        d_ff: width inside the feed-forward networks.
        dropout: the probability of dropping, in the layers and after the positions are added.
        pad: the token that is padding, in both languages.
        norm_first: as in the layers; True adds a layer norm at the end of encoder and decoder.
        attention: function of (query, key, value, mask) that returns (output, weights or None).
    """

    def __init__(
        self,
        source_vocab: int,
        target_vocab: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        dropout: float = 0.0,
        pad: int = 0,
        norm_first: bool = True,
        attention: Callable = attention,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.pad = pad
        self.scale = d_model**0.5
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=d_model**-0.5)
        self.positions = PositionalEncoding(d_model, dropout)
        sizes = d_model, n_heads, d_ff, dropout, norm_first, attention
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))
        self.encoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()
        self.project = nn.Linear(d_model, target_vocab)
        ### END SOLUTION

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        """Read the source.

        Args:
            source: (B, S), token numbers.

        Returns:
            The memory (B, S, D).
        """
        ### BEGIN SOLUTION
        mask = from_key_padding(source == self.pad)
        x = self.positions(self.source_embedding(source) * self.scale)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)
        ### END SOLUTION

    def decode(
        self, target_in: torch.Tensor, memory: torch.Tensor, source: torch.Tensor
    ) -> torch.Tensor:
        """Predict, at every target position, the token that comes next.

        Args:
            target_in: (B, T), token numbers.
            memory: (B, S, D), from encode.
            source: (B, S), the tokens that the memory was made of; they tell where padding is.

        Returns:
            Logits (B, T, V).
        """
        ### BEGIN SOLUTION
        future = causal_mask(target_in.shape[1]).to(target_in.device)
        target_mask = combine(from_key_padding(target_in == self.pad), future)
        memory_mask = from_key_padding(source == self.pad)
        y = self.positions(self.target_embedding(target_in) * self.scale)
        for layer in self.decoder:
            y = layer(y, memory, target_mask, memory_mask)
        return self.project(self.decoder_norm(y))
        ### END SOLUTION

    def forward(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """Encode the source and decode the target, all positions at once.

        Args:
            source: (B, S), token numbers.
            target_in: (B, T), token numbers.

        Returns:
            Logits (B, T, V).
        """
        ### BEGIN SOLUTION
        return self.decode(target_in, self.encode(source), source)
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "transformer_values", "grade": true, "points": 9}
# forbid("scaled_dot_product_attention", "MultiheadAttention", "Transformer")
# B, S, T, H = draw.sizes(4, low=4, high=7)
# F = draw.integer(10, 12)
# D, n, pad = 2 * H, 2, draw.integer(1, 4)
# W, V = draw.sizes(2, low=8, high=12)
# words, more_words = (
#     torch.from_numpy(draw.integers(B, S, low=pad + 1, high=W - 1)) for _ in range(2)
# )
# target_in = torch.from_numpy(draw.integers(B, T, low=pad + 1, high=V - 1))
# source = torch.from_numpy(draw.mask(B, S)) * (words - pad) + pad
# memory = draw.tensor(B, S, D)
# square, more = (torch.from_numpy(draw.integers(H, H, low=pad + 1, high=W - 1)) for _ in range(2))
# unequal("the source has no influence on the logits", transformer_other_source)
# unequal("the order of the source's words has no influence", transformer_order_of_words)
# equal("a logit moves when only later targets change", transformer_later_targets, axis=1)
# equal("what an example gives depends on the other examples of the batch",
#     transformer_examples_alone)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     transformer_modes)
# says("encodes sentences without padding, with two layers")
# ### 2p AUTOTEST 100 + fill(Transformer(W, V, D, H, n, F, pad=pad)).encode(words)
# says("decodes sentences without padding, with two layers")
# ### 2p AUTOTEST transformer_decodes
# says("is right as a whole, with norm_first")
# ### 1p AUTOTEST 100 + fill(Transformer(W, V, D, H, 1, F, pad=pad))(source, target_in)
# says("is right as a whole, without norm_first")
# ### 2p AUTOTEST transformer_norm_last
# says("keeps the languages apart, also where their vocabularies are equally large")
# ### 1p AUTOTEST 100 + fill(Transformer(W, W, D, H, 1, F, pad=pad))(square, more)
# says("hands the attention that it is given to its layers")
# ### 1p AUTOTEST transformer_given_attention

# %% active="ipynb" nbgrader={"grade_id": "transformer_masks", "grade": true, "points": 9}
# forbid("scaled_dot_product_attention", "MultiheadAttention", "Transformer")
# B, S, T, H = draw.sizes(4, low=4, high=7)
# F = draw.integer(10, 12)
# D, n, pad = 2 * H, 1, draw.integer(1, 4)
# W, V = draw.sizes(2, low=8, high=12)
# words, more_words = (torch.from_numpy(draw.integers(B, S, low=0, high=W - 1)) for _ in range(2))
# target, other = (torch.from_numpy(draw.integers(B, T, low=pad + 1, high=V - 1)) for _ in range(2))
# source = torch.from_numpy(draw.mask(B, S)) * (words - pad) + pad
# target_in = torch.from_numpy(draw.mask(B, T)) * (target - pad) + pad
# zeros = torch.from_numpy(draw.mask(B, S)) * more_words
# changed = torch.cat([target[:, : T - 2], other[:, T - 2 :]], dim=1)
# memory, filling = draw.tensor(B, S, D), torch.full((B, 2), pad)
# full, long = (
#     torch.from_numpy(draw.integers(*shape, low=pad + 1, high=7)) for shape in ((B, S), (1, 200))
# )
# equal("a logit moves when only later targets change", only_later_targets, axis=1)
# equal("the memory moves when padding is put behind the source", memory_with_more_padding)
# equal("a logit moves when only the memory of padding changes", memory_of_padding)
# equal("a logit moves when padding is put behind the source", more_padding)
# unequal("the last logits don't move when the first target changes", other_first_target)
# unequal("the source has no influence on the logits", sources_of_other_examples)
# equal("what an example gives depends on the other examples of the batch", padded_examples_alone)
# equal("training mode gives another result than evaluation mode, though nothing is dropped",
#     padded_in_both_modes)
# says("hides padding from words in the encoder, wherever it stands", parts=["in training mode",
#     "in evaluation mode"])
# ### 2p AUTOTEST encoder_hides_padding
# says("hides padding and the future from the targets", parts=["in training mode",
#     "in evaluation mode"])
# ### 2p AUTOTEST decoder_hides_padding_and_future
# says("gives logits that don't change when later targets change",
#     parts=["training, targets as they were", "training, later targets changed",
#     "evaluation, targets as they were", "evaluation, later targets changed"])
# ### 2p AUTOTEST logits_with_other_later_targets
# says("gives the same logits with two tokens of padding behind the source",
#     parts=["in training mode", "in evaluation mode"])
# ### 1p AUTOTEST logits_with_more_padding
# says("takes the token that `pad` names for padding, and no other", parts=["pad as drawn",
#     "pad=0"])
# ### 1p AUTOTEST logits_by_padding_token
# says("may be called with longer and shorter sentences after one another, and with 200 tokens",
#     parts=["1st call", "2nd call", "encode, 200 tokens", "a target of 200 tokens",
#     "short ones after that", "others of the same lengths", "encode, another source",
#     "decode, after another source was encoded", "decode, other targets and memory"])
# ### 1p AUTOTEST transformer_many_calls

# %% active="ipynb" nbgrader={"grade_id": "transformer_training", "grade": true, "points": 4}
# forbid("scaled_dot_product_attention", "MultiheadAttention", "Transformer")
# B, S, T = draw.sizes(3, low=4, high=6)
# F = draw.integer(10, 12)
# D, H, pad, rate = draw.integer(2, 3) * 2, 2, draw.integer(1, 2), draw.integer(20, 60) / 100
# W, V = draw.sizes(2, low=5, high=8)
# words = torch.from_numpy(draw.integers(B, S, low=pad + 1, high=W - 1))
# target = torch.from_numpy(draw.integers(B, T, low=pad + 1, high=min(V, W) - 1))
# source = torch.from_numpy(draw.mask(B, S)) * (words - pad) + pad
# word = torch.from_numpy(draw.integers(1, 1, low=pad + 1, high=W - 1))
# share = draw.integer(200, 600) / 1000
# says("passes the right gradients to all of its weights")
# ### 1p AUTOTEST transformer_gradients
# says("drops nothing in evaluation mode", parts="norm_first={first}")
# ### 1p AUTOTEST transformer_evaluation_with_dropout
# says("drops in its layers and after the positions in training mode, also after evaluation",
#     parts=["logits in evaluation, norm_first=True", "memory in evaluation, norm_first=True",
#     "logits in training, norm_first=True", "memory in training, norm_first=True",
#     "logits in evaluation, norm_first=False", "memory in evaluation, norm_first=False",
#     "logits in training, norm_first=False", "memory in training, norm_first=False"])
# ### 1p AUTOTEST transformer_dropout
# says("drops once after the positions, and scales up what remains",
#     parts=["what becomes of a number in training", "whether equal examples come out alike"])
# ### 1p AUTOTEST transformer_scales

# %% [markdown]
# ## 5. What goes in and what should come out
#
# Cut a target into what the decoder reads in training and what it has to predict. It gets the correct translation, and at each position it has to predict the token after it. So its input is the target without
# the last token, and its answer is the target without the first.
#
# A small case: `shift(torch.tensor([[1, 7, 8, 2]]))` is `[[1, 7, 8]]` and `[[7, 8, 2]]`.


# %% nbgrader={"grade_id": "shift", "solution": true}
def shift(target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Input and answer of a decoder in training.

    Args:
        target: (B, T + 1), token numbers, each row with its begin and end token.

    Returns:
        target_in (B, T) and target_out (B, T): target_out[:, t] is what follows target_in[:, t].
    """
    ### BEGIN SOLUTION
    return target[:, :-1], target[:, 1:]
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "shift_values", "grade": true, "points": 3}
# B, T = draw.sizes(2, low=3)
# target = torch.from_numpy(draw.integers(B, T, low=0, high=50))
# targets = [
#     torch.from_numpy(draw.integers(*draw.sizes(2, low=2), low=0, high=50)) for _ in range(4)
# ]
# targets += [target[:1], target[:, :2]]
# says("gives input and answer, one token apart", parts=["target_in", "target_out"])
# ### 2p AUTOTEST shift(target)
# says("leaves its argument as it was, for batches of several sizes", parts=(None, ["target",
#     "result"], ["target_in", "target_out"]))
# ### 1p AUTOTEST [inputs_after(shift, target) for target in targets]

# %% [markdown] nbgrader={"grade_id": "two_sources", "grade": true, "solution": true, "points": 3}
# **Written answer.** A colleague's decoder layer calls `self.cross_attention(y, y, y, target_mask)`. All shapes are right, and the loss on German to English falls
# for hours, though not as far as it should. What has the model become, and why does the loss fall nevertheless? What does it write for two different German
# sentences? Describe a test with an untrained model that finds the mistake in a second, and say what your `Transformer` shows in it. Three to six sentences.
#
# ### BEGIN SOLUTION
# The memory is not used, so this is a language model of English: it predicts the next word from the English words before it. That alone makes the loss fall far below that of guessing,
# because much of a word can be guessed from what stands before it. In writing it starts from the same begin token whatever the source is, and gets the same
# logits, so greedy decoding writes the same sentence for every source. The test: one target, two different sources, compare the logits. Equal logits
# mean that the source is not read; in a sound model all positions differ, the first included. Or: the gradient of the logits with respect to the source embedding, which is zero (or missing) in the
# wrong model and nowhere zero for the tokens of the sentence in the right one.
#
# Rubric: 1 point for "a language model of the target alone" with the reason for the falling loss; 1 point for "the same output for every source"; 1 point for a test that
# changes the source alone (or takes the gradient with respect to it) and says what either model shows.
# ### END SOLUTION

# %% [markdown]
# ## Now use it
#
# No points here, and grading leaves the next cell out. It trains your `Transformer` to read Roman numerals: MCMXC is 1990. Take the `#` off the last line and run it: it takes less than half a minute on one core.
# Which numerals does it still get wrong? Give it two layers, `norm_first=False` or less time.

# %% active="ipynb" nbgrader={"grade_id": "now_use_it", "locked": true}
# import time
#
# from torch.nn import functional as F
#
# NUMERALS = [("M", 1000), ("CM", 900), ("D", 500), ("CD", 400), ("C", 100), ("XC", 90), ("L", 50), ("XL", 40), ("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1)]
# # 0 is padding; a sentence stands between a begin and an end token
# TOKENS = ["", "^", "$", *"0123456789MDCLXVI"]
#
#
# def roman(n):
#     letters = ""
#     for numeral, value in NUMERALS:
#         letters, n = letters + n // value * numeral, n % value
#     return letters
#
#
# def tokens(sentences):
#     rows = [torch.tensor([TOKENS.index(sign) for sign in sentence]) for sentence in sentences]
#     return nn.utils.rnn.pad_sequence(rows, batch_first=True)
#
#
# def written(model, source):
#     """What the model writes, always the likeliest sign."""
#     prefix, memory = torch.full((len(source), 1), 1), model.encode(source)
#     for _ in range(5):
#         prefix = torch.cat([prefix, model.decode(prefix, memory, source)[:, -1:].argmax(-1)], dim=1)
#     return ["".join(TOKENS[token] for token in row).split("$")[0] for row in prefix[:, 1:].tolist()]
#
#
# def now_use_it(seconds=22, n_layers=1, norm_first=True):
#     if still_missing("FeedForward", "EncoderLayer", "DecoderLayer", "Transformer", "shift"):
#         return
#     torch.manual_seed(0)
#     numbers = torch.randperm(3999).add(1).tolist()
#     source = tokens(roman(n) for n in numbers)
#     target = tokens(f"^{n}$" for n in numbers)
#     model = Transformer(len(TOKENS), len(TOKENS), 32, 4, n_layers, 64, norm_first=norm_first)
#     optimiser = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.98))
#     begun = time.process_time()
#     steps = 0
#     while (left := 1 - (time.process_time() - begun) / seconds) > 0:
#         steps += 1
#         # the first 500 are kept for asking
#         rows = torch.randint(500, len(numbers), (64,))
#         target_in, target_out = shift(target[rows])
#         logits = model(source[rows], target_in)
#         loss = F.cross_entropy(logits.flatten(0, 1), target_out.flatten(), ignore_index=0)
#         optimiser.param_groups[0]["lr"] = 0.01 * min(1, steps / 100) * left
#         optimiser.zero_grad()
#         loss.backward()
#         optimiser.step()
#     with torch.no_grad():
#         answers = written(model.eval(), source[:500])
#     right = [answer == str(n) for answer, n in zip(answers, numbers)]
#     print(f"After {steps} steps, {sum(right)} of 500 numerals that it never saw are right. Some of them:\n")
#     print("numeral           written   right")
#     # the wrong ones first
#     for place in sorted(range(500), key=lambda place: right[place])[:10]:
#         print(f"{roman(numbers[place]):17} {answers[place]:9} {numbers[place]}")
#
#
# # now_use_it()
