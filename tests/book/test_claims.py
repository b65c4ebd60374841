"""Claims fail the build with their place, and words follow the numbers; seeds move together."""

from pathlib import Path

import numpy as np
import pytest
import torch

from autograder.errors import BookError
from autograder.publish.cache_key import imports_digest
from autograder.publish.seed_base import VARIABLE
from book.claims import ClaimError, claim, share, times
from book.models.seeds import seed, seeds
from tests.support.course import COURSE
from tests.support.small_book import FRONT, build_book


@pytest.mark.parametrize("holds", [True, np.bool_(True), torch.tensor(True), np.array(2) > 1])
def test_a_claim_that_holds(holds):
    claim(holds, "two is more than one")


@pytest.mark.parametrize("fails", [False, np.float64("nan") > 1, torch.tensor(1) > 2])
def test_a_claim_that_does_not_hold(fails):
    with pytest.raises(ClaimError, match=r"line \d+, does not hold any more: one wins"):
        claim(fails, "one wins")


@pytest.mark.parametrize(
    "condition", [1, "yes", None, (True, "x"), np.array([True]), torch.ones(2) > 0]
)
def test_a_claim_needs_one_truth_value(condition):
    with pytest.raises(TypeError, match="True or False"):
        claim(condition, "a sentence")


def test_a_claim_needs_a_sentence():
    with pytest.raises(ValueError, match="sentence"):
        claim(True, " ")


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.05, "about"),
        (2.1, "about twice"),
        (2.5, "about 2.5 times"),
        (11.6, "about twelve times"),
        (1234, "about 1200 times"),
        (0.52, "about half"),
        (0.34, "about a third"),
        (0.0123, "about 0.012 times"),
    ],
)
def test_times(ratio, words):
    assert times(3 * ratio, 3) == words


def test_share():
    assert [share(k, 30) for k in (0, 23, 30)] == ["none of the 30", "23 of the 30", "all 30"]


@pytest.mark.parametrize(
    "call", [lambda: times(0, 1), lambda: times(1, float("inf")), lambda: share(3, 2)]
)
def test_words_for_nothing_are_errors(call):
    with pytest.raises(ValueError):
        call()


def test_seeds_move_together(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert (seed(), seed(7), seeds(3)) == (0, 7, [0, 1, 2])
    monkeypatch.setenv(VARIABLE, "12")
    assert (seed(), seed(7), seeds(3)) == (12000, 12007, [12000, 12001, 12002])
    with pytest.raises(ValueError, match="not 1000"):
        seed(1000)
    monkeypatch.setenv(VARIABLE, "-1")
    with pytest.raises(BookError, match=f"{VARIABLE} is '-1'"):
        seed()


def test_pages_that_use_seeds_are_executed_again_under_another_base(monkeypatch):
    cell = "\n```{code-cell} ipython3\n%s\n```\n"

    def digests():
        imports = ("from book.models.seeds import seed", "import numpy")
        return [imports_digest(COURSE.root, Path("x.md"), FRONT + cell % line) for line in imports]

    monkeypatch.delenv(VARIABLE, raising=False)
    uses, without = digests()
    monkeypatch.setenv(VARIABLE, "3")
    assert digests()[0] != uses
    assert digests()[1] == without


PAGE = (
    FRONT
    + """
# A page with claims

```{code-cell} ipython3
x = 2
```

```{code-cell} ipython3
:tags: [remove-cell]
from claims import claim

claim(x > 1, "the first holds")
claim(x > 3, "the number is more than three")
```
"""
)


def test_the_build_fails_with_page_cell_and_sentence(tmp_path):
    built = build_book(tmp_path, {"claims_page": PAGE}, [])
    assert built.returncode
    said = " ".join(built.stderr.split())
    assert "source/claims_page.md" in said
    assert "The claim in executed cell 2, line 4, does not hold any more" in said
    assert "the number is more than three" in said
