"""From solutions/*.py (py:percent) to nbgrader source notebooks, with the checks that need no kernel."""

from __future__ import annotations

import ast
import re

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.book_index import readings
from autograder.catalogue import (
    ROOT,
    CatalogueError,
    definition_source,
    mistakes,
    sections,
    solution_path,
    without_markers,
)
from autograder.runtime import autotest

AUTOTEST_LINE = re.compile(r"^\s*#+\s*(?P<points>[\d.]+)p AUTOTEST\s+(?P<expression>.+?)\s*$")
BUILT_SO_FAR = "# What you have built so far"
CHECKER_NOTE = "# The course's checks. Nothing to do here but to run the cell.\n"


def autotest_lines(source: str) -> list[tuple[int, float, str]]:
    """(line number from 0, points, expression) of every autotest line of a cell.

    Raises CatalogueError for a line without points, with a `;`, or that isn't an expression.
    """
    found = []
    for number, text in enumerate(source.split("\n")):
        if "AUTOTEST" not in text:
            continue
        match = AUTOTEST_LINE.match(text)
        if match is None:
            raise CatalogueError(f"not of the form `### 2p AUTOTEST expression`: {text.strip()!r}")
        expression = match["expression"]
        if ";" in expression:
            raise CatalogueError(
                f"`{expression}` holds a `;`, at which nbgrader would split it, even inside a string. "
                "Write it without."
            )
        try:
            ast.parse(expression, mode="eval")
        except SyntaxError as error:
            raise CatalogueError(f"`{expression}` is not an expression: {error.msg}") from error
        found.append((number, float(match["points"]), expression))
    return found


def as_checks(source: str) -> str:
    """A grade cell's source with its autotest lines as `check(expression, points=...)`."""
    lines = source.split("\n")
    for number, points, expression in autotest_lines(source):
        lines[number] = f"check({expression!r}, points={points:g})"
    return "\n".join(lines)


def _complete_metadata(cell: NotebookNode) -> None:
    given = cell.metadata.get("nbgrader")
    if given is None:
        return
    for key in ("grade", "solution", "task"):
        given.setdefault(key, False)
    given.setdefault("locked", given["grade"] and not given["solution"])
    given["schema_version"] = 3
    if not given["grade"]:
        given.pop("points", None)


def _place(exercise: str, cell: NotebookNode) -> str:
    return f"solutions/{exercise}.py, cell {cell.metadata.nbgrader.grade_id}"


def _check_grade_cell(exercise: str, cell: NotebookNode) -> None:
    where, points = _place(exercise, cell), cell.metadata.nbgrader.get("points")
    if points is None:
        raise CatalogueError(f"{where}: a grade cell needs points.")
    if cell.cell_type != "code":
        return
    try:
        lines = autotest_lines(cell.source)
    except CatalogueError as error:
        raise CatalogueError(f"{where}: {error}") from error
    if not lines:
        raise CatalogueError(f"{where}: a grade cell needs at least one `### 1p AUTOTEST` line.")
    total = sum(line_points for _, line_points, _ in lines)
    if abs(total - points) > 1e-9:
        raise CatalogueError(
            f"{where}: the lines' points add up to {total:g}, the cell has {points:g}."
        )
    expressions = [expression for _, _, expression in lines]
    if len(set(expressions)) < len(expressions):
        raise CatalogueError(f"{where}: the same expression stands twice.")
    unknown = set(autotest.parse_cell(cell.source)[0]) - set(autotest.FORBIDDABLE)
    if unknown:
        raise CatalogueError(f"{where}: forbid doesn't know {', '.join(sorted(unknown))}.")


def _locked_cell(grade_id: str, source: str) -> NotebookNode:
    cell = nbformat.v4.new_code_cell(source)
    cell.metadata = NotebookNode(
        nbgrader=NotebookNode(
            grade_id=grade_id, grade=False, solution=False, locked=True, task=False
        ),
        jupyter=NotebookNode(source_hidden=True),
    )
    return cell


def told_to_students(exercise: str) -> dict:
    """What a failed check can tell: {"mistakes": by name, "sections": where to read again, by cell}.

    Without the book, in a copy of the course that only grades, there is nowhere to read.
    """
    places = readings()
    labels = [*(mistake.section for mistake in mistakes(exercise)), *sections(exercise).values()]
    unknown = sorted({label for label in labels if label not in places})
    if places and unknown:
        raise CatalogueError(
            f"solutions/catalogue/{exercise}.py sends students to {', '.join(map(repr, unknown))}: no "
            "section of the book has that label."
        )
    return {
        "mistakes": {
            mistake.name: {
                "function": mistake.function,
                "cell": mistake.cell,
                "means": mistake.means,
                "hint": mistake.hint,
                "section": places.get(mistake.section, ""),
            }
            for mistake in mistakes(exercise)
        },
        "sections": {cell: places.get(label, "") for cell, label in sections(exercise).items()},
    }


def checker_cell(exercise: str) -> NotebookNode:
    """The locked cell that carries the course's checks and what they tell, packed."""
    program = (ROOT / "autograder" / "runtime" / "autotest.py").read_text(encoding="utf-8")
    source = f"""{CHECKER_NOTE}def install_checks(program, course):
    import base64, json, types, zlib

    module = types.ModuleType("autotest")
    source = json.loads(zlib.decompress(base64.b85decode(program)))
    exec(compile(source, "autotest.py", "exec"), module.__dict__)
    module.install(course)


install_checks("{autotest.pack(program)}", "{autotest.pack(told_to_students(exercise))}")"""
    return _locked_cell("checker", source)


def _inline_imports(program: str) -> tuple[str, str]:
    """Split an imports cell into its own imports and the code that `from solutions...` names."""
    kept, inlined = [], []
    for node in ast.parse(program).body:
        module = getattr(node, "module", "") or ""
        if isinstance(node, ast.ImportFrom) and module.startswith("solutions."):
            earlier = solution_path(module.removeprefix("solutions.")).read_text(encoding="utf-8")
            for alias in node.names:
                inlined.append(without_markers(definition_source(earlier, alias.name)))
        else:
            kept.append(ast.get_source_segment(program, node))
    return "\n".join(kept), "\n\n\n".join(inlined)


def source_notebook(exercise: str) -> NotebookNode:
    """The nbgrader source notebook of an exercise, with stable cell ids.

    Raises CatalogueError, naming file and cell, for points that don't add up, a `;` in an autotest,
    a grade_id used twice.
    """
    notebook = jupytext.read(solution_path(exercise), fmt="py:percent")
    cells = []
    for cell in notebook.cells:
        cell.metadata.pop("active", None)
        _complete_metadata(cell)
        given = cell.metadata.get("nbgrader")
        if given and given.grade:
            _check_grade_cell(exercise, cell)
        cells.append(cell)
        if given and given.grade_id == "imports":
            cell.source, earlier = _inline_imports(cell.source)
            if earlier:
                cells.append(_locked_cell("built_so_far", f"{BUILT_SO_FAR}\n\n{earlier}"))
            cells.append(checker_cell(exercise))
    for number, cell in enumerate(cells):
        _complete_metadata(cell)
        cell.id = cell.metadata.get("nbgrader", {}).get("grade_id", f"cell-{number:03d}")
    ids = [cell.id for cell in cells]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise CatalogueError(f"solutions/{exercise}.py: grade_id used twice: {', '.join(twice)}.")
    if "checker" not in ids:
        raise CatalogueError(
            f"solutions/{exercise}.py: a locked cell with grade_id imports is missing."
        )
    fresh = nbformat.v4.new_notebook(cells=cells)
    fresh.metadata = NotebookNode(
        kernelspec=NotebookNode(display_name="Python 3", language="python", name="python3"),
        language_info=NotebookNode(name="python"),
    )
    return fresh
