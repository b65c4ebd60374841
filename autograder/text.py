"""Text from submissions and kernels: JSON that is valid Unicode, and text as people read it."""

from __future__ import annotations

import html
import json
import re
from typing import Any

# a terminal's colours and movements; every other control character, and those that change the direction
# of writing, so that a text is read in another order than it stands in
TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
DIRECTION = "\u202a-\u202e\u2066-\u2069"
CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTION}]")
# what a notebook's output may hold beside text: carriage returns and a terminal's colours
NOT_DISPLAYED = re.compile(
    rf"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f{DIRECTION}]|\x1b(?!\[[0-?]*[ -/]*[@-~])"
)


def valid_json(text: str) -> Any:
    """The data in a JSON text, all of whose keys and texts are valid Unicode.

    Raises ValueError or RecursionError like json.loads.
    """
    # the command line uses this module, too, and numpy would delay its help
    from autograder.runtime.plain_data import valid_text

    data = json.loads(valid_text(text, len(text)))
    if "\\ud" in text.lower():
        # an escape may stand for half of a surrogate pair
        again = json.dumps(data, ensure_ascii=False)
        data = json.loads(valid_text(again, len(again)))
    return data


def plain_text(text: str) -> str:
    """A text for a page or a terminal: no colours, and a replacement character for control characters."""
    return CONTROL.sub("\ufffd", TERMINAL.sub("", text))


def displayed_text(text: str) -> str:
    """What a kernel displays, without control characters that pages don't know."""
    # bars of text go back by backspaces, which no page does
    return NOT_DISPLAYED.sub("\ufffd", text.replace("\b", ""))


def as_markdown(text: str) -> str:
    """Markdown that shows a text as it is, on one line: nothing in it is markup, a link or a formula."""
    line = " ".join(text.split())
    return re.sub(r"[!-/:-@\[-`{-~]", lambda found: f"&#{ord(found[0])};", line)


def fenced(text: str) -> str:
    """Markdown that shows a text as it is, as a block: nothing in it is markup, a link or a name to notify."""
    ticks = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{ticks}text\n{plain_text(text)}\n{ticks}"


def with_code(text: str) -> str:
    """HTML that shows a text as it is, except that what stands in backticks on one line is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))
