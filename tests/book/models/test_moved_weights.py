"""Rows of a translation that look elsewhere: one at a time, and computed as the network computes them."""

import torch

from book.models.encoder_decoder import EncoderDecoder, shift_right
from book.models.moved_weights import decode

SOURCE = torch.tensor([[3, 4, 5, 0], [6, 3, 4, 5]])
TARGET = torch.tensor([[3, 4, 2], [5, 6, 2]])


def small_model():
    torch.manual_seed(0)
    return EncoderDecoder(7, 7, d_state=8, d_embed=5)


def true_word(scores):
    return scores.softmax(dim=-1).gather(-1, TARGET[..., None])[..., 0]


def test_without_a_change_it_is_the_networks_own_forward():
    model = small_model()
    p, weights = decode(model, SOURCE, TARGET)
    torch.testing.assert_close(p, true_word(model(SOURCE, shift_right(TARGET))).detach())
    torch.testing.assert_close(decode(model, SOURCE, TARGET, weights)[0], p)
    assert (weights[0, :, 3] == 0).all()  # padding


def test_only_the_row_with_other_weights_changes():
    model = small_model()
    p, weights = decode(model, SOURCE, TARGET)
    moved = weights.clone()
    moved[:, 1] = torch.tensor([0.0, 0.0, 1.0, 0.0])
    changed, learned = decode(model, SOURCE, TARGET, moved)
    torch.testing.assert_close(learned, weights)
    torch.testing.assert_close(changed[:, [0, 2]], p[:, [0, 2]])
    assert (changed[:, 1] - p[:, 1]).abs().min() > 1e-5


@torch.no_grad()
def test_a_row_that_looks_at_one_place_reads_its_state():
    model = small_model()
    memory, _, state = model.encode(SOURCE)
    _, weights = decode(model, SOURCE, TARGET)
    for place in range(3):
        weights[:, 0] = torch.eye(4)[place]
        read = model.embed_target(shift_right(TARGET)[:, 0])
        after = model.step.cell(torch.cat([read, memory[:, place]], dim=-1), state)
        scores = model.readout(torch.cat([after, memory[:, place]], dim=-1)).softmax(dim=-1)
        wanted = scores.gather(-1, TARGET[:, :1])[:, 0]
        torch.testing.assert_close(decode(model, SOURCE, TARGET, weights)[0][:, 0], wanted)
