"""What stands on the terminal: sentences, cells of tables, progress and questions.

Ids of students, names of files and what a learning management system sends are others' words: they are shown
as plain text, so that nothing in them moves the cursor, hides a text or is taken for markup.

All commands import this; rich, which takes as long as the rest of `--help`, is imported where it is used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from autograder.text import plain_text

if TYPE_CHECKING:
    from rich.progress import Progress, Task
    from rich.text import Text


def say(*sentences: str, error: bool = False) -> None:
    """Print sentences, each on a line of its own, as plain text; error: on stderr."""
    for sentence in sentences:
        print(plain_text(sentence), file=sys.stderr if error else sys.stdout, flush=True)


def plain_cell(text: str) -> Text:
    """A cell of a table that shows a text as it is."""
    from rich.text import Text

    return Text(plain_text(text))


def progress(title: str) -> Progress:
    """A progress bar with what is done and left; on stderr, so that JSON on stdout stays JSON."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second, once it is known."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    columns = (
        TextColumn(f"{title:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("left"),
        # a student's name is no markup
        TextColumn("{task.description}", markup=False),
    )
    # what is left takes as long as all so far: a submission may take longer than the half minute of the default
    return Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600)


def agreed(question: str) -> bool:
    """Whether a question is answered with yes; no answer is none."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
