"""A pytest plugin: which groups of tests take longest, beside what each took when that was stored.

A group is an xdist group, or else a file of tests. Tests that share a module's fixtures run on one worker,
because each would set them up otherwise. `--write-durations` stores what a whole run took, by the clock: run it on
a quiet machine, when an earlier run has filled the caches.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

DURATIONS = Path(__file__).with_suffix(".json")
TESTS = Path(__file__).parent.parent
# Of a group that is named as slower. Another machine and busy neighbours may change a factor and some seconds.
FACTOR, SPARE_SECONDS = 2.0, 5.0
# what is printed of a run in which none is slower
MOST_GROUPS = 12


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


def stored() -> dict[str, float]:
    """Seconds by group."""
    return json.loads(DURATIONS.read_text(encoding="utf-8"))


def is_whole(config: pytest.Config) -> bool:
    """Whether all tests run that run every time, as in `make test`."""
    chosen = config.option.markexpr or config.option.keyword or config.option.collectonly
    return not chosen and config.args_source is not pytest.Config.ArgsSource.ARGS


class Durations:
    """Adds up how long tests take, those of all workers, and says so at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> object:
        """Name the group in the report, which a worker sends to the process that prints."""
        report = yield
        report.group = group_of(item)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add setting up, a test and tearing down."""
        self._seconds[getattr(report, "group", "a worker that ended")] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the longest groups, and those that have become slower."""
        if hasattr(self._config, "workerinput") or not is_whole(self._config):
            return
        before = stored()
        terminalreporter.section("seconds of groups of tests, now and as stored")
        for rank, (group, seconds) in enumerate(self._seconds.most_common()):
            is_slower = seconds > FACTOR * before.get(group, 0) + SPARE_SECONDS
            if rank < MOST_GROUPS or is_slower:
                told = "  slower" if is_slower else ""
                terminalreporter.line(f"{seconds:8.1f} {before.get(group, 0):8.1f}  {group}{told}")
        if self._config.getoption("write_durations"):
            found = {group: round(seconds, 1) for group, seconds in self._seconds.most_common()}
            DURATIONS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option that stores what a run takes."""
    told = "store how long the groups of this run took"
    parser.addoption("--write-durations", action="store_true", help=told)


def pytest_configure(config: pytest.Config) -> None:
    """Measure from here on."""
    config.pluginmanager.register(Durations(config))


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
        before = stored()
        items.sort(key=lambda item: (not xdist_group(item), -before.get(group_of(item), 0)))
