"""How long a reader waits for verdicts in a page: the first, for which Python is loaded, and the next.

    python -m benchmarks.first_verdict

Chromium opens pages of the built book with an empty cache and presses Check on a right answer, twice. Seconds are a
clock's; processor seconds are those of the process that the page and its Python run in, which say more on a
busy machine. Chromium slows down only the thread of the page and not Python's, so for a slower machine this process
is stopped whenever it has computed for more than its part of the time, as if it had a part of one core.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.course import Course, Exercise
from autograder.publish import book
from benchmarks.numpy_in_page import answers_to
from tests.support.browser import CHROMIUM, NO_OTHER_HOST, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# page, exercise, task: one with NumPy, and one with the stand-in for torch
TASKS = (
    ("ch2_scaling", "ch2_scaled_dot_product", "softmax"),
    ("ch2_cost", "ch2_scaled_dot_product", "attention"),
)
PRESS = """async task => {
    const button = document.querySelector(`#task-${task} .task-check`);
    const begun = performance.now();
    button.click();
    while (button.disabled) await new Promise(done => setTimeout(done, 5));
    return (performance.now() - begun) / 1000;
}"""
WRITE = "(node, code) => { node.value = code; node.dispatchEvent(new Event('input')); }"


def renderers() -> list[int]:
    """The processes of pages of the browsers that this process has started."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            parents[int(folder.name)] = int(stat[1])
            if b"--type=renderer" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))

    def is_ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and is_ours(parents[process]))

    return [process for process in found if is_ours(process)]


def processor_seconds(processes: list[int]) -> float:
    """What processes have computed so far."""
    ticks = 0
    for process in processes:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(stat[11]) + int(stat[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def slower(times: int, processes: list[int]) -> Iterator[None]:
    """For its duration, processes together compute for one part of the time only, with all their threads."""
    over = threading.Event()

    def tell(number: int) -> None:
        for process in processes:
            os.kill(process, number)

    def run() -> None:
        begun, before = time.perf_counter(), processor_seconds(processes)
        while not over.wait(0.005):
            allowed = (time.perf_counter() - begun) / times
            is_ahead = processor_seconds(processes) - before > allowed
            tell(signal.SIGSTOP if is_ahead else signal.SIGCONT)

    thread = threading.Thread(target=run)
    if times > 1:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if times > 1:
            thread.join()
            tell(signal.SIGCONT)


def verdicts(
    browser: Browser, address: str, task: str, answer: str, times: int
) -> list[tuple[float, float]]:
    """Seconds and processor seconds from a press to its verdict, of two in a row."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelectorAll('article details').forEach(fold => fold.open = true)")
    page.locator(f"#task-{task} textarea").evaluate(WRITE, answer)
    found = []
    processes = renderers()
    with slower(times, processes):
        for _ in range(2):
            before = processor_seconds(processes)
            seconds = page.evaluate(PRESS, task)
            found.append((seconds, processor_seconds(processes) - before))
            assert "All checks pass." in page.locator(f"#task-{task}").inner_text()
    context.close()
    return found


def main() -> None:
    """Print a line for each task and speed."""
    from playwright.sync_api import sync_playwright

    course = Course.find()
    book.build(course)
    with served(course.built_book) as address, sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", NO_OTHER_HOST]
        )
        for page, name, task in TASKS:
            answer = answers_to(Exercise(course.root, name), task)[""][task]
            for times in (1, 4):
                first, second = verdicts(browser, f"{address}book/{page}.html", task, answer, times)
                print(
                    f"{task}, {times} times slower: first verdict {first[0]:.1f} s "
                    f"(processor {first[1]:.1f} s), next {second[0]:.2f} s ({second[1]:.2f} s)"
                )
        browser.close()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    main()
