"""Terms of the glossary explain themselves on the page, and roles give reading times."""

import re
import sys

import pytest
from axe_playwright_python import sync_playwright as axe
from docutils import nodes
from sphinx import addnodes

from tests.support.course import COURSE
from tests.support.small_book import build_book

GLOSSARY = """# Glossary

```{glossary}
query
  The vector that asks, of width $d_k$. It is compared with every {term}`key`.

key
  What a "position" offers to be found by & with.
```
"""
CHAPTER = """# Looking things up

A {term}`query` is compared with a {term}`key`; another {term}`query` follows. [Elsewhere](glossary.md).

WORDS
""".replace("WORDS", "word " * 800)
SETTINGS = """
html_theme = "sphinx_book_theme"
myst_enable_extensions = ["dollarmath"]
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terms")
    pages = {"book/ch1_terms": CHAPTER, "book/glossary": GLOSSARY}
    pages["book/other"] = "# Other\n\nNo terms here, and {reading-minutes}`1` minutes.\n"
    done = build_book(folder, pages, ["reading_time", "definitions", "page_files"], SETTINGS)
    assert done.returncode == 0, done.stderr
    return folder / "html" / "book"


@pytest.fixture
def opened(browser, built):
    """Open the chapter from disk with the network closed; nothing may go wrong on it."""
    contexts, troubles = [], []

    def open_page(**options):
        context = browser.new_context(**options)
        context.set_offline(True)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto((built / "ch1_terms.html").as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles


def test_first_sentences_stand_in_the_page_once(built):
    text = (built / "ch1_terms.html").read_text(encoding="utf-8")
    (meanings,) = re.findall(r'<div id="meanings" hidden>(.*?)</div>', text)
    assert re.findall(r'id="meaning-term-(\w+)"', meanings) == ["query", "key"]
    assert "<math" in meanings and "It is compared" not in meanings
    assert "What a \u201cposition\u201d offers to be found by &amp; with." in meanings
    assert "meanings" not in (built / "other.html").read_text(encoding="utf-8")


def test_sources_are_left_out_and_may_begin_a_sentence():
    extensions = str(COURSE.book / "_extensions")
    sys.path.insert(0, extensions)
    try:
        from definitions import first_sentence
    finally:
        sys.path.remove(extensions)
    cited = [addnodes.pending_xref("", nodes.Text("x"), refdomain="cite") for _ in range(2)]
    words = [
        nodes.Text("A debate "),
        cited[0],
        nodes.Text(". "),
        cited[1],
        nodes.Text(" doubt it."),
    ]
    definition = nodes.definition("", nodes.paragraph("", "", *words))
    assert first_sentence(definition) == "A debate."


def test_a_role_gives_the_time_of_a_chapters_pages_together(built):
    assert "and 6 minutes." in (built / "other.html").read_text(encoding="utf-8")


def test_a_term_explains_itself_to_a_mouse_and_to_the_keyboard(opened):
    page = opened()
    link, box = page.locator("a.term").first, page.locator("div.meaning")
    assert box.is_hidden()
    link.hover()
    assert box.inner_text().startswith("The vector that asks")
    box.hover()  # a reader can move the pointer onto it
    page.wait_for_timeout(400)
    assert box.is_visible()
    page.mouse.move(5, 600)
    box.wait_for(state="hidden")
    page.keyboard.press("Tab")
    while not link.evaluate("node => node === document.activeElement"):
        page.keyboard.press("Tab")
    assert box.is_visible()
    described = page.locator("#" + link.get_attribute("aria-describedby"))
    assert described.text_content().startswith("The vector that asks")
    page.keyboard.press("Escape")
    assert box.is_hidden()
    link.click()
    assert page.url.endswith("glossary.html#term-query")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_tap_explains_and_a_second_one_follows(opened, theme):
    page = opened(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True, color_scheme=theme
    )
    link, box = page.locator("a.term").nth(1), page.locator("div.meaning")
    link.tap()
    assert box.is_visible() and box.inner_text().startswith("What a")
    edges = box.bounding_box()
    assert edges["x"] >= 0 and edges["x"] + edges["width"] <= 390
    page.locator(f"html[data-theme={theme}]").wait_for()
    found = axe.Axe().run(page, options={"preload": False}).response
    assert "color-contrast" in {item["id"] for item in found["passes"]}
    # the theme's own parts are looked at in tests/test_pages.py
    ours = re.compile(r'class="[^"]*\b(term|meaning)\b|id="meaning')
    assert not [
        n["html"] for v in found["violations"] for n in v["nodes"] if ours.search(n["html"])
    ]
    link.tap()
    page.wait_for_url("**/glossary.html#term-key")


def test_without_a_script_a_term_is_a_link(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("#meanings").is_hidden()
    page.locator("a.term").first.click()
    assert page.url.endswith("glossary.html#term-query")
