"""The task of chapter 3: sentences in any order, and who does what to
whom. Networks as small as can be learn to answer.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from book.models.seeds import seed
from solutions.ch3_multi_head import head_contribution

ANIMALS = [
    *("dog", "cat", "bird", "fox", "wolf"),
    *("bear", "fish", "horse", "snake", "mouse"),
]
ADVERBS = ["today", "slowly", "again"]
STEMS = ANIMALS + ADVERBS
ENDINGS = ["who", "whom", "to whom", "none"]
N_ANIMALS, N_ADVERBS = len(ANIMALS), len(ADVERBS)


def sentences(
    n_questions: int = 2,
    batch: int = 64,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random sentences: an animal for each question, and two adverbs.

    Returns: stems (B, S) and endings (B, S) in any order, and the
    animals in the order of the questions, (B, n_questions).
    """
    shuffled = torch.rand(batch, N_ANIMALS).argsort(dim=1)
    animals = shuffled[:, :n_questions]  # all different
    adverbs = N_ANIMALS + torch.randint(N_ADVERBS, (batch, 2))
    stems = torch.cat([animals, adverbs], dim=1)
    endings = torch.tensor([*range(n_questions), 3, 3])
    order = torch.rand(stems.shape).argsort(dim=1)
    endings = endings.expand(batch, -1).gather(1, order)
    return stems.gather(1, order), endings, animals


def in_words(stems: torch.Tensor, endings: torch.Tensor) -> list[str]:
    """The words of one sentence, such as dog·who, (S,) each."""
    return [
        f"{STEMS[s]}·{ENDINGS[e]}" if e < 3 else STEMS[s]
        for s, e in zip(stems, endings, strict=True)
    ]


class Reader(nn.Module):
    """One look at a sentence, then all answers from what was seen.

    Args:
        layer: multi-head attention of width d_model.
        start: size of the verb's vector at first. If it is small,
            all weights begin nearly equal.
        n_hidden: units of a hidden layer behind attention; with 0
            the answers come from a linear layer.
        forms: whether a value knows its word's ending, too.
    """

    def __init__(
        self,
        layer: nn.Module,
        d_model: int,
        n_questions: int,
        start: float = 0.1,
        n_hidden: int = 0,
        forms: bool = False,
    ) -> None:
        super().__init__()
        n_answers = n_questions * N_ANIMALS
        self.n_forms = len(ENDINGS) if forms else 1
        self.stem = nn.Embedding(len(STEMS) * self.n_forms, d_model)
        self.ending = nn.Embedding(len(ENDINGS), d_model)
        self.verb = nn.Parameter(start * torch.randn(1, 1, d_model))
        self.attend = layer
        self.answer = nn.Linear(d_model, n_answers)
        if n_hidden:
            self.answer = nn.Sequential(
                nn.Linear(d_model, n_hidden),
                nn.ReLU(),
                nn.Linear(n_hidden, n_answers),
            )

    def forward(
        self,
        stems: torch.Tensor,
        endings: torch.Tensor,
        without: Sequence[int] = (),
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Scores (B, questions, animals) and weights (B, n_heads, S).

        without: heads whose terms are left out.
        """
        inputs = (
            self.verb.expand(len(stems), 1, -1),
            self.ending(endings),
            self.stem(stems * self.n_forms + endings % self.n_forms),
        )
        seen, weights = self.attend(*inputs)
        for head in without:
            term = head_contribution(self.attend, *inputs, head)
            seen = seen - term
        scores = self.answer(seen[:, 0]).unflatten(-1, (-1, N_ANIMALS))
        return scores, None if weights is None else weights[:, :, 0]


def fit(
    models: Sequence[nn.Module],
    data: Sequence[tuple],
    rate: float = 0.01,
) -> None:
    """Train models of the same shape side by side, in batches of 64.

    Args:
        models: modules that return scores (batch, ..., classes) first.
        data: for each model its inputs and, last, the right classes,
            (batch, ...).
        rate: the learning rate.
    """
    # the first axis of each parameter counts the models
    parameters, _ = stack_module_state(models)
    optimiser = torch.optim.Adam(parameters.values(), rate, fused=True)

    def scores(own: dict, *inputs: torch.Tensor) -> torch.Tensor:
        return functional_call(models[0], own, inputs)[0]

    columns = (torch.stack(c) for c in zip(*data, strict=True))
    batches = zip(*(c.split(64, dim=1) for c in columns), strict=True)
    for *inputs, answers in batches:
        guesses = vmap(scores)(parameters, *inputs)
        loss = F.cross_entropy(
            guesses.flatten(0, -2),
            answers.flatten(),
        )
        optimiser.zero_grad()
        (len(models) * loss).backward()  # the sum of their losses
        optimiser.step()
    for i, model in enumerate(models):
        own = {name: p[i].detach() for name, p in parameters.items()}
        model.load_state_dict(own)


def trained(
    make_layer: Callable[[], nn.Module],
    d_model: int,
    seeds: Sequence[int],
    n_questions: int = 2,
    start: float = 0.1,
    n_hidden: int = 0,
    rate: float = 0.01,
    forms: bool = False,
) -> list[Reader]:
    """One reader per seed, with a layer that make_layer() gives,
    trained on 200 batches.
    """
    readers, data = [], []
    for number in seeds:
        torch.manual_seed(number)
        layer = make_layer()
        sizes = d_model, n_questions, start, n_hidden, forms
        readers.append(Reader(layer, *sizes))
        data.append(sentences(n_questions, batch=200 * 64))
    fit(readers, data, rate)
    return readers


@torch.no_grad()
def accuracy(
    reader: Reader,
    n_questions: int = 2,
    without: Sequence[int] = (),
) -> torch.Tensor:
    """Share of 1000 fresh sentences answered rightly, for each
    question, (n_questions,). without: heads that are left out.
    """
    torch.manual_seed(seed(99))
    stems, endings, answers = sentences(n_questions, batch=1000)
    scores, _ = reader(stems, endings, without)
    right = scores.argmax(dim=-1) == answers
    return right.double().mean(dim=0)
