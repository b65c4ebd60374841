"""Executing the book's pages side by side, before Sphinx, which would execute them one by one.

In: pages, and the cache of executed pages. Out: the executed cells in that cache, where myst-nb
finds them. A page whose cells raise is left out: Sphinx executes it again and reports the error.
"""

from __future__ import annotations

import concurrent.futures
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.errors import BookError
from autograder.package import module_command
from autograder.progress import progress
from autograder.publish.cache_key import with_key

SECONDS_A_CELL = 300


def execute_pages(root: Path, pages: Sequence[Path], environment: Mapping[str, str]) -> None:
    """Execute those pages whose cells aren't in the cache, each in a process of its own.

    root: the course's folder; environment: of these processes, of which as many run as there are
    cores. Raises BookError when one fails before it comes to the cells.
    """
    from jupyter_cache.cache.db import create_db

    cache_folder(root).mkdir(parents=True, exist_ok=True)
    # its tables are made before the processes start: two that find none would both make them, and
    # the second would fail
    create_db(cache_folder(root))

    def run(page: Path) -> None:
        command = module_command("autograder.publish.execute_pages", str(root), str(page))
        done = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BookError(f"{page} can't be executed: {done.stderr.strip()[-500:]}")

    # the longest first, so that no core is idle at the end
    ordered = sorted(pages, key=lambda page: -page.stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        running = [threads.submit(run, page) for page in ordered]
        with progress("Executing the book's pages") as bar:
            done = concurrent.futures.as_completed(running)
            for future in bar.track(done, total=len(running)):
                future.result()


def cache_folder(root: Path) -> Path:
    """Where jupyter-book keeps executed pages."""
    return root / "_build" / ".jupyter_cache"


def _execute(root: Path, page: Path) -> None:
    """Execute one page and cache it, as myst-nb does."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution
    from myst_nb.core.read import read_myst_markdown_notebook

    store = get_cache(str(cache_folder(root)))
    text = with_key(root, page, page.read_text(encoding="utf-8"))
    notebook = read_myst_markdown_notebook(text, add_source_map=True, path=str(page))
    try:
        store.match_cache_notebook(notebook)
    except KeyError:
        result = single_nb_execution(
            notebook, cwd=str(page.parent), timeout=SECONDS_A_CELL, allow_errors=False
        )
        if result.err is None:
            bundle = CacheBundleIn(notebook, str(page), data={"execution_seconds": result.time})
            store.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


if __name__ == "__main__":
    _execute(Path(sys.argv[1]), Path(sys.argv[2]))
