"""What a class's results say about its exercise: questions, mistakes, sections to teach again."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.catalogue import Mistake, ideas, mistakes, sections
from autograder.course import Exercise
from autograder.grade.result import LineResult, Remark, Result
from autograder.grade.words import FAILURES
from autograder.rules import Rule

# With fewer students, a single one can turn a statement about a question into its opposite.
MIN_CLASS = 20
# a longer piece of code is no example that one reads at a glance
MAX_EXAMPLE = 100


@dataclass(frozen=True)
class Question:
    """One autotest line over the class.

    untried: students who left the stub; discrimination: see `item_rest_correlation`.
    """

    cell: str
    expression: str
    points: float
    asked: int
    right: int
    untried: int
    discrimination: float | None

    @property
    def share_right(self) -> float:
        """The classical difficulty: 1 when everybody is right."""
        return self.right / self.asked

    @property
    def wrong(self) -> int:
        """How many tried and failed."""
        return self.asked - self.right - self.untried


@dataclass(frozen=True)
class Misunderstanding:
    """An idea behind known mistakes, and the students who have it.

    section: label of what to teach again; variants: the mistakes that were recognised, in the catalogue's
    order, with their students; looks_like: a piece of wrong code and what the reference has in its place, from
    the catalogue and no student's; None where it has none that short. All but students and variants are those of the
    first variant.
    """

    name: str
    students: tuple[str, ...]
    means: str = ""
    section: str = ""
    variants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    looks_like: tuple[str, str] | None = None


@dataclass(frozen=True)
class Losses:
    """Points that a class has lost on an exercise, and why.

    untried: in checks of answers that were left as they came; explained: in the others, where a known
    mistake was recognised.
    """

    points: float
    untried: float
    explained: float

    @property
    def unexplained(self) -> float:
        """What no known mistake explains."""
        return self.points - self.untried - self.explained


@dataclass(frozen=True)
class Failure:
    """Something that stopped students' code or kept a submission from being read.

    cell: grade_id, empty for the submission as a whole; kind: the identifier of the difference or the
    remark; found: each student with one of them.
    """

    cell: str
    kind: str
    found: tuple[tuple[str, LineResult | Remark], ...]

    @property
    def students(self) -> list[str]:
        """The students whom it happened to."""
        return [student for student, _ in self.found]


def item_rest_correlation(right: Sequence[bool], rest: Sequence[float]) -> float | None:
    """Correlation of being right on a question with the points on all other questions, or None.

    The point-biserial correlation with the question left out of the total, since otherwise each
    question correlates with itself: S. Henrysson, Correction of item-total correlations in item
    analysis, Psychometrika 28 (1963), 211-218, doi:10.1007/BF02289618. None when all are right, all
    wrong, or the rest is the same for all.
    """
    is_right, others = np.asarray(right, dtype=bool), np.asarray(rest, dtype=float)
    p = is_right.mean()
    if p in (0, 1) or np.ptp(others) == 0:
        return None
    gap = others[is_right].mean() - others[~is_right].mean()
    return float(gap / others.std() * math.sqrt(p * (1 - p)))


def questions(results: Sequence[Result]) -> list[Question]:
    """Every line of an exercise over the class, in the exercise's order."""
    answers: dict[tuple[str, str], list[tuple[LineResult, float]]] = collections.defaultdict(list)
    for result in results:
        for cell, line in result.lines():
            answers[cell, line.expression].append((line, result.score - line.earned))
    found = []
    for (cell, expression), given in answers.items():
        right = [line.passed for line, _ in given]
        untried = sum(line.verdict == "to_do" for line, _ in given)
        r = item_rest_correlation(right, [rest for _, rest in given])
        points = given[0][0].points
        found.append(Question(cell, expression, points, len(given), sum(right), untried, r))
    return found


def most_failed(asked: Sequence[Question]) -> list[Question]:
    """Of each grade cell the question that most have failed, if any have: one mistake fails many lines of a cell."""
    worst: dict[str, Question] = {}
    for question in asked:
        if question.wrong > (worst[question.cell].wrong if question.cell in worst else 0):
            worst[question.cell] = question
    return list(worst.values())


def how_many(results: Sequence[Result]) -> list[int]:
    """How many got all points, at least half of them, less, and none."""
    shares = [result.share for result in results]
    half = sum(0.5 <= share < 1 for share in shares)
    return [shares.count(1), half, sum(0 < share < 0.5 for share in shares), shares.count(0)]


def oddities(asked: Sequence[Question]) -> list[tuple[Question, str]]:
    """Questions that behave oddly, and how; none in a class smaller than MIN_CLASS."""
    found = []
    for question in asked:
        if question.asked < MIN_CLASS:
            continue
        r = question.discrimination
        if question.right == question.asked:
            found.append((question, "All are right: it tells nobody from anybody."))
        elif question.right == 0:
            found.append((question, "All are wrong: too hard, not taught, or the task is unclear."))
        # two standard errors of a correlation that is zero
        elif r is not None and r < -2 / math.sqrt(question.asked - 1):
            words = f"Right mainly for those who have few points elsewhere ({r:.2f})."
            found.append((question, words))
    return found


def misunderstood(exercise: Exercise, results: Sequence[Result]) -> list[Misunderstanding]:
    """The known mistakes that were recognised, by idea; the most frequent first."""
    made: dict[str, list[str]] = collections.defaultdict(list)
    for result in sorted(results, key=lambda result: result.student):
        for name in {line.mistake for _, line in result.lines() if line.mistake}:
            made[name].append(result.student)
    known, idea_of = {mistake.name: mistake for mistake in mistakes(exercise)}, ideas(exercise)
    by_idea: dict[str, list[str]] = collections.defaultdict(list)
    # those that the catalogue has lost since the class was graded stand for themselves
    for name in [name for name in known if name in made] + [n for n in made if n not in known]:
        by_idea[idea_of.get(name, name)].append(name)
    found = []
    for names in by_idea.values():
        students = sorted({student for name in names for student in made[name]})
        first = known.get(names[0])
        found.append(
            Misunderstanding(
                names[0],
                tuple(students),
                first.means if first else "",
                first.section if first else "",
                tuple((name, tuple(made[name])) for name in names),
                _looks_like(first) if first else None,
            )
        )
    return sorted(found, key=lambda idea: -len(idea.students))


def _looks_like(mistake: Mistake) -> tuple[str, str] | None:
    """What a mistake changes in the reference, (wrong, right), if that is one short piece of a line."""
    match mistake:
        case Mistake(edits=(Rule(before=right, after=wrong),), start=None):
            is_short = all(0 < len(text) <= MAX_EXAMPLE for text in (wrong, right))
            return (wrong, right) if is_short else None
    return None


def losses(results: Sequence[Result]) -> Losses:
    """What a class has lost on an exercise, and how much of it known mistakes explain."""
    points = untried = explained = 0.0
    for result in results:
        for cell in result.cells:
            whole_cell = any(line.mistake and not line.by_line for line in cell.lines)
            for line in cell.lines:
                lost = line.points - line.earned
                points += lost
                if line.verdict == "to_do":
                    untried += lost
                elif line.mistake or whole_cell:
                    explained += lost
    return Losses(points, untried, explained)


def to_teach_again(exercise: Exercise, results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Sections by the students who lost points on them: (label, students), the most first.

    A cell's points belong to the section of the mistake that was recognised in it, else to its own.
    """
    by_mistake = {mistake.name: mistake.section for mistake in mistakes(exercise)}
    by_cell = sections(exercise)
    lost: dict[str, set[str]] = collections.defaultdict(set)
    for result in results:
        for cell in result.cells:
            named = [by_mistake.get(line.mistake or "") for line in cell.lines]
            label = next(filter(None, named), by_cell.get(cell.grade_id))
            if label and cell.earned < cell.points:
                lost[label].add(result.student)
    found = [(label, sorted(students)) for label, students in lost.items()]
    return sorted(found, key=lambda item: -len(item[1]))


def failures(results: Sequence[Result]) -> list[Failure]:
    """What stopped code or couldn't be read, by cell and kind; the most frequent first.

    An exception that a student's own code raises is no failure of this kind. Where there is no code to
    run and a remark says why, the cells add nothing to that.
    """
    found: dict[tuple[str, str], dict[str, LineResult | Remark]] = collections.defaultdict(dict)
    for result in results:
        for remark in result.remarks:
            found["", remark.kind].setdefault(result.student, remark)
        for cell, line in result.lines():
            if line.verdict == "no_code" and result.remarks:
                continue
            if line.verdict in FAILURES:
                found[cell, line.verdict].setdefault(result.student, line)
    rows = [
        Failure(cell, kind, tuple(by_student.items())) for (cell, kind), by_student in found.items()
    ]
    return sorted(rows, key=lambda failure: -len(failure.found))
