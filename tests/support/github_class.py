"""A class of twelve on the stand-in for GitHub, one of whom attacks, and what it looks like in the end."""

import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat

from audit_cases.repository_attacks import hostile_clone
from autograder.audit.registry import register_cases
from autograder.catalogue import alternative_answers, alternatives, mistake_answers, mistakes
from autograder.course import Exercise
from autograder.exercises import reference_answers, solved
from tests.support import github_stand_in
from tests.support.course import COURSE

# who has everything right, has pushed nothing, and attacks
RIGHT, IDLE, HOSTILE = "ada-example", "ida-example", "mal-example"
WRONG = [f"{name}-example" for name in ("dia", "eli", "fay", "gus", "hao", "kim", "lea")]
OTHERS = [f"{name}-example" for name in ("ben", "chi")]
ATTACK = "a repository whose notebook is a link to another student's"


@dataclass(frozen=True)
class GitHub:
    """The stand-in's folder, with the program `gh` in bin/."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a command needs to use it."""
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in WHO}
        return {"GITHUB_STAND_IN": str(self.folder), "GIT_CONFIG_GLOBAL": "/dev/null", **who}

    @property
    def programs(self) -> Path:
        """The folder of `gh`."""
        return self.folder / "bin"

    def posted(self) -> dict[str, str]:
        """What was posted as issues, by the end of the repository's name."""
        return {
            path.stem.removeprefix("ch1-attention-"): path.read_text(encoding="utf-8")
            for path in self.folder.glob("issues/*/*.md")
        }


WHO = (("NAME", "Instructor"), ("EMAIL", "instructor@example.org"))


def class_on_github(folder: Path, exercise: Exercise, roster: Path) -> GitHub:
    """Make the stand-in in a folder, what its students will push, and the roster."""
    register_cases(COURSE.root)
    made = GitHub(folder)
    students = folder / "students"
    for place in (made.programs, students):
        place.mkdir(parents=True)
    program = made.programs / "gh"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {github_stand_in.__file__} "$@"\n')
    program.chmod(0o755)
    right, text = reference_answers(exercise), exercise.program()
    known = mistakes(exercise)
    answers = {RIGHT: right}
    for name, mistake in zip(WRONG, known[:: len(known) // len(WRONG)], strict=False):
        answers[name] = right | mistake_answers(text, mistake)
    for name, other in zip(OTHERS, alternatives(exercise), strict=False):
        answers[name] = right | alternative_answers(text, other)
    for name, given in answers.items():
        nbformat.write(solved(exercise, given), students / f"{name}.ipynb")
    hostile_clone(ATTACK, exercise, students).rename(students / f"{HOSTILE}.git")
    names = sorted([*answers, IDLE, HOSTILE])
    rows = [f"s{number:03},{name}" for number, name in enumerate(names, 1)]
    roster.write_text("\n".join(["id,github", *rows, ""]), encoding="utf-8")
    return made


def check_class(github: GitHub) -> None:
    """Assert that everybody who has pushed work has feedback, and that it says what it should."""
    posted = github.posted()
    assert posted.keys() == {RIGHT, *OTHERS, *WRONG}
    for name in (RIGHT, *OTHERS):
        assert "**29 of 29 points.**" in posted[name]
    for name in WRONG:
        assert "**29 of 29 points.**" not in posted[name]
        assert "Hint: " in posted[name] and "Read again: " in posted[name]
