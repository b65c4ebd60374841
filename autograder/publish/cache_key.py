"""What the outputs of a page's cells depend on, so that a page is executed again only when it changes.

The book's builder keeps executed pages in a cache, whose key is the code of the page's cells and the
`kernelspec` in its front matter. It does not see what the cells import. So a digest of that is put
into the `kernelspec` when a page is read (book/_extensions/execution.py).
"""

from __future__ import annotations

import ast
import functools
import sys
from importlib.util import find_spec
from pathlib import Path

from autograder.dependencies import Dependencies
from autograder.files import digest_of
from autograder.programs import plain_version
from autograder.publish.experiments import FOLDERS, RESULTS, code_of_course
from autograder.publish.page_source import read_page
from autograder.publish.seed_base import seed_base

# whose versions can change what a cell gives
PACKAGES = ("numpy", "torch", "matplotlib", "scipy", "num2words", "sacrebleu", "sentencepiece")
KERNELSPEC = "\nkernelspec:\n"
KEY = "imports"


def is_executed(page: Path) -> bool:
    """Whether a page has cells: a kernel stands in its front matter."""
    front = page.read_text(encoding="utf-8").partition("\n---\n")[0]
    return front.startswith("---\n") and KERNELSPEC in f"{front}\n"


def with_key(root: Path, page: Path, text: str) -> str:
    """A page's text with the digest in its front matter; one without a kernel stays as it is.

    root: the course's folder; page: the page's file, for error messages.
    """
    front, end, rest = text.partition("\n---\n")
    if not text.startswith("---\n") or KERNELSPEC not in front:
        return text
    line = f"{KERNELSPEC}  {KEY}: {imports_digest(root, page, text)}\n"
    return front.replace(KERNELSPEC, line, 1) + end + rest


def imports_digest(root: Path, page: Path, text: str) -> str:
    """A digest of what a page's cells import.

    It covers what the cells use of this course's modules, directly or through others; the files that
    these name, as the results of measurements; the page's stored results; the scripts that the page's
    interactive figures write into it; the base of its seeds if it uses them; and the versions of Python
    and of the packages that compute.
    """
    cells = read_page(page, text).cells
    trees = [cell.tree() for cell in cells]
    used = Dependencies(root, FOLDERS)
    used.add_program(root / "book" / page.name, "\n".join(cell.program() for cell in cells))
    modules = {module.path for module in used.modules}
    widgets = root / "book" / "widgets.py"
    names = scripts(widgets.read_text(encoding="utf-8"), trees) if widgets in modules else set()
    paths = [root / "book" / "_widgets" / f"{name}.js" for name in sorted(names)]
    results = root / RESULTS / f"{page.stem}.json"
    # only where there are some, so that the keys of other pages stay
    stored = {"results": results.read_text(encoding="utf-8")} if results.is_file() else {}
    return digest_of(
        stored
        | {
            "code": code_of_course(used),
            "scripts": {path.name: path.read_text(encoding="utf-8") for path in paths},
            "python": list(sys.version_info[:2]),
            "packages": {
                package: plain_version(package) for package in PACKAGES if find_spec(package)
            },
            "seed_base": seed_base() if root / "book" / "models" / "seeds.py" in modules else 0,
        }
    )[:16]


def scripts(widgets: str, trees: list[ast.Module]) -> set[str]:
    """The scripts of the interactive figures that programs make.

    widgets: the program of widgets.py, whose functions end in `_figure(script, ...)`; every figure
    needs the script `common`, too.
    """
    used = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            used.update(alias.name for alias in node.names)
    return {script for figure, script in _scripts_of_figures(widgets) if figure in used}


@functools.lru_cache(maxsize=8)
def _scripts_of_figures(widgets: str) -> frozenset[tuple[str, str]]:
    """The functions of widgets.py, each with a script that its figure needs."""
    found = set()
    for function in ast.parse(widgets).body:
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "_figure":
                    script = ast.literal_eval(node.args[0])
                    found |= {(function.name, script), (function.name, "common")}
    return frozenset(found)
