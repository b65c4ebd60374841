"""What is told of a submission that got fewer points than before, and when the earlier grade stays.

It may be handed in again, or graded again by other rules: a newer grader, another answer key, other versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autograder.errors import ResultError
from autograder.grade.result import Remark, Result
from autograder.grade.verdicts import result_path
from autograder.points import as_shown
from autograder.progress import say

# kinds of remarks: fewer points than before; fewer, and the earlier grade counts, of another submission or
# of the same by other rules
FELL, KEPT, KEPT_RULES = "fell", "kept_best", "kept_rules"


def has(result: Result, *kinds: str) -> bool:
    """Whether a result has a remark of one of some kinds."""
    return any(remark.kind in kinds for remark in result.remarks)


def _stored(notebook: Path) -> Result | None:
    try:
        return Result.read(result_path(notebook))
    except (FileNotFoundError, ResultError):
        return None


def _asked(result: Result) -> list[tuple[str, str, float]]:
    return [(cell, line.expression, line.points) for cell, line in result.lines()]


def by_other_rules(notebook: Path, result: Result) -> Result | None:
    """The result that the same submission got by other rules; None if there is none.

    notebook: the graded copy of the submission before.
    """
    found = _stored(notebook)
    if found is None or not found.is_final or found.basis == result.basis:
        return None
    return found if found.basis.submission == result.basis.submission else None


def earlier(notebook: Path, result: Result) -> Result | None:
    """The result of the submission before, or of the same by other rules, by the same checks; None if none.

    notebook: the graded copy of the submission before.
    """
    found = _stored(notebook)
    if found is None or _asked(found) != _asked(result):
        return None
    is_another = found.basis.submission != result.basis.submission
    if is_another or has(found, KEPT, KEPT_RULES):
        return found
    return by_other_rules(notebook, result)


def with_remark(notebook: Path, before: Result | None, result: Result) -> Result:
    """A result that says so if the submission before got more points, also when it is graded again."""
    if before is not None and before.basis.submission != result.basis.submission:
        fell = result.score < before.score
        return _with(result, Remark(FELL, {"before": before.score})) if fell else result
    same = _stored(notebook)
    if same is None or same.basis.submission != result.basis.submission:
        return result
    told = [remark for remark in same.remarks if remark.kind == FELL]
    return _with(result, *(one for one in told if result.score < one.parameters["before"]))


def kept(before: Result, result: Result) -> Result:
    """The result that was there before, which stays: it is current as long as the submission is the same."""
    is_same = before.basis.submission == result.basis.submission and not has(before, KEPT)
    others = tuple(one for one in before.remarks if one.kind not in (KEPT, KEPT_RULES))
    told = Remark(KEPT_RULES if is_same else KEPT, {"points": result.score})
    return replace(before, remarks=(*others, told), basis=result.basis)


def _with(result: Result, *remarks: Remark) -> Result:
    return replace(result, remarks=(*result.remarks, *remarks))


def is_kept(notebook: Path) -> bool:
    """Whether the grade of an earlier submission counts in place of the one that lies there."""
    found = _stored(notebook)
    return found is not None and has(found, KEPT)


def notes(results: Sequence[Result]) -> list[str]:
    """Whose grade fell by handing in again, and who keeps a better one, for the instructor."""
    told = []
    for kind, words in (
        (FELL, "handed in again and got fewer points than before"),
        (KEPT, "handed in again for fewer points, and the earlier grade counts"),
        (KEPT_RULES, "was graded again for fewer points, and the earlier grade counts"),
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
                        f"{result.exercise}: {result.student} {words}: {as_shown(before)}, then {as_shown(after)}."
                    )
    return told


def tell(results: Sequence[Result]) -> None:
    """Print the notes on some results for the instructor."""
    say(*notes(results), error=True)
