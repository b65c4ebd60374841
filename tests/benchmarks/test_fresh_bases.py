"""Which claims of a page hold under other seeds, on a small page."""

import ast
import json

import numpy as np
import pytest
import torch

from benchmarks.fresh_bases import add, beside, compared, execute, report
from tests.support.course import COURSE

PAGE = """---
file_format: mystnb
kernelspec:
  display_name: Python 3
  name: python3
---

# Seeds

```{code-cell} ipython3
from claims import claim
from experiments import stored
from book.models.seeds import seed, seeds
```

```{code-cell} ipython3
def doubled(number):
    return [2 * number]


found = stored(doubled, seed(3))
claim(1 < 2, "one is less than two")
claim(
    found[0] < 100 < 200,
    "the seed is small",
)
for n in seeds(3):
    claim(n != 5001, "no seed is 5001")
claim(found[0] == 2 * seed(3), "two times the seed")
```

```{code-cell} ipython3
names = {3: "the book's"}[seed(3)]
claim(True, "there are names")
```
"""


@pytest.fixture(scope="module")
def entry(tmp_path_factory):
    """The page's claims and its run under base 5."""
    path = tmp_path_factory.mktemp("page") / "seeds.md"
    path.write_text(PAGE)
    claims = {}
    for base in (0, 5):
        run = execute(COURSE.root, path, base)
        add(claims, base, run)
    return {"claims": claims, "last": run}


def test_a_claim_that_fails_under_other_seeds_does_not_stop_the_page(entry):
    holds = {claim["sentence"]: claim["bases"] for claim in entry["claims"].values()}
    assert [one["holds"] for one in holds["the seed is small"].values()] == [True, False]
    assert [one["holds"] for one in holds["two times the seed"].values()] == [True, True]
    assert holds["the seed is small"][5]["numbers"] == "[10010.0, 100.0, 200.0]"


def test_a_claim_in_a_loop_has_the_numbers_of_its_failure(entry):
    (loop,) = (c for c in entry["claims"].values() if c["sentence"] == "no seed is 5001")
    assert loop["bases"][0] == {"holds": True, "numbers": "[0.0, 5001.0]"}
    assert loop["bases"][5] == {"holds": False, "numbers": "[5001.0, 5001.0]"}


def test_an_error_of_another_kind_stops_the_page_and_is_told(entry):
    stopped = entry["last"]["stopped"]
    assert stopped == "cell 3: KeyError: 5003"
    lines = report(entry["claims"], 5, stopped)
    assert lines[-1] == "STOPS  cell 3: KeyError: 5003"
    assert "FAILS  there are names (cell 3, line 2)" in lines
    assert "1 further claims hold with the same numbers" in lines


def test_results_stand_beside_the_stored_ones(entry):
    (found,) = entry["last"]["results"]
    assert (found["function"], found["result"]) == ("doubled", [10006])
    assert beside([{**found, "result": [6]}], [found]) == [
        "doubled(5003)",
        "  stored 6",
        "  now    1.001e+04",
    ]


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ("a < b <= 2 * b", [1, 2, 4]),
        ("a < b and not b > 3", [[1, 2], [2, 3]]),
        ("all(n > a for n in many)", [[2, 1], [3, 1]]),
        ("(array > a).all()", [[2, 3], 1]),
        ("torch.all(tensor == b)", [[2, 2], 2]),
        ("same", True),
        ("a < many", [1, [2, 3]]),
        ("b > a and missing < a", "NameError"),
    ],
)
def test_the_numbers_of_a_claim_are_those_that_it_compares(condition, numbers):
    names = {"a": 1, "b": 2, "many": [2, 3], "same": True, "torch": torch}
    names |= {"array": np.array([2, 3]), "tensor": torch.tensor([2, 2])}
    found = compared(ast.parse(condition, mode="eval").body, names)
    assert found == numbers if isinstance(numbers, str) else json.loads(found) == numbers


def test_what_is_too_long_is_cut_between_two_values():
    condition = ast.parse("all(flags)", mode="eval").body
    found = compared(condition, {"flags": [True] * 100})
    assert found.startswith("[true, true, ") and found.endswith("true, ...")
    assert len(found) < 200
