"""benchmarks.gpu with tiny sizes on a CPU; what it measures on a GPU, no test can say."""

import json
import math
import os
import select
import signal
import subprocess
import sys
import time

import pytest
from torch.cuda._utils import _get_device_index

from benchmarks.gpu.__main__ import Part, device_of, earlier, measure, parts
from tests.support.course import COURSE
from translation.machine import Hardware

ROOT = COURSE.root


def numbers(found):
    """All numbers in a result."""
    if isinstance(found, dict | list):
        for part in found.values() if isinstance(found, dict) else found:
            yield from numbers(part)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield found


def test_every_part_runs_as_a_command(tmp_path):
    output = tmp_path / "found.json"
    names = list(parts())
    command = [sys.executable, "-m", "benchmarks.gpu", "--device=cpu", f"--output={output}"]
    command += ["--commit=abc1234", "--only", *names]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text(encoding="utf-8"))
    assert {"device", "python", "versions", "date"} <= result.keys()
    assert result["command"].startswith("python -m benchmarks.gpu --device=cpu")
    assert result["commit"] == "abc1234" and result["versions"]["torch"]
    assert result["parts"].keys() == {*names}
    for name, found in result["parts"].items():
        assert "error" not in found, (name, found["error"])
        assert found.pop("seconds") >= 0 and found
        assert all(math.isfinite(number) and number >= 0 for number in numbers(found))
    assert [*tmp_path.iterdir()] == [output]


@pytest.mark.parametrize(
    ("asked", "index"), [("auto", 0), ("cuda", 0), ("cuda:0", 0), ("cuda:1", 1)]
)
def test_a_gpu_has_an_index_as_torch_wants_it(asked, index):
    two = Hardware(((9, 0), (9, 0)))
    assert _get_device_index(device_of(asked, two)) == index
    assert device_of("cpu", two).type == device_of("auto", Hardware(mps=True)).type == "cpu"


def test_what_was_measured_before_stays_and_says_when(tmp_path):
    path = tmp_path / "found.json"
    first = {"device": "a card", "date": "2026-11-26", "commit": "abc1234"}
    assert earlier(path, first) == {}
    parts = {"steps": {"seconds": 1.0}, "launches": {"seconds": 2.0, "commit": "0000000"}}
    path.write_text(json.dumps(first | {"parts": parts}), encoding="utf-8")
    assert earlier(path, first) == parts
    when = {"date": "2026-11-26", "commit": "abc1234"}
    found = earlier(path, first | {"date": "2026-12-01", "commit": "def5678"})
    assert found == {"steps": when | parts["steps"], "launches": when | parts["launches"]}


def slow(bench):
    yield "first", bench.device.type
    time.sleep(60)


def broken(bench):
    yield "first", 1
    raise ValueError("no such kernel")


def crash(bench):
    yield "first", 1
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (slow, "stopped after 1 seconds"),
        (broken, "ValueError: no such kernel"),
        (crash, "ended with status -9"),
    ],
)
def test_a_part_that_fails_keeps_what_it_has_found(function, error):
    begun, kept = time.monotonic(), []
    part = Part(function, 1 if function is slow else 60)
    found = measure(part, "cpu", lambda so_far: kept.append(dict(so_far)))
    assert found["first"] in ("cpu", 1) and error in found["error"]
    assert kept[0] == {"first": found["first"]}
    assert time.monotonic() - begun < 50


def test_a_command_ends_with_the_part_that_has_started_it():
    """Whoever has the pipe open has not ended."""
    read, write = os.pipe()

    def start(bench):
        yield "command", subprocess.Popen(["sleep", "60"], pass_fds=[write]).pid
        time.sleep(60)

    found = measure(Part(start, 2), "cpu")
    assert found["error"] == "stopped after 2 seconds" and found["command"]
    os.close(write)
    assert select.select([read], [], [], 20)[0] and os.read(read, 1) == b""
    os.close(read)
