"""Mistakes are evaluated only where somebody has failed, once for all of these: at first, late, and again."""

import json
from dataclasses import replace

import nbformat

from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course
from autograder.exercises import reference_answers, solved
from autograder.grade import make_keys
from autograder.grade.feedback import write_feedback
from autograder.grade.grade_class import Grader, WorkerOptions, grade_class, handed_in
from autograder.grade.make_keys import AnswerKeys, answer_key
from autograder.grade.submission import read_submission
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


def cells_with_mistakes(course, exercise, place="."):
    path = course.home / "expected" / exercise.name / place
    return [*json.loads(path.with_suffix(".json").read_text())["known"]]


def without_seconds(results):
    return {result.student: replace(result, seconds=0) for result in results}


def test_a_known_mistake_is_named_again_and_a_right_answer_needs_none(small_exercise, tmp_path):
    exercise, course = small_exercise, Course(small_exercise.root, class_folder=tmp_path)
    (known,) = mistakes(exercise)
    answers = {**ANSWERS, "known": mistake_answers(exercise.program(), known), "stub": STUB}
    for student, own in answers.items():
        hand_in(course, exercise, student, own)
    without = Grader(course).key(exercise).digest
    first = grade_here(course, exercise.name)
    assert cells_with_mistakes(course, exercise) == ["values"]
    assert answer_key(course, exercise).digest == without
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
    with_mistakes = {
        student: cells_with_mistakes(course, exercise, f"own/{student}") for student in answers
    }
    assert with_mistakes == {"right": [], "unknown": ["values"], "known": ["values"], "stub": []}
    # nothing is stale, for a grader that starts anew either, and grading by another door gives the same
    work = handed_in(course, [exercise])
    assert Grader(course).stale(work) == []
    grader = Grader(course)
    assert without_seconds(grader.grade(*named).result for named in work) == again


def test_a_later_rounds_key_is_read_and_its_mistakes_are_evaluated_once(
    small_exercise, tmp_path, monkeypatch
):
    exercise, course = small_exercise, Course(small_exercise.root, class_folder=tmp_path)
    hand_in(course, exercise, "first", {})
    write_feedback(course, grade_here(course, exercise.name))
    (known,) = mistakes(exercise)
    wrong = mistake_answers(exercise.program(), known)
    for student, own in {"a": wrong, "b": ANSWERS["unknown"], "c": wrong}.items():
        hand_in(course, exercise, student, own, student)
    read, evaluated = [], []
    for name, calls in ("_read", read), ("expected_cells", evaluated):
        usual = getattr(make_keys, name)
        counted = lambda *given, usual=usual, calls=calls: calls.append(given) or usual(*given)
        monkeypatch.setattr(make_keys, name, counted)
    keys = AnswerKeys(course)
    keys.of_class(exercise)
    late = [read_submission(course, student, exercise) for student in "abc"]
    read.clear()
    assert len({id(keys.of(exercise, one)) for one in late}) == 1
    assert len(read) == 1 and len(evaluated) == 1
    found = grade_here(course, exercise.name)
    assert [one.cells[0].mistake for one in found] == [known.name, None, known.name, None]
    assert len(evaluated) == 2 and cells_with_mistakes(course, exercise, "rounds/1") == ["values"]
