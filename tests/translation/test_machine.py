"""What the trainer asks of a device, as far as it can be told without one."""

import os
import platform
import re
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import distributed
from torch.cuda._utils import _get_device_index
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from solutions.ch7_training import smoothed_cross_entropy
from tests.support.course import COURSE
from tests.support.devices import OneDevice, Waits
from translation import TranslationError, machine, trainer
from translation.__main__ import main
from translation.decoding import CachedDecoder
from translation.machine import Hardware
from translation.model import FusedAttention, build
from translation.run_folder import RunFolder
from translation.settings import complete
from translation.tokenizer import BOS, PAD, learn

ROOT = COURSE.root
CPU = machine.Machine(torch.device("cpu"))
SMALL = {
    "vocab_size": 28,
    "d_model": 16,
    "heads": 2,
    "layers": 1,
    "d_ff": 32,
    "dropout": 0.2,
    "tokens": 100,
    "warmup": 4,
    "steps": 9,
}


@pytest.fixture(scope="module")
def pairs():
    words = ["rot", "blau", "gelb", "weiß", "schwarz", "braun"]
    texts = [" ".join(words[n % 6] for n in range(i, i + 1 + i % 9)) for i in range(90)]
    return [(text + " rot", text) for text in texts]


@pytest.fixture(scope="module")
def tokenizer(pairs):
    return learn([text for pair in pairs for text in pair], 28, "bpe")


def test_the_counter_of_waits_counts():
    logits, targets = torch.randn(2, 3, 5), torch.tensor([[1, 2, PAD], [3, PAD, PAD]])
    with Waits() as waits:
        smoothed_cross_entropy(logits, targets, 0.1, PAD)
    assert waits.found == ["index", "index"]
    with Waits() as waits:
        logits.sum().item()
        logits[logits > 0] = 0
        logits.to("meta")
        logits.to("meta", non_blocking=True)
        elsewhere = torch.empty_like(logits, device="meta")
        elsewhere.copy_(logits)
        elsewhere.copy_(logits, non_blocking=True)
    assert waits.found == ["_local_scalar_dense", "index_put_", "_to_copy", "copy_"]


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_step_never_waits_for_the_device(tokenizer, pairs, precision):
    settings = complete(SMALL | {"accumulate": 2})
    run = trainer.Trainer(settings, replace(CPU, precision=precision), tokenizer, pairs, [])
    run.train_step()
    with Waits() as waits:
        for _ in range(3):
            loss, _, _ = run.train_step()
    assert waits.found == []
    assert loss.isfinite()


META = machine.Machine(torch.device("meta"))


def test_the_watch_over_devices_watches():
    here, there = torch.ones(3), torch.ones(3, device="meta")
    with OneDevice():
        there * 2 + torch.tensor(1.0)
        here.to("meta") + there
        with pytest.raises(RuntimeError, match=r"mul.* got tensors of \['cpu', 'meta'\]"):
            here * there


@pytest.mark.parametrize(
    "given",
    [{}, {"weight_decay": 0.1, "norm_first": False}],
    ids=["norm-first", "norm-last"],
)
@pytest.mark.parametrize("attention", ["fused", "formula"])
def test_a_step_stays_on_its_device(tokenizer, pairs, given, attention):
    """The device is PyTorch's "meta", which has shapes and no numbers, so that to look at one raises an
    error. The batches alone come from elsewhere: copies that don't wait. A step is forward and backward
    pass, loss, clipping and the optimizer."""
    settings = complete(SMALL | {"accumulate": 2} | given)
    run = trainer.Trainer(settings, replace(META, attention=attention), tokenizer, pairs, [])
    with OneDevice(), Waits() as waits:
        for _ in range(2):
            loss, norm, _ = run.train_step()
    assert loss.device.type == norm.device.type == "meta"
    assert {p.device.type for p in run.model.parameters()} == {"meta"}
    # AdamW counts its steps on the CPU, unless it is the fused one
    assert set(waits.found) <= {"_local_scalar_dense"}


def test_decoding_a_token_stays_on_its_device(tokenizer):
    model = build(complete(SMALL), len(tokenizer), "fused", "meta").to("meta").eval()
    source = torch.full((3, 5), 4, device="meta")
    with OneDevice(), torch.inference_mode():
        decoder = CachedDecoder(model, source, 2, 7)
        logits = decoder(torch.full((3, 2), BOS, device="meta"))
    assert logits.device.type == "meta" and logits.shape == (3, 2, len(tokenizer))


class Attentions(TorchFunctionMode):
    """Notes what is handed to PyTorch's attention."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is F.scaled_dot_product_attention:
            self.calls.append((args, kwargs))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("training", [True, False])
def test_what_the_model_hands_over_on_a_gpu_is_fit_for_flash_attention(tokenizer, pairs, training):
    """PyTorch's conditions (sdp_utils.cpp): half precision, four dimensions, no mask, the same width, a
    multiple of 8 and at most 256, for query, key and value, and numbers of a row side by side."""
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])
    run.batches.multiple = 8
    model = build(run.settings, len(tokenizer), "fused", "cuda").train(training)
    batch = run.batches[0]
    assert batch.source.shape[1] % 8 == batch.target[:, 1:].shape[1] % 8 == 0
    assert (batch.source == PAD).any()
    formats = set()  # seen before attention, which goes on in float32 on a CPU
    for module in model.modules():
        if isinstance(module, FusedAttention):
            module.register_forward_pre_hook(lambda _, x: formats.update(y.dtype for y in x[:3]))
    with Attentions() as seen, torch.autocast("cpu", torch.float16):
        model.hidden(batch.source, batch.target[:, :-1])
    assert formats == {torch.float16}
    assert len(seen.calls) == 3
    for args, kwargs in seen.calls:
        assert kwargs["attn_mask"] is None
        assert len({x.shape[-1] for x in args}) == 1 and args[0].shape[-1] % 8 == 0
        assert args[0].shape[-1] <= 256
        assert all(x.dim() == 4 and x.stride(-1) == 1 for x in args)
        assert len({x.shape[:2] for x in args}) == 1
    assert [kwargs["is_causal"] for _, kwargs in seen.calls] == [False, True, False]


def test_the_decoder_makes_no_mask_of_its_own_positions(tokenizer, pairs):
    """Neither on a CPU nor on a GPU is there a tensor with T x T places."""
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])
    source, target = torch.full((2, 5), 4), torch.full((2, 64), 4)

    class Squares(TorchDispatchMode):
        found = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor) and out.shape[-2:] == (64, 64):
                self.found += 1
            return out

    with Squares() as squares, torch.no_grad():
        run.model.eval().hidden(source, target)
    assert squares.found == 0


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_layers_compile_without_breaks_and_share_what_is_compiled(tokenizer, pairs, device):
    """Eight layers of two kinds: for all lengths of an epoch at most three times for each kind."""
    # loads the compiler, which no other test of this process needs
    from torch._dynamo.testing import CompileCounter

    settings = complete(SMALL | {"tokens": 40, "layers": 4})
    run = trainer.Trainer(settings, CPU, tokenizer, pairs, [])
    run.batches.multiple = 8 if device == "meta" else 1
    model = build(settings, len(tokenizer), "fused", device)
    torch._dynamo.reset()
    counter = CompileCounter()
    for layer in [*model.encoder, *model.decoder]:
        layer.compile(dynamic=True, fullgraph=True, backend=counter)  # a break would raise
    shapes = set()
    for n in range(len(run.batches)):
        batch = run.batches[n]
        shapes.add((*batch.source.shape, batch.target.shape[1]))
        model.hidden(batch.source, batch.target[:, :-1]).sum().backward()
    assert len(shapes) > 5 and len({rows for rows, _, _ in shapes}) > 2
    assert counter.frame_count <= 6


def test_lengths_are_rounded_up_for_a_gpu(tokenizer, pairs):
    assert replace(CPU, device=torch.device("cuda")).multiple == 8 and CPU.multiple == 1
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])
    before = {run.batches[n].source.shape[1] for n in range(len(run.batches))}
    run.batches.multiple = 8
    for n in range(9):
        batch = run.batches[n]
        assert batch.source.shape[1] % 8 == 0 and batch.target[:, 1:].shape[1] % 8 == 0
    assert any(length % 8 for length in before)


H100, T4, V100, P100 = (9, 0), (7, 5), (7, 0), (6, 0)


@pytest.mark.parametrize(
    ("asked", "device", "hardware", "found"),
    [
        ("auto", "cuda", Hardware((H100,)), "bfloat16"),
        ("auto", "cuda", Hardware((T4,)), "float16"),
        ("auto", "cuda", Hardware((V100,)), "float16"),
        ("auto", "cuda", Hardware((P100,)), "float32"),
        ("auto", "cuda:1", Hardware((P100, H100)), "bfloat16"),
        ("auto", "cpu", Hardware(cpu_bfloat16=True), "float32"),
        ("auto", "cpu", Hardware((H100,)), "float32"),
        ("auto", "mps", Hardware(mps=True), "float32"),
        ("float16", "cuda", Hardware((T4,)), "float16"),
        ("bfloat16", "cpu", Hardware(), "bfloat16"),
    ],
)
def test_the_precision_is_what_the_device_computes_with(asked, device, hardware, found):
    here = machine.choose(device, asked, hardware=hardware)
    assert here.precision == found
    usual = "bfloat16" if here.device.type == "cuda" else "float32"
    faster = here.device.type == "cpu" and hardware.cpu_bfloat16
    assert bool(here.reason) == (asked == "auto" and (found != usual or faster))


@pytest.mark.parametrize(("gpu", "better"), [(V100, "float16"), (P100, "float32")])
def test_bfloat16_on_a_gpu_without_it_says_what_to_take(gpu, better):
    with pytest.raises(TranslationError, match=f"only emulates it, slowly; --precision {better}"):
        machine.choose("cuda", "bfloat16", hardware=Hardware((gpu,)))


@pytest.mark.parametrize(
    ("gpu", "precision", "compiled"),
    [
        (H100, "bfloat16", True),
        (T4, "float16", True),
        (V100, "float16", True),
        (P100, "float32", False),
    ],
    ids=["H100", "T4", "V100", "P100"],
)
def test_each_gpu_gets_what_it_can(gpu, precision, compiled):
    here = machine.choose(hardware=Hardware((gpu, gpu), mps=True))
    assert (here.device.type, here.precision, here.compile) == ("cuda", precision, compiled)


@pytest.mark.parametrize(
    ("asked", "index"), [("auto", 0), ("cuda", 0), ("cuda:0", 0), ("cuda:1", 1)]
)
def test_pytorch_takes_a_gpu_as_it_is_chosen(asked, index):
    """torch.cuda.set_device begins with this function, which needs no GPU, and refuses a device without an
    index."""
    with pytest.raises(ValueError, match="with a specified index"):
        _get_device_index(torch.device("cuda"))
    here = machine.choose(asked, hardware=Hardware((H100, H100)))
    assert _get_device_index(here.device) == index


def test_a_gpu_that_is_not_there_is_named_with_how_many_there_are(monkeypatch):
    two = Hardware((H100, H100))
    with pytest.raises(TranslationError, match="cuda:2 is not here, PyTorch finds 2 GPUs"):
        machine.choose("cuda:2", hardware=two)
    with pytest.raises(TranslationError, match="--device cuda: PyTorch finds no such device"):
        machine.choose("cuda", hardware=Hardware())
    assert machine.choose(hardware=Hardware(mps=True)).device.type == "mps"
    for name, value in {"RANK": "1", "WORLD_SIZE": "3", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert machine.choose("cuda", hardware=two).device.index == 1
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(TranslationError, match="start torchrun with --nproc-per-node 2"):
        machine.choose(hardware=two)


def test_what_pytorch_finds_here_is_what_the_machine_is_made_of():
    hardware = Hardware.read()
    assert len(hardware.gpus) == torch.cuda.device_count()
    here = machine.choose()
    assert here.device.type == ("cuda" if hardware.gpus else "mps" if hardware.mps else "cpu")
    assert here.take() is here


@pytest.mark.parametrize(
    ("asked", "steps", "graphs", "compiled", "told"),
    [
        (None, 300, False, False, "not compiled, .* fewer than 4,000 steps; --compile does it"),
        (True, 300, False, True, "compiled in the first step, .*; --no-compile begins at once"),
        (None, 8000, False, True, "compiled in the first step"),
        (None, 8000, True, False, "not compiled, .* fewer than 40,000 steps"),
        (True, 8000, True, True, "compiled in the first step"),
        (None, 50_000, True, True, "compiled in the first step"),
        (False, 8000, False, False, "^$"),
    ],
)
def test_compiling_is_for_long_runs_and_told(asked, steps, graphs, compiled, told):
    here = machine.choose(compile=asked, hardware=Hardware((H100,)))
    worth, remark = machine.worth_compiling(here, asked, steps, graphs)
    assert worth == compiled
    assert re.search(told, remark) and "\n" not in remark
    old = machine.choose(hardware=Hardware((P100,)))
    assert machine.worth_compiling(old, None, 8000) == (False, "")


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_learns_what_float32_does(tokenizer, pairs, precision):
    losses = []
    for name in ("float32", precision):
        settings = complete(SMALL | {"dropout": 0.0, "rate": 1e-2, "steps": 30})
        run = trainer.Trainer(settings, replace(CPU, precision=name), tokenizer, pairs, [])
        losses.append([float(run.train_step()[0]) for _ in range(30)])
        assert run.training_step.scaler.is_enabled() == (name == "float16")
    assert losses[0][-1] < 0.8 * losses[0][0]
    torch.testing.assert_close(losses[1][-1], losses[0][-1], rtol=0.05, atol=0)
    assert losses[0] != losses[1]


def test_scaled_gradients_that_overflow_cost_a_step_and_halve_the_scale(tokenizer, pairs):
    run = trainer.Trainer(complete(SMALL), replace(CPU, precision="float16"), tokenizer, pairs, [])
    run.training_step.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**60)
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    run.train_step()
    assert run.training_step.scaler.get_scale() == 2.0**59
    after = run.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_threads_are_those_asked_for_or_set_in_the_environment(monkeypatch):
    before = torch.get_num_threads()
    try:
        assert machine.set_threads(1) == 1
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        assert machine.set_threads(None) == 1
        monkeypatch.delenv("OMP_NUM_THREADS")
        assert machine.set_threads(None) in (1, before)
    finally:
        torch.set_num_threads(before)


def printed_by(program, without, **more):
    """What a program prints in a process of its own, without the environment variables that have this in
    their name, and with these."""
    environment = {name: os.environ[name] for name in os.environ if without not in name} | more
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_memory_that_tensors_have_freed_is_used_again_without_page_faults():
    program = """
import resource
import torch
from translation import machine

def faults():
    for step in range(20):
        if step == 15:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(2**24).sum()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults())
machine.keep_freed_memory()
print(faults())
"""
    before, after = map(int, printed_by(program, without="MALLOC").split())
    assert before > 10_000 > 100 * after


@pytest.mark.skipif(
    not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="oneDNN has no bfloat16 on this CPU"
)
@pytest.mark.parametrize(("kept", "compiled"), [(None, 39), ("1024", 38)])
def test_kernels_of_shapes_that_do_not_come_back_are_forgotten(kept, compiled):
    """Of 38 shapes, the first comes back at the end: it is compiled again, unless the user keeps more."""
    program = """
import torch
from translation import machine
machine.keep_few_kernels()
for rows in (*range(2, 40), 2):
    torch.ones(rows, 64, dtype=torch.bfloat16) @ torch.ones(64, 64, dtype=torch.bfloat16)
"""
    more = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": kept} if kept else {}
    printed = printed_by(program, without="ONEDNN", ONEDNN_VERBOSE="profile_create", **more)
    assert printed.count("create:cache_miss") == compiled


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("can't allocate memory")]
)
def test_too_little_memory_says_which_batch_and_what_halves_it(tokenizer, pairs, error):
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])

    class Full(torch.nn.Module):
        def forward(self, *batch):
            raise error

    run.training_step.objective = Full()
    with pytest.raises(TranslationError) as raised:
        run.train_step()
    (rows, length), target = run.batches[0].source.shape, run.batches[0].target.shape[1]
    told = str(raised.value)
    assert f"step 1, with {rows} sentences of {length} and {target} pieces" in told
    half = rows * max(length, target - 1) // 2
    assert 40 <= half <= 50 and f"--tokens {half} --accumulate 2 needs half as much" in told


def test_another_error_in_a_step_stays_what_it_is(tokenizer, pairs):
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])

    class Wrong(torch.nn.Module):
        def forward(self, *batch):
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    run.training_step.objective = Wrong()
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        run.train_step()


def test_processes_send_gradients_alone(tokenizer, pairs, tmp_path):
    """No buffer travels before each forward pass."""
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        shared = trainer.distribute(run.training_step.objective)
        assert not shared.will_sync_module_buffers()
    finally:
        machine.leave()


WORDS = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
DATA = ["--examples=200", "--held-out=20", "--vocab-size=80", "--tokens=250", "--dropout=0"]


def launch(folders, *arguments):
    """Two processes, each with a working folder of its own, as on two computers."""
    port = str(29_600 + os.getpid() % 300)
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
    command = [sys.executable, "-m", "translation", "train", "--device=cpu", *arguments]
    running = [
        subprocess.Popen(
            command, cwd=folder, env=environment | {"RANK": str(rank)}, stderr=subprocess.PIPE
        )
        for rank, folder in enumerate(folders)
    ]
    ended = [one.communicate(timeout=240)[1].decode() for one in running]
    return [one.returncode for one in running], ended


def test_computers_share_no_folder_and_a_run_goes_on_with_fewer_of_them(tmp_path):
    """Two processes compute what one does, step for step, and then one goes on."""
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    common = [*WORDS, *DATA, "--folder=run", "--steps=3", "--log-every=1"]
    status, errors = launch(folders, *common, "--accumulate=2")
    assert status == [0, 0], errors
    assert "".join(errors).count("2 processes") == 1
    assert (folders[0] / "run" / "last.pt").exists() and not list(folders[1].iterdir())
    alone = tmp_path / "alone"
    words = ["train", "--device=cpu", "--threads=1", *common[:-3]]
    assert main([*words, f"--folder={alone}", "--steps=5", "--log-every=1", "--accumulate=4"]) == 0
    run = folders[0] / "run"
    resume = ["train", "--device=cpu", "--threads=1", f"--folder={run}", "--resume", "--steps=5"]
    assert main(resume) == 0
    settings = RunFolder(run).settings()
    assert (settings.processes, settings.accumulate) == (1, 4)
    losses = [[line["loss"] for line in RunFolder(one).measured()] for one in (run, alone)]
    assert len(losses[0]) == 5
    torch.testing.assert_close(*losses, rtol=1e-4, atol=0)  # the same batches, step for step
    weights = [RunFolder(one).read()["model"] for one in (run, alone)]
    for name, value in weights[1].items():
        if not name.endswith("w_k.bias"):  # has no gradient but rounding, which Adam makes large
            torch.testing.assert_close(weights[0][name], value, rtol=1e-3, atol=1e-4, msg=name)


def test_a_number_of_processes_that_cannot_share_the_batches_is_refused(tmp_path):
    from translation.commands import _resumed

    folder = RunFolder(tmp_path)
    folder.write_settings(replace(complete({"accumulate": 2}), processes=2))
    assert _resumed({}, folder, 4).accumulate == 1
    with pytest.raises(TranslationError, match="made of 4 batches, which 3 processes cannot share"):
        _resumed({}, folder, 3)
    with pytest.raises(TranslationError, match=r"rate is 0\.002, not 0\.1; seed is 0, not 7"):
        _resumed({"rate": 0.1, "seed": 7, "steps": 9}, folder, 2)
