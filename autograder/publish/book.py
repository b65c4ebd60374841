"""Building the book: every cell executed, every warning an error, no stale output."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from autograder.book_index import FOR_CLASS, book_url, colab_url, is_for_class
from autograder.course import Course
from autograder.errors import BookError, writing
from autograder.files import digest_of, digest_of_files
from autograder.programs import plain_version
from autograder.publish.cache_key import imports_digest, is_executed
from autograder.publish.execute_pages import execute_pages

# whose versions can change what a built page looks like
BUILDERS = ("jupyter-book", "sphinx", "myst-nb", "sphinx-book-theme", "pydata-sphinx-theme")


def everything_digest(course: Course, for_class: bool = False) -> str:
    """A digest of all that the built book depends on: it is up to date while this stays the same."""
    root = course.root
    paths = [*course.book.rglob("*"), root / "_config.yml", root / "_toc.yml"]
    # pages show their functions
    exercises = [*course.exercises(), *course.ungraded()]
    paths += [exercise.solution for exercise in exercises]
    paths += [exercise.notebook for exercise in exercises]
    return digest_of(
        {
            "files": digest_of_files(paths, root),
            "imports": {
                page.name: imports_digest(root, page, page.read_text(encoding="utf-8"))
                for page in sorted(course.book.glob("*.md"))
            },
            "builders": {package: plain_version(package) for package in BUILDERS},
            # pages name the addresses that they are built for
            "addresses": [book_url(), colab_url("")],
            "for_class": for_class,
        }
    )


def build(
    course: Course,
    clean: bool = False,
    for_class: bool = False,
    meanwhile: Callable[[], object] = bool,
) -> bool:
    """Build the book into _build/html; returns False when it was up to date.

    clean: forget executed cells, too; for_class: leave out how one writes what the exercises ask for, also when the
    environment says so; meanwhile: called while Sphinx keeps one core busy. Raises BookError with the end of the
    log when a cell raises or Sphinx warns, OutputError when the folder can't be written.
    """
    root, pages = course.root, course.built_book
    folder = pages.parent
    stamp, log = folder / "stamp", folder / "build.log"
    for_class = for_class or is_for_class()
    digest = everything_digest(course, for_class)
    if (
        not clean
        and (pages / "index.html").is_file()
        and stamp.is_file()
        and stamp.read_text() == digest
    ):
        return False
    with writing(folder):
        folder.mkdir(exist_ok=True)
        stamp.unlink(missing_ok=True)
        # Pages are read again from nothing: an incremental build would not repeat a page's warnings.
        # The executed cells are kept in .jupyter_cache, under keys of publish/cache_key.py.
        for name in ("html", ".doctrees", *([".jupyter_cache"] if clean else [])):
            shutil.rmtree(folder / name, ignore_errors=True)
        environment = {
            **os.environ,
            "PYTHONPATH": str(root),
            FOR_CLASS: "yes" if for_class else "",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        executed = [page for page in course.book.glob("*.md") if is_executed(page)]
        execute_pages(root, executed, environment)
        tool = Path(sys.executable).with_name("jupyter-book")
        command = [str(tool), "build", str(root), "-nW", "--keep-going"]
        with (
            log.open("w", encoding="utf-8") as file,
            subprocess.Popen(
                command, cwd=root, env=environment, stdout=file, stderr=subprocess.STDOUT
            ) as done,
        ):
            meanwhile()
    if done.returncode != 0 or not (pages / "index.html").is_file():
        end = "\n".join(log.read_text(encoding="utf-8").splitlines()[-40:])
        raise BookError(
            f"The book does not build; {log.relative_to(course.root)} ends with:\n{end}"
        )
    stamp.write_text(digest)
    return True
