"""Exercises from solutions: nbgrader's generate_assignment, aside, checked, then swapped in."""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import json
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import InstantiateTests, NbGraderPreprocessor, instantiatetests
from traitlets.config import Config, PyFileConfigLoader

from autograder import reference
from autograder.build.released_versions import remember_released
from autograder.build.source_notebook import as_checks, source_notebook, told_to_students
from autograder.catalogue import ROOT, exercise_names
from autograder.errors import CatalogueError, ExerciseError, writing

EXERCISES = ROOT / "exercises"
COURSE = ROOT / "course"
SOURCE = COURSE / "source"


class Autotests(InstantiateTests):
    """nbgrader's InstantiateTests, with our checks, cell names in errors, and no kernel left behind."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Instantiate every autotest line of a source notebook."""
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        # the generation kernel's remarks on its own transport are of no use to anybody
        quiet = functools.partial(instantiatetests.start_new_kernel, stderr=subprocess.DEVNULL)
        try:
            with mock.patch.object(instantiatetests, "start_new_kernel", quiet):
                return super().preprocess(nb, resources)
        finally:
            if self.kc is not None:
                self.kc.shutdown()
                self.kc = None

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        """Turn one grade cell into a `%%autotest` cell."""
        if cell.cell_type != "code" or self.autotest_delimiter not in cell.source:
            return super().preprocess_cell(cell, resources, index)
        exercise, grade_id = resources["nbgrader"]["notebook"], cell.metadata.nbgrader.grade_id
        begin = (
            "import autograder.build.baking\n"
            "from autograder.build.baking import bake\n"
            f"globals().update(autograder.build.baking.begin({exercise!r}, {grade_id!r}, {cell.source!r}))"
        )
        try:
            self._execute_code_snippet(begin)
            cell, resources = super().preprocess_cell(cell, resources, index)
        except Exception as error:
            reason = getattr(error, "evalue", None) or str(error)
            raise CatalogueError(f"solutions/{exercise}.py, cell {grade_id}: {reason}") from error
        lines = [line for line in cell.source.split("\n") if line.strip()]
        cell.source = "\n".join([f"%%autotest {grade_id}", *lines])
        return cell, resources


def content_digest(notebook: NotebookNode) -> str:
    """A digest of what a generated notebook says, without its own record of it."""
    cells = [[cell.id, cell.cell_type, cell.source, cell.metadata] for cell in notebook.cells]
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()[:16]


class Stamp(NbGraderPreprocessor):
    """Last step of generation: record in the notebook what it says, so that edits show."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Add the digest to the notebook's metadata."""
        nb.metadata.autotest = NotebookNode(digest=content_digest(nb))
        return nb, resources


def refuse_to_lose_edits() -> None:
    """Raise ExerciseError, naming the file, when exercises/ holds anything that a build didn't make."""
    for path in sorted(EXERCISES.rglob("*")) if EXERCISES.exists() else []:
        if path.is_dir() or ".ipynb_checkpoints" in path.parts:
            continue
        try:
            notebook = nbformat.read(path, as_version=4)
            made = notebook.metadata.get("autotest", {}).get("digest") == content_digest(notebook)
        except Exception:
            made = False
        if not made:
            raise ExerciseError(
                f"{path.relative_to(ROOT)} holds work that a build would lose. Move it (students' work "
                "belongs into work/), or delete it, then build again. Nothing has been changed."
            )


def write_sources(exercises: Sequence[str]) -> None:
    """Write the nbgrader source notebooks under course/source/."""
    for exercise in exercises:
        notebook = source_notebook(exercise)
        folder = SOURCE / exercise
        folder.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / f"{exercise}.ipynb")


def write_missing_sources(exercises: Sequence[str]) -> None:
    """Write the source notebooks that aren't there: formgrader lists the exercises that have one."""
    write_sources([name for name in exercises if not (SOURCE / name).is_dir()])


def nbgrader_config() -> Config:
    """The course's nbgrader settings, from nbgrader_config.py."""
    return PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()


def generate(exercises: Sequence[str], release: Path) -> None:
    """Run nbgrader's generate_assignment into a folder, without a gradebook."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    for exercise in exercises:
        config = nbgrader_config()
        config.CourseDirectory.release_directory = str(release)
        config.CourseDirectory.assignment_id = exercise
        config.SaveCells.enabled = False
        directory = CourseDirectory(config=config)
        converter = GenerateAssignment(coursedir=directory, config=config)
        converter.no_database = True
        records: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record, records=records: records.append(record.getMessage())
        converter.log.handlers = [handler]
        converter.log.propagate = False
        try:
            converter.start()
        except Exception as error:
            told = [line for line in "\n".join(records).split("\n") if "CatalogueError:" in line]
            message = told[-1].split("CatalogueError: ", 1)[1] if told else "\n".join(records[-3:])
            raise CatalogueError(message) from error


def inputs_digest(exercise: str) -> str:
    """A digest of everything that an exercise is generated from."""
    digest = hashlib.sha256()
    paths = [
        *sorted((ROOT / "solutions").glob("*.py")),
        *sorted((ROOT / "solutions" / "catalogue").glob("*.py")),
        *(ROOT / "autograder" / f"{name}.py" for name in GENERATORS),
        ROOT / "requirements.txt",
        ROOT / "autotests.yml",
    ]
    for path in paths:
        own = path.parent.name != "solutions" or path.stem <= exercise
        if (
            own
            and path.exists()
            and not (path.parent.name == "catalogue" and path.stem != exercise)
        ):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def build_stamp(exercise: str) -> str:
    """What `build` compares: an exercise is built anew also where its ways back to the book changed."""
    told = json.dumps(told_to_students(exercise))
    return hashlib.sha256((inputs_digest(exercise) + told).encode()).hexdigest()


GENERATORS = (
    "build/baking",
    "build/generate",
    "build/source_notebook",
    "catalogue",
    "reference",
    "runtime/autotest",
)


def build(exercises: Sequence[str] | None = None, force: bool = False) -> list[str]:
    """Generate exercises/ from solutions/; returns the names of those that were built anew.

    Everything is checked before anything is written: points, autotests that a constant would pass,
    mistakes that nothing catches. Raises CatalogueError when a check fails, ExerciseError when
    exercises/ holds edits, and changes nothing then.
    """
    names = list(exercises or exercise_names())
    stamp_file = COURSE / "built.json"
    stamps = json.loads(stamp_file.read_text()) if stamp_file.exists() else {}
    refuse_to_lose_edits()
    stale = [
        name
        for name in names
        if force
        or stamps.get(name) != build_stamp(name)
        or not (EXERCISES / name / f"{name}.ipynb").exists()
    ]
    if not stale:
        return []
    with writing(EXERCISES):
        EXERCISES.mkdir(exist_ok=True)
        # the folder is written to last, after minutes of work
        tempfile.TemporaryFile(dir=EXERCISES).close()
    write_sources(stale)
    seeds = [[], *([number] for number in range(1, 8))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda n: reference.in_own_process(n, grade_cells(n), seeds, True), stale))
    COURSE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=COURSE) as aside:
        generate(stale, Path(aside))
        for name in stale:
            if (EXERCISES / name / f"{name}.ipynb").is_file():
                remember_released(name, released(name))
            _replace(EXERCISES / name, Path(aside) / name)
            remember_released(name, released(name))
    stamps.update({name: build_stamp(name) for name in stale})
    stamp_file.write_text(json.dumps(stamps, indent=1))
    return stale


def _replace(old: Path, new: Path) -> None:
    """Put a new folder in the place of an old one, which stays if that fails."""
    before = new.with_suffix(".old")
    with writing(old):
        if old.exists():
            old.rename(before)
        try:
            shutil.move(str(new), old)
        except OSError:
            if before.exists():
                before.rename(old)
            raise


def grade_cells(exercise: str) -> dict[str, str]:
    """The autotest cells of an exercise, from its solution: grade_id -> source with check lines."""
    return {
        cell.metadata.nbgrader.grade_id: as_checks(cell.source)
        for cell in source_notebook(exercise).cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
    }


def released(exercise: str) -> NotebookNode:
    """The exercise notebook as students get it; ExerciseError when it has not been built."""
    path = EXERCISES / exercise / f"{exercise}.ipynb"
    if not path.is_file():
        raise ExerciseError(
            f"{path.relative_to(ROOT)} is missing: run `python -m autograder build`."
        )
    return nbformat.read(path, as_version=4)


def released_grade_cells(exercise: str) -> dict[str, Any]:
    """The autotest cells of the released exercise: grade_id -> source."""
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in released(exercise).cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
    }
