"""Work that is handed in again after feedback: mistakes are evaluated under its seed only where it has failed."""

import json
from dataclasses import replace

import nbformat

from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course
from autograder.exercises import reference_answers, solved
from autograder.grade.feedback import write_feedback
from autograder.grade.grade_class import Grader, WorkerOptions, grade_class, handed_in
from tests.support.grading import grade_here

# right, and wrong in a way that the catalogue doesn't know
ANSWERS = {"right": {}, "unknown": {"double": "def double(x):\n    return x, {}"}}
STUB = {"double": "def double(x):\n    raise NotImplementedError('To do')"}


def hand_in(course, exercise, student, answers, words=""):
    folder = course.submitted / student / exercise.name
    folder.mkdir(parents=True, exist_ok=True)
    notebook = solved(exercise, reference_answers(exercise) | answers)
    notebook.cells.append(nbformat.v4.new_markdown_cell(words))
    nbformat.write(notebook, folder / f"{exercise.name}.ipynb")


def kept(course, exercise, student):
    path = course.home / "expected" / exercise.name / "own" / f"{student}.json"
    return json.loads(path.read_text())


def without_seconds(results):
    return {result.student: replace(result, seconds=0) for result in results}


def test_a_known_mistake_is_named_again_and_a_right_answer_needs_none(small_exercise, tmp_path):
    exercise, course = small_exercise, Course(small_exercise.root, class_folder=tmp_path)
    (known,) = mistakes(exercise)
    answers = {**ANSWERS, "known": mistake_answers(exercise.program(), known), "stub": STUB}
    for student, own in answers.items():
        hand_in(course, exercise, student, own)
    first = grade_here(course, exercise.name)
    write_feedback(course, first)
    for student, own in answers.items():
        hand_in(course, exercise, student, own, "Again.")
    options = WorkerOptions(workers=1)
    again = without_seconds(grade_class(course, [exercise], options=options))
    for result in first:
        (before,), (now,) = result.cells, again[result.student].cells
        assert before.mistake == now.mistake == (known.name if result.student == "known" else None)
        assert [line.verdict for line in before.lines] == [line.verdict for line in now.lines]
        assert again[result.student].basis != result.basis
    with_mistakes = {student: kept(course, exercise, student)["mistakes_in"] for student in answers}
    assert with_mistakes == {"right": [], "unknown": ["values"], "known": ["values"], "stub": []}
    # nothing is stale, for a grader that starts anew either, and grading by another door gives the same
    work = handed_in(course, [exercise])
    assert Grader(course).stale(work) == []
    grader = Grader(course)
    assert without_seconds(grader.grade(*named).result for named in work) == again
    # a file of an earlier version has the mistakes of all cells
    path = course.home / "expected" / exercise.name / "own" / "known.json"
    earlier = kept(course, exercise, "known")
    path.write_text(json.dumps({name: earlier[name] for name in ("made_from", "cells")}))
    assert Grader(course).grade("known", exercise).result.cells == again["known"].cells
    assert "seed" not in kept(course, exercise, "known")
