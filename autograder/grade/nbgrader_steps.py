"""Sealed grading inside nbgrader's own autograde and formgrader: examination in place of Execute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import Execute
from traitlets import Float, Unicode

from autograder.build.generate import COURSE
from autograder.grade.answer_key import paper
from autograder.grade.examine import Limits, examine
from autograder.kernels import sandbox


class SealedExecute(Execute):
    """Runs a rebuilt submission and writes a verdict into every grade cell."""

    home = Unicode(str(COURSE), help="Folder of the class's seeds.").tag(config=True)
    grade_cell_seconds = Float(10.0, help="Time for all lines of one grade cell.").tag(config=True)
    notebook_seconds = Float(600.0, help="Time for a whole submission.").tag(config=True)

    def limits(self) -> Limits:
        """The limits as they are configured."""
        room = not sandbox.why_not()
        return Limits(self.timeout, self.grade_cell_seconds, self.notebook_seconds, room)

    def preprocess(
        self, nb: NotebookNode, resources: dict, km: Any = None
    ) -> tuple[NotebookNode, dict]:
        """Grade a notebook; what cannot be run is recorded as 0 with a reason."""
        examine(nb, paper(resources["nbgrader"]["notebook"], Path(self.home)), self.limits())
        return nb, resources
