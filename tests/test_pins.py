"""The pinned packages: they install on the oldest Python that pyproject.toml allows."""

import importlib.metadata
import os
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.support.course import COURSE


def pins():
    """Every pinned package: name -> version."""
    lines = (COURSE.root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line) for line in lines if not line.startswith("#")]
    return {
        pin.name: Version(str(pin.specifier).removeprefix("=="))
        for pin in wanted
        if pin.marker is None or pin.marker.evaluate()
    }


def test_pins_are_what_is_installed_and_install_on_the_oldest_python():
    project = tomllib.loads((COURSE.root / "pyproject.toml").read_text())["project"]
    oldest = re.fullmatch(r">=(\d+\.\d+)", project["requires-python"]).group(1) + ".0"
    wrong, looked_at = [], 0
    for name, version in pins().items():
        try:
            installed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        looked_at += 1
        if Version(Version(installed.version).public) != version:
            # what is installed tells nothing about another version
            wrong.append(f"{name}: {installed.version} is installed, {version} is pinned")
        # .get, because importlib_metadata, where another package has loaded it, raises for an absent key
        elif oldest not in SpecifierSet(installed.metadata.get("Requires-Python") or ""):
            wrong.append(f"{name} {version} doesn't install on Python {oldest}")
    assert wrong == [] and looked_at > 100


@pytest.mark.xdist_group("pins")
def test_groups_of_tests_stay_together(request):
    """A group's fixtures grade a class or build the book: once, and not once in every worker."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("runs with several workers only")
    assert request.config.getoption("loadgroup")
    assert request.node.nodeid.endswith("@pins")
