"""Each kernel's control group: who is in it, what Linux then refuses, and that none is left."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.instructor_settings import Limits, Settings
from autograder.kernels import control_group, jupyter_adapter, sandbox
from autograder.kernels.processor_time import descendants
from autograder.kernels.student_kernel import StudentKernel
from autograder.package import PACKAGE_ROOT

needs_groups = pytest.mark.skipif(
    bool(sandbox.why_not()) or not sandbox.has_control_groups(),
    reason="no control groups can be made here",
)
SANDBOXED = Settings(limits=Limits(sandbox=True))


def groups_of(process):
    """A process's groups by controller, as folders, of those that are a kernel's."""
    found = {}
    for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if Path(path).name.startswith(control_group.PREFIX):
            for name in (controllers or "memory,pids").split(","):
                found[name] = control_group.CGROUPS / (name if controllers else "") / path[1:]
    return found


@needs_groups
def test_a_kernel_has_a_group_as_long_as_it_runs():
    with StudentKernel(SANDBOXED) as kernel:
        watcher = jupyter_adapter.process_of(kernel._manager)
        below = [int(name) for name, _ in descendants(watcher) if int(name) != watcher]
        groups = [groups_of(process) for process in below]
        assert len(groups) >= 2 and {"memory", "pids"} <= set(groups[0])
        assert all(one == groups[0] for one in groups) and not groups_of(watcher)
        limits = [(folder / "pids.max") for folder in groups[0].values()]
        assert any(path.exists() and int(path.read_text()) == 128 for path in limits)
    assert not any(folder.exists() for folder in groups[0].values())


PROGRAM = """
import os, signal
from autograder.kernels.control_group import ControlGroup, join
group = ControlGroup.make(50_000_000, 4)
child = os.fork()
if child == 0:
    os.setsid()
    join(group.folders)
    {what}
    os._exit(0)
status = os.waitpid(child, 0)[1]
print(os.WIFSIGNALED(status) and os.WTERMSIG(status), os.waitstatus_to_exitcode(status), group.killed())
group.remove()
"""


def came_of(what):
    """What a program prints of a group with 50 MB and four processes, in which one does something."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(what=what)],
        cwd=PACKAGE_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@needs_groups
@pytest.mark.parametrize(
    ("what", "came"),
    [
        ("held = bytearray(100_000_000)", "False 0 0"),
        # more than it may have, and than Linux keeps for it
        ("held = bytearray(400_000_000)", "9 -9 1"),
    ],
)
def test_linux_ends_a_process_that_has_no_memory_left(what, came):
    assert came_of(what) == came


@needs_groups
def test_there_are_no_more_processes_than_allowed():
    what = """
    started = 0
    try:
        for _ in range(9):
            if os.fork() == 0:
                signal.pause()
            started += 1
    except BlockingIOError:
        print(started, flush=True)
    os.killpg(os.getpid(), signal.SIGKILL)
"""
    assert came_of(what).splitlines()[0] == "3"


def test_version_two_is_used_where_a_folder_offers_limits(tmp_path):
    own = tmp_path / "user.slice" / "app.slice" / "terminal.scope"
    own.mkdir(parents=True)
    for folder, offered in (
        (own, ""),
        (own.parent, "memory pids\n"),
        (tmp_path, "cpu memory pids\n"),
    ):
        (folder / "cgroup.subtree_control").write_text(offered)
    files = control_group.SECOND_VERSION
    found = control_group._second_version(own, files)
    assert found == {own.parent: {"memory": "memory.max", "pids": "pids.max"}}
    assert not control_group._second_version(tmp_path / "elsewhere", {})


def test_an_instructor_is_told_whether_there_are_groups():
    told = sandbox.protections(Limits())
    assert ("In a control group of its own" in told) == sandbox.has_control_groups()
    assert ("No control groups can be made" in told) != sandbox.has_control_groups()
