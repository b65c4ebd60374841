"""The submissions of an audit: what is handed in, and what is known about it beforehand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.audit.registry import (
    ATTACKS,
    FOLLOW_THROUGH_ATTACKS,
    HONEST_STUDENT,
    HONEST_STYLES,
    FollowThroughAttack,
    attacks,
    names_torch,
    register_cases,
)
from autograder.catalogue import (
    alternative_answers,
    alternatives,
    mistake_answers,
    mistakes,
)
from autograder.course import Exercise
from autograder.exercises import metadata_of, reference_answers, solved
from autograder.files import digest_of


@dataclass(frozen=True)
class Case:
    """One submission of an audit.

    kind: reference, untouched, mistake, alternative, honest, attack, follow-through (an attack on it),
    twin (its honest one), extra or HONEST_STUDENT; text: the notebook that is
    handed in, empty for an attack, which writes its folder itself; checked: the notebook on which its
    student's own check is run, empty for none.
    """

    exercise: Exercise
    kind: str
    name: str
    text: str = ""
    checked: str = ""

    @property
    def student(self) -> str:
        """Who hands it in."""
        if self.kind == HONEST_STUDENT:
            return HONEST_STUDENT
        return f"{self.kind}-{digest_of(self.name)[:12]}"

    @property
    def hangs(self) -> bool:
        """Whether it runs until it is stopped, so that its limits should be short."""
        match self.kind:
            case "attack":
                return ATTACKS[self.name].hangs
            case "follow-through":
                return FOLLOW_THROUGH_ATTACKS[self.name].hangs
        return False

    def hand_in(self, folder: Path) -> None:
        """Write the submission into its folder, which is created."""
        folder.mkdir(parents=True)
        if self.kind == "attack":
            ATTACKS[self.name].make(self.exercise, folder)
        else:
            path = folder / f"{self.exercise.name}.ipynb"
            path.write_text(self.text, encoding="utf-8")


def cases_of(exercise: Exercise) -> list[Case]:
    """The reference, every known mistake and alternative, every honest style and every attack."""
    return [
        *catalogue_cases(exercise),
        *honest_cases(exercise),
        *attack_cases(exercise),
        *follow_through_cases(exercise),
    ]


def catalogue_cases(exercise: Exercise) -> list[Case]:
    """The reference, the untouched notebook, every known mistake and every alternative."""
    program, right = exercise.program(), reference_answers(exercise)
    made: list[tuple[str, str, dict[str, str]]] = [
        ("reference", "reference", right),
        ("untouched", "untouched", {}),
    ]
    for mistake in mistakes(exercise):
        made.append(("mistake", mistake.name, right | mistake_answers(program, mistake)))
    for other in alternatives(exercise):
        made.append(("alternative", other.name, right | alternative_answers(program, other)))
    texts = [
        (kind, name, nbformat.writes(solved(exercise, answers))) for kind, name, answers in made
    ]
    return [Case(exercise, kind, name, text, checked=text) for kind, name, text in texts]


def honest_cases(exercise: Exercise) -> list[Case]:
    """Correct work in every style that fits an exercise, each with what its student has checked.

    Not written by nbformat, which would repair what some of them have damaged. What happens to the file
    after the student's last look changes nothing in the student's own check, which isn't run for it.
    """
    register_cases(exercise.root)
    return [
        Case(
            exercise,
            "honest",
            name,
            json.dumps(style.handed_in(exercise)),
            checked="" if style.damage else json.dumps(style.checked(exercise)),
        )
        for name, style in HONEST_STYLES.items()
        if exercise.uses_torch or not _uses_torch(style.checked(exercise))
    ]


def _uses_torch(notebook: NotebookNode) -> bool:
    """Whether the code that a student has written, or changed, names torch."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return any(names_torch(cell.source) for cell in cells if not metadata_of(cell).get("locked"))


def attack_cases(exercise: Exercise) -> list[Case]:
    """The attacks that fit an exercise and this machine."""
    register_cases(exercise.root)
    return [Case(exercise, "attack", attack.name) for attack in attacks(exercise)]


def follow_through_cases(exercise: Exercise) -> list[Case]:
    """The attacks on follow-through that fit an exercise, and their honest twins, each once."""
    register_cases(exercise.root)
    made, twins = [], {}
    for attack in FOLLOW_THROUGH_ATTACKS.values():
        if attack.exercise == exercise.name:
            text = nbformat.writes(attack.notebook(exercise))
            made.append(Case(exercise, "follow-through", attack.name, text))
            twins[twin_name(attack, exercise)] = nbformat.writes(attack.twin(exercise))
    return [*made, *(Case(exercise, "twin", name, text) for name, text in twins.items())]


def twin_name(attack: FollowThroughAttack, exercise: Exercise) -> str:
    """The name of the case that is an attack's honest twin; several attacks may share one."""
    return digest_of(nbformat.writes(attack.twin(exercise)))[:12]
