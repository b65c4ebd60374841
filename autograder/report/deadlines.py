"""Due dates, extensions and late work as tables for the terminal."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from autograder.grade.lateness import Dates, Late, duration_in_words
from autograder.points import as_shown
from autograder.progress import plain_cell


def _local(moment: datetime.datetime) -> str:
    return f"{moment.replace(tzinfo=datetime.UTC).astimezone():%Y-%m-%d %H:%M %Z}"


def print_dates(dates: Sequence[Dates]) -> None:
    """Print the due date of each exercise, and below it whose is later."""
    table = Table(title="Due dates")
    for head in ("exercise", "student", "due (UTC)", "here", "extension"):
        table.add_column(head, overflow="fold")
    for own in dates:
        if own.due is None:
            table.add_row(own.exercise, "", "-", "", "")
            continue
        table.add_row(own.exercise, "", f"{own.due:%Y-%m-%d %H:%M}", _local(own.due), "")
        for student, time in own.extensions.items():
            due = own.due + time
            # a student's id may look like markup
            row = "", student, f"{due:%Y-%m-%d %H:%M}", _local(due), duration_in_words(time)
            table.add_row(*map(plain_cell, row))
    Console(width=120).print(table)


def print_late(late: Sequence[Late]) -> None:
    """Print who is late and what that costs; nothing when nobody is."""
    if not late:
        return
    table = Table(title="Late")
    for head in ("exercise", "student", "late by", "penalty"):
        table.add_column(head, overflow="fold")
    for one in late:
        changed = f" (was {as_shown(one.before)})" if one.before != one.penalty else ""
        penalty = f"{as_shown(one.penalty)}{changed}"
        row = one.exercise, one.student, duration_in_words(one.by), penalty
        table.add_row(*map(plain_cell, row))
    Console(width=120).print(table)
