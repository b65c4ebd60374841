"""What CUDA graphs would record, noted on a CPU and computed again on the same memory.

There is no GPU here, so `torch.cuda.graph` itself isn't tested; `tests.support.tape` stands for it.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from solutions.ch6_transformer import shift
from tests.support.devices import OneDevice, Waits
from tests.support.tape import record
from translation import machine
from translation.__main__ import main
from translation.batches import Batches
from translation.decoding import CachedDecoder, search
from translation.graphs import Replayed
from translation.model import build
from translation.objective import Objective
from translation.optimization import optimizer
from translation.run_folder import RunFolder
from translation.settings import complete
from translation.tokenizer import EOS, PAD, Rows, learn
from translation.trainer import Trainer
from translation.training_step import TrainingStep

CPU = machine.Machine(torch.device("cpu"))
VOCAB = 23
SIZES = {"d_model": 16, "heads": 2, "layers": 2, "d_ff": 24, "dropout": 0.0, "norm_first": False}


class Exact(nn.Module):
    """The sum of the losses in the number format of the model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, source, target):
        """Of source (B, S) and target (B, T + 1)."""
        target_in, target_out = shift(target)
        logits = self.model(source, target_in).flatten(0, 1)
        return F.cross_entropy(
            logits, target_out.flatten(), ignore_index=PAD, label_smoothing=0.1, reduction="sum"
        )


def training_step(dtype, how=None, device="cpu", attention="fused"):
    """A step of the same small model each time."""
    torch.manual_seed(1)
    settings = complete(SIZES | {"weight_decay": 0.5})
    model = build(settings, VOCAB, attention, device).to(dtype).to(device)
    exact = dtype is torch.float64
    objective = Exact(model) if exact else Objective(model, CPU, 0.1)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    return TrainingStep(
        objective, model, optimizer(model, settings, device), 1.0, scaler, record=how
    )


def sentences():
    """Sentences of 2 to 19 pieces, and their translations."""
    draw = np.random.default_rng(0)
    sides = [
        [[*draw.integers(4, VOCAB, n + side), EOS] for n in draw.integers(1, 18, 90)]
        for side in (0, 1)
    ]
    return [Rows.of(side) for side in sides]


def batches(few_shapes):
    rows = sentences()
    return Batches(*rows, 100, 0, 8 if few_shapes else 1, few_shapes)


def test_few_shapes_hold_the_same_sentences():
    plain, few = batches(False), batches(True)
    lengths = [few._rounded(length) for length in range(1, 1001)]
    assert all(n <= length <= 1.25 * n for n, length in enumerate(lengths, 1))
    assert len({*lengths}) == 36 and [few._rounded(length) for length in lengths] == lengths
    assert len(few) == len(plain)
    seen = []
    for n in range(len(few)):
        batch = few[n]
        assert batch.rows.tolist() == plain[n].rows.tolist()
        seen += batch.rows.tolist()
        (rows, wide), high = batch.source.shape, batch.target.shape[1] - 1
        assert wide % 8 == high % 8 == 0 and rows == len(batch.target) in lengths
        real = slice(len(batch.rows))
        left, right = (
            side.padded(batch.rows, size)
            for side, size in zip(sentences(), (wide, high), strict=True)
        )
        assert (batch.source[real].numpy() == left).all()
        assert (batch.target[real, 1:].numpy() == right).all()
        assert (batch.target[len(batch.rows) :, 1:] == PAD).all()
        assert batch.tokens == int((batch.target[:, 1:] != PAD).sum()) == few.predicted(n)
    assert sorted(seen) == list(range(90))


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
def test_gradients_in_place_and_padding_change_nothing(dtype, bound):
    """Two batches a step, padded to few shapes that come again and again, beside the same sentences
    without any padding that isn't needed."""
    usual, repeated = training_step(dtype), training_step(dtype, record)
    few, shapes = batches(True), []
    start = copy.deepcopy(usual.model)
    for number in range(0, 24, 2):
        one = [few[number], few[number + 1]]
        tokens = sum(batch.tokens for batch in one)
        for batch in one:
            shapes.append((batch.source.shape, batch.target.shape))
            repeated.accumulate(tokens, batch.source, batch.target)
            sides = (x[: len(batch.rows)] for x in (batch.source, batch.target))
            usual.accumulate(tokens, *(x[:, : int((x != PAD).sum(dim=1).max())] for x in sides))
        torch.testing.assert_close(repeated.total, usual.total, rtol=1e-6, atol=0)
        for a, b in zip(repeated.parameters, usual.parameters, strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=bound, atol=bound)
            a.grad.copy_(b.grad)  # so that no rounding adds up
        for step in (usual, repeated):
            step.update(2.0 ** -(8 + number % 3))
        assert torch.equal(repeated.norm, usual.norm) and usual.norm > 0
        for a, b in zip(repeated.parameters, usual.parameters, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=max(bound / 10, 1e-10))
            a.data.copy_(b)
    assert len({*shapes}) < len(shapes) / 2
    assert len(repeated.accumulate.replays) > 2 and len(repeated.update.replays) == 1
    moved = [
        not torch.equal(a, b)
        for a, b in zip(usual.model.parameters(), start.parameters(), strict=True)
    ]
    assert all(moved)


def test_gradients_are_forgotten_where_they_are():
    step, batch = training_step(torch.float32, how=record), batches(True)[0]
    places = [parameter.grad.data_ptr() for parameter in step.parameters]
    for _ in range(3):
        step.accumulate(batch.tokens, batch.source, batch.target)
        assert all(parameter.grad.any() for parameter in step.parameters)
        step.forget_gradients()
        assert not any(parameter.grad.any() for parameter in step.parameters)
        step.accumulate(batch.tokens, batch.source, batch.target)
        step.update(1e-3)
        assert not any(parameter.grad.any() for parameter in step.parameters)
    assert places == [parameter.grad.data_ptr() for parameter in step.parameters]


def test_what_cannot_be_recorded_is_computed_and_one_line_says_so(capsys):
    """No other shape is tried, and what was recorded before isn't replayed: PyTorch's generator refuses."""
    attempts, replayed = [], []

    def fail(function):
        attempts.append(function)
        if len(attempts) == 2:
            raise RuntimeError("operation not permitted when stream is capturing\nand more lines")

        def replay():
            replayed.append(function)
            function()

        return replay

    total = torch.zeros(())

    def add(number, x):
        total.add_(number * x.sum())

    earlier, later = (Replayed(add, total.device, fail) for _ in range(2))
    for add_up in (earlier, earlier, later, later, later, earlier):
        add_up(2, torch.ones(2))
    assert float(total) == 6 * 4
    assert len(attempts) == 2 and len(replayed) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith("goes on without CUDA graphs") and "stream is capturing" in told


class Descent(torch.optim.SGD):
    """The plainest step, since AdamW's looks at its count where there is no fused one."""

    @torch.no_grad()
    def step(self, closure=None):
        """Change the parameters."""
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["lr"] * p.grad


@pytest.mark.parametrize("attention", ["fused", "formula"])
def test_the_recorded_functions_never_wait_and_stay_on_their_device(attention):
    """On the device "meta", on which a look at a number raises, too."""
    step = training_step(torch.float32, how=record, device="meta", attention=attention)
    step.optimizer = Descent(step.parameters)
    batch = batches(True)[0]
    with OneDevice(), Waits() as waits:
        for _ in range(3):
            step.accumulate(batch.tokens, batch.source, batch.target)
            step.update(1e-3)
    assert waits.found == [] and len(step.update.replays) == 1


@pytest.mark.parametrize("beam", [1, 3])
def test_a_step_of_the_search_never_waits_and_stays_on_its_device(beam):
    settings = complete(SIZES)
    model = build(settings, VOCAB, "fused", "cuda").to("meta").eval()
    source = torch.full((4, 7), 4, device="meta")
    limits = torch.full((4,), 9, device="meta")
    steps = []

    def note(function):
        steps.append(function)
        return function

    with torch.inference_mode(), OneDevice(), Waits() as waits:
        decoder = CachedDecoder(model, source, beam, 9, fixed=True)
        with pytest.raises(NotImplementedError, match="meta"):  # when it looks at what is done
            search(decoder, limits, 0.6, record=note)
    assert waits.found == [] and len(steps) == 1 and decoder.length == 8


@pytest.fixture(scope="module")
def pairs():
    words = ["rot", "blau", "gelb", "weiß", "schwarz", "braun"]
    texts = [" ".join(words[n % 6] for n in range(i, i + 1 + i % 9)) for i in range(90)]
    return [(text + " rot", text) for text in texts]


@pytest.fixture
def trainer_of(pairs):
    tokenizer = learn([text for pair in pairs for text in pair], 28, "bpe")

    def make(how, **more):
        settings = {"dropout": 0.0, "tokens": 100, "warmup": 4, "steps": 9} | more
        settings = complete(SIZES | {"accumulate": 2} | settings)
        return Trainer(settings, replace(CPU, record=how), tokenizer, pairs, [])

    return make


def test_a_trainer_learns_the_same_with_steps_that_are_repeated(trainer_of):
    usual, repeated = (trainer_of(how) for how in (None, record))
    usual.batches.few_shapes = True
    for _ in range(8):
        one, other = usual.train_step(), repeated.train_step()
        torch.testing.assert_close(one.loss, other.loss, rtol=1e-4, atol=0)
        torch.testing.assert_close(one.norm, other.norm, rtol=1e-2, atol=0)
    assert len(repeated.training_step.accumulate.replays) > 1
    assert "CUDA graphs" in repeated.summary() and "CUDA graphs" not in usual.summary()


def test_a_run_with_repeated_steps_goes_on_to_the_same_bits(trainer_of, tmp_path):
    """Also where it was begun without them, from a state of other options."""
    whole, cut, after = (trainer_of(record, dropout=0.2) for _ in range(3))
    for _ in range(6):
        whole.train_step()
    for _ in range(3):
        cut.train_step()
    folder = RunFolder(tmp_path)
    state = cut.state()
    for group in state["optimizer"]["param_groups"]:
        group |= {"lr": 9.0, "weight_decay": 9.0}
    folder.save(state)
    after.restore(folder)
    for _ in range(3):
        after.train_step()
    one, other = (run.model.state_dict() for run in (whole, after))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_graphs_need_a_gpu(capsys):
    assert main(["train", "--graphs", "--device=cpu"]) == 1
    assert "--graphs: CUDA graphs need a GPU, and this would run on cpu" in capsys.readouterr().err
