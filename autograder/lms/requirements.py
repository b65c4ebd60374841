"""What has to be installed where an exercise runs elsewhere, as the lines of a requirements.txt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import packages_distributions

from autograder.course import Course, Exercise
from autograder.programs import plain_version

# where torch can be had without CUDA
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


def requirements(course: Course, exercise: Exercise, needed: Sequence[str]) -> Iterator[str]:
    """What is needed there, and what students' code may import, in the versions that are installed here.

    needed: distributions. Raises CourseError for one that isn't installed.
    """
    offered = course.settings.offered(exercise.packages)
    if "torch" in offered:
        yield f"--extra-index-url {TORCH_INDEX}"
    distributions = packages_distributions()
    of_students = [distributions.get(name, [name])[0] for name in offered]
    for name in dict.fromkeys((*needed, *of_students)):
        yield f"{name}=={plain_version(name)}"


def constraints(course: Course) -> str:
    """The course's constraints.txt: what these bring along, pinned; empty for a course without one."""
    path = course.root / "constraints.txt"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
