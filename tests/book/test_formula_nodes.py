"""Formulas on a page: MathML with TeX's spaces, a font for it, and no line break before a comma."""

import base64
import html
import io
import re
import runpy

import bs4
import pytest
from fontTools.ttLib import TTFont
from latex2mathml.converter import convert

from autograder.publish import book
from tests.support.course import COURSE
from tests.support.small_book import build_book

SETTINGS = "myst_enable_extensions = ['dollarmath']\nhtml_math_renderer = 'mathml'\n"
PAGE = r"""
# Page

Words ($x_i$), then $d$s, **$n$**: at $\sqrt{d}$-th $y$ and $z$/$w$.

The {query}`date` asks $\query{q_i} \key{k}$ here.

$$\sum_i \frac{a_i}{b}$$

| cell |
| --- |
| $k$, too |
"""
THIN, MEDIUM, THICK = "0.1667em", "0.2222em", "0.2778em"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formulas")
    done = build_book(folder, {"page": PAGE}, ["roles", "formulas"], SETTINGS)
    assert done.returncode == 0, done.stderr
    text = (folder / "html" / "page.html").read_text(encoding="utf-8")
    return bs4.BeautifulSoup(text, "html.parser").find(class_="body")


def test_every_formula_is_mathml(page):
    formulas = page.find_all(class_="math")
    assert len(formulas) == 10
    for formula in formulas:
        (made,) = formula.find_all("math")
        assert made["display"] == {"span": "inline", "div": "block"}[formula.name]
    assert page.select_one(".math mfrac") and page.select_one(".math msqrt")


def test_roles_are_marked_in_text_and_formulas(page):
    assert page.select_one("span.query").get_text() == "date"
    marked = {node["class"][0]: node.get_text() for node in page.select("mstyle")}
    assert marked == {"query": "qi", "key": "k"}
    without_roles = runpy.run_path(str(COURSE.book / "_extensions" / "roles.py"))["without_roles"]
    assert without_roles(r"\query{q_i} \key{k}") == "{q_i} {k}"


def test_punctuation_stays_with_its_formula(page):
    joined = [node.get_text() for node in page.find_all(class_="unbroken")]
    assert joined == ["(xi),", "ds,", "d-", "z/", "w.", "k,"]


def test_a_formula_that_cannot_be_converted_stops_the_build(tmp_path):
    text = "# Page\n\nIt is $\\frac{$ here.\n"
    done = build_book(tmp_path, {"page": text}, ["roles", "formulas"], SETTINGS)
    assert done.returncode != 0 and r"no MathML for '\\frac{'" in done.stderr


# what stands in a row, with the widths of the spaces between
@pytest.mark.parametrize(
    ("tex", "row"),
    [
        ("a=b", ["a", THICK, "=", THICK, "b"]),
        ("a+b", ["a", MEDIUM, "+", MEDIUM, "b"]),
        ("(-1,3)", ["(", "−", "1", ",", THIN, "3", ")"]),
        ("a=-b", ["a", THICK, "=", THICK, "−", "b"]),
        (r"x\sin(a)", ["x", THIN, "sin", "(", "a", ")"]),
        (r"\operatorname{Var}(a)", ["Var", "(", "a", ")"]),
        ("1/2", ["1", "/", "2"]),
        (r"\sum_{i=1} a_i", ["∑i=1", THIN, "ai"]),
    ],
)
def test_spaces_are_those_of_tex(tex, row):
    spaced = runpy.run_path(str(COURSE.book / "_extensions" / "spacing.py"))["spaced"]
    made = bs4.BeautifulSoup(spaced(convert(tex)), "html.parser").math.mrow
    assert [part.get("width") or part.get_text() for part in made.find_all(recursive=False)] == row
    assert all(operator["lspace"] == operator["rspace"] == "0" for operator in made.find_all("mo"))


@pytest.mark.xdist_group("book")
def test_the_font_has_every_character_of_the_books_formulas():
    book.build(COURSE)
    sheet = (COURSE.built_book / "_static" / "formulas.css").read_text(encoding="utf-8")
    font = TTFont(io.BytesIO(base64.b64decode(re.search(r"base64,([^)]*)", sheet)[1])))
    used = set()
    for path in (COURSE.built_book / "book").glob("*.html"):
        for made in re.findall(r"<math.*?</math>", path.read_text(encoding="utf-8"), re.DOTALL):
            used.update(html.unescape(re.sub("<[^>]*>", "", made)))
    missing = {character for character in used if ord(character) not in font.getBestCmap()}
    # spaces need no glyph
    assert len(used) > 60 and not {character for character in missing if character.strip()}
    assert "MATH" in font and len(sheet) < 60_000
