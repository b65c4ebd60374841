"""Progress and questions on the terminal."""

from __future__ import annotations

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
