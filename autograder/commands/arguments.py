"""What several commands share: their options, and the course and the exercises that these name."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path

from autograder.course import Course, Exercise
from autograder.errors import CourseError
from autograder.instructor_settings import CONFIG


class Commands:
    """The commands of a parser, which its help shows in the order in which they are added."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._added = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(
        self,
        name: str,
        run: Callable[[argparse.Namespace], None],
        text: str,
        epilog: str = "",
        example: str = "",
    ) -> argparse.ArgumentParser:
        """Add a command, and return its parser for the options.

        run: called with the parsed arguments; text: what the command does, for both help texts;
        epilog: what the command's own help says after the options; example: the words of a call that its
        help ends with.
        """
        # argparse would break the example at the end of a line, and it could not be pasted
        width = shutil.get_terminal_size().columns - 2
        parts = [textwrap.fill(epilog, width)] if epilog else []
        if example:
            parts.append(f"Example:\n  %(prog)s {example}")
        added = self._added.add_parser(
            name,
            help=text,
            description=textwrap.fill(text, width),
            epilog="\n\n".join(parts),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        return added


def add_exercise(command: argparse.ArgumentParser) -> None:
    """Let a command take one exercise, or else all."""
    command.add_argument("--exercise", metavar="E", help="only this exercise")


def add_submissions(command: argparse.ArgumentParser) -> None:
    """Let a command take exercises and the folder of submissions."""
    add_exercise(command)
    text = "folder of submissions (default: course/submitted)"
    command.add_argument("--submitted", metavar="DIR", type=Path, help=text)


def add_gradebook(command: argparse.ArgumentParser) -> None:
    """Let a command take the gradebook's database."""
    text = (
        "the gradebook's database, like postgresql://user@host/name (default: c.CourseDirectory.db_url "
        f"of {CONFIG}, which is course/gradebook.db unless you change it)"
    )
    command.add_argument("--db", metavar="URL", help=text)


def positive(text: str) -> int:
    """The type of an option that is a whole number, 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def course_of(arguments: argparse.Namespace) -> Course:
    """The course of the working directory, with the folder and the database that were given."""
    given = vars(arguments)
    return dataclasses.replace(
        Course.find(), submissions=given.get("submitted"), database=given.get("db")
    )


def exercises_of(course: Course, arguments: argparse.Namespace) -> list[Exercise]:
    """The exercise that was given, or all; raises CourseError when there are none."""
    chosen = getattr(arguments, "exercise", None)
    found = [course.exercise(chosen)] if chosen else course.exercises()
    if not found:
        raise CourseError(
            f"{course.root / 'solutions'} has no exercises: a reference solution is a file like "
            "ch1_name.py there (see CONTRIBUTING.md)."
        )
    return found
