"""The book's sections by label: what each is called, and where it can be read."""

from __future__ import annotations

import functools
import html
import os
import re
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

LABELLED = re.compile(r"^\((?P<label>[\w-]+)\)=\n+#+ +(?P<title>.+)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A labelled section: page is the file's name without its ending."""

    label: str
    title: str
    page: str

    @property
    def place(self) -> str:
        """Chapter and title, as one says it."""
        chapter = re.match(r"ch(\d+)_", self.page)
        page = f"chapter {chapter[1]}" if chapter else f"page {self.page}"
        return f'{page}, "{self.title}"'

    def link(self, book: str) -> str:
        """The place as HTML: a link into a built book at an address or path, if that isn't empty."""
        place = html.escape(self.place)
        return f'<a href="{html.escape(self.address(book))}">{place}</a>' if book else place

    def address(self, book: str) -> str:
        """The section's address in a built book that lies at an address or path."""
        return f"{book.rstrip('/')}/book/{self.page}.html#{self.label}"


def book_url() -> str:
    """Where students read the book, from the environment variable BOOK_URL; empty when not set."""
    return os.environ.get("BOOK_URL", "")


def readings(root: Path) -> dict[str, str]:
    """What a student is told to read, by label: the place, and its address where that is known.

    root: the course's folder.
    """
    book = book_url()
    return {
        label: f"{section.place}: {section.address(book)}" if book else section.place
        for label, section in book_sections(root).items()
    }


def colab_url(exercise: str) -> str:
    """Where an exercise opens in Colab, from what GitHub's workflows set; empty elsewhere.

    Colab reads public repositories of github.com by branch or tag.
    """
    repository = os.environ.get("GITHUB_REPOSITORY", "")
    ref = re.fullmatch(r"refs/(?:heads|tags)/(.+)", os.environ.get("GITHUB_REF", ""))
    if os.environ.get("GITHUB_SERVER_URL") != "https://github.com" or not repository or not ref:
        return ""
    path = f"{repository}/blob/{ref[1]}/exercises/{exercise}/{exercise}.ipynb"
    return f"https://colab.research.google.com/github/{urllib.parse.quote(path)}"


def plain_title(title: str) -> str:
    """A heading without its markup; formulas keep what can be read aloud."""
    return re.sub(r"\\sqrt\{(\w+)\}", r"√\1", re.sub(r"\{\w+\}(?=`)", "", title)).translate(
        {ord(mark): None for mark in "`$*"}
    )


@functools.cache
def book_sections(root: Path) -> dict[str, Section]:
    """All labelled sections of a course's book: label -> section."""
    return {
        found["label"]: Section(found["label"], plain_title(found["title"].strip()), path.stem)
        for path in sorted((root / "book").glob("*.md"))
        for found in LABELLED.finditer(path.read_text(encoding="utf-8"))
    }
