"""A printed chapter: its text, results and figures in black on white, without controls."""

import pytest

from tests.support.browser import served, settle
from tests.support.needs import needs_poppler
from tests.support.paper import filled, printed

# A4 without margins of 1 cm, in pixels
WIDTH, HEIGHT = 718, 1047

pytestmark = pytest.mark.xdist_group("book")


@pytest.fixture(scope="module", params=["light", "dark"])
def page(request, browser, built_book):
    """The page with the most kinds of figures, as a printer gets it."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=request.param
    )
    context.set_offline(True)
    page = context.new_page()
    page.goto((built_book / "book" / "ch3_splitting.html").as_uri())
    assert page.locator("html").get_attribute("data-theme") == request.param
    page.emulate_media(media="print", color_scheme=request.param)
    yield page
    context.close()


def test_nothing_to_press_is_printed(page):
    page.locator("figure.widget.alive").first.wait_for(state="attached")
    # the title of a box stays, as that of its answer, and what a question lets one choose
    pressed = "summary:not(.sd-summary-title, .choice > summary)"
    for what in ("nav", "button", "input", "select", pressed, "dialog", ".bd-sidebar-primary"):
        assert page.locator(f"{what}:visible").count() == 0, what
    assert page.locator("h1:visible").inner_text().endswith("memory layout and cost")


def test_figures_to_touch_stand_still(page):
    figures = page.locator("figure.widget")
    assert figures.count()
    for figure in figures.all():
        assert figure.locator(".still").is_visible() and not figure.locator(".live").is_visible()
        assert figure.locator(".still td:visible").count()


def test_everything_is_dark_on_white(page):
    """Words in figures, too; only on cells full of colour they may be white. No plates elsewhere."""
    pale = page.evaluate(
        """() => {
        const light = (colour) => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(c => c / 255)
                .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
        const pale = [];
        while (walker.nextNode()) {
            const node = walker.currentNode.parentElement;
            if (!walker.currentNode.textContent.trim() || !node.checkVisibility()) continue;
            if (node.closest("script, noscript")) continue;
            const style = getComputedStyle(node);
            const colour = node.closest("svg") ? style.fill : style.color;
            if (colour === "rgb(255, 255, 255)" && node.closest("figure.plot")) continue;
            if (1.05 / (light(colour) + 0.05) < 4.5) pale.push([colour, node.outerHTML.slice(0, 80)]);
        }
        for (const node of document.querySelectorAll("article, article :not(figure, figure *)")) {
            const plate = getComputedStyle(node).backgroundColor;
            if (plate !== "rgba(0, 0, 0, 0)" && node.checkVisibility()) pale.push([plate, node.outerHTML.slice(0, 80)]);
        }
        return pale;
    }"""
    )
    assert not pale
    for what in ("html", "body"):
        colour = page.locator(what).evaluate("node => getComputedStyle(node).backgroundColor")
        assert colour == "rgb(255, 255, 255)"


def test_code_wraps_and_no_figure_is_split(page):
    for wide in page.locator("article pre:visible, article .scroll:visible").all():
        assert wide.evaluate("node => node.scrollWidth <= node.clientWidth + 1")
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
    for figure in page.locator("article figure").all():
        assert figure.evaluate("node => getComputedStyle(node).breakInside") == "avoid"
        assert figure.bounding_box()["height"] < HEIGHT


# folded figures and tables, hidden code, diagrams, figures to touch, answers in boxes
PRINTED = ("ch1_additive_attention", "ch3_splitting", "ch7_bleu")
# a browser whose style sheets can't style what a closed <details> holds, as many did in 2024
OLDER = """@media print {
    details:not([open])::details-content { content-visibility: hidden !important; display: none !important; }
}"""


BROWSERS = ("as it is", "older", "without a script")


@pytest.fixture(scope="module")
def on_paper(request, browser, built_book):
    """A function that prints a page in a browser of some kind."""
    context = browser.new_context(java_script_enabled=request.param != "without a script")
    context.set_offline(True)

    def on_paper(name):
        page = context.new_page()
        page.goto((built_book / "book" / f"{name}.html").as_uri())
        if request.param != "without a script":
            settle(page)
        if request.param == "older":
            page.add_style_tag(content=OLDER)
        folds = page.locator("article details:not([open])")
        before = folds.count()
        paper = printed(page)
        after = folds.count()
        page.close()
        return paper, before, after

    yield on_paper
    context.close()


@needs_poppler
@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("on_paper", BROWSERS, indirect=True)
def test_all_results_answers_and_figures_are_printed(on_paper, name):
    paper, before, after = on_paper(name)
    for kind in ("result", "answer", "figure", "caption", "code"):
        assert paper.on_paper(kind) == paper.on_page[kind], kind
    assert paper.on_page["result"] > 3 and paper.on_page["figure"] > 1
    # code that is folded on the screen stays so; afterwards everything that was folded is again
    assert paper.on_paper("folded code") == 0
    assert before == after > 0
    for number in range(1, paper.on_page["figure"] + 1):
        assert paper.sheets[f"figure:{number}"] == paper.sheets[f"caption:{number}"], number
    for navigation in ("The other pages of this chapter", "Skip to main content", "Contents"):
        assert navigation not in paper.text


MOST_SHEETS = {
    "ch2_scaling": 10,
    "one_sheet": 1,
    "first_hour": 16,
    "ch3_many_heads": 8,
    "ch6_one_file": 9,
}
FULL = 0.6


@needs_poppler
@pytest.mark.parametrize("name", MOST_SHEETS)
def test_sheets_are_few_and_full(browser, built_book, name):
    page = browser.new_page()
    page.goto((built_book / "book" / f"{name}.html").as_uri())
    settle(page)
    sheets = filled(page)
    assert len(sheets) <= MOST_SHEETS[name]
    # only the last may have much room left
    assert all(share > FULL for share in sheets[:-1]), sheets


def test_tasks_are_printed_with_the_code_to_start_from(browser, built_book):
    with served(built_book) as address:
        page = browser.new_page()
        page.goto(f"{address}book/first_hour.html")
        settle(page)
        page.emulate_media(media="print")
        tasks = page.locator(".task[data-task]")
        assert tasks.count() > 3
        for task in tasks.all():
            (code,) = task.locator("pre:visible").all()  # once, without the field to write in
            assert "NotImplementedError" in code.inner_text()
            assert not task.locator(".task-links:visible").count()
