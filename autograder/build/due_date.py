"""The due date in the first cell of an exercise as students get it.

`python -m autograder due` puts it there; a later build keeps the one that the notebook shows.
"""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode

from autograder.build.generate import content_digest
from autograder.course import Exercise
from autograder.errors import ExerciseError
from autograder.exercises import released
from autograder.files import write_whole

MARK = "**Due:** "


def _first_text(notebook: NotebookNode) -> NotebookNode | None:
    return next((cell for cell in notebook.cells if cell.cell_type == "markdown"), None)


def shown_due_date(notebook: NotebookNode) -> str:
    """The due date that a notebook's first cell with text shows; empty when it shows none."""
    cell = _first_text(notebook)
    lines = cell.source.split("\n") if cell else []
    return next((line.removeprefix(MARK) for line in lines if line.startswith(MARK)), "")


def put_due_date(notebook: NotebookNode, due: str) -> None:
    """Show a due date below the title of a notebook, in place of the one that is there.

    due: in words, on one line; empty: show none.
    """
    cell = _first_text(notebook)
    if cell is None:
        return
    paragraphs = [text for text in cell.source.split("\n\n") if not text.startswith(MARK)]
    if due:
        has_title = paragraphs[0].startswith("# ")
        paragraphs.insert(1 if has_title else 0, f"{MARK}{due}")
    cell.source = "\n\n".join(paragraphs)


def show_due_date(exercise: Exercise, due: str) -> bool:
    """Show a due date in the released notebook; returns whether that changed it.

    Raises ExerciseError when there is no such notebook, or when it holds edits.
    """
    notebook = released(exercise)
    if shown_due_date(notebook) == due:
        return False
    record = notebook.metadata.get("autotest", NotebookNode())
    if record.get("digest") != content_digest(notebook):
        raise ExerciseError(
            f"{exercise.notebook.relative_to(exercise.root)} was edited by hand, so the due date was not "
            f"put into it. Delete it, run `python -m autograder build --exercise {exercise}`, then run the "
            "command again."
        )
    put_due_date(notebook, due)
    record.digest = content_digest(notebook)
    write_whole(exercise.notebook, nbformat.writes(notebook) + "\n")
    return True
