"""What is said about a recognised mistake: in which cell, and with which hint."""

import pytest

from autograder.runtime.grade_cell import Check
from autograder.runtime.hints import Explained, MistakeWords, explanation
from autograder.runtime.mistakes import NamedMistake
from autograder.runtime.notebook import AutotestFailure, Checks
from tests.support.notebook_checks import HALVED, SECTIONS, values_cell

NAMED, HERE = NamedMistake("halved"), Check("double(n)", 1)


def test_a_recognised_mistake_gives_its_hint_where_its_function_is_used():
    mistake = MistakeWords(
        "attention", "values", "Scores are too large.", "Which factor is missing?", ""
    )
    said = "no scaling", mistake
    assert explanation(*said, "attention(q, k)").split("\n") == [
        "This looks like a known mistake: no scaling. Scores are too large.",
        "Hint: Which factor is missing?",
        "Apart from this, these checks find nothing wrong.",
    ]
    where = explanation(*said, "layer(q, k)").split("\n")
    assert where[0] == "This looks like a known mistake: no scaling. Scores are too large."
    assert where[1].startswith("The mistake is in your `attention`, which this answer uses")
    assert explanation(*said, "attention(q, k)", by_line=True).split("\n") == [
        "This looks like a known mistake: no scaling. Scores are too large.",
        "Hint: Which factor is missing?",
    ]
    assert explanation(*said, "layer(q)", by_line=True).endswith("Look there first.")


def test_a_notebook_shows_the_hint_below_the_first_line_that_the_mistake_explains(capsys):
    with pytest.raises(AutotestFailure):
        Checks({"halved": HALVED}, SECTIONS).run_cell(
            "values", values_cell(), {"double": lambda x: 0.5 * x}
        )
    lines = capsys.readouterr().out.splitlines()
    assert lines.index("    Hint: Which factor?") == 1 + lines.index(
        "    This looks like a known mistake: halved. The result is half."
    )
    assert lines.count("    Hint: Which factor?") == 1


def test_one_cell_explains_a_mistake_until_it_runs_again():
    explained = Explained({"halved": HALVED})
    whole = explained.explain(NAMED, HERE, "values")
    assert "\nHint: Which factor?\n" in whole
    assert explained.elsewhere(NAMED, "edges") and not explained.elsewhere(NAMED, "values")
    assert explained.explain(NAMED, HERE, "edges") == (
        "This looks like a known mistake: halved. The checks `values` explain it."
    )
    explained.forget("edges")
    assert explained.cells == {"halved": "values"}
    explained.forget("values")
    assert explained.explain(NAMED, HERE, "edges") == whole


def test_one_line_of_another_answer_explains_no_mistake_for_the_cells_below():
    explained = Explained({"halved": HALVED})
    by_line = NamedMistake("halved", by_line=True)
    assert "Hint" not in explained.explain(by_line, Check("use(n)", 1), "uses")
    assert explained.cells == {}
    explained.explain(by_line, HERE, "values")
    assert explained.cells == {"halved": "values"}
