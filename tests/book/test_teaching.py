"""The pages on teaching: what they say of the exercises, the catalogue and the tests is so."""

import re
from collections import Counter

import pytest

from autograder.book_index import book_sections
from autograder.catalogue import alternatives, mistakes
from autograder.errors import BookError
from autograder.exercises import reference_answers, released
from autograder.publish import concept_tests, instructors, release
from tests.support.answers import check_answer
from tests.support.course import COURSE, chapter_exercises, chapter_pages
from tests.support.readability import sentences, words

PLANS = (COURSE.book / "teaching_plans.md").read_text(encoding="utf-8")
BELIEF = re.compile(
    r"^\| (?P<belief>.+\.) \| `(?P<mistake>.+)` \| \{ref\}`(?P<section>[\w-]+)` \|$"
)


def rows_below(heading):
    """The rows of the table below a heading of a page, without its head."""
    text = PLANS.partition(f"\n{heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)[0]
    return table.strip().split("\n")[2:]


# Misconceptions, hours ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chapter", "exercises"), chapter_exercises().items(), ids=map(str, chapter_exercises())
)
def test_beliefs_are_known_mistakes_with_the_sections_that_cure_them(chapter, exercises):
    known = {m.name: m.section for exercise in exercises for m in mistakes(exercise)}
    rows = rows_below(f"### Chapter {chapter}")
    assert len(rows) >= 5
    for row in rows:
        found = BELIEF.match(row)
        assert found, row
        assert known.get(found["mistake"]) == found["section"], row


@pytest.mark.parametrize(
    ("chapter", "exercises"), chapter_exercises().items(), ids=map(str, chapter_exercises())
)
def test_every_chapter_has_its_points_and_its_title(chapter, exercises):
    (row,) = [r for r in rows_below("## How long things take") if f"`{chapter}`" in r]
    cells = [cell for exercise in exercises for cell in released(exercise).cells]
    points = sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in cells)
    assert f"| {points:g} |" in row
    contents = (COURSE.root / "_toc.yml").read_text(encoding="utf-8")
    title = re.search(rf"file: book/ch{chapter}_\w+\n +title: (.+)", contents)[1]
    assert f"| {chapter}. {title} |" in row


def test_the_longer_plan_names_every_page():
    plan = "\n".join(rows_below("## Twelve weeks"))
    named = set(re.findall(r"\{doc\}`(\w+)`", plan))
    assert {page for pages in chapter_pages().values() for page in pages} == named
    assert len(rows_below("## Twelve weeks")) == 12 and len(rows_below("## Six weeks")) == 6


# Concept tests ------------------------------------------------------------------------------------


def chapter_of(section):
    """The number of the chapter that a section of the book belongs to."""
    label = book_sections(COURSE.root)[section].label
    return int(re.match(r"ch(\d+)-", label)[1])


def chapters_of(title):
    """The numbers of the chapters that a test is about, as its title says."""
    first, last = re.search(r": chapters? (\d+)(?: to (\d+))?$", title).groups()
    return range(int(first), int(last or first) + 1)


def test_each_test_has_its_questions_with_one_answer_each():
    tests = concept_tests.concept_tests(COURSE.root)
    tested = {title: chapters_of(title) for title in tests}
    assert [n for chapters in tested.values() for n in chapters] == sorted(chapter_pages())
    for title, questions in tests.items():
        chapters = tested[title]
        assert len(questions) == (20 if len(chapters) > 1 else 8)
        for number, one in enumerate(questions, 1):
            assert one.number == number and list(one.options) == ["A", "B", "C", "D"]
            assert len(set(one.options.values())) == 4
            assert one.right in one.options and len(words(one.reason)) >= 10
            assert chapter_of(one.section) in chapters, one
        # whoever always ticks the same letter gets no more than by guessing
        shares = Counter(one.right for one in questions)
        assert set(shares.values()) == {len(questions) // 4} and len(shares) == 4
        assert {chapter_of(one.section) for one in questions} == {*chapters}


def test_a_question_without_an_answer_is_found(tmp_path):
    for path in (concept_tests.QUESTIONS, concept_tests.ANSWERS):
        (tmp_path / path).parent.mkdir()
        text = (COURSE.root / path).read_text(encoding="utf-8")
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert concept_tests.concept_tests(tmp_path) == concept_tests.concept_tests(COURSE.root)
    (tmp_path / concept_tests.ANSWERS).write_text(text.replace("7. **", "77. **", 1))
    with pytest.raises(BookError, match="'First half: chapters 1 to 4', question 7"):
        concept_tests.concept_tests(tmp_path)


def test_the_book_has_no_answer():
    for path in COURSE.book.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        for questions in concept_tests.concept_tests(COURSE.root).values():
            for one in questions:
                assert one.reason not in text, path


# For instructors ----------------------------------------------------------------------------------


def test_every_alternative_says_what_it_costs(exercise):
    for alternative in alternatives(exercise):
        assert len(sentences(alternative.cost)) >= 2, alternative.name
        assert max(len(words(part)) for part in sentences(alternative.cost)) <= 30


def test_the_page_of_an_exercise_has_every_version_whole(exercise):
    found = instructors.solved_answers(exercise)
    right = reference_answers(exercise)
    assert [answer.name for answer in found] == list(right)
    for answer in found:
        assert answer.versions[0].source == right[answer.name]
        assert len(answer.versions) >= 2 or len(answer.ways) == 2
        assert len({version.source for version in answer.versions}) == len(answer.versions)
    page = instructors.discussion_page(exercise)
    assert page.count("<pre>") == sum(len(answer.versions) for answer in found)
    assert "<code>" in page and not re.search(r"<p>[^<]*`", page)
    assert "<script" not in page and "http" not in re.sub(r"http-equiv", "", page)


def test_every_version_is_right_alone(exercise, few_mistakes, expected):
    """With its imports and helpers, and the reference's other answers; but for what is trained.

    Its memory is that of the alternative as a whole, which passes all lines in `test_diagnosis`.
    """
    cells = expected(few_mistakes.exercise(exercise.name))
    for answer in instructors.solved_answers(exercise):
        for version in answer.versions if answer.name != "fit" else ():
            check_answer(exercise, cells, answer.name, version.source, memory=False)


def test_the_archive_for_instructors_lies_apart(tmp_path):
    path = release.make_for_instructors(COURSE, tmp_path / "new")
    assert path.parent == tmp_path / "new" and path.stem.endswith("-instructors")
    again = release.make_for_instructors(COURSE, tmp_path / "again")
    assert again.read_bytes() == path.read_bytes()
    held = instructors.contents(COURSE, "x")
    assert set(held) == {
        "x/README.txt",
        "x/concept_tests.md",
        *(f"x/solutions/{exercise}.html" for exercise in COURSE.exercises()),
        *(f"x/catalogue/{exercise}.md" for exercise in COURSE.exercises()),
    }
    asked = sum(map(len, concept_tests.concept_tests(COURSE.root).values()))
    assert held["x/concept_tests.md"].count(b"Right: **") == asked


# What the policies rest on ------------------------------------------------------------------------
