"""Building the book: every cell executed, every warning an error, no stale cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from autograder.book_index import book_url, colab_url
from autograder.catalogue import ROOT
from autograder.errors import BookError

BUILD = ROOT / "_build"
HTML = BUILD / "html"


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()


def imported_code_digest() -> str:
    """A digest of what the pages import: the execution cache is only good for the same."""
    paths = [*(ROOT / "solutions").rglob("*.py"), *(ROOT / "book").glob("*.py")]
    paths += (ROOT / "book" / "_widgets").glob("*.js")  # cells write them into the page
    return _digest([*paths, ROOT / "requirements.txt", ROOT / "constraints.txt"])[:16]


def _everything_digest() -> str:
    paths = [*(ROOT / "book").rglob("*"), ROOT / "_config.yml", ROOT / "_toc.yml"]
    exercises = [*(ROOT / "exercises").rglob("*.ipynb")]
    # pages name the place they are built for
    places = f" {book_url()} {colab_url('')}"
    return _digest([*paths, *exercises]) + imported_code_digest() + places


def build(clean: bool = False) -> bool:
    """Build the book into _build/html; returns False when it was up to date.

    clean: forget executed cells too. Raises BookError with the log's end when a cell raises or
    Sphinx warns.
    """
    stamp = BUILD / "stamp"
    digest = _everything_digest()
    if clean:
        shutil.rmtree(BUILD, ignore_errors=True)
    if HTML.is_dir() and stamp.is_file() and stamp.read_text() == digest:
        return False
    # pages are read again from nothing: an incremental build would hide a page's warnings
    shutil.rmtree(HTML, ignore_errors=True)
    shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    cache = BUILD / ".jupyter_cache" / imported_code_digest()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ATTENTION_BOOK_CACHE": str(cache),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    tool = Path(sys.executable).with_name("jupyter-book")
    command = [str(tool), "build", str(ROOT), "-nW", "--keep-going"]
    log = BUILD / "build.log"
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode != 0 or not (HTML / "index.html").is_file():
        end = "\n".join(log.read_text(encoding="utf-8").splitlines()[-40:])
        raise BookError(f"The book does not build; {log.relative_to(ROOT)} ends with:\n{end}")
    stamp.write_text(digest)
    return True
