"""What every benchmark writes about its result."""

import importlib.metadata

from benchmarks import record


def test_versions_of_what_is_not_installed_are_left_out():
    packages = (*record.PACKAGES, "no-package-of-this-name")
    found = record.versions(packages)
    assert found["torch"] == importlib.metadata.version("torch")
    assert "no-package-of-this-name" not in found and found.items() >= record.versions().items()
