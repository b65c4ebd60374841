"""nbgrader's settings: its commands, run in this folder, work on this course."""

import os
import sys
from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    GetGrades,
    IgnorePattern,
    IncludeHeaderFooter,
    LimitOutput,
    LockCells,
    SaveAutoGrades,
    SaveCells,
)
from nbgrader.server_extensions import formgrader

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))
# nbgrader shells out to alembic, which stands beside this Python
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

from autograder.build.generate import Autotests, Stamp  # noqa: E402
from autograder.display.cleaning import markdown2html  # noqa: E402
from autograder.display.mathml import Formulas  # noqa: E402
from autograder.grade.exchange import (  # noqa: E402
    Collect,
    FetchAssignment,
    ReleaseAssignment,
    Submit,
)
from autograder.grade.nbgrader_steps import SealedExecute  # noqa: E402
from autograder.grade.sanitize import Rebuild  # noqa: E402

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention-from-scratch"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.source_directory = "course/source"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.submitted_directory = "course/submitted"
c.CourseDirectory.autograded_directory = "course/autograded"
c.CourseDirectory.feedback_directory = "course/feedback"
c.CourseDirectory.db_url = f"sqlite:///{ROOT}/course/gradebook.db"
# nbgrader's converters copy no other file than notebooks: what students hand in may be a link or a pipe
c.CourseDirectory.ignore = ["*"]
c.ExchangeFactory.release_assignment = ReleaseAssignment
c.ExchangeFactory.fetch_assignment = FetchAssignment
c.ExchangeFactory.submit = Submit
c.ExchangeFactory.collect = Collect
c.Exchange.root = str(ROOT / "course" / "exchange")

c.ClearSolutions.code_stub = {
    "python": 'raise NotImplementedError("To do: put your code in place of this line, then run the cell.")'
}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter,
    Autotests,
    LockCells,
    ClearSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
    Stamp,
]
c.Autograde.sanitize_preprocessors = [Rebuild, CheckCellMetadata]
c.Autograde.autograde_preprocessors = [
    SealedExecute,
    IgnorePattern,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
]
c.GenerateFeedback.preprocessors = [GetGrades, CSSHTMLHeaderPreprocessor]
# feedback and formgrader open with no network
c.HTMLExporter.preprocessors = [Formulas]
c.HTMLExporter.filters = {"markdown2html": markdown2html}
c.HTMLExporter.extra_template_basedirs = [
    str(ROOT / "autograder" / "display" / "templates"),
    str(Path(formgrader.__file__).parent / "templates"),
]
c.HTMLExporter.require_js_url = ""
c.HTMLExporter.jquery_url = ""
