"""The README: short, with a picture of a page that shows what a check says today, and links that lead somewhere."""

import re
import urllib.parse

from autograder.catalogue import mistakes
from book import pictures
from tests.support.course import COURSE, chapter_pages

README = (COURSE.root / "README.md").read_text(encoding="utf-8")
ALTERNATIVE, PICTURE = re.search(r"!\[([^\]]*)\]\(([^)]+)\)", README).groups()


def test_it_is_short():
    assert len(README.split()) <= 500


def test_its_picture_is_light_and_shows_what_the_check_says():
    path = COURSE.root / PICTURE
    assert path == pictures.PAGE_PICTURE and path.stat().st_size < 200_000
    shown = ALTERNATIVE.partition('"')[2].strip('"')
    said = dict(zip(pictures.LINES, pictures.checked(), strict=True))
    assert shown in " ".join(said[pictures.LINES[0]].split())
    assert "✗" not in said[pictures.RIGHT]


def test_it_counts_the_known_mistakes_rightly():
    assert "more than a thousand known mistakes" in README
    assert sum(len(mistakes(exercise)) for exercise in COURSE.exercises()) > 1000


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 6
    for link in links:
        if not urllib.parse.urlsplit(link).scheme:
            assert (COURSE.root / link).exists(), link
            # a page of the book isn't read as its source
            assert not link.startswith("book/") or link == PICTURE, link


def test_its_table_has_the_chapters_of_the_book():
    rows = re.findall(r"^\| (\d+)\. ([^|]+) \|", README, re.MULTILINE)
    intro = (COURSE.book / "intro.md").read_text(encoding="utf-8")
    assert rows == re.findall(r"^\| \{doc\}`(\d+)\. ([^<`]+) <ch", intro, re.MULTILINE)
    assert [int(number) for number, _ in rows] == sorted(chapter_pages())
