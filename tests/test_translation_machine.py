"""What the trainer asks of a device, as far as it can be told without one."""

import contextlib
import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import distributed
from torch._dynamo.testing import CompileCounter
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from solutions.ch7_training import smoothed_cross_entropy
from solutions.translation import TranslationError, machine, trainer
from solutions.translation.__main__ import main
from solutions.translation.model import FusedAttention, build
from solutions.translation.run_folder import RunFolder
from solutions.translation.settings import complete
from solutions.translation.tokenizer import PAD, learn

ROOT = Path(__file__).parent.parent
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


class Waits(TorchDispatchMode):
    """Counts what makes the processor wait for a GPU: numbers and sizes that depend on data, and copies
    from one device to another that are not asynchronous."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "_unique2")

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.overloadpacket.__name__
        indices = args[1] if "index" in name and isinstance(args[1], (list, tuple)) else []
        bools = [x for x in indices if isinstance(x, torch.Tensor) and x.dtype is torch.bool]
        device = kwargs.get("device")
        moved = name == "_to_copy" and device and device != args[0].device
        if name == "copy_":
            moved = args[0].device != args[1].device and not any(args[2:])
        if name in self.NAMES or bools or (moved and not kwargs.get("non_blocking")):
            self.found.append(name)
        return function(*args, **kwargs)


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


@pytest.mark.parametrize(
    ("precision", "optimizer", "rdrop"),
    [
        ("float32", "adam", 0.0),
        ("bfloat16", "adam", 0.0),
        ("float16", "adam", 0.0),
        ("bfloat16", "muon", 0.0),
        ("float32", "adam", 1.0),
    ],
)
def test_a_step_never_waits_for_the_device(tokenizer, pairs, precision, optimizer, rdrop):
    given = {"accumulate": 2, "ema": 0.9, "attention_dropout": 0.1, "optimizer": optimizer}
    given["rdrop"] = rdrop
    settings = complete(SMALL | given)
    run = trainer.Trainer(settings, replace(CPU, precision=precision), tokenizer, pairs, [])
    run.train_step()
    with Waits() as waits:
        for _ in range(3):
            loss, _, _ = run.train_step()
    assert waits.found == []
    assert loss.isfinite()


def test_what_is_meant_for_cuda_never_waits_either(tokenizer, pairs):
    settings = complete(SMALL)
    model = build(settings, len(tokenizer), "fused", "cuda")
    objective = trainer.Objective(model, CPU, 0.1)
    run = trainer.Trainer(settings, CPU, tokenizer, pairs, [])
    batch = run.batches[0]
    with Waits() as waits:
        objective(batch.source, batch.target).backward()
    assert waits.found == []


@pytest.mark.parametrize("rdrop", [0.0, 1.0])
def test_nothing_goes_to_another_device_but_batches(tokenizer, pairs, monkeypatch, rdrop):
    """The other device is PyTorch's "meta", which has shapes and no numbers, so that to look at one
    raises an error. It has no optimizer; a step's other waits are counted above."""
    monkeypatch.setattr(machine.Machine, "autocast", lambda self: contextlib.nullcontext())
    monkeypatch.setattr(
        trainer,
        "build",
        lambda settings, size, attention, _: build(settings, size, attention, "cuda"),
    )
    settings = complete(SMALL | {"ema": 0.9, "rdrop": rdrop})
    found = {}
    for attention in ("fused", "formula"):
        here = machine.Machine(torch.device("meta"), attention=attention)
        run = trainer.Trainer(settings, here, tokenizer, pairs, [])
        run.optimizers.clear()
        with Waits() as waits:
            loss, _, _ = run.train_step()
        assert loss.device.type == "meta"
        found[attention] = waits.found
    assert found == {"fused": [], "formula": ["_to_copy"]}  # its mask is made on the CPU


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


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_epoch_of_lengths_compiles_without_breaks_and_at_most_three_times(
    tokenizer, pairs, device
):
    settings = complete(SMALL | {"tokens": 40})
    run = trainer.Trainer(settings, CPU, tokenizer, pairs, [])
    run.batches.multiple = 8 if device == "cuda" else 1
    model = build(settings, len(tokenizer), "fused", device)
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(model.hidden, dynamic=True, fullgraph=True, backend=counter)
    shapes = set()
    for n in range(len(run.batches)):
        batch = run.batches[n]
        shapes.add((*batch.source.shape, batch.target.shape[1]))
        compiled(batch.source, batch.target[:, :-1]).sum().backward()
    assert len(shapes) > 5 and len({rows for rows, _, _ in shapes}) > 2
    assert 1 <= counter.frame_count <= 3  # the first time, and two more; a break would raise


def test_lengths_are_rounded_up_for_a_gpu(tokenizer, pairs):
    assert replace(CPU, device=torch.device("cuda")).multiple == 8 and CPU.multiple == 1
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])
    before = {run.batches[n].source.shape[1] for n in range(len(run.batches))}
    run.batches.multiple = 8
    for n in range(9):
        batch = run.batches[n]
        assert batch.source.shape[1] % 8 == 0 and batch.target[:, 1:].shape[1] % 8 == 0
    assert any(length % 8 for length in before)


@pytest.mark.parametrize(
    ("asked", "device", "native", "tensor_cores", "found"),
    [
        ("auto", "cuda", True, True, "bfloat16"),  # A100, H100
        ("auto", "cuda", False, True, "float16"),  # T4, V100
        ("auto", "cuda", False, False, "float32"),  # P100
        ("auto", "cpu", True, False, "float32"),
        ("auto", "cpu", False, False, "float32"),
        ("auto", "mps", False, False, "float32"),
        ("float16", "cuda", False, True, "float16"),
        ("bfloat16", "cpu", False, False, "bfloat16"),
    ],
)
def test_the_precision_is_what_the_device_computes_with(asked, device, native, tensor_cores, found):
    precision, reason = machine.choose_precision(asked, device, native, tensor_cores)
    assert precision == found
    assert bool(reason) == (asked == "auto" and (device == "cuda") != native)


def test_bfloat16_on_a_gpu_without_it_says_what_to_take():
    with pytest.raises(TranslationError, match="only emulates it, slowly; --precision float16 or"):
        machine.choose_precision("bfloat16", "cuda", False, True)


@pytest.fixture
def gpus(monkeypatch):
    """Pretends that there are two GPUs; gives the function that says which kind they are."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    before = torch.get_float32_matmul_precision()

    def are(capability):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capability)
        monkeypatch.setattr(
            torch.cuda,
            "is_bf16_supported",
            lambda including_emulation=True: including_emulation or capability >= (8, 0),
        )

    yield are
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(
    ("capability", "precision", "compiled"),
    [
        ((9, 0), "bfloat16", True),
        ((7, 5), "float16", True),
        ((7, 0), "float16", True),
        ((6, 0), "float32", False),
    ],
    ids=["H100", "T4", "V100", "P100"],
)
def test_each_gpu_gets_what_it_can(gpus, capability, precision, compiled):
    gpus(capability)
    here = machine.choose()
    assert (here.device.type, here.precision, here.compile) == ("cuda", precision, compiled)
    assert bool(here.reason) == (precision != "bfloat16")


def test_a_gpu_that_is_not_there_is_named_with_how_many_there_are(gpus, monkeypatch):
    gpus((9, 0))
    assert machine.choose("cuda:1").device.index == 1
    with pytest.raises(TranslationError, match="cuda:2 is not here, PyTorch finds 2 GPUs"):
        machine.choose("cuda:2")
    for name, value in {"RANK": "2", "WORLD_SIZE": "3", "LOCAL_RANK": "2"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(TranslationError, match="start torchrun with --nproc-per-node 2"):
        machine.choose()


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_learns_what_float32_does(tokenizer, pairs, precision):
    losses = []
    for name in ("float32", precision):
        settings = complete(SMALL | {"dropout": 0.0, "rate": 1e-2, "steps": 30})
        run = trainer.Trainer(settings, replace(CPU, precision=name), tokenizer, pairs, [])
        losses.append([float(run.train_step()[0]) for _ in range(30)])
        assert run.scaler.is_enabled() == (name == "float16")
    assert losses[0][-1] < 0.8 * losses[0][0]
    torch.testing.assert_close(losses[1][-1], losses[0][-1], rtol=0.05, atol=0)
    assert losses[0] != losses[1]


def test_scaled_gradients_that_overflow_cost_a_step_and_halve_the_scale(tokenizer, pairs):
    run = trainer.Trainer(complete(SMALL), replace(CPU, precision="float16"), tokenizer, pairs, [])
    run.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**60)
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    run.train_step()
    assert run.scaler.get_scale() == 2.0**59
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
    faults = {}
    for prepare in ("", "machine.keep_freed_memory()"):
        program = f"""
import resource
import torch
from solutions.translation import machine
{prepare}
for step in range(20):
    if step == 15:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**24).sum()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
        faults[prepare] = int(printed_by(program, without="MALLOC"))
    assert faults[""] > 10_000 > 100 * faults["machine.keep_freed_memory()"]


@pytest.mark.skipif(
    not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="oneDNN has no bfloat16 on this CPU"
)
@pytest.mark.parametrize(("kept", "compiled"), [(None, 39), ("1024", 38)])
def test_kernels_of_shapes_that_do_not_come_back_are_forgotten(kept, compiled):
    """Of 38 shapes, the first comes back at the end: it is compiled again, unless the user keeps more."""
    program = """
import torch
from solutions.translation import machine
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

    run.objective = Full()
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

    run.objective = Wrong()
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        run.train_step()


def test_processes_send_gradients_alone(tokenizer, pairs, tmp_path):
    """No buffer travels before each forward pass."""
    run = trainer.Trainer(complete(SMALL), CPU, tokenizer, pairs, [])
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        shared = trainer.distribute(run.objective)
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
    command = [sys.executable, "-m", "solutions.translation", "train", "--device=cpu", *arguments]
    running = [
        subprocess.Popen(
            command, cwd=folder, env=environment | {"RANK": str(rank)}, stderr=subprocess.PIPE
        )
        for rank, folder in enumerate(folders)
    ]
    ended = [one.communicate(timeout=240)[1].decode() for one in running]
    return [one.returncode for one in running], ended


def test_computers_share_no_folder_and_a_run_goes_on_with_fewer_of_them(tmp_path):
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    common = [*WORDS, *DATA, "--folder=run", "--steps=3", "--log-every=1"]
    status, errors = launch(folders, *common, "--accumulate=2")
    assert status == [0, 0], errors
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


def test_a_number_of_processes_that_cannot_share_the_batches_is_refused(tmp_path):
    from solutions.translation.__main__ import _resumed

    folder = RunFolder(tmp_path)
    folder.write_settings(replace(complete({"accumulate": 2}), processes=2))
    assert _resumed({}, folder, 4).accumulate == 1
    with pytest.raises(TranslationError, match="made of 4 batches, which 3 processes cannot share"):
        _resumed({}, folder, 3)
    with pytest.raises(TranslationError, match=r"rate is 0\.002, not 0\.1; seed is 0, not 7"):
        _resumed({"rate": 0.1, "seed": 7, "steps": 9}, folder, 2)
