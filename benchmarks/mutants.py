"""Right answers changed in one place at a time: how many such changes does no check see?

python -m benchmarks.mutants
python -m benchmarks.mutants --exercise ch2_scaled_dot_product

Every reference answer and every alternative is changed at each node of its syntax tree in turn
(`autograder/mutations.py`). The grade cells of the changed answer are evaluated on a class's draws. Changes that pass every line are printed: most of them change
nothing (`dim=1` for `dim=-1`); a person reads the list for those that are wrong.
"""

from __future__ import annotations

import argparse
import difflib
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.catalogue import alternative_answers, alternatives, with_answers
from autograder.course import Course, Exercise
from autograder.exercises import reference_answers
from autograder.expected import ExpectedCell
from autograder.grade.make_keys import answer_key
from autograder.mutations import OutOfTime, code, mutations, time_limit
from autograder.reference import namespace_of, prepare_process
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.plain_data import decode, restore

SECONDS = 10  # for one line on one draw; a change that never ends is seen


@dataclass(frozen=True)
class Change:
    """A changed answer that passes every line: whose version it is, and the lines that differ."""

    answer: str
    version: str
    lines: tuple[str, ...]


def passes(program: str, cells: list[ExpectedCell]) -> bool:
    """Whether a program passes every line of some grade cells, but for those that train."""
    try:
        with time_limit(SECONDS):
            names = namespace_of(program)
        for line in (line for cell in cells for line in cell.lines if not line.agreement):
            for draw in line.draws:
                inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
                with time_limit(SECONDS):
                    told = evaluate(line.code, names, inputs, draw.parameter_seed)
                if judge(Expected.read(draw.expected), Evaluation.read(told)) is not None:
                    return False
    except (Exception, OutOfTime):
        return False
    return True


def unseen(exercise: Exercise, cells: Mapping[str, list[ExpectedCell]]) -> tuple[int, list[Change]]:
    """How many changes were tried, and those that no check sees. cells: that grade an answer, by name."""
    program, tried, left = exercise.program(), 0, []
    versions = {"reference": reference_answers(exercise)}
    versions |= {one.name: alternative_answers(program, one) for one in alternatives(exercise)}
    for version, answers in versions.items():
        for answer in answers.keys() & cells.keys():
            right = code(answers[answer]).splitlines()
            for other in mutations(answers[answer]):
                tried += 1
                if passes(with_answers(program, answers | {answer: other.text}), cells[answer]):
                    lines = difflib.ndiff(right, other.text.splitlines())
                    kept = tuple(line for line in lines if line[0] in "+-")
                    left.append(Change(answer, version, kept))
    return tried, left


def main() -> None:
    """Print what no check sees, and how much was tried."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--exercise", help="only this exercise")
    chosen = parser.parse_args().exercise
    warnings.filterwarnings("ignore")
    prepare_process()
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        for exercise in [course.exercise(chosen)] if chosen else course.exercises():
            key = answer_key(course, exercise)
            cells: dict[str, list[ExpectedCell]] = {}
            for grade_id, answers in key.graded.items():
                trains = all(line.agreement for line in key.cells[grade_id].lines)
                for answer in () if trains else answers:
                    cells.setdefault(answer, []).append(key.cells[grade_id])
            tried, left = unseen(exercise, cells)
            for change in left:
                print(
                    f"{exercise.name}: {change.answer} ({change.version})",
                    *change.lines,
                    sep="\n  ",
                )
            print(f"{exercise.name}: {tried} changes tried, {len(left)} unseen", flush=True)


if __name__ == "__main__":
    main()
