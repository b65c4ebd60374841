"""Pages in a browser: served from a folder, loaded, and measured."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response


CHROMIUM = Path("/usr/bin/chromium")
SLOWDOWN = 4
BARS = {"bytes": 3_000_000, "largest_contentful_paint_s": 2.5, "layout_shift": 0.05}

# Layout shifts add up within a window of at most 5 s without a pause of 1 s; the worst window counts.
OBSERVER = """
window.seen = {paint: 0, shift: 0};
let sum = 0, begun = 0, last = 0;
new PerformanceObserver(list => list.getEntries().forEach(entry => {
    if (entry.hadRecentInput) return;
    if (entry.startTime - last > 1000 || entry.startTime - begun > 5000) {
        sum = 0;
        begun = entry.startTime;
    }
    last = entry.startTime;
    sum += entry.value;
    seen.shift = Math.max(seen.shift, sum);
})).observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => list.getEntries().forEach(entry => {
    seen.paint = entry.startTime;
})).observe({type: "largest-contentful-paint", buffered: true});
"""


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


def first_load(browser: Browser, address: str, slowdown: int = SLOWDOWN) -> dict[str, float]:
    """Load a page with an empty cache.

    Args:
        browser: Chromium.
        address: of the page.
        slowdown: how many times slower than this machine its processor is made.

    Returns:
        Uncompressed bytes of everything that was fetched, the largest contentful paint in seconds,
        and the layout's shift as browsers count it.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    page.add_init_script(OBSERVER)
    responses: list[Response] = []
    page.on("response", lambda response: responses.append(response))
    page.goto(address)
    settle(page)
    page.wait_for_timeout(500)
    seen = page.evaluate("seen")
    size = sum(len(response.body()) for response in responses)
    context.close()
    return {
        "bytes": size,
        "largest_contentful_paint_s": seen["paint"] / 1000,
        "layout_shift": seen["shift"],
    }
