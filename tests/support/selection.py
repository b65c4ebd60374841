"""A pytest plugin: which tests run when. There are two marks, and no test has one in its own module.

weekly: cases of the table in tests/README.md. They run only where `-m` names `weekly`.
quick: the groups of tests that took least (`durations.json`), a minute on two cores.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.support.durations import group_of, stored

TESTS = Path(__file__).parent.parent
README = TESTS / "README.md"
# of all quick tests together; collecting takes another twenty
QUICK_SECONDS = 70.0
# every worker sends all ids, and a failure prints one
MAX_ID = 120
ROW = re.compile(r"^\| `([^`]+)` \| (.*?) \| .* \|$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A row of the table: cases that are weekly, and which of them run every time all the same.

    tests: a pattern of `path::function`, below tests/; every_time: "nothing", "one of each kind" (the kind is
    what an id has before its first colon), "every 6th", or patterns of ids in backticks.
    """

    tests: str
    every_time: str

    def holds(self, name: str) -> bool:
        """Whether a test's cases are meant: `path::function` or `path::Class::function`."""
        return fnmatchcase(name, self.tests)

    def often(self, ids: Sequence[str]) -> set[str]:
        """Those of a test's cases that run every time."""
        if self.every_time == "one of each kind":
            return set({one.partition(": ")[0]: one for one in reversed(ids)}.values())
        if step := re.fullmatch(r"every (\d+)\w\w", self.every_time):
            return set(ids[:: int(step[1])])
        patterns = re.findall("`([^`]+)`", self.every_time)
        assert patterns or self.every_time == "nothing", self.every_time
        return {one for one in ids if any(fnmatchcase(one, pattern) for pattern in patterns)}


@functools.cache
def table() -> list[Row]:
    """The rows of the table in tests/README.md."""
    return [Row(*row) for row in ROW.findall(README.read_text(encoding="utf-8"))]


def quick_groups(durations: Mapping[str, float]) -> set[str]:
    """The shortest groups, as many as fit into QUICK_SECONDS."""
    cheapest = sorted(durations, key=durations.__getitem__)
    sums = itertools.accumulate(durations[group] for group in cheapest)
    return {
        group for group, seconds in zip(cheapest, sums, strict=True) if seconds <= QUICK_SECONDS
    }


def name_of(item: pytest.Item) -> str:
    """A test's place without its case, below tests/."""
    path = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""
    return "::".join([path, *item.nodeid.partition("[")[0].split("::")[1:]])


def case_of(item: pytest.Item) -> str:
    """The id of a test's case; empty for a test without cases."""
    return item.callspec.id if hasattr(item, "callspec") else ""


def mark_weekly(items: Sequence[pytest.Item]) -> None:
    """Mark what the table leaves to the week."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[name_of(item)].append(item)
    for name, cases in tests.items():
        if rows := [row for row in table() if row.holds(name)]:
            often = set.intersection(*(row.often([*map(case_of, cases)]) for row in rows))
            for case in cases:
                if case_of(case) not in often:
                    case.add_marker(pytest.mark.weekly)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests, leave weekly ones out that nobody has asked for, and refuse ids that fill a screen."""
    quick = quick_groups(stored())
    for item in items:
        if len(case_of(item)) > MAX_ID:
            raise pytest.UsageError(
                f"{item.path}: a case of {item.name[:60]}... has an id of {len(case_of(item))} "
                f"characters. Give it one of at most {MAX_ID}: `ids=` or `pytest.param(..., id=...)`."
            )
        if group_of(item) in quick:
            item.add_marker(pytest.mark.quick)
    mark_weekly(items)
    if "weekly" not in config.option.markexpr:
        left = [item for item in items if item.get_closest_marker("weekly")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("weekly")]
