"""The book's search, from disk: questions, the keyboard, what excerpts show, how much is loaded."""

import functools
import gzip
import json
import re
import runpy
from pathlib import Path

import pytest
from axe_playwright_python import sync_playwright as axe

from tests.support.built_pages import parsed
from tests.support.course import COURSE
from tests.support.small_book import build_book

pytestmark = pytest.mark.xdist_group("book")

QUERIES = json.loads((Path(__file__).parent / "search_queries.json").read_text(encoding="utf-8"))
FIRST, AMONG_THREE = 0.91, 0.97  # of all questions
MOST_BYTES = 600_000  # of the index, compressed
MOST_BYTES_BEFORE = 6_000  # of what each page loads for a search that nobody opens

HITS = """async queries => {
    const field = document.querySelector("#search-page input");
    const found = [];
    for (const query of queries) {
        field.value = query;
        field.dispatchEvent(new Event("input"));
        const count = document.querySelector("#search-page .search-count");
        count.textContent = "";
        while (!count.textContent) await new Promise(done => setTimeout(done, 20));
        found.push([...document.querySelectorAll("#search-page .search-list li")].map(item => [
            item.querySelector("a").getAttribute("href"),
            item.querySelector(".search-excerpt").textContent,
            item.querySelectorAll("mark").length,
        ]));
    }
    return found;
}"""


@pytest.fixture
def opened(browser, built_book):
    """A function that opens a page from disk, offline; nothing may go wrong on it."""
    contexts, troubles = [], []

    def open_page(name, query="", **options):
        context = browser.new_context(offline=True, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        page.goto((built_book / name).as_uri() + query)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles


@pytest.fixture(scope="module")
def index(built_book):
    """What can be found: page -> its entries [depth, anchor, title, names, text, code]."""
    script = (built_book / "_static/search/sections.js").read_text(encoding="utf-8")
    pages = json.loads(script.removeprefix("self.searchSections = ").rstrip(";\n"))
    return {address: entries for address, _, entries in pages}


def addresses(index, wanted):
    """The address of a section, given by its label, or of a page's beginning."""
    if f"{wanted}.html" in index:
        return [f"{wanted}.html#{index[f'{wanted}.html'][0][1]}"]
    entries = [(page, entry[1]) for page, found in index.items() for entry in found]
    return [f"{page}#{anchor}" for page, anchor in entries if anchor == wanted]


def test_the_right_section_comes_first(opened, index):
    page = opened("search.html")
    page.locator("#search-page .search-results").wait_for(state="attached")
    asked = [query["query"] for query in QUERIES]
    places = {}
    for query, hits in zip(QUERIES, page.evaluate(HITS, asked), strict=True):
        wanted = [address for name in query["sections"] for address in addresses(index, name)]
        assert len(wanted) == len(query["sections"]), query
        found = [address.removeprefix("./") for address, _, _ in hits]
        ranks = [rank for rank, address in enumerate(found, 1) if address in wanted]
        places[query["query"]] = ranks[0] if ranks else None
        # an excerpt is of the article, and the best hit shows why it was found
        assert hits[0][2] > 0, query
        assert not any(".ipynb" in text and ".pdf" in text for _, text, _ in hits), query
    for most, wanted in ((1, FIRST), (3, AMONG_THREE)):
        late = {query: place for query, place in places.items() if not place or place > most}
        assert len(places) - len(late) >= wanted * len(places), late


def test_every_hit_leads_to_a_place_in_sight(built_book, index):
    for page, entries in index.items():
        article = parsed(built_book / page).find("article")
        for at, (depth, anchor, title, _, text, code) in enumerate(entries):
            # a heading with nothing below it would be an empty hit
            assert not depth or text or code or entries[at + 1][0] > depth, (page, anchor)
            place = article.find(id=anchor)
            assert place is not None, (page, anchor)
            assert not place.find_parents("details"), (page, anchor)
            assert title


def test_only_the_article_is_searched(index):
    texts = {entry[4] for entries in index.values() for entry in entries}
    for text in texts:
        assert "Download source file" not in text and "Print to PDF" not in text
        assert "Reading time: about" not in text
        assert not re.search(r"\\[a-z]+\{", text), text[:200]


def test_little_is_loaded_before_the_search_is_opened(opened, built_book):
    scripts = "[...document.scripts].map(script => script.src).join()"
    page = opened("book/ch4_masking.html")
    page.wait_for_load_state("load")
    assert "course.js" in page.evaluate(scripts)
    assert not re.search("minisearch|sections.js|searchtools|searchindex", page.evaluate(scripts))
    # each script has a scope of its own
    assert page.evaluate("typeof unfolded") == "undefined"
    static = built_book / "_static"
    own = ("search.js", "search.css")
    before = sum((COURSE.book / "_static" / name).stat().st_size for name in own)
    assert before <= MOST_BYTES_BEFORE
    compressed = gzip.compress((static / "search/sections.js").read_bytes(), compresslevel=9)
    assert len(compressed) <= MOST_BYTES
    assert not list(built_book.rglob("searchindex*")) and not list(built_book.rglob("searchtools*"))
    assert (static / "minisearch/LICENSE").is_file()


def test_the_dialog_by_keyboard(opened):
    page = opened("book/ch4_masking.html")
    dialog = page.locator("#pst-search-dialog")
    focused = functools.partial(page.evaluate, "document.activeElement.textContent")
    page.keyboard.press("Control+k")
    page.keyboard.type("beam search")
    # a list for the first letters is replaced
    dialog.locator(".search-results[aria-busy=false] li").first.wait_for()
    assert re.fullmatch(r"\d+ places found\.", dialog.get_by_role("status").inner_text())
    titles = dialog.locator("li a").all_inner_texts()
    assert titles[0] == "Beam search"
    page.keyboard.press("ArrowDown")
    assert focused() == titles[0]
    page.keyboard.press("ArrowDown")
    assert focused() == titles[1]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.keyboard.press("Control+k")
    page.keyboard.type("beam search")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ch7_decoding.html#ch7-beam")


def test_a_hit_on_the_same_page_closes_the_dialog(opened):
    page = opened("book/ch4_masking.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("the padding mask")
    dialog = page.locator("#pst-search-dialog")
    # a list for the first letters may be replaced below the pointer
    found = dialog.locator(".search-results[aria-busy=false]")
    found.locator("a[href$='ch4_masking.html#ch4-padding']").click()
    dialog.wait_for(state="hidden")
    assert page.url.endswith("#ch4-padding")
    top = page.evaluate("document.getElementById('ch4-padding').getBoundingClientRect().top")
    assert 0 <= top < 200


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (390, "dark")])
def test_the_dialog_is_accessible_and_fits(opened, width, theme):
    page = opened(
        "book/ch4_masking.html", viewport={"width": width, "height": 800}, color_scheme=theme
    )
    page.keyboard.press("Control+k")
    page.keyboard.type("is_causal")
    page.locator("#pst-search-dialog li").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator("#pst-search-dialog").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= 800
    result = axe.Axe().run(page, context="#pst-search-dialog", options={"preload": False}).response
    assert result["passes"]
    assert not [(found["help"], found["nodes"][0]["html"]) for found in result["violations"]]


def test_the_page_answers_an_address_and_says_when_nothing_is_found(opened):
    page = opened("search.html", query="?q=perplexity")
    page.locator("#search-page li").first.wait_for()
    page.locator("#search-page input").fill("zzzz qqqq")
    nothing = page.get_by_role("status")
    nothing.get_by_text("Nothing found.").wait_for()
    for query in ("Überanpassung", "Glühwein"):
        page.locator("#search-page input").fill(query)
        page.locator("#search-page .search-results[aria-busy=false]").wait_for()
        assert "symptoms.html" in nothing.get_by_role("link", name="Symptoms").get_attribute("href")
    page.locator("#search-page input").fill("zzzz qqqq")
    page.wait_for_url("**?q=zzzz%20qqqq")


def test_without_javascript_the_page_shows_other_ways(opened):
    page = opened("search.html", java_script_enabled=False)
    assert "needs JavaScript" in page.locator("#search-page p:visible").first.inner_text()
    links = page.locator("#search-page a").all()
    assert {"book/glossary.html", "book/notation.html"} <= {
        link.get_attribute("href") for link in links
    }


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (
            r"\operatorname{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d_k}}\Big) V",
            "softmax ((Q K^⊤)/√d_k) V",
        ),
        (r"\sum_{s=1}^{S} \exp(e_{is})", "∑_(s=1)^S exp(e_is)"),
        (r"\begin{aligned} n_\text{heads} &= \frac12 \end{aligned}", "n_heads = 1/2"),
    ],
)
def test_a_formula_becomes_a_line_of_text(tex, text):
    extension = runpy.run_path(str(COURSE.book / "_extensions" / "search_sections.py"))
    assert extension["plain_formula"](tex) == text


PAGE = """# Roots

Here $\\sqrt{d_k}$ is *small*.

(root-why)=
## Why: $\\sqrt{n}$

```{dropdown} Answer
It's folded.
```

```python
print("code")
```

### Deeper

{download}`The notebook <../exercises/ch2_roots/ch2_roots.ipynb>` takes a {term}`root`.

```{glossary}
root
square root
  Its square is the number.
```
"""


def test_sections_have_their_own_title_text_and_code(tmp_path):
    notebook = tmp_path / "source/exercises/ch2_roots/ch2_roots.ipynb"
    notebook.parent.mkdir(parents=True)
    notebook.write_text("{}")
    settings = 'myst_enable_extensions = ["dollarmath"]\nexclude_patterns = ["exercises"]\n'
    done = build_book(
        tmp_path, {"book/ch2_roots": PAGE}, ["sphinx_design", "search_sections"], settings
    )
    assert done.returncode == 0, done.stderr
    script = (tmp_path / "html/_static/search/sections.js").read_text(encoding="utf-8")
    pages = json.loads(script.removeprefix("self.searchSections = ").rstrip(";\n"))
    (found,) = [entries for address, _, entries in pages if address == "book/ch2_roots.html"]
    root = ["root", "square root"]  # what the section explains
    assert found == [
        [0, "roots", "Roots", [], "Here √d_k is small.", ""],
        [1, "root-why", "Why: √n", [], "Answer It’s folded.", 'print("code")'],
        [2, "deeper", "Deeper", ["Exercise 2", *root], "The notebook takes a root.", ""],
        [3, "term-root", "root", ["square root"], "Its square is the number.", ""],
    ]
