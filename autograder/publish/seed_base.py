"""The number that moves all seeds of the book's experiments at once, from the environment."""

from __future__ import annotations

import os

from autograder.errors import BookError

VARIABLE = "BOOK_SEED_BASE"


def seed_base() -> int:
    """The base, 0 unless BOOK_SEED_BASE is set. Raises BookError if that is no whole number from 0 on."""
    text = os.environ.get(VARIABLE) or "0"
    if not (text.isascii() and text.isdigit()):
        raise BookError(f"{VARIABLE} is {text!r}: it has to be a whole number, 0 or more.")
    return int(text)
