"""Who is near whom: dressed-up copies are found, independent answers and public solutions are not."""

import difflib
import itertools

import pytest

from autograder.report import similarity
from autograder.report.similarity import (
    MIN_TOKENS,
    NEAR,
    STUB,
    compare,
    normalised,
    own_part,
    tokens,
)

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


SIGNATURE = "def attend(query, key, value, mask=None):\n    ..."


def compared(source, stub=SIGNATURE):
    return tokens(own_part(source, stub))


def ratio(one, other):
    """An oracle from the standard library: the share of tokens in matching blocks."""
    return difflib.SequenceMatcher(None, compared(one), compared(other), autojunk=False).ratio()


def groups_of(submissions, public=None):
    public = {"attend": {STUB: SIGNATURE} | (public or {})}
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


def test_what_the_exercise_gives_is_not_compared():
    stub = """
class Step(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        raise NotImplementedError("to do")

    def forward(self, x, state=None):
        raise NotImplementedError("to do")
"""
    source = """
class Step(nn.Module):
    def helper(self, y):
        return y

    def __init__(self, width, hidden):
        super().__init__()
        size = width
        self.cell = nn.GRUCell(size, hidden)

    def forward(self, word, last=None):
        return self.cell(word, last)
"""
    left = [line.strip() for line in own_part(source, stub).split("\n") if line.strip()]
    assert left == [
        "def helper(self, v0):",
        "return v0",
        "v2 = v0",
        "self.cell = nn.GRUCell(v2, v1)",
        "return self.cell(v0, v1)",
    ]
    assert own_part(stub, stub).strip() == ""


# Written independently of each other and of the catalogue, with keyword arguments and without.
STEPS = (
    """
        self.attention = AdditiveAttention(query_dim=hidden_dim, key_dim=key_dim, attn_dim=attn_dim)
        self.cell = nn.GRUCell(input_size=embed_dim + key_dim, hidden_size=hidden_dim)

    def forward(self, embedded, state, keys, mask=None):
        context, weights = self.attention(query=state, key=keys, value=keys, mask=mask)
        new_state = self.cell(torch.cat([embedded, context], dim=-1), state)
        return new_state, context, weights
""",
    """
        self.attend = AdditiveAttention(query_dim=hidden_dim, key_dim=key_dim, attn_dim=attn_dim)
        self.gru = nn.GRUCell(input_size=embed_dim + key_dim, hidden_size=hidden_dim)

    def forward(self, embedded, state, keys, mask=None):
        c, w = self.attend(state, keys, keys, mask)
        joined = torch.cat((embedded, c), 1)
        state = self.gru(joined, state)
        return state, c, w
""",
    """
        self.dims = embed_dim, key_dim
        self.att = AdditiveAttention(hidden_dim, key_dim, attn_dim)
        self.rnn = nn.GRUCell(sum(self.dims), hidden_dim)

    def forward(self, embedded, state, keys, mask=None):
        glimpse, alpha = self.att(state, keys, keys, mask=mask)
        hidden = self.rnn(torch.hstack([embedded, glimpse]), state)
        return (hidden, glimpse, alpha)
""",
)


def test_short_answers_written_independently_are_not_near():
    """What is a student's own in this answer is too short to say anything."""
    head = "class AttentionDecoderStep(nn.Module):\n    def __init__(self, embed_dim, hidden_dim, key_dim, attn_dim):\n        super().__init__()"
    given = "    def forward(self, embedded, state, keys, mask=None):\n        raise NotImplementedError"
    stub = f"{head}\n        raise NotImplementedError\n\n{given}\n"
    submissions = {f"s{n}": {"step": head + step} for n, step in enumerate(STEPS)}
    whole = [tokens(normalised(one["step"])) for one in submissions.values()]
    # with what everybody has, two of them would be called near-identical
    assert min(map(len, whole)) >= MIN_TOKENS
    assert compare(submissions, {"step": {STUB: stub}}) == ([], {})


def test_a_chain_says_how_many_of_its_pairs_are_near():
    """Each is near the one before; first and last are not, and nobody should be told that they are."""
    chain = [ONE]
    for old, new in (
        ("torch.exp(scores - largest)", "(scores - largest).exp()"),
        (
            "weights = weights / weights.sum(dim=-1, keepdim=True)",
            "total = weights.sum(-1, True)\n    weights = torch.div(weights, total)",
        ),
    ):
        chain.append(chain[-1].replace(old, new))
    near = [ratio(*pair) >= NEAR for pair in itertools.combinations(chain, 2)]
    (group,), _ = groups_of({f"s{n}": text for n, text in enumerate(chain)})
    assert group.students == ("s0", "s1", "s2")
    assert group.near == pytest.approx(sum(near) / 3) and group.near < 1
    (group,), _ = groups_of({"a": ONE, "b": DRESSED, "c": ONE})
    assert group.near == 1


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
    longest = max((len(compared(ONE, "pass")), "one"), (len(compared(OTHER, "pass")), "two"))[1]
    assert group.answers[0] == longest and set(group.answers) == {"one", "two"}


@pytest.mark.parametrize(
    "source",
    [
        "def f(:\n",
        pytest.param("(" * 5000, id="brackets"),
        pytest.param("x = " + "9" * 5000, id="a long number"),
        "\x00",
        pytest.param("a" * 200_000, id="a long name"),
        pytest.param("x\n" * 50_000, id="many lines"),
        "é = ‘1’",
    ],
)
def test_what_is_no_program_is_compared_as_it_stands(source):
    assert len(compared(source)) <= similarity.MAX_TOKENS
    groups_of({"a": source, "b": source})


def test_the_courses_own_answers_lie_far_apart(exercise):
    """What the threshold rests on: correct answers in different styles are not near-identical."""
    for public in similarity.public_answers(exercise).values():
        texts = [compared(source, public[STUB]) for who, source in public.items() if who != STUB]
        for one, other in itertools.combinations([t for t in texts if len(t) >= MIN_TOKENS], 2):
            assert similarity._near([one], [other])[0, 0] == 0
