"""What several test files need."""

import os
import shutil

import pytest

# tests run on all cores already; two threads a process would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

from autograder.course import Course
from benchmarks.pages import CHROMIUM

COURSE = Course.find()


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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `exercise` runs for every exercise; each exercise on one worker."""
    if "exercise" in metafunc.fixturenames:
        marks = [
            pytest.param(one, id=one.name, marks=pytest.mark.xdist_group(one.name))
            for one in COURSE.exercises()
        ]
        metafunc.parametrize("exercise", marks)


@pytest.fixture(scope="session")
def short_course(tmp_path_factory):
    """A copy of the repository whose submissions have only a few seconds, with one answer key made."""
    from autograder.grade.answer_key import answer_key
    from tests.course_copy import repository, with_short_limits
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
