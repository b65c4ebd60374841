"""Writing translations, one token at a time, without computing anything twice."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from solutions.ch3_multi_head import merge_heads, split_heads
from solutions.ch4_masking import from_key_padding
from solutions.ch6_transformer import DecoderLayer, Transformer
from solutions.ch7_training import beam_search, cached_attention, greedy_decode
from solutions.translation import TranslationError
from solutions.translation.machine import Machine
from solutions.translation.model import build
from solutions.translation.run_folder import RunFolder, load_weights
from solutions.translation.tokenizer import BOS, EOS, PAD, Tokenizer


class CachedDecoder:
    """A decoder that remembers: a step function for the searches of chapter 7.

    The memory is encoded once, and its keys and values are projected once for each layer. Each call
    computes the last position alone; keys and values of earlier ones are kept.

    Each call's prefixes have one token more than those of the call before. They may be in another
    order, come from fewer or from several of the same prefix, as in a beam; then all of them must
    belong to one source.

    Args:
        model: in evaluation mode.
        source: (B, S), or (1, S) for any number of prefixes.
    """

    def __init__(self, model: Transformer, source: torch.Tensor) -> None:
        self.model = model
        memory = model.encode(source)
        self.mask = from_key_padding(source == model.pad)
        self.cross = [
            tuple(
                split_heads(project(memory), layer.cross_attention.n_heads)
                for project in (layer.cross_attention.w_k, layer.cross_attention.w_v)
            )
            for layer in model.decoder
        ]
        self.caches: list[dict[str, torch.Tensor] | None] = [None] * len(model.decoder)
        self.prefix: torch.Tensor | None = None

    def __call__(self, prefix: torch.Tensor) -> torch.Tensor:
        """What may come next.

        Args:
            prefix: (N, t), begun with BOS.

        Returns:
            Log-probabilities (N, V).
        """
        return self.logits(prefix).float().log_softmax(dim=-1)

    def logits(self, prefix: torch.Tensor) -> torch.Tensor:
        """The logits (N, V) of what follows the prefixes (N, t)."""
        if self.prefix is not None:
            self._follow(prefix[:, :-1])
        self.prefix = prefix
        model, last = self.model, prefix[:, -1:]
        y = model.target_embedding(last) * model.scale
        y = model.positions(y, offset=prefix.shape[1] - 1)
        for number, layer in enumerate(model.decoder):
            y = self._layer(layer, number, y)
        return model.project(model.decoder_norm(y))[:, -1]

    def _follow(self, before: torch.Tensor) -> None:
        """Put the caches into the order of the prefixes that have been continued."""
        if torch.equal(before, self.prefix):
            return
        parents = (before[:, None] == self.prefix[None]).all(dim=-1).int().argmax(dim=1)
        self.caches = [
            {name: kept[parents] for name, kept in cache.items()} for cache in self.caches
        ]

    def _layer(self, layer: DecoderLayer, number: int, y: torch.Tensor) -> torch.Tensor:
        """One decoder layer on the last position, (N, 1, D); chapter 6 has it for all positions."""
        first = layer.norm_first
        attended, self.caches[number] = cached_attention(
            layer.self_attention, layer.norm1(y) if first else y, self.caches[number]
        )
        y = y + attended if first else layer.norm1(y + attended)
        y = y + self._cross(layer, number, layer.norm2(y) if first else y)
        y = y if first else layer.norm2(y)
        y = y + layer.feed_forward(layer.norm3(y) if first else y)
        return y if first else layer.norm3(y)

    def _cross(self, layer: DecoderLayer, number: int, y: torch.Tensor) -> torch.Tensor:
        """Cross-attention of (N, 1, D) to the keys and values that were projected before."""
        attention = layer.cross_attention
        key, value = (kept.expand(len(y), -1, -1, -1) for kept in self.cross[number])
        query = split_heads(attention.w_q(y), attention.n_heads)
        output, _ = attention.attention(query, key, value, self.mask)
        return attention.w_o(merge_heads(output))


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
    def load(cls, folder: RunFolder, machine: Machine, average: int = 1) -> Translator:
        """The translator of a run.

        Args:
            folder: of the run.
            machine: what to compute on.
            average: how many checkpoints to average.

        Raises:
            TranslationError: there is no such run, or its files are broken.
        """
        tokenizer = folder.tokenizer()
        model = build(folder.settings(), len(tokenizer), machine.attention, machine.device.type)
        load_weights(model, *folder.trained_weights(average))
        return cls(model.to(machine.device), tokenizer, machine)

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str], beam: int = 1, alpha: float = 0.6) -> list[str]:
        """Translate.

        Args:
            texts: sentences; an empty one stays empty.
            beam: how many hypotheses the search keeps; 1 is greedy.
            alpha: length penalty of the beam (Wu et al. 2016, equation 14).

        Returns:
            One translation each.

        Raises:
            TranslationError: a sentence is too long for the model, or beam is below 1.
        """
        if beam < 1:
            raise TranslationError(f"--beam {beam}: at least 1")
        rows = self.tokenizer.encode(texts)
        room = self.model.positions.encoding.shape[0]
        for number, row in enumerate(rows):
            if len(row) > room:
                raise TranslationError(
                    f"sentence {number + 1} has {len(row)} pieces; the model has room for {room}"
                )
        filled = [n for n, row in enumerate(rows) if len(row) > 1]
        order = sorted(filled, key=lambda n: len(rows[n]))
        size = self.batch if beam == 1 else 1
        written: list[list[int]] = [[] for _ in rows]
        for begin in range(0, len(order), size):
            some = order[begin : begin + size]
            for n, ids in zip(
                some, self._search([rows[n] for n in some], beam, alpha), strict=True
            ):
                written[n] = ids
        return self.tokenizer.decode(written)

    def _search(self, rows: list[list[int]], beam: int, alpha: float) -> list[list[int]]:
        """Translate sentences of nearly the same length; a beam takes one at a time."""
        longest, room = max(map(len, rows)), self.model.positions.encoding.shape[0]
        padded = [row + [PAD] * (longest - len(row)) for row in rows]
        source = torch.tensor(padded, device=self.machine.device)
        limits = [min(2 * len(row) + 20, room) for row in rows]
        with self.machine.autocast():
            step = CachedDecoder(self.model, source)

            def on_device(prefix: torch.Tensor) -> torch.Tensor:
                return step(prefix.to(self.machine.device)).cpu()

            if beam == 1:
                ids = greedy_decode(on_device, BOS, EOS, max(limits), len(rows), PAD).tolist()
                return [row[:limit] for row, limit in zip(ids, limits, strict=True)]
            ids, _ = beam_search(on_device, BOS, EOS, beam, limits[0], alpha)
            return [torch.as_tensor(ids).tolist()]
