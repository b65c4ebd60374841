"""Students' feedback pages, and when they are out of date."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import nbformat
from jupyter_core.paths import jupyter_config_dir
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

from autograder.course import Course
from autograder.errors import OutputError
from autograder.files import digest_of, digest_of_files, write_whole
from autograder.grade.gradebook import autograded_notebook
from autograder.grade.result import Result
from autograder.nbgrader_adapter import bootstrap_folder, explained
from autograder.progress import progress

STAMP = re.compile(r"<!-- feedback (\w+) -->\s*\Z")


def feedback_page(course: Course, student: str, exercise: str) -> Path:
    """Where a student's feedback page is written."""
    return course.feedback / student / exercise / f"{exercise}.html"


def _stamp_of(page: Path) -> str:
    """What a page records that it was made from; empty when there is no page."""
    if not page.is_file():
        return ""
    found = STAMP.search(page.read_text(encoding="utf-8")[-200:])
    return found[1] if found else ""


class FeedbackWriter:
    """Writes the feedback pages of a class from results, gradebook and today's words."""

    def __init__(self, course: Course) -> None:
        self._course = course
        config = Config()
        config.HTMLExporter = course.config.HTMLExporter.copy()
        own = copy.deepcopy(course.config)
        own.FeedbackPage.home = str(course.home)
        self._steps = [
            *(
                step(config=own, enabled=True)
                for step in config.HTMLExporter.pop("preprocessors", [])
            ),
            *(
                step(config=own, enabled=True)
                for step in course.config.GenerateFeedback.preprocessors
            ),
        ]
        config.HTMLExporter.template_name = "feedback"
        config.HTMLExporter.extra_template_paths = [str(bootstrap_folder())]
        config.HTMLExporter.preprocessors = []
        config.Exporter.default_preprocessors = []
        self._exporter = HTMLExporter(config=config)

    @functools.cached_property
    def _templates(self) -> str:
        """A digest of the page's own templates."""
        folders = self._course.config.HTMLExporter.extra_template_basedirs[:1]
        paths = [path for folder in folders for path in Path(folder).rglob("*")]
        return digest_of_files(paths, Path(folders[0])) if folders else ""

    def write(self, student: str, exercise: str) -> bool:
        """Write one student's page, if anything on it has changed; returns whether it was written."""
        path = autograded_notebook(self._course, student, exercise)
        page = feedback_page(self._course, student, exercise)
        notebook = nbformat.read(path, as_version=4)
        resources = {
            "metadata": {"name": exercise, "path": str(path.parent)},
            # CSSHTMLHeaderPreprocessor adds the user's own style sheet, if there is one
            "config_dir": jupyter_config_dir(),
            "nbgrader": {
                "student": student,
                "assignment": exercise,
                "notebook": exercise,
                "db_url": self._course.db_url,
            },
        }
        with explained(self._course.db_url):
            for step in self._steps:
                notebook, resources = step(notebook, resources)
        shown = {name: resources["nbgrader"].get(name) for name in ("score", "late_penalty")}
        page_data = resources["feedback"] and asdict(resources["feedback"])
        stamp = digest_of([notebook, shown, page_data, self._templates])[:16]
        if stamp == _stamp_of(page):
            return False
        body, _ = self._exporter.from_notebook_node(notebook, resources)
        write_whole(page, f"{body}\n<!-- feedback {stamp} -->\n")
        return True


def write_feedback(course: Course, results: Sequence[Result]) -> int:
    """Write the feedback pages that are out of date; returns how many were written.

    One that can't be written doesn't keep the others from being written: OutputError names them at the
    end.
    """
    writer = FeedbackWriter(course)
    written, failed = 0, []
    with progress("Writing feedback") as bar:
        for result in bar.track(results):
            try:
                written += writer.write(result.student, result.exercise)
            except Exception as error:
                name = f"{result.student}, {result.exercise}"
                failed.append(f"{name} ({type(error).__name__}: {str(error)[:200]})")
    if failed:
        raise OutputError(
            f"The feedback pages of {'; '.join(failed)} could not be written. All others are."
        )
    return written
