"""Kept comments: their keys become texts and points in the gradebook, from formgrader and from a table."""

import dataclasses
import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.course import Course, Exercise
from autograder.errors import GradebookError, TableError
from autograder.grade import comments
from autograder.grade.comments import KeptComment, Mark, ShowKeptComments, score, written
from autograder.grade.groups import Groups, set_groups
from tests.support.course import COURSE

NAME, QUESTION = "ch1_additive_attention", "previous_state"
HEAD = "question,key,points,comment"
LIST = [
    HEAD,
    f"{QUESTION},order,-1,The scores come first.",
    f'{QUESTION},unclear,"-0,5","Say which state, and/or why."',
    f"{QUESTION},read,,See chapter 1.",
]
KEPT = [
    KeptComment(QUESTION, "order", -1, "The scores come first."),
    KeptComment(QUESTION, "unclear", -0.5, "Say which state, and/or why."),
    KeptComment(QUESTION, "read", None, "See chapter 1."),
]


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory):
    """A gradebook's file, of a class of three, two of whom have handed in."""
    made = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("made"))
    with Gradebook(made.db_url) as book:
        book.add_assignment(NAME)
        book.add_notebook(NAME, NAME)
        book.add_grade_cell(QUESTION, NAME, NAME, max_score=3, cell_type="markdown")
        book.add_solution_cell(QUESTION, NAME, NAME)
        for student in ("s1", "s2", "s3"):
            book.add_student(student)
        for student in ("s1", "s2"):
            book.add_submission(NAME, student)
            book.find_grade(QUESTION, NAME, NAME, student).needs_manual_grade = True
        book.db.commit()
    return made.home / "gradebook.db"


@pytest.fixture
def course(course_folder, gradebook):
    """A course of one exercise with that gradebook; its list of comments is LIST."""
    shutil.copytree(COURSE.root / "exercises" / NAME, course_folder / "exercises" / NAME)
    (course_folder / "solutions" / f"{NAME}.py").touch()
    listed(course_folder, LIST)
    made = Course(course_folder)
    made.home.mkdir()
    shutil.copy(gradebook, made.home)
    return made


def listed(root, lines):
    path = root / "solutions" / "comments" / f"{NAME}.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def exercise_of(course):
    return course.exercise(NAME)


def set_by_hand(course, student, comment, points=None):
    """As formgrader does."""
    with Gradebook(course.db_url) as book:
        book.find_comment(QUESTION, NAME, NAME, student).manual_comment = comment
        grade = book.find_grade(QUESTION, NAME, NAME, student)
        grade.manual_score, grade.needs_manual_grade = points, points is None
        book.db.commit()


def recorded(course, student):
    with Gradebook(course.db_url) as book:
        grade = book.find_grade(QUESTION, NAME, NAME, student)
        comment = book.find_comment(QUESTION, NAME, NAME, student).manual_comment
        return comment, grade.manual_score, grade.needs_manual_grade


# The list -----------------------------------------------------------------------------------------


def test_a_list_is_read(course):
    assert comments.kept_comments(exercise_of(course)) == KEPT
    assert comments.written_questions(exercise_of(course)) == {QUESTION: 3}
    comments.list_file(exercise_of(course)).unlink()
    assert comments.kept_comments(exercise_of(course)) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("why,order,-1,Text", f"line 5: .* no written question 'why'. Known: {QUESTION}"),
        (f"{QUESTION},order,0,Text", "line 5: .* has a comment order above"),
        (f"{QUESTION},Two words,0,Text", "line 5: 'Two words' is no key"),
        (f"{QUESTION},x,much,Text", "line 5: 'much' is no number"),
        (f"{QUESTION},x,1,", "line 5: there is no comment"),
        (f"{QUESTION},x,1,See /order", "line 5: /order would be taken for a key"),
    ],
)
def test_a_line_that_is_no_comment_is_named(course, line, words):
    listed(course.root, [*LIST, line])
    with pytest.raises(TableError, match=words):
        comments.kept_comments(exercise_of(course))


@pytest.mark.parametrize(
    ("typed", "text", "points"),
    [
        ("/order", "The scores come first.", -1),
        ("Well. /order /unclear", f"Well. {KEPT[0].text} {KEPT[1].text}", -1.5),
        ("/read", "See chapter 1.", None),
        ("/read\n/order", "See chapter 1.\nThe scores come first.", -1),
        ("and/order 1/2 /tmp/x https://example.org/order", None, None),
        ("", "", None),
    ],
)
def test_keys_become_texts_and_points(typed, text, points):
    found = written(typed, KEPT)
    assert (found.text, found.points, found.slips) == (typed if text is None else text, points, {})


def test_a_slip_is_found_and_left():
    found = written("/order1 and /ab", KEPT)
    assert (found.text, found.slips) == ("/order1 and /ab", {"order1": "order"})


def test_points_stay_between_none_and_all():
    assert [score(3, change) for change in (-4, -1, 0, 2)] == [0, 2, 3, 3]


# Typed in formgrader ------------------------------------------------------------------------------


def test_typed_keys_are_replaced_once_and_give_points(course):
    set_by_hand(course, "s1", "/order Look again.")
    set_by_hand(course, "s2", "/order", points=3)
    assert comments.replace_typed_keys(course, [exercise_of(course)]) == []
    assert recorded(course, "s1") == ("The scores come first. Look again.", 2, False)
    # points that were given by hand stay
    assert recorded(course, "s2") == ("The scores come first.", 3, False)
    listed(course.root, [HEAD, f"{QUESTION},order,-3,Something else."])
    comments.replace_typed_keys(course, [exercise_of(course)])
    assert recorded(course, "s1") == ("The scores come first. Look again.", 2, False)


def test_a_slip_in_formgrader_is_told_and_left(course):
    set_by_hand(course, "s1", "/order1")
    (told,) = comments.replace_typed_keys(course, [exercise_of(course)])
    assert told == f"{NAME}, {QUESTION}, s1: there is no comment /order1; did you mean /order?"
    assert recorded(course, "s1") == ("/order1", None, True)


def test_without_a_list_or_a_gradebook_nothing_happens(course, tmp_path):
    empty = dataclasses.replace(course, database=f"sqlite:///{tmp_path}/none.db")
    assert comments.replace_typed_keys(empty, [exercise_of(course)]) == []
    assert not (tmp_path / "none.db").exists()
    comments.list_file(exercise_of(course)).unlink()
    set_by_hand(course, "s1", "/order")
    assert comments.replace_typed_keys(course, [exercise_of(course)]) == []
    assert recorded(course, "s1") == ("/order", None, True)


# From a table -------------------------------------------------------------------------------------


def table(tmp_path, *lines):
    path = tmp_path / "marks.csv"
    path.write_text("\n".join(["student,question,points,comment", *lines]), encoding="utf-8")
    return path


def given(course, tmp_path, *lines):
    path = table(tmp_path, *lines)
    exercise = exercise_of(course)
    return comments.give(course, exercise, comments.read_marks(path, exercise), path)


def test_marks_are_recorded_and_say_what_they_replace(course, tmp_path):
    lines = [f"s1,{QUESTION},2.5,/order", f"s2,{QUESTION},,/order /unclear"]
    assert given(course, tmp_path, *lines) == []
    assert recorded(course, "s1") == ("The scores come first.", 2.5, False)
    assert recorded(course, "s2")[1:] == (1.5, False)
    # the same again is nothing new
    assert given(course, tmp_path, *lines) == []
    points, comment = given(course, tmp_path, f"s1,{QUESTION},0,/read")
    assert points == f"s1, {QUESTION}: 0 points, before 2.5."
    assert "'The scores come first.' was replaced" in comment
    assert recorded(course, "s1") == ("See chapter 1.", 0, False)
    # a comment alone leaves the points
    given(course, tmp_path, f"s2,{QUESTION},,Good.")
    assert recorded(course, "s2") == ("Good.", 1.5, False)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([f"s1,{QUESTION},1,", f"s3,{QUESTION},1,"], "line 3: s3 has handed in nothing"),
        ([f"s1,{QUESTION},1,", f"s9,{QUESTION},1,"], "line 3: s9 has handed in nothing"),
        ([f"s1,{QUESTION},1,", f"s1,{QUESTION},2,"], "line 3: s1 has a mark .* in line 2"),
        ([f"s1,{QUESTION},4,"], "line 2: 4 is not between 0 and the 3 points"),
        ([f"s1,{QUESTION},-1,"], "line 2: -1 is not between"),
        ([f"s1,{QUESTION},nan,"], "line 2: 'nan' is no number"),
        ([f"s1,{QUESTION},,"], "line 2: there are neither points nor a comment"),
        (
            [f"s1,{QUESTION},1,", f"s2,{QUESTION},1,/order1"],
            "line 3: .* /order1; did you mean /order",
        ),
        (["s1,scores,1,"], "line 2: there is no written question 'scores'"),
    ],
)
def test_a_table_with_a_bad_line_changes_nothing(course, tmp_path, lines, words):
    with pytest.raises(TableError, match=words):
        given(course, tmp_path, *lines)
    assert recorded(course, "s1") == (None, None, True)


def test_a_mark_of_a_member_is_the_groups(course, tmp_path):
    set_groups(course, [exercise_of(course)], Groups({"s1": "A", "s3": "A"}))
    given(course, tmp_path, f"s3,{QUESTION},2,")
    assert recorded(course, "s1")[1:] == (2, False)


def test_without_grades_there_is_nothing_to_mark(course, tmp_path):
    empty = dataclasses.replace(course, database=f"sqlite:///{tmp_path}/none.db")
    with pytest.raises(GradebookError, match="autograder grade"):
        comments.give(empty, exercise_of(course), [Mark("s1", QUESTION, 1, "", 2)], tmp_path)
    assert not (tmp_path / "none.db").exists()


# Shown in formgrader ------------------------------------------------------------------------------


def shown(course, **resources):
    notebook = nbformat.read(Exercise(course.root, NAME).notebook, as_version=4)
    before = len(notebook.cells)
    step = ShowKeptComments(root=str(course.root), enabled=True)
    notebook, _ = step(notebook, {"assignment_id": NAME, **resources})
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    return notebook, ids, len(notebook.cells) - before


def test_formgrader_shows_the_list_below_the_answer(course):
    notebook, ids, added = shown(course, submission_id="0")
    assert added == 1
    cell = notebook.cells[ids.index(QUESTION) + 1]
    assert [line[:2] for line in cell.source.split("\n")[2:]] == ["- "] * 3
    assert "order" in cell.source and "The scores come first" in cell.source
    listed(course.root, [HEAD, "why,x,1,Text"])
    notebook, _, added = shown(course, submission_id="0")
    assert added == 1 and "no written question" in notebook.cells[0].source


def test_students_are_shown_no_list(course):
    assert shown(course)[2] == 0
