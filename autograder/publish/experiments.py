"""Experiments of pages: what a result depends on, where it is kept, and which are stored with the course.

A result is kept in `_build` (`book/kept.py`) or, if it is small, stored in `book/results/PAGE.json`
(`book/experiments.py`). A page that is executed only reads those files; `python -m autograder experiments`
executes pages and writes what they have asked for.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from autograder.dependencies import Dependencies
from autograder.errors import BookError
from autograder.files import digest_of, write_whole
from autograder.programs import plain_version
from autograder.publish.page_source import PageSource, read_page
from autograder.publish.seed_base import VARIABLE, seed_base

# pages are executed in book/, with the course's folder on the path
FOLDERS = ("book", "")
KEPT = Path("_build", ".jupyter_cache", "kept")
RESULTS = Path("book", "results")
MODULE, STORED = "experiments", "stored"
# whose minor versions count for stored results
COMPUTING = ("numpy", "torch")
LARGEST_FILE, LARGEST_SUM = 50_000, 3_000_000  # bytes
# set for pages that `python -m autograder experiments` executes: a file that gets a line for each result,
# and, if it isn't empty, that stored results aren't read
RECORD, ANEW = "EXPERIMENTS_RECORD", "EXPERIMENTS_ANEW"
SECONDS_A_CELL = 7200
# how far apart the numbers of two machines may be, as a share of the result's largest: another processor
# rounds in another way, and training amplifies it
TOLERANCE = 0.1
PLAIN = (bool, int, float, str, bytes, type(None))


def code_of_course(used: Dependencies) -> dict[str, Any]:
    """The code that pages and experiments depend on, without the grader's.

    What they import of that reads kept results and seeds, which are in the keys themselves.
    """
    key = used.key()
    return key | {"modules": [m for m in key["modules"] if not m[0].startswith("autograder/")]}


# One experiment, in the process of its page -------------------------------------------------------


class Experiment:
    """A function of a page or of the course with its arguments, and what its result depends on.

    Args:
        root: The course's folder.
        function: It may call functions and classes of the page and of the course, and use plain
            constants of the page.
        arguments: What JSON can hold.
    """

    def __init__(self, root: Path, function: Callable[..., Any], arguments: Sequence[Any]) -> None:
        self.function, self.arguments = function, arguments
        used = Dependencies(root, FOLDERS)
        self._page = root / "__main__"
        self._values = self._add(used)
        self._code, self._modules = code_of_course(used), used.modules

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    def parts(self) -> dict[str, Any]:
        """What the result depends on, beside versions of packages, as JSON can hold it."""
        return {"values": self._values, "code": self._code, "arguments": self.arguments}

    def unchanged(self, since: float) -> bool:
        """Whether no module that it uses has been edited since a time, after which it was imported."""
        paths = {module.path for module in self._modules} - {self._page}
        return all(path.stat().st_mtime < since for path in paths)

    def _add(self, used: Dependencies) -> dict[str, str]:
        """Add the function, and what it uses; returns the plain values of the page among it, as text."""
        if self.function.__module__ != "__main__":
            used.add(self.function.__module__, self.name)
            return {}
        import __main__

        page = vars(__main__)
        plain = {name for name, value in page.items() if _is_plain(value)}
        program = "\n".join(_cells(page))
        met = used.add_definition(self._page, program, self.name, plain)
        return {name: repr(page[name]) for name in met}


def _cells(page: Mapping[str, Any]) -> Iterator[str]:
    """The programs of the cells that have been run, without those that are none."""
    for cell in page["In"]:
        with contextlib.suppress(SyntaxError):
            ast.parse(cell)
            yield cell


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    return isinstance(value, (*PLAIN, range))


def computed_once(
    experiment: Experiment, folder: Path, packages: Mapping[str, str], since: float
) -> str:
    """The result as JSON, computed only if it isn't kept in a folder already.

    packages: versions that count. since: see `unchanged`; a result of code that was edited meanwhile is
    not kept. Whoever asks for a result that another process computes waits for it. Raises TypeError when
    JSON can't hold the result or an argument.
    """
    key = digest_of({**experiment.parts(), "packages": packages})
    path = folder / f"{experiment.name}-{key[:16]}.json"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if path.is_file():
            return path.read_text(encoding="utf-8")
        result = json.dumps(experiment.function(*experiment.arguments), default=_to_json)
        if experiment.unchanged(since):
            write_whole(path, result)
        return result


def _to_json(value: Any) -> Any:
    """What the classes of book/experiments.py are as JSON."""
    if not hasattr(value, "to_json"):
        raise TypeError(f"a result has to be what JSON can hold, not {type(value).__name__}")
    return value.to_json()


def minor_versions() -> dict[str, str]:
    """The versions that count for stored results, such as 2.13."""
    return {package: ".".join(plain_version(package).split(".")[:2]) for package in COMPUTING}


def stored_or_computed(
    root: Path, function: Callable[..., Any], arguments: Sequence[Any], since: float
) -> str:
    """The result of a page's experiment as JSON, from the stored ones or else computed, with a line."""
    experiment = Experiment(root, function, arguments)
    depends = {**experiment.parts(), "versions": minor_versions(), "seed_base": seed_base()}
    key = digest_of(depends)[:16]
    found = None if os.environ.get(ANEW) else _stored(root, key)
    record = os.environ.get(RECORD)
    if found is None:
        versions = {**minor_versions(), "seed_base": str(seed_base())}
        result = json.loads(computed_once(experiment, root / KEPT, versions, since))
        found = {"function": experiment.name, "key": key, "arguments": arguments, "result": result}
        if not record:
            print(not_stored(experiment.name))
    if record and experiment.unchanged(since):
        with Path(record).open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
    return json.dumps(found["result"])


def not_stored(function: str) -> str:
    """The line that says that a result was computed."""
    return f"{function}: computed here; {RESULTS.as_posix()} has no result of this code and these seeds."


def _stored(root: Path, key: str) -> dict[str, Any] | None:
    # a page doesn't know its name, and the key is the same in no two files
    for path in sorted((root / RESULTS).glob("*.json")):
        for entry in read_results(path)["results"]:
            if entry["key"] == key:
                return entry
    return None


def read_results(path: Path) -> dict[str, Any]:
    """What a file of stored results holds. Raises BookError when it can't be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BookError(
            f"{path} can't be read: {error}. Restore it from the repository, or delete it and run "
            f"`python -m autograder experiments {path.stem}`."
        ) from error


# Stored results, seen from outside ----------------------------------------------------------------


@dataclass(frozen=True)
class StoredPage:
    """A page that asks for stored results. path: its source; file: of its results."""

    root: Path
    path: Path
    source: PageSource

    @property
    def file(self) -> Path:
        """The page's results."""
        return self.root / RESULTS / f"{self.path.stem}.json"

    def digest(self) -> str:
        """A digest of the statements that ask for results, with all that they depend on."""
        program = "\n".join(cell.program() for cell in self.source.cells)
        used = Dependencies(self.root, FOLDERS)
        used.add_uses(self.path, program, STORED)
        return digest_of({"code": code_of_course(used), "versions": minor_versions()})[:16]


def stored_pages(root: Path) -> list[StoredPage]:
    """The pages whose cells import `stored`, in the order of their names."""
    found = []
    for path in sorted((root / "book").glob("*.md")):
        if f"from {MODULE} import" in path.read_text(encoding="utf-8"):
            source = read_page(path)
            if any(_asks(cell.tree()) for cell in source.cells):
                found.append(StoredPage(root, path, source))
    return found


def _asks(tree: ast.Module) -> bool:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return any(n.module == MODULE and STORED in {a.name for a in n.names} for n in imports)


def stale(root: Path) -> list[str]:
    """What is wrong with the stored results, one sentence each, without executing a page."""
    pages = {page.file: page for page in stored_pages(root)}
    files = sorted((root / RESULTS).glob("*.json"))
    place = lambda path: path.relative_to(root).as_posix()
    found = [f"{place(file)} belongs to no page." for file in files if file not in pages]
    for file, page in pages.items():
        if not file.is_file():
            found.append(f"{place(page.path)} has no stored results.")
        elif read_results(file)["source"] != page.digest():
            found.append(f"{place(file)} is stale.")
    found += [
        f"{place(file)} has more than {LARGEST_FILE:,} bytes."
        for file in files
        if file.stat().st_size > LARGEST_FILE
    ]
    if sum(file.stat().st_size for file in files) > LARGEST_SUM:
        found.append(f"{RESULTS.as_posix()} has more than {LARGEST_SUM:,} bytes.")
    return found


def asked_for(page: StoredPage, anew: bool = False) -> list[dict[str, Any]]:
    """Execute a page, and return the results that it has asked for, each once, in their order.

    anew: don't read stored ones. Raises BookError when a cell raises, a claim's too, or when code was edited
    meanwhile.
    """
    if seed_base():
        raise BookError(f"Results are stored for the seeds themselves: run it without {VARIABLE}.")
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record"
        _execute(page, {RECORD: str(record), ANEW: "yes" if anew else ""})
        text = record.read_text(encoding="utf-8") if record.is_file() else ""
    found = {entry["key"]: entry for entry in map(json.loads, text.splitlines())}
    if not found:
        raise BookError(
            f"{page.path} has asked for no result, or a module was edited while it ran: run it again."
        )
    return list(found.values())


def _execute(page: StoredPage, settings: Mapping[str, str]) -> None:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    cells = [nbformat.v4.new_code_cell(cell.source) for cell in page.source.cells]
    client = NotebookClient(
        nbformat.v4.new_notebook(cells=cells),
        timeout=SECONDS_A_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(page.path.parent)}},
    )
    try:
        client.execute(env={**os.environ, "PYTHONPATH": str(page.root), **settings})
    except CellExecutionError as error:
        raise BookError(f"{page.path}: {error.ename}: {error.evalue}") from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise BookError(f"{page.path}: {str(error).strip().splitlines()[0]}") from error


def write(page: StoredPage) -> list[dict[str, Any]]:
    """Store what a page asks for, computing what is new, and return it.

    Raises BookError when that is too much, OutputError when the file can't be written.
    """
    results = asked_for(page)
    lines = ",\n".join(json.dumps(entry) for entry in results)
    text = f'{{"source": "{page.digest()}", "results": [\n{lines}\n]}}\n'
    if len(text) > LARGEST_FILE:
        raise BookError(
            f"The results of {page.path} take {len(text):,} bytes and may take {LARGEST_FILE:,}: return "
            "only the numbers that the page shows."
        )
    write_whole(page.file, text)
    return results


def compare(page: StoredPage) -> list[str]:
    """Compute what a page asks for anew; where stored results are others, one sentence each.

    Raises BookError when a cell raises, as a claim that the new results contradict.
    """
    known = {entry["key"]: entry for entry in read_results(page.file)["results"]}
    found = []
    for entry in asked_for(page, anew=True):
        what = f"{entry['function']}({', '.join(map(json.dumps, entry['arguments']))})"
        if entry["key"] not in known:
            found.append(f"{what} is not stored.")
            continue
        old, new = _numbers(known[entry["key"]]["result"]), _numbers(entry["result"])
        largest = max([abs(n) for n in old if math.isfinite(n)], default=0.0)
        apart = [abs(a - b) for a, b in zip(old, new, strict=False) if repr(a) != repr(b)]
        if len(old) != len(new):
            found.append(f"{what} has {len(new)} numbers, not {len(old)}.")
        elif any(not difference <= TOLERANCE * largest for difference in apart):
            found.append(
                f"{what} differs by {max(apart):.3g}; its largest number is {largest:.3g}."
            )
    return found


def _numbers(result: Any) -> list[float]:
    match result:
        case dict():
            return _numbers(list(result.values()))
        case list():
            return [number for part in result for number in _numbers(part)]
        case bool() | None | str():
            return []
    return [float(result)]
