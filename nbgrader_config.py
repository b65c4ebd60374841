"""nbgrader's settings: its commands, run in this folder, work on this course."""

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
    GetGrades,
    IncludeHeaderFooter,
    InstantiateTests,
    LockCells,
    SaveCells,
)
from nbgrader.server_extensions import formgrader

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))


def prepend(variable: str, folder: Path) -> None:
    """Put a folder first in an environment variable, once however often this file is read."""
    others = [
        p for p in os.environ.get(variable, "").split(os.pathsep) if p not in ("", str(folder))
    ]
    os.environ[variable] = os.pathsep.join([str(folder), *others])


# nbgrader shells out to alembic, which stands beside this Python
prepend("PATH", Path(sys.executable).parent)
# the kernel that nbgrader's InstantiateTests starts imports this package (see autotests.yml)
prepend("PYTHONPATH", ROOT)

from autograder.build.nbgrader_steps import FormatChecks, Stamp  # noqa: E402
from autograder.display.cleaning import clean_html, markdown2html  # noqa: E402
from autograder.display.mathml import Formulas  # noqa: E402
from autograder.grade.exchange import (  # noqa: E402
    Collect,
    FetchAssignment,
    ReleaseAssignment,
    Submit,
)
from autograder.grade.feedback_page import FeedbackPage  # noqa: E402
from autograder.grade.verdicts import Verdicts  # noqa: E402
from autograder.nbgrader_adapter import install  # noqa: E402
from autograder.runtime.compare import TO_DO  # noqa: E402

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

# The grader's own settings; `python -m autograder grade --help` and autograder/instructor_settings.py explain them.
# c.Grader.memory_mb = 2000
# c.Grader.grade_cell_seconds = 10
# c.Grader.python = "/path/to/another/environment/bin/python"
# c.Grader.weights = {"ch2_scaled_dot_product": 2}
# c.Grader.allowed = {"ch2_scaled_dot_product": ["scaled_dot_product_attention"]}
# c.Grader.packages = ["matplotlib", "scipy"]

c.ClearSolutions.code_stub = {
    "python": f'raise NotImplementedError("{TO_DO}: put your code in place of this line, then run the cell.")'
}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
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
    Stamp,
]
c.Stamp.root = str(ROOT)
# nbgrader autograde and formgrader grade as `python -m autograder grade` does
install()
c.GenerateFeedback.preprocessors = [GetGrades, FeedbackPage]
c.FeedbackPage.root = str(ROOT)
# feedback and formgrader open with no network
c.HTMLExporter.preprocessors = [Verdicts, Formulas]
c.Verdicts.root = str(ROOT)
c.HTMLExporter.filters = {"markdown2html": markdown2html, "clean_html": clean_html}
c.HTMLExporter.extra_template_basedirs = [
    str(ROOT / "autograder" / "display" / "templates"),
    str(Path(formgrader.__file__).parent / "templates"),
]
c.HTMLExporter.require_js_url = ""
c.HTMLExporter.jquery_url = ""
