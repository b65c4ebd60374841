"""What is said about a grade cell, as data: notebook, feedback page and outputs of a graded notebook print it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .compare import Difference
from .mistakes import NamedMistake
from .violations import NUMBERS

# of a cell's lines whose difference is told where no mistake explains the cell
MAX_TOLD = 3


@dataclass(frozen=True)
class Line:
    """What is said about one line.

    problem: how it is wrong, None where it passed or that isn't said; mistake: the known one that is told;
    folded: only counted, with others; waits: it can be judged only when the result is right.
    """

    passed: bool
    problem: Difference | None
    mistake: NamedMistake | None
    folded: bool
    waits: bool = False


@dataclass(frozen=True)
class Known:
    """What a reader knows before a cell.

    explained: mistakes that stand explained elsewhere, with the cells that do it; suspects: answers that the
    cell uses and that aren't right; again: whether another cell of the same answer has failed.
    """

    explained: Mapping[str, str] = field(default_factory=dict)
    suspects: Sequence[str] = ()
    again: bool = False


@dataclass(frozen=True)
class Plan:
    """What is said about a cell.

    repeated: the mistake that stands explained elsewhere and explains this cell, of which nothing else is
    said; sure: a mistake explains all of it; suspects: answers to put right first; mistake: the first
    that is told, whose section is to be read; nothing_new: what there is to read was said before.
    """

    lines: Sequence[Line]
    repeated: str | None = None
    sure: bool = False
    suspects: Sequence[str] = ()
    mistake: str | None = None
    nothing_new: bool = False

    @property
    def says_how(self) -> bool:
        """Whether any line says how it is wrong."""
        return any(line.problem for line in self.lines)


def with_asides(problems: Sequence[Difference | None]) -> list[Difference | None]:
    """A cell's differences: of a line that is about arguments and fails for the result, which other lines are about,
    it is said that it waits for them."""
    others = any(problem and not problem.parameters.get("aside") for problem in problems)
    return [
        Difference("not_judged")
        if problem and others and problem.parameters.get("aside")
        else problem
        for problem in problems
    ]


def plan(
    problems: Sequence[Difference | None],
    named: Sequence[NamedMistake | None],
    sentences: Sequence[str],
    known: Known | None = None,
) -> Plan:
    """What is said about a cell.

    problems, named, sentences: of its lines, empty for one that passed; known: None on a page, which is read
    from anywhere.
    """
    before = known or Known()
    again = any(problems) and (bool(before.suspects) or before.again)
    names = [one.name for one in named if one]
    sure = next((one.name for one in named if one and not one.by_line), None)
    nothing_new = again and set(names) <= before.explained.keys()
    news = zip(problems, named, sentences, strict=True)
    explained = bool(before.explained.keys() & set(names))
    worth = [
        words if _is_news(problem, mistake, before, explained) else None
        for problem, mistake, words in news
    ]
    told = _in_sight(problems, named, worth)
    folds = known is None or bool(sure or again)
    lines = []
    for problem, mistake, is_told in zip(problems, named, told, strict=True):
        folded = nothing_new if problem is None else folds and not is_told and not mistake
        waits = problem is not None and problem.aspect == "not_judged"
        lines.append(Line(problem is None, problem if is_told else None, mistake, folded, waits))
    return Plan(
        lines,
        repeated=sure if sure in before.explained else None,
        sure=sure is not None,
        suspects=before.suspects if any(problems) and not names else (),
        mistake=next(iter(names), None),
        nothing_new=nothing_new,
    )


def _is_news(
    problem: Difference | None, mistake: NamedMistake | None, before: Known, explained: bool
) -> bool:
    """Whether the difference of a line may be said. explained: a mistake of the cell is, elsewhere."""
    if problem is None:
        return False
    if mistake:
        return mistake.name not in before.explained
    # where a mistake shows that another cell explains, other numbers are no news
    if explained and _only_numbers(problem):
        return False
    # likewise where an answer is used that isn't right
    told_there = problem.aspect in ("digits", "parameters") or _only_numbers(problem)
    return not (before.suspects and told_there)


def _in_sight(
    problems: Sequence[Difference | None],
    named: Sequence[NamedMistake | None],
    sentences: Sequence[str | None],
) -> list[bool]:
    """Of which lines of a cell it is said how they are wrong; the others only count.

    One mistake makes many lines wrong: where it is named, and where nothing new can be said but other
    numbers, or the same of other sizes, the first line tells all.
    """
    explained = any(one is not None and not one.by_line for one in named)
    told: list[bool] = []
    said: set[str] = set()
    for problem, mistake, words in zip(problems, named, sentences, strict=True):
        kind = _kind(problem, words or "") if problem else ""
        new = problem is not None and words is not None and not {words, kind} & said
        if new and problem and not mistake:
            new = not explained and not (said and _only_numbers(problem)) and sum(told) < MAX_TOLD
        told.append(new)
        if new and words:
            said |= {words, kind}
    return told


def _only_numbers(problem: Difference) -> bool:
    """Whether nothing is known of a difference but that numbers are others."""
    if problem.aspect == "not_judged":
        return True
    return problem.aspect in NUMBERS and "violated" not in problem.parameters


def _kind(problem: Difference, words: str) -> str:
    """What two lines share that fail for one reason: digits that are lost, an error at one line of code."""
    if problem.aspect == "digits":
        return "digits"
    return f"error at {line}" if (line := problem.parameters.get("line")) else words
