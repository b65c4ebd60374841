"""What a reader of a chapter waits for: bytes, the largest contentful paint, the layout's shifts.

python -m benchmarks.pages
"""

from __future__ import annotations

import statistics

from tests.support.browser import BARS, CHROMIUM, SLOWDOWN, first_load, served

ROUNDS = 5


def main() -> None:
    """Load every chapter several times in turn; report medians, the worst of them, and the bars."""
    from playwright.sync_api import sync_playwright

    from autograder.publish import book
    from benchmarks.record import save

    book.build()
    chapters = sorted(path.stem for path in (book.HTML / "book").glob("ch*.html"))
    loads: dict[str, list[dict[str, float]]] = {chapter: [] for chapter in chapters}
    with served(book.HTML) as address, sync_playwright() as tools:
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
            "within_bars": all(worst[name] < BARS[name] for name in BARS),
            "rounds": ROUNDS,
            "cpu_slowdown": SLOWDOWN,
            "viewport": "1280 x 800",
            "chromium": version,
        },
    )


if __name__ == "__main__":
    main()
