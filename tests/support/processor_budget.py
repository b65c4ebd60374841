"""A pytest plugin: what each group of tests costs, against a budget, and the longest groups first.

A group is an xdist group, or else a file of tests. Tests that share a module's fixtures run on one worker,
because each would set them up otherwise. A group's processor time, with that of all processes that its
tests start, is divided by that of a fixed workload run between the tests, so that a slow or busy machine
doesn't count. What fills a cache that later runs find filled (`filling`) is a group of its own, without a
budget. `--write-budget` stores what a whole run has measured as the new budget, and nothing else.

Where tests may make a cgroup, it counts everything. Elsewhere processes in sandboxes, which nobody here waits
for, count as far as they were seen, and a group can look cheaper than it is by two thirds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from autograder.kernels.processor_time import ProcessorTime, available

BUDGET = Path(__file__).with_name("processor_budget.json")
TESTS = Path(__file__).parent.parent
# what the workload takes on the machine whose seconds the budget has
WORKLOAD_SECONDS = 0.1
TESTS_BETWEEN = 250
# What another machine and busy neighbours may change, as a factor and in seconds. With the least that is stored
# of a group, none can take five times as long, or a fifth of it, and not be named.
TOLERANCE, SPARE_SECONDS, LEAST_SECONDS = 1.5, 1.0, 0.3
# what is printed of a run in which every group keeps its budget
MOST_GROUPS = 12
# where Linux counts processor time by cgroup, and the file of a cgroup's processes
CGROUPS, MEMBERS = Path("/sys/fs/cgroup/cpuacct"), "cgroup.procs"
# before the tests run, and what fills caches
COLLECTION, CACHES = "collection", "caches, once"


def xdist_group(item: pytest.Item) -> str:
    """The name of the group whose tests run on one worker; empty for a test that may run on any."""
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0] if mark.args else mark.kwargs["name"]) if mark else ""


def _path_of(path: Path) -> str:
    return path.relative_to(TESTS.parent).as_posix()


def group_of(item: pytest.Item) -> str:
    """The name of a test's group."""
    return xdist_group(item) or _path_of(item.path)


def shares_module_fixture(item: pytest.Item) -> bool:
    """Whether a test uses a fixture that its module sets up once."""
    if not isinstance(item, pytest.Function):
        return False
    found = item._fixtureinfo.name2fixturedefs.values()
    return any(fixture.scope == "module" for one in found for fixture in one)


def budget() -> dict[str, float]:
    """Seconds by group, as stored."""
    return json.loads(BUDGET.read_text(encoding="utf-8"))


def off_budget(measured: Mapping[str, float], allowed: Mapping[str, float]) -> dict[str, str]:
    """The groups that took clearly longer than the budget, or less than half of it, and which."""
    off = {}
    for group, seconds in measured.items():
        if seconds > TOLERANCE * allowed.get(group, 0) + SPARE_SECONDS:
            off[group] = "over the budget"
        elif seconds < allowed.get(group, 0) / 2 - SPARE_SECONDS:
            off[group] = "under half the budget"
    off.pop(CACHES, None)
    return off


def to_store(measured: Mapping[str, float]) -> dict[str, float]:
    """The budget that a run has measured: of what it has seen, and nothing of what it has not."""
    return {
        group: max(LEAST_SECONDS, round(seconds, 1))
        for group, seconds in sorted(measured.items(), key=lambda one: (-one[1], one[0]))
        if group != CACHES
    }


@contextlib.contextmanager
def filling() -> Iterator[None]:
    """What this block uses is of no test: it fills a cache that the next run finds filled."""
    meter, inside = Meter.running, Meter.running and Meter.running.fills
    if meter is None or inside:
        yield
        return
    meter.fills, begun = True, meter.used()
    try:
        yield
    finally:
        meter.fills = False
        meter.set_aside(meter.used() - begun)


def is_whole(config: pytest.Config) -> bool:
    """Whether all tests run that run every time, as in `make test`."""
    chosen = config.option.markexpr or config.option.keyword or config.option.collectonly
    return not chosen and config.args_source is not pytest.Config.ArgsSource.ARGS


def workload() -> float:
    """Run the fixed workload; its processor time in seconds."""
    begun, text = time.process_time(), b"attention"
    for _ in range(100_000):
        text = hashlib.sha256(text).digest()
    sum(number * number for number in range(1_500_000))
    return time.process_time() - begun


class ControlGroup:
    """A cgroup (version 1) of this process and of all that it starts from now on; raises OSError."""

    def __init__(self) -> None:
        self.folder = CGROUPS / f"tests-{os.getpid()}"
        self.folder.mkdir()
        (self.folder / MEMBERS).write_text(str(os.getpid()))

    def seconds(self) -> float:
        """The processor time that they have used."""
        return int((self.folder / "cpuacct.usage").read_text()) / 1e9

    def leave(self) -> None:
        """Leave it, and remove it if nothing that was started here is left in it."""
        (CGROUPS / MEMBERS).write_text(str(os.getpid()))
        with contextlib.suppress(OSError):
            self.folder.rmdir()


class Meter:
    """Measures the tests of one process, and of the processes that they start.

    running: that of this process; fills: whether a cache is being filled.
    """

    running: Meter | None = None
    fills = False

    def __init__(self) -> None:
        self._cgroup: ControlGroup | None = None
        with contextlib.suppress(OSError):
            self._cgroup = ControlGroup()
        self._tree = ProcessorTime(os.getpid()) if available() else None
        self._seconds: Counter[str] = Counter()
        self._workloads = [workload()]
        self._last, self._tests = 0.0, 0
        Meter.running = self

    def used(self) -> float:
        """Seconds that have been used so far."""
        if self._cgroup:
            return self._cgroup.seconds()
        if self._tree:
            return self._tree.seconds()
        used = os.times()
        return used.user + used.system + used.children_user + used.children_system

    def set_aside(self, seconds: float) -> None:
        """Count seconds of a running test for the caches that it has filled."""
        self._seconds[CACHES] += seconds
        self._last += seconds

    def _add(self, group: str) -> None:
        """Give a group what has been used since the last one was given something."""
        now = self.used()
        self._seconds[group] += max(0.0, now - self._last)
        self._last = now

    def pytest_collection_finish(self) -> None:
        """What was imported until now is no test's time."""
        self._add(COLLECTION)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Measure a test, together with those of its group that follow: reading takes some ms."""
        done = yield
        self._tests += 1
        if nextitem is None or group_of(nextitem) != group_of(item):
            self._add(group_of(item))
            if self._tests >= TESTS_BETWEEN * len(self._workloads):
                self._workloads.append(workload())
                self._last = self.used()
        return done

    def pytest_unconfigure(self) -> None:
        """Leave no cgroup behind."""
        if self._cgroup:
            self._cgroup.leave()

    def measured(self) -> dict[str, float]:
        """Seconds by group, as on the machine of the budget."""
        speed = WORKLOAD_SECONDS * len(self._workloads) / sum(self._workloads)
        return {group: seconds * speed for group, seconds in self._seconds.items()}


class Budget:
    """Adds up what the meters of all processes have measured, and says so at the end."""

    def __init__(self, config: pytest.Config, meter: Meter) -> None:
        self._config, self._meter = config, meter
        self._seconds: Counter[str] = Counter()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of pytest-xdist has measured."""
        self._seconds.update(getattr(node, "workeroutput", {}).get("processor_seconds", {}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send a worker's measurements to the process that prints them, or keep them here."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["processor_seconds"] = self._meter.measured()
        else:
            self._seconds.update(self._meter.measured())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the longest groups, and those that are off their budget."""
        is_worker = hasattr(self._config, "workerinput")
        if is_worker or not is_whole(self._config) or terminalreporter.stats.get("error"):
            # a worker's reporter prints nothing, and the budget is one of all tests
            return
        line, allowed = terminalreporter.line, budget()
        terminalreporter.section("processor time and budget, in seconds of the budget's machine")
        for group, seconds in self._seconds.most_common(MOST_GROUPS):
            line(f"{seconds:8.1f} {allowed.get(group, 0):8.1f}  {group}")
        line(f"{self._seconds.total():8.1f} {sum(allowed.values()):8.1f}  all")
        for group, how in off_budget(self._seconds, allowed).items():
            # a note beside a run of GitHub Actions
            mark = "::warning::" if os.environ.get("GITHUB_ACTIONS") else ""
            line(
                f"{mark}{how}: {group}, {self._seconds[group]:.1f} s of {allowed.get(group, 0):.1f}"
            )
        if self._config.getoption("write_budget"):
            stored = json.dumps(to_store(self._seconds), indent=1)
            BUDGET.write_text(stored + "\n", encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option that stores a new budget."""
    told = "store what the groups of this run took as the budget of tests"
    parser.addoption("--write-budget", action="store_true", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Measure from here on."""
    meter = Meter()
    config.pluginmanager.register(meter)
    config.pluginmanager.register(Budget(config, meter))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep tests that share a module's fixtures on one worker."""
    if not xdist_group(item) and shares_module_fixture(item):
        item.add_marker(pytest.mark.xdist_group(_path_of(item.path)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest groups first, then what may run anywhere, so that no core waits for a last group.

    Only in the workers of pytest-xdist: in one process, a module's tests share what it sets up.
    """
    if hasattr(config, "workerinput"):
        allowed = budget()
        items.sort(key=lambda item: (not xdist_group(item), -allowed.get(group_of(item), 0)))
