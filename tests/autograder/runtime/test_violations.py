"""Relations between a student's own results: which are violated, where, and at which line it is told."""

import numpy as np
import pytest

from autograder.runtime.compare import Difference
from autograder.runtime.evaluate import Evaluation
from autograder.runtime.grade_cell import Relation, parse_cell, read_relations
from autograder.runtime.messages import sentence
from autograder.runtime.mistakes import NamedMistake
from autograder.runtime.plain_data import Error, Items, pack
from autograder.runtime.violations import unexplained, violated, with_violations
from tests.support.course import plain

A = np.arange(24.0).reshape(2, 3, 4) / 7
SAME = Relation("it moves", "[f(x), f(y)]", axis=1)
OTHER = Relation("it stays", "[f(x), f(y)]", equal=False)


def moved(*indices):
    other = A.copy()
    other[1, list(indices)] += 0.5
    return other


@pytest.mark.parametrize(
    ("relation", "results", "places"),
    [
        (SAME, [A, A + 1e-12], None),
        (SAME, [A, moved(0, 2)], [0, 2]),
        (SAME, [A, A, moved(1)], [1]),
        # another shape has no places, and neither have parts
        (SAME, [A, A[:1]], []),
        (SAME, [[A, A], [A, moved(1)]], []),
        (OTHER, [A, moved(0)], None),
        (OTHER, [A, A + 1e-12], []),
        (OTHER, [A, moved(0), A], []),
        (SAME, [A], None),
    ],
)
def test_a_relation_is_violated_where_results_differ_or_are_the_same(relation, results, places):
    assert violated(relation, plain(results)) == places


def test_what_is_no_list_of_results_or_holds_an_error_violates_nothing():
    error = Error("ValueError", "no")
    for value in (error, plain(A), Items((plain(A), error)), Items((plain(A), Items((error,))))):
        assert violated(SAME, value) is None and violated(OTHER, value) is None


def test_the_first_two_violated_relations_are_told_in_place_of_numbers():
    problem = Difference("entries", {"wrong": 3, "size": 9})
    results = {"holds": [A, A], "moves": [A, moved(0, 2)], "again": [A, A + 1], "third": [A, A + 1]}
    relations = [Relation(f"it {name}", name, axis=1) for name in results]
    asked = []

    def evaluated(expression):
        asked.append(expression)
        return Evaluation(plain(results[expression]))

    told = with_violations(problem, relations, evaluated)
    assert sentence(told) == "it moves (at position 0, 2); it again (at position 0, 1, 2)"
    assert asked == ["holds", "moves", "again"]
    assert with_violations(problem, relations[:1], evaluated) == problem


def test_they_are_told_at_the_first_line_of_which_only_numbers_are_known():
    numbers, error = Difference("entries", {}), Difference("error", {})
    name, sure = NamedMistake("a", by_line=True), NamedMistake("a")
    assert unexplained([None, numbers, numbers], [None] * 3) == 1
    assert unexplained([error, numbers], [None] * 2) == 1
    assert unexplained([numbers, numbers], [name, None]) == 1
    assert unexplained([numbers, numbers], [sure, None]) is None
    assert unexplained([error, None, Difference("scale", {})], [None] * 3) is None


def test_relations_are_no_part_of_what_two_versions_of_a_cell_must_share():
    source = "x = draw.array(3)\nequal('it moves', '[x, x]', axis=0)\ncheck('x', points=1)"
    cell = parse_cell(source)
    assert cell.relations == (Relation("it moves", "[x, x]", True, 0),)
    assert cell.asks() == parse_cell(source.replace("equal('it moves', '[x, x]', axis=0)\n", ""))


def test_relations_are_read_from_what_the_checks_compare_with():
    packed = pack({"values": [vars(SAME), vars(OTHER)]})
    for data in (f"# A note.\n{packed}\n{pack({})}", f"{packed}\n{pack({})}"):
        assert read_relations(data) == {"values": (SAME, OTHER)}
