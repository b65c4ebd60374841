"""Submissions that the clock has stopped: each is graded once more, after all others and alone."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterator

from autograder.grade.examine import Graded
from autograder.grade.result import MAX_RUNS, NOT_FINAL, Remark, Result
from autograder.grade.worker_pool import GradingJob, WorkerPool, examine_all
from autograder.progress import say

# for all that are graded once more
ALONE_SECONDS = 1800


def counted(graded: Graded, before: Result | None) -> Graded:
    """A graded submission that says in how many runs it was stopped by the clock; before: what is recorded."""
    found = graded.result
    if found.is_final or before is None or before.basis != found.basis:
        return graded
    remarks = tuple(
        Remark(r.kind, {**r.parameters, "runs": before.runs + 1}) if r.kind in NOT_FINAL else r
        for r in found.remarks
    )
    return dataclasses.replace(graded, result=dataclasses.replace(found, remarks=remarks))


def examine_fairly(
    tasks: Iterator[GradingJob],
    pool: WorkerPool,
    given_up: Callable[[GradingJob], Graded],
    done: Callable[[GradingJob], None],
) -> Iterator[Graded]:
    """Grade every task's submission.

    What isn't final was stopped by the clock, perhaps because of others, so it comes last, graded again while
    nothing else is. After ALONE_SECONDS the rest stays as it is; it is not current, and graded in the next run.

    given_up: what a submission gets that has ended its worker twice; done: called after each.
    """
    stopped: list[GradingJob] = []
    first: dict[str, Graded] = {}
    for task, found in examine_all(tasks, pool):
        graded = found or given_up(task)
        done(task)
        if graded.result.is_final:
            yield graded
        else:
            stopped.append(task)
            first[str(task)] = graded
    if not stopped:
        return
    say(f"Stopped by the clock, and graded once more alone: {len(stopped)}.", error=True)
    until = time.monotonic() + ALONE_SECONDS
    again = itertools.takewhile(lambda _: time.monotonic() < until, stopped)
    for task, found in examine_all(again, pool, at_once=1):
        before = first.pop(str(task))
        graded = found or before
        if not graded.result.is_final:
            told = f"stopped by the clock again. The next run grades it again; after {MAX_RUNS} its grade stays."
            say(f"{task}: {told}", error=True)
        yield graded
    yield from first.values()
