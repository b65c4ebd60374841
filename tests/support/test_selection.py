"""Which tests run when: the table in tests/README.md, how long tests took, and what the README's commands select."""

import re
import subprocess
import sys

import pytest

from tests.support.course import COURSE
from tests.support.durations import stored
from tests.support.selection import QUICK_SECONDS, README, TESTS, Row, quick_groups, table


def test_the_table_is_short_and_each_row_is_of_tests_that_exist():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60 and text.count("\n| `") == len(table())
    for row in table():
        path, *_, function = row.tests.split("::")
        functions = re.findall(r"def (test_\w+)", (TESTS / path).read_text(encoding="utf-8"))
        assert any(Row(function, "nothing").holds(one) for one in functions), row.tests


def test_a_row_says_which_cases_run_every_time():
    ids = ["a: one", "a: two", "b: one", "c"]
    assert Row("", "nothing").often(ids) == set()
    assert Row("", "one of each kind").often(ids) == {"a: one", "b: one", "c"}
    assert Row("", "every 3rd").often(ids) == {"a: one", "c"}
    assert Row("", "`a: t*`, `c`").often(ids) == {"a: two", "c"}
    with pytest.raises(AssertionError, match="now and then"):
        Row("", "now and then").often(ids)


def test_quick_are_the_cheapest_groups_that_fit():
    durations = {"a": QUICK_SECONDS - 3, "b": 2.0, "c": 0.5, "d": 900.0}
    assert quick_groups(durations) == {"c", "b", "a"}
    assert quick_groups(durations | {"e": 1.0}) == {"c", "b", "e"}
    assert quick_groups(stored())


# some of the cases of one are weekly, and one of the other is a group that takes no time
SAMPLE = ("tests/book/test_print.py", "tests/test_pins.py")


@pytest.mark.parametrize(("target", "cases"), [("test", 5), ("test-fast", 0)])
def test_what_a_command_of_the_readme_selects(target, cases):
    assert f"make {target}" in (COURSE.root / "README.md").read_text(encoding="utf-8")
    makefile = (COURSE.root / "Makefile").read_text(encoding="utf-8")
    words = re.search(rf"^{target}:.*\n\t@\$\(PYTHON\) -m (pytest .*)$", makefile, re.MULTILINE)[1]
    # in this process's place, one that only collects
    words = re.sub(r"-n auto --dist loadgroup --no-loadscope-reorder", "-p no:xdist", words)
    command = [sys.executable, "-m", *words.split(), "--collect-only", "-o", "addopts=", "-q"]
    done = subprocess.run(
        [*command, *SAMPLE], cwd=COURSE.root, capture_output=True, text=True, check=False
    )
    found = [line for line in done.stdout.splitlines() if "::" in line]
    assert sum("test_all_results" in line for line in found) == cases
    assert any("test_groups_of_tests_stay_together" in line for line in found)
