"""Who is near whom: dressed-up copies are found, independent answers and public solutions are not."""

import difflib
import itertools
import time

import pytest

from autograder.report import similarity
from autograder.report.similarity import MIN_TOKENS, NEAR, STUB, compare, normalised, tokens
from tests.conftest import COURSE

ONE = '''
def attend(query, key, value, mask=None):
    """Weighted average of the values."""
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    largest = scores.max(dim=-1, keepdim=True).values
    weights = torch.exp(scores - largest)  # no overflow
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights
'''
DRESSED = """
def attend(q: "Tensor", k, v, m=None) -> tuple:
    # all my own work
    s = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5

    if m is not None:
        s = s.masked_fill(~m, float('-inf'))
    top = s.max(dim=-1, keepdim=True).values
    w: "Tensor" = torch.exp(s - top)
    w = (w / w.sum(dim=-1, keepdim=True))
    return w @ v, w
"""
EDITED = ONE.replace("torch.exp(scores - largest)", "(scores - largest).exp()")
OTHER = """
def attend(query, key, value, mask=None):
    width = key.shape[-1]
    rows = []
    for position in range(query.shape[-2]):
        row = (key * query[..., position : position + 1, :]).sum(-1) / math.sqrt(width)
        row = row if mask is None else torch.where(mask[..., position, :], row, -torch.inf)
        rows.append(torch.softmax(row, dim=-1))
    stacked = torch.stack(rows, dim=-2)
    return torch.einsum("...ts,...sd->...td", stacked, value), stacked
"""


def ratio(one, other):
    """An oracle from the standard library: the share of tokens in matching blocks."""
    return difflib.SequenceMatcher(None, tokens(one), tokens(other), autojunk=False).ratio()


def groups_of(submissions, public=None):
    public = {
        "attend": {STUB: "def attend(query, key, value, mask=None):\n    ..."} | (public or {})
    }
    return compare({who: {"attend": text} for who, text in submissions.items()}, public)


def test_names_comments_docstrings_annotations_and_spacing_do_not_count():
    assert normalised(ONE) == normalised(DRESSED)
    assert normalised(ONE) != normalised(OTHER)


def test_copies_are_grouped_and_independent_answers_are_not():
    class_of_four = {"a": ONE, "b": DRESSED, "c": EDITED, "d": OTHER}
    (group,), known = groups_of(class_of_four)
    assert group.students == ("a", "b", "c")
    assert (group.similarity, group.pair, group.answers) == (1.0, ("a", "b"), ("attend",))
    assert known == {}
    assert ratio(ONE, EDITED) > NEAR > ratio(ONE, OTHER)
    (group,), _ = groups_of({"a": ONE, "c": EDITED, "d": OTHER})
    assert group.pair == ("a", "c")
    assert group.similarity == pytest.approx(ratio(ONE, EDITED), abs=0.02)


def test_two_who_are_near_a_public_solution_are_near_that_and_not_each_other():
    class_of_three = {"a": ONE, "b": DRESSED, "d": OTHER}
    groups, known = groups_of(class_of_three, {"the reference": EDITED})
    assert groups == []
    assert known == {"the reference": {"a": ["attend"], "b": ["attend"]}}


def test_the_untouched_stub_short_answers_and_no_answer_say_nothing():
    public = {"attend": {STUB: ONE}, "short": {STUB: "pass"}}
    submissions = {who: {"attend": DRESSED, "short": "x = 1"} for who in ("a", "b")}
    assert compare({**submissions, "c": {}}, public) == ([], {})


def test_one_group_tells_all_answers_that_its_students_share():
    public = {"one": {STUB: "pass"}, "two": {STUB: "pass"}}
    submissions = {who: {"one": ONE, "two": OTHER} for who in ("b", "a")}
    (group,), _ = compare(submissions, public)
    assert group.students == ("a", "b")
    longest = max((len(tokens(ONE)), "one"), (len(tokens(OTHER)), "two"))[1]
    assert group.answers[0] == longest and set(group.answers) == {"one", "two"}


@pytest.mark.parametrize(
    "source",
    [
        "def f(:\n",
        "(" * 5000,
        "x = " + "9" * 5000,
        "\x00",
        "a" * 200_000,
        "x\n" * 50_000,
        "é = ‘1’",
    ],
)
def test_what_is_no_program_is_compared_as_it_stands(source):
    assert len(tokens(source)) <= similarity.MAX_TOKENS
    groups_of({"a": source, "b": source})


def test_the_courses_own_answers_lie_far_apart(exercise):
    """What the threshold rests on: correct answers in different styles are not near-identical."""
    for public in similarity.public_answers(exercise).values():
        texts = [tokens(source) for who, source in public.items() if who != STUB]
        for one, other in itertools.combinations([t for t in texts if len(t) >= MIN_TOKENS], 2):
            assert similarity._near([one], [other])[0, 0] == 0


def test_three_hundred_students_take_seconds(capsys):
    public = similarity.public_answers(COURSE.exercise("ch2_scaled_dot_product"))
    submissions = {}
    for number in range(300):
        # no two are equal, all are long
        filling = "\n".join(f"    x = x * {number} + {number * line}" for line in range(20))
        submissions[f"student-{number:03d}"] = dict.fromkeys(
            public, f"def f(x):\n{filling}\n    return x"
        )
    start = time.process_time()
    compare(submissions, public)
    with capsys.disabled():
        seconds = time.process_time() - start
        print(f"\n300 students, {len(public)} answers each: {seconds:.1f} s")
