"""Writing translations: several sentences side by side, one token at a time, nothing computed twice."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from solutions.ch3_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch4_masking import from_key_padding
from solutions.ch6_transformer import DecoderLayer, Transformer
from solutions.translation import TranslationError
from solutions.translation.machine import Machine, out_of_memory
from solutions.translation.model import build
from solutions.translation.run_folder import RunFolder, load_weights
from solutions.translation.tokenizer import BOS, EOS, PAD, Tokenizer


class CachedDecoder:
    """A decoder that remembers: each call computes the newest position alone.

    The memory is encoded once, and its keys and values are projected once for each layer. Keys and values
    of the target positions are kept in buffers that have room for all of them from the beginning.

    Args:
        model: in evaluation mode.
        source: (B, S).
        beam: how many translations K of each sentence are written at once.
        room: the largest number of calls.
    """

    def __init__(self, model: Transformer, source: torch.Tensor, beam: int, room: int) -> None:
        self.model, self.beam, self.room = model, beam, room
        self.length = 0
        memory = model.encode(source)
        self.mask = from_key_padding(source == model.pad)
        self.cross = [
            [
                split_heads(project(memory), layer.cross_attention.n_heads)
                for project in (layer.cross_attention.w_k, layer.cross_attention.w_v)
            ]
            for layer in model.decoder
        ]
        self.caches: list[list[torch.Tensor]] = [[] for _ in model.decoder]

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """What may come after the newest tokens.

        Args:
            tokens: (B, K), first BOS, then what follows.

        Returns:
            Logits (B, K, V), in float32.
        """
        model = self.model
        y = model.target_embedding(tokens.reshape(-1, 1)) * model.scale
        y = model.positions(y, offset=self.length)  # (B * K, 1, D)
        for number, layer in enumerate(model.decoder):
            y = self._layer(layer, number, y)
        self.length += 1
        return model.project(model.decoder_norm(y)).view(*tokens.shape, -1).float()

    def follow(self, parents: torch.Tensor) -> None:
        """Go on with other translations: k becomes what parents (B, K) says, of the same sentence."""
        first = torch.arange(len(parents), device=parents.device)[:, None] * self.beam
        rows = (first + parents).flatten()
        for cache in self.caches:
            for kept in cache:
                kept[:, :, : self.length] = kept[rows, :, : self.length]

    def keep(self, sentences: torch.Tensor) -> None:
        """Forget all sentences but these, (B',) numbers."""
        many = torch.arange(self.beam, device=sentences.device)
        rows = (sentences[:, None] * self.beam + many).flatten()
        self.mask = self.mask[sentences]
        self.cross = [[kept[sentences] for kept in pair] for pair in self.cross]
        self.caches = [[kept[rows] for kept in cache] for cache in self.caches]

    def _layer(self, layer: DecoderLayer, number: int, y: torch.Tensor) -> torch.Tensor:
        """One decoder layer on the newest position; chapter 6 has it for all positions."""
        first = layer.norm_first
        attended = self._self(layer.self_attention, number, layer.norm1(y) if first else y)
        y = y + attended if first else layer.norm1(y + attended)
        attended = self._cross(layer.cross_attention, number, layer.norm2(y) if first else y)
        y = y + attended if first else layer.norm2(y + attended)
        y = y + layer.feed_forward(layer.norm3(y) if first else y)
        return y if first else layer.norm3(y)

    def _self(self, attention: MultiHeadAttention, number: int, y: torch.Tensor) -> torch.Tensor:
        """Self-attention of (B * K, 1, D) to itself and what came before."""
        query, *new = (
            split_heads(project(y), attention.n_heads)
            for project in (attention.w_q, attention.w_k, attention.w_v)
        )  # (B * K, H, 1, d)
        if not self.caches[number]:
            rows, heads, _, width = new[0].shape
            self.caches[number] = [x.new_zeros(rows, heads, self.room, width) for x in new]
        for kept, x in zip(self.caches[number], new, strict=True):
            kept[:, :, self.length] = x[:, :, 0]
        key, value = (kept[:, :, : self.length + 1] for kept in self.caches[number])
        return attention.w_o(merge_heads(attention.attention(query, key, value, None)[0]))

    def _cross(self, attention: MultiHeadAttention, number: int, y: torch.Tensor) -> torch.Tensor:
        """Cross-attention of (B * K, 1, D): the translations of a sentence are queries side by side."""
        together = y.view(-1, self.beam, y.shape[-1])
        query = split_heads(attention.w_q(together), attention.n_heads)  # (B, H, K, d)
        output, _ = attention.attention(query, *self.cross[number], self.mask)
        return attention.w_o(merge_heads(output)).view(y.shape)


def search(
    decoder: CachedDecoder, limits: torch.Tensor, alpha: float, refill: bool = False
) -> list[list[int]]:
    """The best translations that a beam search finds, of several sentences at once.

    Each sentence's translation is the one that chapter 7's `beam_search` finds. A sentence is done
    when no open prefix can get a better score than its best translation, even if it cost nothing to make
    it as long as allowed.

    Args:
        decoder: of B sentences with a beam of K; 1 is greedy search.
        limits: (B,), the largest number of tokens of each, with EOS.
        alpha: exponent of the length penalty (Wu et al. 2016, equation 14).
        refill: when a prefix ends, another takes its place in the same round, and a sentence is done
            after K ends, as in fairseq; otherwise as in chapter 7.

    Returns:
        The tokens of each, with EOS if it has ended.
    """
    device, beam, rows = limits.device, decoder.beam, len(limits)
    count = 2 * beam if refill else beam
    every = 1 if device.type == "cpu" else 8  # a look at what is done makes a GPU wait
    numbers = torch.arange(rows, device=device)
    found: list[list[int]] = [[] for _ in range(rows)]
    tokens = torch.full((rows, beam), BOS, device=device)
    history = torch.zeros(rows, beam, decoder.room, dtype=torch.long, device=device)
    running = torch.full((rows, beam), -torch.inf, device=device)
    running[:, 0] = 0
    best = history[:, 0].clone()
    best_score = torch.full((rows,), -torch.inf, device=device)
    best_length, ends = torch.zeros_like(numbers), torch.zeros_like(numbers)

    def penalty(lengths: torch.Tensor | int) -> torch.Tensor | float:
        return ((5 + lengths) / 6) ** alpha

    for length in range(1, decoder.room + 1):
        logits = decoder(tokens)
        # the best of each prefix, then the best of all prefixes
        few = min(count, logits.shape[-1])
        values, places = logits.topk(few)
        values = values - logits.logsumexp(dim=-1, keepdim=True) + running[..., None]
        score, chosen = values.flatten(1).topk(min(count, few * beam))  # (B, C), best first
        parents, tokens = chosen // few, places.flatten(1).gather(1, chosen)
        real = score.isfinite()
        ended = (tokens == EOS) | (length == limits)[:, None]
        rank = torch.arange(score.shape[1], device=device)
        ending = (score / penalty(length)).where(ended & real & (rank < beam), -torch.inf)
        top, place = ending.max(dim=1)
        better = top > best_score
        line = torch.arange(len(place), device=device)
        ids = history[line, parents[line, place]]
        ids[:, length - 1] = tokens[line, place]
        best = torch.where(better[:, None], ids, best)
        best_score = torch.where(better, top, best_score)
        best_length = torch.where(better, length, best_length)
        ends = ends + ending.isfinite().sum(dim=1)
        # the first K that have not ended go on
        rank = torch.where(ended | ~real, len(rank) + rank, rank).argsort(dim=1)[:, :beam]
        open_ = (~ended & real).gather(1, rank)
        running = score.gather(1, rank).where(open_, -torch.inf)
        parents, tokens = parents.gather(1, rank), tokens.gather(1, rank)
        history = history.gather(1, parents[..., None].expand(-1, -1, decoder.room))
        history[:, :, length - 1] = tokens
        done = running.amax(dim=1) / penalty(limits) <= best_score
        if refill:
            done |= ends >= beam
        running = running.masked_fill(done[:, None], -torch.inf)
        if beam > 1:
            decoder.follow(parents)
        if length % every == 0 or length == decoder.room:
            over = done.nonzero()[:, 0].tolist()
            for row in over:
                found[int(numbers[row])] = best[row, : int(best_length[row])].tolist()
            if len(over) == len(done):
                break
            if over:
                left = (~done).nonzero()[:, 0]
                decoder.keep(left)
                numbers, limits, tokens, history, running, best, best_score, best_length, ends = (
                    x[left]
                    for x in (
                        *(numbers, limits, tokens, history, running),
                        *(best, best_score, best_length, ends),
                    )
                )
    return found


class Translator:
    """A function from texts to their translations.

    Args:
        model: a trained model.
        tokenizer: its vocabulary.
        machine: where the model is.
        batch: how many texts are translated together.
    """

    def __init__(
        self, model: Transformer, tokenizer: Tokenizer, machine: Machine, batch: int = 100
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.machine = machine
        self.batch = batch

    @classmethod
    def load(
        cls, folder: RunFolder, machine: Machine, average: int = 1, best: bool = False
    ) -> Translator:
        """The translator of a run.

        Args:
            folder: of the run.
            machine: what to compute on.
            average: how many checkpoints to average.
            best: take the weights that did best on the validation pairs instead.

        Raises:
            TranslationError: there is no such run, or its files are broken.
        """
        settings, tokenizer = folder.settings(), folder.tokenizer()
        model = build(settings, len(tokenizer), machine.attention, machine.device.type)
        load_weights(model, *folder.trained_weights(average, best))
        return cls(model.to(machine.device), tokenizer, machine)

    @torch.inference_mode()
    def __call__(
        self, texts: Sequence[str], beam: int = 1, alpha: float = 0.6, refill: bool = False
    ) -> list[str]:
        """Translate.

        Args:
            texts: sentences; an empty one stays empty.
            beam: how many hypotheses the search keeps; 1 is greedy.
            alpha: length penalty of the beam (Wu et al. 2016, equation 14).
            refill: as in `search`.

        Returns:
            One translation each.

        Raises:
            TranslationError: a sentence is too long for the model or for the memory, beam is below 1, or
                alpha is negative.
        """
        if beam < 1:
            raise TranslationError(f"--beam {beam}: at least 1")
        if not alpha >= 0:
            raise TranslationError(f"--alpha {alpha}: at least 0")
        rows = self.tokenizer.encode(texts)
        room = self.model.positions.encoding.shape[0]
        for number, row in enumerate(rows):
            if len(row) > room:
                raise TranslationError(
                    f"sentence {number + 1} has {len(row)} pieces; the model has room for {room}: "
                    "cut it into several"
                )
        filled = [n for n, row in enumerate(rows) if len(row) > 1]
        order = sorted(filled, key=lambda n: len(rows[n]))
        written: list[list[int]] = [[] for _ in rows]
        for begin in range(0, len(order), self.batch):
            some = order[begin : begin + self.batch]
            try:
                found = self._search([rows[n] for n in some], beam, alpha, refill)
            except RuntimeError as error:
                if not out_of_memory(error):
                    raise
                raise TranslationError(
                    f"out of memory with {len(some)} sentences of up to {len(rows[some[-1]])} pieces and "
                    f"a beam of {beam}: a smaller --beam, or shorter sentences, need less"
                ) from error
            for n, ids in zip(some, found, strict=True):
                written[n] = ids
        return self.tokenizer.decode(written)

    def _search(
        self, rows: list[list[int]], beam: int, alpha: float, refill: bool
    ) -> list[list[int]]:
        """Translate sentences of nearly the same length."""
        longest, room = max(map(len, rows)), self.model.positions.encoding.shape[0]
        padded = [row + [PAD] * (longest - len(row)) for row in rows]
        source = torch.tensor(padded, device=self.machine.device)
        limits = [min(2 * len(row) + 20, room) for row in rows]
        with self.machine.autocast():
            decoder = CachedDecoder(self.model, source, beam, max(limits))
            return search(decoder, torch.tensor(limits, device=source.device), alpha, refill)
