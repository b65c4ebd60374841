"""What several test files need."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# tests run on all cores already; two threads a process would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

from autograder.catalogue import Alternative, alternative_answers, with_answers
from autograder.course import Course, Exercise
from autograder.exercises import grade_cells, released
from autograder.reference import ExpectedCell, definitions, expected_cell, prepare_process
from autograder.runtime.plain_data import Value, decode, encode
from benchmarks.pages import CHROMIUM

COURSE = Course.find()
# the page that shows how an exercise is written, and so the markers of solutions
SHOWS_MARKERS = "own_course"
# as many draws as a grade has; the first is the one that students see
DRAWS = [[], [7, 0], [7, 1]]


def chapter_pages() -> dict[int, list[str]]:
    """The pages of each chapter in the order of the contents, as names of files without endings."""
    contents = (COURSE.root / "_toc.yml").read_text(encoding="utf-8")
    found: dict[int, list[str]] = {}
    for page, chapter in re.findall(r"file: book/(ch(\d+)_\w+)$", contents, re.MULTILINE):
        found.setdefault(int(chapter), []).append(page)
    return found


def chapter_exercises() -> dict[int, list[Exercise]]:
    """The exercises of each chapter."""
    found: dict[int, list[Exercise]] = {}
    for exercise in COURSE.exercises():
        found.setdefault(exercise.chapter, []).append(exercise)
    return found


def plain(value: Any) -> Value:
    """A Python value as the grader sees it, after the journey as JSON."""
    return decode(json.loads(json.dumps(encode(value))))


def names_with(exercise: Exercise, alternative: Alternative) -> dict[str, Any]:
    """The names that the reference program defines with an alternative's answers in place of its own."""
    program = exercise.program()
    return definitions(with_answers(program, alternative_answers(program, alternative)))


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser: {CHROMIUM} is missing")
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
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


# Every test of these files needs a kernel, a browser or a training run: seconds each, minutes together.
SLOW_FILES = (
    "test_attacks.py",
    "test_audit.py",
    "test_bad_input.py",
    "test_cache_key.py",
    "test_cards.py",
    "test_course.py",
    "test_current.py",
    "test_diagrams.py",
    "test_follow_through.py",
    "test_forged_replies.py",
    "test_gradescope.py",
    "test_honest.py",
    "test_kernels.py",
    "test_links.py",
    "test_pages.py",
    "test_print.py",
    "test_sandbox.py",
    "test_teaching.py",
    "test_translation_machine.py",
    "test_translation_training.py",
    "test_two_doors.py",
    "test_widgets.py",
    "test_workers.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave whole files out of `make test-fast`."""
    for item in items:
        if item.path.name in SLOW_FILES:
            item.add_marker(pytest.mark.slow)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `exercise` runs for every exercise; each exercise on one worker.

    Not where the test is in a group already: pytest-xdist joins the names of two groups to a third one,
    and then several workers make what the first group shares, such as the built book.
    """
    if "exercise" in metafunc.fixturenames:
        grouped = metafunc.definition.get_closest_marker("xdist_group")
        metafunc.parametrize(
            "exercise",
            [
                pytest.param(
                    one, id=one.name, marks=() if grouped else pytest.mark.xdist_group(one.name)
                )
                for one in COURSE.exercises()
            ],
        )


@pytest.fixture(scope="session")
def expected() -> Callable[[Exercise], dict[str, ExpectedCell]]:
    """A function that gives what an exercise's grade cells expect on DRAWS, evaluated once.

    Tests with the argument `exercise` run on one worker per exercise, so that no other evaluates it.
    """
    held: dict[Exercise, dict[str, ExpectedCell]] = {}

    def of(exercise: Exercise) -> dict[str, ExpectedCell]:
        if exercise not in held:
            prepare_process()
            held[exercise] = {
                name: expected_cell(exercise, name, source, DRAWS, with_small=True)
                for name, source in grade_cells(released(exercise)).items()
            }
        return held[exercise]

    return of


# Courses of their own -----------------------------------------------------------------------------


@pytest.fixture
def course_folder(tmp_path: Path) -> Iterator[Path]:
    """An empty course: nbgrader_config.py and empty solutions.

    Reading nbgrader_config.py puts its folder on the paths of this process; they are put back.
    """
    paths, environment = list(sys.path), dict(os.environ)
    shutil.copy(COURSE.root / "nbgrader_config.py", tmp_path)
    (tmp_path / "solutions" / "catalogue").mkdir(parents=True)
    yield tmp_path
    sys.path[:] = paths
    for name in ("PATH", "PYTHONPATH"):
        os.environ.pop(name, None)
        os.environ.update({key: value for key, value in environment.items() if key == name})


# Classes ------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def short_course(tmp_path_factory):
    """A copy of the repository whose submissions have only a few seconds, with one answer key made."""
    from autograder.grade.answer_key import answer_key
    from tests.copies import repository, with_short_limits
    from tests.submissions import EXERCISE

    course = Course(with_short_limits(repository(tmp_path_factory.mktemp("short"))))
    course.home.mkdir()
    answer_key(course, course.exercise(EXERCISE.name))
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
    from tests.submissions import EXERCISE, SUBMISSIONS, hand_in

    hand_in(short_course, *SUBMISSIONS)
    results = grade_class(short_course, [short_course.exercise(EXERCISE.name)])
    write_feedback(short_course, results)
    return short_course, {result.student: result for result in results}
