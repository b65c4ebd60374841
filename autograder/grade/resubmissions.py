"""What is told of a submission that got fewer points than the one before, and when the earlier grade stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autograder.errors import ResultError
from autograder.grade.result import Remark, Result
from autograder.grade.verdicts import result_path
from autograder.progress import say

# kinds of remarks: fewer points than before; fewer, and the earlier grade counts
FELL, KEPT = "fell", "kept_best"


def has(result: Result, kind: str) -> bool:
    """Whether a result has a remark of a kind."""
    return any(remark.kind == kind for remark in result.remarks)


def _stored(notebook: Path) -> Result | None:
    try:
        return Result.read(result_path(notebook))
    except (FileNotFoundError, ResultError):
        return None


def _asked(result: Result) -> list[tuple[str, str, float]]:
    return [(cell, line.expression, line.points) for cell, line in result.lines()]


def earlier(notebook: Path, result: Result) -> Result | None:
    """The result of the submission before, by the same checks; None if there is none.

    notebook: the graded copy of the submission before.
    """
    found = _stored(notebook)
    if found is None or _asked(found) != _asked(result):
        return None
    is_another = found.basis.submission != result.basis.submission
    return found if is_another or has(found, KEPT) else None


def with_remark(notebook: Path, before: Result | None, result: Result) -> Result:
    """A result that says so if the submission before got more points, also when it is graded again."""
    if before is not None:
        fell = result.score < before.score
        return _with(result, Remark(FELL, {"before": before.score})) if fell else result
    same = _stored(notebook)
    if same is None or same.basis.submission != result.basis.submission:
        return result
    told = [remark for remark in same.remarks if remark.kind == FELL]
    return _with(result, *(one for one in told if result.score < one.parameters["before"]))


def kept(before: Result, result: Result) -> Result:
    """The result of the submission before, which stays: it is current as long as the new one is there."""
    others = tuple(remark for remark in before.remarks if remark.kind != KEPT)
    told = Remark(KEPT, {"points": result.score})
    return replace(before, remarks=(*others, told), basis=result.basis)


def _with(result: Result, *remarks: Remark) -> Result:
    return replace(result, remarks=(*result.remarks, *remarks))


def is_kept(notebook: Path) -> bool:
    """Whether the grade of an earlier submission counts in place of the one that lies there."""
    found = _stored(notebook)
    return found is not None and has(found, KEPT)


def notes(results: Sequence[Result]) -> list[str]:
    """Whose grade fell by handing in again, and who keeps the better one, for the instructor."""
    told = []
    for kind, words in (
        (FELL, "handed in again and got fewer points than before"),
        (KEPT, "handed in again for fewer points, and the earlier grade counts"),
    ):
        for result in results:
            for remark in result.remarks:
                if remark.kind == kind:
                    before, after = (
                        (remark.parameters["before"], result.score)
                        if kind == FELL
                        else (result.score, remark.parameters["points"])
                    )
                    told.append(
                        f"{result.exercise}: {result.student} {words}: {before:g}, then {after:g}."
                    )
    return told


def tell(results: Sequence[Result]) -> None:
    """Print the notes on some results for the instructor."""
    say(*notes(results), error=True)
