"""A sample class, made from the reference, its known mistakes and its alternatives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.build.generate import released
from autograder.catalogue import (
    alternative_answers,
    alternatives,
    definition_source,
    definitions,
    mistake_answers,
    mistakes,
    solution_path,
    without_markers,
)

SAMPLE_PREFIX = "sample-"
WRITTEN = (
    "Because the scores grow with the width, and softmax of large scores looks at one key only."
)


def reference_answers(exercise: str) -> dict[str, str]:
    """The reference's answers, as a student would have typed them: {name: text}."""
    program = solution_path(exercise).read_text(encoding="utf-8")
    return {
        name: without_markers(definition_source(program, name)) for name in definitions(program)
    }


def solved(exercise: str, answers: dict[str, str], written: str = WRITTEN) -> NotebookNode:
    """The released notebook with some answers filled in; the others stay untouched."""
    notebook = nbformat.from_dict(json.loads(json.dumps(released(exercise))))
    for cell in notebook.cells:
        given = cell.metadata.get("nbgrader")
        if not given or not given.solution:
            continue
        if cell.cell_type == "markdown":
            cell.source = written or cell.source
            continue
        for name in definitions(cell.source):
            cell.source = answers.get(name, cell.source)
    return notebook


def answer_cell(notebook: NotebookNode, number: int = 0) -> NotebookNode:
    """The number-th code cell that a student fills in."""
    cells = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    ]
    return cells[number]


def sample_submissions(exercise: str) -> dict[str, NotebookNode]:
    """A dozen submissions to an exercise: student -> notebook."""
    program = solution_path(exercise).read_text(encoding="utf-8")
    right = reference_answers(exercise)
    found: dict[str, NotebookNode] = {"ada": solved(exercise, right)}
    for student, alternative in zip(("ben", "chi"), alternatives(exercise), strict=False):
        found[student] = solved(exercise, right | alternative_answers(program, alternative))
    wrong = mistakes(exercise)
    step = max(1, len(wrong) // 5)
    for student, mistake in zip(("dia", "eli", "fay", "gus", "hao"), wrong[::step], strict=False):
        found[student] = solved(exercise, right | mistake_answers(program, mistake))
    found["ida"] = solved(exercise, {}, written="")
    half = dict(list(right.items())[: len(right) // 2])
    found["jon"] = solved(exercise, half, written="")
    found["kim"] = solved(exercise, right)
    answer_cell(found["kim"], 1).source = "def unfinished(:\n    return"
    found["lea"] = solved(exercise, right)
    last = answer_cell(found["lea"], -1)
    name = next(iter(definitions(last.source)))
    last.source = f"def {name}(*arguments, **named):\n    while True:\n        pass"
    found["max"] = solved(exercise, right)
    cell = answer_cell(found["max"])
    noise = 'import sys, warnings\nwarnings.warn("this is only a warning")\nprint("working", file=sys.stderr)\n'
    cell.source = f"{noise}\n{cell.source}\nwarnings.warn('done')"
    return found


def make(exercises: list[str], submitted: Path) -> bool:
    """Write the sample class under a folder of submissions.

    Does nothing, and returns False, when submissions of a real class lie there.
    """
    if submitted.is_dir():
        names = [path.name for path in submitted.iterdir() if path.is_dir()]
        if any(not name.startswith((SAMPLE_PREFIX, ".")) for name in names):
            return False
    for exercise in exercises:
        for student, notebook in sample_submissions(exercise).items():
            folder = submitted / f"{SAMPLE_PREFIX}{student}" / exercise
            text = nbformat.writes(notebook) + "\n"
            path = folder / f"{exercise}.ipynb"
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
    return True
