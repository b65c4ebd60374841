"""The graded class in the built book. That its links hold, test_links says."""

import bs4
import pytest

from autograder.audit import sample_pages
from autograder.course import Course
from autograder.exercises import reference_answers
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("book")


def reference_code(folder):
    """Lines of the reference's answers that stand in the pages of a folder."""
    answers = reference_answers(COURSE.exercises()[0]).values()
    lines = {line.strip() for answer in answers for line in answer.split("\n")}
    texts = [bs4.BeautifulSoup(p.read_text("utf-8"), "lxml").text for p in folder.rglob("*.html")]
    return [line for line in lines if len(line) > 30 for text in texts if line in text]


def test_a_book_for_a_class_has_the_pages_without_reference_code(tmp_path, monkeypatch, built_book):
    monkeypatch.setattr(Course, "built_book", tmp_path / "html")
    assert sample_pages.add(COURSE, for_class=True)
    shown, usual = (book / sample_pages.FOLDER for book in (tmp_path / "html", built_book))
    files = [path for path in shown.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".html", ".csv"}
    assert len(files) == len([path for path in usual.rglob("*") if path.is_file()]) >= 5
    assert reference_code(usual) and not reference_code(shown)
    # nothing has changed, so nobody is graded again
    assert not sample_pages.add(COURSE, for_class=True)
