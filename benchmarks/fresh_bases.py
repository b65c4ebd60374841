"""Which claims of a page hold under fresh seeds: the page is executed with all its seeds moved by a base.

python -m benchmarks.fresh_bases ch5_long
python -m benchmarks.fresh_bases ch5_long --bases 2 3

A claim that fails doesn't stop the page. The numbers that claims compare are printed, beside those under the
book's own seeds (base 0), for which stored results are read. What a base computes is kept in `_build`, never
in `book/results`, so a run that was stopped goes on after the last result that it finished. Claims about measured times, which no seed moves,
may fail on a machine that does other work.
"""

from __future__ import annotations

import argparse
import ast
import json
import linecache
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from autograder.course import Course
from autograder.errors import BookError
from autograder.publish.experiments import (
    RECORD,
    RESULTS,
    SECONDS_A_CELL,
    read_results,
)
from autograder.publish.page_source import read_page
from autograder.publish.seed_base import VARIABLE

BASES = (1, 2, 3)
# characters of a claim's numbers that are printed, and numbers of a result that are printed
LONGEST, SHOWN = 160, 6


# In the process of the page -----------------------------------------------------------------------


class _Operands(ast.NodeTransformer):
    """Makes a condition into an expression for the values that it compares."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return ast.List([node.left, *node.comparators], ast.Load())

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        return ast.List(list(map(self.visit, node.values)), ast.Load())

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return self.visit(node.operand) if isinstance(node.op, ast.Not) else node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return ast.ListComp(self.visit(node.elt), node.generators)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """What stands in all(...), torch.all(...) or before .all()."""
        match node:
            case ast.Call(ast.Name("all" | "any" | "bool"), [inside]):
                return self.visit(inside)
            case ast.Call(ast.Attribute(_, "all" | "any"), [inside]):
                return self.visit(inside)
            case ast.Call(ast.Attribute(inside, "all" | "any" | "item"), []):
                return self.visit(inside)
        return node


def compared(condition: ast.expr, names: dict[str, Any]) -> str:
    """The values that a condition compares, as text; that of the condition if it compares none.

    names: what the names in it stand for.
    """
    expression = ast.fix_missing_locations(ast.Expression(_Operands().visit(condition)))
    try:
        value = eval(compile(expression, "<claim>", "eval"), names)
    # the condition itself raised nothing, but may have left out a part that raises
    except Exception as error:
        return type(error).__name__
    text = json.dumps(_plain(value))
    # no number or word is cut in two
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition(', ')[0]}, ..."


def _plain(value: Any) -> Any:
    """A value as JSON holds it, numbers with four digits, and what is neither number nor text as its type."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case bool() | str() | None:
            return value
        case int() | float():
            return float(f"{value:.4g}")
        case list() | tuple():
            return list(map(_plain, value))
    return type(value).__name__


def record_claims(path: str) -> None:
    """Make every claim of this process write a line into a file, in place of failing the page."""
    import claims

    def claim(condition: Any, sentence: str) -> None:
        holds = True
        try:
            checked(condition, sentence)
        except claims.ClaimError:
            holds = False
        frame = sys._getframe(1)
        line = {"line": frame.f_lineno, "sentence": sentence, "holds": holds}
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "numbers": _compared_at(frame)}) + "\n")

    checked: Callable[[Any, str], None] = claims.claim
    claims.claim = claim


def _compared_at(frame: FrameType) -> str:
    tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename)))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for call in calls:
        here = call.lineno <= frame.f_lineno <= (call.end_lineno or call.lineno)
        if here and isinstance(call.func, ast.Name) and call.func.id == "claim":
            return compared(call.args[0], {**frame.f_globals, **frame.f_locals})
    return ""


# Outside ------------------------------------------------------------------------------------------


def execute(root: Path, path: Path, base: int) -> dict[str, Any]:
    """Execute a page with its seeds moved.

    Args:
        root: The course's folder.
        path: The page.
        base: 0 for the book's own seeds.

    Returns:
        `claims`, each with cell, line, sentence, holds and numbers; `results`, entries as in book/results;
        and what has `stopped` the page, or "".
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    stopped, claims = "", []
    with tempfile.TemporaryDirectory() as folder:
        results, claimed = Path(folder) / "results", Path(folder) / "claims"
        # binds no name, and isn't in the history, since keys of results depend on both
        first = f"__import__('benchmarks.fresh_bases').fresh_bases.record_claims({str(claimed)!r})"
        sources = [first, *(cell.source for cell in read_page(path).cells)]
        notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, sources)))
        client = NotebookClient(
            notebook,
            timeout=SECONDS_A_CELL,
            kernel_name="python3",
            resources={"metadata": {"path": str(root / "book")}},
        )
        settings = {VARIABLE: str(base), RECORD: str(results), "PYTHONPATH": str(root)}
        with client.setup_kernel(env={**os.environ, **settings}):
            for number, cell in enumerate(notebook.cells):
                try:
                    client.execute_cell(cell, number, store_history=number > 0)
                except CellExecutionError as error:
                    stopped = f"cell {number}: {error.ename}: {error.evalue}"
                claims += [{"cell": number, **line} for line in _lines(claimed)]
                claimed.unlink(missing_ok=True)
                if stopped:
                    break
        found = list({entry["key"]: entry for entry in _lines(results)}.values())
    return {"claims": claims, "results": found, "stopped": stopped}


def _lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return list(map(json.loads, text.splitlines()))


def add(claims: dict[str, Any], base: int, run: dict[str, Any]) -> None:
    """Add a run's claims to those of a page, by place.

    A claim in a loop counts once: it holds if it always does, and its numbers are those of its first
    failure or else of its first time.
    """
    for claim in run["claims"]:
        place = f"cell {claim['cell']}, line {claim['line']}"
        one = claims.setdefault(place, {"sentence": claim["sentence"], "bases": {}})
        known = one["bases"].get(base)
        if known is None or (known["holds"] and not claim["holds"]):
            one["bases"][base] = {name: claim[name] for name in ("holds", "numbers")}


def report(claims: dict[str, Any], base: int, stopped: str) -> list[str]:
    """Lines on a page's claims under a base: which hold, with the numbers under the book's seeds beside.

    Those that hold with the same numbers are only counted. stopped: what has stopped the page, or "".
    """
    lines, same = [], 0
    for place, claim in claims.items():
        missing = {"holds": False, "numbers": "not reached"}
        own, now = (claim["bases"].get(n, missing) for n in (0, base))
        if now["holds"] and now == own:
            same += 1
            continue
        lines.append(f"{'holds' if now['holds'] else 'FAILS'}  {claim['sentence']} ({place})")
        lines += [f"       stored {own['numbers']}", f"       base {base} {now['numbers']}"]
    lines.append(f"{same} further claims hold with the same numbers")
    if stopped:
        lines.append(f"STOPS  {stopped}")
    return lines


def _numbers_of(result: Any) -> list[float]:
    """The numbers of a result in their order."""
    found: list[float] = []

    def read(text: str) -> None:
        found.append(float(text))

    json.loads(json.dumps(result), parse_float=read, parse_int=read, parse_constant=read)
    return found


def beside(stored: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> list[str]:
    """Lines with the first numbers of results, stored ones and those under a base, in the page's order."""
    lines = []
    for old, new in zip(stored, found, strict=False):
        lines.append(f"{new['function']}({', '.join(map(json.dumps, new['arguments']))})")
        lines += [
            " ".join(
                [
                    f"  {name:6}",
                    *(f"{number:.4g}" for number in _numbers_of(entry["result"])[:SHOWN]),
                ]
            )
            for name, entry in (("stored", old), ("now", new))
        ]
    return lines


def main() -> None:
    """Execute a page under the bases, and print what holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("page", help="its name, such as ch5_long")
    parser.add_argument("--bases", type=int, nargs="+", default=list(BASES))
    arguments = parser.parse_args()
    root = Course.find().root
    path = root / "book" / f"{arguments.page}.md"
    if not path.is_file():
        raise BookError(f"There is no page {path}.")
    file = root / RESULTS / f"{arguments.page}.json"
    stored = read_results(file)["results"] if file.is_file() else []
    claims: dict[str, Any] = {}
    for base in [0, *arguments.bases]:
        run = execute(root, path, base)
        add(claims, base, run)
        if base:
            print(f"{arguments.page}, base {base}:", *beside(stored, run["results"]), sep="\n")
            print(*report(claims, base, run["stopped"]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
