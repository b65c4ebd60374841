"""Formulas on a page: MathML for a browser without scripts, and no line break before a comma."""

import bs4
import pytest

from tests.small_book import build_book

SETTINGS = "myst_enable_extensions = ['dollarmath']\n"
PAGE = r"""
# Page

Words ($x_i$), then $d$s, **$n$**: at $\sqrt{d}$-th $y$ and $z$/$w$.

$$\sum_i \frac{a_i}{b}$$

| cell |
| --- |
| $k$, too |
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formulas")
    done = build_book(folder, {"page": PAGE}, ["sphinx.ext.mathjax", "formulas"], SETTINGS)
    assert done.returncode == 0, done.stderr
    text = (folder / "html" / "page.html").read_text(encoding="utf-8")
    return bs4.BeautifulSoup(text, "html.parser").find(class_="body")


def test_every_formula_has_its_mathml_before_it(page):
    formulas = page.find_all(class_="math")
    assert len(formulas) == 9
    for formula in formulas:
        made = formula.find_previous_sibling()
        assert made.name == "noscript" and len(made.find_all("math")) == 1
        display = {"span": "inline", "div": "block"}[formula.name]
        assert made.math["display"] == display
    assert page.select_one("noscript mfrac") and page.select_one("noscript msqrt")


def test_punctuation_stays_with_its_formula(page):
    joined = []
    for node in page.find_all(class_="unbroken"):
        for made in node.find_all("noscript"):
            made.decompose()
        joined.append(node.get_text())
    assert joined == [r"(\(x_i\)),", r"\(d\)s,", r"\(\sqrt{d}\)-", r"\(z\)/", r"\(w\).", r"\(k\),"]
    assert r"\(y\) and" in page.get_text()


def test_a_formula_that_cannot_be_converted_stops_the_build(tmp_path):
    text = "# Page\n\nIt is $\\frac{$ here.\n"
    done = build_book(tmp_path, {"page": text}, ["sphinx.ext.mathjax", "formulas"], SETTINGS)
    assert done.returncode != 0 and r"no MathML for '\\frac{'" in done.stderr
