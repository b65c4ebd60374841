"""The Transformer of chapter 6, built from a run's settings."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from solutions.ch2_scaled_dot_product import attention
from solutions.ch6_transformer import Transformer
from solutions.translation import TranslationError
from solutions.translation.tokenizer import PAD


def fused_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, None]:
    """The attention of chapter 2 in one kernel of PyTorch, which never writes the weights down.

    Args:
        query: (..., T, dk).
        key: (..., S, dk).
        value: (..., S, dv).
        mask: broadcastable to (..., T, S), boolean, True = may attend. None = no mask.

    Returns:
        output (..., T, dv), zero where a query has nothing to attend to, and None for the weights.
    """
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), None


ATTENTION: dict[str, Callable] = {"formula": attention, "fused": fused_attention}


def build(settings: dict, vocab_size: int, attention: str) -> Transformer:
    """The model of a run, with fresh weights.

    Args:
        settings: those of the run.
        vocab_size: pieces of the vocabulary, which both languages share.
        attention: "formula" or "fused".

    Returns:
        The model; with `tie`, its two embeddings and the weight of the last layer are one parameter.

    Raises:
        TranslationError: the sizes do not fit together.
    """
    try:
        model = Transformer(
            vocab_size,
            vocab_size,
            settings["d_model"],
            settings["heads"],
            settings["layers"],
            settings["d_ff"],
            settings["dropout"],
            PAD,
            settings["norm_first"],
            ATTENTION[attention],
        )
    except ValueError as error:
        raise TranslationError(f"there is no such model: {error}") from error
    if settings["tie"]:  # Press and Wolf (2017); Vaswani et al. (2017), section 3.4
        model.source_embedding.weight = model.target_embedding.weight
        model.project.weight = model.target_embedding.weight
    for parameter in [*model.encoder.parameters(), *model.decoder.parameters()]:
        if parameter.dim() > 1:
            torch.nn.init.xavier_uniform_(parameter)
    return model


def n_parameters(model: torch.nn.Module) -> int:
    """How many numbers a model learns; a tied parameter counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
