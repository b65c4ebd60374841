"""Are mistakes named rightly, and is a mistake that nobody knows left without a name?"""

import itertools
import random
from dataclasses import replace

import pytest

from autograder.catalogue import (
    alternative_answers,
    alternatives,
    mistake_answers,
    mistakes,
    with_answers,
)
from autograder.dependencies import depends_on
from autograder.programs import names_in
from autograder.reference import namespace_of
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.mistakes import (
    Judged,
    Origin,
    Recognition,
    fingerprint,
    fitting,
    is_evidence,
    says_little,
)
from autograder.runtime.plain_data import decode, restore
from tests.support.course import COURSE

# what CONTRIBUTING.md asks of a chapter
MIN_MISTAKES, MIN_ALTERNATIVES = 12, 5
# how many pairs of mistakes are evaluated: each is a program that nothing has evaluated before
PAIRS = 12

pytestmark = pytest.mark.filterwarnings("ignore")


def of_known(cell, name):
    """What the grader sees of a known mistake in a cell, from what was evaluated with the reference.

    The lines with their draws; those of what is trained have no fingerprint and are left out.
    """
    return [
        [
            Judged(name not in draw.mistakes, draw.mistakes.get(name, draw.right), draw.mistakes)
            for draw in line.draws
        ]
        for line in cell.lines
        if not line.agreement
    ]


def evaluated(cell, names):
    """What the grader sees of a program in a cell; names: those that the program defines.

    Lines that train a model for seconds, and have no fingerprint, are left out.
    """
    lines = []
    for line in cell.lines:
        if line.agreement:
            continue
        judged = []
        for draw in line.draws:
            inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
            given = line.code, names, inputs, draw.parameter_seed
            got = Evaluation.read(evaluate(*given, megabytes=line.megabytes))
            wanted = Expected.read(draw.expected)
            passed = judge(wanted, got) is None
            little = not passed and says_little(wanted.value, got.value)
            evidence = is_evidence(wanted.value, got.value)
            judged.append(Judged(passed, fingerprint(got.value), draw.mistakes, little, evidence))
        lines.append(judged)
    return lines


def names_found(exercise, cells, judged_in, without=None):
    """The name that every cell gives for sure, {grade_id: name or None}, with one mistake left out.

    judged_in: a function from a cell to its judged lines.
    """
    homes = {m.name: Origin(m.function, m.cell) for m in mistakes(exercise) if m.name != without}
    recognition = Recognition(homes)
    found = {}
    for grade_id, cell in cells.items():
        named = recognition.cell(grade_id, judged_in(cell))
        found[grade_id] = next((one.name for one in named if one and not one.by_line), None)
    return found


def composed(exercise, cells, answers):
    """The names found for a program with some wrong answers, which nothing has evaluated before."""
    program = exercise.program()
    names = namespace_of(with_answers(program, answers))
    affected = set().union(*(depends_on(program, answer) for answer in answers))

    def judged(cell):
        # a cell that uses none of the wrong answers, directly or not, is right; arrays that fill much memory
        # take long, and show what the cells before have shown
        lines = [line for line in cell.lines if line.megabytes is None]
        used = set().union(*(names_in(line.code) for line in lines))
        return evaluated(replace(cell, lines=tuple(lines)), names) if affected & used else []

    return names_found(exercise, cells, judged)


def test_what_is_known_of_a_mistake_is_what_its_program_gives(some_mistakes, expected):
    """For the last mistake of each cell: the tests below take the stored values for the program's."""
    exercise = some_mistakes
    program = exercise.program()
    for mistake in {mistake.cell: mistake for mistake in mistakes(exercise)}.values():
        cell = expected(exercise)[mistake.cell]
        names = namespace_of(with_answers(program, mistake_answers(program, mistake)))
        stored, found = of_known(cell, mistake.name), evaluated(cell, names)
        stored, found = itertools.chain(*stored), list(itertools.chain(*found))
        assert [one.passed for one in stored] == [one.passed for one in found]
        assert mistake.name in fitting(found)


def test_every_known_mistake_is_named_in_its_cell_and_nowhere_wrongly(some_mistakes, expected):
    exercise = some_mistakes
    cells = expected(exercise)
    for mistake in mistakes(exercise):
        found = names_found(exercise, cells, lambda cell, m=mistake: of_known(cell, m.name))
        assert found[mistake.cell] == mistake.name
        assert set(found.values()) <= {None, mistake.name}, mistake.name


def test_an_unknown_mistake_gets_no_name_and_two_mistakes_at_most_their_own(
    some_mistakes, expected
):
    exercise = some_mistakes
    program, cells = exercise.program(), expected(exercise)
    known = {mistake.name: mistake_answers(program, mistake) for mistake in mistakes(exercise)}
    wrong, named, asked = [], 0, 0
    for name in known:
        asked += 1
        judged_in = lambda cell, name=name: of_known(cell, name)
        found = set(names_found(exercise, cells, judged_in, without=name).values())
        if found - {None}:
            wrong.append(f"{name} left out: {found}")
    pairs = [
        (one, other)
        for one, other in itertools.combinations(known, 2)
        if not known[one].keys() & known[other].keys()
    ]
    for one, other in random.Random(0).sample(pairs, min(PAIRS, len(pairs))):
        asked += 1
        found = set(composed(exercise, cells, known[one] | known[other]).values())
        named += bool(found & {one, other})
        if found - {None, one, other}:
            wrong.append(f"{one} with {other}: {found}")
    # a chapter with one answer has no two mistakes in different answers
    assert named > 0 or not pairs
    assert asked >= MIN_MISTAKES and len(wrong) <= 1, f"{len(wrong)} of {asked}: {wrong[:10]}"


def test_every_alternative_passes_the_lines_that_use_it(some_mistakes, expected):
    """On all draws; memory is measured once a week, since that takes a second each time."""
    exercise = some_mistakes
    program, weekly = exercise.program(), exercise.root == COURSE.root
    assert len(alternatives(exercise)) >= MIN_ALTERNATIVES
    for alternative in alternatives(exercise):
        answers = alternative_answers(program, alternative)
        names = namespace_of(with_answers(program, answers))
        changed = set().union(*(depends_on(program, answer) for answer in answers))
        for grade_id, cell in expected(exercise).items():
            lines = [
                line
                for line in cell.lines
                if changed & names_in(line.code) and (weekly or line.megabytes is None)
            ]
            judged = evaluated(replace(cell, lines=tuple(lines)), names)
            assert all(one.passed for line in judged for one in line), (alternative.name, grade_id)


# A chapter with one answer ------------------------------------------------------------------------
