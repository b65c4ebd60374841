"""A sample class, made from the reference, its known mistakes and its alternatives."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import nbformat
from nbformat import NotebookNode

from autograder.catalogue import alternative_answers, alternatives, mistake_answers, mistakes
from autograder.course import SAMPLE_MARK, SAMPLE_PREFIX, Course, Exercise
from autograder.errors import writing
from autograder.exercises import answer_cell, reference_answers, solved
from autograder.programs import spans_of

# the exercise to which the whole sample class hands in; to the others only FEW do
EVERY_KIND_IN = "ch2_scaled_dot_product"
# right, right in another style, wrong in two ways, and untouched
FEW = ("ada", "ben", "dia", "eli", "ida")


def sample_submissions(exercise: Exercise) -> dict[str, NotebookNode]:
    """The sample class's submissions to an exercise: student -> notebook.

    To one exercise there is one submission of every kind that grading tells apart, to the others a few.
    """
    found = _right_and_wrong(exercise)
    if exercise.name != EVERY_KIND_IN:
        return {student: found[student] for student in FEW if student in found}
    return found | _unusual(exercise)


def _right_and_wrong(exercise: Exercise) -> dict[str, NotebookNode]:
    """The reference, alternatives, mistakes from all parts of the catalogue, untouched, half done."""
    program, right = exercise.program(), reference_answers(exercise)
    found = {"ada": solved(exercise, right)}
    for student, alternative in zip(("ben", "chi"), alternatives(exercise), strict=False):
        found[student] = solved(exercise, right | alternative_answers(program, alternative))
    wrong = mistakes(exercise)
    step = max(1, len(wrong) // 5)
    for student, mistake in zip(("dia", "eli", "fay", "gus", "hao"), wrong[::step], strict=False):
        found[student] = solved(exercise, right | mistake_answers(program, mistake))
    found["ida"] = solved(exercise, {}, written="")
    half = dict(list(right.items())[: len(right) // 2])
    found["jon"] = solved(exercise, half, written="")
    return found


def _unusual(exercise: Exercise) -> dict[str, NotebookNode]:
    """A syntax error, an endless loop, and a right answer that warns and prints."""
    right = reference_answers(exercise)
    found = {student: solved(exercise, right) for student in ("kim", "lea", "max")}
    answer_cell(found["kim"], 1).source = "def unfinished(:\n    return"
    last = answer_cell(found["lea"], -1)
    name = next(iter(spans_of(last.source)))
    last.source = f"def {name}(*arguments, **named):\n    while True:\n        pass"
    first = answer_cell(found["max"])
    noise = (
        'import sys, warnings\nwarnings.warn("this is only a warning")\n'
        'print("working", file=sys.stderr)\n'
    )
    first.source = f"{noise}\n{first.source}\nwarnings.warn('done')"
    return found


def make(course: Course, exercises: Sequence[Exercise]) -> bool:
    """Write the sample class's submissions to some exercises into a course.

    Does nothing, and returns False, when submissions of a real class lie there. Raises OutputError when
    a submission can't be written.
    """
    submitted = course.submitted
    others = any(path.is_dir() for path in submitted.glob("[!.]*"))
    if others and not course.is_sample_class:
        return False
    with writing(submitted):
        submitted.mkdir(parents=True, exist_ok=True)
        (submitted / SAMPLE_MARK).touch()
    for exercise in exercises:
        for student, notebook in sample_submissions(exercise).items():
            folder = submitted / f"{SAMPLE_PREFIX}{student}" / exercise.name
            text = nbformat.writes(notebook) + "\n"
            path = folder / f"{exercise.name}.ipynb"
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            shutil.rmtree(folder, ignore_errors=True)
            with writing(path):
                folder.mkdir(parents=True)
                path.write_text(text, encoding="utf-8")
    return True
