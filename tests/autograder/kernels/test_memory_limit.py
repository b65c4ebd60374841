"""Lines that may use little memory: counted in the student's process, limited from outside in a sandbox."""

import json

import pytest
import torch

from autograder.expected import ExpectedDraw, ExpectedLine
from autograder.grade import words
from autograder.grade.kernel_run import KernelRun
from autograder.instructor_settings import Limits, Settings
from autograder.kernels.kernel_memory import HELD, NOTEBOOK_BYTES, PROCESSES
from autograder.kernels.student_kernel import StudentKernel
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.plain_data import Error
from tests.support.needs import needs_sandbox

SANDBOXED = Settings(Limits(sandbox=True))
MEGABYTES = 32
# more than a notebook and a line may have together
LARGE = NOTEBOOK_BYTES + 200_000_000


def found(expression, names=None, megabytes=MEGABYTES):
    return Evaluation.read(evaluate(expression, names or {}, {}, 0, megabytes=megabytes)).value


def test_lines_below_memory_have_its_limit():
    cell = parse_cell("check('1', points=1)\nmemory(megabytes=40)\ncheck('2', points=1)")
    assert [check.megabytes for check in cell.checks] == [None, 40]
    assert cell.asks().checks[1].megabytes == 40


@pytest.mark.parametrize(
    "expression",
    [
        "torch.zeros(13_000_000).sum()",
        "[torch.ones(1000, 1000) for _ in range(13)][0][0, :2]",
        "(lambda x: x + 1 + x)(torch.zeros(5_000_000))[:2]",
        "np.empty(10**16).sum()",
    ],
)
def test_too_much_memory_is_told(expression):
    value = found(expression)
    assert isinstance(value, Error) and value.name == "Unusable"
    told = judge(Expected.read({"value": {"kind": "none"}, "parameters": []}), Evaluation(value))
    line = words.LineResult("f()", 1, told)
    assert words.sentence(line).startswith("your code needs more than 32 MB of memory")


@pytest.mark.parametrize(
    "expression",
    [
        "sum(torch.ones(1000, 1000).sum() for _ in range(50))",
        "torch.ones(1).expand(10**9)[:3]",
        "torch.ones(6_000_000).view(2, -1).mT[0]",
        "given.sum() + given[1:].sum()",
    ],
)
def test_what_is_freed_or_a_view_or_an_input_does_not_count(expression):
    value = found(expression, {"given": torch.ones(7_000_000)})
    assert not isinstance(value, Error), value


def test_other_errors_stay_what_they_are():
    assert found("1 / 0").name == "ZeroDivisionError"
    assert found("torch.ones(2) @ torch.ones(3)").name == "RuntimeError"
    assert not isinstance(found("torch.zeros(13_000_000)[:2]", megabytes=None), Error)


# each returns how many bytes it got
WAYS = """
import contextlib, ctypes, mmap, os, re, resource, subprocess, threading
import numpy as np, torch

def by_numpy(n):
    return np.ones(n // 8).nbytes

def by_torch(n):
    return torch.ones(n // 8, dtype=torch.float64).nbytes

def in_pieces(n):
    return sum(map(len, [bytearray(100_000) for _ in range(n // 100_000)]))

def mapped(n):
    return len(mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))

def in_a_shared_file(n):
    with open("/dev/shm/large", "wb") as file:
        file.truncate(n)
    return np.memmap("/dev/shm/large", dtype=np.uint8).nbytes

def with_limits_raised(n):
    for what in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (resource.getrlimit(what)[1],) * 2)
    libc = ctypes.CDLL(None)
    for number in ((160, 164), (302, 261)):
        for what in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            unlimited = (ctypes.c_uint64 * 2)(2**64 - 1, 2**64 - 1)
            libc.syscall(number[os.uname().machine == "aarch64"], 0, what, unlimited, None)
            libc.syscall(number[os.uname().machine == "aarch64"], what, unlimited)
    return np.ones(n // 8).nbytes

def reserved_by_malloc(n):
    # memory that is part of the address space already, and not yet to be written
    libc, got = ctypes.CDLL(None, use_errno=True), 0
    libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    for line in open("/proc/self/maps"):
        first, last = (int(x, 16) for x in line.split()[0].split("-"))
        if "---p" in line and last - first > 1_000_000 and len(line.split()) == 5:
            if libc.mprotect(first, last - first, 3) == 0:
                got += last - first
    return got

def in_a_process(n):
    done = subprocess.run(["true"])
    return n

def in_a_thread(n):
    found = []
    thread = threading.Thread(target=lambda: found.append(np.ones(n // 8).nbytes))
    thread.start()
    thread.join()
    return found[0]
"""
NAMES = [line[4:].partition("(")[0] for line in WAYS.split("\n") if line.startswith("def ")]


def asked(kernel, expression):
    draw = {"inputs": {}, "parameter_seed": 0}
    request = {"expression": expression, "forbidden": [], "draws": [draw]}
    return Evaluation.read(json.loads(kernel.ask(request, 30).value)[0]).value


@needs_sandbox
@pytest.mark.parametrize("way", NAMES)
def test_no_way_leads_to_more_memory_than_is_left(way):
    with StudentKernel(SANDBOXED) as kernel:
        assert kernel.run(WAYS, 30).status == "ok"
        with kernel.limited_memory(MEGABYTES) as refused:
            assert refused == ""
            got = asked(kernel, f"{way}({LARGE})")
            assert isinstance(got, Error) or got.value < LARGE / 2, got
        # the limits are as they were before
        assert asked(kernel, f"by_numpy({2 * LARGE}) + 1").value > LARGE
        assert asked(kernel, f"in_a_process({LARGE})").value == LARGE


TILES = """
import torch

def tiles(n):
    kept, key = [], torch.zeros(8000, 4, dtype=torch.double)
    for _ in range(n):
        query = torch.zeros(65, 4, dtype=torch.double)
        for part in key.split(800):
            scores = (query @ part.T).masked_fill(torch.zeros(65, 800, dtype=torch.bool), -1.0)
            kept.append((scores - 1).exp().sum(-1))
    return len(kept)
"""


@needs_sandbox
def test_tiles_that_are_freed_take_no_memory():
    """Although small results that are kept lie between them."""
    with StudentKernel(SANDBOXED) as kernel:
        # the first product makes its own buffers
        assert kernel.run(f"{TILES}\ntiles(1)", 30).status == "ok"
        with kernel.limited_memory(MEGABYTES) as refused:
            assert refused == ""
            assert asked(kernel, "tiles(120)").value == 1200


@pytest.mark.parametrize("way", [name for name in NAMES if name != "reserved_by_malloc"])
def test_every_way_leads_there_without_a_sandbox(way):
    with StudentKernel(Settings()) as kernel:
        assert kernel.run(WAYS, 30).status == "ok"
        with kernel.limited_memory(MEGABYTES) as refused:
            assert refused is None
            assert asked(kernel, f"{way}({LARGE})").value >= LARGE / 2


@needs_sandbox
@pytest.mark.parametrize(
    ("held", "reason"),
    [
        ("held = np.ones(35_000_000)", HELD),
        ("held = mmap.mmap(-1, 280_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)", HELD),
        ("held = subprocess.Popen(['sleep', '60'])", PROCESSES),
    ],
)
def test_what_was_taken_before_counts(held, reason):
    line = ExpectedLine("1 + 1", 1, (ExpectedDraw({}, 0, {}, (), {}),), megabytes=MEGABYTES)
    with StudentKernel(SANDBOXED) as kernel:
        run = KernelRun(kernel, SANDBOXED.limits)
        assert run.run_cell(f"{WAYS}\n{held}", "own").status == "ok"
        (answer,) = run.ask(line, [], 1e9).judged
        assert answer[1].aspect == reason and words.SENTENCES[reason](answer[1].parameters)
        assert not run.unlimited
        assert run.run_cell("del held" if reason == HELD else "held.kill(); held.wait()", "own")
        (answer,) = run.ask(line, [], 1e9).judged
        assert answer[1].aspect != reason


@needs_sandbox
@pytest.mark.parametrize(
    ("way", "told"),
    [("in_a_thread", True), ("in_a_process", True), ("by_numpy", False)],
)
def test_who_starts_a_thread_while_memory_is_measured_is_told_so(way, told):
    line = ExpectedLine(f"{way}(9)", 1, (ExpectedDraw({}, 0, {}, (), {}),), megabytes=MEGABYTES)
    with StudentKernel(SANDBOXED) as kernel:
        run = KernelRun(kernel, SANDBOXED.limits)
        assert run.run_cell(WAYS, "own").status == "ok"
        (answer,) = run.ask(line, [], 1e9).judged
        assert (answer[1].aspect == "memory_threads") == told
        assert "not start a thread" in words.SENTENCES["memory_threads"]({})


def test_a_line_that_could_not_be_limited_is_marked():
    line = ExpectedLine("1 + 1", 1, (ExpectedDraw({}, 0, {}, (), {}),), megabytes=MEGABYTES)
    with StudentKernel(Settings()) as kernel:
        run = KernelRun(kernel, Settings().limits)
        run.ask(line, [], 1e9)
        assert run.unlimited
