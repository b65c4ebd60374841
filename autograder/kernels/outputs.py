"""What a student's kernel displays, made safe and short.

In: messages from a kernel, of which nothing is believed. Out: outputs of a notebook cell.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
from dataclasses import dataclass
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.display.cleaning import clean_html
from autograder.display.pictures import is_picture, pixels, pixels_in
from autograder.runtime.plain_data import valid_text
from autograder.text import displayed_text

# one picture, in characters and in pixels, and the outputs of one cell
MAX_PICTURE, MAX_PIXELS, MAX_OUTPUTS = 2_000_000, 20_000_000, 50
MAX_FRAMES = 50


@dataclass
class Allowance:
    """What all cells of a kernel may still show.

    characters: of text, HTML as it is shown; pictures: characters of these; pixels: of all pictures, four bytes
    each in a browser.
    """

    characters: int = 2_000_000
    pictures: int = 20_000_000
    pixels: int = 100_000_000


class Outputs:
    """Collects a kernel's outputs: only kinds that can be shown safely, only up to a limit.

    characters: of text that may be kept of this cell; left: what may be kept of all cells; folder: the kernel's own,
    whose random name is left out, so that two kernels show the same. is_cut: whether something is missing.
    """

    def __init__(
        self, characters: int, left: Allowance | None = None, folder: str | None = None
    ) -> None:
        self.kept: list[NotebookNode] = []
        self._left = left or Allowance()
        self._characters_left = characters
        self._folder = folder
        self._text_cut = self.is_cut = False

    def _text(self, text: Any) -> str:
        text = text if isinstance(text, str) else ""
        if self._folder:
            text = text.replace(self._folder, "")
        piece = text[: max(0, min(self._characters_left, self._left.characters))]
        self._characters_left -= len(piece)
        self._left.characters -= len(piece)
        self._text_cut |= len(piece) < len(text)
        return displayed_text(valid_text(piece, len(piece)))

    def cut(self) -> None:
        """Say, once, that something is missing."""
        if not self.is_cut:
            self.is_cut = True
            text = "... (the rest of the output is not shown)"
            self.kept.append(nbformat.v4.new_output("stream", name="stdout", text=text))

    def add(self, kind: Any, content: Any) -> None:
        """Take one iopub message; anything malformed raises."""
        if min(self._characters_left, self._left.characters) <= 0 or len(self.kept) >= MAX_OUTPUTS:
            self.cut()
            return
        if kind == "stream":
            name = "stderr" if content["name"] == "stderr" else "stdout"
            text = self._text(content["text"])
            last = self.kept[-1] if self.kept else {}
            if last.get("output_type") == "stream" and last.get("name") == name:
                last["text"] += text
            else:
                self.kept.append(nbformat.v4.new_output("stream", name=name, text=text))
        elif kind == "error":
            # the grader uses the first two, so they come first
            ename, evalue = self._text(content["ename"])[:200], self._text(content["evalue"])
            frames = [self._text(frame) for frame in list(content["traceback"])[:MAX_FRAMES]]
            self.kept.append(
                nbformat.v4.new_output("error", ename=ename, evalue=evalue, traceback=frames)
            )
        elif kind in ("display_data", "execute_result"):
            data = self._displayed(content["data"])
            if data:
                self.kept.append(nbformat.v4.new_output("display_data", data=data))
        if self._text_cut:
            self.cut()

    def _may_show(self, size: int) -> bool:
        """Whether so many pixels more may be shown; says so if not."""
        if size > min(MAX_PIXELS, self._left.pixels):
            self.cut()
            return False
        self._left.pixels -= size
        return True

    def _displayed(self, data: dict) -> dict[str, str]:
        shown = {}
        for kind in ("image/png", "image/jpeg"):
            size = len(data[kind]) if isinstance(data.get(kind), str) else 0
            if size > min(MAX_PICTURE, self._left.pictures):
                self.cut()
            elif size:
                self._left.pictures -= size
                with contextlib.suppress(binascii.Error, ValueError):
                    picture = base64.b64decode(data[kind], validate=False)
                    if is_picture(picture) and self._may_show(pixels(picture)):
                        shown[kind] = base64.b64encode(picture).decode()
        if isinstance(data.get("text/html"), str):
            source = self._text(data["text/html"])
            cleaned = clean_html(source)
            self._left.characters -= len(cleaned) - len(source)
            if self._may_show(pixels_in(cleaned)):
                shown["text/html"] = cleaned
        if isinstance(data.get("text/plain"), str):
            shown["text/plain"] = self._text(data["text/plain"])
        return shown
