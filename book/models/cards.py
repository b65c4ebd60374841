"""The game of cards of chapter 2, and training on it."""

# Pages show this code, in a column of 72 characters.
# fmt: off
import torch
from torch.nn import functional as F

from solutions.ch2_scaled_dot_product import attention

N_CARDS, N_NAMES, N_NUMBERS = 6, 8, 8


def deal(
    batch: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Deal tables of six cards.

    Returns cards (batch, 6, 24), each a name, a name that is asked for
    and a number, one-hot; the right numbers (batch, 6), and the places
    of the cards that show them (batch, 6).
    """
    name = torch.rand(batch, N_NAMES).argsort(dim=1)[:, :N_CARDS]
    # never its own name
    further = torch.randint(1, N_CARDS, (batch, N_CARDS))
    target = (torch.arange(N_CARDS) + further) % N_CARDS
    number = torch.randint(N_NUMBERS, (batch, N_CARDS))
    parts = [name, name.gather(1, target), number]
    cards = torch.cat(
        [F.one_hot(part, 8) for part in parts], dim=-1
    ).float()
    return cards, number.gather(1, target), target


def train_on_cards(
    network: str,
    training_seed: int,
    d_k: int = 64,
    scale: float | None = None,
    optimiser: type[torch.optim.Optimizer] = torch.optim.Adam,
    rate: float = 0.03,
    n_steps: int = 400,
) -> tuple[list[torch.Tensor], list[float]]:
    """Train one attention function with nothing around it.

    network: "no projection", "one for both", "half of the signs
    flipped" (one for both, the last d_k / 2 entries of a key times -1)
    or "one for each"; scale: of the scores, 1 / sqrt(d_k) if it is
    None. Returns its matrices for query, key and value, and the
    accuracy on each batch, which is always new.
    """
    torch.manual_seed(training_seed)
    size = 3 * N_NAMES
    # three entries of each card are 1, so queries and keys start with
    # unit variance
    w_query, w_key, w_value = (
        (torch.randn(size, width) / 3**0.5).requires_grad_()
        for width in (d_k, d_k, N_NUMBERS)
    )
    if network == "no projection":
        w_query = w_key = torch.eye(size)
    if network in ("one for both", "half of the signs flipped"):
        w_key = w_query
    signs = torch.ones(w_key.shape[1])
    if network == "half of the signs flipped":
        signs[d_k // 2 :] = -1
    # `attention` divides by the square root of d_k; this factor makes
    # it any other scale
    factor = 1.0 if scale is None else scale * d_k**0.5
    learned = {
        id(w): w for w in (w_query, w_key, w_value) if w.requires_grad
    }
    step = optimiser(list(learned.values()), lr=rate)
    accuracy = []
    for _ in range(n_steps):
        cards, right, _ = deal(64)
        output, _ = attention(
            cards @ w_query * factor,
            cards @ w_key * signs,
            cards @ w_value,
        )
        loss = F.cross_entropy(output.flatten(0, 1), right.flatten())
        step.zero_grad()
        loss.backward()
        step.step()
        hits = (output.argmax(dim=-1) == right).float()
        accuracy.append(hits.mean().item())
    matrices = w_query, w_key * signs, w_value
    return [w.detach() for w in matrices], accuracy
