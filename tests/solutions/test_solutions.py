"""What holds for every reference solution and its catalogue, whatever the chapter."""

import runpy

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from autograder import catalogue
from autograder.book_index import book_sections
from autograder.build.source_notebook import source_notebook
from autograder.exercises import metadata_of
from autograder.instructor_settings import Settings
from autograder.programs import definition_source, spans_of
from tests.support.course import COURSE, chapter_pages


class Calls(TorchFunctionMode):
    """Notes every call of a function of torch."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, arguments=(), named=None):
        self.names.append(function.__name__)
        return function(*arguments, **(named or {}))


def test_running_a_solution_defines_its_answers_and_does_nothing_else(exercise, capfd):
    program = exercise.program()
    # of its cells, only imports and answers are in the module: no example, no check, no experiment
    cells = [cell for cell in source_notebook(exercise, Settings()).cells if metadata_of(cell)]
    others = [c.source for c in cells if c.cell_type == "code" and metadata_of(c).get("grade")]
    assert others and "draw." in "".join(others)
    states = np.random.get_state()[1].copy(), torch.get_rng_state()
    with Calls() as calls:
        names = runpy.run_path(str(exercise.solution))
    assert calls.names == []
    assert capfd.readouterr() == ("", "")
    assert (np.random.get_state()[1] == states[0]).all()
    assert torch.equal(torch.get_rng_state(), states[1])
    assert set(spans_of(program)) <= set(names)
    assert not {"draw", "query", "experiment"} & set(names)


def test_the_mistakes_of_a_catalogue_fit(exercise):
    program = exercise.program()
    found = catalogue.mistakes(exercise)
    # chapters 1 and 2 have fewer answers
    assert len(found) >= (12 if exercise.chapter < 3 else 15)
    assert len({mistake.name for mistake in found}) == len(found)
    places = book_sections(COURSE.root)
    # what has been read by then
    chapters = chapter_pages().items()
    pages = {
        "notation",
        "symptoms",
        "differences",
        *(p for number, ps in chapters if number <= exercise.chapter for p in ps),
    }
    for mistake in found:
        # raises where a change doesn't fit
        source = catalogue.mistake_source(program, mistake)
        assert source != definition_source(program, mistake.function)
        assert mistake.function in spans_of(source)
        assert f'"grade_id": "{mistake.cell}", "grade": true' in program
        assert places[mistake.section].page in pages, mistake.section


def test_a_catalogue_has_alternatives_of_answers_only(exercise):
    program = exercise.program()
    found = catalogue.alternatives(exercise)
    assert len(found) >= (6 if exercise.chapter in (4, 7) else 5)
    for alternative in found:
        answers = catalogue.alternative_answers(program, alternative)
        assert catalogue.with_answers(program, answers) != program
