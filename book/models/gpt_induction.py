"""Do the GPTs of chapter 8 have induction heads, and what would it
take for them to get some?
"""

# Pages show this code, in a column of 72 characters.
# fmt: off
import torch

from book.models.small_gpt import GPT, Text, bits, train, turned
from solutions.ch10_circuits import prefix_matching

BLOCK, GAP = 24, 8


class WatchedAttention:
    """The attention of a GPT, which keeps its last weights,
    (B, H, T, T).
    """

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor,
    ) -> tuple[torch.Tensor, None]:
        positions = torch.arange(key.shape[2])
        query, key = turned(query, positions), turned(key, positions)
        scores = query @ key.mT / query.shape[-1] ** 0.5
        scores = scores.masked_fill(~mask, -torch.inf)
        self.weights = scores.softmax(dim=-1)
        return self.weights @ value, None


def with_blocks(
    tokens: torch.Tensor, n_tokens: int, repeated: bool, number: int
) -> torch.Tensor:
    """A text (n,) with a block after each 64 of its tokens, (m,).

    A block has BLOCK random tokens, up to GAP others, and, if
    repeated, the first BLOCK again; otherwise BLOCK new ones.

    n_tokens: of the vocabulary. number: the seed.
    """
    drawing = torch.Generator().manual_seed(number)

    def drawn(n: int) -> torch.Tensor:
        return torch.randint(n_tokens, (n,), generator=drawing)

    parts = []
    for piece in tokens.split(64):
        block, other = drawn(BLOCK), drawn(BLOCK)
        length = torch.randint(GAP, (), generator=drawing)
        gap = drawn(int(length))
        parts += [piece, block, gap, block if repeated else other]
    return torch.cat(parts)


def trained_gpt(
    text: Text,
    number: int,
    n_steps: int = 400,
    context: int = 64,
    blocks: str = "none",
) -> GPT:
    """A GPT of chapter 8, trained on its text.

    blocks: "none", or "repeated" or "new", see with_blocks.
    """
    tokens = text.training
    if blocks != "none":
        repeated = blocks == "repeated"
        n_tokens = len(text.characters)
        tokens = with_blocks(tokens, n_tokens, repeated, number)
    torch.manual_seed(number)
    model = GPT(len(text.characters))
    for _ in train(model, tokens, n_steps, context, number):
        pass
    return model.eval()


@torch.no_grad()
def observed(model: GPT, text: Text, number: int) -> dict:
    """What a GPT does with what comes twice.

    Returns:
        "matching": for each layer the best prefix matching score of
        its heads, on random characters that come twice, at three
        distances. "first" and "second": bits a character of the
        first and of the second copy of pieces of the validation
        text. "text": bits a character of that text.
    """
    torch.manual_seed(number)
    watched = [WatchedAttention() for _ in model.layers]
    for layer, attention in zip(model.layers, watched, strict=True):
        layer.self_attention.attention = attention
    scores = []
    for size in (20, 24, 28):
        rows = torch.rand(32, len(text.characters)).argsort(dim=1)
        tokens = rows[:, :size].repeat(1, 2)
        model(tokens)
        scores.append(
            [
                torch.stack(
                    [
                        prefix_matching(weights, one)
                        for weights, one in zip(
                            attention.weights, tokens, strict=True
                        )
                    ]
                ).mean(dim=0)
                for attention in watched
            ]
        )
    mean = [sum(of_layer) / 3 for of_layer in zip(*scores, strict=True)]
    pieces = text.validation[: 100 * 32].view(100, 32)
    twice = bits(model, torch.cat([pieces, pieces], dim=1))
    plain = bits(model, text.validation[: 65 * 100].view(100, 65))
    return {
        "matching": [of_layer.max().item() for of_layer in mean],
        "first": twice[:, 8:31].mean().item(),
        "second": twice[:, 40:63].mean().item(),
        "text": plain[:, 32:].mean().item(),
    }
