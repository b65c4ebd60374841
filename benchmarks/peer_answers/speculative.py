"""Guess and check: which guesses of a small model stay, and what stands in place of the first that doesn't.

torch-judge asks for the guesses that stay, without one more token after all of them; torchleet for a whole round with
models, ours for one step with the numbers from which chance is made.
"""

from functools import partial

from benchmarks.peer_answers.answer import (
    OURS,
    TORCH_JUDGE,
    TORCHLEET,
    Answer,
    Place,
    Task,
    edited,
    wrong_answer,
)

TEXT = """
import torch


def drawn(p, uniform):
    cumulative = p.cumsum(dim=0) / p.sum()
    return int((cumulative <= uniform).sum())


def step(draft, p_draft, p_target, uniforms):
    found = []
    for i, token in enumerate(draft.tolist()):
        p, q = p_target[i], p_draft[i]
        if uniforms[2 * i] * q[token] >= p[token]:
            residual = (p - q).clamp(min=0)
            return [*found, drawn(residual, uniforms[2 * i + 1])]
        found.append(token)
    if len(p_target) > len(found):
        found.append(drawn(p_target[-1], uniforms[-1]))
    return found
"""

REJECTED = "if uniforms[2 * i] * q[token] >= p[token]:"
RESIDUAL = "residual = (p - q).clamp(min=0)"

RATIO = "by the statement a guess is accepted with probability min(1, p / q)"

wrong = partial(wrong_answer, TEXT)

WRONG = [
    wrong(
        "over_the_largest",
        "a guess is accepted with its probability over the largest one of the target",
        (REJECTED, "if uniforms[2 * i] * p.max() >= p[token]:"),
        source="https://github.com/1bit-MONSTER/1bit-MONSTER/issues/637",
        judge=RATIO,
        leet=RATIO,
        ours=RATIO,
    ),
    wrong(
        "only_the_likeliest",
        "a guess is accepted if it is the target's likeliest token",
        (REJECTED, "if token != int(p.argmax()):"),
        source="https://github.com/lablup/mlxcel/issues/902",
        judge=RATIO,
        leet=RATIO,
        ours=RATIO,
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "quotient",
        "compares with the quotient, and the residual is what the smaller one leaves",
        edited(
            TEXT,
            (REJECTED, "if uniforms[2 * i] >= (p[token] / q[token]).clamp(max=1):"),
            (RESIDUAL, "residual = p - torch.minimum(p, q)"),
        ),
    ),
]

MODELS = """
class Model(torch.nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocab_size, d_model)
        self.hidden = torch.nn.Linear(d_model, d_model)
        self.output = torch.nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        return self.output(self.hidden(self.embedding(ids)).relu())


class DraftModel(Model):
    pass


class TargetModel(Model):
    pass


def standard_decode(model, input_ids, num_tokens, temperature=1.0):
    for _ in range(num_tokens):
        p = torch.softmax(model(input_ids)[:, -1] / temperature, dim=-1)
        input_ids = torch.cat([input_ids, torch.multinomial(p, 1)], dim=1)
    return input_ids


def speculative_decode(draft_model, target_model, input_ids, K=5, temperature=1.0):
    ids, p_draft = input_ids, []
    for _ in range(K):
        p = torch.softmax(draft_model(ids)[0, -1] / temperature, dim=-1)
        p_draft.append(p)
        ids = torch.cat([ids, torch.multinomial(p, 1)[None]], dim=1)
    guesses = ids[0, input_ids.shape[1] :]
    p_target = torch.softmax(target_model(ids)[0, -K - 1 :] / temperature, dim=-1)
    uniforms = torch.rand(2 * K + 2)
    found = step(guesses, torch.stack(p_draft), p_target, uniforms)
    return found, min(len(found) - 1, K)
"""

TASK = Task(
    "speculative",
    "Speculative decoding",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "speculative_decoding",
            """
def speculative_decode(target_probs, draft_probs, draft_tokens):
    uniforms = torch.rand(2 * len(draft_tokens) + 2)
    return step(draft_tokens, draft_probs, target_probs, uniforms)
""",
            ("speculative_decode",),
        ),
        TORCHLEET: Place(
            "speculative-decoding",
            MODELS,
            ("DraftModel", "TargetModel", "standard_decode", "speculative_decode"),
        ),
        OURS: Place(
            "ch8_language_model",
            """
def speculative_step(draft, p_draft, p_target, uniforms):
    return torch.tensor(step(draft, p_draft, p_target, uniforms))
""",
            ("speculative_step",),
        ),
    },
    (*WRONG, *RIGHT),
)
