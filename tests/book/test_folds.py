"""Folds on a built page: what they hold, and that addresses, paper and a click open them."""

import ast
import re

import bs4
import pytest

from autograder.book_index import FOR_CLASS
from autograder.exercises import reference_answers
from tests.support.browser import served
from tests.support.course import COURSE
from tests.support.small_book import FRONT, build_book

PAGE = """
# A title

Words.

(core-label)=
## Core

:::{predict} How large is $x$, and *why*?
:shows: the number
- small
- large
:::

```{code-cell} ipython3
print(41 + 1)
```

(answer-label)=
It is 42.

:::{predict-end}
:::

After it.

## Your turn

:::{reference} ch2_scaled_dot_product softmax
:::
"""
EXTENSIONS = [
    "folds",
    "questions",
    "predictions",
    "reference_code",
    "search_sections",
    "page_files",
]
SETTINGS = """
html_theme = "sphinx_book_theme"
myst_enable_extensions = ["colon_fence", "dollarmath"]
exclude_patterns = ["solutions"]
"""
NAME = "book/ch2_scaled_dot_product"


def built(folder, text, environment=None):
    """Build a page; what Sphinx said, which is empty when all is right."""
    (folder / "source").mkdir(parents=True, exist_ok=True)
    (folder / "source" / "solutions").symlink_to(COURSE.root / "solutions")
    done = build_book(folder, {NAME: FRONT + text}, EXTENSIONS, SETTINGS, environment)
    said = [line for line in done.stderr.splitlines() if "IPKernelApp" not in line]
    return "\n".join(said) if done.returncode else ""


def soup(folder):
    return bs4.BeautifulSoup(
        (folder / f"html/{NAME}.html").read_text(encoding="utf-8"), "html.parser"
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    assert built(folder, PAGE) == ""
    return folder


def test_a_prediction_is_one_fold_with_output_and_prose(folder):
    page = soup(folder)
    (fold,) = page.select("details.predict-answer")
    assert fold.summary.text == "Show the number"
    assert fold.select_one(".cell_output").text.strip() == "42"
    assert "It is 42." in fold.text and "After it." not in fold.text
    box = fold.find_previous_sibling("div")
    assert "predict" in box["class"] and box.em.text == "why"
    assert [item.text for item in box.select("li")] == ["small", "large"]
    assert "42" not in box.text
    assert not fold.has_attr("open")


def test_folded_text_can_be_found(folder):
    index = (folder / "html/_static/search/sections.js").read_text(encoding="utf-8")
    for text in ("It is 42.", "exponentials"):
        assert text in index


def test_a_reference_is_the_solution_without_its_docstring(folder):
    (fold,) = soup(folder).select("details.reference-code")
    answer = reference_answers(COURSE.exercise("ch2_scaled_dot_product"))["softmax"]
    assert fold.summary.text == "One way to write it: softmax"
    shown = fold.pre.get_text().strip()
    assert shown == re.sub(r' *""".*?"""\n', "", answer, flags=re.DOTALL).strip()
    assert "BEGIN" not in shown


def test_a_book_for_a_class_has_no_reference(tmp_path):
    assert built(tmp_path, PAGE, {FOR_CLASS: "yes"}) == ""
    assert not soup(tmp_path).select(".reference-code")
    for path in (tmp_path / "html").rglob("*.*"):
        if path.suffix in (".html", ".js", ".ipynb", ".txt"):
            assert "exponentials" not in path.read_text(encoding="utf-8"), path.name


BLOCKS = """
# A file

```{block} models/transformer.py Layers
```

```{block} models/transformer.py Words
```
"""


@pytest.mark.parametrize("environment", [None, {FOR_CLASS: "yes"}])
def test_a_block_of_a_program_has_no_answers_in_a_book_for_a_class(tmp_path, environment):
    models = tmp_path / "source" / "book" / "models"
    models.parent.mkdir(parents=True)
    models.symlink_to(COURSE.book / "models")
    assert built(tmp_path, BLOCKS, environment) == ""
    layers, words = (block.get_text() for block in soup(tmp_path).select(".program pre"))
    assert '"""Computes at every position by itself."""' in layers and "EINER = " in words
    assert ("self.linear1(x)" in layers) is (environment is None)
    assert ("...  # exercise 6" in layers) is (environment is not None)
    assert "return [ONES[n]]" in words
    ast.parse(layers)


# what is replaced in the page, by what, and how the build says what is wrong
WRONG = {
    "no_end": (
        ":::{predict-end}\n:::\n",
        "",
        "{predict} has no {predict-end} in its section",
    ),
    "no_begin": (
        "\nAfter it.",
        "\n:::{predict-end}\n:::\n",
        "{predict-end} without a {predict}",
    ),
    "no_words": (":shows: the number\n", "", "needs a line `:shows:"),
    "no_name": (
        "softmax\n",
        "nothing\n",
        "reference ch2_scaled_dot_product nothing: The reference solution",
    ),
    "no_module": ("ch2_scaled_dot_product softmax", "ch0_gone f", "reference ch0_gone f: "),
}


@pytest.fixture(scope="module")
def told_of_wrong_pages(tmp_path_factory):
    """What the build of a page with each of these mistakes says; none of their labels is there twice."""
    pages = {}
    for name, (old, new, _) in WRONG.items():
        assert old in PAGE
        text = re.sub(r"^\(([\w-]+)\)=$", rf"({name}-\1)=", PAGE.replace(old, new), flags=re.M)
        pages[f"book/ch2_{name}"] = FRONT + text
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "source").mkdir()
    (folder / "source" / "solutions").symlink_to(COURSE.root / "solutions")
    done = build_book(folder, pages, EXTENSIONS, f"{SETTINGS}nb_execution_mode = 'off'\n")
    assert done.returncode
    return done.stderr.splitlines()


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_fails_the_build(told_of_wrong_pages, name):
    page, said = f"/ch2_{name}.md:", WRONG[name][2]
    assert any(page in line and said in line for line in told_of_wrong_pages)


# In a browser -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def address(folder):
    with served(folder / "html") as address:
        yield f"{address}{NAME}.html"


@pytest.fixture
def tab(browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_an_address_opens_what_it_leads_into(tab, address):
    tab.goto(address)
    answer = tab.get_by_text("It is 42.")
    assert not answer.is_visible()
    tab.evaluate("location.hash = 'answer-label'")
    answer.wait_for()
    tab.goto("about:blank")
    tab.goto(f"{address}#answer-label")
    answer.wait_for()
    place = "document.getElementById('answer-label').getBoundingClientRect().top"
    # the theme scrolls smoothly
    tab.wait_for_function(f"-1 <= {place} && {place} < innerHeight")


def test_folds_open_without_a_script(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert not page.get_by_text("It is 42.").is_visible()
    for fold in page.locator("details").all():
        fold.locator("summary").first.click()
    for text in ("It is 42.", "exponentials /"):
        assert page.get_by_text(text).is_visible()
    context.close()


def test_paper_has_answers_but_no_reference(tab, address):
    tab.goto(address)
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.get_by_text("It is 42.").is_visible()
    assert not tab.get_by_text("exponentials /").is_visible()
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details").count() == 2
