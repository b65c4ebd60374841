"""The tasks of chapter 5: at each position of a stream of tokens, name
another token further back. Small causal networks learn them; they
differ only in how they know positions.
"""

import math
from collections.abc import Callable

import torch
from torch import nn

from book.models.seeds import seed
from book.models.who_and_whom import fit
from solutions.ch5_positional_encoding import (
    alibi_bias,
    rope,
    sinusoidal,
)

TASKS = ["last digit", "three back", "first token"]
N_DIGITS, N_TOKENS = 8, 16  # 0 to 7 are digits, 8 to 15 letters
TRAINED, TESTED = 16, 64  # lengths
N_STEPS, BATCH = 200, 64
D_MODEL, N_HEADS = 32, 4
N_BUCKETS, FARTHEST = 8, 16
NO_ANSWER = -100  # which cross-entropy leaves out


def streams(
    batch: int,
    length: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Random tokens, one in four a digit, the first one always.

    Returns: tokens (batch, length), and the answers of all tasks,
    (tasks, batch, length), NO_ANSWER where there is none.
    """
    digits = torch.randint(N_DIGITS, (batch, length))
    letters = torch.randint(N_DIGITS, N_TOKENS, (batch, length))
    is_digit = torch.rand(batch, length) < 0.25
    is_digit[:, 0] = True
    tokens = torch.where(is_digit, digits, letters)
    place = torch.where(is_digit, torch.arange(length), 0)
    last = tokens.gather(1, place.cummax(dim=1).values)
    three_back = tokens.roll(3, dims=1)
    three_back[:, :3] = NO_ANSWER
    first = tokens[:, :1].expand(-1, length)
    return tokens, torch.stack([last, three_back, first])


def bucket(distance: torch.Tensor) -> torch.Tensor:
    """T5's number for each distance i - j >= 0, in the same shape.

    Small distances have a bucket each, larger ones share buckets on
    a logarithmic scale. The last one begins before FARTHEST.
    """
    exact = N_BUCKETS // 2
    ratio = distance.clamp(min=exact).double() / exact
    steps = ratio.log() / math.log(FARTHEST / exact)
    far = exact + (steps * (N_BUCKETS - exact)).long()
    far = far.clamp(max=N_BUCKETS - 1)
    return torch.where(distance < exact, distance, far)


class Layer(nn.Module):
    """Causal self-attention, then a feed-forward network.

    Attributes:
        omega: the angle by which RoPE turns each pair of entries
            from one position to the next, (d_k / 2,).
        sharpness: a factor on the scores.
    """

    def __init__(self, kind: str, theta: float = 10000.0) -> None:
        super().__init__()
        d = D_MODEL // N_HEADS
        self.kind = kind
        self.omega = theta ** (-torch.arange(0, d, 2) / d)
        self.sharpness = 1.0
        self.norm = nn.LayerNorm(D_MODEL)
        self.heads = nn.Linear(D_MODEL, 3 * D_MODEL)
        self.join = nn.Linear(D_MODEL, D_MODEL)
        self.compute = nn.Sequential(
            nn.LayerNorm(D_MODEL),
            nn.Linear(D_MODEL, 64),
            nn.ReLU(),
            nn.Linear(64, D_MODEL),
        )
        if kind == "Shaw":
            self.vectors = nn.Parameter(torch.randn(FARTHEST, d))
        if kind == "T5":
            self.bias = nn.Parameter(torch.zeros(N_BUCKETS, N_HEADS))

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        """RoPE with the speeds omega. x: (B, n_heads, T, d_k)."""
        angles = self.omega[:, None] * torch.arange(x.shape[-2])
        # a vector of width 2 is turned by its position alone
        pairs = x.unflatten(-1, (-1, 2)).transpose(-3, -2)
        return rope(pairs, angles).transpose(-3, -2).flatten(-2)

    def forward(
        self,
        x: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """x: (B, T, D). Returns the same shape, and the weights,
        (B, n_heads, T, T).
        """
        query, key, value = (
            part.unflatten(-1, (N_HEADS, -1)).transpose(-3, -2)
            for part in self.heads(self.norm(x)).chunk(3, dim=-1)
        )
        if self.kind == "RoPE":
            query, key = self.turned(query), self.turned(key)
        scores = query @ key.transpose(-2, -1)

        T = x.shape[-2]
        position = torch.arange(T)
        distance = position[:, None] - position  # i - j
        if self.kind == "Shaw":
            away = distance.clamp(0, FARTHEST - 1)
            near = self.vectors[away]  # (T, T, d_k)
            extra = torch.einsum("bhid,ijd->bhij", query, near)
            scores = scores + extra
        scores = scores * self.sharpness / math.sqrt(query.shape[-1])
        if self.kind == "T5":
            bias = self.bias[bucket(distance.clamp(min=0))]
            scores = scores + bias.permute(2, 0, 1)
        if self.kind == "ALiBi":
            scores = scores + alibi_bias(N_HEADS, T)

        scores = scores.masked_fill(distance < 0, -torch.inf)
        weights = scores.softmax(dim=-1)
        seen = (weights @ value).transpose(-3, -2).flatten(-2)
        x = x + self.join(seen)
        return x + self.compute(x), weights


class Decoder(nn.Module):
    """Layers that look back, and a score for each token.

    Args:
        kind: "none", "sinusoidal", "learned", "Shaw", "T5", "RoPE"
            or "ALiBi".
        theta: RoPE's base.

    Attributes:
        table: from a length T and D_MODEL to what "sinusoidal" adds to
            the embeddings, (T, D_MODEL).
    """

    def __init__(
        self,
        kind: str,
        n_layers: int = 1,
        theta: float = 10000.0,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.table: Callable[[int, int], torch.Tensor] = sinusoidal
        self.embedding = nn.Embedding(N_TOKENS, D_MODEL)
        if kind == "learned":
            place = 0.3 * torch.randn(TESTED, D_MODEL)
            self.place = nn.Parameter(place)
        layers = (Layer(kind, theta) for _ in range(n_layers))
        self.layers = nn.ModuleList(layers)
        self.output = nn.Sequential(
            nn.LayerNorm(D_MODEL),
            nn.Linear(D_MODEL, N_TOKENS),
        )

    def forward(
        self,
        tokens: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores (B, T, tokens) and the last layer's weights,
        (B, n_heads, T, T). tokens: (B, T).
        """
        x, T = self.embedding(tokens), tokens.shape[-1]
        if self.kind == "sinusoidal":
            x = x + self.table(T, D_MODEL).to(x.dtype)
        if self.kind == "learned":
            x = x + self.place[:T]
        for layer in self.layers:
            x, weights = layer(x)
        return self.output(x), weights


def trained(
    kind: str,
    task: int,
    number: int,
    rate: float = 0.01,
    n_layers: int = 1,
    theta: float = 10000.0,
    n_steps: int = N_STEPS,
) -> Decoder:
    """A network that has learned a task, counted as in TASKS, from
    n_steps batches of streams of length TRAINED.

    With the same number, networks of the same shape begin alike and
    see the same streams.
    """
    torch.manual_seed(number)
    model = Decoder(kind, n_layers, theta)
    torch.manual_seed(number)
    tokens, answers = streams(n_steps * BATCH, TRAINED)
    fit([model], [(tokens, answers[task])], rate)
    return model


def held_out() -> tuple[torch.Tensor, torch.Tensor]:
    """The 250 streams of length TESTED that all are tested on."""
    torch.manual_seed(seed(99))
    return streams(250, TESTED)


def share_right(
    guesses: torch.Tensor,
    answers: torch.Tensor,
) -> torch.Tensor:
    """The share of right guesses at each position, (T,), NaN where
    nothing is asked. Both arguments: (B, T).
    """
    share = (guesses == answers).double()
    share[answers == NO_ANSWER] = torch.nan
    return share.mean(dim=0)


@torch.no_grad()
def accuracy(model: Decoder, task: int) -> list[float]:
    """The share of right answers at each of TESTED positions."""
    tokens, answers = held_out()
    guesses = model(tokens)[0].argmax(dim=-1)
    return share_right(guesses, answers[task]).tolist()


def guesses_from_bags(tokens: torch.Tensor) -> torch.Tensor:
    """The best guesses, (tasks, B, T), of who knows the token at each
    position and how often each came before, but not in which order.

    tokens: (B, T).
    """
    B, T = tokens.shape
    counts = torch.zeros(B, N_TOKENS)
    guesses = torch.empty(len(TASKS), B, T, dtype=torch.long)
    for t in range(T):
        now = tokens[:, t]
        digits = counts[:, :N_DIGITS]
        digit = digits.argmax(dim=1)
        guesses[0, :, t] = torch.where(now < N_DIGITS, now, digit)
        guesses[2, :, t] = digit if t else now
        # the first token is one of the digits, each as likely
        n_digits = digits.sum(dim=1, keepdim=True).clamp(min=1)
        later = counts.clone()
        later[:, :N_DIGITS] -= digits / n_digits
        guesses[1, :, t] = digit if t == 3 else later.argmax(dim=1)
        counts[torch.arange(B), now] += 1
    return guesses


def guessed() -> torch.Tensor:
    """The accuracy, (tasks, TESTED), of the best guess from a bag."""
    tokens, answers = held_out()
    shares = map(share_right, guesses_from_bags(tokens), answers)
    return torch.stack(list(shares))
