"""A chapter with two exercises, the second of which imports from the first: pages, and from build to report."""

import nbformat
import pytest

from autograder.build import generate
from autograder.course import Course
from autograder.errors import CourseError
from autograder.exercises import baked_answers, reference_answers, released, solved
from autograder.grade.feedback import feedback_page, write_feedback
from autograder.grade.grade_class import grade_class
from autograder.grade.make_keys import answer_key
from autograder.publish.instructors import discussion_page
from autograder.report import pages
from autograder.runtime.plain_data import decode, restore
from tests.support.built_pages import parsed
from tests.support.small_book import build_book
from tests.support.small_course import settings_of_a_course

TITLE = "# %% [markdown]\n# # Exercise 1: The {name} of an array\n"
IMPORTS = '# %% nbgrader={"grade_id": "imports", "locked": true}\nimport numpy as np\n'
ANSWER = """
# %% [markdown]
# ## 1. Write {name}
# %% nbgrader={{"grade_id": "{name}", "solution": true}}
def {name}(x):
    \"\"\"{words}\"\"\"
    ### BEGIN SOLUTION
    return {value}
    ### END SOLUTION
# %% active="ipynb" nbgrader={{"grade_id": "{name}_values", "grade": true, "points": 2}}
# x = draw.array(3)
# ### 2p AUTOTEST {name}(x)
"""
CATALOGUE = """
# {name}: {name}_values, {section}

## negative
The sign is wrong.
*Hint:* Which sign?
`return $X -> return -$X`
"""
BOOK = """\
---
exercise-hours: 2
exercise-hours-ch1_double: 3
---
(ch1-one)=
# One

(ch1-shift)=
## Shift

(ch1-double)=
## Double
"""
# the rest of the page in a built book, and the other pages
FIRST_PAGE = """
{exercise-hours}`1` hours, of which {exercise-hours}`ch1_double` for the second.

:::{task} shift
:::

(ch1-exercise)=
## The first exercise

```{toctree}
ch1_more
```
"""
SECOND_PAGE = """\
# More

:::{task} double
:::

(ch1-exercise-double)=
## The second exercise
"""
PROGRESS = """\
# Your progress

```{progress}
```
"""
FIRST, SECOND = "ch1_shift", "ch1_double"
SETTINGS = (
    "myst_enable_extensions = ['colon_fence']\nexclude_patterns = ['exercises', 'solutions']\n"
)


def write(root, exercise, imports, section, **answer):
    solution = root / "solutions" / f"{exercise}.py"
    solution.write_text(TITLE.format(**answer) + IMPORTS + imports + ANSWER.format(**answer))
    catalogue = root / "solutions" / "catalogue" / f"{exercise}.md"
    catalogue.write_text(CATALOGUE.format(name=answer["name"], section=section))


def write_first(root, value):
    words = "x, shifted."
    write(root, FIRST, "", "ch1-shift", name="shift", words=words, value=value)


def write_second(root, value):
    imports, words = "\nfrom solutions.ch1_shift import shift\n", "Twice what shift gives."
    write(root, SECOND, imports, "ch1-double", name="double", words=words, value=value)


def write_course(root):
    """A course of two exercises in one chapter, whose page has the name of the first of them."""
    write_first(root, "x + 1")
    write_second(root, "2 * shift(x)")
    (root / "book").mkdir()
    (root / "book" / "ch1_shift.md").write_text(BOOK)
    return Course(root)


@pytest.fixture
def course(course_folder):
    return write_course(course_folder)


def hand_in_right(course, exercise, remark=""):
    """A student hands in the reference's answers."""
    answers = {name: text + remark for name, text in reference_answers(exercise).items()}
    notebook = solved(exercise, answers)
    folder = course.submitted / "student" / exercise.name
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{exercise.name}.ipynb")


def expected_value(key):
    """What an exercise's class expects on the first draw of the first line."""
    (cell,) = key.cells.values()
    return restore(decode(cell.lines[0].draws[0].expected["value"]))


def test_every_page_offers_both_and_each_task_leads_to_its_exercise(tmp_path):
    (tmp_path / "source").mkdir()
    texts = {
        "book/ch1_shift": BOOK + FIRST_PAGE,
        "book/ch1_more": SECOND_PAGE,
        "book/progress": PROGRESS,
    }
    with settings_of_a_course(tmp_path / "source") as root:
        course = write_course(root)
        generate.build(course)
        (root / "book" / "ch1_more.md").write_text(SECOND_PAGE)
        done = build_book(tmp_path, texts, ["exercise_bar", "progress"], SETTINGS)
    assert done.returncode == 0, done.stderr
    built = tmp_path / "html" / "book"
    for name in ("ch1_shift", "ch1_more"):
        page = parsed(built / f"{name}.html")
        (bar,) = page.select(".exercise-bar")
        (line,) = bar.select("p")
        assert line.get_text().startswith("1 minute · Exercise 1, ")
        downloads = bar.select("a.download")
        for link, exercise, hours in zip(downloads, (SECOND, FIRST), (3, 2), strict=True):
            title = f"The {exercise.removeprefix('ch1_')} of an array"
            words = f"Exercise 1, {title}: 1 tasks, 2 points, about {hours} hours · "
            assert words in line.get_text()
            copy = built / link["href"]
            assert copy.read_bytes() == course.exercise(exercise).notebook.read_bytes()
        begin = [link["href"].partition("#")[2] for link in bar.select("a:not(.download)")]
        assert begin == ["ch1-exercise-double", "ch1-exercise"]
        (task,) = page.select(".can-do")
        own, label = ("shift", "ch1-exercise") if name == "ch1_shift" else ("double", begin[0])
        words = f"You can now do task 1 (Write {own}) of exercise 1, The {own} of an array."
        assert task.get_text() == words and task.a["href"].endswith(f"#{label}")
    assert "5 hours, of which 3 for the second." in parsed(built / "ch1_shift.html").get_text()
    first, second = parsed(built / "progress.html").select("tbody tr")
    assert first["data-exercises"] == f"{SECOND} {FIRST}" and "data-exercises" not in second.attrs


def test_a_change_of_the_first_exercise_reaches_all_of_the_second(course, capsys):
    assert [e.name for e in generate.build(course)] == [SECOND, FIRST]
    first, second = course.exercise(FIRST), course.exercise(SECOND)
    before, baked_before = (
        expected_value(answer_key(course, second)),
        baked_answers(released(second)),
    )
    assert generate.build(course) == []

    write_first(course.root, "x + 100")
    assert [e.name for e in generate.build(course)] == [SECOND, FIRST]
    key = answer_key(Course(course.root), second)
    # twice the difference, for the same inputs
    assert (expected_value(key) - before).tolist() == pytest.approx([198.0] * 3)
    assert baked_answers(released(second)) != baked_before

    for exercise in (first, second):
        hand_in_right(course, exercise)
    results = grade_class(course)
    assert {result.exercise: result.share for result in results} == {FIRST: 1.0, SECOND: 1.0}
    write_feedback(course, results)
    pages.write(course, results)
    for exercise in (first, second):
        assert feedback_page(course, "student", exercise.name).is_file()
        report = (course.home / "reports" / f"{exercise.name}.html").read_text(encoding="utf-8")
        assert "<p>One</p>" in report
        assert discussion_page(exercise)
    capsys.readouterr()
    pages.print_scores(results)
    printed = capsys.readouterr().out
    assert FIRST in printed and SECOND in printed
    with pytest.raises(CourseError, match="ch1 has several exercises, ch1_double, ch1_shift"):
        course.exercise("ch1")
