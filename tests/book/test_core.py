"""How long the core takes to read, from the first page to an assembled Transformer."""

import re

import pytest

from autograder.publish.page_source import PageSource, minutes_of, page_to_read, read_page
from tests.support.course import COURSE, chapter_pages

MOST_OF_A_CHAPTER, MOST_TO_A_TRANSFORMER = 20, 140  # minutes
# of text, without code, in chapters 1 to 4: in sight when they're opened, and with everything open
MOST_WORDS_IN_SIGHT, MOST_WORDS = 19_000, 24_500


def way_to_a_transformer():
    """The pages whose minutes the introduction gives, by chapters."""
    text = (COURSE.book / "intro.md").read_text(encoding="utf-8")
    (names,) = re.findall(r"\{core-minutes\}`(.+?)`", text)
    return [chapter_pages()[int(name)] if name.isdigit() else [name] for name in names.split()]


def core_words(pages):
    """Words of the core of pages together, and whether one of them marks a section as in depth."""
    found = [page_to_read(COURSE.book / f"{page}.md").by_depth() for page in pages]
    return sum(core.words() for core, _ in found), any(parts for _, parts in found)


@pytest.mark.parametrize("chapter", chapter_pages())
def test_the_core_of_a_chapter_that_is_marked_is_short(chapter):
    words, marked = core_words(chapter_pages()[chapter])
    assert minutes_of(words) <= MOST_OF_A_CHAPTER or not marked


def test_the_core_up_to_a_transformer_is_short_once_all_of_it_is_marked():
    parts = way_to_a_transformer()
    listed = [page for pages in chapter_pages().values() for page in pages]
    last = listed.index("ch6_whole_model") + 1
    assert [page for part in parts for page in part] == listed[:last]
    found = [core_words(part) for part in parts]
    assert minutes_of(sum(words for words, _ in found)) <= MOST_TO_A_TRANSFORMER or not all(
        marked for _, marked in found
    )


def test_the_first_half_has_few_words():
    pages = [page for chapter in (1, 2, 3, 4) for page in chapter_pages()[chapter]]
    sources = [read_page(COURSE.book / f"{page}.md") for page in pages]
    words = lambda parts: sum(PageSource(tuple(part.texts)).words() for part in parts)
    assert words(source.by_depth()[0] for source in sources) <= MOST_WORDS_IN_SIGHT
    assert words(sources) <= MOST_WORDS
