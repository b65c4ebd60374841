"""Translations in which single rows look elsewhere (chapter 1)."""

# Pages show this code, in a column of 72 characters.
# fmt: off
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from book.models.encoder_decoder import PAD, EncoderDecoder, shift_right
from book.models.number_words import NumberWords, train_translator
from book.models.seeds import seed

FUNCTION_WORDS = ["und", "hundert", "tausend", "(end)"]
N_NUMBERS = 200


@torch.no_grad()
def decode(
    model: EncoderDecoder,
    source: torch.Tensor,
    target: torch.Tensor,
    weights: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """p(true word) (B, T), and the learned weights (B, T, S).

    Each row takes its weights from `weights` (B, T, S), if they are
    given; the next row's state is the one after the learned weights,
    so that one row is changed at a time.
    """
    memory, mask, state = model.encode(source)
    read = model.embed_target(shift_right(target))
    found, learned = [], []
    for t in range(target.shape[1]):
        old = state
        state, context, w = model.step(read[:, t], old, memory, mask)
        learned.append(w)
        new = state
        if weights is not None:
            context = torch.einsum("bs,bsd->bd", weights[:, t], memory)
            joined = torch.cat([read[:, t], context], dim=-1)
            new = model.step.cell(joined, old)
        logits = model.readout(torch.cat([new, context], dim=-1))
        p = logits.softmax(dim=-1).gather(-1, target[:, t, None])
        found.append(p[:, 0])
    return torch.stack(found, dim=1), torch.stack(learned, dim=1)


def interventions(training_seeds: Sequence[int]) -> dict[str, Any]:
    """Change the weights of single rows in a network for each seed.

    Returns, for each kind of target word, its number of rows and
    places, and means over rows: for each network p(true word) with
    the weights learned, even, on one place at random, and with the
    weights of each network; how many places are sufficient alone, and
    the weight on them; for each two networks how often their largest
    weights are on the same place.
    """
    data = NumberWords(seed(1))
    source, target = data.as_tensors(data.held_out[:N_NUMBERS])
    models = [
        train_translator(EncoderDecoder, s) for s in training_seeds
    ]
    real = (source != PAD)[:, None]  # (B, 1, S)
    n_places = real.sum(-1)  # (B, 1)
    even = (real / n_places[..., None]).expand(-1, target.shape[1], -1)
    single = F.one_hot(torch.arange(source.shape[1])).float()
    words = np.array(data.target_words)[target.numpy()]
    kinds = {word: words == word for word in FUNCTION_WORDS}
    no_number = np.isin(words, [*FUNCTION_WORDS, "(pad)"])
    kinds = {"number word": ~no_number, **kinds}

    learned = [decode(model, source, target)[1] for model in models]
    results: list[dict[str, Any]] = []
    for model, own in zip(models, learned, strict=True):
        each = torch.stack(
            [
                decode(
                    model, source, target, row.expand(*target.shape, -1)
                )[0]
                for row in single
            ],
            dim=-1,
        )  # (B, T, S): all weight on one place
        enough = (each > 0.5) & real
        results.append({
            "learned": decode(model, source, target)[0],
            "even": decode(model, source, target, even)[0],
            "one": (each * real).sum(-1) / n_places,
            "sufficient": enough.sum(-1).float(),
            "weight": (own * enough).sum(-1),
            "of": [
                decode(model, source, target, w)[0] for w in learned
            ],
            "same": [
                (own.argmax(-1) == w.argmax(-1)).float()
                for w in learned
            ],
        })

    def mean(values: Any, where: np.ndarray) -> Any:
        if isinstance(values, list):
            return [mean(value, where) for value in values]
        return values[torch.from_numpy(where)].mean().item()

    places = n_places.expand(target.shape).float()
    return {
        kind: {
            "rows": int(where.sum()),
            "places": mean(places, where),
            **{
                name: [mean(one[name], where) for one in results]
                for name in results[0]
            },
        }
        for kind, where in kinds.items()
    }
