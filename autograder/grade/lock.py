"""One grader at a time in a course folder: a lock that the system releases when its holder ends."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from autograder.errors import GradebookError, writing

LOCK_FILE = "grading.lock"


@contextlib.contextmanager
def only_grader(folder: Path) -> Iterator[None]:
    """Hold the lock of a course folder; raises GradebookError, with the holder's name, when it is held.

    A file left by a grader that was killed does not block: the lock is flock(2)'s, and the file's text
    only says whose it is.
    """
    path = folder / LOCK_FILE
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise GradebookError(
                f"Another grader works in {folder}: {holder}. Wait until it has ended, or end it; what it "
                "has graded is kept."
            ) from None
        since = datetime.datetime.now().astimezone().isoformat(" ", "seconds")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}, since {since}\n")
        file.flush()
        yield
