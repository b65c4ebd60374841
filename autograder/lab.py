"""The folder work/: a student's own copies of the exercises, and a page over all of them.

In: exercises/, and what the last cells of the notebooks in work/ showed when they were saved. Out:
missing copies and work/overview.ipynb, and a JupyterLab that runs on that page. Nothing is written outside
work/, and nothing of a student's is overwritten.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import nbformat

from autograder.course import Course, Exercise
from autograder.errors import ExerciseError
from autograder.exercises import released, task_names, tasks
from autograder.files import digest_of, write_whole
from autograder.points import as_shown
from autograder.runtime.progress import MIME, Standing
from autograder.text import as_markdown, valid_json

MAX_TASKS = 50
INTRODUCTION = (
    "# Your exercises\n\nFor every exercise you see here what the last cell of its notebook showed when "
    "you saved the notebook. So run that cell, and save: when `make lab` starts the next time, it makes "
    "this page anew. Written answers are read by a person and are not counted."
)


def work_folder(course: Course) -> Path:
    """Where a student's own copies lie."""
    return course.root / "work"


def _copy_of(course: Course, exercise: Exercise) -> Path:
    return work_folder(course) / exercise.name / exercise.notebook.name


def offered(course: Course) -> list[Exercise]:
    """All notebooks: that of the first hour, and the chapters'."""
    return [*course.ungraded(), *course.exercises()]


def copy_missing(course: Course) -> list[Exercise]:
    """Copy the exercises that work/ does not have; returns these.

    Raises ExerciseError for one that has not been built, OutputError when work/ can't be written.
    """
    missing = [e for e in offered(course) if not _copy_of(course, e).exists()]
    for exercise in missing:
        try:
            text = exercise.notebook.read_text(encoding="utf-8")
        except OSError as error:
            raise ExerciseError(
                f"{exercise.notebook} can't be read: {error.strerror}. Run `python -m autograder build "
                f"--exercise {exercise}`, or take the file from a fresh copy of the course."
            ) from error
        write_whole(_copy_of(course, exercise), text)
    return missing


def _standing(data: Any) -> Standing:
    """A task as a notebook's output has it; ValueError for anything else."""
    names = [field.name for field in fields(Standing)]
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise ValueError("no task")
    # notebooks of an earlier release say nothing of points that wait
    found = [{"waiting": 0, **data}.get(name) for name in names[1:]]
    numbers = [n for n in found if isinstance(n, int | float) and not isinstance(n, bool)]
    if len(numbers) < len(names) - 1 or not all(math.isfinite(n) and n >= 0 for n in numbers):
        raise ValueError("no points")
    return Standing(data["name"], *numbers)


def _outputs(notebook: Any) -> Iterator[Any]:
    """What a notebook's outputs hold as progress, from the top; a damaged part is passed over."""

    def items(value: Any, key: str) -> list[dict]:
        found = value.get(key)
        return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []

    for cell in items(notebook, "cells"):
        for output in items(cell, "outputs"):
            data = output.get("data")
            if isinstance(data, dict) and MIME in data:
                yield data[MIME]


def saved_progress(path: Path) -> list[Standing] | None:
    """What a saved notebook's progress cell showed last; None if it has shown nothing.

    Raises ValueError, which says why, for a file that is no notebook and for points that are none.
    """
    try:
        notebook = valid_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(error.strerror) from error
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no notebook") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("it is no notebook")
    shown = list(_outputs(notebook))
    if not shown:
        return None
    last = shown[-1]
    if not isinstance(last, list) or not 0 < len(last) <= MAX_TASKS:
        raise ValueError("the output of its last cell is damaged: run that cell again")
    try:
        return [_standing(task) for task in last]
    except ValueError as error:
        raise ValueError("the output of its last cell is damaged: run that cell again") from error


def _row(course: Course, exercise: Exercise) -> str:
    """The exercise's row of the page."""
    release = released(exercise)
    title, _ = task_names(release)
    points = sum(sum(task.checks.values()) for task in tasks(release))
    path = _copy_of(course, exercise)
    link = f"[{as_markdown(title or exercise.name)}]({path.relative_to(work_folder(course)).as_posix()})"
    try:
        found = saved_progress(path)
    except ValueError as error:
        told = (
            f"This file can't be read: {error}. It is left as it is. If you can't mend it, rename it: "
            "`make lab` then makes a new copy."
        )
        return f"| | {link} | | {as_markdown(told)} |"
    if found is None:
        return f"| | {link} | ? of {as_shown(points)} | Its last cell has not been run and saved yet. |"
    earned, points = (sum(getattr(s, name) for s in found) for name in ("earned", "points"))
    still_open = "; ".join(as_markdown(s.name[:100]) for s in found if s.is_open)
    return f"| {'' if still_open else '✓'} | {link} | {as_shown(earned)} of {as_shown(points)} | {still_open} |"


def overview(course: Course) -> str:
    """The page over all exercises, as Markdown."""
    head = "| | Exercise | Points of your checks | Open |\n|---|---|---|---|"
    rows = [_row(course, exercise) for exercise in offered(course)]
    return "\n".join([INTRODUCTION, "", head, *rows])


def _digest(sources: Sequence[Any]) -> str:
    return digest_of(list(sources))[:16]


def _is_ours(path: Path) -> bool:
    """Whether a file is the page as it was written here, without anything of the student's."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        sources = ["".join(cell["source"]) for cell in notebook["cells"]]
        return notebook["metadata"]["overview"]["digest"] == _digest(sources)
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return False


def overview_page(course: Course) -> Path:
    """Where the page over all exercises lies."""
    return work_folder(course) / "overview.ipynb"


def write_overview(course: Course) -> bool:
    """Write the page over all exercises into work/.

    Returns False, and leaves the file alone, when one of that name holds something of the student's.
    Raises OutputError when it can't be written.
    """
    path = overview_page(course)
    if path.exists() and not _is_ours(path):
        return False
    page = overview(course)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(page, id="overview")])
    notebook.metadata["overview"] = {"digest": _digest([page])}
    write_whole(path, nbformat.writes(notebook) + "\n")
    return True


def free_port() -> int:
    """A port of this machine that nothing listens to."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]


def open_jupyterlab(page: Path) -> int:
    """Run JupyterLab on a page until it is stopped; returns its exit code. What it logs goes into a file."""
    port, token = free_port(), secrets.token_hex(12)
    command = [sys.executable, "-m", "jupyterlab", str(page.parent)]
    command += [f"--ServerApp.port={port}", f"--LabApp.default_url=/lab/tree/{page.name}"]
    command += ["--ServerApp.answer_yes=True"]  # Ctrl-C doesn't ask
    # a container's only user may be root, which JupyterLab refuses otherwise
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command += ["--allow-root"]
    log = page.with_name("jupyterlab.log")
    print(f"Open        http://127.0.0.1:{port}/lab/tree/{page.name}?token={token}")
    print(f"If it fails {log}")
    print("Stop        Ctrl-C", flush=True)
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=page.parent,
            env=os.environ | {"JUPYTER_TOKEN": token},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return process.returncode
