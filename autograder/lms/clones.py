"""What lies in a clone of a student's repository, read object by object.

A clone is data here, and nothing of it is executed or followed. git is asked for single objects
(`git cat-file`) in an empty repository of the grader's own that borrows the clone's objects and nothing else, so
no configuration, hook, filter, replaced object or graft of a clone has any effect, and nothing is checked
out. Links and submodules are entries of another kind than files. A process of git has limits, because a small
pack can hold objects that take all memory; systems other than Linux have the limit of time alone.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from autograder.errors import SubmissionFolderError
from autograder.files import ordinary_name

# GitHub takes no larger file
MAX_FILE = 100_000_000
MAX_TREE, MAX_ENTRIES, MAX_DEPTH = 5_000_000, 20_000, 10
# of a clone: files in its folder of objects, and bytes of a text like HEAD
MAX_OBJECT_FILES, MAX_TEXT = 100_000, 5_000_000
# what git may take for one clone: bytes, seconds of computing, seconds by the clock
MEMORY, PROCESSOR_SECONDS, SECONDS = 1_000_000_000, 20, 60
ID = re.compile(r"[0-9a-f]{40}")
BRANCH = re.compile(r"refs/heads/[^\x00-\x20\x7f~^:?*\[\\]{1,200}")
# what git calls objects, and what people do
KINDS = {"blob": "file", "tree": "folder", "commit": "commit"}
FOLDER, FILES, LINK, SUBMODULE = "40000", ("100644", "100755", "100664"), "120000", "160000"
# how much git maps and keeps of packs, no files beside them that speed it up, and no network
SETTINGS = (
    *("core.packedGitWindowSize=16m", "core.packedGitLimit=64m", "core.deltaBaseCacheLimit=16m"),
    *("core.multiPackIndex=false", "core.commitGraph=false", "protocol.allow=never"),
)


class CloneError(Exception):
    """A clone that isn't read; the message goes on after its name."""


@dataclass(frozen=True)
class Head:
    """What a clone's HEAD names: a branch, its commit, and when this was fetched, in UTC without a zone."""

    branch: str
    commit: str
    fetched: datetime.datetime


@dataclass(frozen=True)
class Entry:
    """A file of a commit, or what stands in the place of one. path: printable, without `..`."""

    path: str
    mode: str
    id: str

    @property
    def is_file(self) -> bool:
        """Whether it is an ordinary file."""
        return self.mode in FILES


@dataclass(frozen=True)
class Info:
    """What git says of an object. size: in bytes."""

    id: str
    kind: str
    size: int


def git_folder(clone: Path) -> Path:
    """Where a clone keeps its objects: the folder itself or, in one with a working tree, its `.git`."""
    inside = clone / ".git"
    return inside if inside.is_dir() and not inside.is_symlink() else clone


def is_clone(folder: Path) -> bool:
    """Whether a folder looks like a clone."""
    return (git_folder(folder) / "HEAD").is_file() and (git_folder(folder) / "objects").is_dir()


def _text(path: Path) -> str:
    """A short text in a clone; CloneError for a link, for what is no file, and for a long one."""
    if path.is_symlink():
        raise CloneError(f"has a link in place of {path.name}")
    try:
        with path.open("rb") as file:
            content = file.read(MAX_TEXT + 1)
    except OSError as error:
        raise CloneError(f"can't be read: {error.strerror}") from error
    if len(content) > MAX_TEXT:
        raise CloneError(f"has a {path.name} that is too large")
    return content.decode("utf-8", errors="replace")


def head_of(clone: Path) -> Head:
    """The branch that a clone's HEAD names. Raises CloneError."""
    folder = git_folder(clone)
    named = _text(folder / "HEAD").strip().removeprefix("ref: ")
    if not BRANCH.fullmatch(named) or ".." in named or named.endswith("/"):
        raise CloneError("has a HEAD that names no branch")
    loose, packed = folder / named, folder / "packed-refs"
    if any(part.is_symlink() for part in [loose, *loose.parents][: named.count("/") + 1]):
        raise CloneError(f"has a link in place of {named}")
    if loose.is_file():
        commit, source = _text(loose).strip(), loose
    else:
        lines = _text(packed).split("\n") if packed.is_file() else []
        found = [line.partition(" ")[0] for line in lines if line.partition(" ")[2] == named]
        commit, source = found[0] if found else "", packed
    if not ID.fullmatch(commit):
        raise CloneError(f"has no commit on {named.removeprefix('refs/heads/')}")
    moment = datetime.datetime.fromtimestamp(source.stat().st_mtime, datetime.UTC)
    return Head(named, commit, moment.replace(tzinfo=None))


def _refuse_borrowed(objects: Path) -> None:
    """Raise CloneError for a folder of objects that leads to others: by a link or by alternates."""
    if objects.is_symlink():
        raise CloneError("has a link in place of its objects")
    left = MAX_OBJECT_FILES
    waiting = [objects]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            left -= 1
            if left < 0:
                raise CloneError(f"has more than {MAX_OBJECT_FILES} files of objects")
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                raise CloneError("has a link, or another thing that is no file, among its objects")
    for name in ("alternates", "http-alternates"):
        if (objects / "info" / name).exists():
            raise CloneError(f"borrows objects from elsewhere (objects/info/{name})")


def _limit(process: int) -> None:
    """Limit what a process of git takes, and let it write nothing; it hasn't been asked for anything yet."""
    if sys.platform == "linux":
        import resource

        for what, most in (
            (resource.RLIMIT_AS, MEMORY),
            (resource.RLIMIT_CPU, PROCESSOR_SECONDS),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.prlimit(process, what, (most, most))


class Objects:
    """The objects of a clone, by id; made by `opened`."""

    def __init__(self, check: subprocess.Popen[bytes], batch: subprocess.Popen[bytes]) -> None:
        self._check, self._batch = check, batch

    def info(self, name: str) -> Info | None:
        """What git says of an object; None where there is none.

        name: its id or, of a commit, `ID:path`. Raises CloneError when git is stopped by its limits.
        """
        answer = self._ask(self._check, name)
        words = answer.split()
        # "... missing" and "... ambiguous" repeat the name, in which there may be spaces
        if len(words) != 3 or not ID.fullmatch(words[0]) or not words[2].isdecimal():
            return None
        return Info(words[0], words[1], int(words[2]))

    def content(self, name: str, kind: str, most: int) -> bytes:
        """The bytes of an object. Raises CloneError for one of another kind, or larger than most."""
        found = self.info(name)
        if found is None:
            raise CloneError(f"lacks a {KINDS[kind]} ({name[:12]})")
        if found.kind != kind:
            raise CloneError(f"has a {KINDS.get(found.kind, 'tag')} in place of a {KINDS[kind]}")
        if found.size > most:
            raise CloneError(f"has a {KINDS[kind]} of {found.size / 1e6:.0f} MB")
        self._ask(self._batch, found.id)
        content = _answers(self._batch).read(found.size + 1)
        if len(content) != found.size + 1:
            raise CloneError(DAMAGED)
        return content[:-1]

    def _ask(self, process: subprocess.Popen[bytes], name: str) -> str:
        assert process.stdin is not None
        try:
            process.stdin.write(name.encode() + b"\n")
            process.stdin.flush()
        except OSError:
            raise CloneError(DAMAGED) from None
        answer = _answers(process).readline(MAX_TEXT)
        if not answer.endswith(b"\n"):
            raise CloneError(DAMAGED)
        return answer.decode("utf-8", errors="replace")


DAMAGED = "is damaged, or takes too much memory or time to read"


def _answers(process: subprocess.Popen[bytes]) -> BinaryIO:
    assert process.stdout is not None
    return process.stdout  # type: ignore[return-value]


@contextlib.contextmanager
def opened(clone: Path) -> Iterator[Objects]:
    """The objects of a clone.

    Raises CloneError for one that leads elsewhere, SubmissionFolderError when git isn't installed.
    """
    git = shutil.which("git")
    if git is None:
        raise SubmissionFolderError(
            "git is needed to read clones, and there is none. Install it, then run the command again."
        )
    objects = git_folder(clone) / "objects"
    _refuse_borrowed(objects)
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        own = Path(place)
        for name in ("refs", "objects"):
            (own / name).mkdir()
        (own / "HEAD").write_text("ref: refs/heads/none\n")
        (own / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        environment = {
            **{"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": place},
            **{"GIT_DIR": place, "GIT_OBJECT_DIRECTORY": str(objects.resolve())},
            **{"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
            **{"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"},
        }
        settings = [word for setting in SETTINGS for word in ("-c", setting)]

        def started(mode: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [git, "--no-replace-objects", *settings, "cat-file", mode],
                cwd=place,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(_end, process)
            _limit(process.pid)
            watch = threading.Timer(SECONDS, process.kill)
            watch.daemon = True
            watch.start()
            stack.callback(watch.cancel)
            return process

        yield Objects(started("--batch-check"), started("--batch"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that only reads, and close what leads to it."""
    process.kill()
    with contextlib.suppress(OSError):
        process.communicate()


# Commits and trees --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Listing:
    """What a commit holds, from its root downwards. strange: how many names no file should have."""

    entries: tuple[Entry, ...]
    strange: int


def listing(objects: Objects, commit: str) -> Listing:
    """The files of a commit, and links and submodules. Raises CloneError.

    Each folder is read once, however often it occurs, and no more than MAX_ENTRIES entries, those near the
    root first: a few small objects can stand for billions of files.
    """
    found = re.match(rb"tree ([0-9a-f]{40})\n", objects.content(commit, "commit", MAX_TREE))
    if found is None:
        raise CloneError("has a commit without files")
    waiting, seen = [("", found[1].decode(), 0)], {found[1].decode()}
    entries: list[Entry] = []
    strange = number = 0
    while waiting:
        folder, tree, depth = waiting.pop(0)
        for mode, raw, own in _tree(objects.content(tree, "tree", MAX_TREE)):
            number += 1
            if number > MAX_ENTRIES:
                return Listing(tuple(entries), strange)
            name = raw.decode("utf-8", errors="surrogateescape")
            if ordinary_name(name) is None:
                strange += 1
            elif mode != FOLDER:
                entries.append(Entry(folder + name, mode, own))
            elif own not in seen and depth < MAX_DEPTH and not name.startswith("."):
                seen.add(own)
                waiting.append((f"{folder}{name}/", own, depth + 1))
    return Listing(tuple(entries), strange)


def _tree(content: bytes) -> Iterator[tuple[str, bytes, str]]:
    """The entries of a tree object: mode, name and id. Raises CloneError."""
    at = 0
    while at < len(content):
        end = content.find(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        own = content[end + 1 : end + 21]
        if end < 0 or len(own) != 20 or not mode.isdigit():
            raise CloneError("has a damaged list of files")
        yield mode.decode().lstrip("0"), name, own.hex()
        at = end + 21
