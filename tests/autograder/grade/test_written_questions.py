"""What formgrader shows beside a written answer: the question and the rubric, to nobody else."""

import nbformat
import pytest

from autograder.course import Course
from autograder.exercises import metadata_of, released
from autograder.grade.comments import written_questions
from autograder.grade.written_questions import ShowQuestions, beside, read_questions
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
QUESTION = "previous_state"


def shown(answer, root=COURSE.root, **resources):
    notebook = released(EXERCISE)
    ids = [metadata_of(cell).get("grade_id") for cell in notebook.cells]
    notebook.cells[ids.index(QUESTION)].source = answer
    before = len(notebook.cells)
    step = ShowQuestions(root=str(root), enabled=True)
    notebook, _ = step(notebook, {"assignment_id": EXERCISE.name, **resources})
    ids = [metadata_of(cell).get("grade_id") for cell in notebook.cells]
    return notebook.cells[ids.index(QUESTION) - 1], len(notebook.cells) - before


def test_every_question_has_its_text_an_answer_and_a_rubric(exercise):
    found = read_questions(exercise)
    assert found.keys() == written_questions(exercise).keys()
    sources = {metadata_of(c).get("grade_id"): c.source for c in released(exercise).cells}
    for name, question in found.items():
        # what students are asked, and nothing that they are not shown
        assert sources[name].startswith(question.text)
        assert question.answer and question.answer not in sources[name]
        assert "point" in question.rubric and "###" not in question.rubric


def test_a_replaced_question_is_shown_again_with_the_rubric():
    question = read_questions(EXERCISE)[QUESTION]
    cell, added = shown("Because it would need itself.", submission_id="0")
    assert added == 1 and cell.cell_type == "markdown" and not metadata_of(cell)
    assert cell.source.startswith(question.text)
    assert f"**Rubric.** {question.rubric}" in cell.source and question.answer in cell.source
    nbformat.validate(cell, ref="markdown_cell", version=4)


def test_a_question_that_still_stands_above_the_answer_is_not_repeated():
    question = read_questions(EXERCISE)[QUESTION]
    # a browser may have wrapped its lines
    cell, _ = shown(f"{question.text.replace(chr(10), ' ')}\n\nMy answer.", submission_id="0")
    assert question.text not in cell.source and "**Rubric.**" in cell.source
    assert beside(question, question.text) == cell.source


@pytest.mark.parametrize("resources", [{}, {"submission_id": "0", "assignment_id": "ps1"}])
def test_students_and_other_assignments_are_shown_nothing(resources):
    assert shown("My answer.", **resources)[1] == 0


def test_a_course_without_the_exercise_shows_nothing(tmp_path):
    assert not Course(tmp_path).exercises()
    assert shown("My answer.", tmp_path, submission_id="0")[1] == 0
