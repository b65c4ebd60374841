"""What several test files need."""

import os

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
