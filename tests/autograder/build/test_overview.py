"""What a student sees first: goal, tasks, where to read, and claims in place of the checks' code."""

import json
import shutil

import nbformat
import pytest

from autograder import book_index
from autograder.build import generate
from autograder.course import Course
from autograder.exercises import is_answer_cell, is_grade_cell, released, solved
from autograder.grade.sanitize import sanitized
from autograder.grade.submission import read_submission
from tests.support.small_course import DOUBLE, IMPORTS, settings_of_a_course, write_exercise

FIRST = "# %% [markdown]\n# # Exercise 9: Doubling\n#\n# You double numbers.\n#\n# Have fun.\n"
TASK = "# %% [markdown]\n# ## 1. Twice\n"
CHECKS = """# %% active="ipynb" nbgrader={"grade_id": "values", "grade": true, "points": 3}
# x = draw.array(3)
# says("doubles each number")
# ### 2p AUTOTEST double(x)
# says("doubles what was doubled")
# ### 1p AUTOTEST double(double(x))
"""
CLAIMS = """Run this cell to check your double:
• 2 points   doubles each number
• 1 point   doubles what was doubled
"""
PAGE = "---\nexercise-hours: 2\n---\n# Nine\n\n(ch9-double)=\n## Double | twice\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """An exercise with one task and a page about it, built where the book's address isn't known."""
    with settings_of_a_course(tmp_path_factory.mktemp("first_screen")) as root:
        (root / "book").mkdir()
        (root / "book" / "ch9_small.md").write_text(PAGE)
        small = write_exercise(root, "ch9_small", [FIRST, IMPORTS, TASK, DOUBLE, CHECKS])
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("BOOK_URL", raising=False)
            generate.build(Course(root))
        yield small


def first_cell(small):
    return released(small).cells[0].source.split("\n\n")


def test_the_first_cell_has_goal_tasks_points_hours_and_where_to_read(small):
    title, goal, summary, table, rest, *_ = first_cell(small)
    assert [title, goal, rest] == ["# Exercise 9: Doubling", "You double numbers.", "Have fun."]
    assert summary == "**In this notebook:** 1 task, 3 points, about 2 hours."
    assert table.split("\n")[2:] == ['| 1. Twice | 3 | chapter 9, "Double \\| twice" |']


def test_where_the_books_address_is_known_a_build_makes_links_without_evaluating(
    small, monkeypatch, tmp_path
):
    copy = shutil.copytree(small.root, tmp_path / "copy")
    course = Course(copy)
    before = released(course.exercise("ch9_small"))
    monkeypatch.setenv("BOOK_URL", "https://example.org/course/")
    monkeypatch.setattr(generate, "checked_cells", lambda *_: pytest.fail("evaluated"))
    assert [e.name for e in generate.build(course)] == ["ch9_small"]
    after = released(course.exercise("ch9_small"))
    address = "https://example.org/course/book/ch9_small.html#ch9-double"
    assert f'[chapter 9, "Double \\| twice"]({address})' in after.cells[0].source
    assert [cell.id for cell in after.cells] == [cell.id for cell in before.cells]
    assert [c.source for c in after.cells if is_grade_cell(c)] == [
        c.source for c in before.cells if is_grade_cell(c)
    ]
    # once is enough, and who doesn't know the address keeps the links
    assert generate.build(course) == []
    monkeypatch.delenv("BOOK_URL")
    assert generate.build(course) == []


def test_without_a_book_the_tasks_stand_there_all_the_same(small, tmp_path):
    copy = shutil.copytree(small.root, tmp_path / "copy", ignore=shutil.ignore_patterns("book"))
    assert book_index.exercise_hours(copy, "ch9_small") is None
    (built,) = generate.build(Course(copy), force=True)
    _, _, summary, table, *_ = first_cell(built)
    assert summary == "**In this notebook:** 1 task, 3 points."
    assert table.split("\n")[2:] == ["| 1. Twice | 3 |  |"]


def test_what_a_student_need_not_read_is_folded_and_a_check_shows_its_claims(small):
    cells = {cell.id: cell for cell in released(small).cells}
    for name in ("checker", "check_data", "values"):
        assert cells[name].metadata.jupyter.source_hidden, name
        assert cells[name].metadata.cellView == "form", name
    assert [output.text for output in cells["values"].outputs] == [CLAIMS]
    for cell in cells.values():
        if cell.cell_type == "code" and not is_grade_cell(cell):
            assert cell.outputs == []
        if is_answer_cell(cell) or cell.id in ("imports", "progress"):
            assert not {"jupyter", "cellView"} & cell.metadata.keys()


def test_claims_are_no_verdict_where_a_check_does_not_run(small, course_folder):
    course = Course(course_folder)
    folder = course.submitted / "s1" / small.name
    folder.mkdir(parents=True)
    nbformat.write(solved(small, {}), folder / f"{small.name}.ipynb")
    submission = read_submission(course, "s1", small)
    notebook, remarks = sanitized(submission, released(small), {})
    assert remarks == [] and "doubles each" not in json.dumps(
        [c.get("outputs") for c in notebook.cells]
    )


def test_the_first_cell_tells_of_what_helps_further(exercise):
    first = released(exercise).cells[0].source
    assert all(f"`{call}()`" in first for call in ("hint", "failing_case", "discuss", "progress"))
