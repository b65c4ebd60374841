"""Makes the pictures that are committed: of a notebook's check for the README, and the favicon as PNG.

What the check says is kept as text, too, for the book's first page.

python -m book.pictures
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.course import Course
from autograder.exercises import reference_answers, released

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = "/usr/bin/chromium"
BOOK = Path(__file__).parent
NOTEBOOK_PICTURE = BOOK / "pictures" / "named_mistake.gif"
NAMED_MISTAKE = NOTEBOOK_PICTURE.with_suffix(".txt")
FAVICON = BOOK / "_static" / "favicon.png"

EXERCISE = "ch2_scaled_dot_product"
FUNCTION = "attention_numpy"
CHECK = "attention_numpy_values"
# an answer as people write it: it divides by d_k, not by its square root
ANSWER = """\
def attention_numpy(query, key, value, mask=None):
    scores = query @ np.swapaxes(key, -1, -2) / key.shape[-1]
    weights = softmax(scores)
    return weights @ value, weights
"""
# how the lines begin that name a mistake and help
NAMING = ("This looks like", "Hint:")
KEYSTROKES = 6  # characters of the answer that a frame adds
WIDTH, HEIGHT = 930, 500

STYLE = """
body { background: #fff; color: #1f2328; font: 14px/1.45 sans-serif; margin: 0; padding: 14px 18px; }
.cell { border: 1px solid #d0d7de; border-radius: 4px; margin: 0 0 8px; padding: 7px 10px; }
.cell.active { border-left: 4px solid #8b2aec; padding-left: 7px; }
pre { font: 13px/1.45 monospace; margin: 0; white-space: pre-wrap; }
.named { background: #f1e4fd; }
.folded { color: #59636e; }
"""


def check_output() -> str:
    """What the exercise's own check prints for the answer, in a kernel of its own."""
    exercise = Course.find().exercise(EXERCISE)
    notebook = released(exercise)
    answers = reference_answers(exercise) | {FUNCTION: ANSWER}
    for place, cell in enumerate(notebook.cells):
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in ("softmax", FUNCTION):
            cell.source = answers[name]
        elif name == CHECK:
            notebook.cells = notebook.cells[: place + 1]
            break
    try:
        NotebookClient(notebook, timeout=60).execute()
    except CellExecutionError:
        # a check that isn't passed stops the notebook
        printed = [one.text for one in notebook.cells[-1].outputs if one.output_type == "stream"]
        return "".join(printed).rstrip()
    raise ValueError("The check accepts the answer, so there is no mistake to show.")


def named_mistake(output: str) -> str:
    """The part of a check's output that names the mistake, to its hint."""
    lines = output.split("\n")
    last = max(n for n, line in enumerate(lines) if line.strip().startswith(NAMING))
    return "\n".join(lines[: last + 1]) + "\n"


def cell_html(content: str, active: bool = False) -> str:
    """A cell of the notebook."""
    return f'<div class="cell{" active" if active else ""}">{content}</div>'


def steps(output: str) -> Iterator[tuple[str, int]]:
    """The picture's frames: the body of a page, and for how many milliseconds it is shown."""
    colours = HtmlFormatter(style="default", noclasses=True, nobackground=True)
    check = cell_html(
        f'<pre>%%autotest {CHECK}\n<span class="folded">… the check\'s lines, as in the notebook</span></pre>'
    )
    for end in [*range(0, len(ANSWER), KEYSTROKES), len(ANSWER)]:
        typed = highlight(ANSWER[:end], PythonLexer(), colours).replace("\n</pre>", "▏\n</pre>")
        yield cell_html(typed, active=True) + check, 70
    code = cell_html(highlight(ANSWER, PythonLexer(), colours))
    running = check.replace('"cell"', '"cell active"')
    yield code + running, 700
    lines = output.split("\n")
    named = {n for n, line in enumerate(lines) if line.strip().startswith(NAMING)}
    for shown, time in ((2, 1200), (max(named) + 1, 3500), (len(lines), 6000)):
        text = "\n".join(
            f'<span class="named">{html.escape(line)}</span>' if n in named else html.escape(line)
            for n, line in enumerate(lines[:shown])
        )
        yield f"{code}{running}<pre>{text}</pre>", time


def draw_notebook(page: Page, path: Path) -> None:
    """Write the animation: an answer is typed, and the check of its cell says what is wrong with it."""
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    page.set_content(f"<style>{STYLE}</style><div></div>")
    frames, times = [], []
    for body, time in steps(check_output()):
        page.locator("div").first.evaluate("(node, body) => node.innerHTML = body", body)
        height = page.locator("body").evaluate("node => node.scrollHeight")
        assert height <= HEIGHT, f"{height} pixels are needed"
        picture = Image.open(io.BytesIO(page.screenshot()))
        frames.append(picture.convert("RGB").quantize(64, dither=Image.Dither.NONE))
        times.append(time)
    path.parent.mkdir(exist_ok=True)
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, loop=0)


def draw_favicon(page: Page, path: Path) -> None:
    """Write the favicon as a PNG of 180 x 180 pixels, for what can't show an SVG."""
    page.set_viewport_size({"width": 180, "height": 180})
    drawing = (BOOK / "_static" / "favicon.svg").read_text(encoding="utf-8")
    page.set_content(f"<style>body {{ margin: 0 }}</style>{drawing}")
    path.write_bytes(page.screenshot(omit_background=True))


def main() -> None:
    """Draw both with the system's Chromium, and write the text."""
    NAMED_MISTAKE.write_text(named_mistake(check_output()), encoding="utf-8")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        draw_notebook(browser.new_page(device_scale_factor=1.5), NOTEBOOK_PICTURE)
        draw_favicon(browser.new_page(), FAVICON)
        browser.close()


if __name__ == "__main__":
    main()
