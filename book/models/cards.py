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
    network: str, training_seed: int, rate: float = 0.03
) -> list[torch.Tensor]:
    """Train one attention function with nothing around it.

    network: "one for both", "half of the signs flipped" (one for both,
    half of the entries of each key times -1) or "one for each". Returns
    its matrices for query, key and value.
    """
    torch.manual_seed(training_seed)
    size = 3 * N_NAMES
    # three entries of each card are 1, so queries and keys start with
    # unit variance
    w_query, w_key, w_value = (
        (torch.randn(size, width) / 3**0.5).requires_grad_()
        for width in (64, 64, N_NUMBERS)
    )
    signs = torch.ones(64)
    if network == "half of the signs flipped":
        signs[32:] = -1
    learned = [w_query, w_key, w_value]
    if network != "one for each":
        w_key = w_query
        learned = [w_query, w_value]
    step = torch.optim.Adam(learned, lr=rate)
    for _ in range(400):
        cards, right, _ = deal(64)
        output, _ = attention(
            cards @ w_query, cards @ w_key * signs, cards @ w_value
        )
        loss = F.cross_entropy(output.flatten(0, 1), right.flatten())
        step.zero_grad()
        loss.backward()
        step.step()
    return [w.detach() for w in (w_query, w_key * signs, w_value)]
