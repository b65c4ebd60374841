"""The grades of a class, as nbgrader's gradebook has them: for exports, for Canvas and for the report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nbgrader import api
from nbgrader.api import Assignment, Gradebook, SubmittedAssignment, SubmittedNotebook
from sqlalchemy.orm import selectinload, undefer

from autograder.course import Course, Exercise
from autograder.errors import GradebookError, ResultError
from autograder.grade.groups import read_groups
from autograder.grade.lateness import lateness
from autograder.grade.read_gradebook import opened
from autograder.grade.result import Result
from autograder.grade.verdicts import result_path
from autograder.nbgrader_adapter import gradebook_exists
from autograder.points import rounded


@dataclass(frozen=True)
class Student:
    """A student as the gradebook knows them; what it doesn't know is empty.

    lms_user_id: the user's number in the learning management system.
    """

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""

    @property
    def full_name(self) -> str:
        """Last name and first name, or the id of a student without a name."""
        return ", ".join(filter(None, [self.last_name, self.first_name])) or self.id


@dataclass(frozen=True)
class Grade:
    """A student's grade for one exercise, in points.

    raw_score: before the penalty; due, handed_in: in UTC, as nbgrader writes times, or empty; unread:
    points of written answers that nobody has read yet, which are in max_score and not in the score;
    look_again: what points were given for by hand has changed since; unseen: there is work that the grader
    could not look at, and no person has; late: it was handed in too late;
    submitter: whose submission it is for, the student's or another member's of a group; empty if nothing
    is handed in.
    """

    exercise: str
    student: Student
    raw_score: float
    late_penalty: float
    max_score: float
    due: str = ""
    handed_in: str = ""
    unread: float = 0.0
    submitter: str = ""
    look_again: bool = False
    late: bool = False
    unseen: bool = False

    @property
    def rank(self) -> tuple[float, ...]:
        """What says which of a group's submissions is the best."""
        return self.score, self.raw_score, self.unread, self.unseen

    @property
    def score(self) -> float:
        """What counts: never less than 0."""
        return rounded(max(0.0, self.raw_score - self.late_penalty))


def grades_of(course: Course, exercises: Sequence[Exercise]) -> list[Grade]:
    """The grades of all students of the gradebook, by student and then in the order of exercises.

    Raises GradebookError when nothing has been graded.
    """
    if not gradebook_exists(course.db_url):
        raise GradebookError(
            f"There is no {course.db_url}: run `python -m autograder grade` first."
        )
    found = recorded_grades(course, exercises)
    if not found:
        raise GradebookError(
            "The gradebook holds no grades of this: run `python -m autograder grade`."
        )
    return found


def recorded_grades(course: Course, exercises: Sequence[Exercise]) -> list[Grade]:
    """The same; none when there is no gradebook, or nothing of this in it."""
    order = [exercise.name for exercise in exercises]
    found: list[Grade] = []
    with opened(course) as gradebook:
        if gradebook is None:
            return found
        students = [
            Student(
                student.id,
                student.first_name or "",
                student.last_name or "",
                student.email or "",
                student.lms_user_id or "",
            )
            for student in gradebook.students
        ]
        for assignment in gradebook.assignments:
            if assignment.name not in order:
                continue
            nothing = Grade(
                assignment.name, Student(""), 0, 0, assignment.max_score, _due(assignment)
            )
            groups = read_groups(course, assignment.name)
            own = own_grades(course, gradebook, assignment)
            handed_in = ranks(own.values())
            for student in students:
                submitter = groups.submitter(student.id, handed_in)
                found.append(replace(own[submitter] if submitter else nothing, student=student))
    return sorted(found, key=lambda grade: (grade.student.id, order.index(grade.exercise)))


def _due(assignment: Assignment) -> str:
    return str(assignment.duedate or "")


def own_grades(course: Course, gradebook: Gradebook, assignment: Assignment) -> dict[str, Grade]:
    """The grades of those who have handed in an assignment themselves, by student.

    A folder with nothing in it counts in no group: its student gets the grade of what others have handed in.
    """
    together = read_groups(course, assignment.name).by_student
    return {
        submission.student_id: Grade(
            assignment.name,
            Student(submission.student_id),
            submission.score,
            submission.late_submission_penalty,
            assignment.max_score,
            _due(assignment),
            str(submission.timestamp or ""),
            unread_points(submission),
            submission.student_id,
            _to_look_at_again(submission),
            bool(lateness(submission)),
            _has_unseen_work(course, submission),
        )
        for submission in _submissions(gradebook, assignment)
        # one without notebooks is an extension of a student who has not handed in
        if submission.notebooks
        and not (submission.student_id in together and _is_empty(course, submission))
    }


def ranks(grades: Iterable[Grade]) -> dict[str, tuple[float, ...]]:
    """How good the submissions are of those who have handed in themselves, by student."""
    return {g.student.id: g.rank for g in grades if g.submitter == g.student.id}


def told_on_page(course: Course, exercise: Exercise, student: str) -> str:
    """What a feedback page says about its student's group; empty for one who works alone."""
    groups = read_groups(course, exercise.name)
    if student not in groups.by_student:
        return ""
    members = groups.members(student)
    grades = [g for g in recorded_grades(course, [exercise]) if g.student.id in members]
    counts_for = [g.student.id for g in grades if g.submitter == student]
    first = (
        f"Group {groups.by_student[student]} has handed in several submissions. "
        if len(ranks(grades)) > 1
        else ""
    )
    in_order = [member for member in members if member in counts_for]
    others = [g.submitter for g in grades if g.student.id == student and g.submitter]
    if others and others != [student]:
        return (
            f"{first}Nothing is handed in here, so {others[0]}'s submission counts for {student}."
        )
    return f"{first}This one counts for {', '.join(in_order or [student])}."


def _submissions(gradebook: Gradebook, assignment: Assignment) -> list[SubmittedAssignment]:
    """The submissions of an assignment with their grades: three queries, however many there are.

    nbgrader computes scores in the database, and by default one by one when they are read.
    """
    with_grades = (
        selectinload(SubmittedAssignment.notebooks)
        .selectinload(SubmittedNotebook.grades)
        .undefer(api.Grade.max_score)
    )
    scores = SubmittedAssignment.score, SubmittedAssignment.late_submission_penalty
    every = gradebook.db.query(SubmittedAssignment).options(with_grades, *map(undefer, scores))
    return every.filter(SubmittedAssignment.assignment_id == assignment.id).all()


def unread_points(submission: SubmittedAssignment) -> float:
    """Points of written answers in a submission that nobody has read yet."""
    return sum(
        grade.max_score
        for notebook in submission.notebooks
        for grade in notebook.grades
        if grade.auto_score is None and grade.manual_score is None
    )


def _to_look_at_again(submission: SubmittedAssignment) -> bool:
    """Whether points were given by hand for something that has changed since."""
    return any(
        grade.manual_score is not None and grade.needs_manual_grade
        for notebook in submission.notebooks
        for grade in notebook.grades
    )


def _has_unseen_work(course: Course, submission: SubmittedAssignment) -> bool:
    """Whether automatic points are waiting for a person to look at what the grader could not.

    nbgrader's own steps leave the same mark, so the result has to say so, too.
    """
    waiting = any(
        grade.manual_score is None and grade.auto_score is not None and grade.needs_manual_grade
        for notebook in submission.notebooks
        for grade in notebook.grades
    )
    result = _result(course, submission) if waiting else None
    return result is not None and result.is_for_a_person


def _is_empty(course: Course, submission: SubmittedAssignment) -> bool:
    """Whether there was nothing to grade, for the grader and for a person."""
    result = None if submission.score else _result(course, submission)
    return (
        result is not None
        and not result.is_for_a_person
        and any(remark.kind == "not_submitted" for remark in result.remarks)
    )


def _result(course: Course, submission: SubmittedAssignment) -> Result | None:
    exercise = submission.assignment.name
    graded = course.autograded / submission.student_id / exercise / f"{exercise}.ipynb"
    try:
        return Result.read(result_path(graded))
    except (FileNotFoundError, ResultError):
        return None
