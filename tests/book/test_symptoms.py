"""The page *Symptoms* leads to every mistake that a page of the book has a section for."""

import re

from autograder.book_index import book_sections
from autograder.publish.page_source import read_page
from tests.support.course import COURSE

MISTAKE = re.compile(r"ch\d+-(mistake|bug)s?(-[\w-]+)?")


def test_every_mistake_stands_there_or_is_linked():
    page = COURSE.book / "symptoms.md"
    linked = set(re.findall(r"\]\(([\w-]+)\)", "".join(read_page(page).texts)))
    found = [s for s in book_sections(COURSE.root).values() if MISTAKE.fullmatch(s.label)]
    assert len(found) > 30
    lost = {s.label for s in found if s.page != page.stem} - linked
    assert not lost


def test_every_symptom_is_in_the_table_at_the_top():
    sections = [s for s in book_sections(COURSE.root) if s.startswith("symptom-")]
    top = (COURSE.book / "symptoms.md").read_text(encoding="utf-8").partition("```{code-cell}")[0]
    assert re.findall(r"^\| \[.*\]\(([\w-]+)\) \|", top, re.MULTILINE) == sections
