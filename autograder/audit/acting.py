"""What on a page made from submissions could act, load something or be read in another order."""

from __future__ import annotations

from html.parser import HTMLParser

from autograder.text import CONTROL

ACTING_TAGS = ("iframe", "object", "embed", "form", "base", "meta")
SCHEMES = ("javascript:", "data:text", "vbscript:")


class _Page(HTMLParser):
    """Collects everything on a page that could act."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag or an attribute that could act."""
        self._in_script = tag == "script"
        if tag in ACTING_TAGS:
            self.found.append((tag, str(attrs)))
        for name, value in attrs:
            target = "".join((value or "").split()).lower()
            if name.startswith("on") or target.startswith(SCHEMES):
                self.found.append((name, target))
            if name in ("src", "href") and target.startswith("data:image/svg"):
                self.found.append((name, target))

    def handle_data(self, data: str) -> None:
        """Note a script's text, and control characters anywhere."""
        if self._in_script and data.strip():
            self.found.append(("script", data))
        if found := CONTROL.search(data.replace("\r", "")):
            self.found.append(("control character", repr(found[0])))

    def handle_endtag(self, tag: str) -> None:
        """Leave a script."""
        self._in_script = False


def acting(page: str) -> list[tuple[str, str]]:
    """What on a page could act: tags, attributes, scripts and control characters, in its order."""
    return _Page(page).found
