"""What a reader of a chapter waits for: requests, bytes, the largest paint, long tasks, shifts.

python -m benchmarks.pages
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from tests.support.browser import BARS, CHROMIUM, served, settle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Response

ROUNDS = 5
SLOWDOWN = 4

# Layout shifts add up within a window of at most 5 s without a pause of 1 s; the worst window counts.
OBSERVER = """
window.seen = {paint: 0, shift: 0, task: 0};
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
new PerformanceObserver(list => list.getEntries().forEach(entry => {
    seen.task = Math.max(seen.task, entry.duration);
})).observe({type: "longtask", buffered: true});
"""


def first_load(browser: Browser, address: str, slowdown: int = SLOWDOWN) -> dict[str, float]:
    """Load a page with an empty cache.

    Args:
        browser: Chromium.
        address: of the page.
        slowdown: how many times slower than this machine its processor is made.

    Returns:
        How many files were fetched and their uncompressed bytes, the largest contentful paint and the
        longest task in seconds, and the layout's shift as browsers count it.
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
    files = [response for response in responses if not response.url.startswith("data:")]
    size = sum(len(response.body()) for response in files)
    context.close()
    return {
        "requests": len(files),
        "bytes": size,
        "largest_contentful_paint_s": seen["paint"] / 1000,
        "longest_task_s": seen["task"] / 1000,
        "layout_shift": seen["shift"],
    }


def main() -> None:
    """Load every chapter several times in turn; report medians, the worst of them, and the bars."""
    from playwright.sync_api import sync_playwright

    from autograder.course import Course
    from autograder.publish import book
    from benchmarks.record import save

    course = Course.find()
    book.build(course)
    chapters = sorted(path.stem for path in course.book.glob("ch*.md"))
    loads: dict[str, list[dict[str, float]]] = {chapter: [] for chapter in chapters}
    with served(course.built_book) as address, sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        version = browser.version
        for _ in range(ROUNDS):
            for chapter in chapters:
                loads[chapter].append(first_load(browser, f"{address}book/{chapter}.html"))
        browser.close()
    medians = {
        chapter: {name: statistics.median(load[name] for load in found) for name in BARS}
        for chapter, found in loads.items()
    }
    worst = {name: max(found[name] for found in medians.values()) for name in BARS}
    save(
        __file__,
        {
            "chapters": medians,
            "worst": worst,
            "bars": BARS,
            "within_bars": all(worst[name] <= BARS[name] for name in BARS),
            "rounds": ROUNDS,
            "cpu_slowdown": SLOWDOWN,
            "viewport": "1280 x 800",
            "chromium": version,
        },
    )


if __name__ == "__main__":
    main()
