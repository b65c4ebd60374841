"""Every grade cell leads back to a section of its chapter."""

import re

import pytest

from autograder.book_index import book_sections
from autograder.catalogue import mistakes
from autograder.catalogue import sections as sections_of
from autograder.exercises import grade_cells, released
from tests.support.course import COURSE, chapter_exercises, chapter_pages


def headings(exercise):
    """The labels of the chapter's pages and the headings under them, read line by line."""
    pages = [
        (COURSE.book / f"{page}.md").read_text(encoding="utf-8").split("\n")
        for page in chapter_pages()[exercise.chapter]
    ]
    return {
        line[1:-2]: lines[number + 1].lstrip("# ")
        for lines in pages
        for number, line in enumerate(lines[:-1])
        if re.fullmatch(r"\([\w-]+\)=", line) and lines[number + 1].startswith("#")
    }


def test_the_first_page_of_a_chapter_has_the_name_of_one_of_its_exercises():
    exercises = chapter_exercises()
    assert exercises.keys() == chapter_pages().keys()
    for chapter, pages in chapter_pages().items():
        assert pages[0] in {exercise.name for exercise in exercises[chapter]}


def test_every_page_of_a_chapter_is_in_the_contents():
    listed = [page for pages in chapter_pages().values() for page in pages]
    assert sorted(listed) == sorted(path.stem for path in COURSE.book.glob("ch*.md"))


def test_every_grade_cell_has_a_section_of_its_own_chapter(exercise):
    chosen, own = sections_of(exercise), f"ch{exercise.chapter}-"
    assert chosen.keys() == grade_cells(released(exercise)).keys()
    # a chapter's mistake may be told on the page of symptoms
    assert {*chosen.values()} <= {
        name for name in book_sections(COURSE.root) if name.startswith(own)
    }


def test_sections_are_called_what_their_headings_say(exercise):
    known = headings(exercise)
    for label in {*sections_of(exercise).values(), *(m.section for m in mistakes(exercise))}:
        section = book_sections(COURSE.root)[label]
        if label in known:
            assert section.page in chapter_pages()[exercise.chapter]
            assert section.place.startswith(f"chapter {exercise.chapter}, ")
            if not set("`$*{") & set(known[label]):
                assert section.title == known[label]
        assert not set("`$*\\{") & set(section.title)


@pytest.mark.parametrize("book", ["https://example.org/book", "https://example.org/book/"])
def test_an_address_leads_to_the_anchor(book):
    section = book_sections(COURSE.root)["ch2-torch"]
    page = f"https://example.org/book/book/{section.page}.html#ch2-torch"
    assert section.address(book) == page
