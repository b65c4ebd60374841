"""The same right and wrong answers for our grader and for others: how many wrong ones pass, how many right ones fail?

python -m benchmarks.peers

The other graders are installed from the package index, in the versions below, into an environment that is thrown away. The answers
stand in `peer_answers`. A wrong answer counts for a grader only if it is wrong by this grader's own statement of the
task. The result keeps what the first run of the same list of answers gave.
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
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

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
from benchmarks.record import about, save

VERSIONS = {TORCH_JUDGE: "0.1.1", TORCHLEET: "0.1.0"}
WORKER = Path(__file__).with_name("peers_worker.py")
RESULT = Path(__file__).with_suffix(".json")
SECONDS = 120  # for one answer, with us for the checks of one cell; most need a few
# wrong answers that are published, those that a program made, and those of both that are wrong with scores
# of hundreds only
KINDS = ("published", "generated", "large")


@dataclass(frozen=True)
class Verdict:
    """What a grader says of an answer.

    kind: one of KINDS, or `right`; failed: the checks that it fails.
    """

    task: str
    answer: str
    grader: str
    kind: str
    passed: bool
    failed: tuple[str, ...]


def handed_in(answer: Answer, place: Place) -> str:
    """The text that a grader gets."""
    return f"{answer.text.strip()}\n\n\n{place.adapter.strip()}\n"


def kind(answer: Answer, grader: str) -> str:
    """Where an answer counts."""
    if answer.right:
        return "right"
    if grader in answer.large:
        return "large"
    return "published" if answer.source else "generated"


def places(task: Task, grader: str) -> list[tuple[Answer, Place]]:
    """The answers that a grader is given in a task."""
    found = [(answer, task.place(grader, answer)) for answer in task.answers]
    return [(answer, place) for answer, place in found if place is not None]


def digest(tasks: Sequence[Task] = TASKS) -> str:
    """Of the whole list: what is handed in to whom, and what it counts as."""
    told = [
        (task.name, grader, answer.name, kind(answer, grader), handed_in(answer, place))
        for task in tasks
        for grader in GRADERS
        for answer, place in places(task, grader)
    ]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


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
    jobs = [
        {
            "tasks": place.name.split(),
            "code": handed_in(answer, place),
            "entries": place.entries,
        }
        for _, answer, place in given
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
    for (task, answer, _), found in zip(given, told, strict=True):
        yield Verdict(
            task.name,
            answer.name,
            grader,
            kind(answer, grader),
            found["passed"],
            tuple(found["failed"]),
        )


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
                failed = tuple(
                    f"{grade_id}, {line.verdict}: {line.expression}"
                    for grade_id, line in result.lines()
                    if entry in graded[grade_id] and not line.passed
                )
                yield Verdict(task.name, answer.name, OURS, kind(answer, OURS), not failed, failed)


# The result -------------------------------------------------------------------------------------


def counts(verdicts: Iterable[Verdict], tasks: Sequence[Task] = TASKS) -> list[dict[str, Any]]:
    """By task and grader: of each kind, how many were given and how many passed.

    None for a grader that has no such task.
    """
    verdicts = list(verdicts)
    rows = []
    for task in tasks:
        row: dict[str, Any] = {"task": task.name, "title": task.title}
        for grader in GRADERS:
            mine = [one for one in verdicts if (one.task, one.grader) == (task.name, grader)]
            row[grader] = grader in task.places and {
                kind: {
                    "given": sum(one.kind == kind for one in mine),
                    "passed": sum(one.kind == kind and one.passed for one in mine),
                }
                for kind in (*KINDS, "right")
            }
            row[grader] = row[grader] or None
        rows.append(row)
    return rows


def first_run(rows: Sequence[dict[str, Any]], kept: dict[str, Any] | None) -> dict[str, Any]:
    """The counts of the first run of this list of answers, with its date and commit; kept: an earlier result."""
    if kept is not None and kept.get("list") == digest():
        return kept["first"]
    present = about()
    return {"date": present["date"], "commit": present["commit"], "tasks": rows}


def main() -> None:
    """Grade, count and save."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    verdicts, minutes = [], {}
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "environment", VERSIONS)
        for grader in GRADERS:
            start = time.monotonic()
            judged = (
                judged_by_us(TASKS) if grader == OURS else judged_by_peer(python, grader, TASKS)
            )
            verdicts += judged
            minutes[grader] = round((time.monotonic() - start) / 60, 1)
    rows = counts(verdicts)
    kept = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else None
    wrong = [answer for task in TASKS for answer in task.answers if not answer.right]
    measured = {
        "peers": VERSIONS,
        "list": digest(),
        "published": sum(bool(answer.source) for answer in wrong),
        "generated": sum(not answer.source for answer in wrong),
        "right": sum(answer.right for task in TASKS for answer in task.answers),
        "minutes": minutes,
        "tasks": rows,
        "first": first_run(rows, kept),
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
