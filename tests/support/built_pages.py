"""The pages of the built book, parsed once for all tests."""

from __future__ import annotations

import functools
from pathlib import Path

import bs4


@functools.cache
def parsed(path: Path) -> bs4.BeautifulSoup:
    """A page without what stands there for want of a script; all tests share it, and none changes it."""
    page = bs4.BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    for instead in page.find_all("noscript"):
        instead.decompose()
    return page
