"""Tests of the project."""

import pytest

# what fails in them tells the values, too
pytest.register_assert_rewrite("tests.support")
