"""When GitHub received a commit, from the file that `gh api repos/OWNER/NAME/activity` writes.

A commit's own dates are set by its author; GitHub's list of a repository's activity has the time of every
push.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import TableError
from autograder.text import valid_json

MAX_BYTES = 20_000_000
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Push:
    """A change of a branch. time: when GitHub received it, in UTC without a zone; commit: the branch's last
    one from then on.
    """

    time: datetime.datetime
    branch: str
    commit: str


def read_pushes(path: Path) -> list[Push]:
    """What a file of activity lists, the newest first. Raises TableError for another file."""
    wrong = TableError(
        f"{path} is not what `gh api` writes of a repository's activity. Fetch it again."
    )
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_BYTES)
        found = [_push(entry) for entry in _entries(text)]
    except (OSError, ValueError, RecursionError, TypeError, KeyError) as error:
        raise wrong from error
    return sorted(found, key=lambda push: push.time, reverse=True)


def _entries(text: str) -> Iterator[dict[str, Any]]:
    """The entries of all lists in a text: some versions of gh write one list for each page."""
    decoder, at = json.JSONDecoder(), 0
    while rest := text[at:].lstrip():
        at = len(text) - len(rest)
        _, length = decoder.raw_decode(rest)
        for entry in valid_json(rest[:length]):
            # `gh api --slurp` puts the lists of all pages into one
            yield from entry if isinstance(entry, list) else [entry]
        at += length


def _push(entry: dict[str, Any]) -> Push:
    moment = datetime.datetime.fromisoformat(entry["timestamp"])
    if moment.tzinfo is None or not COMMIT.fullmatch(entry["after"]):
        raise ValueError("no time with a zone, or no commit")
    in_utc = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return Push(in_utc, str(entry["ref"]), entry["after"])
