"""The template repository of an exercise: students' repositories on GitHub are made from it.

In: a course, an exercise. Out: a folder with the notebook as it was handed out, a workflow that runs its
checks after each push, a dev container, and a README for students. It holds nothing that students don't
get anyway.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autograder.build.source_notebook import is_held_back
from autograder.course import Course, Exercise
from autograder.errors import ExerciseError
from autograder.exercises import released, task_names
from autograder.files import write_whole
from autograder.kernels.versions import refuse_missing_packages
from autograder.lms.collect_github import template_folder
from autograder.lms.requirements import constraints, requirements
from autograder.package import PACKAGE

TEMPLATES = PACKAGE / "publish" / "templates" / "github"
# where each template goes; a package can't hold these names
PLACES = {
    "README.md": "README.md",
    "checks.yml": ".github/workflows/checks.yml",
    "checks.py": ".github/checks.py",
    "devcontainer.json": ".devcontainer/devcontainer.json",
    "gitignore": ".gitignore",
    "gitattributes": ".gitattributes",
}
# what runs a notebook there
NEEDED = ("nbclient", "nbformat", "ipykernel")


def contents(course: Course, exercise: Exercise) -> dict[str, str]:
    """What the repository holds: path -> text. Raises ExerciseError, CourseError."""
    notebook = released(exercise)
    if is_held_back(notebook):
        raise ExerciseError(
            f"{exercise} was built with --hold-back, so its notebook needs a file that students get later, and "
            "its checks could not run on GitHub. Give out that file first, and run `python -m autograder "
            "build --no-hold-back`."
        )
    refuse_missing_packages(course.settings)
    title, _ = task_names(notebook)
    words = {
        "EXERCISE_NAME": exercise.name,
        "EXERCISE_TITLE": title or exercise.name,
        "PYTHON_VERSION": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    found = {}
    for name, place in PLACES.items():
        text = (TEMPLATES / name).read_text(encoding="utf-8")
        for word, replacement in words.items():
            text = text.replace(word, replacement)
        found[place] = text
    lines = requirements(course, exercise, NEEDED)
    return {
        f"{exercise}.ipynb": exercise.notebook.read_text(encoding="utf-8"),
        "requirements.txt": "".join(f"{line}\n" for line in lines),
        "constraints.txt": constraints(course),
        **found,
    }


def write(course: Course, exercise: Exercise, folder: Path | None = None) -> Path:
    """Write the repository's files into a folder, by default course/github/EXERCISE; returns it.

    Other files there stay, so that it may be a repository already. Raises ExerciseError, CourseError,
    OutputError.
    """
    folder = folder or template_folder(course, exercise)
    for name, text in contents(course, exercise).items():
        write_whole(folder / name, text)
    return folder
