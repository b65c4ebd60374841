"""The zip with which Gradescope grades an exercise; `gradescope_run` is what runs there.

In: a course, an exercise. Out: a zip with `setup.sh`, `run_autograder`, the grader and the exercise, and what
is expected on many sets of inputs. It holds no solution, no mistake's code and, without follow-through,
no right version.
"""

from __future__ import annotations

import importlib.resources
import io
import math
import secrets
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.book_index import book_url
from autograder.build.source_notebook import is_held_back
from autograder.course import Course, Exercise
from autograder.dependencies import statements_of
from autograder.errors import ExerciseError, ExportError, writing
from autograder.exercises import released, tasks
from autograder.grade.answer_key import AnswerKey
from autograder.grade.exercise_words import words_of
from autograder.grade.make_keys import keys_under
from autograder.grade.seeds import new_seed
from autograder.kernels.versions import refuse_missing_packages
from autograder.lms.gradescope_run import (
    EXERCISE,
    EXPECTED,
    PackedExercise,
    PackedSet,
    seconds_after,
)
from autograder.lms.requirements import constraints, requirements
from autograder.package import PACKAGE, PACKAGE_ROOT
from autograder.points import as_shown
from autograder.progress import progress
from autograder.runtime import MODULES

# sets of inputs, one of which is picked for each run
SETS = 50
# The specification names no limit. A zip of this course has 10 to 70 MB.
MAX_MEGABYTES = 100
# the modules that are run there; the runtime's are read as files, too, and `in_kernel` is
RUN = (
    "autograder.lms.gradescope_run",
    "autograder.kernels.forkserver_main",
    "autograder.kernels.in_kernel",
    "autograder.kernels.sandbox",
)
NEEDED = ("nbformat", "jupyter_client", "ipykernel", "nbconvert", "latex2mathml", "nh3")
# when Gradescope ends a run, if an instructor sets that, and the most that can be set; without, it's 10
MINUTES, MOST_MINUTES = 20, 40
# megabytes that the grader itself takes, beside what a submission may use
OWN_MEGABYTES = 1000
# what entries of the zip are: a program, a file, a secret, a folder for secrets
PROGRAM, FILE, SECRET, SECRET_FOLDER = 0o100755, 0o100644, 0o100600, 0o040700
# the earliest time that a zip can hold
EARLIEST = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Gain:
    """Something that code in a submission can get there; attacks: of the audit, those that get it."""

    what: str
    attacks: tuple[str, ...] = ()


# without namespaces; no attack of the audit gets a point by it
GAINS = (
    Gain(
        "see the names of processes and sockets, and files of the system that everybody may read: none of "
        "them is secret",
        ("other processes listed", "sockets of the fork server", "passwords"),
    ),
    Gain(
        "fill the container's disk and memory, which are its own and end with it: then its own submission "
        "may get no grade",
        (
            *("every disk filled", "very many files"),
            *("memory in shared mappings, mostly unmapped", "memory in very many mappings"),
        ),
    ),
    Gain(
        "tell its author one thing for each check in each submission, such as which set of inputs was drawn, or "
        "whether a guess is right on it. Inputs help nobody who can't compute what is right on them, and a "
        "guess that was right is worth points only when the same set is picked again: twenty submissions gain "
        "nothing, hundreds could gain a check whose right values are few"
    ),
)
FOLLOW_THROUGH_GAIN = Gain(
    "read the right versions of earlier answers when they are put in place, and tell them to its author piece "
    "by piece, in which checks it passes in many submissions: so with --follow-through a patient author "
    "gets all points but those of the last answer"
)


@dataclass(frozen=True)
class GradescopeZip:
    """What was made; notes: what an instructor sets in Gradescope; gains: what code can get there."""

    path: Path
    notes: tuple[str, ...]
    gains: tuple[str, ...]


def make(
    course: Course,
    exercise: Exercise,
    path: Path | None = None,
    follow_through: bool = False,
    minutes: int = MINUTES,
) -> GradescopeZip:
    """Write the zip of an exercise, whole or not at all, readable for its owner alone.

    path: by default course/gradescope/EXERCISE.zip; minutes: after which Gradescope ends a run. Raises
    ExerciseError for an exercise that can't be given away, ExportError for a zip that is too large or a
    time that Gradescope doesn't offer, OutputError.
    """
    path = path or course.home / "gradescope" / f"{exercise.name}.zip"
    if is_held_back(released(exercise)):
        raise ExerciseError(
            f"{exercise.name} was built with --hold-back, so the zip would give what earlier exercises built "
            "to students' code. Give out that file first, and run `python -m autograder build "
            "--no-hold-back`."
        )
    refuse_missing_packages(course.settings)
    seeds = [new_seed() for _ in range(SETS)]
    with progress("Evaluating") as bar:
        shown = bar.add_task("", total=SETS)
        keys = keys_under(course, exercise, seeds, lambda more: bar.advance(shown, more))
    # half of the time is for what has begun by the end
    fewest = math.ceil(2 * seconds_after(keys[0], course.settings.limits) / 60)
    if not fewest <= minutes <= MOST_MINUTES:
        raise ExportError(
            f"{exercise.name} can't be graded with a timeout of {minutes} minutes: with this course's limits it "
            f"needs {fewest} at least, and Gradescope offers {MOST_MINUTES} at most. Nothing was written."
        )
    content = zipped(course, exercise, keys, follow_through, minutes)
    megabytes = len(content) / 1e6
    if megabytes > MAX_MEGABYTES:
        raise ExportError(
            f"The zip for {exercise.name} would have {megabytes:.0f} MB, more than the {MAX_MEGABYTES} MB up "
            "to which one is made, and Gradescope may refuse it. Draw smaller inputs in "
            f"solutions/{exercise.name}.py. Nothing was written."
        )
    _write(path, content)
    points = sum(line.points for cell in keys[0].cells.values() for line in cell.lines)
    memory = (course.settings.limits.memory_mb + OWN_MEGABYTES) / 1000
    follows = "Follow-through: yes." if follow_through else "There is no follow-through there."
    return GradescopeZip(
        path,
        (
            f"{megabytes:.1f} MB, with {SETS} sets of inputs, one of which is picked for each submission.",
            f"In Gradescope: {as_shown(points)} points for the autograder, a container with at least 1 CPU and "
            f"{memory:g} GB, a timeout of {minutes} minutes. No run is told its timeout: with a shorter one, a "
            "notebook that runs long gets no points, in place of those that it had until then.",
            follows,
        ),
        tuple(gain.what for gain in (*GAINS, *([FOLLOW_THROUGH_GAIN] if follow_through else []))),
    )


@dataclass(frozen=True)
class _Entry:
    """A file of the zip, or a folder; mode: as in the file system, its kind included."""

    name: str
    content: str | bytes
    mode: int = FILE


def packed_modules() -> list[Path]:
    """The files of the modules that run there, and of all that they import, inside functions, too."""
    waiting = [*RUN, *(f"autograder.runtime.{name}" for name in MODULES)]
    found: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        file = PACKAGE_ROOT.joinpath(*name.split("."))
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        if name in found or not name.startswith(PACKAGE.name) or not file.is_file():
            continue
        found[name] = file
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        waiting.append(package)
        for statement in statements_of(file.read_text(encoding="utf-8"), package):
            for module, part in statement.imports:
                waiting += [module, f"{module}.{part}"]
    return sorted(found.values())


def _entries(
    course: Course,
    exercise: Exercise,
    keys: Sequence[AnswerKey],
    follow_through: bool,
    minutes: int,
) -> Iterator[_Entry]:
    """All that the zip holds."""
    for name in ("setup.sh", "run_autograder"):
        program = importlib.resources.files("autograder.lms").joinpath("templates", name)
        yield _Entry(name, program.read_text(encoding="utf-8"), PROGRAM)
    lines = requirements(course, exercise, NEEDED)
    yield _Entry("requirements.txt", "".join(f"{line}\n" for line in lines))
    yield _Entry("constraints.txt", constraints(course))
    for file in packed_modules():
        name = file.relative_to(PACKAGE_ROOT).as_posix()
        yield _Entry(name, file.read_text(encoding="utf-8"))
    packed = PackedExercise(
        key=replace(keys[0], cells={}, right_versions={}),
        words=words_of(exercise),
        limits=course.settings.limits,
        packages=course.settings.packages,
        follow_through=follow_through,
        book=book_url(),
        written=sum(task.written for task in tasks(released(exercise))),
        minutes=minutes,
    )
    yield _Entry(EXERCISE, packed.to_json(), SECRET)
    yield _Entry(f"{EXPECTED}/", "", SECRET_FOLDER)
    for number, key in enumerate(keys):
        expected = PackedSet(dict(key.cells), dict(key.right_versions) if follow_through else {})
        yield _Entry(f"{EXPECTED}/{number:02}.xz", expected.to_bytes(), SECRET)


def zipped(
    course: Course,
    exercise: Exercise,
    keys: Sequence[AnswerKey],
    follow_through: bool,
    minutes: int = MINUTES,
) -> bytes:
    """The zip's bytes; keys: one for each set of inputs."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in _entries(course, exercise, keys, follow_through, minutes):
            info = zipfile.ZipInfo(entry.name, EARLIEST)
            # made on Unix, whatever this system is, so that its modes count
            info.create_system = 3
            info.external_attr = entry.mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.content)
    return written.getvalue()


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, that only its owner can read."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    with writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside.touch(mode=0o600, exist_ok=False)
            aside.write_bytes(content)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
