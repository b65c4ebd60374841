"""The first page of a chapter leads to the sections of its other pages, under their labels, too."""

import re

import bs4
import pytest

from tests.support.small_book import build_book

FIRST = """\
(one)=
# One

(one-here)=
## Here

## Without a label

```{toctree}
:hidden:
ch2_two
```
"""
SECOND = r"""\
(two)=
# Two

(two-cost)=
## What it costs in $\sqrt{n}$

(two-cost-time)=
### Time

## Without a label

(two-here)=
### Deeper
"""

NO_CHAPTER = """\
# Mistakes

(ch2-mistake)=
## One of chapter 2

(ch3-mistake)=
## One of chapter 3
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    texts = {"book/ch2_one": FIRST, "book/ch2_two": SECOND, "book/mistakes": NO_CHAPTER}
    extensions = ["chapter_pages"]
    done = build_book(folder, texts, extensions, "myst_enable_extensions = ['dollarmath']\n")
    assert done.returncode == 0, done.stderr
    return {
        path.stem: bs4.BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in (folder / "html" / "book").glob("*.html")
    }


def test_the_first_page_lists_the_sections_of_the_others(pages):
    entries = pages["ch2_one"].select("ul.chapter-pages")[0].select("a")
    assert [link.get_text() for link in entries] == [
        "Two",
        "What it costs in √n",
        "Without a label",
    ]
    ids = {element["id"] for element in pages["ch2_two"].find_all(id=True)}
    for link in entries[1:]:
        path, _, label = link["href"].partition("#")
        assert path == "ch2_two.html" and label in ids


@pytest.mark.parametrize("label", ["two-cost", "two-cost-time", "two-here"])
def test_a_label_that_moved_is_an_entry_of_the_list(pages, label):
    found = pages["ch2_one"].find(id=label)
    item = found if found.name == "li" else found.find_parent("li")
    assert re.match(r"ch2_two\.html#", item.a["href"])


def test_ids_of_the_first_page_stay_unique(pages):
    ids = [element["id"] for element in pages["ch2_one"].find_all(id=True)]
    assert len(ids) == len(set(ids)) and {"one-here", "without-a-label"} <= {*ids}


def test_every_page_of_a_chapter_leads_to_its_sections_on_other_pages(pages):
    for page in ("ch2_one", "ch2_two"):
        item = pages[page].find(id="ch2-mistake")
        assert item.name == "li" and item.a["href"] == "mistakes.html#ch2-mistake"
        assert not pages[page].find(id="ch3-mistake")
    (listed,) = pages["ch2_two"].select("ul.chapter-pages")
    assert listed.li.a["href"] == "mistakes.html" and len(listed.select("a")) == 2
    assert not pages["mistakes"].select("ul.chapter-pages")
