"""Points given by hand stay when a submission is graded again; what they were given for may have changed."""

import re
import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.errors import ExerciseError
from autograder.exercises import grade_cells, metadata_of, solved
from autograder.grade.class_grades import grades_of
from autograder.grade.examine import Graded
from autograder.grade.grade_class import recorded_results
from autograder.grade.gradebook import Recorder, register
from autograder.grade.result import Basis, CellResult, Limits, LineResult, Remark, Result
from autograder.lms.export import write
from autograder.report import pages
from autograder.runtime.compare import Difference
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME, QUESTION, CHECK = EXERCISE.name, "previous_state", "attend_values"
POINTS = 4


@pytest.fixture
def course(registered):
    return registered


def grade(course, text, earned=0, points=3, remarks=()):
    """Record a submission: an answer in words, what one check has earned, and the question's points."""
    notebook = solved(EXERCISE, {}, written=text)
    for cell in notebook.cells:
        if metadata_of(cell).get("grade_id") == QUESTION:
            cell.metadata.nbgrader.points = points
    difference = None if earned else Difference("no_code")
    cells = tuple(
        CellResult(name, (LineResult("f(x)", POINTS, difference, None),))
        for name in grade_cells(notebook)
    )
    result = Result("s1", NAME, cells, tuple(remarks), Basis("", "", Limits(), {}), 1.0)
    with Recorder(course) as recorder:
        recorder.record(Graded(result, notebook))


def by_hand(course, name, points):
    """Give points as formgrader does."""
    with Gradebook(course.db_url) as book:
        own = book.find_grade(name, NAME, NAME, "s1")
        own.manual_score, own.needs_manual_grade = points, False
        book.db.commit()


def recorded(course, name):
    with Gradebook(course.db_url) as book:
        own = book.find_grade(name, NAME, NAME, "s1")
        return own.manual_score, own.needs_manual_grade


def test_the_same_answer_needs_no_second_look(course):
    grade(course, "Because.")
    assert recorded(course, QUESTION) == (None, True)
    by_hand(course, QUESTION, 2)
    by_hand(course, CHECK, 1)
    grade(course, "Because.")
    assert recorded(course, QUESTION) == (2, False)
    assert recorded(course, CHECK) == (1, False)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        (QUESTION, "Because the context comes first.", {}),
        (QUESTION, "Because.", {"points": 5}),
        (CHECK, "Because.", {"earned": POINTS}),
    ],
    ids=["another text", "another maximum", "other automatic points"],
)
def test_what_has_changed_needs_one_until_it_was_given(course, name, text, options):
    grade(course, "Because.")
    by_hand(course, QUESTION, 2)
    by_hand(course, CHECK, 1)
    for _ in range(2):
        grade(course, text, **options)
        others = {QUESTION: 2, CHECK: 1}
        assert recorded(course, name) == (others.pop(name), True)
        assert [recorded(course, other) for other in others] == [
            (p, False) for p in others.values()
        ]
    by_hand(course, name, 3)
    grade(course, text, **options)
    assert recorded(course, name) == (3, False)


OTHER_WORK = Remark("other_work", {"wanted": NAME, "number": 1, "names": ["copy.ipynb"]})


def unseen(course):
    (own,) = grades_of(course, [EXERCISE])
    return own.unseen, own.unread


def test_what_the_grader_could_not_see_waits_for_a_person(course, tmp_path):
    grade(course, "", remarks=[OTHER_WORK])
    # neither lost checks nor an untouched question are final
    assert recorded(course, CHECK) == recorded(course, QUESTION) == (None, True)
    assert unseen(course) == (True, 3)
    told = "\n".join(write(course, [EXERCISE], "csv", tmp_path / "grades.csv"))
    assert "work that the grader could not look at: s1" in told
    for name in (QUESTION, *grade_cells(solved(EXERCISE, {}))):
        by_hand(course, name, 1)
    grade(course, "", remarks=[OTHER_WORK])
    assert recorded(course, CHECK) == (1, False) and unseen(course) == (False, 0)


def test_checks_that_passed_need_no_person(course):
    grade(course, "", earned=POINTS, remarks=[OTHER_WORK])
    assert recorded(course, CHECK) == (None, False)
    grade(course, "")
    assert recorded(course, QUESTION) == (None, False) and unseen(course) == (False, 0)


def test_a_written_answer_that_may_stand_elsewhere_is_not_called_missing(course):
    grade(course, "", remarks=[Remark("written_beside", {"cell": QUESTION})])
    assert recorded(course, QUESTION) == (None, True) and unseen(course) == (False, 3)
    with Gradebook(course.db_url) as book:
        assert book.find_comment(QUESTION, NAME, NAME, "s1").auto_comment is None
    grade(course, "")
    with Gradebook(course.db_url) as book:
        assert book.find_comment(QUESTION, NAME, NAME, "s1").auto_comment == "No response."


def test_other_points_for_an_answer_in_words_are_another_release(course_folder):
    shutil.copytree(EXERCISE.notebook.parent, course_folder / "exercises" / NAME)
    (course_folder / "solutions" / f"{NAME}.py").touch()
    made = Course(course_folder)
    exercise = made.exercise(NAME)
    made.home.mkdir()
    assert register(made, exercise)
    with Gradebook(made.db_url) as book:
        book.add_student("s1")
        book.add_submission(NAME, "s1")
    assert not register(made, exercise, rerelease=True)
    notebook = nbformat.read(exercise.notebook, as_version=4)
    (cell,) = [cell for cell in notebook.cells if metadata_of(cell).get("grade_id") == QUESTION]
    cell.source = cell.source.replace("two to five", "a few")
    nbformat.write(notebook, exercise.notebook)
    assert not register(made, exercise)
    cell.metadata.nbgrader.points = 5
    nbformat.write(notebook, exercise.notebook)
    with pytest.raises(ExerciseError, match=f"cell {QUESTION}, is not the one"):
        register(made, exercise)
    assert register(made, exercise, rerelease=True)
    with Gradebook(made.db_url) as book:
        assert book.find_grade(QUESTION, NAME, NAME, "s1").max_score == 5


def who_is_unseen(course):
    """Number and names in the row of the report's page."""
    (course.submitted / "s1" / NAME).mkdir(parents=True, exist_ok=True)
    pages.write(course, recorded_results(course, [EXERCISE]))
    page = (course.home / "reports" / f"{NAME}.html").read_text(encoding="utf-8")
    row = "Work that the grader could not look at</td><td[^>]*>"
    return re.search(rf"{row}(\d+)</td><td>([^<]*)</td>", page).groups()


def test_the_report_says_whose_work_the_grader_could_not_look_at(course):
    grade(course, "", remarks=[OTHER_WORK])
    assert who_is_unseen(course) == ("1", "s1")
    for name in (QUESTION, *grade_cells(solved(EXERCISE, {}))):
        by_hand(course, name, 1)
    assert who_is_unseen(course)[0] == "0"
