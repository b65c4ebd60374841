"""The budget of the tests' processor time: which groups are over it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processor_budget import CGROUPS, budget, over_budget, workload

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


def test_a_group_is_over_its_budget_when_it_took_clearly_longer():
    allowed = {"long": 20.0, "short": 1.0}
    assert over_budget({"long": 29, "short": 4.9}, allowed) == []
    assert over_budget({"long": 31, "short": 5.1}, allowed) == ["long", "short"]


def test_a_new_group_has_no_budget_yet():
    assert over_budget({"new": 6.0, "small": 4.0}, {"long": 20.0}) == ["new"]
    assert over_budget({"new": 6.0}, {}) == []


def test_the_budget_does_not_rise():
    """Ten minutes on two cores are the aim; this is eighteen, with all that runs in sandboxes."""
    assert 0 < sum(budget().values()) <= 2010


def test_the_workload_takes_processor_time():
    assert 0 < workload() < 60


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
