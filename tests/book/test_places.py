"""Where a reader is: numbers of pages, the line and the bar under a title, tasks, the first page, progress."""

import json
import re

import pytest

from autograder.exercises import graded_answers, released, tasks
from autograder.publish.page_source import read_page
from tests.support.browser import served, settle
from tests.support.built_pages import parsed
from tests.support.course import COURSE, chapter_exercises, chapter_pages

pytestmark = pytest.mark.xdist_group("book")  # as the other tests of the built book: one builds it

CHAPTERS = sorted(chapter_pages())
TASK = re.compile(r"^:::\{task\} (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"^:::\{reference\} (\w+) (\w+)$", re.MULTILINE)


def soup(name):
    return parsed(COURSE.built_book / "book" / f"{name}.html")


@pytest.fixture(scope="module")
def pages(built_book):
    """The pages of chapters in the order of the contents, by chapter."""
    return {number: [soup(name) for name in chapter_pages()[number]] for number in chapter_pages()}


@pytest.fixture(scope="module")
def site(pages):
    with served(COURSE.built_book) as address:
        yield address


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_pages_are_numbered(pages, chapter):
    for place, page in enumerate(pages[chapter]):
        number = f"{chapter}.{place}. " if place else f"{chapter}. "
        title = page.select_one("article h1").get_text()
        assert title.startswith(number)
        assert not page.select("h2 .section-number, h3 .section-number")
        assert page.title.get_text().startswith(number)
        current = page.select(".bd-links a.current.reference.internal")[-1]
        assert current.get_text().startswith(number)


def test_each_page_has_one_line_with_its_minutes_and_the_exercise(pages, exercise):
    found = tasks(released(exercise))
    points = sum(sum(task.checks.values()) + task.written for task in found)
    for page in pages[exercise.chapter]:
        (bar,) = page.select(".exercise-bar")
        (download,) = bar.select(f"a.download[href$='/{exercise.name}.ipynb']")
        (line,) = bar.find_all("p")
        assert re.match(r"\d+ minutes? · Exercise \d", line.get_text())
        assert f"{len(found)} tasks, {points:g} points" in line.get_text()
        copy = COURSE.built_book / "book" / download["href"]
        assert copy.read_bytes() == exercise.notebook.read_bytes()
        assert line.select_one(f"a[href*='#ch{exercise.chapter}-exercise']")


def pages_listed():
    """The pages of all chapters in the order of the contents."""
    return [name for number in CHAPTERS for name in chapter_pages()[number]]


def test_chapters_have_names_and_teachers_pages_are_one_link(pages):
    contents = (COURSE.root / "_toc.yml").read_text(encoding="utf-8")
    titles = re.findall(r"- file: book/(ch\w+)\n +title: (.+)", contents)
    assert len(titles) == len(CHAPTERS)
    teaching = {path.stem for path in COURSE.book.glob("teach*.md")}
    named = {
        link["href"].removesuffix(".html"): link.get_text(strip=True)
        for link in soup("ch1_translator").select(".bd-links a")
    }
    assert {(page, named[page].partition(". ")[2]) for page, _ in titles} == {*titles}
    assert teaching & named.keys() == {"teachers"}
    links = soup("teaching_plans").select(".bd-links a")
    listed = {link["href"].removesuffix(".html") for link in links}
    assert listed >= teaching - {"teaching_plans"} and not listed & {*pages_listed()}


def text_of(chapter):
    """The text of all pages of a chapter."""
    return "\n".join(
        part
        for name in chapter_pages()[chapter]
        for part in read_page(COURSE.book / f"{name}.md").texts
    )


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_each_task_can_be_done_from_one_place_on(chapter):
    named = [name for names in TASK.findall(text_of(chapter)) for name in names.split()]
    graded = [graded_answers(released(e)).values() for e in chapter_exercises()[chapter]]
    answers = [{name for names in each for name in names} for each in graded]
    assert sorted(named) == sorted(name for each in answers for name in each)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_one_way_to_write_each_answer_is_shown_once(chapter):
    answers = {
        (exercise.name, name)
        for exercise in chapter_exercises()[chapter]
        for names in graded_answers(released(exercise)).values()
        for name in names
    }
    assert sorted(REFERENCE.findall(text_of(chapter))) == sorted(answers)


def test_progress_lists_all_pages_of_chapters(pages):
    rows = soup("progress").select(".progress-table tbody tr")
    assert [row["data-page"] for row in rows] == ["first_hour", *pages_listed()]
    assert len(rows[0]["data-tasks"].split()) == 5
    for row in rows:
        page = soup(row["data-page"])
        assert int(row["data-predict"]) == len(page.select(".admonition.predict"))
        assert int(row["data-quiz"]) == len(page.select(".quiz"))
        assert row["data-tasks"].split() == [
            f"{task['data-exercise']}/{task['data-task']}"
            for task in page.select(".task[data-task]")
        ]


def test_marks_are_shown_exported_brought_back_and_forgotten(open_tab, site, tmp_path):
    page = open_tab(site)
    page.goto(f"{site}book/ch2_cost.html")
    settle(page)
    page.get_by_label("I've read this page").check()
    for done in page.get_by_label("I've done this exercise").all():
        done.check()
    page.locator(".quiz details.right summary").first.click()
    marks = page.locator(".bd-links .marks")
    kept = json.dumps({"code": "", "passed": "1", "right": ""})
    page.evaluate(
        "kept => localStorage.setItem('attention-from-scratch/practice/1/first_hour/dot_scores', kept)",
        kept,
    )
    page.goto(f"{site}book/progress.html")
    assert "1 of 5" in page.locator("tr[data-page=first_hour]").inner_text()
    labels = marks.evaluate_all("nodes => nodes.map(node => node.getAttribute('aria-label'))")
    # the exercise is the chapter's
    assert labels == ["exercise done", "read, questions answered"]
    assert "◆ done" in page.locator("tr[data-page=ch2_scaled_dot_product]").inner_text()
    row = page.locator("tr[data-page=ch2_cost]")
    assert "✓ read" in row.inner_text() and "1 of 1" in row.inner_text()
    with page.expect_download() as file:
        page.get_by_role("button", name="Export").click()
    path = tmp_path / "progress.json"
    file.value.save_as(path)
    exercises = {exercise.name for exercise in chapter_exercises()[2]}
    assert {*json.loads(path.read_text(encoding="utf-8"))} == {"ch2_cost", *exercises}
    page.get_by_role("button", name="Forget everything").click()
    assert marks.count() == 2
    page.get_by_role("button", name="Really forget everything?").click()
    assert marks.count() == 0 and "✓" not in row.inner_text()
    other = tmp_path / "other.json"
    other.write_text("[1, 2]", encoding="utf-8")
    page.get_by_label("File with progress").set_input_files(other)
    page.get_by_text("This file holds no progress.").wait_for()
    page.get_by_label("File with progress").set_input_files(path)
    page.get_by_text("The file's progress is here now.").wait_for()
    assert marks.count() == 2 and "✓ read" in row.inner_text()
