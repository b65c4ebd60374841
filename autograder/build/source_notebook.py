"""From a solution in py:percent form to an nbgrader source notebook.

In: solutions/EXERCISE.py, its catalogue and the book's headings. Out: the source notebook, with the
solutions in it, whose autotest lines have no answers yet; and what earlier exercises built, which stands
in one of its cells or, held back, in a file. Everything that can be refused without running the
solution is refused here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.book_index import readings
from autograder.build.overview import overview, with_overview
from autograder.catalogue import discussions, mistakes, sections
from autograder.course import Exercise
from autograder.embedding import loader, packed_sources, without_words
from autograder.errors import CatalogueError
from autograder.exercises import (
    grade_cells,
    graded_answers,
    is_answer_cell,
    is_grade_cell,
    metadata_of,
    tasks,
)
from autograder.instructor_settings import Settings
from autograder.programs import definition_source, spans_of, without_markers
from autograder.reference import place
from autograder.runtime.evaluate import BUILT_SO_FAR
from autograder.runtime.functions import called
from autograder.runtime.grade_cell import STATEMENTS, parse_cell
from autograder.runtime.helpers import Notes, helper_names
from autograder.runtime.plain_data import pack
from autograder.runtime.torch_internals import FORBIDDABLE

AUTOTEST_LINE = re.compile(r"^\s*#+\s*(?P<points>[\d.]+)p AUTOTEST\s+(?P<expression>.+?)\s*$")
# a sentence fits on one line of a notebook
MAX_SENTENCE = 90
AFTER_RESTART = (
    "After the kernel has been restarted, or where a check says that `%%autotest` is not found, the cells "
    "above have to run again: choose *Run > Run All Above Selected Cell*."
)
CHECK_DATA = (
    "%%autotest_data\n# What the checks compare with. Nothing to do here but to run the cell."
)
PACKAGES = (
    "Your code may import {} and whatever comes with Python. Other packages may be missing where your "
    "notebook is graded."
)
CHECKS = (
    "A check lists what it asks for. In JupyterLab and Colab its code is folded, and a click opens "
    "it."
)
YOUR_POINTS = (
    "## Your points so far\n\nRun the cell below to see the points of your checks by task, and what is open. "
    "Written answers are read by a person. When you save the notebook after that, the page on which `make lab` "
    "opens shows them, too."
)
CHECKER_NOTE = "# The course's checks. Nothing to do here but to run the cell.\n"
BUILT_SO_FAR_FILE = "built_so_far.py"
RUN_FILE = f"%run -i {BUILT_SO_FAR_FILE}"
HELD_BACK = (
    f"{BUILT_SO_FAR}\n"
    f"# It is in the file {BUILT_SO_FAR_FILE}, which you get when the exercises before this one are due. Put\n"
    f"# the file into the folder of this notebook, then run this cell.\n{RUN_FILE}"
)


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


def check_functions(exercise: Exercise) -> dict[str, str]:
    """The source of the functions that an exercise's grade cells may call, by name, in the file's order."""
    if not exercise.checks.is_file():
        return {}
    # as in the checker: what a student unfolds is code
    program = without_words(exercise.checks.read_text(encoding="utf-8"))
    return {name: definition_source(program, name) for name in spans_of(program)}


def _with_functions(source: str, functions: Mapping[str, str]) -> str:
    """A grade cell below the functions that its lines, relations and input statements call."""
    expressions = [expression for _, _, expression in autotest_lines(source)]
    needed = called("\n".join([source, *expressions]), functions)
    return f"{needed}\n\n\n{source}" if needed else source


def _complete_metadata(cell: NotebookNode) -> None:
    nbgrader = cell.metadata.get("nbgrader")
    if nbgrader is None:
        return
    for key in ("grade", "solution", "task"):
        nbgrader.setdefault(key, False)
    nbgrader.setdefault("locked", nbgrader["grade"] and not nbgrader["solution"])
    nbgrader["schema_version"] = 3
    if not nbgrader["grade"]:
        nbgrader.pop("points", None)


def _check_grade_cell(exercise: Exercise, cell: NotebookNode) -> None:
    where, points = place(exercise, metadata_of(cell).grade_id), metadata_of(cell).get("points")
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
    try:
        parsed = parse_cell(as_checks(cell.source))
        hidden = {*spans_of(exercise.program()), *helper_names(Notes(0))} & {*spans_of(cell.source)}
        if hidden:
            raise ValueError(
                f"`{min(hidden)}` is the name of an answer or a helper, and of a function"
            )
    except (TypeError, ValueError) as error:
        raise CatalogueError(f"{where}: {error}.") from error
    unknown = set(parsed.forbidden) - set(FORBIDDABLE)
    if unknown:
        raise CatalogueError(f"{where}: forbid doesn't know {', '.join(sorted(unknown))}.")
    words = [check.says.text for check in parsed.checks if check.says]
    for sentence in [*words, *(relation.says for relation in parsed.relations)]:
        if not sentence.strip() or len(sentence) > MAX_SENTENCE:
            raise CatalogueError(
                f"{where}: `says` and relations need a sentence of at most {MAX_SENTENCE} characters, and "
                f"{sentence!r} has {len(sentence)}. Say it in few words."
            )


def _name_graded(exercise: Exercise, cell: NotebookNode, answers: Sequence[str]) -> None:
    """Write into a grade cell's metadata which answers it grades: those of the answer cell above it."""
    if not answers:
        raise CatalogueError(
            f"{place(exercise, metadata_of(cell).grade_id)}: a grade cell belongs below the answer it grades."
        )
    # nbgrader's own metadata may hold nothing else
    cell.metadata["autotest"] = NotebookNode(grades=list(answers))


def _fold(cell: NotebookNode) -> None:
    """Fold a cell's source in JupyterLab, and in Colab, where it becomes a form."""
    cell.metadata.update(jupyter=NotebookNode(source_hidden=True), cellView="form")


def _leave_out_of_exports(cell: NotebookNode) -> None:
    """Leave a cell's source out of what nbconvert writes, as its TagRemovePreprocessor does."""
    cell.metadata.transient = NotebookNode(remove_source=True)


def _locked_cell(grade_id: str, source: str) -> NotebookNode:
    """A locked cell whose source is folded."""
    cell = nbformat.v4.new_code_cell(source)
    cell.metadata = NotebookNode(
        nbgrader=NotebookNode(
            grade_id=grade_id, grade=False, solution=False, locked=True, task=False
        )
    )
    _fold(cell)
    return cell


def _shown_cell(grade_id: str, source: str) -> NotebookNode:
    """A locked cell whose source isn't folded."""
    cell = _locked_cell(grade_id, source)
    del cell.metadata["jupyter"], cell.metadata["cellView"]
    return cell


def _support_cell(grade_id: str, source: str) -> NotebookNode:
    """A locked cell of what the checks need, which nobody has to read."""
    cell = _locked_cell(grade_id, source)
    _leave_out_of_exports(cell)
    return cell


def words_for_students(exercise: Exercise) -> dict:
    """What a check can tell: {"mistakes": by name, "sections": where to read again, by cell, "ways": by answer}.

    Without the book, in a copy of the course that only grades, there is nowhere to read.
    """
    places = readings(exercise.root)
    labels = [*(mistake.section for mistake in mistakes(exercise)), *sections(exercise).values()]
    unknown = sorted({label for label in labels if label not in places})
    if places and unknown:
        raise CatalogueError(
            f"solutions/catalogue/{exercise.name}.md sends students to {', '.join(map(repr, unknown))}: no "
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
        "ways": {
            discussion.function: [vars(way) for way in discussion.ways]
            for discussion in discussions(exercise)
        },
    }


def _checker(exercise: Exercise, notebook: NotebookNode, packages: Sequence[str]) -> str:
    """Source of the cell that carries the course's checks and what they tell, packed.

    notebook: complete but for this source; packages: what students' code may import.
    """
    told = {
        **words_for_students(exercise),
        "tasks": [asdict(task) for task in tasks(notebook)],
        "packages": list(packages),
        "graded": {name: list(answers) for name, answers in graded_answers(notebook).items()},
    }
    return f'{CHECKER_NOTE}{loader()}\n\nload_checks("{packed_sources()}").install_packed("{pack(told)}")'


def check_data_cell() -> NotebookNode:
    """The locked cell for what the checks compare with, which is put in when the answers are known."""
    return _support_cell("check_data", CHECK_DATA)


def progress_cell() -> NotebookNode:
    """The locked cell that shows points by task, as the checks have found them."""
    return _shown_cell("progress", "progress()")


def _apply_settings(exercise: Exercise, cell: NotebookNode, settings: Settings) -> None:
    """Multiply a grade cell's points by its weight, and allow what the instructor allows."""
    weight = settings.weight(exercise.name, metadata_of(cell).grade_id)
    if weight != 1:
        metadata_of(cell).points = metadata_of(cell).points * weight
    lines = []
    for line in cell.source.split("\n"):
        if weight != 1 and (match := AUTOTEST_LINE.match(line)):
            line = f"### {float(match['points']) * weight:g}p AUTOTEST {match['expression']}"
        if line.startswith("forbid(") and exercise.name in settings.allowed:
            allowed = settings.allowed[exercise.name]
            kept = [name for name in parse_cell(line).forbidden if name not in allowed]
            line = f"forbid({', '.join(map(repr, kept))})" if kept else ""
        lines.append(line)
    cell.source = "\n".join(lines)


def _inline_imports(exercise: Exercise, program: str) -> tuple[str, str]:
    """Split an imports cell into its own imports and the code that `from solutions...` names."""
    kept: list[str] = []
    inlined: list[str] = []
    for node in ast.parse(program).body:
        module = getattr(node, "module", "") or ""
        if isinstance(node, ast.ImportFrom) and module.startswith("solutions."):
            earlier = Exercise(exercise.root, module.removeprefix("solutions.")).program()
            for alias in node.names:
                inlined.append(without_markers(definition_source(earlier, alias.name)))
        else:
            kept.append(ast.get_source_segment(program, node) or "")
    return "\n".join(kept), "\n\n\n".join(inlined)


def built_so_far(exercise: Exercise) -> str:
    """What an exercise uses of earlier ones, as the program of a file, with the imports it needs.

    Empty for an exercise that uses nothing of them.
    """
    for cell in jupytext.read(exercise.solution, fmt="py:percent").cells:
        if metadata_of(cell).get("grade_id") == "imports":
            imports, earlier = _inline_imports(exercise, cell.source)
            return f"{BUILT_SO_FAR}\n\n{imports}\n\n\n{earlier}\n" if earlier else ""
    return ""


def is_held_back(notebook: NotebookNode) -> bool:
    """Whether a released notebook takes what earlier exercises built from a file."""
    return any(
        cell.id == "built_so_far" and RUN_FILE in cell.source.split("\n") for cell in notebook.cells
    )


def source_notebook(
    exercise: Exercise, settings: Settings, hold_back: bool = False, with_checker: bool = True
) -> NotebookNode:
    """The nbgrader source notebook of an exercise, with stable cell ids.

    settings: weights and allowed functions are applied; hold_back: what earlier exercises built is left
    to a file; with_checker: fill the cell that carries the course's checks. Raises CatalogueError, naming
    file and cell, for points that don't add up, a `;` in an autotest, a grade_id used twice.
    """
    notebook = jupytext.read(exercise.solution, fmt="py:percent")
    packages, functions = settings.offered(exercise.packages), check_functions(exercise)
    cells, answers = [], []
    for cell in notebook.cells:
        cell.metadata.pop("active", None)
        _complete_metadata(cell)
        own = metadata_of(cell)
        if is_answer_cell(cell):
            answers = list(spans_of(cell.source))
        if is_grade_cell(cell):
            cell.source = _with_functions(cell.source, functions)
        if own.get("grade"):
            _check_grade_cell(exercise, cell)
            _apply_settings(exercise, cell, settings)
        if is_grade_cell(cell):
            _name_graded(exercise, cell, answers)
            _fold(cell)
            _leave_out_of_exports(cell)
        cells.append(cell)
        if own.get("grade_id") == "imports":
            cell.source, earlier = _inline_imports(exercise, cell.source)
            if earlier and hold_back:
                cells.append(_shown_cell("built_so_far", HELD_BACK))
            elif earlier:
                cells.append(_locked_cell("built_so_far", f"{BUILT_SO_FAR}\n\n{earlier}"))
            # the first of them is filled in when all tasks are known
            cells += [_support_cell("checker", ""), check_data_cell()]
    cells += [nbformat.v4.new_markdown_cell(YOUR_POINTS), progress_cell()]
    for number, cell in enumerate(cells):
        _complete_metadata(cell)
        cell.id = metadata_of(cell).get("grade_id", f"cell-{number:03d}")
    ids = [cell.id for cell in cells]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise CatalogueError(
            f"solutions/{exercise.name}.py: grade_id used twice: {', '.join(twice)}."
        )
    if "checker" not in ids:
        raise CatalogueError(
            f"solutions/{exercise.name}.py: a locked cell with grade_id imports is missing."
        )
    if cells[0].cell_type == "markdown":
        named = ", ".join(f"`{name}`" for name in packages)
        told = [cells[0].source, CHECKS, PACKAGES.format(named), AFTER_RESTART]
        cells[0].source = "\n\n".join(told)
    fresh = nbformat.v4.new_notebook(cells=cells)
    fresh.metadata = NotebookNode(
        kernelspec=NotebookNode(display_name="Python 3", language="python", name="python3"),
        language_info=NotebookNode(name="python"),
    )
    if cells[0].cell_type == "markdown":
        cells[0].source = with_overview(cells[0].source, overview(exercise, fresh))
    (checker,) = [cell for cell in cells if cell.id == "checker"]
    if with_checker:
        checker.source = _checker(exercise, fresh, packages)
    return fresh


def unanswered_cells(notebook: NotebookNode) -> dict[str, str]:
    """The grade cells of a source notebook, without answers: grade_id -> source with check lines."""
    return {name: as_checks(source) for name, source in grade_cells(notebook).items()}


def for_nbgrader(exercise: Exercise, notebook: NotebookNode) -> NotebookNode:
    """A source notebook in which nbgrader's own InstantiateTests finds the answers.

    Every grade cell gets a region, which ClearHiddenTests removes again, that defines what
    build/autotests.yml calls.
    """
    for cell in notebook.cells:
        if is_grade_cell(cell):
            begin = f"begin({exercise.name!r}, {metadata_of(cell).grade_id!r}, {as_checks(cell.source)!r})"
            region = [
                "### BEGIN HIDDEN TESTS",
                "from autograder.build.instantiate import answer_of, begin",
                f"draw, {', '.join(STATEMENTS)} = {begin}",
                "### END HIDDEN TESTS",
            ]
            cell.source = "\n".join([*region, cell.source])
    return notebook
