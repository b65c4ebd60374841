"""The built book: clean, whole, with answers in their folds alone, without a word to another host."""

import ast
import html
import html.parser
import json
import re

import pytest

from autograder.exercises import reference_answers
from autograder.publish import book
from autograder.publish.experiments import not_stored
from book.pictures import checked, named_mistake
from tests.support.browser import BARS
from tests.support.built_pages import parsed
from tests.support.course import COURSE, SHOWS_MARKERS, chapter_pages
from tests.support.exercise_programs import normalised, whole_answers

pytestmark = pytest.mark.xdist_group("book")


class Page(html.parser.HTMLParser):
    """What a page loads."""

    def __init__(self, path):
        super().__init__()
        self.loads = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def pages(built_book):
    """Every page of the book that has a source, built if it is not up to date."""
    paths = sorted(built_book.glob("book/*.html"))
    return {path: Page(path) for path in paths if (COURSE.book / f"{path.stem}.md").exists()}


def chapters():
    return sorted(path.stem for path in COURSE.book.glob("ch*.md"))


def code_cells(source):
    return re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", source, flags=re.DOTALL)


def test_every_chapter_is_built(pages):
    built = {path.stem for path in pages}
    assert {"intro", "notation", "glossary", "bibliography", *chapters()} <= built


def test_the_books_own_sheets_and_scripts_are_joined(built_book):
    for kind in ("css", "js"):
        joined = (built_book / f"_static/course.{kind}").read_text(encoding="utf-8")
        parts = sorted((COURSE.book / "_static").glob(f"*.{kind}"))
        assert len(parts) > 1
        for part in parts:
            assert part.read_text(encoding="utf-8") in joined, part.name
            assert not (built_book / "_static" / part.name).exists()


def test_a_page_loads_few_files_and_none_that_it_has_no_use_for(pages):
    for path, page in pages.items():
        names = [address.partition("?")[0].rpartition("/")[2] for address in page.loads]
        assert 10 < len(names) < BARS["requests"], path.name
        assert [name for name in names if name.endswith(".css")][-1] == "course.css", path.name
        assert names.count("course.js") == 1, path.name
        uses_design = re.search(r'class="(?:[^"]* )?sd-', path.read_text(encoding="utf-8"))
        assert ("sphinx-design.min.css" in names) is bool(uses_design), path.name


def code_in_folds(path):
    """The code in a page's folds *One way to write it*."""
    return [fold.pre.get_text() for fold in parsed(path).select("details.reference-code")]


def code_elsewhere(path):
    """All other blocks of a page, but for the Transformer in one file."""
    for block in parsed(path)("pre"):
        if not block.find_parent(class_=["reference-code", "program"]):
            yield block.get_text()


def test_every_answer_is_shown_where_one_of_its_exercise_is(pages):
    shown = [code for path in pages for code in code_in_folds(path)]
    trees = {tree for code in shown for tree in normalised(code)}
    for exercise in COURSE.exercises():
        assert not {name for tree, name in whole_answers(exercise).items() if tree not in trees}


def test_answers_stand_in_their_folds_alone_and_no_page_has_markers(pages):
    answers = {}
    for exercise in COURSE.exercises():
        answers |= whole_answers(exercise)
    programs = [(path.name, code) for path in pages for code in code_elsewhere(path)]
    for path in COURSE.built_book.glob("_sources/**/*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            programs.append((path.name, "".join(cell["source"])))
    for path in COURSE.book.glob("*.md"):
        cells = code_cells(path.read_text(encoding="utf-8"))
        programs += [(path.name, cell) for cell in cells]
    parsed = 0
    for place, program in programs:
        lines = [line for line in program.split("\n") if not line.startswith((":", "%"))]
        try:
            found = normalised("\n".join(lines))
        except (SyntaxError, ValueError):
            continue
        parsed += 1
        for tree in found:
            assert tree not in answers, f"{place} holds {answers[tree]}"
    assert parsed > 20
    for path in COURSE.built_book.rglob("*"):
        if path.suffix in (".html", ".md", ".ipynb", ".js", ".txt", ".py"):
            text = path.read_text(encoding="utf-8", errors="ignore")
            # what the search finds is the pages' own text, that page's too
            if path.stem not in (SHOWS_MARKERS, "sections"):
                assert "### BEGIN SOLUTION" not in text and "### BEGIN HIDDEN" not in text, path


def test_pages_load_nothing_from_elsewhere(pages):
    for path, page in pages.items():
        for address in page.loads:
            assert not re.match(r"(https?:)?//", address), f"{path.name} loads {address}"


def test_no_page_has_computed_what_should_be_stored(pages):
    line = not_stored("")
    assert [path.name for path in pages if line in path.read_text(encoding="utf-8")] == []


def test_the_first_page_shows_what_the_check_says(built_book):
    page = parsed(built_book / "book" / "intro.html")
    shown = [message.get_text().strip() for message in page.find_all(class_="check-message")]
    assert shown == [named_mistake(said).strip() for said in checked()] and len(shown) == 4


def test_figures_have_a_caption(pages):
    figures = {}
    for path in pages:
        text = path.read_text(encoding="utf-8")
        figures[path.stem] = text.count("<figure")
        assert figures[path.stem] == text.count("<figcaption")
    for names in chapter_pages().values():
        assert sum(figures[name] for name in names) >= 2


def test_every_page_says_what_a_reader_can_do_after_it(pages):
    seen = set()
    for path in pages:
        text = path.read_text(encoding="utf-8")
        (found,) = re.findall(r'<meta content="([^"]*)" name="description" */>', text)
        assert 50 <= len(html.unescape(found)) <= 160, path.name
        (card,) = re.findall(r'<meta property="og:description" content="([^"]*)">', text)
        assert html.unescape(card) == html.unescape(found)
        assert found not in seen
        seen.add(found)


def test_figures_weigh_little(pages):
    for path in pages:
        figures = re.findall(r"<figure.*?</figure>", path.read_text(encoding="utf-8"), re.DOTALL)
        assert sum(len(figure.encode()) for figure in figures) <= 300_000, path.name


def test_no_page_shows_an_error_or_a_warning(pages):
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert "Traceback (most recent call last)" not in text
        assert 'class="output stderr' not in text


def test_pages_are_executed(pages):
    for path in COURSE.book.glob("*.md"):
        text = path.read_text(encoding="utf-8")
        if "{code-cell}" in text:
            assert "file_format: mystnb" in text, path.name


def test_each_chapter_has_its_parts():
    for pages in chapter_pages().values():
        texts = {page: (COURSE.book / f"{page}.md").read_text(encoding="utf-8") for page in pages}
        for page, text in texts.items():
            for part in ("Takeaways", "Predict", "description:"):
                assert part in text or f"{{{part.lower()}}}" in text, f"{page} lacks {part}"
        for part in ("Further reading", f"{pages[0]}.ipynb"):
            assert any(part in text for text in texts.values()), f"{pages[0]} lacks {part}"


def test_a_book_for_another_address_or_a_class_is_built_anew(monkeypatch):
    monkeypatch.delenv("BOOK_URL", raising=False)
    before, of_a_class = (book.everything_digest(COURSE, for_class) for for_class in (False, True))
    assert of_a_class != before
    monkeypatch.setenv("BOOK_URL", "https://example.org/course")
    assert book.everything_digest(COURSE) != before


def test_reference_answers_would_be_recognised():
    """The comparison of syntax trees can fail: renaming and comments don't hide a copy."""
    exercise = COURSE.exercises()[0]
    name = next(iter(whole_answers(exercise).values())).split(":")[0]
    copy = "# a remark\n" + reference_answers(exercise)[name].replace("Args", "Arguments")
    assert normalised(copy).keys() & whole_answers(exercise).keys()
    assert ast.parse(copy)
