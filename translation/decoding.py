"""Writing translations: several sentences side by side, one token at a time, nothing computed twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import torch

from solutions.ch3_multi_head import MultiHeadAttention, merge_heads, split_heads
from solutions.ch4_masking import from_key_padding
from solutions.ch6_transformer import DecoderLayer, Transformer
from translation import TranslationError
from translation.graphs import Record, Replayed
from translation.machine import Machine, out_of_memory
from translation.model import FusedAttention, build, share
from translation.run_folder import RunFolder, load_weights
from translation.settings import check_search
from translation.tokenizer import BOS, EOS, PAD, Tokenizer


class CachedDecoder:
    """A decoder that remembers: each call computes the newest position alone.

    The memory is encoded once, and its keys and values are projected once for each layer. Keys and values
    of the target positions are kept in buffers that have room for all of them from the beginning.

    Args:
        model: in evaluation mode.
        source: (B, S).
        beam: how many translations K of each sentence are written at once.
        room: the largest number of calls.
        fixed: let all calls do the same with tensors that stay where they are, so that a CUDA graph can
            repeat them: attend to all of the room, with a mask, instead of the part that is in use.
    """

    def __init__(
        self, model: Transformer, source: torch.Tensor, beam: int, room: int, fixed: bool = False
    ) -> None:
        self.model, self.beam, self.room, self.fixed = model, beam, room, fixed
        self.length = 0
        self.position = torch.zeros(1, dtype=torch.long, device=source.device)  # the length, too
        self.places = torch.arange(room, device=source.device)
        self.layers = [cast(DecoderLayer, layer) for layer in model.decoder]
        memory = model.encode(source)
        self.mask = from_key_padding(source == model.pad)
        self.cross = [
            [
                share(_heads(project(memory), layer.cross_attention), layer.cross_attention.n_heads)
                for project in (layer.cross_attention.w_k, layer.cross_attention.w_v)
            ]
            for layer in self.layers
        ]
        self.caches: list[list[torch.Tensor]] = [[] for _ in self.layers]
        self.attend = [
            [_with_mask(layer.self_attention), _with_mask(layer.cross_attention)]
            for layer in self.layers
        ]

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """What may come after the newest tokens.

        Args:
            tokens: (B, K), first BOS, then what follows.

        Returns:
            Logits (B, K, V), in float32.
        """
        model = self.model
        encoding = model.positions.get_buffer("encoding")
        # (B * K, 1, D)
        y = model.target_embedding(tokens.reshape(-1, 1)) * model.scale
        y = y + encoding[self.position].to(y.dtype)
        for number, layer in enumerate(self.layers):
            y = self._layer(layer, number, y)
        self.length += 1
        self.position += 1
        logits = model.project(model.decoder_norm(y))
        return logits.view(*tokens.shape, -1).float()

    def follow(self, parents: torch.Tensor) -> None:
        """Go on with other translations: k becomes what parents (B, K) says, of the same sentence."""
        first = torch.arange(len(parents), device=parents.device)[:, None] * self.beam
        rows = (first + parents).flatten()
        used = self.room if self.fixed else self.length
        for cache in self.caches:
            for kept in cache:
                kept[:, :, :used] = kept[rows, :, :used]

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

    def _self(
        self,
        attention: MultiHeadAttention,
        number: int,
        y: torch.Tensor,
    ) -> torch.Tensor:
        """Attention of (B * K, 1, D) to itself and what came before."""
        query, *new = (
            _heads(project(y), attention)
            for project in (attention.w_q, attention.w_k, attention.w_v)
        )  # (B * K, H, 1, d), perhaps fewer heads of keys and values
        if rotation := getattr(attention, "rotation", None):
            query = rotation(query, self.position)
            new[0] = rotation(new[0], self.position)
        if not self.caches[number]:
            rows, heads, _, width = new[0].shape
            shape = rows, heads, self.room, width
            self.caches[number] = [x.new_zeros(shape) for x in new]
        key, value = self.caches[number]
        mask = None
        if self.fixed:
            for kept, x in zip((key, value), new, strict=True):
                kept.index_copy_(2, self.position, x)
            mask = (self.places <= self.position)[None, None, None]
        else:
            for kept, x in zip((key, value), new, strict=True):
                kept[:, :, self.length] = x[:, :, 0]
            used = self.length + 1
            key, value = key[:, :, :used], value[:, :, :used]
        key, value = (share(x, attention.n_heads) for x in (key, value))
        output, _ = self.attend[number][0](query, key, value, mask)
        return attention.w_o(merge_heads(output))

    def _cross(self, attention: MultiHeadAttention, number: int, y: torch.Tensor) -> torch.Tensor:
        """Cross-attention of (B * K, 1, D): the translations of a sentence are queries side by side."""
        together = y.view(-1, self.beam, y.shape[-1])
        query = split_heads(attention.w_q(together), attention.n_heads)  # (B, H, K, d)
        output, _ = self.attend[number][1](query, *self.cross[number], self.mask)
        return attention.w_o(merge_heads(output)).view(y.shape)


def _heads(x: torch.Tensor, layer: MultiHeadAttention) -> torch.Tensor:
    """What one of a layer's matrices gives, (B, T, G * d), in heads: (B, G, T, d)."""
    width = layer.w_q.out_features // layer.n_heads
    return split_heads(x, x.shape[-1] // width)


def _with_mask(layer: MultiHeadAttention) -> Callable:
    """A layer's attention for few queries: a mask costs less there than padding as a feature of keys and
    values, which would be made anew for each token."""
    return FusedAttention() if isinstance(layer.attention, FusedAttention) else layer.attention


class _Search:
    """A beam search for B sentences at once, one token after another.

    Nothing in a step waits for the device.

    Args:
        decoder, limits, alpha, refill: as in `search`.
    """

    def __init__(
        self, decoder: CachedDecoder, limits: torch.Tensor, alpha: float, refill: bool
    ) -> None:
        device, beam, rows = limits.device, decoder.beam, len(limits)
        self.decoder, self.refill = decoder, refill
        penalties = [
            (length if refill else (5 + length) / 6) ** alpha for length in range(decoder.room + 1)
        ]
        self.penalties = torch.tensor(penalties, device=device)
        self.length = torch.zeros(1, dtype=torch.long, device=device)
        self.numbers = torch.arange(rows, device=device)
        self.limits = limits
        self.tokens = torch.full((rows, beam), BOS, device=device)
        self.history = torch.zeros(rows, beam, decoder.room, dtype=torch.long, device=device)
        self.running = torch.full((rows, beam), -torch.inf, device=device)
        self.running[:, 0] = 0
        self.best = self.history[:, 0].clone()
        self.best_score = torch.full((rows,), -torch.inf, device=device)
        self.best_length, self.ends = (torch.zeros_like(self.numbers) for _ in range(2))
        self.done = torch.zeros(rows, dtype=torch.bool, device=device)

    def step(self) -> None:
        """Make each prefix one token longer."""
        self.length += 1
        score, parents, tokens = self._candidates(self.decoder(self.tokens))
        real = score.isfinite()
        ended = (tokens == EOS) | (self.length == self.limits[:, None])
        self._note_ends(score.where(ended & real, -torch.inf), parents, tokens)
        parents = self._go_on(score, parents, tokens, ~ended & real)
        done = self.running.amax(dim=1) / self.penalties[self.limits] <= self.best_score
        if self.refill:
            done |= self.ends >= self.decoder.beam
        self._set(done=done, running=self.running.masked_fill(done[:, None], -torch.inf))
        if self.decoder.beam > 1:
            self.decoder.follow(parents)

    def found(self, rows: list[int]) -> list[list[int]]:
        """The best translations of these rows."""
        lengths, best = self.best_length[rows].tolist(), self.best[rows].tolist()
        return [ids[:length] for ids, length in zip(best, lengths, strict=True)]

    def keep(self, rows: torch.Tensor) -> None:
        """Forget all sentences but these, (B',) numbers of rows."""
        self.decoder.keep(rows)
        for name in (
            *("numbers", "limits", "tokens", "history", "running"),
            *("best", "best_score", "best_length", "ends", "done"),
        ):
            setattr(self, name, getattr(self, name)[rows])

    def _set(self, **values: torch.Tensor) -> None:
        """Replace tensors, or their values if tensors have to stay where they are."""
        for name, value in values.items():
            if self.decoder.fixed:
                getattr(self, name).copy_(value)
            else:
                setattr(self, name, value)

    def _candidates(self, logits: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The best prefixes that are one token longer: scores, numbers of the prefixes that they come from,
        and new tokens, (B, C) each, best first; from logits (B, K, V)."""
        beam = logits.shape[1]
        count = 2 * beam if self.refill else beam
        few = min(count, logits.shape[-1])
        values, places = logits.topk(few)  # the best of each prefix, then the best of all prefixes
        values = values - logits.logsumexp(dim=-1, keepdim=True) + self.running[..., None]
        score, chosen = values.flatten(1).topk(min(count, few * beam))
        return score, chosen // few, places.flatten(1).gather(1, chosen)

    def _note_ends(self, score: torch.Tensor, parents: torch.Tensor, tokens: torch.Tensor) -> None:
        """Remember the best translation so far, from candidates whose score is finite if they have ended.
        Only the first K count."""
        score = score[:, : self.decoder.beam] / self.penalties[self.length]
        top, place = score.max(dim=1)
        better = top > self.best_score
        line = torch.arange(len(place), device=place.device)
        ids = self.history[line, parents[line, place]]
        ids.index_copy_(1, self.length - 1, tokens[line, place][:, None])
        self._set(
            best=torch.where(better[:, None], ids, self.best),
            best_score=torch.where(better, top, self.best_score),
            best_length=torch.where(better, self.length, self.best_length),
            ends=self.ends + score.isfinite().sum(dim=1),
        )

    def _go_on(
        self, score: torch.Tensor, parents: torch.Tensor, tokens: torch.Tensor, open_: torch.Tensor
    ) -> torch.Tensor:
        """Go on with the first K candidates that are open; the prefixes that they come from, (B, K)."""
        count = score.shape[1]
        rank = torch.arange(count, device=score.device)
        rank = torch.where(open_, rank, count + rank).argsort(dim=1)[:, : self.decoder.beam]
        parents, tokens = parents.gather(1, rank), tokens.gather(1, rank)
        history = self.history.gather(1, parents[..., None].expand(-1, -1, self.decoder.room))
        history.index_copy_(2, self.length - 1, tokens[..., None])
        running = score.gather(1, rank).where(open_.gather(1, rank), -torch.inf)
        self._set(tokens=tokens, history=history, running=running)
        return parents


def search(
    decoder: CachedDecoder,
    limits: torch.Tensor,
    alpha: float,
    refill: bool = False,
    record: Record | None = None,
) -> list[list[int]]:
    """The best translations that a beam search finds, of several sentences at once.

    Each sentence's translation is the one that chapter 7's `beam_search` finds. A sentence is done
    when no open prefix can get a better score than its best translation, even if it cost nothing to make
    it as long as allowed.

    Args:
        decoder: of B sentences with a beam of K; 1 is greedy search.
        limits: (B,), the largest number of tokens of each, with EOS.
        alpha: exponent of the length penalty (Wu et al. 2016, equation 14).
        refill: as in fairseq: when a prefix ends, another takes its place in the same round, a sentence is
            done after K ends, and the length penalty is length ** alpha; otherwise as in chapter 7.
        record: how to repeat the step of a decoder all of whose calls do the same; None = compute it.

    Returns:
        The tokens of each, with EOS if it has ended.
    """
    state = _Search(decoder, limits, alpha, refill)
    step = Replayed(state.step, limits.device, record) if record else state.step
    found: list[list[int]] = [[] for _ in limits]
    every = 1 if limits.device.type == "cpu" else 8  # a look at what is done makes a GPU wait
    for length in range(1, decoder.room + 1):
        step()
        if length % every and length != decoder.room:
            continue
        over = [row for row, done in enumerate(state.done.tolist()) if done]
        if not over or (decoder.fixed and len(over) < len(state.done)):
            continue
        numbers = state.numbers[over].tolist()
        for number, ids in zip(numbers, state.found(over), strict=True):
            found[number] = ids
        if len(over) == len(state.done):
            break
        state.keep((~state.done).nonzero()[:, 0])
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
        check_search(beam, alpha)
        rows = self.tokenizer.encode(texts)
        room = len(self.model.positions.get_buffer("encoding"))
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
        longest, room = max(map(len, rows)), len(self.model.positions.get_buffer("encoding"))
        padded = [row + [PAD] * (longest - len(row)) for row in rows]
        source = torch.tensor(padded, device=self.machine.device)
        limits = [min(2 * len(row) + 20, room) for row in rows]
        fixed = source.device.type == "cuda"
        record = self.machine.record if fixed else None
        with self.machine.autocast():
            decoder = CachedDecoder(self.model, source, beam, max(limits), fixed)
            return search(
                decoder, torch.tensor(limits, device=source.device), alpha, refill, record
            )
