"""Finding things in the built book: links, names of figures, symbols, exercises, the way on."""

import re
import urllib.parse

import pytest

from autograder.book_index import book_sections, colab_url
from tests.support.built_pages import parsed
from tests.support.course import COURSE, chapter_pages

pytestmark = pytest.mark.xdist_group("book")


@pytest.fixture(scope="module")
def pages(built_book):
    """Every page of the built book, parsed, without what stands there for want of a script: path -> tree."""
    return {
        path: parsed(path)
        for path in sorted(built_book.rglob("*.html"))
        if "_static" not in path.parts
    }


def targets(page):
    """All that a page links to or loads."""
    for attribute in ("href", "src", "xlink:href", "poster", "data", "action"):
        for element in page.find_all(attrs={attribute: True}):
            yield element[attribute]


def test_every_internal_link_and_anchor_holds(pages):
    ids = {path: {e["id"] for e in page.find_all(id=True)} for path, page in pages.items()}
    broken, followed = [], 0
    for path, page in pages.items():
        for target in targets(page):
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            where = (path.parent / urllib.parse.unquote(parts.path)).resolve()
            where = where if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not where.is_file() or (anchor and anchor not in ids.get(where, {anchor})):
                broken.append(f"{path.name}: {target}")
    assert not broken
    assert followed > 1000


MOVED = (COURSE.book / "moved.csv").read_text(encoding="utf-8").split("\n")[1:-1]


@pytest.mark.parametrize("row", MOVED)
def test_an_address_of_a_section_that_has_moved_leads_to_where_it_is(pages, row):
    page, old, new = row.split(",")
    item = pages[COURSE.built_book / "book" / f"{page}.html"].find(id=old)
    target = f"{book_sections(COURSE.root)[new].page}.html#{new}"
    assert item.name == "li" and [link["href"] for link in item.find_all("a")] == [target]


def test_every_id_of_a_page_is_given_once(pages):
    for path, page in pages.items():
        given = [element["id"] for element in page.find_all(id=True)]
        assert sorted(given) == sorted(set(given)), path.name


def test_every_chapter_leads_to_its_exercise(pages, exercise):
    rows = [
        (path, row)
        for page in chapter_pages()[exercise.chapter]
        for path in [COURSE.built_book / "book" / f"{page}.html"]
        for row in pages[path].find_all(class_="exercise-links")
        if row.find("a", class_="download")["href"].endswith(f"/{exercise.name}.ipynb")
    ]
    ((path, row),) = rows
    labels = [part["id"] for part in row.find_parent("section").find_all("span", id=True)]
    assert any(re.fullmatch(rf"ch{exercise.chapter}-exercise(-\w+)?", name) for name in labels)
    download = path.parent / row.find("a", class_="download")["href"]
    assert download.read_bytes() == exercise.notebook.read_bytes()
    opened = [a["href"] for a in row.find_all("a", class_="external")]
    assert opened == [address for address in [colab_url(exercise.name)] if address]


def letters(text):
    """A text without signs, which are others in TeX and in MathML."""
    return re.sub(r"[\W_]|text", "", text)


def test_symbols_lead_to_their_rows_on_the_notation_page(pages):
    notation = pages[COURSE.built_book / "book" / "notation.html"]
    linked = {}
    for exercise in COURSE.exercises():
        paths = [f"{page}.html" for page in chapter_pages()[exercise.chapter]]
        chapter = [pages[COURSE.built_book / "book" / path] for path in paths]
        for link in [link for page in chapter for link in page.select("a.symbol")]:
            row = notation.find(id=link["href"].partition("#")[2]).find_parent("tr")
            # the row's meaning is the link's title, and its first cells show the same letter or name
            assert letters(link["title"]) == letters(row.find_all("td")[-1].get_text())
            if link.code:
                names = [code.get_text() for code in row.find_all("td")[1].find_all("code")]
                assert link.get_text() in names
            else:
                names = [made.get_text() for made in row.find("td").find_all("math")]
                assert any(name[0] == link.get_text()[0] for name in names)
            assert not link.find_parent(["h1", "h2", "h3"])
            linked.setdefault(exercise.name, []).append(link.get_text())
    # chapter 4 has words and positions, no symbols
    assert linked.keys() >= {exercise.name for exercise in COURSE.exercises()} - {"ch4_masking"}
    assert "st−1" in linked["ch1_additive_attention"]
    assert "dk" in linked["ch2_scaled_dot_product"]
    assert "d_model" in {name for names in linked.values() for name in names}
