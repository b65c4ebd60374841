"""Groups: one submission, one report, a grade for each member; a member's own submission is the member's."""

import datetime
import re
import shutil
import zipfile
from dataclasses import replace

import pytest
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.errors import GradebookError, GroupError, TableError
from autograder.grade import class_grades, groups
from autograder.grade.groups import Groups
from autograder.grade.lateness import Extension
from autograder.grade.result import Basis, Remark, Result
from autograder.grade.verdicts import result_path
from autograder.instructor_settings import Limits
from autograder.lms import export
from autograder.lms.import_zip import import_zip
from autograder.report import pages
from tests.support.course import COURSE
from tests.support.grading import add_exercise
from tests.support.random_class import EXERCISE, autograded, random_class

FIRST = COURSE.exercise("ch1_additive_attention")
TEAM = Groups({"s2": "A", "s1": "A", "s3": "A", "s4": "B"})
DAY = datetime.timedelta(days=1)


# The rule -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("handed_in", "wanted"),
    [
        ({}, {"s1": None, "s2": None, "s3": None, "s4": None, "s5": None}),
        ({"s1": 3}, {"s1": "s1", "s2": "s1", "s3": "s1", "s4": None, "s5": None}),
        ({"s1": 3, "s3": 4}, {"s1": "s1", "s2": "s3", "s3": "s3", "s4": None}),
        # of equal ones that of the first in the roster
        ({"s1": 3, "s2": 3}, {"s3": "s2", "s1": "s1"}),
        ({"s4": 0, "s5": 0}, {"s4": "s4", "s5": "s5", "s1": None}),
    ],
)
def test_whose_submission_counts(handed_in, wanted):
    assert {student: TEAM.submitter(student, handed_in) for student in wanted} == wanted


def test_several_submissions_in_a_group_are_told():
    assert TEAM.notes({"s1": 3, "s4": 0}) == []
    (told,) = TEAM.notes({"s1": 3, "s2": 4})
    assert told.startswith("Group A: s2, s1 have handed in") and told.endswith(
        "for s3 counts the best, s2's."
    )
    (told,) = TEAM.notes({"s1": 3, "s2": 4, "s3": 0})
    assert "for them." in told


def test_members():
    assert TEAM.members("s1") == ("s2", "s1", "s3") and TEAM.members("s9") == ("s9",)
    assert TEAM.are_together(["s1", "s3"]) and not TEAM.are_together(["s1", "s4"])
    assert not TEAM.are_together(["s8", "s9"])


# The roster ---------------------------------------------------------------------------------------


def roster(tmp_path, text):
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_roster_has_a_column_for_groups(tmp_path):
    text = "Login ID,First name,group_name\ns2,Second,A\ns1,First,A\ns5,Fifth,\n"
    assert groups.read_roster(roster(tmp_path, text)).by_student == {"s2": "A", "s1": "A"}


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("id,group\ns1,A\ns2,A\ns1,A\n", GroupError, "line 4: s1 is in line 2 already"),
        ("id,group\ns1,A\ns1,B\n", GroupError, "line 3: s1 is in line 2 already"),
        ("id,group\n,A\n", GroupError, "line 2: there is no id"),
        (
            "id,group\ns1,Team A\ns2,team  a\n",
            GroupError,
            "line 3: the group 'team  a' is 'Team A'",
        ),
        ("id,team\ns1,A\n", TableError, "no column group"),
        ("", TableError, "is empty"),
    ],
)
def test_a_roster_that_contradicts_itself_is_an_error(tmp_path, text, kind, words):
    with pytest.raises(kind, match=words):
        groups.read_roster(roster(tmp_path, text))


# In a class ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory):
    """A gradebook's file, of five students; s1 has 20 of 30 points and s5 has 7, the others nothing."""
    made = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("made"))
    with Gradebook(made.db_url) as book:
        add_exercise(book, FIRST.name, all=30)
        for number in range(1, 6):
            book.add_student(f"s{number}", first_name="Jo", last_name=f"Doe {number}")
        for student, points in {"s1": 20, "s5": 7}.items():
            book.add_submission(FIRST.name, student)
            book.find_grade("all", FIRST.name, FIRST.name, student).auto_score = points
        book.db.commit()
    return made.home / "gradebook.db"


@pytest.fixture
def course(tmp_path, gradebook):
    """A class with that gradebook."""
    made = Course(COURSE.root, class_folder=tmp_path / "class")
    made.home.mkdir()
    shutil.copy(gradebook, made.home)
    return made


def test_each_member_has_the_grade_of_the_group(course):
    groups.set_groups(course, [FIRST], TEAM)
    found = {g.student.id: (g.score, g.submitter) for g in export.grades_of(course, [FIRST])}
    assert found == {
        **dict.fromkeys(("s1", "s2", "s3"), (20, "s1")),
        "s4": (0, ""),
        "s5": (7, "s5"),
    }
    # also points that are given by hand later
    with Gradebook(course.db_url) as book:
        book.find_grade("all", FIRST.name, FIRST.name, "s1").manual_score = 25
        book.db.commit()
    found = {g.student.id: g.score for g in export.grades_of(course, [FIRST])}
    assert [found[s] for s in ("s1", "s2", "s3", "s4")] == [25, 25, 25, 0]
    hidden = export.without_names(export.grades_of(course, [FIRST]), course)
    names = {grade.student.id for grade in hidden}
    assert {grade.submitter for grade in hidden} <= names | {""}


def test_groups_of_one_exercise_leave_the_others_alone(course):
    second = COURSE.exercise("ch2_scaled_dot_product")
    groups.set_groups(course, [FIRST, second], TEAM)
    groups.set_groups(course, [second], Groups({"s1": "Ü", "s4": "Ü"}))
    assert groups.read_groups(course, FIRST.name) == TEAM
    assert groups.read_groups(course, second.name).members("s4") == ("s1", "s4")
    assert groups.read_groups(course, "ch3_multi_head") == Groups()


def hand_in(course, student, points):
    with Gradebook(course.db_url) as book:
        book.add_submission(FIRST.name, student)
        book.find_grade("all", FIRST.name, FIRST.name, student).auto_score = points
        book.db.commit()


def test_a_members_page_says_for_whom_it_counts(course):
    page = lambda student: class_grades.told_on_page(course, FIRST, student)
    assert page("s1") == ""
    groups.set_groups(course, [FIRST], TEAM)
    assert page("s1") == "This one counts for s2, s1, s3." and page("s5") == ""
    hand_in(course, "s2", 21)
    assert page("s1") == "Group A has handed in several submissions. This one counts for s1."
    assert page("s2").endswith("This one counts for s2, s3.")


@pytest.mark.parametrize("also", [None, "other_files"])
def test_an_empty_folder_costs_a_member_nothing(course, also):
    """Unless a person has to look at it: there may be work in what the grader couldn't read."""
    groups.set_groups(course, [FIRST], TEAM)
    hand_in(course, "s2", 0)
    graded = result_path(course.autograded / "s2" / FIRST.name / f"{FIRST.name}.ipynb")
    graded.parent.mkdir(parents=True)
    remarks = tuple(Remark(kind, {}) for kind in ("not_submitted", also) if kind)
    graded.write_text(
        Result("s2", FIRST.name, (), remarks, Basis("", "", Limits(), {}), 1.0).to_json()
    )
    found = {g.student.id: g.submitter for g in export.grades_of(course, [FIRST])}
    assert (found["s2"], found["s3"]) == ("s2" if also else "s1", "s1")
    told = "so s1's submission counts for s2."
    assert class_grades.told_on_page(course, FIRST, "s2").endswith(told) is not bool(also)


def test_a_further_members_submission_lowers_nobodys_grade(course):
    """In every order, untouched and late ones too: who hands in answers for no grade but their own."""
    groups.set_groups(course, [FIRST], Groups(dict.fromkeys(("s1", "s2", "s3", "s4"), "A")))
    scores = lambda: {g.student.id: g.score for g in export.grades_of(course, [FIRST])}
    for student, points, penalty in (("s3", 0, 0), ("s2", 25, 30), ("s4", 22, 1)):
        before = scores()
        hand_in(course, student, points)
        with Gradebook(course.db_url) as book:
            own = book.find_submission(FIRST.name, student)
            own.notebooks[0].late_submission_penalty = penalty
            book.db.commit()
        after = scores()
        assert all(after[other] >= before[other] for other in before if other != student)
    assert scores() == {"s1": 20, "s2": 0, "s3": 0, "s4": 21, "s5": 7}


def test_an_unknown_student_is_refused_and_nothing_is_written(course, tmp_path):
    with pytest.raises(GradebookError, match="no student 's9'"):
        groups.set_groups(course, [FIRST], Groups({"s1": "A", "s9": "A"}))
    assert groups.read_groups(course, FIRST.name) == Groups()
    with pytest.raises(GradebookError, match="no student 's2'"):
        groups.set_groups(Course(COURSE.root, class_folder=tmp_path / "new"), [FIRST], TEAM)


def test_an_extension_holds_for_the_whole_group(course):
    groups.set_groups(course, [FIRST], TEAM)
    own = groups.for_all_members(course, [Extension("s1", FIRST.name, DAY)])
    assert {e.student for e in own} == {"s1", "s2", "s3"} and {e.time for e in own} == {DAY}
    alone = [Extension("s5", FIRST.name, DAY), Extension("s1", "ch2_scaled_dot_product", DAY)]
    assert groups.for_all_members(course, alone) == alone
    # an exercise may be called by its chapter
    (named, _) = groups.for_all_members(course, [replace(alone[0], exercise="ch1"), alone[1]])
    assert named == alone[0]
    with pytest.raises(GroupError, match="different extensions"):
        groups.for_all_members(
            course, [Extension("s1", FIRST.name, DAY), Extension("s2", FIRST.name, 2 * DAY)]
        )


@pytest.mark.parametrize(
    "name",
    [
        "Team Ä_77_assignsubmission_file/x.ipynb",
        "Team Ä-Jo Doe 2_1234567_assignsubmission_file_/x.ipynb",
        "teamä_1001_2001_x.ipynb",
    ],
)
def test_what_a_group_hands_in_is_found(course, tmp_path, name):
    groups.set_groups(course, [FIRST], Groups({"s2": "Team Ä", "s1": "Team Ä"}))
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(name, "{}")
    assert import_zip(course, tmp_path / "class.zip", FIRST).new == ["s2"]


def test_the_report_has_one_line_for_a_group_and_lets_it_have_the_same_answers(tmp_path):
    lines = "\n".join(f"    x = np.exp(x - {i}) @ x.T + {i} * x" for i in range(8))
    course = Course(COURSE.root, class_folder=tmp_path)
    results = random_class(4)
    names = [result.student for result in results]
    for name in names[:2]:
        program = f"def softmax(x, axis=-1):\n{lines}\n    return x"
        autograded(tmp_path, name, {"softmax": program})
        (course.submitted / name / EXERCISE.name).mkdir(parents=True)
    with Gradebook(course.db_url) as book:
        for student in (*names, "absent"):
            book.add_student(student)
        book.add_assignment(EXERCISE.name)
        book.add_notebook(EXERCISE.name, EXERCISE.name)
        for name in names[:2]:
            book.add_submission(EXERCISE.name, name)
    report = tmp_path / "reports" / f"{EXERCISE}.html"
    near = f"<h3>{names[0]}, {names[1]}</h3>"
    pages.write(course, results)
    text = report.read_text(encoding="utf-8")
    assert near in text and "too</small>" not in text
    groups.set_groups(course, [EXERCISE], Groups(dict.fromkeys((*names[:2], "absent"), "A")))
    pages.write(course, results)
    text = report.read_text(encoding="utf-8")
    assert near not in text and "No other near-identical answers" in text
    assert re.search(rf">{names[0]}</a><br><small>for absent, too</small>", text)
    assert text.count("too</small>") == 1
