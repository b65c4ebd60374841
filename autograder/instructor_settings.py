"""What an instructor sets as `c.Grader` in nbgrader_config.py, each setting with its default."""

from __future__ import annotations

import dataclasses
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import CourseError

# the file with all settings of a course
CONFIG = "nbgrader_config.py"


@dataclass(frozen=True)
class Limits:
    """What one submission may use, and whether its kernel runs in a sandbox.

    Seconds are those of the processor, and by the clock three times as many.
    cell_seconds: for a cell of the student's; grade_cell_seconds: for all lines of a grade cell;
    notebook_seconds: for the whole notebook; memory_mb: memory and files of all its processes, in
    millions of bytes, of which PyTorch itself takes 200; disk_mb: files, likewise; output_characters:
    of text displayed by one cell.
    sandbox: whether there is one, as the machine offers it; not a setting. Without a sandbox memory_mb
    and disk_mb have no effect; for a kernel with a user of its own, disk_mb is for each file.
    """

    cell_seconds: float = 30.0
    grade_cell_seconds: float = 10.0
    notebook_seconds: float = 600.0
    memory_mb: int = 2000
    disk_mb: int = 200
    output_characters: int = 20_000
    sandbox: bool = False

    @property
    def memory_bytes(self) -> int:
        """memory_mb in bytes."""
        return self.memory_mb * 1_000_000

    @property
    def disk_bytes(self) -> int:
        """disk_mb in bytes."""
        return self.disk_mb * 1_000_000


LIMITS = tuple(f.name for f in dataclasses.fields(Limits) if f.name != "sandbox")
SWITCHES = ("require_sandbox", "keep_best", "follow_through")
# with less, a kernel ends before it has run anything
LEAST_MEMORY_MB = 300


@dataclass(frozen=True)
class Settings:
    """The grader's settings.

    limits: what a submission may use; python: the interpreter of students' kernels, with ipykernel and
    what the exercises import installed; weights: by exercise, or by "EXERCISE/CELL", what the points of its checks
    are multiplied by when the exercise is built; allowed: by exercise, functions that its cells forbid
    and that are allowed after all; packages: what students' code may import beside what the exercise
    itself imports and what comes with Python, by the names that are imported; require_sandbox: refuse to run
    submissions where there is no sandbox; keep_best: who hands in again, or is graded again by newer
    rules, for fewer points, after lateness, keeps the earlier grade; follow_through: grade a later answer once more
    with right versions of earlier ones that are wrong; course: the course's
    folder, which no student's kernel may see, user: the id of the user that kernels run as where
    there is no sandbox and the grader is root (see `kernels.own_user`), 0 for the grader's own, and
    until: when code is run no more, on the monotonic clock, for who has to answer by then; these three
    are no settings.
    """

    limits: Limits = field(default_factory=Limits)
    python: str = sys.executable
    weights: Mapping[str, float] = field(default_factory=dict)
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    require_sandbox: bool = False
    keep_best: bool = False
    follow_through: bool = True
    course: Path | None = None
    user: int = 0
    until: float = math.inf

    @staticmethod
    def read(values: Mapping[str, Any]) -> Settings:
        """Settings from the values given; CourseError names the one that is unknown or impossible."""
        known = (*LIMITS, *SWITCHES, "python", "weights", "allowed", "packages")
        for name, value in values.items():
            if name not in known:
                raise CourseError(
                    f"{CONFIG}: there is no setting c.Grader.{name}. Known: {', '.join(known)}."
                )
            if name in LIMITS:
                _check_limit(name, value)
        weights, allowed = (_mapping(name, values.get(name, {})) for name in ("weights", "allowed"))
        for name, weight in weights.items():
            if not _is_number(weight) or weight < 0:
                raise CourseError(
                    f"{CONFIG}: c.Grader.weights[{name!r}] is {weight!r}: a number of 0 or more is needed."
                )
        for name, functions in allowed.items():
            if not isinstance(functions, list | tuple):
                raise CourseError(
                    f"{CONFIG}: c.Grader.allowed[{name!r}] is {functions!r}: a list of functions' names is "
                    "needed."
                )
        switches = {name: values[name] for name in SWITCHES if name in values}
        for name, value in switches.items():
            if not isinstance(value, bool):
                raise CourseError(
                    f"{CONFIG}: c.Grader.{name} is {value!r}: True or False is needed."
                )
        limits = Limits(**{name: values[name] for name in LIMITS if name in values})
        python = _program(values["python"]) if "python" in values else sys.executable
        functions_of = {name: tuple(functions) for name, functions in allowed.items()}
        packages = _packages(values["packages"]) if "packages" in values else Settings.packages
        return Settings(limits, python, dict(weights), functions_of, packages, **switches)

    def weight(self, exercise: str, cell: str) -> float:
        """What a cell's points are multiplied by: its exercise's weight times its own."""
        return self.weights.get(exercise, 1) * self.weights.get(f"{exercise}/{cell}", 1)

    def offered(self, packages: Sequence[str]) -> tuple[str, ...]:
        """What students' code may import in an exercise that counts on some packages itself."""
        return tuple(dict.fromkeys([*packages, *self.packages]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise CourseError(
            f"{CONFIG}: c.Grader.{name} is {value!r}: a dictionary with exercises' names as keys is needed."
        )
    return value


def _packages(value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list | tuple)
    if not is_list or not all(isinstance(name, str) and name.isidentifier() for name in value):
        raise CourseError(
            f"{CONFIG}: c.Grader.packages is {value!r}: a list of names is needed, as they are imported: "
            '["scipy", "sklearn"].'
        )
    return tuple(dict.fromkeys(value))


def _check_limit(name: str, value: Any) -> None:
    whole = isinstance(getattr(Limits, name), int)
    least = LEAST_MEMORY_MB if name == "memory_mb" else 0
    if not _is_number(value) or not least < value < 1e9 or (whole and not isinstance(value, int)):
        raise CourseError(
            f"{CONFIG}: c.Grader.{name} is {value!r}: a {'whole ' if whole else ''}number above {least} "
            "and below a thousand million is needed."
        )


def _program(value: Any) -> str:
    """The path of an interpreter; a link, as in a virtual environment, is not followed."""
    found = shutil.which(Path(value).expanduser()) if isinstance(value, str) else None
    if found is None:
        raise CourseError(
            f"{CONFIG}: c.Grader.python is {value!r}: there is no such program. Give the path of a Python "
            "that has numpy and ipykernel, such as /folder/of/environment/bin/python."
        )
    return str(Path(found).absolute())
