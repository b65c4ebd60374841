"""What the comparison with other graders counts, and that its answers are what they say."""

import json
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from benchmarks import peers
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
from benchmarks.peer_answers.table import TASKS
from benchmarks.peers import Verdict
from book.peer_results import Comparison
from tests.support.peer_oracle import drawn, namespace, qkv, results, same


def some(task):
    """The first right answer of a task and the first wrong one; those of all others are `weekly`."""
    return [next(a for a in task.answers if a.right == right) for right in (True, False)]


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


def wrong_answers():
    return [answer for task in TASKS for answer in task.answers if not answer.right]


def test_there_are_many_answers_and_most_have_a_source():
    wrong = wrong_answers()
    assert len(wrong) >= 100
    assert sum(bool(answer.source) for answer in wrong) >= len(wrong) / 2
    assert all(not a.source or a.source.startswith("https://github.com/") for a in wrong)
    assert sum(answer.right for task in TASKS for answer in task.answers) >= 15


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
            assert not isinstance(found[key][-1], Exception), found[key][-1]
        return found[key]

    return of


@pytest.mark.parametrize(("task", "answer", "grader"), GIVEN)
def test_an_answer_is_what_it_says(task, answer, grader, expected):
    place = task.place(grader, answer)
    found = results(task.name, grader, answer.text, place)
    assert same(expected(task, grader, place), found) == answer.right


def test_the_code_that_answers_are_made_from_is_right():
    """Against PyTorch and loops."""
    text = {task.name: task.text for task in TASKS}
    x = qkv((2, 3), 4, 5, 6, 7)
    mask = torch.tensor([[True, False, True, True, False]] * 4)
    right = F.scaled_dot_product_attention(*x, attn_mask=mask)
    assert torch.allclose(
        namespace(text["scaled_dot_product"], "")["core"](*x, mask)[0], right, atol=1e-6
    )
    flash = namespace(text["flash"], "")["core"]
    output, lse = flash(*x, 3, 2)
    assert torch.allclose(output, F.scaled_dot_product_attention(*x), atol=1e-6)
    assert torch.allclose(lse, (x[0] @ x[1].mT / 6**0.5).logsumexp(-1), atol=1e-6)
    square = qkv((2,), 5, 5, 6, 7)
    causal = F.scaled_dot_product_attention(*square, is_causal=True)
    assert torch.allclose(flash(*square, 3, 2, True)[0], causal, atol=1e-6)
    window = namespace(text["window"], "")
    band = window["band"](*window["positions"](5, 5), 1, 1)
    assert band.tolist() == [[abs(i - j) <= 1 for j in range(5)] for i in range(5)]
    assert torch.allclose(
        window["attend"](*square, band),
        F.scaled_dot_product_attention(*square, attn_mask=band),
        atol=1e-6,
    )
    query, key, value = (drawn(2, n, 5, 4, seed=seed) for seed, n in enumerate((6, 2, 2)))
    right = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert torch.allclose(
        namespace(text["grouped"], "")["core"](query, key, value)[0], right, atol=1e-6
    )
    linear = namespace(text["linear"], "")
    q, k = F.elu(square[0]) + 1, F.elu(square[1]) + 1
    weights = q @ k.mT
    right = weights / weights.sum(-1, keepdim=True) @ square[2]
    assert torch.allclose(linear["attend"](*square), right, atol=1e-5)
    right = (square[0] @ square[1].mT).tril() @ square[2]
    assert torch.allclose(linear["chunked"](*square, 2)[0], right, atol=1e-5)


def task_of(*answers):
    """A small task that two graders have."""
    place = Place("x", "def y():\n    pass", ("y",))
    return Task("small", "Small", "", {TORCH_JUDGE: place, OURS: place}, answers)


SMALL = task_of(
    Answer("a", "", "1", {TORCH_JUDGE: "because", OURS: "because"}),
    Answer("b", "", "2", {TORCH_JUDGE: "because"}),
    Answer("c", "", "3"),
)


def verdicts(task=SMALL, passed=True):
    return [
        peers.verdict(task, answer, grader, peers.handed_in(answer, place), passed, ())
        for grader in GRADERS
        for answer, place in peers.places(task, grader)
    ]


def test_an_answer_is_given_only_where_it_is_wrong_by_the_statement():
    assert [answer.name for answer, _ in peers.places(SMALL, TORCH_JUDGE)] == ["a", "b", "c"]
    assert [answer.name for answer, _ in peers.places(SMALL, OURS)] == ["a", "c"]
    assert peers.places(SMALL, TORCHLEET) == []


def test_counts_by_task():
    (row,) = peers.counts(verdicts(), [SMALL])
    assert row[TORCH_JUDGE] == {"wrong": 2, "wrong_passed": 2, "right": 1, "right_failed": 0}
    assert row[TORCHLEET] is None
    assert row[OURS] == {"wrong": 1, "wrong_passed": 1, "right": 1, "right_failed": 0}
    (row,) = peers.counts(verdicts(passed=False), [SMALL])
    assert row[OURS] == {"wrong": 1, "wrong_passed": 0, "right": 1, "right_failed": 1}
    assert peers.total([row, row], TORCH_JUDGE)["wrong"] == 4


def test_excluded_answers_do_not_count():
    without = [
        replace(one, excluded="not wrong") if one.answer == "a" else one for one in verdicts()
    ]
    (row,) = peers.counts(without, [SMALL])
    assert row[TORCH_JUDGE]["wrong"] == row[TORCH_JUDGE]["wrong_passed"] == 1
    assert row[OURS]["wrong"] == 0


def test_verdicts_are_kept_while_the_text_is_the_same():
    kept = [vars(one) for one in verdicts()]
    assert peers.still_true(kept, [SMALL]) == verdicts()
    other = task_of(replace(SMALL.answers[0], text="changed"), *SMALL.answers[1:])
    assert {one.answer for one in peers.still_true(kept, [other])} == {"b", "c"}
    assert all(isinstance(one, Verdict) for one in peers.still_true(kept, [other]))


def test_an_edit_has_to_fit_exactly_once():
    assert edited("a b", ("a", "c")) == "c b"
    with pytest.raises(ValueError, match="2 times"):
        edited("a a", ("a", "c"))


def test_the_stored_result_is_of_these_answers_and_complete():
    stored = json.loads(peers.RESULT.read_text(encoding="utf-8"))
    kept = peers.still_true(stored["verdicts"])
    given = sum(len(peers.places(task, grader)) for task in TASKS for grader in GRADERS)
    assert len(kept) == len(stored["verdicts"]) == given
    rows = peers.counts(kept)
    assert stored["tasks"] == rows
    assert stored["total"] == {grader: peers.total(rows, grader) for grader in GRADERS}
    assert stored["wrong_answers"] == len(wrong_answers())


def test_the_page_shows_what_counts():
    row = {"task": "small", "title": "Small"}
    row |= dict.fromkeys(GRADERS)
    counted = {"wrong": 3, "wrong_passed": 1, "right": 2, "right_failed": 0}
    verdict = {"task": "small", "right": False, "passed": True, "excluded": "", "grader": OURS}
    found = Comparison(
        {
            "tasks": [row | {OURS: counted}],
            "total": {TORCH_JUDGE: None, TORCHLEET: None, OURS: counted},
            "answers": [{"task": "small", "name": "a", "what": "a mistake"}],
            "verdicts": [
                verdict | {"answer": "a"},
                verdict | {"answer": "b", "passed": False},
                verdict | {"answer": "c", "excluded": "not wrong"},
                verdict | {"answer": "d", "right": True},
            ],
        }
    )
    assert found.rows() == [
        ["Small", "no task", "no task", "1 of 3"],
        ["All", "no task", "no task", "1 of 3"],
    ]
    assert found.missed(OURS) == [["Small", "a mistake"]]
    assert found.passing(OURS, "small") == {"a"}
    assert [one["answer"] for one in found.excluded()] == ["c"]
