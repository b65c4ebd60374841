"""The drawings of networks: accessible, in the page's colours, with a shape on every arrow, readable."""

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import pydata_sphinx_theme
import pytest
import sphinx_book_theme
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tests.support.course import COURSE, chapter_pages

EXTENSION = COURSE.book / "_extensions" / "diagrams.py"
FILES = sorted((COURSE.book / "diagrams").glob("*.svg"))
STYLE = COURSE.book / "_static" / "diagrams.css"
PAGES = sorted(COURSE.book.glob("*.md"))
USED = re.compile(r"^```\{diagram\} (\S+)\n(?::lit: (\S+)\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
# a shape: sizes between commas, as `(B, n_heads, T, d_k)` or `(B,)`
SHAPE = re.compile(r"\((\w+(?:, \w+)*),?\)")
# of the sizes, those that the notation page does not list: the words that an output layer chooses from
VOCABULARY = {"n_target", "V"}
# which the theme gives a phone's page of 390 px
PHONE = 342
THEME = [
    Path(pydata_sphinx_theme.__file__).parent
    / "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css",
    Path(sphinx_book_theme.__file__).parent
    / "theme/sphinx_book_theme/static/styles/sphinx-book-theme.css",
    COURSE.book / "_static" / "face.css",
    STYLE,
]

each = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def diagrams():
    """The extension, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("diagrams", EXTENSION)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def root(path):
    return ElementTree.parse(path).getroot()


def classes(element):
    return element.get("class", "").split()


def tag(element):
    return element.tag.partition("}")[2]


def words(element):
    return "".join(element.itertext())


def uses(page):
    """(drawing, part or "", caption) of every diagram on a page."""
    return [found.groups(default="") for found in USED.finditer(page.read_text(encoding="utf-8"))]


@each
def test_a_drawing_is_named_and_described(path):
    svg = root(path)
    assert tag(svg) == "svg" and "diagram" in classes(svg) and svg.get("role") == "img"
    texts = {element.get("id"): words(element) for element in svg if element.get("id")}
    assert len(texts[svg.get("aria-labelledby")]) > 20
    # every shape is told to those who cannot see the drawing, too
    description = texts[svg.get("aria-describedby")]
    told = set(SHAPE.findall(description))
    drawn = {SHAPE.search(words(text))[1] for text in svg.iter() if "shape" in classes(text)}
    assert drawn and drawn == told


@each
def test_every_arrow_has_a_shape_of_known_sizes(path):
    svg = root(path)
    notation = (COURSE.book / "notation.md").read_text(encoding="utf-8")
    known = VOCABULARY | {"1"} | set(re.findall(r"^\| .*?`(\w+)`", notation, re.MULTILINE))
    known |= set(re.findall(r"\$(\w+)\$", notation.partition("(notation-attention)=")[0]))
    known |= {name for shape in SHAPE.findall(notation) for name in shape.split(", ")}
    arrows = [element for element in svg.iter() if "arrow" in classes(element)]
    heads = [element for element in svg.iter() if element.get("marker-end")]
    assert heads and {*heads} == {path for arrow in arrows for path in arrow if tag(path) == "path"}
    for arrow in arrows:
        labels = [element for element in arrow if "shape" in classes(element)]
        assert len(labels) == 1
        (sizes,) = SHAPE.findall(words(labels[0]))
        assert set(sizes.split(", ")) <= known, sizes
    assert sum("shape" in classes(element) for element in svg.iter()) == len(arrows)


@each
def test_text_is_text_and_colours_are_in_the_style_sheet(path):
    allowed = {"svg", "title", "desc", "defs", "marker", "g", "rect", "path", "text", "tspan"}
    for element in root(path).iter():
        assert tag(element) in allowed
        assert not {"style", "fill", "stroke", "color", "font-size", "href"} & {*element.keys()}


def test_the_style_sheet_takes_its_colours_from_variables():
    sheet = re.sub(r"/\*.*?\*/", "", STYLE.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"(?<![\w-])(fill|stroke|color|--tint):\s*([^;]+);", sheet)
    assert len(found) > 10
    for name, value in found:
        rest = re.sub(r"var\(--[\w-]+(, Canvas(Text)?)?\)", "", value)
        rest = re.sub(r"color-mix\(in srgb,\s*\d+%,\s*\)", "", rest)
        assert rest in ("", "none"), f"{name}: {value}"


def test_every_drawing_is_shown_whole_before_its_parts():
    shown = {page.stem: uses(page) for page in PAGES}
    assert {use[0] for page in shown.values() for use in page} == {path.stem for path in FILES}
    for page, found in shown.items():
        source = (COURSE.book / f"{page}.md").read_text(encoding="utf-8")
        assert source.count("{diagram}") == len(found), f"{page}: a diagram that USED misses"
        assert all(len(caption.split()) > 5 for _, _, caption in found), page
    whole = set()
    for chapter, pages in chapter_pages().items():
        found = [use for page in pages for use in shown.pop(page)]
        for name, lit, _ in found:
            assert not lit or name in whole, f"chapter {chapter}: a part of {name} before the whole"
            whole.add(name)
        assert found or chapter > 6, f"chapter {chapter} has no drawing"
    assert not any(lit for used in shown.values() for _, lit, _ in used)


@each
def test_every_part_can_be_lit(diagrams, path):
    names = diagrams.parts(root(path))
    assert names
    for name in names:
        svg = ElementTree.fromstring(diagrams.drawing(path, "a-", name))
        assert "small" in classes(svg)
        lit = {element for element in svg.iter() if "lit" in classes(element)}
        assert lit == {e for e in svg.iter() if name in e.get("data-part", "").split()} != set()
    with pytest.raises(ValueError, match=f"{path.name} has no part 'nose', only .*{min(names)}"):
        diagrams.drawing(path, "a-", "nose")


def build(folder, text):
    """A page with this text, built with the extension alone, and the warnings."""
    (folder / "index.md").write_text(f"# Page\n\n{text}\n", encoding="utf-8")
    warnings = folder / "warnings"
    with patch_docutils(), docutils_namespace(), warnings.open("w", encoding="utf-8") as file:
        Sphinx(
            srcdir=folder,
            confdir=None,
            outdir=folder / "html",
            doctreedir=folder / "doctrees",
            buildername="html",
            confoverrides={
                "extensions": ["myst_parser", "diagrams"],
                "html_theme": "basic",
                "myst_enable_extensions": ["dollarmath"],
            },
            status=None,
            warning=file,
        ).build()
    page = (folder / "html/index.html").read_text(encoding="utf-8")
    return page, warnings.read_text(encoding="utf-8")


def test_the_directive_makes_a_figure(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXTENSION.parent)
    name, part = "encoder_decoder", "query"
    both = "\n\n".join(
        f"```{{diagram}} {name}\n{lit}Where *this* is $x$.\n```" for lit in ("", f":lit: {part}\n")
    )
    page, warnings = build(tmp_path, both)
    assert not warnings
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    assert len(figures) == 2
    for figure in figures:
        assert 'class="diagram' in figure and "<em>this</em>" in figure and 'class="math' in figure
        assert figure.index("</svg>") < figure.index("<figcaption>")
    assert "lit" not in figures[0].partition(">")[2].partition("<desc")[0]
    assert 'class="diagram small"' in figures[1] and " lit" in figures[1]
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "text, says",
    [
        ("```{diagram} nothing\nA caption.\n```", "nothing.svg"),
        ("```{diagram} encoder_decoder\n:lit: nose\nA caption.\n```", "has no part 'nose'"),
        ("```{diagram} encoder_decoder\n```", "content block expected"),
    ],
)
def test_a_wrong_directive_is_a_warning_that_says_why(tmp_path, monkeypatch, text, says):
    monkeypatch.syspath_prepend(EXTENSION.parent)
    _, warnings = build(tmp_path, text)
    assert says in warnings.lower().replace("\n", " ")


@pytest.fixture(scope="module")
def page(browser, diagrams):
    """All drawings as on a phone's page, whole and with each of their parts lit."""
    drawings = [
        f"<figure class='diagram'>{diagrams.drawing(path, f'{path.stem}-{part}-', part)}</figure>"
        for path in FILES
        for part in ["", *sorted(diagrams.parts(root(path)))]
    ]
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_content(
        f"<html><body><div class='bd-article' style='width: {PHONE}px'>{''.join(drawings)}</div>"
    )
    for sheet in THEME:
        page.add_style_tag(content=sheet.read_text(encoding="utf-8"))
    yield page
    page.close()


# What stands where, in the units of the screen: [drawing, kind, words, box], and each drawing's own box.
PLACES = """() => [...document.querySelectorAll("svg.diagram")].map(svg => ({
    name: svg.querySelector("title").id,
    box: svg.getBoundingClientRect().toJSON(),
    texts: [...svg.querySelectorAll("text")].filter(text => text.checkVisibility()).map(text => ({
        words: text.textContent,
        inside: text.parentNode.classList.contains("box"),
        size: Math.min(...[text, ...text.querySelectorAll("tspan")].map(
            part => parseFloat(getComputedStyle(part).fontSize)))
            * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,
        box: text.getBoundingClientRect().toJSON(),
        rects: [...text.parentNode.querySelectorAll(":scope > rect:not(.gap)")].map(
            rect => rect.getBoundingClientRect().toJSON()),
    })),
    boxes: [...svg.querySelectorAll(".box > rect")].map(rect => rect.getBoundingClientRect().toJSON()),
    frames: [...svg.querySelectorAll("rect.frame")].map(rect => rect.getBoundingClientRect().toJSON()),
    lines: [...svg.querySelectorAll(".arrow path")].map(path =>
        Array.from({length: Math.ceil(path.getTotalLength())}, (_, at) => {
            const point = path.getPointAtLength(at).matrixTransform(path.getScreenCTM());
            return [point.x, point.y];
        })),
}))"""


def within(inner, outer, slack=0.0):
    return (
        inner["left"] >= outer["left"] - slack
        and inner["right"] <= outer["right"] + slack
        and inner["top"] >= outer["top"] - slack
        and inner["bottom"] <= outer["bottom"] + slack
    )


def overlap(one, other):
    """How deep two boxes lie in one another, in pixels."""
    return min(
        min(one["right"], other["right"]) - max(one["left"], other["left"]),
        min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]),
    )


def test_texts_can_be_read_on_a_phone_and_lie_where_they_belong(page):
    drawings = page.evaluate(PLACES)
    assert len(drawings) > len(FILES)
    for drawing in drawings:
        for text in drawing["texts"]:
            place = f"{drawing['name']}: {text['words']}"
            assert text["size"] >= 11, place
            assert within(text["box"], drawing["box"], 1), place
            if text["inside"] and text["words"] != "…":
                # the line of a text is higher than its letters
                assert any(within(text["box"], rect, 3) for rect in text["rects"]), place
            else:
                assert all(overlap(text["box"], box) < 4 for box in drawing["boxes"]), place
        for number, one in enumerate(drawing["texts"]):
            for other in drawing["texts"][:number]:
                deep = overlap(one["box"], other["box"])
                assert deep < 4, f"{drawing['name']}: {one['words']} on {other['words']}"


def test_no_line_runs_through_a_text_and_no_text_through_a_frame(page):
    for drawing in page.evaluate(PLACES):
        for text in [text for text in drawing["texts"] if not text["inside"]]:
            place, box = f"{drawing['name']}: {text['words']}", text["box"]
            crossed = [
                point
                for line in drawing["lines"]
                for point in line
                if box["left"] < point[0] < box["right"]
                and box["top"] + 3 < point[1]
                # the line of a text is higher than its letters
                and point[1] < box["bottom"] - 3
            ]
            assert not crossed, place
            for frame in drawing["frames"]:
                assert within(box, frame, 3) or overlap(box, frame) < 3, place


# The smallest contrast of a text with its plate, the page or the box around it.
CONTRAST = """() => {
    const parts = colour => {
        const numbers = colour.match(/[\\d.]+/g).map(Number).slice(0, 3);
        return colour.startsWith("rgb") ? numbers.map(c => c / 255) : numbers;
    };
    const light = colour => {
        const [r, g, b] = parts(colour).map(
            c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = getComputedStyle(document.body).backgroundColor;
    return Math.min(...[...document.querySelectorAll("svg.diagram text")].map(text => {
        const rect = text.parentNode.classList.contains("box") && text.parentNode.querySelector("rect");
        const plate = rect ? getComputedStyle(rect).fill : paper;
        const [low, high] = [light(getComputedStyle(text).fill), light(plate)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    }));
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_have_contrast(page, theme):
    page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 18, 18)"}[theme]
    assert page.evaluate(CONTRAST) >= 4.5
