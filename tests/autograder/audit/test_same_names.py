"""The visible check and the grader name the same mistakes on the same values."""

import contextlib
import io
import itertools

import pytest

from autograder.audit.own_check import names_shown
from autograder.build.source_notebook import words_for_students
from autograder.catalogue import mistake_answers, mistakes, with_answers
from autograder.dependencies import depends_on
from autograder.exercises import baked_answers, grade_cells, released
from autograder.expected import ExpectedDraw
from autograder.grade import kernel_run
from autograder.programs import names_in
from autograder.reference import namespace_of
from autograder.runtime.draw import Draw
from autograder.runtime.evaluate import evaluate
from autograder.runtime.grade_cell import checks_with_inputs, parse_cell
from autograder.runtime.hints import MistakeWords
from autograder.runtime.mistakes import Origin, Recognition
from autograder.runtime.notebook import AutotestFailure, Checks, seed_of
from autograder.runtime.plain_data import encode

pytestmark = pytest.mark.filterwarnings("ignore")


def in_notebook(checks, grade_id, source, names):
    """The names that the visible check tells in a cell."""
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(AutotestFailure):
        checks.run_cell(grade_id, source, names)
    return names_shown(shown.getvalue())


def in_grader(recognition, grade_id, source, answers, names):
    """The names that the grader tells in the same cell, on the visible draw."""
    lines, cell, draw = [], parse_cell(source), Draw(seed_of(grade_id))
    for check, inputs in checks_with_inputs(cell, draw):
        answer = answers[check.expression]
        packed = {name: encode(value) for name, value in inputs.items()}
        expected = ExpectedDraw(packed, draw.parameter_seed, answer, (), answer["mistakes"])
        seed, limit = draw.parameter_seed, check.megabytes
        got = evaluate(check.code, names, inputs, seed, cell.forbidden, limit)
        judged, _ = kernel_run._judged(check, expected, got)
        lines.append([judged])
    return [one.name for one in recognition.cell(grade_id, lines) if one]


def test_the_same_mistakes_are_named_on_the_same_values(exercise):
    """With the first mistake of every cell, and with two mistakes at once, through all later cells."""
    program, cells = exercise.program(), grade_cells(released(exercise))
    told = words_for_students(exercise)
    known = {name: MistakeWords(**words) for name, words in told["mistakes"].items()}
    homes = {name: Origin(words.function, words.cell) for name, words in known.items()}
    first = list({m.cell: m for m in reversed(mistakes(exercise))}.values())
    pairs = [
        (one, other) for one, other in itertools.pairwise(first) if one.function != other.function
    ]
    answers, named = baked_answers(released(exercise)), 0
    for wrong in [*((one,) for one in first), *pairs]:
        texts = {}
        for mistake in wrong:
            texts |= mistake_answers(program, mistake)
        names = namespace_of(with_answers(program, texts))
        affected = set().union(*(depends_on(program, answer) for answer in texts))
        checks, recognition = Checks(known, told["sections"]), Recognition(homes)
        checks.use_answers(answers)
        for grade_id, source in cells.items():
            lines = parse_cell(source).checks
            used = set().union(*(names_in(line.code) for line in lines))
            # what is trained has no mistakes, and arrays that fill much memory take long
            quick = not any(line.agreement or line.megabytes is not None for line in lines)
            if used & affected and quick:
                mine = in_notebook(checks, grade_id, source, names)
                assert mine == in_grader(recognition, grade_id, source, answers[grade_id], names), (
                    grade_id,
                    wrong,
                )
                named += len(mine)
    in_memory = sum("memory(" in source for source in cells.values())
    assert named >= len(first) - in_memory
