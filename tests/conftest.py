"""What several test files need."""

import os

import pytest

# tests run on all cores already; two threads a process would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

from autograder.catalogue import exercise_names


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `exercise` runs for every exercise; each exercise on one worker."""
    if "exercise" in metafunc.fixturenames:
        marks = [
            pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in exercise_names()
        ]
        metafunc.parametrize("exercise", marks)
