"""What the book's first page and the README show: what a check says to four lines, and a picture of that page.

python -m book.pictures draws the picture, from the built book.
"""

from __future__ import annotations

import copy
import html
import io
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from IPython.display import HTML
from nbclient import NotebookClient
from PIL import Image

from autograder.course import Course

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = "/usr/bin/chromium"
BOOK = Path(__file__).parent
PAGE_PICTURE = BOOK / "pictures" / "page.png"

# named whole, so that the page's key covers it: what a check says stands in the notebook
NOTEBOOK = "exercises/ch2_scaled_dot_product/ch2_scaled_dot_product.ipynb"
TASK = "attention"
ANSWER = """\
def attention(
    query, key, value, mask=torch.tensor(True)
):
    scores = query @ key.mT
    d = query.shape[-1]
    weights = {}
    return weights @ value, weights
"""
RIGHT = "softmax((scores / d**0.5).where(mask, -torch.inf), dim=-1)"
LINES = (
    "softmax((scores / d).where(mask, -torch.inf), dim=-1)",
    "softmax((scores / d**0.5).where(mask, -torch.inf), dim=-2)",
    RIGHT,
    "softmax(scores / d**0.5, dim=-1) * mask",
)
# how the lines begin that name a mistake and help
NAMING = ("This looks like", "Hint:")


def checked() -> list[str]:
    """What the exercise's own check prints for the answer with each of the lines, in a kernel of its own."""
    notebook = nbformat.read(Course.find(BOOK).root / NOTEBOOK, as_version=4)
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
    answer, check = cells[TASK], cells[f"{TASK}_values"]
    notebook.cells = notebook.cells[: notebook.cells.index(answer)]
    for line in LINES:
        answer.source = ANSWER.format(f"torch.{line}")
        notebook.cells += [copy.deepcopy(answer), copy.deepcopy(check)]
    # a kernel's remarks on its connection are none of a page's output
    NotebookClient(notebook, timeout=120, allow_errors=True).execute(stderr=subprocess.DEVNULL)
    return ["".join(o.get("text", "") for o in c.outputs).rstrip() for c in notebook.cells[-7::2]]


def named_mistake(output: str) -> str:
    """The lines of a check that name the mistake, from their cross to the hint; all if nothing is wrong."""
    lines = output.split("\n")
    naming = [n for n, line in enumerate(lines) if line.strip().startswith(NAMING)]
    if not naming:
        return output
    cross = max(n for n in range(naming[0]) if lines[n].startswith("✗"))
    return "\n".join(lines[cross : naming[-1] + 1])


def four_lines() -> HTML:
    """The question of the first page: each line is a fold with what the check says to it."""
    choices = "".join(
        f'<details class="choice fold {"right" if line == RIGHT else "wrong"}"><summary><code>'
        f'{html.escape(line)}</code></summary><div class="check-message"><pre>'
        f"{html.escape(named_mistake(said))}</pre></div></details>"
        for line, said in zip(LINES, checked(), strict=True)
    )
    return HTML(
        '<div class="quiz tip admonition" id="quiz-lines"><p class="admonition-title">Check</p>'
        f"<pre>{html.escape(ANSWER.format('…'))}</pre>{choices}</div>"
    )


def draw_page(page: Page, path: Path) -> None:
    """Write a picture of the question, with the first of its lines chosen."""
    page.set_viewport_size({"width": 1000, "height": 1200})
    page.goto((Course.find(BOOK).built_book / "book" / "intro.html").as_uri())
    page.locator("#quiz-lines summary").first.click()
    picture = Image.open(io.BytesIO(page.locator("#one-line-is-missing").screenshot()))
    path.parent.mkdir(exist_ok=True)
    picture.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Draw it with the system's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        draw_page(browser.new_page(device_scale_factor=1.5), PAGE_PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
