"""The task of chapter 10: a text in which a segment comes twice, and
networks of attention alone that learn to go on with it.
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from solutions.attention_only import AttentionOnly
from solutions.ch10_circuits import prefix_matching

N_TOKENS, LENGTH, SEGMENT = 64, 48, 16
# how pages print a token
SIGNS = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
)


def texts(
    batch: int = 64, fixed: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Random tokens, among which one segment comes twice.

    fixed: the second half of each text is the first half again.
        Otherwise a segment of SEGMENT tokens stands at two random
        places.

    Returns: tokens (batch, LENGTH), and where the next token can be
    known, (batch, LENGTH), boolean: in the second copy, but for its
    last token.
    """
    tokens = torch.randint(N_TOKENS, (batch, LENGTH))
    if fixed:
        size = LENGTH // 2
        first = torch.zeros(batch, 1, dtype=torch.long)
        second = first + size
    else:
        size = SEGMENT
        room = LENGTH - 2 * size + 1
        starts = torch.randint(room, (batch, 2)).sort(dim=1).values
        first, second = starts[:, :1], starts[:, 1:] + size
    steps = torch.arange(size)
    segment = tokens.gather(1, first + steps)
    tokens.scatter_(1, second + steps, segment)
    known = torch.zeros(batch, LENGTH, dtype=torch.bool)
    known.scatter_(1, second + steps[:-1], True)
    return tokens, known


def vote(tokens: torch.Tensor) -> torch.Tensor:
    """The most that positions can do: how probable it is, position by
    position, that each token comes next, (B, T, V).

    Each earlier token votes for itself, with the share of texts in
    which the answer stands at its place. So this is one head whose
    weights depend on positions alone, and which copies.

    tokens: (B, LENGTH), as texts gives them.
    """
    room = LENGTH - 2 * SEGMENT + 1
    weights = torch.zeros(LENGTH, LENGTH)  # (query, place)
    for one in range(room):
        for other in range(room):
            first, second = min(one, other), max(one, other) + SEGMENT
            steps = torch.arange(SEGMENT - 1)
            weights[second + steps, first + steps + 1] += 1
    return weights @ F.one_hot(tokens, N_TOKENS).float()


def copied(
    first: int, second: int, size: int, batch: int = 256
) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts without any repeat but one segment, at chosen places.

    The `size` tokens from position `second` on are those from
    position `first` on. All other tokens of a text differ.

    Returns: tokens (batch, LENGTH), and for each text a token that
    it does not have, (batch,).
    """
    order = torch.rand(batch, N_TOKENS).argsort(dim=1)
    tokens, spare = order[:, :LENGTH].clone(), order[:, LENGTH]
    segment = tokens[:, first : first + size]
    tokens[:, second : second + size] = segment
    return tokens, spare


def share_right(
    logits: torch.Tensor, tokens: torch.Tensor, known: torch.Tensor
) -> float:
    """Share of the tokens that can be known and that get the largest
    logit.

    Args:
        logits: (B, T, V), for the token after each position.
        tokens, known: (B, T), as texts gives them.
    """
    answers, targets = logits[:, :-1].argmax(-1), tokens[:, 1:]
    hits = (answers == targets)[known[:, :-1]]
    return hits.double().mean().item()


@dataclass(frozen=True)
class Found:
    """What a network does on fresh texts.

    right: share of the tokens that can be known and that it says.
    matching: prefix matching scores, (n_layers, n_heads).
    previous: mean weight on the token before, (n_layers, n_heads).
    """

    right: float
    matching: torch.Tensor
    previous: torch.Tensor


@torch.no_grad()
def measured(
    model: AttentionOnly, fixed: bool = False, batch: int = 64
) -> Found:
    """A network's answers and its heads' scores, on texts as drawn
    by texts(batch, fixed).
    """
    tokens, known = texts(batch, fixed)
    trace = model.trace(tokens)
    # for each text the scores of the heads of all layers
    weights = trace.weights.transpose(0, 1).flatten(1, 2)
    scores = [
        prefix_matching(one, text)
        for one, text in zip(weights, tokens, strict=True)
    ]
    shape = trace.weights.shape[0], -1
    matching = torch.stack(scores).mean(dim=0).reshape(shape)
    before = trace.weights.diagonal(-1, dim1=-2, dim2=-1)
    right = share_right(trace.logits, tokens, known)
    return Found(right, matching, before.mean(dim=(1, 3)))


def train(
    model: AttentionOnly,
    steps: int,
    fixed: bool = False,
    every: int = 20,
    rate: float = 0.003,
) -> dict[int, Found]:
    """Train for so many steps on texts(fixed=fixed), with Adam.

    The loss is that of the tokens that can be known.

    Returns: what was measured after every so many steps, by step; at
    0, before the first.
    """
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    found = {0: measured(model, fixed)}
    for step in range(1, steps + 1):
        tokens, known = texts(fixed=fixed)
        asked = known[:, :-1]
        logits, targets = model(tokens)[:, :-1], tokens[:, 1:]
        loss = F.cross_entropy(logits[asked], targets[asked])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % every == 0:
            found[step] = measured(model, fixed)
    return found


def network(n_layers: int = 2) -> AttentionOnly:
    """A network of this chapter before training."""
    return AttentionOnly(N_TOKENS, 64, 4, n_layers)


def trained(
    number: int,
    n_layers: int = 2,
    fixed: bool = False,
    steps: int = 400,
) -> tuple[AttentionOnly, dict[int, Found]]:
    """A network of seed `number`, and what was measured on the way.

    fixed: the repeat is always in the second half, not at random.
    """
    torch.manual_seed(number)
    model = network(n_layers)
    return model, train(model, steps, fixed)
