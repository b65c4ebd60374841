"""Are mistakes named rightly, and is a mistake that nobody knows left without a name?"""

import itertools
import random
import re

import pytest
from autograder.audit.run import depends_on

from autograder import reference
from autograder.build.generate import grade_cells
from autograder.catalogue import (
    alternative_answers,
    alternatives,
    mistake_answers,
    mistakes,
    solution_path,
    with_answers,
)
from autograder.runtime import autotest

pytestmark = pytest.mark.filterwarnings("ignore")

COMPOSITIONS = 50
DRAWS = [[7, 0], [7, 1], [7, 2]]


@pytest.fixture(scope="module")
def values():
    """Expected values and the mistakes' fingerprints, once per exercise."""
    held = {}

    def of(exercise):
        if exercise not in held:
            held[exercise] = {
                name: reference.cell_values(exercise, name, text, DRAWS)
                for name, text in grade_cells(exercise).items()
            }
        return held[exercise]

    return of


def lines_of(cell, definitions):
    """What the grader sees of a program in one cell."""
    lines = []
    for line in cell["lines"]:
        if "truth" in line:
            # trains a model for seconds, and has no fingerprint
            continue
        for draw in line["draws"]:
            inputs = {
                name: autotest.restore(autotest.decode(tree))
                for name, tree in draw["inputs"].items()
            }
            names = {**definitions, **autotest.HELPERS, **inputs}
            got = autotest.evaluate(line["expression"], names, draw["parameter_seed"])
            found = autotest.fingerprint(autotest.decode(got["value"]))
            passed = autotest.judge(draw["expected"], got)["passed"]
            lines.append({"passed": passed, "fingerprint": found, "mistakes": draw["mistakes"]})
    return lines


def names_found(exercise, cells, answers, without=None):
    """The name that every cell gives, {grade_id: name or None}, with one mistake left out.

    answers: the wrong ones. Cells that use none of them, directly or not, are right and have no name.
    """
    program = solution_path(exercise).read_text(encoding="utf-8")
    definitions = reference.definitions(with_answers(program, answers))
    affected = set().union(*(depends_on(program, answer) for answer in answers))
    found = {}
    for grade_id, cell in cells.items():
        asked = " ".join(line["expression"] for line in cell["lines"])
        if not affected & set(re.findall(r"\w+", asked)):
            found[grade_id] = None
            continue
        own = {m.name for m in mistakes(exercise) if m.cell == grade_id} - {without}
        lines = lines_of(cell, definitions)
        found[grade_id] = autotest.recognise(lines, own, set(found.values()) - {None})
    return found


def test_an_unknown_mistake_gets_no_name_and_two_mistakes_at_most_their_own(exercise, values):
    program = solution_path(exercise).read_text(encoding="utf-8")
    known = {mistake.name: mistake_answers(program, mistake) for mistake in mistakes(exercise)}
    wrong, named, asked = [], 0, 0
    for name, answer in known.items():
        asked += 1
        found = set(names_found(exercise, values(exercise), answer, without=name).values())
        if found - {None}:
            wrong.append(f"{name} left out: {found}")
    pairs = [
        (one, other)
        for one, other in itertools.combinations(known, 2)
        if not known[one].keys() & known[other].keys()
    ]
    for one, other in random.Random(0).sample(pairs, min(COMPOSITIONS, len(pairs))):
        asked += 1
        found = set(names_found(exercise, values(exercise), known[one] | known[other]).values())
        named += bool(found & {one, other})
        if found - {None, one, other}:
            wrong.append(f"{one} with {other}: {found}")
    assert named > 0
    assert len(wrong) <= 0.02 * asked, f"{len(wrong)} of {asked}: {wrong[:10]}"


def test_every_known_mistake_is_named_in_its_cell_and_nowhere_wrongly(exercise, values):
    program = solution_path(exercise).read_text(encoding="utf-8")
    for mistake in mistakes(exercise):
        found = names_found(exercise, values(exercise), mistake_answers(program, mistake))
        assert found[mistake.cell] == mistake.name
        assert set(found.values()) <= {None, mistake.name}, mistake.name


def test_every_alternative_passes_every_line(exercise, values):
    program = solution_path(exercise).read_text(encoding="utf-8")
    assert len(alternatives(exercise)) >= 5
    for alternative in alternatives(exercise):
        changed = with_answers(program, alternative_answers(program, alternative))
        definitions = reference.definitions(changed)
        for grade_id, cell in values(exercise).items():
            passed = [line["passed"] for line in lines_of(cell, definitions)]
            assert all(passed), (alternative.name, grade_id)
