"""Answers written from the statements: what is said about them, and those that were once missed."""

import contextlib
import io
import re

import pytest

from autograder.audit.answers import graded, read_answers
from autograder.audit.own_check import SHOWN_NAME
from autograder.catalogue import mistakes, with_answers
from autograder.course import Course
from autograder.dependencies import depends_on
from autograder.errors import SubmissionFolderError
from autograder.exercises import baked_answers, grade_cells, graded_answers, released
from autograder.programs import spans_of
from autograder.reference import namespace_of
from autograder.runtime.hints import MistakeWords
from autograder.runtime.notebook import AutotestFailure, Checks
from tests.support.course import COURSE

REVIEWED = COURSE.root / "audit_cases" / "reviewed"
ANSWERS = read_answers(COURSE, REVIEWED)
NAMED = re.compile(r"^# named: (.*)$", flags=re.MULTILINE)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.name)
def test_what_was_missed_or_named_wrongly_is_caught_and_named(answer):
    """By the student's own checks, of all that uses it: a right answer to something else has no name."""
    notebook, program = released(answer.exercise), answer.exercise.program()
    (name,) = spans_of(answer.cell_of(notebook).source)
    names = namespace_of(with_answers(program, {name: answer.code}))
    known = {
        one.name: MistakeWords(one.function, one.cell, one.means, one.hint, "")
        for one in mistakes(answer.exercise)
    }
    checks = Checks(known, {}, graded=graded_answers(notebook))
    checks.use_answers(baked_answers(notebook))
    failed, told, uses = set(), set(), depends_on(program, name)
    for cell, answers in graded_answers(notebook).items():
        if not uses & {*answers}:
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                checks.run_cell(cell, grade_cells(notebook)[cell], names)
            except AutotestFailure:
                failed.add(cell)
        told |= {*SHOWN_NAME.findall(printed.getvalue())}
    assert failed & answer.own_cells()
    text = (REVIEWED / f"{answer.name}.py").read_text(encoding="utf-8")
    assert told == {*NAMED.findall(text)}


def write(folder, name, kind, result, task="double"):
    head = f"# exercise: ch9_small\n# task: {task}\n# kind: {kind}\n# mistake: of {name}\n"
    code = f"def double(x):\n    twice = {result}\n    return twice, {{'sum': float(twice.sum()), 'size': x.size}}\n"
    (folder / f"{name}.py").write_text(head + code)


@pytest.mark.xdist_group("attacks")
def test_answers_are_graded_and_what_surprises_is_told(small_exercise, tmp_path):
    write(tmp_path, "added", "right", "x + x")
    write(tmp_path, "half", "wrong", "x / 2")
    write(tmp_path, "twice", "wrong", "2 * x")
    course = Course(small_exercise.root)
    added, half, twice = graded(course, read_answers(course, tmp_path), workers=1)
    assert str(added) == "added (right): 0 points lost\n    of added" and not added.surprising
    assert (half.names, half.elsewhere, len(half.lost)) == (("halved",), 0, 2)
    assert half.own > 0 and not half.surprising
    assert twice.surprising and (twice.own, twice.lost) == (0, ())


def test_an_answer_without_a_place_is_refused(small_exercise, tmp_path):
    course = Course(small_exercise.root)
    with pytest.raises(SubmissionFolderError, match="no answers"):
        read_answers(course, tmp_path)
    write(tmp_path, "one", "right", "x", task="triple")
    (answer,) = read_answers(course, tmp_path)
    with pytest.raises(SubmissionFolderError, match="no answer cell triple"):
        answer.notebook()
    (tmp_path / "two.py").write_text("# task: double\n# kind: right\n")
    with pytest.raises(SubmissionFolderError, match=r"two.py has no line for exercise, mistake"):
        read_answers(course, tmp_path)
