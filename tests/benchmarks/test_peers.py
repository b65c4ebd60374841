"""What the comparison with other graders counts, and that its answers are what they say."""

import importlib
import json
from dataclasses import asdict, replace

import pytest
import torch
from torch.nn import functional as F

from benchmarks import peers
from benchmarks.peer_answers import __main__ as drawing
from benchmarks.peer_answers.answer import (
    GRADERS,
    OURS,
    TORCH_JUDGE,
    TORCHLEET,
    Answer,
    Place,
    Task,
    edited,
)
from benchmarks.peer_answers.generated import LIST
from benchmarks.peer_answers.oracle import (
    CASES,
    LARGE_ONLY,
    SAME,
    WRONG,
    Case,
    Large,
    judged,
    namespace,
    outcomes,
    qkv,
    results,
    without_the_crossing,
)
from benchmarks.peer_answers.table import TASKS
from benchmarks.peer_answers.tasks import PUBLISHED
from book.peer_results import Comparison

WRONG_ANSWERS = [answer for task in TASKS for answer in task.answers if not answer.right]


def some(task):
    """The first right answer of a task, and the first and the last wrong one; all others are `weekly`."""
    wrong = [answer for answer in task.answers if not answer.right]
    return [next(answer for answer in task.answers if answer.right), wrong[0], wrong[-1]]


GIVEN = [
    pytest.param(
        task,
        answer,
        grader,
        id=f"{task.name}-{answer.name}-{grader}",
        marks=() if answer in some(task) else pytest.mark.weekly,
    )
    for task in TASKS
    for answer in task.answers
    for grader in GRADERS
    if task.place(grader, answer) is not None
]


def test_wrong_answers_are_published_or_generated():
    published = [answer for answer in WRONG_ANSWERS if answer.source]
    generated = [answer for answer in WRONG_ANSWERS if answer.name.startswith("generated_")]
    assert len(published) + len(generated) == len(WRONG_ANSWERS)
    assert all(answer.source.startswith("https://github.com/") for answer in published)
    assert len(published) >= 100 and len(generated) >= 150


def test_names_and_texts_are_there_once():
    for task in TASKS:
        assert len({answer.name for answer in task.answers}) == len(task.answers)
        assert len({answer.text for answer in task.answers}) == len(task.answers)


@pytest.fixture(scope="module")
def expected():
    """By task, grader and place, what right code gives; made once."""
    found = {}

    def of(task, grader, place):
        key = task.name, grader, place.entries
        if key not in found:
            found[key] = results(task.name, grader, task.text, place)
            assert found[key][-1].value is not None
        return found[key]

    return of


@pytest.mark.parametrize(("task", "answer", "grader"), GIVEN)
def test_an_answer_is_what_it_says(task, answer, grader, expected):
    place = task.place(grader, answer)
    found = judged(expected(task, grader, place), results(task.name, grader, answer.text, place))
    said = WRONG if grader not in answer.large else LARGE_ONLY
    assert found == (SAME if answer.right else said)


@pytest.mark.parametrize("task", PUBLISHED, ids=lambda task: task.name)
def test_the_code_that_answers_are_made_from_gives_what_the_solutions_give(task):
    place = task.places[OURS]
    solution = vars(importlib.import_module(f"solutions.{place.name}"))
    right = [
        Case(one.value.double(), True) if isinstance(one, Large) else Case(one.double(), False)
        for one in CASES[task.name, OURS]({name: solution[name] for name in place.entries})
    ]
    assert judged(right, results(task.name, OURS, task.text, place)) == SAME


def test_the_functions_that_only_peers_ask_for_are_right():
    text = {task.name: task.text for task in TASKS}
    x = qkv((2, 3), 4, 5, 6, 7)
    mask = torch.tensor([[True, False, True, True, False]] * 4)
    right = F.scaled_dot_product_attention(*x, attn_mask=mask)
    assert torch.allclose(namespace(text["window"], "")["attend"](*x, mask), right, atol=1e-6)
    square = qkv((2,), 5, 5, 6, 7)
    causal = F.scaled_dot_product_attention(*square, is_causal=True)
    assert torch.allclose(namespace(text["causal"], "")["attend"](*square), causal, atol=1e-6)
    q, k = F.elu(square[0]) + 1, F.elu(square[1]) + 1
    weights = q @ k.mT
    right = weights / weights.sum(-1, keepdim=True) @ square[2]
    assert torch.allclose(namespace(text["linear"], "")["attend"](*square), right, atol=1e-5)
    names, angles = namespace(text["rope"], ""), torch.rand(5, 3)
    pairs = torch.complex(square[0][..., :3], square[0][..., 3:])
    turned = pairs * torch.polar(torch.ones(5, 3), angles)
    cos, sin = (torch.cat([one, one], dim=1) for one in (angles.cos(), angles.sin()))
    right = torch.cat([turned.real, turned.imag], dim=-1)
    assert torch.allclose(names["applied"](square[0], cos, sin), right, atol=1e-6)


def test_the_oracle_of_guess_and_check_keeps_the_targets_distribution():
    q, p = torch.tensor([[0.2, 0.7, 0.1]]), torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    found = outcomes(q, p)
    assert sum(found.values()) == pytest.approx(1)
    first = [sum(x for tokens, x in found.items() if tokens[0] == v) for v in range(3)]
    assert first == pytest.approx(p[0].tolist())


def test_a_nucleus_without_the_crossing_token():
    found = without_the_crossing(torch.tensor([0.1, 0.5, 0.4]), 0.8)
    assert found.tolist() == [0, 1, 0]


def test_a_difference_that_only_large_scores_show():
    right = [Case(torch.ones(2), False), Case(torch.ones(2), True)]
    assert judged(right, right) == SAME
    assert judged(right, [right[0], Case(torch.zeros(2), True)]) == LARGE_ONLY
    assert judged(right, [right[0], Case(None, False)]) == LARGE_ONLY
    assert judged(right, [Case(torch.zeros(2), False), right[1]]) == WRONG
    assert judged(right, [Case(torch.ones(3), False), right[1]]) == WRONG
    assert judged(right, [Case(None, False)]) == WRONG


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, id=task.name, marks=() if task.name == "softmax" else pytest.mark.weekly)
        for task in PUBLISHED
    ],
)
def test_the_list_is_what_the_generator_draws(task):
    kept = json.loads(LIST.read_text(encoding="utf-8"))[task.name]
    assert [asdict(change) for change in drawing.changes(task)] == kept["changes"]
    assert drawing.large_only(task) == kept["large"]


def task_of(*answers):
    """A small task that two graders have."""
    place = Place("x", "def y():\n    pass", ("y",))
    return Task("small", "Small", "", {TORCH_JUDGE: place, OURS: place}, answers)


SMALL = task_of(
    Answer("a", "", "1", {TORCH_JUDGE: "because", OURS: "because"}, "https://example.org"),
    Answer("b", "", "2", {TORCH_JUDGE: "because"}),
    Answer("c", "", "3"),
    Answer("d", "", "4", {OURS: "because"}, large=frozenset({OURS})),
)


def verdicts(task=SMALL, passed=True):
    return [
        peers.Verdict(task.name, answer.name, grader, peers.kind(answer, grader), passed, ())
        for grader in GRADERS
        for answer, place in peers.places(task, grader)
    ]


def test_an_answer_is_given_only_where_it_is_wrong_by_the_statement():
    assert [answer.name for answer, _ in peers.places(SMALL, TORCH_JUDGE)] == ["a", "b", "c"]
    assert [answer.name for answer, _ in peers.places(SMALL, OURS)] == ["a", "c", "d"]
    assert peers.places(SMALL, TORCHLEET) == []


def test_counts_by_task_and_kind():
    (row,) = peers.counts(verdicts(), [SMALL])
    assert row[TORCHLEET] is None
    assert row[TORCH_JUDGE] == {
        "published": {"given": 1, "passed": 1},
        "generated": {"given": 1, "passed": 1},
        "large": {"given": 0, "passed": 0},
        "right": {"given": 1, "passed": 1},
    }
    (row,) = peers.counts(verdicts(passed=False), [SMALL])
    assert row[OURS]["large"] == {"given": 1, "passed": 0}
    assert row[OURS]["published"] == {"given": 1, "passed": 0}


def test_the_first_run_of_a_list_is_kept_as_long_as_the_list_is_the_same():
    kept = {"list": peers.digest(), "first": {"tasks": ["before"]}}
    assert peers.first_run([], kept) == {"tasks": ["before"]}
    for other in (None, {"list": "another", "first": {"tasks": ["before"]}}):
        assert peers.first_run(["now"], other)["tasks"] == ["now"]


def test_the_digest_is_of_texts_and_of_what_they_count_as():
    answer = SMALL.answers[0]
    others = [
        replace(answer, text="changed"),
        replace(answer, source=""),
        replace(answer, large=frozenset({OURS})),
    ]
    digests = {peers.digest([task_of(one)]) for one in (answer, *others)}
    assert len(digests) == 4


def test_an_edit_has_to_fit_exactly_once():
    assert edited("a b", ("a", "c")) == "c b"
    with pytest.raises(ValueError, match="2 times"):
        edited("a a", ("a", "c"))


def test_the_stored_result_is_of_these_answers_and_complete():
    stored = json.loads(peers.RESULT.read_text(encoding="utf-8"))
    assert stored["list"] == peers.digest()
    kept = [peers.Verdict(**one) for one in stored["verdicts"]]
    assert len(kept) == sum(len(peers.places(task, grader)) for task in TASKS for grader in GRADERS)
    assert stored["tasks"] == peers.counts(kept)
    assert stored["published"] + stored["generated"] == len(WRONG_ANSWERS)
    assert set(stored["minutes"]) == set(GRADERS)


def counted(given, passed):
    return {"given": given, "passed": passed}


def test_the_page_shows_what_counts():
    row = {"task": "small", "title": "Small"} | dict.fromkeys(GRADERS)
    kinds = {"published": counted(3, 1), "generated": counted(0, 0), "large": counted(0, 0)}
    first = row | {OURS: kinds | {"right": counted(2, 2)}}
    now = row | {OURS: kinds | {"published": counted(3, 0), "right": counted(2, 1)}}
    verdict = {"task": "small", "passed": True, "grader": OURS}
    found = Comparison(
        {
            "tasks": [now],
            "first": {"tasks": [first]},
            "answers": [{"task": "small", "name": "a", "what": "a mistake"}],
            "verdicts": [
                verdict | {"answer": "a", "kind": "published"},
                verdict | {"answer": "b", "kind": "published", "passed": False},
                verdict | {"answer": "d", "kind": "right"},
            ],
        },
        {"tasks": [{"title": "Small", "wrong": 9, "first": 2, "later": 1}]},
    )
    assert found.rows("published") == [["Small", "no task", "no task", "0 of 3"]]
    assert found.rows("generated") == []
    assert found.missed(OURS) == [["Small", "published", "a mistake"]]
    assert found.of_task(OURS, "small") == (0, 3)
    assert found.right_failed(OURS) == 1 and found.right_failed(TORCHLEET) == 0
    assert found.changed() == [
        ["Small", OURS, "published", "1 of 3", "0 of 3"],
        ["Small", OURS, "right", "2 of 2", "1 of 2"],
    ]
    assert found.earlier_rows() == [["Small", "2 of 9", "1 of 9"]]
