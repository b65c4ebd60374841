"""Beam search. Ours has a length penalty and gives the score; torchleet's has no token that ends a sentence."""

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
import math

import torch


def search(step, start, eos, beam, max_len, alpha):
    unfinished, best, best_score = [([start], 0.0)], [start], -math.inf
    for length in range(1, max_len + 1):
        grown = []
        for tokens, total in unfinished:
            for token, log_p in enumerate(step(tokens)):
                grown.append(([*tokens, token], total + log_p))
        grown.sort(key=lambda one: one[1], reverse=True)
        unfinished = []
        for tokens, total in grown[:beam]:
            if tokens[-1] == eos or length == max_len:
                score = total / ((5 + length) / 6) ** alpha
                if score > best_score:
                    best, best_score = tokens, score
            else:
                unfinished.append((tokens, total))
        if not unfinished:
            break
    return best, best_score
"""

FINISHED = "if tokens[-1] == eos or length == max_len:"
PENALTY = "score = total / ((5 + length) / 6) ** alpha"
STOP = "        if not unfinished:\n            break\n"

wrong = partial(wrong_answer, TEXT)

WRONG = [
    wrong(
        "goes_on_after_the_end",
        "a sentence is continued behind the token that ends it",
        (FINISHED, "if length == max_len:"),
        source="https://github.com/jarobyte91/pytorch_beam_search/issues/5",
        judge="by the statement it stops with the token that ends a sentence",
        ours="by the statement a continuation that ends in EOS is finished",
    ),
    wrong(
        "stops_with_the_first",
        "stops as soon as the most likely prefix ends, although a longer one may have a better score",
        (
            STOP,
            "        if not unfinished or grown[0][0][-1] == eos:\n            break\n",
        ),
        source="https://github.com/joeynmt/joeynmt/issues/148",
        ours="by the statement it ends when nothing is open",
    ),
    wrong(
        "length_without_the_end",
        "the token that ends a sentence isn't counted for the length penalty",
        (PENALTY, "score = total / ((5 + length - (tokens[-1] == eos)) / 6) ** alpha"),
        source="https://github.com/huggingface/transformers/issues/8722",
        ours="by the statement EOS is counted",
    ),
    wrong(
        "length_one_too_small",
        "the length for the penalty is one too small",
        (PENALTY, "score = total / ((5 + length - 1) / 6) ** alpha"),
        source="https://github.com/tnq177/witwicky/pull/8",
        ours="by the statement all tokens but BOS are counted",
    ),
]

RIGHT = [
    Answer("plain", "the code from which the others are made", TEXT),
    Answer(
        "tensors",
        "the totals of all continuations in one tensor",
        edited(
            TEXT,
            (
                """            for token, log_p in enumerate(step(tokens)):
                grown.append(([*tokens, token], total + log_p))
        grown.sort(key=lambda one: one[1], reverse=True)
""",
                """            values = torch.tensor(step(tokens), dtype=torch.float64) + total
            places = values.sort(descending=True).indices[:beam].tolist()
            grown += [([*tokens, place], float(values[place])) for place in places]
        grown = sorted(grown, key=lambda one: -one[1])
""",
            ),
        ),
    ),
]

TASK = Task(
    "beam",
    "Beam search",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "beam_search",
            """
def beam_search(log_prob_fn, start_token, max_len, beam_width, eos_token):
    step = lambda tokens: log_prob_fn(tokens).tolist()
    return search(step, start_token, eos_token, beam_width, max_len, 0.0)[0]
""",
            ("beam_search",),
        ),
        TORCHLEET: Place(
            "beam-search",
            """
def beam_search(model, start_token, beam_width=5, max_len=20):
    step = lambda tokens: torch.log_softmax(model(tokens[-1]), dim=-1)[0].tolist()
    return search(step, start_token, -1, beam_width, max_len - 1, 0.0)[0]
""",
            ("beam_search",),
        ),
        OURS: Place(
            "ch7_training",
            """
def beam_search(step_fn, bos, eos, beam, max_len, alpha):
    step = lambda tokens: step_fn(torch.tensor([tokens]))[0].tolist()
    found, score = search(step, bos, eos, beam, max_len, alpha)
    return torch.tensor(found[1:]), score
""",
            ("beam_search",),
        ),
    },
    (*WRONG, *RIGHT),
)
