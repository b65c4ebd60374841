"""Grading in the process of the tests."""

from autograder.course import Course
from autograder.grade.grade_class import grade_named, recorded_results
from autograder.grade.result import Result


def grade_here(course: Course, exercise: str) -> list[Result]:
    """Grade what isn't current, as nbgrader's commands do, without a pool of workers; returns all results.

    Every pool starts a process that imports torch for its kernels, while those of this process share one.
    """
    grade_named(course, exercise, "*", force=False, create_student=True)
    return recorded_results(course, [course.exercise(exercise)])


def add_exercise(book, name, duedate=None, **cells):
    """Add an exercise to a gradebook, with the points of its graded cells; `why` is a written one."""
    book.add_assignment(name, duedate=duedate)
    book.add_notebook(name, name)
    for cell, points in cells.items():
        kind = "markdown" if cell == "why" else "code"
        book.add_grade_cell(cell, name, name, max_score=points, cell_type=kind)
