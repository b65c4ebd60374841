"""Pages in a browser: served from a folder, and loaded to the end."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = Path("/usr/bin/chromium")
# what a chapter's page may take
BARS = {"bytes": 3_000_000, "largest_contentful_paint_s": 2.5, "layout_shift": 0.05}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on 127.0.0.1; yields its address, which ends with a slash."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def settle(page: Page) -> None:
    """Wait until a page has loaded all it loads and set its formulas."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function(
        """() => !document.querySelector("script[src*=mathjax]")
            || MathJax.startup.promise.then(() => document.fonts.ready).then(() => true)"""
    )
    page.wait_for_load_state("networkidle")
