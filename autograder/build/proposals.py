"""Changes of the reference that a check catches and nothing explains, and those that no check sees.

Runs in a process of its own (`python -m autograder.build.proposals`), as everything that evaluates the
reference.
"""

from __future__ import annotations

import ast
import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.build.source_notebook import source_notebook, unanswered_cells
from autograder.catalogue import mistake_source, mistakes, with_answers
from autograder.course import Exercise
from autograder.edits import edited
from autograder.errors import CatalogueError
from autograder.exercises import graded_answers, reference_answers
from autograder.expected import ExpectedCell
from autograder.instructor_settings import Settings
from autograder.mutations import OutOfTime, mutations, time_limit
from autograder.reference import ERROR_MARK, answer_job, expected_cell, namespace_of, run_job
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.mistakes import (
    Judged,
    fingerprint,
    fitting,
    same_fingerprint,
    says_little,
)
from autograder.runtime.plain_data import decode, restore
from autograder.splices import EditError

SECONDS = 10  # for one line; what takes longer is no proposal
SEEDS = [[number] for number in range(2)]


@dataclass
class Proposal:
    """Changes of one answer that give the same in the first cell that catches them, as rules."""

    answer: str
    cell: str
    values: Sequence[Judged]
    rules: list[str]

    def section(self) -> str:
        """As a section of the catalogue whose words are missing. The rules behind the first do the same."""
        return "\n".join(
            [
                f"# {self.answer}: {self.cell}",
                f"## {self.rules[0]}",
                "*Hint:*",
                f"`{self.rules[0]}`",
                *(f"<!-- or {rule} -->" for rule in self.rules[1:]),
            ]
        )


def propose(exercise: Exercise) -> list[str]:
    """Sections for mistakes that the catalogue doesn't explain yet; for each answer, what no check sees."""
    return run_job("autograder.build.proposals", exercise)


def _proposals(exercise: Exercise) -> Iterator[str]:
    notebook = source_notebook(exercise, Settings())
    graded, program = graded_answers(notebook), exercise.program()
    cells = {
        name: expected_cell(exercise, name, text, SEEDS)
        for name, text in unanswered_cells(notebook).items()
    }
    for answer, source in reference_answers(exercise).items():
        own = {name: cell for name, cell in cells.items() if answer in graded[name]}
        found: list[Proposal] = []
        unseen: list[str] = []
        for other in mutations(source):
            rule = other.rule(source)
            caught = rule and _caught(with_answers(program, {answer: other.text}), own)
            if not rule or not caught:
                continue
            text = f"{rule.before} -> {rule.after}"
            if not caught[0]:
                unseen.append(text)
                continue
            # students who see nothing but errors or zeros know enough
            if fitting(caught[1]) or not _tells(caught[1]):
                continue
            same = [one for one in found if one.cell == caught[0] and _same(one.values, caught[1])]
            if same:
                same[0].rules.append(text)
            else:
                found.append(Proposal(answer, *caught, [text]))
        yield from (one.section() for one in found)
        if unseen:
            # most of them change nothing; a person reads the list for those that are wrong
            head = f"<!-- No check of {answer} sees these, but perhaps one that trains or counts memory:"
            yield "\n".join([head, *unseen, "-->"])


def _caught(program: str, cells: Mapping[str, ExpectedCell]) -> tuple[str, list[Judged]] | None:
    """The first cell that a program fails ("" if it fails none), and what it gives there; None for an error."""
    try:
        with time_limit(SECONDS):
            names = namespace_of(program)
        for name, cell in cells.items():
            judged = list(_judged(cell, names))
            if not all(one.passed for one in judged):
                return name, judged
    except (Exception, OutOfTime):
        return None
    return "", []


def _judged(cell: ExpectedCell, names: Mapping[str, Any]) -> Iterator[Judged]:
    """What a program gives in a cell, on all draws of the lines whose values tell something."""
    for line in cell.lines:
        for draw in () if line.agreement or line.megabytes is not None else line.draws:
            inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
            with time_limit(SECONDS):
                told = evaluate(line.code, names, inputs, draw.parameter_seed)
            got = Evaluation.read(told)
            wanted = Expected.read(draw.expected)
            passed = judge(wanted, got) is None
            little = not passed and says_little(wanted.value, got.value)
            yield Judged(passed, fingerprint(got.value), draw.mistakes, little)


def _tells(judged: Sequence[Judged]) -> bool:
    return any(not one.passed and not one.says_little for one in judged)


def _same(one: Sequence[Judged], other: Sequence[Judged]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(same_fingerprint(a.fingerprint, b.fingerprint) for a, b in pairs)


def by_task(exercises: Sequence[Exercise]) -> Iterator[str]:
    """For each known mistake of several tasks those that know it, and those where its rules make something unknown."""
    sources = {
        (e.name, answer): text for e in exercises for answer, text in reference_answers(e).items()
    }
    known: dict[str, dict[tuple[str, str], str]] = {}
    for exercise in exercises:
        program = exercise.program()
        for mistake in mistakes(exercise):
            answers = known.setdefault(mistake.name, {})
            answers[exercise.name, mistake.function] = mistake_source(program, mistake)
    wrong = {
        (task, ast.dump(ast.parse(text))) for row in known.values() for task, text in row.items()
    }
    unknown: dict[str, set[tuple[str, str]]] = {}
    for mistake in (one for e in exercises for one in mistakes(e) if one.edits and not one.start):
        for task in sources.keys() - known[mistake.name].keys():
            with contextlib.suppress(EditError):
                if (task, ast.dump(ast.parse(edited(sources[task], mistake.edits)))) not in wrong:
                    unknown.setdefault(mistake.name, set()).add(task)
    for name, row in known.items():
        here, there = (
            ", ".join(sorted(map(".".join, one))) for one in (row, unknown.get(name, ()))
        )
        if there or len(row) > 1:
            yield f"{name}: {here}" + (f"; not yet: {there}" if there else "")


def _main() -> None:
    try:
        found = list(_proposals(answer_job()["exercise"]))
    except CatalogueError as error:
        sys.exit(f"{ERROR_MARK}{error}")
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    _main()
