"""Answers that a review found named wrongly: what a student's own check says of them now."""

import nbformat
import pytest

from autograder.audit.own_check import own_check
from autograder.exercises import graded_answers, reference_answers, released, solved
from tests.support.course import COURSE

FOLDER = COURSE.root / "benchmarks" / "reviewed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "chapter", "answer", "names"),
    [
        # named from an error's message
        ("text1_ch4_w04_keepdim_lost", "ch4_masking", "masked_softmax", set()),
        # named from the names of exceptions
        ("text2_ch10_w33_same_within_a_tolerance", "ch10_circuits", "restored", set()),
        # another answer, which is right, was named
        (
            "text3_ch3_w01_features_of_all_heads_interleaved",
            "ch3_multi_head",
            "merge_heads",
            {"interleaved on the way back"},
        ),
    ],
)
def test_only_what_is_wrong_is_named(file, chapter, answer, names):
    found = COURSE.exercise(chapter)
    code = (FOLDER / f"{file}.py").read_text(encoding="utf-8")
    notebook = solved(found, reference_answers(found) | {answer: code})
    check = own_check(nbformat.writes(notebook))
    own = {cell for cell, graded in graded_answers(released(found)).items() if answer in graded}
    assert {cell for (cell, _), passed in check.passed.items() if not passed} & own
    assert set(filter(None, check.mistakes.values())) == names
