"""What stands on the terminal: sentences, cells of tables, progress and questions.

Ids of students, names of files and what a learning management system sends are others' words: they are shown
as plain text, so that nothing in them moves the cursor, hides a text or is taken for markup.
"""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from autograder.text import plain_text


def say(*sentences: str, error: bool = False) -> None:
    """Print sentences, each on a line of its own, as plain text; error: on stderr."""
    for sentence in sentences:
        print(plain_text(sentence), file=sys.stderr if error else sys.stdout, flush=True)


def plain_cell(text: str) -> Text:
    """A cell of a table that shows a text as it is."""
    return Text(plain_text(text))


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """The rate, once it is known."""
        return Text(f"{task.speed:.1f}/s" if task.speed else "")


def progress(title: str) -> Progress:
    """A progress bar with what is done and left; on stderr, so that JSON on stdout stays JSON."""
    columns = (
        TextColumn(f"{title:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        # a student's name is no markup
        TextColumn("{task.description}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True))


def agreed(question: str) -> bool:
    """Whether a question is answered with yes; no answer is none."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
