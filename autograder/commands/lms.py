"""Commands for learning management systems: grades, submissions and feedback as they take and give them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from autograder.commands.arguments import (
    Commands,
    add_exercise,
    add_gradebook,
    course_of,
    exercises_of,
    positive,
)
from autograder.commands.grading import (
    follow_gradebook,
    of_one_version,
    recorded,
    write_feedback_pages,
)
from autograder.lms.systems import NAMES, SYSTEMS, TITLES, WORKSHEETS
from autograder.progress import say

EXPORT_FORMATS = ("nbgrader", "csv", *NAMES)


def _export(arguments: argparse.Namespace) -> None:
    from autograder.lms import export

    course = course_of(arguments)
    exercises = exercises_of(course, arguments)
    of_one_version(course, exercises)
    follow_gradebook(course, exercises)
    notes = export.write(
        course,
        exercises,
        arguments.format,
        arguments.output,
        arguments.roster,
        arguments.without_names,
    )
    say(*notes, error=True)
    say(f"Grades: {arguments.output}")


def _import_zip(arguments: argparse.Namespace) -> None:
    from autograder.lms import import_zip

    course = course_of(arguments)
    (exercise,) = exercises_of(course, arguments)
    done = import_zip.import_zip(course, arguments.zip, exercise, arguments.roster, arguments.zone)
    say(*done.notes, error=True)
    for words, students in (("unchanged", done.unchanged), ("replaced", done.replaced)):
        if students:
            say(f"{len(students)} {words}: {', '.join(students)}")
    say(f"{len(done.new)} new submissions of {exercise} in {course.submitted}")


def _return_zip(arguments: argparse.Namespace) -> None:
    from autograder.lms import return_zip

    course = course_of(arguments)
    results = recorded(course, arguments)
    (exercise,) = exercises = exercises_of(course, arguments)
    follow_gradebook(course, exercises)
    write_feedback_pages(course, results)
    done = return_zip.write(
        course, exercise, arguments.lms, arguments.output, arguments.roster, arguments.all
    )
    say(*done.notes, error=True)
    if done.without:
        say(f"{len(done.without)} without feedback: {', '.join(done.without)}")
    say(f"{len(done.unchanged)} unchanged since they were returned")
    if done.packed:
        say(f"{len(done.packed)} packed: {arguments.output}")
    else:
        say("Nothing new: no zip was written. --all packs every page again.")


def _push(arguments: argparse.Namespace) -> None:
    from autograder.grade.feedback import FeedbackWriter
    from autograder.grade.lock import only_grader
    from autograder.lms import export, push
    from autograder.lms.canvas_api import Canvas, CanvasCourse, read_token
    from autograder.progress import agreed

    course = course_of(arguments)
    address, token = CanvasCourse.read(arguments.course), read_token(arguments.token_file)
    recorded(course, arguments)
    (exercise,) = exercises = exercises_of(course, arguments)
    # two runs at a time would both send what neither finds in Canvas
    with only_grader(course.home), Canvas(address, token) as canvas:
        follow_gradebook(course, exercises)
        grades = export.grades_of(course, exercises)
        comments = {}
        if arguments.comments:
            writer = FeedbackWriter(course)
            texts = {g.submitter: "" for g in grades if g.submitter}
            texts = {student: writer.text(student, exercise.name) for student in texts}
            comments = {g.student.id: texts[g.submitter] for g in grades if g.submitter}
        found = push.plan(canvas, exercise, grades, comments, arguments.assignment)
        say(*export.notes_on_unread(grades), *found.notes, error=True)
        push.show(found)
        if not found.changes:
            return
        if not (arguments.yes or agreed("Send this to Canvas?")):
            say("Nothing was sent.")
            return
        sent = push.send(canvas, found)
    say(*sent.notes, error=True)
    say(f"{len(sent.done)} of {len(found.changes)} sent to {found.title}")
    if len(sent.done) < len(found.changes):
        if sent.unconfirmed:
            names = ", ".join(sent.unconfirmed)
            say(f"Not answered, and not in Canvas when last looked up: {names}.", error=True)
        say("Run the command again: it sends what is not in Canvas by then.", error=True)
        sys.exit(1)


def _gradescope(arguments: argparse.Namespace) -> None:
    from autograder.audit.registry import attacks, register_cases
    from autograder.lms import gradescope

    course = course_of(arguments)
    (exercise,) = exercises_of(course, arguments)
    say(f"Evaluating {gradescope.SETS} sets of inputs, which takes some minutes.")
    given = arguments.output, arguments.follow_through, arguments.minutes
    made = gradescope.make(course, exercise, *given)
    say(*made.notes)
    say("What code in a submission can gain there:")
    register_cases(course.root)
    undetected = [
        f"use a forbidden function unseen: {attack.name} ({attack.undetected})"
        for attack in attacks(exercise)
        if attack.undetected
    ]
    say(*(f"- {gain}" for gain in [*made.gains, *undetected]))
    say(f"For Gradescope: {made.path}")


def add_commands(commands: Commands) -> None:
    """Add export, import-zip, return-zip, push and gradescope."""
    text = (
        f"Write the grades as a file. {' and '.join(NAMES)} import theirs as it is; nbgrader is what `nbgrader "
        "export` writes, csv has one row per student. Scores are the gradebook's: with points given by "
        "hand, late penalties taken off, and 0 for who is in it and has handed in nothing."
    )
    export = commands.add(
        "export",
        _export,
        text,
        example="--format canvas --roster canvas_gradebook.csv --output grades.csv",
    )
    add_exercise(export)
    add_gradebook(export)
    export.add_argument("--format", choices=EXPORT_FORMATS, default="csv", help="default: csv")
    export.add_argument("--output", metavar="FILE", type=Path, required=True)
    text = f"gradebook or grades as exported by {TITLES}, for ids and columns"
    export.add_argument("--roster", metavar="FILE", type=Path, help=text)
    text = "under pseudonyms, which only the key in course/pseudonyms.key can trace back"
    export.add_argument("--without-names", action="store_true", help=text)
    text = (
        f"Lay out a class's zip as downloaded from {TITLES}: one notebook per student, the one of "
        "the exercise's name or else the newest. A student is found in the gradebook's roster by "
        "lms_user_id, e-mail address or name; else the id is made of the name. A submission that is there already and "
        "differs is moved to course/replaced/STUDENT/EXERCISE/1, 2, ..., and said to be."
    )
    import_zip = commands.add(
        "import-zip", _import_zip, text, example="submissions.zip --exercise ch2_scaled_dot_product"
    )
    import_zip.add_argument("zip", metavar="FILE", type=Path)
    import_zip.add_argument("--exercise", metavar="E", required=True)
    text = "folder to lay out in (default: course/submitted)"
    import_zip.add_argument("--submitted", metavar="DIR", type=Path, help=text)
    text = f"{WORKSHEETS}: for times of submission, and for two of one name"
    import_zip.add_argument("--roster", metavar="FILE", type=Path, help=text)
    text = "the time zone of its times, like Europe/Berlin (default: this machine's)"
    import_zip.add_argument("--zone", metavar="ZONE", default="", help=text)
    add_gradebook(import_zip)
    takers = " or ".join(f"{SYSTEMS[n].title} ({SYSTEMS[n].upload})" for n in NAMES)
    text = (
        f"Pack the feedback of one exercise into a zip that {takers} takes: what is new since it was packed "
        "last. The names are those of the zip that import-zip has read."
    )
    return_zip = commands.add(
        "return-zip",
        _return_zip,
        text,
        example="--lms canvas --exercise ch2_scaled_dot_product --output feedback.zip",
    )
    return_zip.add_argument("--lms", choices=NAMES, required=True)
    return_zip.add_argument("--exercise", metavar="E", required=True)
    return_zip.add_argument("--output", metavar="FILE", type=Path, required=True)
    text = f"{WORKSHEETS}, for the numbers of participants"
    return_zip.add_argument("--roster", metavar="FILE", type=Path, help=text)
    return_zip.add_argument("--all", action="store_true", help="also what was packed before")
    add_gradebook(return_zip)
    text = (
        "Send grades, and comments if asked, to an assignment in Canvas with its REST API. What would change is "
        "shown first. Only what Canvas does not have is sent, so a run that was interrupted can be repeated."
    )
    epilog = (
        "The token comes from the environment variable CANVAS_TOKEN or from a file of mode 600."
    )
    push = commands.add(
        "push",
        _push,
        text,
        epilog,
        example="--lms canvas --exercise ch2_scaled_dot_product "
        "--course https://canvas.example.org/courses/1234",
    )
    push.add_argument("--lms", choices=("canvas",), required=True)
    push.add_argument("--exercise", metavar="E", required=True)
    text = "the course's address in the browser, like https://canvas.example.org/courses/1234"
    push.add_argument("--course", metavar="URL", required=True, help=text)
    text = "number of the assignment (default: the one with the exercise's name)"
    push.add_argument("--assignment", metavar="N", type=positive, help=text)
    text = "also send the feedback in short as a comment"
    push.add_argument("--comments", action="store_true", help=text)
    push.add_argument(
        "--token-file", metavar="FILE", type=Path, help="file with the token, mode 600"
    )
    push.add_argument("--yes", action="store_true", help="do not ask, send")
    add_gradebook(push)
    text = (
        "Make the zip with which Gradescope grades an exercise: the grader, the exercise, and what is expected "
        "on many sets of inputs; no solution. It prints what to set there, and what code in a submission "
        "can gain. Keep the zip to yourself."
    )
    gradescope = commands.add(
        "gradescope", _gradescope, text, example="--exercise ch2_scaled_dot_product"
    )
    gradescope.add_argument("--exercise", metavar="E", required=True)
    text = "default: course/gradescope/EXERCISE.zip"
    gradescope.add_argument("--output", metavar="FILE", type=Path, help=text)
    text = (
        "grade a later answer also with right versions of earlier ones that are wrong; they are in the zip "
        "then, and code in submissions can read them"
    )
    gradescope.add_argument("--follow-through", action="store_true", help=text)
    text = "the timeout that you set in Gradescope, which tells it to no run (default: 20)"
    gradescope.add_argument("--minutes", metavar="N", type=positive, default=20, help=text)
