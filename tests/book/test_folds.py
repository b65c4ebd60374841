"""Folds on a built page: what they hold, and that addresses, the switch, paper and a click open them."""

import re

import bs4
import pytest

from autograder.book_index import FOR_CLASS
from autograder.exercises import reference_answers
from autograder.publish.page_source import read_page
from tests.support.browser import CHROMIUM, served
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

(deep-label)=
## Deep

:::{depth} It's **large** for all.
:::

Much more.

(below-label)=
### Below

More below.

## Your turn

:::{reference} ch2_scaled_dot_product softmax
:::
"""
WHOLE = """
# A page to leave out

:::{depth} It's about nothing else.
:::

## Part

Words.
"""
THIRD = """
# With an answer

How many?

```{admonition} Answer
:class: dropdown
Seven.
```
"""
EXTENSIONS = [
    "folds",
    "questions",
    "predictions",
    "reference_code",
    "reading_time",
    "depth",
    "search_sections",
    "page_files",
]
SETTINGS = """
html_theme = "sphinx_book_theme"
myst_enable_extensions = ["colon_fence", "dollarmath"]
exclude_patterns = ["solutions"]
"""
NAME = "book/ch2_scaled_dot_product"


def built(folder, text, environment=None, other=WHOLE):
    """Build a page, and another one; what Sphinx said, which is empty when all is right."""
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "solutions").symlink_to(COURSE.root / "solutions")
    pages = {NAME: FRONT + text, "book/ch2_other": other, "book/ch2_third": THIRD}
    done = build_book(folder, pages, EXTENSIONS, SETTINGS, environment)
    said = [line for line in done.stderr.splitlines() if "IPKernelApp" not in line]
    return "\n".join(said) if done.returncode else ""


def soup(folder, name=NAME):
    return bs4.BeautifulSoup(
        (folder / f"html/{name}.html").read_text(encoding="utf-8"), "html.parser"
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


def test_a_section_in_depth_keeps_its_heading_and_its_sentence_in_sight(folder):
    page = soup(folder)
    (fold,) = page.select("details.in-depth")
    section = fold.parent
    assert (
        section["id"] == "deep"
        and section.h2
        and fold.summary.text == "Read the section (1 minute)"
    )
    assert fold.find_previous_sibling("p").text == "In depth: It’s large for all."
    assert fold.select_one("section#below h3") and "Much more." in fold.text
    assert [one["data-opens"] for one in page.select(".open-folds input")] == [
        "depth",
        "page",
        "book",
    ]


def test_the_outline_and_the_contents_tell_core_from_depth(folder):
    page = soup(folder)
    outline = {link["href"]: link["class"] for link in page.select(".bd-sidebar-secondary li > a")}
    assert {href for href, classes in outline.items() if "in-depth" in classes} == {"#deep"}
    contents = page.select(".bd-sidebar-primary li.toctree-l1 > a")
    assert ["in-depth" in link["class"] for link in contents] == [False, True, False]
    # a page of its own is open to those who go there
    other = soup(folder, "book/ch2_other")
    assert not other.select("details") and other.select_one(".depth-result")


def test_folded_text_can_be_found(folder):
    index = (folder / "html/_static/search/sections.js").read_text(encoding="utf-8")
    for text in ("Much more.", "It is 42.", "More below.", "exponentials"):
        assert text in index
    assert '[1, "deep-label"' in index.replace('[1,"', '[1, "')


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
    "not_under_a_heading": (
        "Much more.",
        ":::{depth} Again.\n:::\n",
        "{depth} has to stand directly under a heading",
    ),
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
    if not CHROMIUM.exists():
        pytest.skip(f"no browser: {CHROMIUM} is missing")
    with served(folder / "html") as address:
        yield f"{address}{NAME}.html"


@pytest.fixture
def tab(browser):
    context = browser.new_context()
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("below-label", "More below."),
        ("below", "More below."),
        ("deep-label", "Much more."),
        ("deep", "Much more."),
        ("answer-label", "It is 42."),
    ],
)
def test_an_address_opens_what_it_leads_into(tab, address, label, text):
    tab.goto(address)
    assert not tab.get_by_text(text).is_visible()
    tab.evaluate(f"location.hash = '{label}'")
    tab.get_by_text(text).wait_for()
    tab.goto("about:blank")
    tab.goto(f"{address}#{label}")
    tab.get_by_text(text).wait_for()
    place = f"document.getElementById('{label}').getBoundingClientRect().top"
    # the theme scrolls smoothly
    tab.wait_for_function(f"-1 <= {place} && {place} < innerHeight")


def test_an_address_beside_a_fold_opens_none(tab, address):
    tab.goto(f"{address}#core-label")
    assert tab.locator("details[open]").count() == 0


def test_the_switch_opens_all_in_depth_and_is_remembered(tab, address):
    tab.goto(address)
    switch = tab.get_by_role("switch", name="sections in depth")
    switch.check()
    assert tab.get_by_text("More below.").is_visible()
    assert not tab.get_by_text("It is 42.").is_visible()
    tab.reload()
    assert switch.is_checked() and tab.get_by_text("More below.").is_visible()
    switch.uncheck()
    assert not tab.get_by_text("More below.").is_visible()
    tab.reload()
    assert not switch.is_checked()


@pytest.mark.parametrize("words", ["everything on this page", "everything on all pages"])
def test_everything_opens_on_a_page_or_on_all_and_stays_so(tab, address, words):
    tab.goto(address)
    tab.get_by_role("switch", name=words).check()
    tab.reload()
    for text in ("More below.", "It is 42.", "exponentials /"):
        assert tab.get_by_text(text).is_visible()
    tab.goto(address.replace(NAME, "book/ch2_third"))
    everywhere = words.endswith("all pages")
    assert tab.get_by_text("Seven.").is_visible() == everywhere
    tab.goto(address)
    tab.get_by_role("switch", name=words).uncheck()
    tab.reload()
    assert tab.locator("details[open]").count() == 0


def test_folds_open_without_a_script(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert not page.locator(".open-folds").is_visible()
    for text in ("It is 42.", "Much more."):
        assert not page.get_by_text(text).is_visible()
    for fold in page.locator("details").all():
        fold.locator("summary").first.click()
    for text in ("It is 42.", "Much more.", "exponentials /"):
        assert page.get_by_text(text).is_visible()
    context.close()


def test_paper_has_answers_and_depth_but_no_reference(tab, address):
    tab.goto(address)
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    for text in ("It is 42.", "Much more.", "More below."):
        assert tab.get_by_text(text).is_visible()
    assert not tab.get_by_text("exponentials /").is_visible()
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.locator("details").count() == 3


# Minutes ------------------------------------------------------------------------------------------


def words_of(text):
    core, parts = read_page(COURSE.book / "page.md", FRONT + text).by_depth()
    return core.words(), [part.words() for part in parts]


def test_the_core_is_what_is_not_in_depth():
    text = "# One\n\ntwo\n\n## Three\n\n:::{depth} Four five.\n:::\n\nsix\n"
    assert words_of(text) == (5, [1])
    # a section ends with the next heading of its level, and a comment in code is none
    code = "```{code-cell} ipython3\nseven = eight\n```\n\n```python\n# nine\n```\n\n### Ten\n\n"
    assert words_of(f"{text}\n{code}\n## Eleven\n\ntwelve\n") == (7, [1 + 2 + 1 + 1])
    assert words_of("# One\n\n:::{depth} Two.\n:::\n\n## Three\n\nfour\n") == (2, [2])
    assert words_of(PAGE)[1] == [2 + 1 + 2 + 1]
    drawing = "## A\n\n:::{depth} B.\n:::\n\n<svg>\n<text>not this</text>\n</svg>\n"
    assert words_of(f"# T\n\n{drawing}") == (3, [0])
