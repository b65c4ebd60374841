"""What an audit hands in beside the catalogue: attacks and styles of right work, as a course registers them.

They stand in a package `audit_cases` in the course's own folder, if it has one.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.course import Exercise
from autograder.exercises import answer_cell, metadata_of, reference_answers, solved
from autograder.grade.answer_key import AnswerKey
from autograder.kernels import sandbox

CASES = "audit_cases"


def register_cases(root: Path) -> None:
    """Have the package in a course's folder register what it has; nothing if there is none."""
    if (root / CASES / "__init__.py").is_file():
        sys.path.insert(0, str(root))
        try:
            importlib.import_module(CASES)
        finally:
            sys.path.remove(str(root))


# Attacks ----------------------------------------------------------------------------------------

# the student whose solved notebook lies in the same class, to be copied or harmed
HONEST_STUDENT = "honest-student"
# attacks of these kinds are not tried where nothing would stop them
MACHINE, METER = "the machine", "the limit of memory"
# writes a submission into a folder, knowing all that was expected
HandIn = Callable[[Exercise, Path, "AnswerKey"], None]


@dataclass(frozen=True)
class Attack:
    """One attack: make(exercise, folder) writes its submission into an empty folder.

    without_sandbox: what it gains where kernels have no sandbox; empty for an attack that gains nothing
    there either. undetected: what a forbidden function gains where its use isn't detected. exercise: the
    name of the only one it fits, if not all. hangs: whether it makes a cell or a check run until it is
    stopped, so that its limits should be short; again: what writes the folder once more when feedback has
    been written, knowing all that was expected; the second grade is the attack's; of_another: whether the
    feedback is another student's, and this one hands in for the first time; of_torch: whether its code
    uses torch, so that it fits exercises with torch only; limits: what the class's limits are when it is
    tried, by name, which hold in a sandbox; remark: the kind of remark without which it wasn't tried.
    """

    name: str
    kind: str
    make: Callable[[Exercise, Path], None]
    without_sandbox: str = ""
    undetected: str = ""
    exercise: str = ""
    hangs: bool = False
    again: HandIn | None = None
    of_another: bool = False
    of_torch: bool = False
    limits: Mapping[str, int] = field(default_factory=dict)
    remark: str = ""

    @property
    def may_gain(self) -> bool:
        """Whether it is known to gain something."""
        return bool(self.undetected or (self.without_sandbox and sandbox.why_not()))


ATTACKS: dict[str, Attack] = {}


def attacks(exercise: Exercise) -> list[Attack]:
    """The attacks that fit an exercise, and this machine."""
    return [
        attack
        for attack in ATTACKS.values()
        if attack.exercise in ("", exercise.name)
        and (exercise.uses_torch or not attack.of_torch)
        and not ((attack.limits or attack.kind in (MACHINE, METER)) and sandbox.why_not())
    ]


def names_torch(code: str) -> bool:
    """Whether a piece of code, complete or not, uses torch by its name."""
    return re.search(r"\btorch\b", code) is not None


# how the two cells of an attack's code begin: what it may use, and what it does
SETUP = "# what an attack may use"
DEED = "# what this attack does"


# Styles of right work ---------------------------------------------------------------------------

Change = Callable[[NotebookNode], None]


@dataclass(frozen=True)
class HonestStyle:
    """One style: change makes the notebook that its student checks, damage what is handed in of it."""

    name: str
    change: Change
    damage: Change | None = None

    def checked(self, exercise: Exercise) -> NotebookNode:
        """The notebook as its student sees and checks it."""
        notebook = solved(exercise, reference_answers(exercise))
        self.change(notebook)
        return notebook

    def handed_in(self, exercise: Exercise) -> NotebookNode:
        """The notebook as it is handed in."""
        notebook = self.checked(exercise)
        if self.damage is not None:
            self.damage(notebook)
        return notebook


HONEST_STYLES: dict[str, HonestStyle] = {}


# Attacks on follow-through ----------------------------------------------------------------------


@dataclass(frozen=True)
class FollowThroughAttack:
    """One attack.

    exercise: the name of the one it fits; missing: the earlier answers that it doesn't give; answers:
    the later ones, by name; helpers: code that these need; trick: code that runs after it; behind: code in cells of
    its own, by the answer cell above it; wrong: what stands in place of missing answers, if not the stub; hangs:
    whether it waits until it is stopped, so that its limits should be short.
    """

    name: str
    exercise: str
    missing: tuple[str, ...]
    answers: Mapping[str, str]
    helpers: str
    trick: str
    behind: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False

    def notebook(self, exercise: Exercise) -> NotebookNode:
        """What is handed in."""
        notebook = self._with(
            {**self.answers, **self.wrong}, f"{self.helpers}\n{self.trick}", exercise
        )
        for place, code in self.behind.items():
            names = [metadata_of(cell).get("grade_id") for cell in notebook.cells]
            notebook.cells.insert(names.index(place) + 1, new_code_cell(code, id="trick"))
        return notebook

    def twin(self, exercise: Exercise) -> NotebookNode:
        """The honest notebook."""
        right = reference_answers(exercise)
        answers = {**self.answers, **{name: right[name] for name in self.missing}}
        return self._with(answers, self.helpers, exercise)

    def _with(self, answers: Mapping[str, str], code: str, exercise: Exercise) -> NotebookNode:
        notebook = solved(exercise, dict(answers), written="")
        first = notebook.cells.index(answer_cell(notebook))
        notebook.cells.insert(first, new_code_cell(code, id="helpers"))
        return notebook


FOLLOW_THROUGH_ATTACKS: dict[str, FollowThroughAttack] = {}
