"""The table of speeds: both sides of a row run, and take turns; what is written about any result."""

import contextlib
import importlib.metadata
import re

import pytest

from benchmarks import record, speed


@pytest.mark.parametrize("name", speed.ROWS)
def test_a_row_has_a_ratio(name, capsys):
    speed.main(["--only", name, "--rounds", "1"])
    line = capsys.readouterr().out.splitlines()[-1]
    found, ratio, ours, beside = re.match(r"(\S+) +(\S+) +(\S+) +(\S+) ", line).groups()
    assert found == name and float(ours) > 0
    assert float(ratio) == pytest.approx(float(ours) / float(beside), abs=0.1, rel=0.1)
    # half of the work at most
    if name in {"again", "decoding"}:
        assert float(ratio) < 1


def test_sides_take_turns():
    calls = []
    sides = lambda: calls.append("ours"), lambda: calls.append("other")
    speed.seconds(speed.Row("", "", lambda: contextlib.nullcontext(sides)), 2)
    assert calls == ["ours", "other"] * 3


def test_versions_of_what_is_not_installed_are_left_out():
    packages = (*record.PACKAGES, "no-package-of-this-name")
    found = record.versions(packages)
    assert found["torch"] == importlib.metadata.version("torch")
    assert "no-package-of-this-name" not in found and found.items() >= record.versions().items()
