"""Writing files whole or not at all, and digests of what lies in them."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import tempfile
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from autograder.errors import OutputError

# permissions of what tells of students: for its owner alone
PRIVATE, PRIVATE_READ_ONLY = 0o600, 0o400
# bytes of a file's name: most systems take 255, an encrypted home folder 143
MAX_NAME = 143
# Bytes of the path of a folder for temporary files. A socket's has 107 at most, and 75 of them are ours.
MAX_TEMPORARY, SHORT = 32, "/tmp"
NO_FILES = {"", ".", ".."}
NOT_ORDINARY = f"names longer than {MAX_NAME} bytes or with characters that don't print"
# what Python doesn't call printable and names have: the blanks in macOS's names of screenshots, and what joins
# or parts letters in emoji and Persian
JOINERS = {"\u200c", "\u200d"}


def ordinary_name(name: str) -> str | None:
    """A name from elsewhere as that of a file that is written here; None for one that no file should have.

    Letters with accents become one character each, as people type them in programs: macOS takes them apart.
    """
    name = unicodedata.normalize("NFC", name)
    shown = [c for c in name if c not in JOINERS and unicodedata.category(c) != "Zs"]
    if not "".join(shown).isprintable() or {"/", "\\"} & set(name) or name in NO_FILES:
        return None
    return name if len(name.encode()) <= MAX_NAME else None


def shortened(name: str, most: int = MAX_NAME) -> str:
    """The beginning of a name that takes no more than so many bytes."""
    return name.encode()[:most].decode(errors="ignore")


def let_sockets_fit() -> None:
    """Have temporary files lie in /tmp where TMPDIR is so long that a socket's path in it would be too long."""
    if len(os.fsencode(tempfile.gettempdir())) > MAX_TEMPORARY and os.access(SHORT, os.W_OK):
        tempfile.tempdir = SHORT


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a text file so that nobody ever sees half of it.

    mode: its permissions from the first moment on. Raises OutputError when it can't be written.
    """
    aside = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # a leftover of a run that was killed may be read-only
        aside.unlink(missing_ok=True)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        aside.chmod(mode)
        aside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise OutputError(
            f"{path} can't be written: {error.strerror}. Correct this and run the command again; "
            "nothing that was written before is lost."
        ) from error


def close_to_others(*folders: Path) -> None:
    """Let only their owner look into some folders, those of them that exist and belong to this user."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.chmod(0o700)


def digest_of(data: Any) -> str:
    """A digest of data that JSON can hold, or of dataclasses of these, whatever the order of keys."""
    text = json.dumps(data, sort_keys=True, default=_fields)
    return hashlib.sha256(text.encode()).hexdigest()


def _fields(value: Any) -> dict[str, Any]:
    # dataclasses.asdict copies all that is below, which takes longer than the digest
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def digest_of_files(paths: Iterable[Path], root: Path) -> str:
    """A digest of files and of their paths below root; folders and compiled modules are left out."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
