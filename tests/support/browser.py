"""Pages in a browser: served from a folder, and loaded to the end."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# where Playwright keeps its own browsers, the newest last, and where systems have one
PLAYWRIGHTS = (
    ".cache/ms-playwright/chromium-*/chrome-linux*/chrome",
    "Library/Caches/ms-playwright/chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
APPLICATIONS = ("Chromium", "Google Chrome")
# an argument for a browser: no name of another machine is found
NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
# what a chapter's page may take
BARS = {
    "requests": 25,
    "bytes": 1_000_000,
    "largest_contentful_paint_s": 2.5,
    "longest_task_s": 0.8,
    "layout_shift": 0.05,
}


def chromium(home: Path, applications: Path = Path("/Applications")) -> Path | None:
    """The program of a Chromium: Playwright's in a home folder, or the system's; None without one."""
    if own := os.environ.get("PLAYWRIGHT_BROWSERS_PATH"):
        places = [Path(own).glob(pattern.partition("ms-playwright/")[2]) for pattern in PLAYWRIGHTS]
    else:
        places = [home.glob(pattern) for pattern in PLAYWRIGHTS]
    found = [path for place in places for path in sorted(place, reverse=True)]
    found += [Path(path) for path in map(shutil.which, PROGRAMS) if path]
    found += [applications / f"{name}.app/Contents/MacOS/{name}" for name in APPLICATIONS]
    return next((path for path in found if path.is_file()), None)


CHROMIUM = chromium(Path.home())


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


@contextlib.contextmanager
def listening(page: Page, **listeners: Callable) -> Iterator[None]:
    """Let functions hear the events of a tab, by the names of these, and leave the tab empty for a next page.

    A tab that shows many pages one after another takes less than new ones, by a second of processor time each.
    """
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        yield
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        # so that the next address is loaded, even if it is another section of this page
        page.goto("about:blank")


def settle(page: Page) -> None:
    """Wait until a page has loaded all it loads, fonts too."""
    page.wait_for_load_state("load")
    page.evaluate("document.fonts.ready.then(() => true)")
