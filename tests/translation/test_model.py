"""The trainer's model and loss: the numbers of chapters 6 and 7, at less cost."""

import pytest
import torch

from solutions.ch6_transformer import Transformer
from solutions.ch7_training import smoothed_cross_entropy
from translation import loss, machine
from translation.loss import linear_cross_entropy
from translation.model import ByteDropout, FusedAttention, build
from translation.settings import complete
from translation.tokenizer import BOS, PAD
from translation.trainer import Objective

VOCAB = 37
SIZES = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 24, "dropout": 0.0}


def parts(draw, rows=50):
    """Hidden states, weight, bias, and targets of which some are padding."""
    hidden, weight, bias = (
        torch.randn(*shape, generator=draw) for shape in ((rows, 16), (VOCAB, 16), (VOCAB,))
    )
    targets = torch.randint(PAD + 1, VOCAB, (rows,), generator=draw)
    targets[::7] = PAD
    return [x.requires_grad_() for x in (hidden, weight, bias)], targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_in_slices_is_that_of_chapter_7(smoothing, monkeypatch):
    monkeypatch.setitem(loss.SLICE, "cpu", 7 * VOCAB)  # seven slices of seven rows and one of one
    inputs, targets = parts(torch.Generator().manual_seed(1))
    ours = linear_cross_entropy(*inputs, targets, smoothing, PAD)
    hidden, weight, bias = inputs
    logits = (hidden @ weight.T + bias)[None]
    theirs = smoothed_cross_entropy(logits, targets[None], smoothing, PAD) * (targets != PAD).sum()
    torch.testing.assert_close(ours, theirs)
    for a, b in zip(*(torch.autograd.grad(2 * x, inputs) for x in (ours, theirs)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_the_loss_of_extreme_logits_is_finite():
    inputs, targets = parts(torch.Generator().manual_seed(2))
    with torch.no_grad():
        inputs[0].mul_(1e4)
    total = linear_cross_entropy(*inputs, targets, 0.1, PAD)
    assert total.isfinite()
    assert all(x.isfinite().all() for x in torch.autograd.grad(total, inputs))


def test_the_loss_in_bfloat16_is_close():
    inputs, targets = parts(torch.Generator().manual_seed(3), rows=500)
    found = [
        torch.autograd.grad(linear_cross_entropy(*inputs, targets, 0.1, PAD, precision), inputs)
        for precision in (torch.bfloat16, torch.float32)
    ]
    for rough, exact in zip(*found, strict=True):
        assert 0 < (rough - exact).norm() / exact.norm() < 0.01


def test_one_slice_of_logits_is_all_there_ever_is(monkeypatch):
    """The largest tensor that the loss makes is a slice, not the logits of the batch."""
    monkeypatch.setitem(loss.SLICE, "cpu", 10 * VOCAB)

    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        numbers = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                self.numbers = max(self.numbers, out.numel())
            return out

    inputs, targets = parts(torch.Generator().manual_seed(4), rows=1000)
    with Largest() as largest:
        linear_cross_entropy(*inputs, targets, 0.1, PAD).backward()
    assert largest.numbers == 1000 * 16  # the hidden states; all logits would be 37,000


@pytest.fixture
def pair():
    """Sentences of different lengths."""
    draw = torch.Generator().manual_seed(5)
    source, target = (torch.randint(4, VOCAB, (4, n), generator=draw) for n in (7, 10))
    target[:, 0] = BOS
    source[1, 5:] = source[3, 2:] = target[0, 6:] = target[3, 8:] = PAD
    return source, target


def gradients(objective, pair):
    """Loss and gradients by name."""
    objective.zero_grad()
    total = objective(*pair)
    total.backward()
    return total.detach(), {n: p.grad.clone() for n, p in objective.model.named_parameters()}


def reference(model, settings):
    """The Transformer of chapter 6 with the weights of a model."""
    sizes = settings.d_model, settings.heads, settings.layers, settings.d_ff
    made = Transformer(VOCAB, VOCAB, *sizes, 0.0, PAD, settings.norm_first)
    weights = model.state_dict() | {"positions.encoding": made.positions.encoding}
    made.load_state_dict(weights)
    if settings.tie:
        made.source_embedding.weight = made.project.weight = made.target_embedding.weight
    return made


@pytest.mark.parametrize("attention", ["fused", "formula"])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_model_and_loss_are_those_of_chapters_6_and_7(pair, attention, norm_first, device):
    """Also with what is meant for a GPU: there, padding is a feature and no mask."""
    torch.manual_seed(6)
    settings = complete(SIZES | {"norm_first": norm_first})
    model = build(settings, VOCAB, attention, device)
    ours, found = gradients(Objective(model, machine.choose("cpu"), 0.1), pair)
    chapter = reference(model, settings)
    source, target = pair
    logits = chapter(source, target[:, :-1])
    real = target[:, 1:] != PAD
    torch.testing.assert_close(model(source, target[:, :-1])[real], logits[real])
    expected = smoothed_cross_entropy(logits, target[:, 1:], 0.1, PAD) * real.sum()
    expected.backward()
    torch.testing.assert_close(ours, expected.detach())
    for name, parameter in chapter.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-3, atol=1e-5, msg=name)


def test_padding_as_a_feature_works_in_half_precision(pair):
    """What is masked out must weigh nothing, not little."""
    draw = torch.Generator().manual_seed(7)
    query, key, value = (torch.randn(4, 2, 7, 8, generator=draw) for _ in range(3))
    mask = (pair[0] != PAD)[:, None, None]
    expected, _ = FusedAttention()(query, key, value, mask)
    with_feature = FusedAttention(flash=True)
    for precision, near in ((torch.float32, 1e-6), (torch.bfloat16, 0.03), (torch.float16, 0.004)):
        inputs = [x.to(precision) for x in (query, key, value)]
        found, _ = with_feature(*inputs, mask)
        torch.testing.assert_close(found.float(), expected, rtol=near, atol=near)
        inputs[2] = torch.where(mask.transpose(-1, -2), inputs[2], 1e4)  # what padding would add
        torch.testing.assert_close(with_feature(*inputs, mask)[0], found, rtol=0, atol=0)


def test_what_a_decoder_does_with_padding_does_not_depend_on_it(pair):
    """The decoder's self-attention has no mask for padding, since nothing real looks there."""
    torch.manual_seed(8)
    model = build(complete(SIZES), VOCAB, "fused").eval()
    source, target = pair
    longer = torch.nn.functional.pad(target, (0, 5), value=PAD)
    objective = Objective(model, machine.choose("cpu"), 0.1)
    torch.testing.assert_close(objective(source, target), objective(source, longer))


def test_results_of_sublayers_are_dropped_and_nothing_inside_them():
    model = build(complete(SIZES | {"dropout": 0.3}), VOCAB, "fused")
    for layer in [*model.encoder, *model.decoder]:
        assert layer.dropout.p == model.positions.dropout.p == 0.3
        assert layer.feed_forward.dropout.p == 0


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_by_bytes_drops_as_many_and_keeps_the_mean(p):
    torch.manual_seed(10)
    drop = ByteDropout(p)
    x = torch.ones(1001, 999, requires_grad=True)  # no multiple of eight
    y = drop(x)
    assert (y == 0).float().mean().item() == pytest.approx(round(256 * p) / 256, abs=0.002)
    assert y.mean().item() == pytest.approx(1, abs=0.005)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y)  # dropped there, scaled here, by the same numbers
    assert not torch.equal(drop(x), y)
    torch.manual_seed(10)
    assert torch.equal(drop(x), y)
    assert drop.eval()(x) is x


@pytest.mark.parametrize(("p", "kept"), [(0.001, 0.999), (0.999, 0.001), (0.0, 1.0)])
def test_dropout_that_no_byte_can_draw_drops_as_many(p, kept):
    torch.manual_seed(16)
    x = torch.ones(1000, 1000)
    y = ByteDropout(p)(x)
    share = (y != 0).float().mean().item()
    assert share == pytest.approx(kept, abs=3e-4) and (share == 1) == (p == 0)
    assert y.mean().item() == pytest.approx(1, abs=0.15)


def test_dropped_places_are_independent_of_each_other():
    torch.manual_seed(11)
    kept = (ByteDropout(0.5)(torch.ones(400_000)) > 0).float() - 0.5
    for shift in (1, 2, 7, 8, 9, 64):
        together = 4 * (kept[shift:] * kept[:-shift]).mean().item()
        assert abs(together) < 0.01  # five deviations of the mean of as many coins


def test_positions_are_neither_saved_nor_sent():
    model = build(complete(SIZES), VOCAB, "fused")
    assert "positions.encoding" not in model.state_dict()
    assert {name for name, _ in model.named_buffers()} == {"positions.encoding"}
