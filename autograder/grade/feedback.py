"""Students' feedback pages, and when they are out of date."""

from __future__ import annotations

import contextlib
import copy
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from jupyter_core.paths import jupyter_config_dir
from nbformat import NotebookNode
from traitlets.config import Config

from autograder.book_index import book_sections, book_url
from autograder.course import Course, Exercise
from autograder.errors import OutputError
from autograder.files import PRIVATE, digest_of, digest_of_files, write_whole
from autograder.grade.class_grades import told_on_page
from autograder.grade.feedback_page import as_markdown, as_text
from autograder.grade.gradebook import autograded_notebook
from autograder.grade.page_exporter import PageExporter
from autograder.grade.page_workers import Page, written_pages
from autograder.grade.result import Result
from autograder.grade.seeds import end_round
from autograder.grade.verdicts import result_path
from autograder.instructor_settings import CONFIG
from autograder.nbgrader_adapter import bootstrap_folder, explained
from autograder.package import PACKAGE
from autograder.progress import progress

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

# characters of a page: sources, text and pictures have limits of their own, which come to less
MAX_PAGE = 60_000_000
# packages whose code puts a page together
RENDERED_BY = ("display", "grade", "runtime")
STAMP = re.compile(r"<!-- feedback (\w+) (\w+) -->\s*\Z")


def feedback_page(course: Course, student: str, exercise: str) -> Path:
    """Where a student's feedback page is written."""
    return course.feedback / student / exercise / f"{exercise}.html"


def _stamps_of(page: Path) -> tuple[str, str]:
    """Digests of what a page was made from and of what it says; empty when there is no page."""
    if not page.is_file():
        return "", ""
    found = STAMP.search(page.read_text(encoding="utf-8")[-200:])
    return (found[1], found[2]) if found else ("", "")


def content_of(page: Path) -> str:
    """A digest of what a feedback page says, which does not change when it is only written again."""
    return _stamps_of(page)[1] or digest_of_files([page], page.parent)


class FeedbackWriter:
    """Writes the feedback pages of a class from results, gradebook and today's words."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._opened: Gradebook | None = None
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
        self._exporter = PageExporter(config=config)

    @functools.cached_property
    def _rendering(self) -> str:
        """A digest of what makes a page out of a result: templates, code and settings."""
        paths = [path for name in RENDERED_BY for path in (PACKAGE / name).rglob("*")]
        parts = [
            digest_of_files(paths, PACKAGE),
            digest_of_files([self._course.root / CONFIG], self._course.root),
        ]
        for folder in self._course.config.HTMLExporter.extra_template_basedirs[:1]:
            parts.append(digest_of_files(Path(folder).rglob("*"), Path(folder)))
        sections = {
            label: asdict(section) for label, section in book_sections(self._course.root).items()
        }
        return digest_of([parts, sections, book_url()])

    @functools.cached_property
    def _words(self) -> dict[str, str]:
        """Digests of the exercises' texts, by exercise."""
        return {
            exercise.name: digest_of_files([exercise.notebook, exercise.catalogue], exercise.root)
            for exercise in self._course.exercises()
        }

    def _recorded(self, student: str, exercise: str) -> list:
        """What the gradebook holds about a submission: points, comments, penalty."""
        from nbgrader.api import Comment, Grade

        points = Grade.auto_score, Grade.manual_score, Grade.extra_credit, Grade.needs_manual_grade
        written = Comment.auto_comment, Comment.manual_comment
        with self._gradebook() as gradebook:
            found = gradebook.find_submission_notebook(exercise, exercise, student)
            grades, comments = (
                sorted(
                    [*row]
                    for row in gradebook.db.query(kind.cell_id, *columns).filter(
                        kind.notebook_id == found.id
                    )
                )
                for kind, columns in ((Grade, points), (Comment, written))
            )
            return [grades, comments, found.late_submission_penalty]

    @contextlib.contextmanager
    def _gradebook(self) -> Iterator[Gradebook]:
        """The gradebook, which within another such block is the one that is open already."""
        from nbgrader.api import Gradebook

        if self._opened is not None:
            yield self._opened
            return
        with explained(self._course.db_url), Gradebook(self._course.db_url) as self._opened:
            try:
                yield self._opened
            finally:
                self._opened = None

    def _made_from(self, student: str, exercise: str) -> str:
        """A digest of all that one student's page is made from."""
        path = autograded_notebook(self._course, student, exercise)
        recorded = self._recorded(student, exercise)
        texts = [digest_of_files([path, result_path(path)], path.parent), self._words[exercise]]
        group = told_on_page(self._course, Exercise(self._course.root, exercise), student)
        return digest_of([texts, recorded, self._rendering, group])[:16]

    def is_written(self, student: str, exercise: str) -> bool:
        """Whether a student's page, by whichever command it was written, tells of the recorded result."""
        page = feedback_page(self._course, student, exercise)
        result = result_path(autograded_notebook(self._course, student, exercise))
        if page.stat().st_mtime_ns >= result.stat().st_mtime_ns:
            return True
        return _stamps_of(page)[0] == self._made_from(student, exercise)

    def _prepared(self, student: str, exercise: str) -> tuple[NotebookNode, dict]:
        """A graded notebook with points and comments in it, and the resources that its page is made from."""
        path = autograded_notebook(self._course, student, exercise)
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
        return notebook, resources

    def text(self, student: str, exercise: str) -> str:
        """A student's feedback in short, as plain text; empty without a readable result."""
        _, resources = self._prepared(student, exercise)
        page = resources["feedback"]
        return as_text(page, resources["nbgrader"]) if page else ""

    def markdown(self, student: str, exercise: str) -> str:
        """A student's feedback as Markdown; empty without a readable result."""
        _, resources = self._prepared(student, exercise)
        page = resources["feedback"]
        return as_markdown(page, resources["nbgrader"]) if page else ""

    def stale(self, pages: Sequence[Page]) -> dict[Page, str]:
        """Pages that aren't made from what there is now, with a digest of that.

        It is empty where that can't be said: then the page has to be written, so that its error is told.
        """
        found: dict[Page, str] = {}
        if not pages:
            return found
        # opening a gradebook takes longer than to ask it for a student
        with self._gradebook():
            for page in pages:
                try:
                    made_from = self._made_from(*page)
                except Exception:
                    made_from = ""
                if not made_from or made_from != _stamps_of(feedback_page(self._course, *page))[0]:
                    found[page] = made_from
        return found

    def prepare(self) -> None:
        """Compile the template of all pages: processes that are forked from this one have it then."""
        self._exporter.from_notebook_node(nbformat.v4.new_notebook(), {"feedback": None})

    def write(self, student: str, exercise: str, made_from: str = "") -> bool:
        """Write one student's page, unless it is current; returns whether it says anything new.

        made_from: what `stale` has said of the page.
        """
        page = feedback_page(self._course, student, exercise)
        made_from = made_from or self._made_from(student, exercise)
        old_made_from, old_content = _stamps_of(page)
        if made_from == old_made_from:
            return False
        notebook, resources = self._prepared(student, exercise)
        body, _ = self._exporter.from_notebook_node(notebook, resources)
        if len(body) > MAX_PAGE:
            raise OutputError(f"it would have {len(body) / 1e6:.0f} MB")
        content = digest_of(body)[:16]
        write_whole(page, f"{body}\n<!-- feedback {made_from} {content} -->\n", PRIVATE)
        return content != old_content


def write_feedback(course: Course, results: Sequence[Result]) -> int:
    """Write the feedback pages that are out of date; returns how many were written.

    One that can't be written doesn't keep the others from being written: OutputError names them at the
    end.
    """
    writer = FeedbackWriter(course)
    stale = writer.stale([(result.student, result.exercise) for result in results])
    if stale:
        writer.prepare()
    # not in the processes that write pages, since all of an exercise would write the same file
    for result in results:
        if (result.student, result.exercise) in stale:
            end_round(course, result)

    def write(student: str, exercise: str) -> bool:
        return writer.write(student, exercise, stale[student, exercise])

    written, failed = 0, []
    with progress("Writing feedback") as bar:
        for page, outcome in bar.track(written_pages(write, [*stale]), total=len(stale)):
            if isinstance(outcome, str):
                failed.append(f"{', '.join(page)} ({outcome})")
            else:
                written += outcome
    if failed:
        raise OutputError(
            f"The feedback pages of {'; '.join(failed)} could not be written. All others are."
        )
    return written
