"""What several test files need."""

import os

import pytest
from hypothesis import settings
from playwright.sync_api import sync_playwright

# tests run on all cores already; two threads a process would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.support.browser import CHROMIUM, NO_OTHER_HOST

SAME = {"deadline": None, "derandomize": True, "database": None}
# `--hypothesis-profile weekly` tries more; both try the same in every run
settings.register_profile("often", max_examples=10, **SAME)
settings.register_profile("weekly", max_examples=60, **SAME)
settings.load_profile("often")

pytest_plugins = [
    "tests.support.needs",
    "tests.support.processor_budget",
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
