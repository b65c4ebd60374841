"""Commands that make and check exercises: a new course, the build, a sample class, the audit."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

from autograder.commands.arguments import (
    Commands,
    add_exercise,
    add_submissions,
    course_of,
    exercises_of,
)


def _new(arguments: argparse.Namespace) -> None:
    from autograder import new_course

    folder = new_course.make(arguments.folder)
    print(f"A course with one chapter and one exercise: {folder}")
    print(f"Try it: cd {folder} && make test")


def _build(arguments: argparse.Namespace) -> None:
    from autograder.build.generate import (
        build,
        held_back_file,
        write_missing_sources,
        write_sources,
    )

    course = course_of(arguments)
    ungraded = [e for e in course.ungraded() if arguments.exercise in (None, e.name)]
    named = any(exercise.name == arguments.exercise for exercise in ungraded)
    graded = [] if named else exercises_of(course, arguments)
    exercises = [*graded, *ungraded]
    built = build(course, exercises, force=arguments.force, hold_back=arguments.hold_back)
    # formgrader's Generate takes these
    write_sources(course, [exercise for exercise in built if exercise in graded])
    write_missing_sources(course, graded)
    for exercise in built:
        print(f"Built {exercise.notebook.relative_to(course.root)}")
    files = [held_back_file(course, exercise) for exercise in exercises]
    for path in filter(Path.exists, files if arguments.hold_back else []):
        print(f"Held back, to give out after the deadline: {path}")
    if not built:
        print("The exercises are up to date.")


def _propose(arguments: argparse.Namespace) -> None:
    from autograder.build.proposals import by_task, propose

    exercises = exercises_of(course_of(arguments), arguments)
    if arguments.table:
        print(*by_task(exercises), sep="\n")
    else:
        print(*itertools.chain.from_iterable(map(propose, exercises)), sep="\n\n")


def _sample(arguments: argparse.Namespace) -> None:
    from autograder.audit import sample_class

    course = course_of(arguments)
    if sample_class.make(course, exercises_of(course, arguments)):
        print(f"The sample class lies in {course.submitted}.")
    else:
        print(f"No sample class: submissions of a real class lie in {course.submitted}.")


def _audit(arguments: argparse.Namespace) -> None:
    from autograder.audit import audit

    course = course_of(arguments)
    findings = audit.run(course, exercises_of(course, arguments))
    audit.print_table(findings)
    if not audit.is_clean(findings):
        sys.exit(1)


def _answers(arguments: argparse.Namespace) -> None:
    from autograder.audit.answers import graded, read_answers
    from autograder.files import digest_of_files

    course, folder = course_of(arguments), arguments.folder
    answers = read_answers(course, folder)
    # printed before anything is graded, so that nobody can change an answer afterwards
    print(f"Digest of the answers: {digest_of_files(folder.rglob('*.py'), folder)}", flush=True)
    found = graded(course, answers)
    print(*found, sep="\n")
    surprises = [finding.answer.name for finding in found if finding.surprising]
    named = sum(1 for finding in found if finding.names)
    print(f"{len(found)} answers, {named} named, {len(surprises)} surprises", *surprises, sep="\n")
    if surprises:
        sys.exit(1)


def add_commands(commands: Commands) -> None:
    """Add new, build, propose, sample, audit and answers."""
    text = "Write a new course of your own, with one chapter and one exercise to start from."
    new = commands.add("new", _new, text, example="../my-course")
    new.add_argument("folder", metavar="FOLDER", type=Path, help="a folder that does not exist yet")
    build = commands.add(
        "build", _build, "Generate exercises/ from solutions/, after checking both."
    )
    add_exercise(build)
    build.add_argument("--force", action="store_true", help="even if nothing has changed")
    text = (
        "leave what earlier exercises built out of the notebooks; course/built_so_far/EXERCISE/ has it as a "
        "file, to give out after their deadline (default: as they were built last)"
    )
    build.add_argument("--hold-back", action=argparse.BooleanOptionalAction, help=text)
    text = (
        "Print changes of the reference that a check catches and no known mistake explains, and those that no "
        "check sees."
    )
    proposals = commands.add("propose", _propose, text)
    add_exercise(proposals)
    text = "print a line for each known mistake instead: the tasks that know it, and those where it can be made"
    proposals.add_argument("--table", action="store_true", help=text)
    add_submissions(commands.add("sample", _sample, "Make the sample class of submissions."))
    text = (
        "Grade every known mistake and alternative, and the attacks and styles of right work that the course's "
        "own folder audit_cases has; fail on a surprise."
    )
    add_exercise(commands.add("audit", _audit, text))
    text = (
        "Grade answers that were written from the statements, and print what is said about each; fail when a "
        "wrong one keeps its points or a right one loses some."
    )
    epilog = (
        "Each file of the folder is the code of one answer cell, below lines with its exercise, task, kind "
        "(right or wrong) and mistake, as in autograder/audit/answers.py."
    )
    answers = commands.add("answers", _answers, text, epilog)
    answers.add_argument("folder", metavar="FOLDER", type=Path, help="folder of files NAME.py")
