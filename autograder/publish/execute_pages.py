"""Executing the book's pages side by side, before Sphinx, which would execute them one by one.

In: pages, and the cache of executed pages. Out: the executed cells in that cache, where myst-nb
finds them. A page whose cells raise is left out: Sphinx executes it again and reports the error.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import BookError
from autograder.package import module_command
from autograder.progress import progress
from autograder.publish.cache_key import with_key

if TYPE_CHECKING:
    from jupyter_cache.base import CacheBundleIn
    from nbformat import NotebookNode

SECONDS_A_CELL = 300
# a kernel sets it when it starts, which is too late where matplotlib is imported before
FIGURES = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}


def execute_pages(root: Path, pages: Sequence[Path], environment: Mapping[str, str]) -> None:
    """Execute those pages whose cells aren't in the cache, as many at a time as there are cores.

    root: the course's folder; environment: of the process that does it, and so of the kernels. Raises
    BookError when it fails before it comes to a page's cells.
    """
    missing = [page for page in pages if not _is_executed(root, page)]
    if not missing:
        return
    # the longest first, so that no core is idle at the end
    ordered = sorted(missing, key=lambda page: -page.stat().st_size)
    # a process of its own: its fork server has imported what pages need
    command = module_command("autograder.publish.execute_pages", str(root), *map(str, ordered))
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            env={**environment, **FIGURES},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
        progress("Executing the book's pages") as bar,
    ):
        assert process.stdout is not None
        for _ in bar.track(process.stdout, total=len(ordered)):
            pass
        if process.wait():
            errors.seek(0)
            raise BookError(f"The pages can't be executed: {errors.read().strip()[-500:]}")


def cache_folder(root: Path) -> Path:
    """Where jupyter-book keeps executed pages."""
    return root / "_build" / ".jupyter_cache"


def _notebook(root: Path, page: Path) -> NotebookNode:
    """A page as myst-nb reads it, with its key."""
    from myst_nb.core.read import read_myst_markdown_notebook

    text = with_key(root, page, page.read_text(encoding="utf-8"))
    return read_myst_markdown_notebook(text, add_source_map=True, path=str(page))


def _is_executed(root: Path, page: Path) -> bool:
    from jupyter_cache import get_cache

    try:
        get_cache(str(cache_folder(root))).match_cache_notebook(_notebook(root, page))
    except KeyError:
        return False
    return True


def _execute(page: Path, notebook: NotebookNode) -> CacheBundleIn | None:
    """Execute a page's notebook, as myst-nb does; None where a cell raises."""
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution

    from autograder.publish.page_kernel import end_kernel, kernel_manager

    manager = kernel_manager()
    try:
        result = single_nb_execution(
            notebook,
            cwd=str(page.parent),
            timeout=SECONDS_A_CELL,
            allow_errors=False,
            km=manager,
        )
    finally:
        if manager:
            asyncio.run(end_kernel(manager))
    if result.err is not None:
        return None
    return CacheBundleIn(notebook, str(page), data={"execution_seconds": result.time})


def _execute_all(root: Path, pages: Sequence[Path]) -> None:
    """Execute pages side by side, cache each, and print a line after it.

    This thread alone writes the cache: jupyter-cache looks for old records after each new one, and
    deletes those that another thread adds meanwhile.
    """
    from jupyter_cache import get_cache

    store = get_cache(str(cache_folder(root)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        running = {threads.submit(_execute, page, _notebook(root, page)): page for page in pages}
        for future in concurrent.futures.as_completed(running):
            if error := future.exception():
                threads.shutdown(cancel_futures=True)
                sys.exit(f"{running[future]}: {type(error).__name__}: {error}")
            if bundle := future.result():
                store.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            print(running[future], flush=True)


if __name__ == "__main__":
    _execute_all(Path(sys.argv[1]), [Path(page) for page in sys.argv[2:]])
