"""From solutions/ to exercises/: reproducible, complete, and never at the cost of anybody's work."""

import json
import re
from dataclasses import asdict

import numpy as np
import pytest

from autograder import embedding
from autograder.build import generate, instantiate, source_notebook
from autograder.build.nbgrader_steps import claims
from autograder.catalogue import mistakes
from autograder.exercises import (
    baked_answers,
    grade_cells,
    graded_answers,
    is_answer_cell,
    is_grade_cell,
    metadata_of,
    released,
    tasks,
)
from autograder.programs import code_only
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.plain_data import unpack
from tests.support.course import COURSE
from tests.support.exercise_programs import normalised, whole_answers


def same_numbers(one, other):
    """Equal, with numbers compared to what processors differ by in 32 bits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_numbers(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_numbers, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return np.isclose(one, other, rtol=1e-5, atol=1e-5, equal_nan=True)
    return one == other


def without_packed_text(cell):
    """A cell's source without what is packed in it, whose bytes depend on the machine."""
    if cell.id == "check_data":
        return cell.source.rpartition("\n")[0]
    return re.sub(r"install_packed\(\".*", "", cell.source)


def names_of_mistakes(answers, known):
    """Baked answers with the names of the known mistakes, without what these give.

    That may hang on the sign of a rounding error.
    """
    return {
        grade_id: {
            line: answer | {"mistakes": {name: 0.0 for name in answer["mistakes"] if name in known}}
            for line, answer in lines.items()
        }
        for grade_id, lines in answers.items()
    }


def test_committed_exercises_are_what_solutions_generate(exercise, some_mistakes, expected):
    source = source_notebook.source_notebook(exercise, COURSE.settings)
    answers = instantiate.answers(expected(some_mistakes))
    new, old = generate.generate(COURSE, exercise, source, answers), released(exercise)
    assert [cell.id for cell in old.cells] == [cell.id for cell in new.cells]
    for before, after in zip(old.cells, new.cells, strict=True):
        assert before.cell_type == after.cell_type
        assert without_packed_text(before) == without_packed_text(after), before.id
    known = {mistake.name for mistake in mistakes(some_mistakes)}
    before, after = (names_of_mistakes(baked_answers(one), known) for one in (old, new))
    assert same_numbers(before, after)
    for name in ("made_from", "answers"):
        assert old.metadata.autotest[name] == new.metadata.autotest[name]


def test_every_check_says_in_words_what_it_tests(exercise):
    for name, source in grade_cells(released(exercise)).items():
        silent = [check.expression for check in parse_cell(source).checks if not check.says]
        assert not silent, name


def test_docstrings_leave_the_lines_of_the_runtime_where_they_are():
    for name, source in embedding.sources().items():
        bare = embedding.without_words(source)
        assert len(bare) < 0.95 * len(source)
        assert bare.count("\n") == source.count("\n")
        kept = [(a, b) for a, b in zip(source.split("\n"), bare.split("\n"), strict=True) if b]
        assert all(a == b for a, b in kept), name


def test_an_exercise_has_no_markers_and_the_current_checks_and_shows_their_claims_alone(exercise):
    notebook = released(exercise)
    text = json.dumps(notebook)
    for marker in ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN", "AUTOTEST"):
        assert marker not in text
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.execution_count is None
            shown = [claims(cell)] if is_grade_cell(cell) else []
            assert [output.text for output in cell.outputs] == shown
    (checker,) = (cell.source for cell in notebook.cells if cell.id == "checker")
    held = unpack(re.search(r'load_checks\("([^"]*)"\)', checker)[1])
    assert {name: code_only(source) for name, source in held.items()} == {
        name: code_only(source) for name, source in embedding.sources().items()
    }
    told = re.search(r'install_packed\("([^"]*)"\)', checker)[1]
    by_task = [asdict(task) for task in tasks(notebook)]
    wanted = {**source_notebook.words_for_students(exercise), "tasks": by_task}
    wanted["packages"] = list(COURSE.settings.offered(exercise.packages))
    wanted["graded"] = {name: list(names) for name, names in graded_answers(notebook).items()}
    assert unpack(told) == wanted


def test_baked_numbers_have_ten_significant_digits(exercise):
    def check(value):
        if isinstance(value, dict):
            return all(check(item) for item in value.values())
        if isinstance(value, list):
            return all(check(item) for item in value)
        return not isinstance(value, float) or value == float(f"{value:.7g}") or value != value

    cells = baked_answers(released(exercise)).values()
    answers = [answer for cell in cells for answer in cell.values()]
    assert len(answers) >= 8
    for answer in answers:
        assert check(answer["value"])


def test_the_data_of_the_checks_lies_in_one_locked_cell_and_no_notebook_is_large(exercise):
    notebook = released(exercise)
    (data,) = (cell for cell in notebook.cells if cell.id == "check_data")
    assert metadata_of(data).locked and data.metadata.jupyter.source_hidden
    baked, cells = baked_answers(notebook), grade_cells(notebook)
    assert baked.keys() == cells.keys()
    for name, source in cells.items():
        checks = parse_cell(source).checks
        assert [check.expression for check in checks] == list(baked[name])
        assert not any(check.answer for check in checks)
    assert exercise.notebook.stat().st_size < 410_000


def programs_up_to(exercise):
    """The code of exercises up to and including this one: they may not hold its answers."""
    for other in COURSE.exercises():
        if other.chapter <= exercise.chapter:
            for cell in released(other).cells:
                if cell.cell_type == "code" and not cell.source.startswith("%%"):
                    yield f"{other}, cell {cell.id}", cell.source


def test_no_exercise_holds_a_solution_of_its_own_or_of_a_later_chapter(exercise):
    answers = whole_answers(exercise)
    assert answers
    for place, program in programs_up_to(exercise):
        for tree, name in normalised(program).items():
            assert tree not in answers, f"{place} holds {answers[tree]} ({name})"


def test_the_untouched_answers_say_what_to_do(exercise):
    stubs = [cell.source for cell in released(exercise).cells if is_answer_cell(cell)]
    assert stubs
    for stub in stubs:
        assert 'raise NotImplementedError("To do: ' in stub


def test_every_check_is_locked_and_has_its_points(exercise):
    for cell in released(exercise).cells:
        if is_grade_cell(cell):
            assert metadata_of(cell).locked
            checks = parse_cell(cell.source).checks
            assert metadata_of(cell).points == pytest.approx(sum(check.points for check in checks))
