"""The release archives: the built book and the exercises for all, and a second one for instructors."""

from __future__ import annotations

import subprocess
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from autograder.build.generate import refuse_to_lose_edits
from autograder.course import Course
from autograder.errors import BookError, writing
from autograder.publish import instructors
from autograder.publish.concept_tests import ANSWERS, QUESTIONS

NAME = "attention-from-scratch"
# what a fold with an answer begins with (book/_extensions/reference_code.py)
ANSWER = b'<details class="reference-code'
LICENCES = ("LICENSE", "LICENSE-TEXT")
# the earliest time that a zip can hold, for every file, so that the same files make the same bytes
EARLIEST = (1980, 1, 1, 0, 0, 0)
README = """\
Attention from Scratch: the book and its exercises, {version}

The book     Open index.html in a browser. No network is needed.
Exercises    exercises/ has the notebooks. Each needs Python with
             numpy, torch, matplotlib and jupyterlab, and no other file.
Licences     Code: BSD-3-Clause (LICENSE). Text and figures: CC BY 4.0
             (LICENSE-TEXT). What the pages load of others, such as MiniSearch,
             Python, CodeMirror and the font of formulas, lies in _static/ with
             its own licence.
"""


def refuse_another_course(course: Course) -> None:
    """Raise BookError for a course that lacks what the archives hold beside the book and the exercises."""
    needed = (*LICENCES, QUESTIONS.as_posix(), ANSWERS.as_posix())
    if missing := [name for name in needed if not (course.root / name).is_file()]:
        raise BookError(
            f"{course.root} has no {', no '.join(missing)}, which a release holds: this command is for the "
            "course that the grader comes with. `python -m autograder book` writes the book into "
            "_build/html; that folder and exercises/ are all that readers need."
        )


def version(course: Course) -> str:
    """What a copy of the course is called: git's description of it, or the version without git."""
    described = subprocess.run(
        ["git", "describe", "--tags", "--always", "--dirty"],
        cwd=course.root,
        capture_output=True,
        text=True,
        check=False,
    )
    if described.returncode == 0:
        return described.stdout.strip()
    return tomllib.loads((course.root / "pyproject.toml").read_text())["project"]["version"]


def contents(course: Course, name: str) -> dict[str, bytes]:
    """What a release holds: path in the zip -> content. Nothing but pages and students' notebooks.

    Raises BookError when the book isn't built, ExerciseError when exercises/ holds edits.
    """
    pages = course.built_book
    if not (pages / "index.html").is_file():
        raise BookError("The book has not been built yet: run `make book` first.")
    refuse_to_lose_edits(course)
    files = {path.relative_to(pages): path for path in pages.rglob("*") if path.is_file()}
    for exercise in course.exercises():
        files[exercise.notebook.relative_to(course.root)] = exercise.notebook
    files |= {Path(licence): course.root / licence for licence in LICENCES}
    found = {f"{name}/{place.as_posix()}": path.read_bytes() for place, path in files.items()}
    return found | {f"{name}/README.txt": README.format(version=name).encode()}


def make(course: Course, folder: Path | None = None, for_class: bool = False) -> Path:
    """Write the archive of the book as it is built into a folder, by default _build/; returns its path.

    for_class: leave out how one writes what the exercises ask for; the archive's name says so. Its bytes
    depend on nothing but what it holds. Raises BookError when the book isn't built, or for a class and it
    isn't built for one, OutputError when the archive can't be written.
    """
    name = f"{NAME}-{version(course)}{'-class' if for_class else ''}"
    target = (folder or course.built_book.parent) / f"{name}.zip"
    held = contents(course, name)
    if for_class and any(ANSWER in page for path, page in held.items() if path.endswith(".html")):
        raise BookError(
            "The built book shows answers to its exercises: run `python -m autograder book --for-class` first."
        )
    return _pack(held, target)


def make_for_instructors(course: Course, folder: Path | None = None) -> Path:
    """Write the instructors' archive into a folder, by default _build/instructors/; returns its path.

    It lies apart, so that nobody publishes it with the other. Raises OutputError when it can't be written.
    """
    name = f"{NAME}-{version(course)}-instructors"
    target = (folder or course.built_book.parent / "instructors") / f"{name}.zip"
    held = instructors.contents(course, name)
    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    return _pack(held, target)


def _pack(held: Mapping[str, bytes], target: Path) -> Path:
    with writing(target), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(held.items()):
            entry = zipfile.ZipInfo(path, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # an ordinary file, readable by all, on whatever system this is made
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, content)
    return target
