"""What of a built page comes out on paper: results, answers and figures, counted in Chromium's PDF."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Page

MARGIN = 1.5 / 29.7  # of A4
KINDS = ("result", "answer", "figure", "caption", "code", "folded code")

# A mark is a text such as @figure:3@ in what it marks, so that the PDF tells whether that is printed.
MARKS = """() => {
    const counts = {};
    const mark = (kind, put) => {
        counts[kind] = (counts[kind] || 0) + 1;
        const node = document.createElement("div");
        node.style = "font: 8px/1 monospace";
        node.textContent = `@${kind}:${counts[kind]}@`;
        put(node);
    };
    const all = (selector) => document.querySelectorAll(`article ${selector}`);
    all(".cell_output").forEach(one => mark("result", node => one.prepend(node)));
    all(":is(.sd-summary-content, details.fold:not(.reference-code) > summary)").forEach(one =>
        mark("answer", node => one.matches("summary") ? one.after(node) : one.prepend(node)));
    all(".cell_input").forEach(one => {
        const folded = one.closest("details.hide:not([open])");
        mark(folded ? "folded code" : "code", node => one.prepend(node));
    });
    all("figure").forEach(one => {
        const caption = one.querySelector("figcaption");
        const drawing = one.querySelector(".still") || one.querySelector("svg");
        mark("figure", node => {
            if (!drawing.matches("svg")) return drawing.prepend(node);
            const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
            const box = drawing.viewBox.baseVal;
            text.setAttribute("x", box.x + box.width / 2);
            text.setAttribute("y", box.y + box.height / 2);
            text.style = "font: 8px monospace; fill: #000";
            text.textContent = node.textContent;
            drawing.append(text);
        });
        mark("caption", node => caption.append(node));
    });
    return counts;
}"""


@dataclass(frozen=True)
class Paper:
    """A printed page.

    Attributes:
        on_page: how many things of each kind the page has.
        sheets: the number of the sheet on which each thing is, by its mark such as `figure:3`.
        text: all that is printed.
    """

    on_page: dict[str, int]
    sheets: dict[str, int]
    text: str

    def on_paper(self, kind: str) -> int:
        """How many things of a kind are printed."""
        return sum(mark.startswith(f"{kind}:") for mark in self.sheets)


def filled(page: Page) -> list[float]:
    """How far down each sheet of a page on A4 has ink, as a share of its height without margins."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.pdf"
        page.pdf(path=path, format="A4")
        subprocess.run(["pdftoppm", "-r", "20", "-gray", str(path), f"{folder}/sheet"], check=True)
        found = []
        for sheet in sorted(Path(folder).glob("sheet*")):
            with Image.open(sheet) as picture:
                ink = picture.point(lambda grey: 255 * (grey < 200)).getbbox()
                margin = picture.height * MARGIN
                found.append(((ink[3] if ink else 0) - margin) / (picture.height - 2 * margin))
    return found


def printed(page: Page) -> Paper:
    """Mark what an opened page holds, print it on A4, and read the PDF with poppler's pdftotext."""
    on_page = dict.fromkeys(KINDS, 0) | page.evaluate(MARKS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.pdf"
        page.pdf(path=path, format="A4")
        command = ["pdftotext", "-layout", str(path), "-"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sheets = {
        mark: number
        for number, sheet in enumerate(text.split("\f"), 1)
        for mark in re.findall(r"@([a-z ]+:\d+)@", sheet)
    }
    return Paper(on_page, sheets, text)
