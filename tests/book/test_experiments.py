"""Rivals get their own best rates, and stored results are used exactly as long as nothing has changed."""

import math
import shutil
import sys
import types

import pytest

from autograder.errors import BookError
from autograder.publish import experiments as stored_results
from autograder.publish.seed_base import VARIABLE
from book.experiments import best_of
from tests.support.course import COURSE
from tests.support.small_book import FRONT

# best_of ------------------------------------------------------------------------------------------


def score(rate, seed):
    """Best at a rate of 0.1, and better under later seeds."""
    return 1 - abs(rate - 0.1) + seed / 100


def test_the_best_rate_is_chosen_and_scored_under_other_seeds():
    calls = []
    found = best_of(lambda *given: calls.append(given) or score(*given), [0.01, 0.1, 1], [0, 1, 2])
    assert (found.rate, found.scores) == (0.1, [1.01, 1.02])
    assert found.mean == pytest.approx(1.015)
    assert found.tried == {0.01: score(0.01, 0), 0.1: 1, 1: score(1, 0)}
    # no seed that has helped to choose gives a score
    assert {seed for _, seed in calls[:3]} == {0}
    assert calls[3:] == [(0.1, 1), (0.1, 2)]


def test_a_lower_score_can_be_better_and_a_rate_that_diverges_is_none():
    def loss(rate, seed):
        return math.nan if rate == 1 else -score(rate, seed)

    found = best_of(loss, [1, 0.01, 0.1], [3, 4], low=True)
    assert found.rate == 0.1 and math.isnan(found.tried[1])
    with pytest.raises(ValueError, match="no rate gives finite scores"):
        best_of(lambda rate, seed: math.inf, [1, 2, 3], [0, 1])


@pytest.mark.parametrize(
    ("rates", "seeds"), [([1, 2], [0, 1]), ([1, 2, 2], [0, 1]), ([1, 2, 3], [0, 0])]
)
def test_too_few_rates_or_seeds_are_an_error(rates, seeds):
    with pytest.raises(ValueError, match="3 different rates"):
        best_of(score, rates, seeds)


# stored -------------------------------------------------------------------------------------------

CELLS = {
    "imports": "from experiments import best_of, stored\nfrom book.models.seeds import seeds",
    "constant": "FACTOR = 2\nRATES = (0.01, 0.1, 1)",
    "function": """\
def score(rate, seed):
    with open("../computed", "a") as file:
        file.write(".")
    return -abs(rate - 0.1) * FACTOR


def compare(rates, name, seeds):
    # a comment
    return {name: best_of(score, rates, seeds), "numbers": (1, 2)}""",
    "call": 'found = stored(compare, RATES, "one", seeds(2))',
    "claim": "assert found['one'].rate == 0.1 and found['numbers'] == [1, 2]",
    "unused": "def unused():\n    return 3",
}
CALLS_A_RUN = 4


class Page:
    """A course of one page, and how often its function was called."""

    def __init__(self, root):
        self.root, self.cells = root, dict(CELLS)
        (root / "book").mkdir()
        shutil.copy(COURSE.book / "experiments.py", root / "book")
        for name in ("autograder", "solutions", "book/models"):
            (root / name).symlink_to(COURSE.root / name)
        self.write()

    def write(self, **cells):
        """Change some cells."""
        self.cells |= cells
        blocks = (f"```{{code-cell}} ipython3\n{cell}\n```\n" for cell in self.cells.values())
        text = FRONT + "\n# A page\n\n" + "\n".join(blocks)
        (self.root / "book" / "ch1_page.md").write_text(text, encoding="utf-8")

    @property
    def stored(self):
        (page,) = stored_results.stored_pages(self.root)
        return page

    @property
    def calls(self):
        path = self.root / "computed"
        return len(path.read_text()) if path.exists() else 0

    def forget(self):
        shutil.rmtree(self.root / "_build", ignore_errors=True)
        (self.root / "computed").unlink(missing_ok=True)


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    return Page(tmp_path)


@pytest.fixture
def run(page, monkeypatch):
    """Run the cells, as a build does: how often the function was called then."""
    monkeypatch.syspath_prepend(page.root / "book")
    monkeypatch.chdir(page.root / "book")

    def run():
        page.forget()
        sys.modules.pop("experiments", None)
        made = types.ModuleType("__main__")
        # as IPython has them: what has been run so far
        vars(made)["In"] = []
        monkeypatch.setitem(sys.modules, "__main__", made)
        for cell in page.cells.values():
            made.In.append(cell)
            exec(cell, vars(made))
        return page.calls

    yield run
    sys.modules.pop("experiments", None)


def test_a_result_is_computed_until_it_is_stored_and_a_build_writes_none(page, run, capsys):
    assert run() == CALLS_A_RUN
    assert capsys.readouterr().out == stored_results.not_stored("compare") + "\n"
    assert not (page.root / "book" / "results").exists()
    assert list((page.root / stored_results.KEPT).glob("compare-*.json"))
    assert stored_results.stale(page.root) == ["book/ch1_page.md has no stored results."]
    (written,) = stored_results.write(page.stored)
    assert written["result"]["numbers"] == [1, 2]
    assert stored_results.stale(page.root) == []
    capsys.readouterr()
    assert run() == 0
    assert capsys.readouterr().out == ""


@pytest.fixture(scope="module")
def stored_file(tmp_path_factory):
    """What is stored for the page as it is."""
    page = Page(tmp_path_factory.mktemp("course"))
    stored_results.write(page.stored)
    return page.stored.file.read_text(encoding="utf-8")


@pytest.fixture
def store(page, stored_file):
    page.stored.file.parent.mkdir()
    page.stored.file.write_text(stored_file, encoding="utf-8")


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("constant", "FACTOR = 2", "FACTOR = 3"),
        ("constant", "0.01", "0.02"),
        ("function", "abs(", "1 * abs("),
        ("call", '"one", seeds(2)', '"one", seeds(3)'),
    ],
    ids=["constant", "rates", "code", "seeds"],
)
def test_what_changes_a_result_makes_it_stale(page, run, store, cell, old, new):
    assert old in CELLS[cell]
    page.write(**{cell: CELLS[cell].replace(old, new)})
    assert stored_results.stale(page.root) == ["book/results/ch1_page.json is stale."]
    assert run() >= CALLS_A_RUN


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("unused", "return 3", "return 4"),
        ("function", "# a comment", "# in other words"),
        ("claim", "== 0.1", "< 1"),
    ],
)
def test_what_changes_no_result_makes_none_stale(page, run, store, cell, old, new):
    assert old in CELLS[cell]
    page.write(**{cell: CELLS[cell].replace(old, new)})
    assert stored_results.stale(page.root) == []
    assert run() == 0


def test_seeds_of_another_base_are_computed(run, store, monkeypatch):
    monkeypatch.setenv(VARIABLE, "3")
    assert run() == CALLS_A_RUN


def test_a_result_that_does_not_come_out_again_is_found(page, store):
    assert stored_results.compare(page.stored) == []
    entry = '"numbers": [1, 2]'
    text = page.stored.file.read_text(encoding="utf-8")
    assert entry in text
    page.stored.file.write_text(text.replace(entry, '"numbers": [1, 3]'), encoding="utf-8")
    (found,) = stored_results.compare(page.stored)
    assert found.startswith('compare([0.01, 0.1, 1], "one", [0, 1]) differs by 1;')
    # a claim that the new results contradict
    page.write(claim="assert found['numbers'] == [1, 3]")
    with pytest.raises(BookError, match=r"ch1_page\.md: AssertionError"):
        stored_results.compare(page.stored)


def test_results_without_a_page_and_large_ones_are_refused(page, store):
    other = page.stored.file.with_name("ch2_gone.json")
    other.write_text(" " * (stored_results.LARGEST_FILE + 1))
    assert stored_results.stale(page.root) == [
        "book/results/ch2_gone.json belongs to no page.",
        "book/results/ch2_gone.json has more than 50,000 bytes.",
    ]
    other.unlink()
    page.write(
        function="def compare(rates, name, seeds):\n    return list(range(20_000))", claim=""
    )
    with pytest.raises(BookError, match=r"take 1\d\d,\d{3} bytes and may take 50,000"):
        stored_results.write(page.stored)


def test_results_that_cannot_be_read_are_an_error_that_names_the_file(page, store):
    page.stored.file.write_text("{")
    with pytest.raises(BookError, match=r"ch1_page.json can't be read.*experiments ch1_page"):
        stored_results.stale(page.root)


def test_no_stored_result_of_the_course_is_stale():
    assert stored_results.stale(COURSE.root) == []
