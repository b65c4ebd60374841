"""What is said after a task is passed: two other ways for every task, and their fragments are true."""

import ast
import warnings

import numpy as np
import pytest
import torch

from autograder.build.source_notebook import source_notebook, words_for_students
from autograder.catalogue import alternative_answers, alternatives, discussions
from autograder.catalogue_file import MAX_FRAGMENT
from autograder.exercises import graded_answers, reference_answers
from autograder.instructor_settings import Settings
from autograder.programs import spans_of, without_markers
from autograder.reference import namespace_of
from tests.support.answers import check_answer, same
from tests.support.course import COURSE
from tests.support.readability import grade, sentences, words

WAYS = [
    pytest.param(
        exercise, answer, number, id=f"ch{exercise.chapter}-{answer}-{number + 1}", marks=marks
    )
    for exercise in COURSE.exercises()
    for marks in [pytest.mark.xdist_group(exercise.name)]
    for answer in spans_of(exercise.program())
    for number in range(2)
]


def test_every_task_has_two_other_ways(exercise):
    found = discussions(exercise)
    assert [discussion.function for discussion in found] == list(spans_of(exercise.program()))
    assert all(len(discussion.ways) == 2 for discussion in found)
    # a notebook knows by its grade cells that a task is passed
    graded = graded_answers(source_notebook(exercise, Settings())).values()
    assert {discussion.function for discussion in found} == {n for names in graded for n in names}
    assert list(words_for_students(exercise)["ways"]) == [d.function for d in found]


@pytest.mark.parametrize(("of_exercise", "answer", "number"), WAYS)
def test_a_fragment_is_right_in_its_program(of_exercise, answer, number, few_mistakes, expected):
    """A program that defines the answer is checked like one; another has to assert something."""
    (found,) = [one for one in discussions(of_exercise) if one.function == answer]
    program = found.programs[number]
    torch.manual_seed(0)
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if answer in spans_of(program):
            cells = expected(few_mistakes.exercise(of_exercise.name))
            check_answer(of_exercise, cells, answer, program)
        else:
            assert "same(" in program or "assert" in program
            names = {**namespace_of(of_exercise.program()), "same": same}
            exec(compile(program, f"<{answer}>", "exec"), names)


def shapes(statements):
    """Statements without the names of results: what is returned or assigned, as syntax trees."""
    return [
        ast.dump(node.value)
        if isinstance(node, ast.Return | ast.Assign) and node.value is not None
        else ast.dump(node)
        for node in statements
    ]


def bodies(source):
    """What every function of a program does, without docstrings: (name, statements)."""
    for node in ast.walk(ast.parse(without_markers(source))):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield node.name, shapes(body)


def test_no_fragment_holds_all_that_an_answer_does(exercise):
    """The fragments are packed in the notebook, where a curious student can unpack them."""
    program = exercise.program()
    answers = [*reference_answers(exercise).values()]
    for alternative in alternatives(exercise):
        answers += alternative_answers(program, alternative).values()
    fragments = {
        (discussion.function, number): shapes(ast.parse(way.fragment).body)
        for discussion in discussions(exercise)
        for number, way in enumerate(discussion.ways)
    }
    for answer in answers:
        for name, body in bodies(answer):
            for place, fragment in fragments.items():
                assert body != fragment, f"the discussion {place} shows all of {name}"


def test_the_discussions_can_be_read_by_a_beginner(exercise):
    texts = [t for d in discussions(exercise) for way in d.ways for t in (way.words, way.cost)]
    for text in texts:
        assert max(len(words(part)) for part in sentences(text)) <= 25, text
        assert text.endswith(".") or text.endswith(":"), text
    assert grade(texts) <= 9
    fragments = [way.fragment for d in discussions(exercise) for way in d.ways]
    for fragment in fragments:
        ast.parse(fragment)
        lines = fragment.split("\n")
        assert len(lines) <= MAX_FRAGMENT and max(map(len, lines)) <= 92
