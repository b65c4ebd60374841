"""Text from submissions and kernels, made valid Unicode where it comes in, and quoted in Markdown."""

from __future__ import annotations

import json
import re
from typing import Any


def valid_text(text: str) -> str:
    """A text that UTF-8 can encode: every lone surrogate becomes a question mark.

    Lone surrogates come from JSON escapes and from file names that are not UTF-8.
    """
    return text.encode("utf-8", "replace").decode()


def valid_json(text: str) -> Any:
    """The data in a JSON text, all of whose keys and texts are valid Unicode.

    Raises ValueError or RecursionError like json.loads.
    """
    data = json.loads(valid_text(text))
    if "\\ud" in text.lower():
        # an escape may stand for half of a surrogate pair
        data = json.loads(valid_text(json.dumps(data, ensure_ascii=False)))
    return data


def as_markdown(text: str) -> str:
    """Markdown that shows a text as it is, on one line: nothing in it is markup, a link or a formula."""
    line = " ".join(text.split())
    return re.sub(r"[!-/:-@\[-`{-~]", lambda found: f"&#{ord(found[0])};", line)
