"""The book's sections by label, with titles and addresses; what its pages say of exercises."""

from __future__ import annotations

import functools
import html
import os
import re
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

LABELLED = re.compile(r"^\((?P<label>[\w-]+)\)=\n+#+ +(?P<title>.+)$", flags=re.MULTILINE)
TITLE = re.compile(r"^# +(.+)$", flags=re.MULTILINE)
HOURS = re.compile(r"^exercise-hours(?:-(\w+))?: (\d+)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A labelled section: page is the file's name without its ending, page_title the title on top of it."""

    label: str
    title: str
    page: str
    page_title: str

    @property
    def place(self) -> str:
        """Chapter and title, as one says it; for a page of no chapter, the page's title in place of it."""
        chapter = re.match(r"ch(\d+)_", self.page)
        page = f"chapter {chapter[1]}" if chapter else f'page "{self.page_title}"'
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


# set while a book is built that leaves out what its exercises ask for
FOR_CLASS = "BOOK_FOR_CLASS"


def is_for_class() -> bool:
    """Whether the book is for a class, from the environment variable BOOK_FOR_CLASS."""
    return bool(os.environ.get(FOR_CLASS))


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


def exercise_hours(root: Path, exercise: str) -> int | None:
    """How long an exercise takes, as a page of its chapter estimates it; None where none does.

    The page with the exercise's name says `exercise-hours: 4`; any may say `exercise-hours-ch2_name: 4`.
    root: the course's folder.
    """
    for page in sorted((root / "book").glob(f"{exercise.partition('_')[0]}_*.md")):
        for name, hours in HOURS.findall(page.read_text(encoding="utf-8")):
            if (name or page.stem) == exercise:
                return int(hours)
    return None


def plain_title(title: str) -> str:
    """A heading without its markup; formulas keep what can be read aloud."""
    return re.sub(r"\\sqrt\{(\w+)\}", r"√\1", re.sub(r"\{\w+\}(?=`)", "", title)).translate(
        {ord(mark): None for mark in "`$*"}
    )


@functools.cache
def book_sections(root: Path) -> dict[str, Section]:
    """All labelled sections of a course's book: label -> section."""
    sections = {}
    for path in sorted((root / "book").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = TITLE.search(text)
        page_title = plain_title(title[1].strip()) if title else path.stem
        for found in LABELLED.finditer(text):
            own = plain_title(found["title"].strip())
            sections[found["label"]] = Section(found["label"], own, path.stem, page_title)
    return sections
