"""Draw generated answers and write the list.

python -m benchmarks.peer_answers
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import asdict

import torch

from autograder.mutations import OutOfTime, code, mutations, time_limit
from benchmarks.peer_answers.answer import Task
from benchmarks.peer_answers.generated import LIST, Change
from benchmarks.peer_answers.oracle import LARGE_ONLY, SAME, Case, judged, results
from benchmarks.peer_answers.tasks import PUBLISHED

NUMBER = 12  # wrong answers a task
SECONDS = 20  # for all cases of one change and grader


def cases(task: Task, grader: str, text: str) -> list[Case] | None:
    """What a text does; None if it does nothing at all, or takes too long."""
    try:
        with time_limit(SECONDS):
            found = results(task.name, grader, text, task.places[grader])
    except OutOfTime:
        return None
    return None if not found or found[0].value is None else found


def changes(task: Task) -> Iterator[Change]:
    """The first wrong changes of all changes of a task's code, in a drawn order."""
    right = {grader: cases(task, grader, task.text) for grader in task.places}
    before = code(task.text).splitlines()
    found = list(mutations(task.text))
    random.Random(task.name).shuffle(found)
    number = 0
    for mutation in found:
        after = mutation.text.splitlines()
        differ = [i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b]
        if len(before) != len(after) or len(differ) != 1:
            continue
        told = {grader: cases(task, grader, mutation.text) for grader in task.places}
        verdicts = {
            grader: judged(right[grader] or [], one)
            for grader, one in told.items()
            if one is not None
        }
        wrong_for = [grader for grader, verdict in verdicts.items() if verdict != SAME]
        large = [grader for grader, verdict in verdicts.items() if verdict == LARGE_ONLY]
        if wrong_for:
            yield Change(differ[0], after[differ[0]], wrong_for, large)
            number += 1
        if number == NUMBER:
            return


def large_only(task: Task) -> dict[str, list[str]]:
    """The published answers that are wrong with large scores only: by name, for which graders."""
    found = {}
    for answer in task.answers:
        graders = [
            grader
            for grader in answer.wrong_for
            if (place := task.place(grader, answer)) is not None
            and judged(
                results(task.name, grader, task.text, place),
                results(task.name, grader, answer.text, place),
            )
            == LARGE_ONLY
        ]
        if graders:
            found[answer.name] = graders
    return found


def main() -> None:
    """Write the list."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    torch.set_num_threads(1)
    found = {}
    for task in PUBLISHED:
        found[task.name] = {
            "changes": [asdict(change) for change in changes(task)],
            "large": large_only(task),
        }
        print(task.name, len(found[task.name]["changes"]), flush=True)
    LIST.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
