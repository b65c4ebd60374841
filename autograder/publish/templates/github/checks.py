"""Runs a notebook from top to bottom and says in Markdown what its checks found.

Usage: python .github/checks.py NOTEBOOK. It writes to the file that GITHUB_STEP_SUMMARY names, or to standard
output, and ends with status 1 while points are missing. The notebook brings its checks along.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

# what a notebook keeps of `progress()`
PROGRESS = "application/vnd.attention-from-scratch.progress+json"
# seconds for each cell, and characters of a check's text and of all
SECONDS, MAX_TEXT, MAX_ALL = 300, 4_000, 500_000
COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def executed(path: Path) -> NotebookNode:
    """The notebook with the outputs of a fresh kernel; a cell that fails doesn't keep others from running."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("progress()"))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(
        notebook,
        timeout=SECONDS,
        interrupt_on_timeout=True,
        allow_errors=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.resolve().parent)}},
    ).execute()
    return notebook


def text_of(cell: NotebookNode) -> str:
    """What a cell has printed, and how it ended."""
    parts = []
    for out in cell.outputs:
        if out.output_type == "stream":
            parts.append(out.text)
        elif out.output_type == "display_data":
            parts.append(f"{out.data.get('text/plain', '')}\n")
        elif out.output_type == "error":
            parts += out.traceback[-1:] or [f"{out.ename}: {out.evalue}"]
    text = COLOURS.sub("", "".join(parts)).strip()
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n..."


def fenced(text: str) -> str:
    """A text as a block in which nothing is markup."""
    ticks = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{ticks}text\n{text}\n{ticks}"


def failed_checks(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """The task and the text of every check that isn't passed, in the notebook's order."""
    task = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = re.search(r"^## (.+)$", cell.source, re.MULTILINE)
            task = heading[1] if heading else task
            continue
        own = cell.metadata.get("nbgrader", {})
        if own.get("grade") and any(out.output_type == "error" for out in cell.outputs):
            yield task, text_of(cell)


def standings(notebook: NotebookNode) -> list[dict]:
    """Points by task, as `progress()` tells them; empty where the checks didn't load."""
    found = [out.data.get(PROGRESS) for out in notebook.cells[-1].outputs if "data" in out]
    return next(filter(None, found), [])


def summary(notebook: NotebookNode) -> tuple[str, bool]:
    """What is told, and whether all points of the checks are there."""
    tasks = standings(notebook)
    if not tasks:
        told = text_of(notebook.cells[-1])
        return f"## The checks could not run\n\n{fenced(told)}\n", False
    earned, points = (sum(task[name] for task in tasks) for name in ("earned", "points"))
    lines = [f"## {earned:g} of {points:g} points", "", "| task | points |", "| --- | --- |"]
    for task in tasks:
        words = f"{task['earned']:g} of {task['points']:g}" if task["points"] else ""
        if task["written"]:
            words += f"{', and ' if words else ''}{task['written']:g} for a written answer"
        name = task["name"].replace("|", "\\|")
        lines.append(f"| {name} | {words} |")
    lines += [
        "",
        "These are the notebook's own checks, on the inputs that they always draw. Your grade comes from the "
        "same checks on other inputs; a person reads written answers.",
    ]
    said = ""
    for name, text in failed_checks(notebook):
        lines += ["", *([f"### {name}", ""] if name != said else []), fenced(text)]
        said = name
    return "\n".join(lines)[:MAX_ALL] + "\n", earned >= points


def main() -> None:
    """Check one notebook."""
    path = Path(sys.argv[1])
    try:
        told, done = summary(executed(path))
    except FileNotFoundError:
        told, done = f"## {path} is missing\n\nKeep the notebook's name and place.\n", False
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, ValueError) as error:
        told, done = f"## {path} is no notebook\n\n{fenced(str(error)[:MAX_TEXT])}\n", False
    except DeadKernelError:
        told, done = (
            "## The notebook ended its kernel\n\nIt used too much memory, or quit.\n",
            False,
        )
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(told)
    print(told)
    sys.exit(0 if done else 1)


if __name__ == "__main__":
    main()
