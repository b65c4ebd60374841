"""Every page of the built book in a real browser: narrow and wide, light and dark, offline, from
disk, without a script."""

import base64
import contextlib
import io
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python import sync_playwright as axe
from fontTools.ttLib import TTFont

from autograder.book_index import book_sections
from tests.support.browser import BARS, listening, served, settle
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("book")  # as the other tests of the built book: one builds it

CHAPTERS = sorted(path.stem for path in COURSE.book.glob("ch*.md"))
NAMES = [f"book/{path.stem}" for path in sorted(COURSE.book.glob("*.md"))]
GONE = {
    f"book/{page}"
    for page in re.findall(r"^(\w+),", (COURSE.book / "moved.csv").read_text("utf-8"), re.MULTILINE)
    if not (COURSE.book / f"{page}.md").exists()
}
NAMES += ["search", "genindex", "404", *sorted(GONE)]

FORMULAS = """() => ({
    written: document.querySelectorAll(".math").length,
    set: [...document.querySelectorAll(".math math")].filter(node => node.textContent.trim()).length,
    wrong: [...document.querySelectorAll("merror")].map(node => node.textContent),
    fonts: [...document.fonts].filter(font => font.status === "error").map(font => font.family),
})"""

# formulas, those that are seen, and TeX or what looks like it among them
MATHML = """() => ({
    written: [...document.querySelectorAll("article .math")].filter(
        node => !node.closest("details:not([open]) > :not(summary), .chapter-pages")).length,
    seen: [...document.querySelectorAll("article .math math")].filter(
        node => node.checkVisibility() && node.getBoundingClientRect().width > 2).length,
    tex: [...document.querySelectorAll(".math")].map(node => node.textContent)
        .filter(text => /[\\\\$&]/.test(text)),
})"""

WIDTHS = (390, 768, 1280)
WIDE = {"width": 1280, "height": 720}
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
        "article :is(pre, .results, div.math)")]
    .filter(node => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1
        && node.clientWidth)
    .filter((node, _, all) => !all.some(other => other !== node && other.contains(node)))
    .length"""
# lines of printed text with more columns than fit
LONG_LINES = """most => [...document.querySelectorAll("article .cell_output pre")]
    .flatMap(node => node.textContent.split("\\n")).filter(line => line.length > most).length"""
MOST_COLUMNS = 76

# What sticks out of the window, and doesn't lie in a box that scrolls or is a part of a drawing: the window
# itself doesn't scroll for what a box with `overflow: hidden` cuts off.
STICKS_OUT = """width => [...document.querySelectorAll(":is(.bd-header-article, article, footer) *")]
    .filter(node => {
        const box = node.getBoundingClientRect();
        if (box.width < 2 || (box.right < width + 1 && box.left > -1) || node.closest("svg svg, svg *"))
            return false;
        if (!node.checkVisibility({visibilityProperty: true})) return false;
        for (let over = node.parentElement; over; over = over.parentElement)
            if (/auto|scroll/.test(getComputedStyle(over).overflowX)
                && over !== document.scrollingElement && over !== document.body) return false;
        return true;
    })
    .map(node => `${node.localName}.${node.getAttribute("class")}: ${node.textContent.trim().slice(0, 60)}`)"""

# what a reader can unfold with a click, with or without a script
UNFOLD = "() => document.querySelectorAll('details').forEach(node => node.open = true)"

# every character of an icon font that an element, or what is drawn before or after it, shows
ICONS = """() => [...document.querySelectorAll("*")].flatMap(node =>
    ["::before", "::after"].flatMap(part =>
        [...getComputedStyle(node, part).content].map(sign => sign.codePointAt(0))
            .filter(code => code >= 0xe000 && code <= 0xf8ff)))"""


@pytest.fixture(scope="module")
def site(built_book):
    """The address of the book."""
    with served(built_book) as address:
        yield address


@pytest.fixture(scope="module")
def visit(browser):
    """A function that opens a page; pages with the same options share a tab."""
    tabs = {}

    def visit(address, **options):
        key = repr(sorted(options.items()))
        if key not in tabs:
            tabs[key] = browser.new_context(**options).new_page()
        return visited(tabs[key], address, options.get("viewport", WIDE))

    yield visit
    for page in tabs.values():
        page.context.close()


@contextlib.contextmanager
def visited(page, address, viewport):
    """A page of one origin in a tab; nothing may be asked of any other, or go wrong."""
    troubles = []
    origin = re.match(r"https?://[^/]*/|file://", address)[0]

    def watch(request):
        if not request.url.startswith((origin, "data:")):
            troubles.append(request.url)

    def listen(message):
        if message.type in ("error", "warning"):
            troubles.append(f"{message.location['url']}: {message.text}")

    failing = {
        "pageerror": lambda error: troubles.append(str(error)),
        "requestfailed": lambda request: troubles.append(f"failed: {request.url}"),
    }
    page.set_viewport_size(viewport)
    with listening(page, request=watch, console=listen, **failing):
        page.goto(address)
        yield page
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
def test_page_from_disk(visit, icon_glyphs, name):
    address = (COURSE.built_book / f"{name}.html").as_uri()
    narrow = {"width": WIDTHS[0], "height": 800}
    with visit(address, offline=True, reduced_motion="reduce", viewport=narrow) as page:
        settle(page)
        check_formulas(page)
        icons = {*page.evaluate(ICONS)}
        assert icons and icons <= icon_glyphs
        check_widths(page, WIDTHS[0])
        page.evaluate(UNFOLD)
        assert page.evaluate(STICKS_OUT, WIDTHS[0]) == []
        check_widths(page, WIDTHS[0])
        if is_of_chapter(name):
            assert page.evaluate(LONG_LINES, MOST_COLUMNS) == 0
            check_size(page, name)
        figures = page.locator("figure.widget:not(.map)")
        assert figures.locator(".live").count() == figures.count()
        assert page.locator("figure svg:visible").count() >= page.locator("figure.plot").count()


def is_of_chapter(name):
    return name.startswith("book/ch") and name not in GONE


def check_wider(page, name):
    """On a wide page nothing has to be scrolled, and all rules of axe hold."""
    for width in WIDTHS[1:]:
        page.set_viewport_size({"width": width, "height": 800})
        check_widths(page, width)
    check_accessibility(page, EVERYTHING, "wide, light")
    page.evaluate(UNFOLD)
    if is_of_chapter(name):
        assert page.evaluate(SCROLLED) == 0


def check_size(page, name):
    """A chapter's page is light, and so are its figures together."""
    assert 50_000 < fetched(page) <= BARS["bytes"]
    text = (COURSE.built_book / f"{name}.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    assert sum(len(figure.encode()) for figure in figures) <= 300_000


@pytest.mark.parametrize("name", NAMES)
def test_wider_page(visit, name):
    with visit((COURSE.built_book / f"{name}.html").as_uri()) as page:
        settle(page)
        check_wider(page, name)


@pytest.mark.parametrize("name", NAMES)
def test_narrow_page_in_the_dark(visit, site, name):
    address = (COURSE.built_book / f"{name}.html").as_uri()
    narrow = {"width": WIDTHS[0], "height": 800}
    with visit(address, color_scheme="dark", viewport=narrow) as page:
        page.locator("html[data-theme=dark]").wait_for()
        settle(page)
        check_widths(page, WIDTHS[0])
        check_accessibility(page, EVERYTHING, "narrow, dark")


def test_colours_of_a_wide_page_in_the_dark(visit, site):
    with visit(f"{site}book/{CHAPTERS[0]}.html", color_scheme="dark") as page:
        page.locator("html[data-theme=dark]").wait_for()
        settle(page)
        check_accessibility(page, COLOURS, "1280, dark")


def test_style_sheets_let_a_reader_turn_the_screen(visit, site):
    with visit(f"{site}book/{CHAPTERS[0]}.html") as page:
        settle(page)
        check_accessibility(page, STYLE_SHEETS, CHAPTERS[0])


@pytest.mark.parametrize("name", NAMES)
def test_page_without_a_script(visit, site, name):
    with visit(f"{site}{name}.html", java_script_enabled=False) as page:
        assert page.locator("html").get_attribute("data-theme") == "light"
        assert page.locator("main h1:visible").inner_text()
        assert page.locator("main p:visible").count() > 0
        formulas = page.evaluate(MATHML)
        assert formulas["seen"] == formulas["written"] and not formulas["tex"]
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        # every word of the text is there to read, or one click on a <details> away; what only a script
        # can serve isn't
        hidden = page.evaluate(
            """() => [...document.querySelectorAll("article :is(p, li, pre, td)")].filter(node =>
                node.textContent.trim() && !node.checkVisibility()
                && !node.closest("details:not([open]), .chapter-pages, .moved-sections")).map(node => node.textContent)"""
        )
        assert not hidden
        page.evaluate(UNFOLD)
        for figure in page.locator("figure").all():
            assert figure.locator("svg:visible, td:visible").count() > 0


@pytest.mark.parametrize("name", ["book/intro", "book/ch2_scaling"])
def test_colours_without_a_script(browser, site, name):
    """Axe is a script itself, so the page comes without its own."""
    page = browser.new_page()
    text = (COURSE.built_book / f"{name}.html").read_text(encoding="utf-8")
    text = re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)
    page.route("**/*.html", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(f"{site}{name}.html")
    check_accessibility(page, COLOURS, "without a script")


def test_answers_of_the_quizzes_are_hidden_until_asked_for_and_open_without_a_script(visit, site):
    address = f"{site}book/{book_sections(COURSE.root)['ch1-quiz'].page}.html"
    for scripts in (True, False):
        with visit(address, java_script_enabled=scripts) as page:
            choices = page.locator(".quiz details.choice")
            assert choices.count() > 2
            reason = choices.first.locator("p")
            assert not reason.is_visible()
            choices.first.locator("summary").click()
            assert reason.is_visible()


def test_an_address_from_before_a_move_shows_the_link_to_its_section(visit, site):
    """The lists at the foot of a chapter's first page have titles of pages, until an address names a section."""
    address = f"{site}book/ch2_scaled_dot_product.html"
    with visit(address) as page:
        links = page.locator(".chapter-pages a:visible")
        # the chapter's other pages, and two of no chapter
        assert links.count() == 5 < page.locator(".chapter-pages a").count()
    label = "ch2-saturation"
    assert book_sections(COURSE.root)[label].page == "ch2_scaling"
    with visit(f"{address}#{label}") as page:
        assert page.locator(".chapter-pages a:visible").count() == 6
        section = page.locator(".chapter-pages ul a:visible")
        assert section.inner_text() == "The softmax Jacobian, and the gradient at the query"
        assert section.get_attribute("href").startswith("ch2_scaling.html#")
        # the browser goes there once more when the formulas have taken their places
        page.wait_for_function(
            "document.querySelector(':target').getBoundingClientRect().y < innerHeight"
        )


def test_the_page_for_wrong_addresses_leads_to_the_search(visit, site):
    with visit(f"{site}404.html") as page:
        page.locator("main input[name=q]").fill("softmax")
        page.locator("main button[type=submit]").click()
        page.wait_for_url(f"{site}search.html?q=softmax")
