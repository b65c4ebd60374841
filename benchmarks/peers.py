"""The same right and wrong answers for our grader and for others: how many wrong ones pass, how many right ones fail?

python -m benchmarks.peers
python -m benchmarks.peers --grader ours --task flash

The other graders are installed from the package index, in the versions below, into an environment that is thrown away. The answers
stand in `peer_answers`; they were committed before any grader had seen them. A wrong answer counts for a grader
only if it is wrong by this grader's own statement of the task. With --grader or --task the other verdicts in the result are
kept, if the texts of their answers are still the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import nbformat

from autograder.course import Course
from autograder.exercises import solved
from autograder.grade.grade_class import Grader
from benchmarks.peer_answers.answer import (
    GRADERS,
    OURS,
    TORCH_JUDGE,
    TORCHLEET,
    Answer,
    Place,
    Task,
)
from benchmarks.peer_answers.table import TASKS
from benchmarks.record import save

VERSIONS = {TORCH_JUDGE: "0.1.1", TORCHLEET: "0.1.0"}
WORKER = Path(__file__).with_name("peers_worker.py")
RESULT = Path(__file__).with_suffix(".json")
ANSWERS = "benchmarks/peer_answers"
SECONDS = 120  # for one answer, with us for the checks of one cell; most need a few

# Answers that turned out not to be what they say, after they had been graded: (task, answer, grader) -> why.
# They stay in the result with their verdict, and don't count.
EXCLUDED: dict[tuple[str, str, str], str] = {}


@dataclass(frozen=True)
class Verdict:
    """What a grader says of an answer.

    failed: the checks that it fails; digest: of the text that was handed in; excluded: why it
    doesn't count, or empty.
    """

    task: str
    answer: str
    grader: str
    right: bool
    passed: bool
    failed: tuple[str, ...]
    digest: str
    excluded: str = ""


def handed_in(answer: Answer, place: Place) -> str:
    """The text that a grader gets."""
    return f"{answer.text.strip()}\n\n\n{place.adapter.strip()}\n"


def digest(text: str) -> str:
    """A text in short."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def verdict(
    task: Task, answer: Answer, grader: str, text: str, passed: bool, failed: Iterable[str]
) -> Verdict:
    """A verdict that knows whether it counts."""
    why = EXCLUDED.get((task.name, answer.name, grader), "")
    return Verdict(
        task.name, answer.name, grader, answer.right, passed, tuple(failed), digest(text), why
    )


def places(task: Task, grader: str) -> list[tuple[Answer, Place]]:
    """The answers that a grader is given in a task."""
    found = [(answer, task.place(grader, answer)) for answer in task.answers]
    return [(answer, place) for answer, place in found if place is not None]


# The peers --------------------------------------------------------------------------------------


def environment(folder: Path, graders: Iterable[str]) -> Path:
    """An environment with peers in it; torch and what else they need is this one's. Returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    packages = [f"{grader}=={VERSIONS[grader]}" for grader in graders]
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", *packages]
    subprocess.run(install, check=True)
    return python


def judged_by_peer(python: Path, grader: str, tasks: Sequence[Task]) -> Iterator[Verdict]:
    """Give the answers of some tasks to a peer in an environment."""
    given = [(task, answer, place) for task in tasks for answer, place in places(task, grader)]
    texts = [handed_in(answer, place) for _, answer, place in given]
    jobs = [
        {"task": place.name, "code": text, "entries": place.entries}
        for (_, _, place), text in zip(given, texts, strict=True)
    ]
    request = {"grader": grader, "seconds": SECONDS, "jobs": jobs}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-P", WORKER],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            cwd=folder,
            # torchleet writes there which tasks are passed
            env=os.environ | {"HOME": folder},
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{grader} could not be run:\n{done.stderr}")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    for (task, answer, _), text, found in zip(given, texts, told, strict=True):
        yield verdict(task, answer, grader, text, found["passed"], found["failed"])


def judged_by_peers(graders: Sequence[str], tasks: Sequence[Task]) -> Iterator[Verdict]:
    """Give the answers of some tasks to peers, in an environment that is thrown away."""
    if not graders:
        return
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "environment", graders)
        for grader in graders:
            yield from judged_by_peer(python, grader, tasks)


# Ours -------------------------------------------------------------------------------------------


def judged_by_us(tasks: Sequence[Task]) -> Iterator[Verdict]:
    """Hand the answers of some tasks in to the released exercises, and grade them as a class.

    A notebook holds one answer, and the others are untouched. It passes if every line passes that grades it.
    """
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        grader = Grader(course)
        # as much time as the peers have, so that a busy machine makes no difference
        limits = replace(grader.settings.limits, grade_cell_seconds=SECONDS)
        grader.settings = replace(grader.settings, limits=limits)
        for task in tasks:
            for answer, place in places(task, OURS):
                exercise, (entry,) = course.exercise(place.name), place.entries
                text = handed_in(answer, place)
                student = f"{task.name}-{answer.name}"
                path = course.submitted / student / exercise.name / f"{exercise.name}.ipynb"
                path.parent.mkdir(parents=True)
                nbformat.write(solved(exercise, {entry: text}), path)
                graded = grader.key(exercise).graded
                result = grader.grade(student, exercise).result
                failed = [
                    f"{grade_id}, {line.verdict}: {line.expression}"
                    for grade_id, line in result.lines()
                    if entry in graded[grade_id] and not line.passed
                ]
                yield verdict(task, answer, OURS, text, not failed, failed)


# The result -------------------------------------------------------------------------------------


def counts(verdicts: Iterable[Verdict], tasks: Sequence[Task] = TASKS) -> list[dict]:
    """By task and grader: wrong answers given and passed, right ones given and failed.

    None for a grader that has no such task.
    """
    verdicts = [one for one in verdicts if not one.excluded]
    rows = []
    for task in tasks:
        row: dict = {"task": task.name, "title": task.title}
        for grader in GRADERS:
            mine = [one for one in verdicts if (one.task, one.grader) == (task.name, grader)]
            wrong = [one.passed for one in mine if not one.right]
            right = [one.passed for one in mine if one.right]
            row[grader] = grader in task.places and {
                "wrong": len(wrong),
                "wrong_passed": sum(wrong),
                "right": len(right),
                "right_failed": len(right) - sum(right),
            }
            row[grader] = row[grader] or None
        rows.append(row)
    return rows


def total(rows: Sequence[Mapping], grader: str) -> dict[str, int]:
    """The sums of all tasks that a grader has."""
    found = [row[grader] for row in rows if row[grader] is not None]
    return {name: sum(row[name] for row in found) for name in found[0]} if found else {}


def still_true(kept: Sequence[Mapping], tasks: Sequence[Task] = TASKS) -> list[Verdict]:
    """Verdicts of an earlier result whose answers are still the same."""
    texts = {
        (task.name, answer.name, grader): (digest(handed_in(answer, place)), answer.right)
        for task in tasks
        for grader in GRADERS
        for answer, place in places(task, grader)
    }
    found = []
    for one in kept:
        key = one["task"], one["answer"], one["grader"]
        if texts.get(key) == (one["digest"], one["right"]):
            found.append(
                Verdict(**one | {"failed": tuple(one["failed"]), "excluded": EXCLUDED.get(key, "")})
            )
    return found


def commit_of(path: str) -> str:
    """The last commit that changed a path."""
    told = ["git", "log", "-1", "--format=%h %cI", "--", path]
    return subprocess.run(told, capture_output=True, text=True, check=False).stdout.strip()


def main() -> None:
    """Grade, count and save."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--grader", choices=GRADERS, action="append", help="only this one")
    parser.add_argument("--task", choices=[task.name for task in TASKS], action="append")
    arguments = parser.parse_args()
    graders = arguments.grader or GRADERS
    tasks = [task for task in TASKS if not arguments.task or task.name in arguments.task]
    names = {task.name for task in tasks}
    kept = json.loads(RESULT.read_text(encoding="utf-8"))["verdicts"] if RESULT.exists() else []
    verdicts = [
        one for one in still_true(kept) if one.grader not in graders or one.task not in names
    ]
    verdicts += judged_by_peers([grader for grader in graders if grader != OURS], tasks)
    verdicts += judged_by_us(tasks) if OURS in graders else ()
    order = {(task.name, answer.name): None for task in TASKS for answer in task.answers}
    place = {key: number for number, key in enumerate(order)}
    verdicts.sort(key=lambda one: (place[one.task, one.answer], GRADERS.index(one.grader)))
    rows = counts(verdicts)
    wrong = [answer for task in TASKS for answer in task.answers if not answer.right]
    measured = {
        "peers": VERSIONS,
        "wrong_answers": len(wrong),
        "with_a_source": sum(bool(answer.source) for answer in wrong),
        "right_answers": sum(answer.right for task in TASKS for answer in task.answers),
        "tasks": rows,
        "total": {grader: total(rows, grader) for grader in GRADERS},
        "answers_commit": commit_of(ANSWERS),
        "exercises_commit": commit_of("exercises"),
        "answers": [
            {"task": task.name, "name": one.name, "what": one.what, "source": one.source}
            for task in TASKS
            for one in task.answers
        ],
        "verdicts": [asdict(one) for one in verdicts],
    }
    save(__file__, measured)


if __name__ == "__main__":
    main()
