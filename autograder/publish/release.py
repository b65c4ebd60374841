"""The release archive: the built book and the exercises as one zip that needs no network."""

from __future__ import annotations

import subprocess
import tomllib
import zipfile
from pathlib import Path

from autograder.build import generate
from autograder.catalogue import ROOT, exercise_names
from autograder.errors import BookError
from autograder.publish import book

NAME = "attention-from-scratch"
LICENCES = ("LICENSE", "LICENSE-TEXT")
# the earliest time that a zip can hold: the same files make the same bytes
LONG_AGO = (1980, 1, 1, 0, 0, 0)
README = """\
Attention from Scratch: the book and its exercises, {version}

The book     Open index.html in a browser. No network is needed.
             Search works when the folder is served:
                 python -m http.server --bind 127.0.0.1
             and then open http://127.0.0.1:8000/
Exercises    exercises/ has one notebook per chapter. Each needs Python with
             numpy, torch, matplotlib and jupyterlab, and no other file.
Licences     Code: BSD-3-Clause (LICENSE). Text and figures: CC BY 4.0
             (LICENSE-TEXT). What the pages load of others, such as MathJax,
             lies in _static/ with its own licence.
"""


def version() -> str:
    """What this copy of the course calls itself: git's description of it, or the version without git."""
    told = subprocess.run(
        ["git", "describe", "--tags", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode == 0:
        return told.stdout.strip()
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def contents(name: str) -> dict[str, bytes]:
    """What a release holds: path in the zip -> content. Nothing but pages and students' notebooks.

    Raises BookError when the book isn't built, ExerciseError when exercises/ holds edits.
    """
    if not (book.HTML / "index.html").is_file():
        raise BookError("The book has not been built yet: run `make book` first.")
    generate.refuse_to_lose_edits()
    files = {path.relative_to(book.HTML): path for path in book.HTML.rglob("*") if path.is_file()}
    for exercise in exercise_names():
        notebook = Path("exercises", exercise, f"{exercise}.ipynb")
        files[notebook] = ROOT / notebook
    files |= {Path(licence): ROOT / licence for licence in LICENCES}
    found = {f"{name}/{place.as_posix()}": path.read_bytes() for place, path in files.items()}
    return found | {f"{name}/README.txt": README.format(version=name).encode()}


def make(folder: Path = book.BUILD) -> Path:
    """Write the archive into a folder; its bytes depend on what it holds alone. Returns its path."""
    name = f"{NAME}-{version()}"
    target = folder / f"{name}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(contents(name).items()):
            entry = zipfile.ZipInfo(path, LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # an ordinary file, readable by all, on whatever system this is made
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, content)
    return target
