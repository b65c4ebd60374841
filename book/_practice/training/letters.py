"""The next letter: counting to ninety-nine, letter by letter, with a reader's causal mask and masked softmax."""

import random
from collections.abc import Callable, Iterator

import torch
from torch.nn import functional as F

from .adam import Adam

ANSWERS = ("causal_mask", "masked_softmax")
RATE = 0.01
STEPS, EVERY, BATCH = 300, 20, 32
# letters that it reads, at most: two of the longest numbers
LONGEST = 28
D_MODEL, HEADS, D_FF = 32, 4, 128

# ruff: noqa: SIM905
ONES = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBERS = ONES + [ten + one for ten in TENS for one in ["", *(f"-{one}" for one in ONES[:9])]]
LETTERS = sorted(set(" ".join(NUMBERS)))
# after ninety-nine comes one
TEXT = 2 * "".join(f"{number} " for number in NUMBERS)
# where each number begins in the text
STARTS = [sum(len(number) + 1 for number in NUMBERS[:n]) for n in range(len(NUMBERS))]


class Decoder:
    """One pre-norm layer of a decoder, from letters (B, T) to logits (B, T, letters)."""

    def __init__(self, functions: dict[str, Callable]) -> None:
        self.causal_mask, self.masked_softmax = (functions[name] for name in ANSWERS)
        sizes = {"letters": (len(LETTERS), D_MODEL), "places": (LONGEST, D_MODEL)}
        sizes |= dict.fromkeys(("query", "key", "value", "mix"), (D_MODEL, D_MODEL))
        sizes |= {"widen": (D_MODEL, D_FF), "narrow": (D_FF, D_MODEL)}
        sizes |= {"logits": (D_MODEL, len(LETTERS))}
        # each (out, in), as in torch's layers
        self.weights = {
            name: (torch.randn(out, size) / size**0.5).requires_grad_()
            for name, (size, out) in sizes.items()
        }

    def __call__(self, letters: torch.Tensor) -> torch.Tensor:
        """At each place, the logits of the letter that follows."""
        w, T = self.weights, letters.shape[1]
        one_hot = F.one_hot(letters, len(LETTERS)).float()
        x = F.linear(one_hot, w["letters"]) + w["places"].T[:T]
        z = F.layer_norm(x, (D_MODEL,))
        query, key, value = (
            F.linear(z, w[name]).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(-2, -1) / (D_MODEL / HEADS) ** 0.5
        weights = self.masked_softmax(scores, self.causal_mask(T))
        x = x + F.linear((weights @ value).transpose(1, 2).flatten(2), w["mix"])
        wide = F.linear(F.layer_norm(x, (D_MODEL,)), w["widen"]).relu()
        x = x + F.linear(wide, w["narrow"])
        return F.linear(F.layer_norm(x, (D_MODEL,)), w["logits"])


# the one that learned last
learner: Decoder


def train(
    functions: dict[str, Callable], seed: int = 0, rate: float = RATE, n_steps: int = STEPS
) -> Iterator[tuple[int, float, float]]:
    """Yield the step, the loss since it last did, and the share of numbers after which it writes the next one."""
    global learner
    torch.manual_seed(seed)
    draw = random.Random(seed)
    learner = Decoder(functions)
    adam, lost = Adam(learner.weights.values(), (0.9, 0.98)), 0.0
    texts = torch.tensor([in_numbers(TEXT[start : start + LONGEST + 1]) for start in STARTS])
    for step in range(1, n_steps + 1):
        rows = texts[torch.tensor(draw.choices(range(len(texts)), k=BATCH))]
        logits = learner(rows[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        adam.step(rate * min(step / 20, 1, 2 * (1 - step / (n_steps + 1))))
        lost += loss.item() / EVERY
        if step % EVERY == 0:
            yield step, lost, share_written(learner, slice(2, None, 3))
            lost = 0.0


def in_numbers(text: str) -> list[int]:
    """The letters as numbers; those that no number has are left out."""
    return [LETTERS.index(letter) for letter in text.lower() if letter in LETTERS]


@torch.no_grad()
def share_written(model: Decoder, asked: slice) -> float:
    """After how many of the numbers that are asked for it writes the next one, letter by letter, and a space."""
    starts = STARTS[asked]
    right = torch.tensor([in_numbers(TEXT[start : start + LONGEST]) for start in starts])
    ends = [TEXT.index(" ", start) + 1 for start in starts]
    given = torch.tensor([end - start for start, end in zip(starts, ends, strict=True)])
    following = [TEXT.index(" ", end) + 1 - start for start, end in zip(starts, ends, strict=True)]
    letters = right[:, :1]
    for place in range(1, LONGEST):
        likeliest = model(letters)[:, -1].argmax(dim=-1)
        likeliest = torch.where(place < given, right[:, place], likeliest)
        letters = torch.cat([letters, likeliest[:, None]], dim=1)
    later = torch.arange(LONGEST) >= torch.tensor(following)[:, None]
    return ((letters == right) | later).all(dim=1).float().mean().item()


@torch.no_grad()
def write(beginning: str, n_letters: int = 60) -> str:
    """A beginning and the likeliest letters after it, by the one that learned last; "one" where there is none."""
    letters = in_numbers(beginning) or in_numbers("one ")
    space = LETTERS.index(" ")
    seen = letters[-LONGEST:]
    for _ in range(n_letters):
        if len(seen) == LONGEST:
            # it has learned from texts that begin with a number
            seen = seen[seen.index(space) + 1 :] if space in seen[:-1] else seen[1:]
        following = int(learner(torch.tensor([seen]))[0, -1].argmax())
        seen, letters = [*seen, following], [*letters, following]
    return "".join(LETTERS[letter] for letter in letters)
