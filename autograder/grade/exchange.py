"""nbgrader's exchange, copying whole folders: notebooks and the files beside them, within limits.

`c.CourseDirectory.ignore` of nbgrader_config.py keeps nbgrader's converters from copying anything but
notebooks, and would empty the exchange's folders, too. So the steps of the exchange that copy
assignments have a rule of their own, installed through `c.ExchangeFactory`.
"""

from __future__ import annotations

import fnmatch
import logging
import os
from pathlib import Path

from nbgrader.exchange import ExchangeError, default

from autograder.grade.submission import MAX_NOTEBOOK, NotReadError, ordinary_content

MAX_FILES = 1_000
MAX_TOTAL = 100_000_000
# what editors and Python leave behind
LEFT_BEHIND = (".*", "__pycache__", "*.pyc")
# what an instructor may have beside an exercise and students must not see
NOT_FOR_STUDENTS = (*LEFT_BEHIND, "*.py", "*.db", "*.html", "*.csv", "*.json")
SOLUTION_MARKS = (b"### BEGIN SOLUTION", b"### BEGIN HIDDEN", b"### BEGIN MARK SCHEME")


def copy_folder(
    source: Path, target: Path, left_out: tuple[str, ...], log: logging.Logger
) -> list[Path]:
    """Copy the ordinary files of a folder and its subfolders; returns their paths in it.

    Left out, with a warning: links, pipes and other special files, and what is beyond MAX_NOTEBOOK
    bytes a file, MAX_TOTAL bytes or MAX_FILES files a folder. Left out without a word: what matches a
    pattern of left_out. A file that is there already is kept. Raises ExchangeError for a linked folder.
    """
    if source.is_symlink():
        raise ExchangeError(f"{source} is a link, which is not followed.")
    target.mkdir(parents=True, exist_ok=True)
    copied: list[Path] = []
    total = 0
    for place, folders, names in os.walk(source):
        folders[:] = [name for name in sorted(folders) if not _matches(name, left_out)]
        for name in sorted(names):
            path = Path(place, name)
            own = path.relative_to(source)
            if _matches(name, left_out) or (target / own).exists():
                continue
            try:
                content = ordinary_content(path, MAX_NOTEBOOK, "file")
            except NotReadError as error:
                log.warning("%s is left out: %s", path, error)
                continue
            total += len(content)
            if total > MAX_TOTAL or len(copied) >= MAX_FILES:
                log.warning("%s and what follows is left out: the folder is too large.", path)
                return copied
            (target / own).parent.mkdir(parents=True, exist_ok=True)
            (target / own).write_bytes(content)
            copied.append(own)
    return copied


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


class _WholeFolders:
    """Copies with `copy_folder`, in place of what looks at `CourseDirectory.ignore`."""

    left_out = LEFT_BEHIND

    def do_copy(self, src: str, dest: str, log: logging.Logger | None = None) -> None:
        """Copy a folder of one assignment."""
        copy_folder(Path(src), Path(dest), self.left_out, self.log)
        if self.coursedir.groupshared:
            self.set_perms(dest, 0o664, 0o2775)


class ReleaseAssignment(_WholeFolders, default.ExchangeReleaseAssignment):
    """Hands out an exercise; refuses notebooks that hold solutions."""

    left_out = NOT_FOR_STUDENTS

    def copy_files(self) -> None:
        """Copy the released exercise to where students fetch it."""
        for path in sorted(Path(self.src_path).rglob("*.ipynb")):
            if any(mark in path.read_bytes() for mark in SOLUTION_MARKS):
                self.fail(f"{path} holds a solution: run `python -m autograder build` first.")
        super().copy_files()


class FetchAssignment(_WholeFolders, default.ExchangeFetchAssignment):
    """Gives a student an exercise."""


class Submit(_WholeFolders, default.ExchangeSubmit):
    """Hands in a student's folder."""


class Collect(_WholeFolders, default.ExchangeCollect):
    """Takes in what students have handed in."""
