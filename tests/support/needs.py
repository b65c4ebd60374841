"""What tests need beside Python, and a pytest plugin: what did not run is said at the end, and is an error in CI.

A run in which nothing fails prints little.

A test that needs something has one of the marks below; its reason is what is needed and, behind a colon, the
command that brings it. With the environment variable CI, every other skip fails, unless it is of ALLOWED.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.kernels import forkserver, sandbox
from tests.support.browser import CHROMIUM

POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
# what a machine may lack although everything is installed that can be
ALLOWED = re.compile(
    "|".join(
        (
            r"this system offers no other sockets",
            r"keyrings can't be used here",
            r"no control groups can be made here",
            r"no cgroup may be made here",
            r"no /usr/include/",
            r"this repository lies in a folder that others may not open",
            r"there is no Python that others may run",
            r"this system lets root alone have namespaces",
            r"other accounts can't run ",
            r"oneDNN has no bfloat16 on this CPU",
            r"\w+ is newer than the class",
            r"runs with several workers only",
            r"pip has installed this folder",
        )
    )
)


def needs(what: str, command: str, there: object) -> pytest.MarkDecorator:
    """A mark of tests that need something, which a command brings where it isn't there."""
    return pytest.mark.skipif(not there, reason=f"{what}: {command}")


needs_browser = needs(
    "Chromium",
    "sudo apt-get install chromium, or .venv/bin/python -m playwright install chromium",
    CHROMIUM,
)
needs_poppler = needs("poppler", "sudo apt-get install poppler-utils", shutil.which("pdftotext"))
needs_npm = needs("npm", "sudo apt-get install npm", shutil.which("npm"))
needs_postgres = needs(
    "PostgreSQL", "sudo apt-get install postgresql", POSTGRES and shutil.which("setpriv")
)
needs_openssl = needs("openssl", "sudo apt-get install openssl", shutil.which("openssl"))
needs_compiler = needs(
    "a C++ compiler", "sudo apt-get install g++", shutil.which("g++") or shutil.which("clang++")
)
needs_fork_server = needs("Linux", "run in a container", forkserver.available())
needs_sandbox = needs(
    "a sandbox", f"on Linux, in a privileged container ({sandbox.why_not()})", not sandbox.why_not()
)
needs_root = needs("root", "sudo make test, or in a container", os.geteuid() == 0)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let what opens a page need a browser."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker(needs_browser)


def why_skipped(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped; empty where it was not, or failed as expected."""
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return ""
    return report.longrepr[2].removeprefix("Skipped: ")


def as_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Let a report of a skip that isn't allowed be one of a failure, in CI."""
    reason = why_skipped(report)
    if os.environ.get("CI") and reason and not ALLOWED.match(reason):
        report.outcome, report.longrepr = "failed", f"Skipped, which is an error in CI. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """A skip of a test."""
    report = yield
    as_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """A skip of a module."""
    report = yield
    as_in_ci(report)
    return report


PASSED_A_DOT = 100
passed = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Print a dot for a hundred tests that passed."""
    if report.passed and report.when == "call":
        return "passed", "" if next(passed) % PASSED_A_DOT else ".", "PASSED"
    return None


def not_run(reasons: Counter[str]) -> str:
    """The one line about what did not run; empty where nothing is to be done about it."""
    told = [
        f"{count} test{'s' * (count > 1)} need{'s' * (count == 1)} {reason}"
        for reason, count in reasons.most_common()
        if not ALLOWED.match(reason)
    ]
    return f"Not run: {'; '.join(told)}." if told else ""


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Say last of all what did not run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    if line := not_run(Counter(map(why_skipped, reporter.stats.get("skipped", [])))):
        reporter.write_line(line, yellow=True)
