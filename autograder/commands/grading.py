"""Commands that grade a class, and write feedback and reports of the recorded results."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.commands.arguments import (
    Commands,
    add_gradebook,
    add_submissions,
    course_of,
    exercises_of,
    positive,
)
from autograder.course import Course, Exercise
from autograder.errors import GradebookError, writing
from autograder.instructor_settings import CONFIG, Limits
from autograder.progress import say

if TYPE_CHECKING:
    from autograder.grade.result import Result


def _grade(arguments: argparse.Namespace) -> None:
    from autograder.build.generate import write_missing_sources
    from autograder.grade.grade_class import (
        WorkerOptions,
        grade_class,
        handed_in,
        recorded_results,
    )
    from autograder.grade.misplaced import misplaced, strangers
    from autograder.grade.trial import regrade
    from autograder.kernels import sandbox

    course = course_of(arguments)
    exercises = exercises_of(course, arguments)
    if arguments.json:
        # refuse a file that can't be written before hours of grading, not after them
        with writing(arguments.json), arguments.json.open("a"):
            pass
    write_missing_sources(course, exercises)
    # before the gradebook knows them, too
    notes = misplaced(course) + strangers(course, {s for s, _ in handed_in(course, exercises)})
    required = arguments.require_sandbox
    if required is None:
        required = sandbox.has_failed()
    options = WorkerOptions(arguments.workers, arguments.scheduler, required)
    if arguments.changed:
        regrade(course, exercises, options, arguments.yes)
        results = recorded_results(course, exercises)
    else:
        results = grade_class(course, exercises, arguments.rerelease, arguments.new_seed, options)
    if arguments.json:
        data = [json.loads(result.to_json()) for result in results]
        with writing(arguments.json):
            arguments.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    say(*notes, error=True)
    if not results:
        say(f"No submissions: they belong into {course.submitted}/STUDENT/EXERCISE/EXERCISE.ipynb.")
        return
    agree(course, exercises, results)
    follow_gradebook(course, exercises)
    if arguments.feedback:
        write_feedback_pages(course, results)
    _write_report(course, results)


def _feedback(arguments: argparse.Namespace) -> None:
    course = course_of(arguments)
    results = recorded(course, arguments)
    follow_gradebook(course, exercises_of(course, arguments))
    write_feedback_pages(course, results)


def _report(arguments: argparse.Namespace) -> None:
    course = course_of(arguments)
    results = recorded(course, arguments)
    follow_gradebook(course, exercises_of(course, arguments))
    _write_report(course, results)


def write_feedback_pages(course: Course, results: Sequence[Result]) -> None:
    """Write the feedback pages that are out of date, and say where they are."""
    from autograder.grade.feedback import write_feedback

    written = write_feedback(course, results)
    pages = f"{course.feedback}/STUDENT/EXERCISE/EXERCISE.html"
    say(f"Feedback for students: {pages} ({written} of {len(results)} written, others unchanged)")


def _write_report(course: Course, results: Sequence[Result]) -> None:
    from autograder.report import pages

    summary = pages.write(course, results)
    pages.print_scores(results)
    say(f"Class summary: {summary}")


def agree(course: Course, exercises: Sequence[Exercise], results: Sequence[Result]) -> None:
    """Record again what the gradebook lacks of some exercises' results, and say so, before grades are told.

    Raises GradebookError when something is lost that a person had entered.
    """
    from autograder.grade.reconcile import reconcile

    say(*reconcile(course, exercises, results), error=True)


def follow_gradebook(course: Course, exercises: Sequence[Exercise]) -> None:
    """Bring up to date what follows from the gradebook without grading, and say what is to be said.

    Keys of kept comments become their texts; late penalties follow due dates, extensions, times of
    submission and points; of a group's submissions it is told which counts for whom.
    """
    from autograder.grade import comments, groups, lateness
    from autograder.grade.class_grades import ranks, recorded_grades
    from autograder.report import deadlines

    notes = comments.replace_typed_keys(course, exercises)
    notes += lateness.unreadable_times(course, exercises)
    deadlines.print_late(lateness.update_penalties(course, exercises))
    for exercise in exercises:
        if (own := groups.read_groups(course, exercise.name)).by_student:
            handed_in = ranks(recorded_grades(course, [exercise]))
            notes += [f"{exercise}: {sentence}" for sentence in own.notes(handed_in)]
    say(*notes, error=True)


def agree_and_follow(course: Course, exercises: Sequence[Exercise]) -> None:
    """As `agree` and `follow_gradebook`, for a command that reads no results itself."""
    from autograder.grade.grade_class import recorded_results

    agree(course, exercises, recorded_results(course, exercises))
    follow_gradebook(course, exercises)


def recorded(course: Course, arguments: argparse.Namespace) -> list[Result]:
    """The recorded results of the exercises that were given.

    Raises GradebookError when there are none, or when those of an exercise are of two versions of it.
    """
    results = of_one_version(course, exercises_of(course, arguments))
    if not results:
        raise GradebookError("Nothing has been graded yet: run `python -m autograder grade` first.")
    return results


def of_one_version(course: Course, exercises: Sequence[Exercise]) -> list[Result]:
    """The recorded results of some exercises, which the gradebook then holds, too.

    Raises GradebookError for an exercise with results of two versions, and as `agree` does.
    """
    from autograder.grade.grade_class import recorded_results
    from autograder.grade.gradebook import refuse_mixed_versions

    results = recorded_results(course, exercises)
    for exercise in exercises:
        refuse_mixed_versions(course, exercise, results)
    agree(course, exercises, results)
    return results


def _limits() -> str:
    """The limits of a submission and their defaults, for the help text."""
    shown = [
        f"{field.name} {field.default:g}"
        for field in dataclasses.fields(Limits)
        if field.name != "sandbox"
    ]
    return (
        f"What a submission may use is set in {CONFIG} as c.Grader.NAME; the defaults are "
        f"{', '.join(shown)}. c.Grader.python, weights, allowed and packages stand there, too."
    )


def _add_graded_class(command: argparse.ArgumentParser) -> None:
    add_submissions(command)
    add_gradebook(command)


def add_commands(commands: Commands) -> None:
    """Add grade, feedback and report."""
    text = "Grade every submission whose grade is not current; write reports and print the scores."
    grade = commands.add(
        "grade", _grade, text, _limits(), example="--exercise ch2_scaled_dot_product --feedback"
    )
    _add_graded_class(grade)
    text = "also write the feedback pages that are out of date"
    grade.add_argument("--feedback", action="store_true", help=text)
    grade.add_argument("--json", metavar="FILE", type=Path, help="also write every line's verdict")
    text = "draw a new secret seed and grade everybody again"
    grade.add_argument("--new-seed", action="store_true", help=text)
    text = "an exercise has changed since it was handed out: grade everybody by the new one"
    grade.add_argument("--rerelease", action="store_true", help=text)
    text = "show who would gain or lose what, then ask before anything is written"
    grade.add_argument("--changed", action="store_true", help=text)
    grade.add_argument("--yes", action="store_true", help="with --changed: do not ask, write")
    text = "submissions to examine at a time (default: one a core)"
    grade.add_argument("--workers", metavar="N", type=positive, help=text)
    text = "examine on a Dask cluster, like tcp://host:8786, instead of here"
    grade.add_argument("--scheduler", metavar="ADDRESS", help=text)
    text = "refuse to run submissions without a sandbox (default: only where its trial fails by itself)"
    grade.add_argument("--require-sandbox", action=argparse.BooleanOptionalAction, help=text)
    text = "Write the feedback pages that are out of date."
    _add_graded_class(commands.add("feedback", _feedback, text))
    text = "Write the class summary and each exercise's report (HTML and CSV)."
    _add_graded_class(commands.add("report", _report, text))
