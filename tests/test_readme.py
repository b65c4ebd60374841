"""The README: short, with a picture that shows what a check says today, and links that lead somewhere."""

import re
import urllib.parse

from PIL import Image

from autograder.catalogue import mistakes
from book import pictures
from tests.support.course import COURSE, chapter_pages

README = (COURSE.root / "README.md").read_text(encoding="utf-8")
ALTERNATIVE, PICTURE = re.search(r"!\[([^\]]*)\]\(([^)]+)\)", README).groups()


def test_it_is_short():
    assert len(README.split()) <= 600


def test_its_picture_moves_and_is_light():
    path = COURSE.root / PICTURE
    assert path == pictures.NOTEBOOK_PICTURE and path.stat().st_size < 1_000_000
    with Image.open(path) as picture:
        assert picture.n_frames > 20


def test_its_picture_shows_what_the_check_says():
    said = pictures.check_output()
    shown = ALTERNATIVE.partition('"')[2].strip('"')
    assert shown in " ".join(said.split())
    # the first page of the book has the words themselves
    assert pictures.NAMED_MISTAKE.read_text(encoding="utf-8") == pictures.named_mistake(said)


def test_it_counts_the_known_mistakes_rightly():
    assert "more than a thousand known mistakes" in README
    assert sum(len(mistakes(exercise)) for exercise in COURSE.exercises()) > 1000


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 8
    for link in links:
        if not urllib.parse.urlsplit(link).scheme:
            assert (COURSE.root / link).is_file(), link


def test_its_table_has_the_chapters_of_the_book():
    rows = re.findall(r"^\| (\d+)\. ([^|]+) \|", README, re.MULTILINE)
    intro = (COURSE.book / "intro.md").read_text(encoding="utf-8")
    assert rows == re.findall(
        r"^:::\{grid-item-card\} \{doc\}`(\d+)\. ([^<`]+) <ch", intro, re.MULTILINE
    )
    assert [int(number) for number, _ in rows] == sorted(chapter_pages())
