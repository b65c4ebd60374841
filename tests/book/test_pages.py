"""Every page of the built book in a real browser: narrow and wide, light and dark, offline, from
disk, without a script."""

import base64
import contextlib
import io
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from fontTools.ttLib import TTFont

from autograder.book_index import book_sections
from autograder.publish import book
from tests.support.browser import BARS, CHROMIUM, served, settle
from tests.support.course import COURSE

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")

pytestmark = [
    pytest.mark.xdist_group("book"),  # as the other tests of the built book: one builds it
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]

CHAPTERS = sorted(path.stem for path in COURSE.book.glob("ch*.md"))
NAMES = [f"book/{path.stem}" for path in sorted(COURSE.book.glob("*.md"))]
NAMES += ["search", "genindex", "404"]

FORMULAS = """() => ({
    written: document.querySelectorAll(".math").length,
    set: document.querySelectorAll(".math mjx-container").length,
    wrong: [...document.querySelectorAll("mjx-merror")].map(node => node.textContent),
    fonts: [...document.fonts].filter(font => font.status === "error").map(font => font.family),
})"""

# without a script: formulas, those whose MathML is seen, and TeX or what looks like it among what is seen
MATHML = """() => ({
    written: [...document.querySelectorAll("article .math")].filter(
        node => !node.closest("details:not([open]), .chapter-pages")).length,
    seen: [...document.querySelectorAll("article noscript math")].filter(
        node => node.checkVisibility() && node.getBoundingClientRect().width > 2
            && node.textContent.trim() && !node.textContent.includes("\\\\")).length,
    tex: [...document.querySelectorAll(".math")].filter(node => node.checkVisibility()).length,
})"""

WIDTHS = (390, 768, 1280)
# A page of each kind, looked at with all rules in a narrow window in the dark, too: what is drawn there is
# made of the same parts and colours on every page. `-m weekly` looks at the others.
KINDS = (
    "book/intro",
    "book/ch2_scaled_dot_product",
    "book/ch2_scaling",
    "book/glossary",
    "book/teaching",
    "search",
    "genindex",
)
# axe lists every element that passes unless it is asked not to, which takes as long as its rules
EVERYTHING = {"preload": False, "resultTypes": ["violations"]}
# what only a wide window shows, such as the contents, is the same on every page: one in the dark will do
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"], "preload": False}
# the one rule for which axe fetches the style sheets, which a page opened from disk forbids
STYLE_SHEETS = {"runOnly": ["css-orientation-lock"]}

# where every visible block of code begins and ends
CODE = """() => [...document.querySelectorAll("pre")]
    .filter(node => node.checkVisibility({visibilityProperty: true}) && node.getClientRects().length)
    .map(node => node.getBoundingClientRect()).map(box => [box.left, box.right])"""

# what has to be scrolled sideways: code, printed text, computed tables and formulas
SCROLLED = """() => [...document.querySelectorAll(
        "article :is(pre, .results, div.math, mjx-container[display=true])")]
    .filter(node => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1
        && node.clientWidth)
    .filter((node, _, all) => !all.some(other => other !== node && other.contains(node)))
    .length"""
# lines of printed text with more columns than fit
LONG_LINES = """most => [...document.querySelectorAll("article .cell_output pre")]
    .flatMap(node => node.textContent.split("\\n")).filter(line => line.length > most).length"""
MOST_COLUMNS = 76

# what a reader can unfold with a click, with or without a script
UNFOLD = "() => document.querySelectorAll('details').forEach(node => node.open = true)"

# every character of an icon font that an element, or what is drawn before or after it, shows
ICONS = """() => [...document.querySelectorAll("*")].flatMap(node =>
    ["::before", "::after"].flatMap(part =>
        [...getComputedStyle(node, part).content].map(sign => sign.codePointAt(0))
            .filter(code => code >= 0xe000 && code <= 0xf8ff)))"""


@pytest.fixture(scope="module")
def site():
    """The address of the book, built if it is not up to date."""
    book.build(COURSE)
    with served(COURSE.built_book) as address:
        yield address


@contextlib.contextmanager
def visit(browser, address, **options):
    """Open a page with every other origin closed; nothing may be asked of them, or go wrong."""
    context = browser.new_context(**options)
    page = context.new_page()
    troubles = []
    origin = re.match(r"https?://[^/]*/|file://", address)[0]

    def watch(route):
        if route.request.url.startswith((origin, "data:")):
            route.continue_()
        else:
            troubles.append(route.request.url)
            route.abort()

    def listen(message):
        if message.type in ("error", "warning"):
            troubles.append(f"{message.location['url']}: {message.text}")

    context.route("**/*", watch)
    page.on("console", listen)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("requestfailed", lambda request: troubles.append(f"failed: {request.url}"))
    page.goto(address)
    yield page
    context.close()
    assert not troubles


def check_formulas(page):
    formulas = page.evaluate(FORMULAS)
    assert formulas["set"] == formulas["written"]
    assert not formulas["wrong"] and not formulas["fonts"]


def check_widths(page, width):
    """Nothing is wider than the window, code included."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # on a busy machine the contents may still be sliding in after a change of the window's width
    inside = f"({CODE})().every(([left, right]) => left >= 0 && right <= {width})"
    page.wait_for_function(inside, timeout=5000)


def check_accessibility(page, options, place):
    result = axe.Axe().run(page, options=options).response
    assert result["passes"]
    for found in result["violations"]:
        raise AssertionError(f"{place}: {found['help']}: {found['nodes'][0]['html']}")


@pytest.fixture(scope="module")
def icon_glyphs(site):
    """The characters that the style sheet's own font of icons can draw."""
    sheet = (COURSE.built_book / "_static/styles/pydata-sphinx-theme.css").read_text(
        encoding="utf-8"
    )
    fonts = re.findall(r"font-family:Icons;[^}]*base64,([^)]*)\)", sheet)
    assert len(fonts) == 1
    return {*TTFont(io.BytesIO(base64.b64decode(fonts[0]))).getBestCmap()}


def fetched(page):
    """Uncompressed bytes of a page from disk and of everything that it has loaded."""
    names = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    files = {urlsplit(name).path for name in [page.url, *names] if name.startswith("file:")}
    return sum(Path(unquote(file)).stat().st_size for file in files)


@pytest.mark.parametrize("name", NAMES)
def test_page_from_disk_at_every_width(browser, site, icon_glyphs, name):
    address = (COURSE.built_book / f"{name}.html").as_uri()
    narrow = {"width": WIDTHS[0], "height": 800}
    with visit(browser, address, offline=True, reduced_motion="reduce", viewport=narrow) as page:
        settle(page)
        check_formulas(page)
        icons = {*page.evaluate(ICONS)}
        assert icons and icons <= icon_glyphs
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            check_widths(page, width)
        check_accessibility(page, EVERYTHING, "wide, light")
        page.evaluate(UNFOLD)
        if name.startswith("book/ch"):
            # the last of the widths: on a wide page nothing has to be scrolled
            assert page.evaluate(SCROLLED) == 0
            assert page.evaluate(LONG_LINES, MOST_COLUMNS) == 0
            check_size(page, name)
        figures = page.locator("figure.widget:not(.map)")
        assert figures.locator(".live").count() == figures.count()
        assert page.locator("figure svg:visible").count() >= page.locator("figure.plot").count()


def check_size(page, name):
    """A chapter's page is light, and so are its figures together."""
    assert 50_000 < fetched(page) <= BARS["bytes"]
    text = (COURSE.built_book / f"{name}.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    assert figures and sum(len(figure.encode()) for figure in figures) <= 300_000


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in KINDS else pytest.mark.weekly) for name in NAMES],
)
def test_narrow_page_in_the_dark(browser, site, name):
    address = (COURSE.built_book / f"{name}.html").as_uri()
    narrow = {"width": WIDTHS[0], "height": 800}
    with visit(browser, address, color_scheme="dark", viewport=narrow) as page:
        page.locator("html[data-theme=dark]").wait_for()
        settle(page)
        check_widths(page, WIDTHS[0])
        check_accessibility(page, EVERYTHING, "narrow, dark")


def test_every_kind_of_page_is_one_of_the_book():
    assert set(KINDS) <= set(NAMES)


def test_colours_of_a_wide_page_in_the_dark(browser, site):
    with visit(browser, f"{site}book/{CHAPTERS[0]}.html", color_scheme="dark") as page:
        page.locator("html[data-theme=dark]").wait_for()
        settle(page)
        check_accessibility(page, COLOURS, "1280, dark")


def test_style_sheets_let_a_reader_turn_the_screen(browser, site):
    with visit(browser, f"{site}book/{CHAPTERS[0]}.html") as page:
        settle(page)
        check_accessibility(page, STYLE_SHEETS, CHAPTERS[0])


@pytest.mark.parametrize("name", NAMES)
def test_page_without_a_script(browser, site, name):
    with visit(browser, f"{site}{name}.html", java_script_enabled=False) as page:
        assert page.locator("main h1:visible").inner_text()
        assert page.locator("main p:visible").count() > 0
        formulas = page.evaluate(MATHML)
        assert formulas["seen"] == formulas["written"] and not formulas["tex"]
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        # every word of the text is there to read, or one click on a <details> away
        hidden = page.evaluate(
            """() => [...document.querySelectorAll("article :is(p, li, pre, td)")].filter(node =>
                node.textContent.trim() && !node.checkVisibility()
                && !node.closest("details:not([open]), .chapter-pages")).map(node => node.textContent)"""
        )
        assert not hidden
        page.evaluate(UNFOLD)
        for figure in page.locator("figure").all():
            assert figure.locator("svg:visible, td:visible").count() > 0


def test_answers_of_the_quizzes_are_hidden_until_asked_for_and_open_without_a_script(browser, site):
    address = f"{site}book/{book_sections(COURSE.root)['ch1-quiz'].page}.html"
    answers = ".admonition.dropdown > p:last-child"
    with visit(browser, address) as page:
        settle(page)
        answer = page.locator(answers).last
        assert not answer.evaluate("node => node.checkVisibility({opacityProperty: true})")
    with visit(browser, address, java_script_enabled=False) as page:
        assert page.locator(answers).count() > 2
        assert page.locator(answers).last.is_visible()


def test_captions_and_pasted_words_have_the_weight_of_text(browser, site):
    """A hairline fades where a fallback font has one, and all bold is none."""
    with visit(browser, f"{site}book/ch7_multi30k.html") as page:
        for what in ("article figcaption", "article :not(strong) > span.pasted-text"):
            assert page.locator(what).count() > 0
            weights = page.locator(what).evaluate_all(
                "nodes => nodes.map(node => getComputedStyle(node).fontWeight)"
            )
            assert {*weights} == {"400"}, what


def test_controls_of_a_figure_stay_in_it_on_a_phone(browser, site):
    with visit(browser, f"{site}book/ch4_mask_conventions.html") as page:
        page.set_viewport_size({"width": 390, "height": 800})
        right = page.locator("figure.widget .live").bounding_box()
        for control in page.locator("figure.widget .live select").all():
            box = control.bounding_box()
            assert box["x"] + box["width"] <= right["x"] + right["width"] + 0.5


def test_an_address_from_before_a_move_shows_the_link_to_its_section(browser, site):
    """The list at the foot of a chapter's first page has titles of pages, until an address names a section."""
    address = f"{site}book/ch2_scaled_dot_product.html"
    with visit(browser, address) as page:
        links = page.locator(".chapter-pages a:visible")
        assert links.count() == 2 < page.locator(".chapter-pages a").count()
    label = "ch2-saturation"
    assert book_sections(COURSE.root)[label].page == "ch2_scaling"
    with visit(browser, f"{address}#{label}") as page:
        assert page.locator(".chapter-pages a:visible").count() == 3
        section = page.locator(".chapter-pages ul a:visible")
        assert section.inner_text() == "Why the scores are divided by the square root"
        assert section.get_attribute("href").startswith("ch2_scaling.html#")
        # the browser goes there once more when the formulas have taken their places
        page.wait_for_function(
            "document.querySelector(':target').getBoundingClientRect().y < innerHeight"
        )


def test_the_page_for_wrong_addresses_leads_to_the_search(browser, site):
    with visit(browser, f"{site}404.html") as page:
        page.locator("main input[name=q]").fill("softmax")
        page.locator("main button[type=submit]").click()
        page.wait_for_url(f"{site}search.html?q=softmax")
