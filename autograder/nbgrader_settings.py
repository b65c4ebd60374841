"""nbgrader's settings for a course: what a course's nbgrader_config.py calls.

After `configure(c, __file__)` nbgrader's own commands and formgrader, run in that file's folder, generate
exercises, grade and write feedback as `python -m autograder` does. What a course wants otherwise it sets below that
line.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    IncludeHeaderFooter,
    InstantiateTests,
    LockCells,
    SaveCells,
)
from nbgrader.server_extensions import formgrader
from traitlets.config import Config

from autograder.build.nbgrader_steps import FormatChecks, ShowClaims, Stamp
from autograder.display.cleaning import clean_html, markdown2html
from autograder.display.mathml import Formulas
from autograder.grade.comments import ShowKeptComments
from autograder.grade.exchange import (
    Collect,
    FetchAssignment,
    ReleaseAssignment,
    ReleaseFeedback,
    Submit,
)
from autograder.grade.feedback_page import FeedbackPage
from autograder.grade.nbgrader_autograde import install
from autograder.grade.page_exporter import PageExporter
from autograder.grade.recorded_points import RecordedPoints
from autograder.grade.verdicts import Verdicts
from autograder.grade.written_questions import ShowQuestions
from autograder.package import PACKAGE, PACKAGE_ROOT, is_installed
from autograder.points import as_shown
from autograder.runtime.compare import TO_DO
from autograder.text import with_code


def _prepend(variable: str, *folders: Path) -> None:
    """Put folders first in an environment variable, once however often settings are read."""
    own = [str(folder) for folder in folders]
    others = [p for p in os.environ.get(variable, "").split(os.pathsep) if p not in ("", *own)]
    os.environ[variable] = os.pathsep.join([*own, *others])


def configure(c: Config, config_file: str) -> None:
    """Set everything that nbgrader needs to know of a course.

    c: what `get_config()` gives; config_file: the path of the course's nbgrader_config.py. The course is
    called like its folder unless `c.CourseDirectory.course_id` is set afterwards.
    """
    root = Path(config_file).resolve().parent
    # nbgrader shells out to alembic, which stands beside this Python
    _prepend("PATH", Path(sys.executable).parent)
    # the kernel that nbgrader's InstantiateTests starts imports this package, and the course's solutions
    _prepend("PYTHONPATH", *dict.fromkeys((root,) if is_installed() else (root, PACKAGE_ROOT)))
    _set_folders(c, root)
    _set_generation(c, root)
    # nbgrader autograde and formgrader grade as `python -m autograder grade` does
    install()
    _set_pages(c, root)


def _set_folders(c: Config, root: Path) -> None:
    c.CourseDirectory.course_id = root.name
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.source_directory = "course/source"
    c.CourseDirectory.release_directory = "exercises"
    c.CourseDirectory.submitted_directory = "course/submitted"
    c.CourseDirectory.autograded_directory = "course/autograded"
    c.CourseDirectory.feedback_directory = "course/feedback"
    c.CourseDirectory.db_url = f"sqlite:///{root}/course/gradebook.db"
    # nbgrader's converters copy no other file than notebooks: what students hand in may be a link or a pipe
    c.CourseDirectory.ignore = ["*"]
    c.ExchangeFactory.release_assignment = ReleaseAssignment
    c.ExchangeFactory.fetch_assignment = FetchAssignment
    c.ExchangeFactory.submit = Submit
    c.ExchangeFactory.collect = Collect
    c.ExchangeFactory.release_feedback = ReleaseFeedback
    c.Exchange.root = str(root / "course" / "exchange")


def _set_generation(c: Config, root: Path) -> None:
    c.ClearSolutions.code_stub = {
        "python": f'raise NotImplementedError("{TO_DO}: put your code in place of this line, then run the cell.")'
    }
    c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
    c.InstantiateTests.autotest_filename = str(PACKAGE / "build" / "autotests.yml")
    c.GenerateAssignment.preprocessors = [
        IncludeHeaderFooter,
        InstantiateTests,
        # before the gradebook: what this removes is only there for the step above
        ClearHiddenTests,
        FormatChecks,
        LockCells,
        ClearSolutions,
        ClearOutput,
        CheckCellMetadata,
        ComputeChecksums,
        SaveCells,
        ClearMarkScheme,
        ComputeChecksums,
        CheckCellMetadata,
        ShowClaims,
        Stamp,
    ]
    c.Stamp.root = str(root)


def _set_pages(c: Config, root: Path) -> None:
    c.GenerateFeedback.preprocessors = [RecordedPoints, FeedbackPage]
    c.GenerateFeedback.exporter_class = PageExporter
    c.FeedbackPage.root = str(root)
    # feedback and formgrader open with no network
    c.HTMLExporter.preprocessors = [Verdicts, ShowQuestions, ShowKeptComments, Formulas]
    c.Verdicts.root = str(root)
    c.ShowKeptComments.root = str(root)
    c.ShowQuestions.root = str(root)
    c.HTMLExporter.filters = {
        "markdown2html": markdown2html,
        "clean_html": clean_html,
        "with_code": with_code,
        "points": as_shown,
    }
    c.HTMLExporter.extra_template_basedirs = [
        str(PACKAGE / "display" / "templates"),
        str(Path(formgrader.__file__).parent / "templates"),
    ]
    c.HTMLExporter.require_js_url = ""
    c.HTMLExporter.jquery_url = ""
