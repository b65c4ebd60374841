"""What a class's results say about its exercise: questions, mistakes, sections to teach again."""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.catalogue import mistakes, sections
from autograder.course import Exercise
from autograder.grade.result import LineResult, Remark, Result
from autograder.grade.words import FAILURES

# With fewer students, a single one can turn a statement about a question into its opposite.
MIN_CLASS = 20


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


@dataclass(frozen=True)
class Misunderstanding:
    """A known mistake and the students who made it; section: label of what to teach again."""

    name: str
    students: tuple[str, ...]
    means: str = ""
    section: str = ""


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
    """The known mistakes that were recognised, the most frequent first."""
    made: dict[str, list[str]] = collections.defaultdict(list)
    for result in sorted(results, key=lambda result: result.student):
        for name in {line.mistake for _, line in result.lines() if line.mistake}:
            made[name].append(result.student)
    found = [
        Misunderstanding(known.name, tuple(made.pop(known.name)), known.means, known.section)
        for known in mistakes(exercise)
        if known.name in made
    ]
    # those that the catalogue has lost since the class was graded
    found += [Misunderstanding(name, tuple(students)) for name, students in made.items()]
    return sorted(found, key=lambda mistake: -len(mistake.students))


def to_teach_again(exercise: Exercise, results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Sections by the students who lost points on them: (label, students), the most first.

    A cell's points belong to the section of the mistake that was recognised in it, else to its own.
    """
    by_mistake = {mistake.name: mistake.section for mistake in mistakes(exercise)}
    by_cell = sections(exercise)
    lost: dict[str, set[str]] = collections.defaultdict(set)
    for result in results:
        for cell in result.cells:
            named = [by_mistake.get(line.mistake) for line in cell.lines]
            label = next(filter(None, named), by_cell.get(cell.grade_id))
            if label and not cell.passed:
                lost[label].add(result.student)
    found = [(label, sorted(students)) for label, students in lost.items()]
    return sorted(found, key=lambda item: -len(item[1]))


def failures(results: Sequence[Result]) -> list[Failure]:
    """What stopped code or couldn't be read, by cell and kind; the most frequent first.

    An exception that a student's own code raises is no failure of this kind.
    """
    found: dict[tuple[str, str], dict[str, LineResult | Remark]] = collections.defaultdict(dict)
    for result in results:
        for remark in result.remarks:
            found["", remark.kind].setdefault(result.student, remark)
        for cell, line in result.lines():
            if line.verdict in FAILURES:
                found[cell, line.verdict].setdefault(result.student, line)
    rows = [
        Failure(cell, kind, tuple(by_student.items())) for (cell, kind), by_student in found.items()
    ]
    return sorted(rows, key=lambda failure: -len(failure.found))
