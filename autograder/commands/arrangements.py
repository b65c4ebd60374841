"""Commands for the roster, due dates, extensions, groups, and comments to use again."""

from __future__ import annotations

import argparse
from pathlib import Path

from autograder.commands.arguments import (
    Commands,
    add_exercise,
    add_gradebook,
    course_of,
    exercises_of,
)
from autograder.commands.grading import agree_and_follow
from autograder.errors import DateError
from autograder.points import as_shown
from autograder.progress import say
from autograder.times import read_time


def _roster(arguments: argparse.Namespace) -> None:
    from autograder.grade.roster import import_roster

    done = import_roster(course_of(arguments), arguments.roster)
    say(*done.notes, error=True)
    for words, students in (("added", done.added), ("changed", done.changed)):
        if students:
            say(f"{len(students)} {words}: {', '.join(students)}")
    say(f"{len(done.unchanged)} unchanged")


def _due(arguments: argparse.Namespace) -> None:
    from autograder.build.due_date import show_due_date
    from autograder.grade import lateness
    from autograder.report import deadlines

    course = course_of(arguments)
    exercises = exercises_of(course, arguments)
    if arguments.time:
        (exercise,) = exercises
        due = None if arguments.time == "none" else read_time(arguments.time)
        if due and due < lateness.now() and not arguments.past:
            raise DateError(
                f"{lateness.in_words(due)}, is in the past: whoever hands in from now on would be late. If "
                "that is meant, add --past. Nothing was written."
            )
        show_due_date(exercise, lateness.in_words(due) if due else "")
        for student in lateness.set_due_date(course, exercise, due):
            say(f"{student}'s extension of {exercise} was taken back with the due date.")
        shown = "the" if due else "no"
        notebook = exercise.notebook.relative_to(course.root)
        say(f"{notebook}: its first cell shows {shown} due date.")
        agree_and_follow(course, exercises)
    deadlines.print_dates(lateness.dates(course, exercises))


def _extend(arguments: argparse.Namespace) -> None:
    from autograder.grade import groups, lateness
    from autograder.report import deadlines

    course = course_of(arguments)
    single = arguments.student, arguments.exercise, arguments.time
    if arguments.table and any(single):
        raise DateError("Give one student's extension or --table FILE, not both.")
    if any(single) and not all(single):
        raise DateError(
            "An extension needs a student, an exercise and a time, like `s001 ch1_x 2d`."
        )
    if arguments.table:
        extensions = lateness.read_extensions(arguments.table)
    elif all(single):
        student, exercise, time = single
        extensions = [lateness.Extension(student, exercise, lateness.read_duration(time))]
    else:
        extensions = []
    if extensions:
        extensions = groups.for_all_members(course, extensions)
        lateness.extend(course, extensions)
        agree_and_follow(course, course.exercises())
    dates = lateness.dates(course, course.exercises())
    say(*lateness.already_over(dates, extensions), error=True)
    deadlines.print_dates(dates)


def _groups(arguments: argparse.Namespace) -> None:
    from autograder.grade import groups

    course = course_of(arguments)
    found = groups.read_roster(arguments.roster)
    groups.set_groups(course, exercises_of(course, arguments), found)
    for name in dict.fromkeys(found.by_student.values()):
        members = [student for student, group in found.by_student.items() if group == name]
        say(f"{name}: {', '.join(members)}")
    if not found.by_student:
        say("Everybody works alone: no student of the roster has a group.")
    agree_and_follow(course, exercises_of(course, arguments))


def _comments(arguments: argparse.Namespace) -> None:
    from autograder.grade import comments

    course = course_of(arguments)
    (exercise,) = exercises = exercises_of(course, arguments)
    if arguments.marks:
        marks = comments.read_marks(arguments.marks, exercise)
        say(*comments.give(course, exercise, marks, arguments.marks))
        say(f"{len(marks)} marks recorded for {exercise}")
        agree_and_follow(course, exercises)
        return
    kept = comments.kept_comments(exercise)
    for question, points in comments.written_questions(exercise).items():
        say(f"{question} ({as_shown(points)} points)")
        for comment in kept:
            if comment.question == question:
                say(f"  {comment}")
    if not kept:
        file = comments.list_file(exercise).relative_to(course.root)
        columns = ",".join(comments.LIST_COLUMNS)
        say(f"No comments are kept: write them into {file}, a CSV file with the columns {columns}.")


def add_commands(commands: Commands) -> None:
    """Add roster, due, extend, groups and comments."""
    text = (
        "Read the class's students from a CSV file with the column id and, if you like, first_name, last_name, "
        "email and lms_user_id, as a spreadsheet program saves it. Who is in the gradebook already is brought up "
        "to date; nobody is removed."
    )
    roster = commands.add("roster", _roster, text, example="roster.csv")
    roster.add_argument("roster", metavar="FILE", type=Path)
    add_gradebook(roster)
    text = (
        "Set the due date of an exercise, or show it. It is recorded in the gradebook, and the first cell of "
        "the notebook that students get shows it. Late penalties follow at once, without grading again."
    )
    due = commands.add(
        "due", _due, text, example="ch2_scaled_dot_product '2027-03-01 18:00 Europe/Berlin'"
    )
    due.add_argument("exercise", metavar="EXERCISE", nargs="?", help="default: show all")
    text = (
        'like "2027-03-01 18:00 UTC" or "2027-03-01 18:00 Europe/Berlin"; none takes the date away'
    )
    due.add_argument("time", metavar="TIME", nargs="?", help=text)
    due.add_argument("--past", action="store_true", help="also a time in the past")
    add_gradebook(due)
    text = (
        "Give a student, and the others of the student's group, more time for an exercise, or show all extensions. A "
        "new extension takes the place of "
        "the one before. Late penalties follow at once, without grading again."
    )
    extend = commands.add("extend", _extend, text, example="ada ch2_scaled_dot_product 2d")
    extend.add_argument("student", metavar="STUDENT", nargs="?")
    extend.add_argument("exercise", metavar="EXERCISE", nargs="?")
    text = "like 2d, 36h, 1w or 1d12h; 0 takes the extension back"
    extend.add_argument("time", metavar="TIME", nargs="?", help=text)
    text = "many at once: a CSV file with the columns student, exercise and extension"
    extend.add_argument("--table", metavar="FILE", type=Path, help=text)
    add_gradebook(extend)
    text = (
        "Read from a roster who works together: a CSV file with the columns id and group. Each member gets "
        "the grade of the group's submission; one of a member's own counts for that member."
    )
    groups = commands.add("groups", _groups, text, example="roster.csv")
    groups.add_argument("roster", metavar="FILE", type=Path)
    add_exercise(groups)
    add_gradebook(groups)
    text = (
        "Show the comments that are kept for written answers, or record marks from a CSV file with the columns "
        "student, question, points and comment. In a comment, there and in formgrader, /key stands for a kept "
        "one, and gives its points where no others are given."
    )
    comments = commands.add(
        "comments", _comments, text, example="marks.csv --exercise ch2_scaled_dot_product"
    )
    comments.add_argument("marks", metavar="FILE", type=Path, nargs="?", help="marks to record")
    comments.add_argument("--exercise", metavar="E", required=True)
    add_gradebook(comments)
