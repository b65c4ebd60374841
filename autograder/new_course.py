"""A course of one's own: a working one from the template, with the grader beside it as a wheel.

In: a folder that does not exist yet. Out: a course with one chapter and one exercise, which passes its
own `make test`. The wheel is made of the installed package, since it is on no index.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import shutil
import tempfile
import zipfile
from pathlib import Path

from autograder.errors import CourseError, writing
from autograder.installing import how_to_install
from autograder.package import PACKAGE

DISTRIBUTION = "course-autograder"
TEMPLATE = PACKAGE / "template"
# names that a package can't hold, or that would have an effect where the template lies
RENAMED = {"gitignore": ".gitignore", "workflow.yml": ".github/workflows/course.yml"}
# what an installation adds to the files of a wheel
ADDED = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")


def make(folder: Path) -> Path:
    """Write a new course; returns its folder.

    Raises CourseError when something lies there already or the grader isn't installed, OutputError when
    the folder can't be written; nothing is left half-written.
    """
    folder = folder.absolute()
    if folder.exists():
        raise CourseError(f"{folder} exists already. Give the name of a folder that does not.")
    with writing(folder), tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as aside:
        course = Path(aside, folder.name)
        course.mkdir()
        words = {"COURSE_NAME": folder.name, "COURSE_WHEEL": write_wheel(course / "wheels").name}
        for source in sorted(TEMPLATE.rglob("*")):
            name = source.relative_to(TEMPLATE).as_posix()
            if source.is_dir() or "__pycache__" in source.parts:
                continue
            text = source.read_text(encoding="utf-8")
            for word, replacement in words.items():
                text = text.replace(word, replacement)
            target = course / RENAMED.get(name, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        shutil.move(course, folder)
    return folder


def _installed() -> importlib.metadata.Distribution:
    """The installed distribution that this package belongs to."""
    for found in importlib.metadata.distributions(name=DISTRIBUTION):
        if Path(str(found.locate_file(PACKAGE.name))).resolve() == PACKAGE:
            return found
    raise CourseError(
        f"A new course takes the installed grader along, and {PACKAGE} is not installed. Install it with "
        f"{how_to_install(str(PACKAGE.parent))}, then run the command `{DISTRIBUTION} new` in another folder."
    )


def write_wheel(folder: Path) -> Path:
    """Write the installed grader as a wheel into a folder, which is made; returns the wheel's path."""
    installed = _installed()
    name = DISTRIBUTION.replace("-", "_")
    wheel = folder / f"{name}-{installed.version}-py3-none-any.whl"
    record = f"{name}-{installed.version}.dist-info/RECORD"
    rows = []
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(path: str, content: bytes) -> None:
            # a fixed date, so that the same grader makes the same file
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)

        for path in sorted(installed.files or ()):
            # programs in the environment's bin lie outside; entry_points.txt says how to make them again
            if ".." in path.parts or "__pycache__" in path.parts or path.name in ADDED:
                continue
            content = path.read_binary()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            rows.append(f"{path.as_posix()},sha256={digest.decode()},{len(content)}")
            add(path.as_posix(), content)
        add(record, "\n".join([*rows, f"{record},,", ""]).encode())
    return wheel
