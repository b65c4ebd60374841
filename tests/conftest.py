"""What several test files need."""

import functools
import gc
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import sync_playwright

# tests run on all cores already; two threads a process would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

from autograder import nbgrader_adapter
from autograder.audit import sample_pages
from autograder.course import Course, Exercise
from autograder.expected import ExpectedCell
from autograder.grade.gradebook import register
from autograder.publish import book
from tests.support.browser import CHROMIUM, NO_OTHER_HOST
from tests.support.copies import repository, with_short_limits
from tests.support.course import COURSE
from tests.support.kept_expected import expected_cells
from tests.support.small_course import built_exercise, settings_of_a_course

SAME = {"deadline": None, "derandomize": True, "database": None}
# `--hypothesis-profile weekly` tries more; both try the same in every run
settings.register_profile("often", max_examples=10, **SAME)
settings.register_profile("weekly", max_examples=60, **SAME)
settings.load_profile("often")

pytest_plugins = [
    "tests.support.needs",
    "tests.support.durations",
    "tests.support.selection",
]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: tests wait for browsers, kernels and limits of time."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="module")
def browser():
    """Chromium; tests with it are skipped where there is none."""
    with sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", NO_OTHER_HOST]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_tab(browser):
    """A function that opens an empty tab for one origin; a request to any other fails the test."""
    context, elsewhere = browser.new_context(), []

    def open_tab(origin):
        def only_here(route):
            if route.request.url.startswith(origin):
                route.continue_()
            else:
                elsewhere.append(route.request.url)
                route.abort()

        context.route("**/*", only_here)
        return context.new_page()

    yield open_tab
    context.close()
    assert not elsewhere


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while modules are imported, and never again through what stays of them.

    These are hundreds of thousands of objects: looking through them takes a tenth of the time of all tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `exercise` runs for every exercise; each exercise on one worker.

    Not where the test is in a group already: pytest-xdist joins the names of two groups to a third one,
    and then several workers make what the first group shares, such as the built book.
    """
    if "exercise" in metafunc.fixturenames:
        grouped = metafunc.definition.get_closest_marker("xdist_group")
        marks = {
            one: [] if grouped else [pytest.mark.xdist_group(one.name)]
            for one in COURSE.exercises()
        }
        metafunc.parametrize(
            "exercise", [pytest.param(one, id=one.name, marks=own) for one, own in marks.items()]
        )


@pytest.fixture(scope="session")
def expected() -> Callable[[Exercise], dict[str, ExpectedCell]]:
    """A function that gives what an exercise's grade cells expect on DRAWS, read or evaluated once.

    Tests with the argument `exercise` run on one worker per exercise, so that no other evaluates it.
    """
    return functools.cache(expected_cells)


@pytest.fixture(scope="session", autouse=True)
def fast_gradebooks() -> None:
    """Tests that make a gradebook by nbgrader itself make it as the grader does."""
    nbgrader_adapter.make_gradebooks_fast()


@pytest.fixture(scope="session")
def built_book() -> Path:
    """The folder of the built book, built if it is not up to date, which takes seconds to find out."""
    book.build(COURSE)
    sample_pages.add(COURSE)
    return COURSE.built_book


# Courses of their own -----------------------------------------------------------------------------


@pytest.fixture
def course_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty course: nbgrader_config.py and empty solutions."""
    with settings_of_a_course(tmp_path) as root:
        yield root


@pytest.fixture(scope="module")
def small_exercise(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exercise]:
    """An exercise of one answer, which needs NumPy alone, built in a course of its own."""
    with settings_of_a_course(tmp_path_factory.mktemp("small")) as root:
        yield built_exercise(root)


@pytest.fixture(params=["few mistakes", "all mistakes"])
def some_mistakes(
    request: pytest.FixtureRequest, exercise: Exercise, few_mistakes: Course
) -> Exercise:
    """An exercise with a sample of its known mistakes; once a week with all of them."""
    all_of_them = request.param == "all mistakes"
    return exercise if all_of_them else few_mistakes.exercise(exercise.name)


@pytest.fixture(scope="session")
def few_mistakes(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A copy of this course with a sample of the known mistakes."""
    return Course(repository(tmp_path_factory.mktemp("few"), few_mistakes=True))


# Classes ------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def registered_gradebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gradebook's file that knows the first chapter's exercise."""
    made = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("made"))
    register(made, made.exercise("ch1_additive_attention"))
    return made.home / "gradebook.db"


@pytest.fixture
def registered(registered_gradebook: Path, tmp_path: Path) -> Course:
    """A class in a folder of its own with that gradebook."""
    shutil.copy(registered_gradebook, tmp_path)
    return Course(COURSE.root, class_folder=tmp_path)


@pytest.fixture(scope="session")
def short_course(tmp_path_factory):
    """A copy of the repository whose submissions have only a few seconds, with one answer key made.

    It has a sample of the known mistakes.
    """
    from tests.support.class_keys import give_keys
    from tests.support.submissions import EXERCISE

    root = repository(tmp_path_factory.mktemp("short"), few_mistakes=True)
    course = Course(with_short_limits(root))
    course.home.mkdir()
    give_keys(course, EXERCISE.name)
    return course


@pytest.fixture(scope="session")
def new_class(short_course, tmp_path_factory):
    """A function that makes an empty class of that course, under the same seed."""

    def new_class():
        folder = tmp_path_factory.mktemp("class")
        shutil.copy(short_course.home / "seeds.json", folder)
        shutil.copytree(short_course.home / "expected", folder / "expected")
        return Course(short_course.root, class_folder=folder)

    return new_class


@pytest.fixture(scope="session")
def graded_class(short_course):
    """Every kind of submission, graded in one run, with feedback: the course, results by student."""
    from autograder.grade.feedback import write_feedback
    from autograder.grade.grade_class import grade_class
    from tests.support.submissions import EXERCISE, SUBMISSIONS, hand_in

    hand_in(short_course, *SUBMISSIONS)
    results = grade_class(short_course, [short_course.exercise(EXERCISE.name)])
    write_feedback(short_course, results)
    return short_course, {result.student: result for result in results}
