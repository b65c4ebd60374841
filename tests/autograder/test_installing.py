"""How packages are installed is said in one place."""

import re

import pytest

from autograder import installing
from autograder.errors import MissingPackageError
from tests.support.course import COURSE


def test_one_module_says_how_a_package_is_installed():
    """But for a function whose code is in the keys of stored results."""
    package = COURSE.root / "autograder"
    typing = [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if re.search(r"\bpip\W+install\b", path.read_text(encoding="utf-8"))
    ]
    assert set(typing) - {"installing.py"} == {"programs.py"}


def test_the_command_is_that_of_the_python_it_is_for():
    assert installing.how_to_install("a") == "`python -m pip install a`"
    assert installing.how_to_install("a", "b", python="/x y/python") == (
        "`'/x y/python' -m pip install a b`"
    )


def test_a_package_that_is_missing_is_told_with_the_extra_that_brings_it():
    with pytest.raises(MissingPackageError) as raised, installing.needing("no_such", "a", "It"):
        import no_such_package  # noqa: F401
    assert str(raised.value) == (
        "It needs the package no_such_package, which isn't installed. Install it with "
        "`python -m pip install 'course-autograder[a]'`."
    )


def test_another_missing_package_is_an_error_of_the_code():
    with pytest.raises(ModuleNotFoundError), installing.needing("another", "a", "It"):
        import no_such_package  # noqa: F401
