"""Chapter 3's task: sentences, readers, and training several networks side by side."""

import copy

import torch
from torch.nn import functional as F

from book.models.who_and_whom import (
    ANIMALS,
    ENDINGS,
    N_ANIMALS,
    STEMS,
    Reader,
    fit,
    in_words,
    sentences,
)
from solutions.ch3_multi_head import MultiHeadAttention


def make_reader(n_hidden=0):
    return Reader(MultiHeadAttention(12, 3), 12, n_questions=2, start=1.0, n_hidden=n_hidden)


def test_the_answer_is_the_animal_with_the_ending_of_the_question():
    torch.manual_seed(0)
    stems, endings, answers = sentences(n_questions=3, batch=200)
    places = set()
    for stem, ending, animals in zip(*(t.tolist() for t in (stems, endings, answers)), strict=True):
        assert sorted(ending) == [0, 1, 2, 3, 3]
        assert [stem[ending.index(question)] for question in range(3)] == animals
        assert len(set(animals)) == 3 and max(animals) < N_ANIMALS
        assert all(s >= N_ANIMALS for s, e in zip(stem, ending, strict=True) if e == 3)
        places.add(ending.index(0))
    assert places == set(range(5))
    words = in_words(stems[0], endings[0])
    who = next(word for word in words if word.endswith("·who"))
    assert ANIMALS.index(who.partition("·")[0]) == answers[0, 0]
    assert sum(word in STEMS for word in words) == 2
    assert ENDINGS[0] == "who"


def test_a_head_is_left_out_as_if_its_columns_of_the_output_layer_were_zero():
    torch.manual_seed(0)
    reader = make_reader()
    stems, endings, _ = sentences(batch=5)
    for without in ([1], [0, 2], [0, 1, 2]):
        cut = copy.deepcopy(reader)
        for head in without:
            cut.attend.w_o.weight.data[:, 4 * head : 4 * head + 4] = 0
        got, weights = reader(stems, endings, without)
        expected, _ = cut(stems, endings)
        torch.testing.assert_close(got, expected)
        assert got.shape == (5, 2, N_ANIMALS) and weights.shape == (5, 3, 4)


def test_networks_trained_side_by_side_are_those_trained_alone():
    torch.manual_seed(0)
    # in double precision, since Adam enlarges what rounding leaves of a gradient that is zero
    readers = [make_reader(n_hidden=7).double() for _ in range(2)]
    alone = copy.deepcopy(readers)
    data = [sentences(batch=3 * 64) for _ in readers]
    fit(readers, data)
    for reader, together, (stems, endings, answers) in zip(alone, readers, data, strict=True):
        optimiser = torch.optim.Adam(reader.parameters(), lr=0.01)
        for i in range(0, 3 * 64, 64):
            scores, _ = reader(stems[i : i + 64], endings[i : i + 64])
            loss = F.cross_entropy(scores.flatten(0, 1), answers[i : i + 64].flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        for one, other in zip(reader.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-9)
