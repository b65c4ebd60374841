"""The budget of the tests' processor time: which groups are over it."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.processor_budget import (
    CACHES,
    CGROUPS,
    LEAST_SECONDS,
    Meter,
    budget,
    filling,
    off_budget,
    to_store,
)

# a process that computes, and ends as the child of a process which doesn't wait for it
UNSEEN = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.5:
        pass
    os._exit(0)
time.sleep(0.1)
while True:
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        break
"""


def test_a_group_is_named_when_it_took_clearly_longer_or_less_than_half():
    allowed = {"long": 20.0, "short": 1.0, "tiny": LEAST_SECONDS}
    assert off_budget({"long": 30, "short": 2.4, "tiny": 1.4}, allowed) == {}
    assert off_budget({"long": 9.1, "short": 0}, allowed) == {}
    over, under = "over the budget", "under half the budget"
    assert off_budget({"long": 31.1, "short": 2.6}, allowed) == {"long": over, "short": over}
    assert off_budget({"long": 8.9}, allowed) == {"long": under}


def test_no_group_may_take_six_times_as_long_unseen():
    for seconds in budget().values():
        assert off_budget({"one": 6 * seconds}, {"one": seconds})


def test_a_new_group_has_no_budget_yet_and_a_cache_that_was_filled_never_has():
    assert off_budget({"new": 6.0, "small": 0.9, CACHES: 300.0}, {"long": 20.0}) == {
        "new": "over the budget"
    }
    assert to_store({"seen": 3.04, "tiny": 0.001, CACHES: 300.0}) == {"seen": 3.0, "tiny": 0.3}


def test_what_fills_a_cache_is_not_its_tests_time(monkeypatch):
    monkeypatch.setattr(Meter, "running", meter := Meter.__new__(Meter))
    clock = iter(range(0, 100, 10))
    meter._seconds, meter._last, meter.used = Counter(), 0.0, lambda: next(clock)
    with filling(), filling():
        pass
    meter._add("a group")
    assert meter._seconds == {CACHES: 10.0, "a group": 10.0}


def test_the_budget_does_not_rise():
    """1,050, ten minutes on two cores, are the aim; this is what a whole run has measured, sandboxes included."""
    assert 0 < sum(budget().values()) <= 1540


@pytest.mark.skipif(not os.access(CGROUPS, os.W_OK), reason="no cgroup may be made here")
def test_what_nobody_waits_for_counts_and_no_cgroup_is_left():
    program = f"""
import subprocess, sys
from tests.support.processor_budget import ControlGroup
made = ControlGroup()
subprocess.run([sys.executable, "-c", {UNSEEN!r}], check=True)
print(made.seconds(), made.folder)
made.leave()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    seconds, folder = done.stdout.split()
    assert 0.5 <= float(seconds) < 5
    assert folder.startswith(str(CGROUPS)) and not Path(folder).exists()
