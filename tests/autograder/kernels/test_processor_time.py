"""The processor time of a process and of what it has started, measured from outside."""

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from autograder.expected import ExpectedDraw, ExpectedLine
from autograder.grade.kernel_run import PAUSING, KernelRun
from autograder.instructor_settings import Limits, Settings
from autograder.kernels import processor_time
from autograder.kernels.processor_time import ProcessorTime, TimeLimit, descendants
from autograder.kernels.student_kernel import StudentKernel
from autograder.runtime.mistakes import NO_FINGERPRINT
from tests.support.needs import needs_fork_server

pytestmark = needs_fork_server

SPIN = "import time\nwhile time.process_time() < 0.5: pass\n"
# the parent starts one that computes, waits for it or leaves it alone, and says when that has ended
PARENT = """
import signal, subprocess, sys, time
from tests.support.needs import needs_fork_server
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
        try:
            while process.poll() is None:
                if clock.seconds() > 0.4 and not [*descendants(process.pid)][1:]:
                    break
                time.sleep(0.02)
            return clock.seconds()
        finally:
            process.kill()


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


# Limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "by_clock"), [("while True: pass", False), ("import time; time.sleep(60)", True)]
)
def test_who_computes_is_stopped_by_its_time_and_who_waits_by_the_clock(program, by_clock):
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        limit = TimeLimit(process.pid, 1.0)
        try:
            while not limit.is_over():
                time.sleep(limit.until_next_look())
            stopped_by_clock, waited = limit.by_clock(), limit.waited()
        finally:
            # the end of the block waits for it
            process.kill()
    assert stopped_by_clock is by_clock
    assert (waited > 1.5) is by_clock


@pytest.mark.parametrize(
    ("is_ready", "share", "seconds", "by_clock"),
    [(True, 0.1, 11, False), (False, 0.1, 6, True), (True, 0.01, 20, True)],
)
def test_the_clock_stands_for_who_is_ready_and_gets_no_processor(
    monkeypatch, is_ready, share, seconds, by_clock
):
    now = [0.0]
    clock = SimpleNamespace(is_ready=is_ready, seconds=lambda: share * now[0])
    monkeypatch.setattr(processor_time, "ProcessorTime", lambda process: clock)
    monkeypatch.setattr(processor_time, "time", SimpleNamespace(monotonic=lambda: now[0]))
    limit = TimeLimit(0, 2.0)
    while not limit.is_over():
        now[0] += 0.05
    assert now[0] == pytest.approx(seconds, abs=0.2)
    assert limit.by_clock() is by_clock


WAITS = """
import os, subprocess
own = os.getpid()
def wait(seconds):
    # stopped from outside, like one that gets no processor
    subprocess.run(["sh", "-c", f"kill -STOP {own}; sleep {seconds}; kill -CONT {own}"])
    return seconds
"""


def test_a_kernel_that_gets_no_processor_for_a_while_loses_nothing_by_it():
    draw = {"inputs": {}, "parameter_seed": 0}
    request = {"expression": "wait(1.5)", "forbidden": [], "draws": [draw]}
    with StudentKernel(Settings()) as kernel:
        assert kernel.run(WAITS, 60).status == "ok"
        reply = kernel.ask(request, 1.0)
        # the half second before the first look counts as used
        assert (reply.status, reply.by_clock, reply.waited > 0.7) == ("ok", False, True)
        assert json.loads(reply.value)[0]["value"] == {"kind": "number", "value": 1.5}
        # by the clock it ends after all
        reply = kernel.run("wait(5)", 1.0)
        assert (reply.status, reply.by_clock) == ("timeout", True)


def test_lines_of_a_grade_cell_share_its_time_without_what_they_wait():
    one = {"value": {"kind": "number", "value": 1}, "parameters": []}
    draw = ExpectedDraw({}, 0, one, NO_FINGERPRINT, {})
    line = ExpectedLine("wait(1)", 1, (draw,))
    with StudentKernel(Settings()) as kernel:
        # of each second that a line waits, the half before the first look counts
        run = KernelRun(kernel, Limits(grade_cell_seconds=1.8))
        run.run_cell(WAITS, "own")
        deadline = time.monotonic() + 1.8
        answers = [run.ask(line, (), deadline) for _ in range(2)]
        assert [answer.problem for answer in answers] == [None, None]
        assert not run.by_clock
        last = [run.ask(line, (), deadline) for _ in range(3)][-1]
        assert last.problem.aspect == "time_used_up" and run.by_clock


def test_no_code_is_begun_after_the_end_of_all_grading():
    value = {"value": {"kind": "number", "value": 1}, "parameters": []}
    draw = ExpectedDraw({}, 0, value, NO_FINGERPRINT, {})
    line = ExpectedLine("answer()", 1, (draw,))
    with StudentKernel(Settings()) as kernel:
        run = KernelRun(kernel, Limits(), until=time.monotonic() + 3600)
        run.run_cell("answer = lambda: 1", "own")
        assert run.ask(line, (), time.monotonic() + 10).problem is None
        run.until = time.monotonic()
        problem = run.ask(line, (), time.monotonic() + 10).problem
        assert (problem.aspect, problem.parameters["reason"]) == ("ended", "no_time_left")
        # whose fault that is isn't known, so it isn't final, and the code isn't run again to find a culprit
        assert run.by_clock and not run.ended_itself and kernel.dead
        assert run.run_cell("answer()", "own").status != "ok"


def test_the_graders_pauses_are_no_time_of_the_notebooks():
    with StudentKernel(Settings()) as kernel:
        run = KernelRun(kernel, Limits(notebook_seconds=1.5), PAUSING)
        assert [run.run_cell("1", "own").status for _ in range(4)] == ["ok"] * 4
        assert run.ended is None


def test_a_value_that_is_too_large_for_a_known_mistake_takes_little_time_of_the_grader():
    value = {"value": {"kind": "number", "value": 1}, "parameters": []}
    draw = ExpectedDraw({}, 0, value, NO_FINGERPRINT, {})
    line = ExpectedLine("many", 1, (draw,))
    with StudentKernel(Settings()) as kernel:
        run = KernelRun(kernel, Limits())
        run.run_cell("import numpy\nmany = numpy.full(1_000_000, numpy.nan, numpy.float16)", "own")
        begun = time.process_time()
        for _ in range(20):
            (judged, problem), *_ = run.ask(line, (), time.monotonic() + 60).judged
            assert problem and judged.fingerprint == NO_FINGERPRINT and judged.says_little
        # the fingerprints of all would take four seconds
        assert time.process_time() - begun < 2
