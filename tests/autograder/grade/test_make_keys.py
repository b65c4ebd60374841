"""Answer keys: which mistakes are evaluated for them."""

from dataclasses import replace

from autograder.course import Course
from autograder.exercises import grade_cells, released
from autograder.grade.make_keys import Evaluation, keys_under
from autograder.reference import Asked, expected_cell
from tests.support.course import COURSE

SEED = [5]


def test_only_mistakes_that_show_in_the_release_are_evaluated(small_exercise, tmp_path):
    exercise, course = small_exercise, Course(small_exercise.root, class_folder=tmp_path)
    (name, source) = next(iter(grade_cells(released(exercise)).items()))
    shown = Evaluation.of(course, exercise, SEED).shown
    assert shown and any(shown[name].values())
    (key,) = keys_under(course, exercise, [SEED])
    seeds = [[*SEED, number] for number in range(3)]
    everything = expected_cell(exercise, name, source, seeds)
    assert key.cells[name] == everything
    nothing = {expression: [] for expression in shown[name]}
    none = expected_cell(exercise, name, source, seeds, Asked(shown=nothing))
    assert not any(draw.mistakes for line in none.lines for draw in line.draws)
    assert replace(none, lines=()) == replace(everything, lines=())


def test_a_release_of_another_catalogue_says_nothing(few_mistakes):
    name = COURSE.exercises()[0].name
    assert Evaluation.of(few_mistakes, few_mistakes.exercise(name), SEED).shown is None
