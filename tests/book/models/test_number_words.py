"""Chapter 1's translators: the network with one vector, the number words, and what is kept of a training."""

import sys

import numpy as np
import torch

from book.models.encoder_decoder import END, START, EncoderDecoder, OneVector, shift_right
from book.models.moved_weights import decode
from book.models.number_words import LONGEST_FIRST, NumberWords, alignment, english, german
from tests.support.course import COURSE

SOURCE = torch.tensor([[3, 4, 5, 6], [5, 3, 0, 0], [7, 0, 0, 0]])
TARGET = torch.tensor([[3, 4, END], [5, END, 0], [6, 3, END]])


def test_one_vector_reads_the_last_states_of_both_directions():
    torch.manual_seed(0)
    model = OneVector(8, 8, d_state=6, d_embed=5)
    memory, mask, _ = model.encode(SOURCE)
    assert memory.shape == (3, 1, 6) and mask.all()
    for row, length in zip(range(3), (4, 2, 1), strict=True):
        _, final = model.encoder(model.embed_source(SOURCE[row : row + 1, :length]))
        torch.testing.assert_close(memory[row, 0], final[:, 0].flatten())


def test_training_one_vector_without_a_loop_gives_the_scores_of_the_loop():
    torch.manual_seed(0)
    model = OneVector(8, 8, d_state=6, d_embed=5)
    inputs = shift_right(TARGET)
    assert inputs[0].tolist() == [START, 3, 4]
    torch.testing.assert_close(
        model(SOURCE, inputs), EncoderDecoder.forward(model, SOURCE, inputs), rtol=1e-5, atol=1e-6
    )


def test_what_is_written_is_what_the_scores_say():
    torch.manual_seed(0)
    model = EncoderDecoder(8, 8, d_state=6, d_embed=5)
    words, weights = model.generate(SOURCE, 3)
    scores = model(SOURCE, shift_right(words))
    torch.testing.assert_close(words, scores.argmax(dim=-1))
    assert weights.shape == (3, 3, 4)
    assert not weights[1, :, 2:].any()


def test_number_words():
    assert " ".join(english(27_381)) == "twenty seven thousand three hundred and eighty one"
    assert " ".join(german(27_381)) == "sieben und zwanzig tausend drei hundert ein und achtzig"
    words = LONGEST_FIRST.split("|")
    assert words == sorted(words, key=lambda word: (-len(word), word))
    assert german(16) == ["sechzehn"] and german(100_000) == ["ein", "hundert", "tausend"]


def test_a_trace_ends_with_the_words_that_are_written(monkeypatch):
    monkeypatch.syspath_prepend(COURSE.book)
    from translators import decoder_trace

    torch.manual_seed(0)
    data = NumberWords(1)
    model = EncoderDecoder(len(data.source_words), len(data.target_words))
    trace = decoder_trace(model, data, 27)
    source, target = data.as_tensors([27])
    words, _ = model.generate(source, target.shape[1])
    assert [step[0][0] for step in trace["likely"]] == [
        data.target_words[i] for i in words[0].tolist()
    ]
    np.testing.assert_allclose(trace["weights"], alignment(model, data, 27), atol=1e-6)
    softmax = torch.tensor(trace["scores"]).softmax(dim=-1)
    np.testing.assert_allclose(trace["weights"], softmax, atol=1e-6)
    sys.modules.pop("translators")


def test_parts_of_the_next_word_give_what_the_network_writes(monkeypatch):
    monkeypatch.syspath_prepend(COURSE.book)
    from translators import next_word_parts
    from widgets import _next_word

    torch.manual_seed(0)
    data = NumberWords(1)
    model = EncoderDecoder(len(data.source_words), len(data.target_words))
    source, target = data.as_tensors([27])
    p, weights = decode(model, source, target)
    parts = next_word_parts(model, data, 27)
    for t, word in enumerate(target[0].tolist()):
        found = _next_word(parts, t, weights[0, t].numpy())
        np.testing.assert_allclose(found[word], p[0, t], rtol=1e-4)
    for name in ("translators", "widgets"):
        sys.modules.pop(name)
