"""What a reader can run: the visible code cells of a page, pasted into a fresh notebook.

In: pages. Out: for each page the first thing that stops the pasted cells, if any. Beside Python's own
modules they may import numpy, torch, matplotlib and the course's `solutions`, `translation`, `book.models`,
`figures` and `experiments`.
"""

from __future__ import annotations

import ast
import builtins
import os
import symtable
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from autograder.publish.page_source import CodeCell, PageSource, read_page

ALLOWED = {"numpy", "scipy", "torch", "matplotlib"}
ALLOWED |= {"solutions", "translation", "book.models", "figures", "experiments"}
SECONDS_A_CELL = 600
# what a notebook has without an import
GIVEN = {*dir(builtins), "get_ipython", "__name__", "__file__"}


def names_of_hidden_cells(page: PageSource) -> set[str]:
    """Names that visible cells use and that only cells without visible code define."""
    used: set[str] = set()
    shown: set[str] = set()
    hidden: set[str] = set()
    for cell in page.cells:
        table = symtable.symtable(cell.program(), f"{cell.page}, cell {cell.number}", "exec")
        (shown if cell.visible else hidden).update(_defined(table))
        if cell.visible:
            used |= _used(table)
    return (used & hidden) - shown - GIVEN


def _defined(table: symtable.SymbolTable) -> set[str]:
    return {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
    }


def _used(table: symtable.SymbolTable) -> set[str]:
    """The module's names that a program uses, in its functions and classes, too."""
    module = table.get_type() == "module"
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (module or symbol.is_global())
    }
    return found.union(*(_used(child) for child in table.get_children()))


def forbidden_imports(page: PageSource) -> dict[str, int]:
    """Packages that visible cells import and a reader may lack: package -> the number of the cell."""
    found: dict[str, int] = {}
    for cell in page.cells:
        if cell.visible:
            for module in _modules(cell):
                package = module.partition(".")[0]
                models = ".".join(module.split(".")[:2])
                if not {package, models} & (ALLOWED | sys.stdlib_module_names):
                    found.setdefault(package, cell.number)
    return found


def _modules(cell: CodeCell) -> Iterator[str]:
    for node in ast.walk(cell.tree()):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def run_pasted(root: Path, page: Path) -> str | None:
    """Run a page's visible cells alone; None if they run, else what stops them.

    root: the course's folder, of which the cells may import what is in ALLOWED.
    """
    source = read_page(page)
    if forbidden := forbidden_imports(source):
        return "; ".join(f"cell {number} imports {name}" for name, number in forbidden.items())
    cells = [cell for cell in source.cells if cell.visible]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c.source) for c in cells])
    with tempfile.TemporaryDirectory() as folder:
        # these import `autograder`; nothing else of the course can be imported
        names = ("solutions", "translation", "autograder", "book/models")
        modules = {name: name for name in names}
        modules |= {f"{name}.py": f"book/{name}.py" for name in ("figures", "experiments")}
        (Path(folder) / "book").mkdir()
        for name, target in modules.items():
            (Path(folder) / name).symlink_to(root / target)
        client = NotebookClient(
            notebook,
            timeout=SECONDS_A_CELL,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env={**os.environ, "PYTHONPATH": folder})
        except CellExecutionError as error:
            number = next(
                cell.number
                for cell, ran in zip(cells, notebook.cells, strict=True)
                if any(output["output_type"] == "error" for output in ran["outputs"])
            )
            return f"cell {number}: {error.ename}: {error.evalue}"
        except (CellTimeoutError, DeadKernelError) as error:
            return str(error).strip().split("\n")[0]
    return None
