"""Executing the book's pages side by side, before Sphinx, which would execute them one by one.

In: pages and the folder of the execution cache. Out: the executed cells in that cache, where myst-nb
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
from autograder.progress import progress

SECONDS_A_CELL = 300


def execute_pages(
    pages: Sequence[Path], cache: Path, environment: Mapping[str, str], workers: int | None = None
) -> None:
    """Execute those pages whose cells aren't in the cache, each in a process of its own.

    Raises BookError when such a process fails before it comes to the cells. environment: of these processes; workers: pages at a time, by default one a core.
    """
    cache.mkdir(parents=True, exist_ok=True)

    def run(page: Path) -> None:
        command = [sys.executable, "-m", "autograder.publish.execute", str(cache), str(page)]
        done = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BookError(f"{page} can't be executed: {done.stderr.strip()[-500:]}")

    # the longest first, so that no core is idle at the end
    ordered = sorted(pages, key=lambda page: -page.stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as threads:
        running = [threads.submit(run, page) for page in ordered]
        with progress("Executing the book's pages") as bar:
            done = concurrent.futures.as_completed(running)
            for future in bar.track(done, total=len(running)):
                future.result()


def _execute(cache: str, page: Path) -> None:
    """Execute one page and cache it, as myst-nb does."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn
    from jupyter_cache.executors.utils import single_nb_execution
    from myst_nb.core.read import myst_nb_reader_plugin

    store = get_cache(cache)
    notebook = myst_nb_reader_plugin(str(page))
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
    _execute(sys.argv[1], Path(sys.argv[2]).resolve())
