"""The processor time of a process and of what it has started, measured from outside."""

import json
import subprocess
import sys
import time

import pytest

from autograder.instructor_settings import Settings
from autograder.kernels.processor_time import ProcessorTime, available, descendants
from autograder.kernels.student_kernel import StudentKernel

pytestmark = pytest.mark.skipif(not available(), reason="this system has no /proc")

SPIN = "import time\nwhile time.process_time() < 0.5: pass\n"
# the parent starts one that computes, waits for it or leaves it alone, and says when that has ended
PARENT = """
import signal, subprocess, sys, time
{ignore}
child = subprocess.Popen([sys.executable, "-c", {spin!r}])
{wait}
print("ended", flush=True)
sys.stdin.read()
"""


def used_by(program):
    """What a program has used when it says that it has ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    clock = ProcessorTime(process.pid)
    with process:
        found = 0.0
        while process.poll() is None:
            found = clock.seconds()
            if found > 0.4 and not [*descendants(process.pid)][1:]:
                break
            time.sleep(0.02)
        found = clock.seconds()
        process.kill()
    return found


def test_a_process_and_the_children_that_it_waits_for():
    assert 0.5 <= used_by(PARENT.format(ignore="", spin=SPIN, wait="child.wait()")) < 2


def test_children_that_nobody_waits_for():
    ignore = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    program = PARENT.format(ignore=ignore, spin=SPIN, wait="time.sleep(5)")
    assert 0.4 <= used_by(program) < 2


FORKS = """
import os, time

def fit():
    child = os.fork()
    if child == 0:
        while time.process_time() < 0.6:
            pass
        os._exit(0)
    os.waitpid(child, 0)
    return 1
"""


def test_a_kernel_is_timed_with_the_processes_that_it_starts():
    draw = {"inputs": {}, "parameter_seed": 0}
    with StudentKernel(Settings()) as kernel:
        assert kernel.run(FORKS, 60).status == "ok"
        request = {"expression": "fit()", "forbidden": [], "draws": [draw]}
        assert kernel.ask(request, 60).processor_seconds is None
        reply = kernel.ask(request, 60, timed=True)
    (evaluation,) = json.loads(reply.value)
    assert evaluation["value"] == {"kind": "number", "value": 1}
    # the student's process says nothing of its child
    assert evaluation["processor_seconds"] < 0.5 < reply.processor_seconds < 3
