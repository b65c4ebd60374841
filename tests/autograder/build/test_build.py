"""Building small courses: what is refused, what makes an exercise stale, what settings change."""

import os
import re
import shutil
import subprocess
import sys
import threading
import types

import nbformat
import pytest

from autograder.book_index import book_sections
from autograder.build import generate
from autograder.build.checks import check_catalogue, check_certainty, check_variety, checked_cells
from autograder.build.source_notebook import autotest_lines, source_notebook, unanswered_cells
from autograder.course import Course
from autograder.errors import CatalogueError, ExerciseError, OutputError
from autograder.exercises import grade_cells, is_grade_cell, metadata_of, released
from autograder.expected import ExpectedCell, ExpectedLine
from autograder.instructor_settings import Settings
from autograder.reference import expected_cell
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.plain_data import decode, restore, unpack
from tests.support.course import COURSE
from tests.support.few_mistakes import leave_out_mistakes
from tests.support.small_course import (
    CHECK,
    DOUBLE,
    IMPORTS,
    KNOWN,
    check_cell,
    mistake,
    write_exercise,
)


def test_a_cell_without_a_section_or_a_mistake_is_told(course_folder):
    exercise = write_exercise(course_folder, "ch9_small", [IMPORTS, DOUBLE, check_cell(CHECK)])
    source = 'x = draw.array(3)\ncheck("double(x)", points=2)'
    trained = f'agreement("x", share=0.9, seconds=1)\n{source}'
    assert generate.unexplained_cells(exercise, {"values": source}) == []
    section, hints, also = generate.unexplained_cells(
        exercise, {"values": source, "more": source, "trained": trained}
    )
    assert "no heading gives a section" in section and section.endswith("for more.")
    assert hints.startswith("solutions/catalogue/ch9_small.md: no mistake is meant for more")
    # nothing is recognised in what was trained
    assert also.endswith("for trained.") and "no heading" in also


def write_book(root, title="Doubling"):
    (root / "book").mkdir(exist_ok=True)
    (root / "book" / "ch9_small.md").write_text(f"# Nine\n\n(ch9-double)=\n## {title}\n")


@pytest.fixture
def small(course_folder):
    """A course of one exercise, ch9_small, and a book of one section."""
    write_exercise(course_folder, "ch9_small", [IMPORTS, DOUBLE, check_cell(CHECK)])
    write_book(course_folder)
    return Course(course_folder)


def exercise_with(course_folder, lines, known=KNOWN):
    """The exercise ch9_small with one check cell, and that cell's source."""
    cells = [IMPORTS, DOUBLE, check_cell(lines)]
    exercise = write_exercise(course_folder, "ch9_small", cells, known)
    return exercise, unanswered_cells(source_notebook(exercise, Settings()))["values"]


# What the build refuses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("### AUTOTEST f(1)", "2p AUTOTEST"),
        ("### 1p AUTOTEST f(1);", "`;`"),
        ("### 1p AUTOTEST f('a;b')", "`;`"),
        ("### 1p AUTOTEST x = 1", "not an expression"),
    ],
)
def test_a_bad_autotest_line_is_found_with_its_text(line, complaint):
    with pytest.raises(CatalogueError, match=re.escape(complaint)):
        autotest_lines(f"x = 1\n{line}")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ("# ### 1p AUTOTEST double(1)", "lines' points add up to 1, the cell has 2"),
        ("# x = 1", "needs at least one"),
        ("# ### 1p AUTOTEST double(1)\n# ### 1p AUTOTEST double(1)", "stands twice"),
        ("# forbid('Nothing')\n# ### 2p AUTOTEST double(1)", "forbid doesn't know Nothing"),
    ],
)
def test_a_bad_cell_is_refused_by_name(course_folder, lines, complaint):
    with pytest.raises(CatalogueError, match=f"cell values: .*{re.escape(complaint)}"):
        exercise_with(course_folder, lines)


def test_a_solution_without_imports_or_with_a_name_used_twice_is_refused(course_folder):
    exercise = write_exercise(course_folder, "ch9_small", [DOUBLE, check_cell(CHECK)])
    with pytest.raises(CatalogueError, match="grade_id imports is missing"):
        source_notebook(exercise, Settings())
    exercise = write_exercise(course_folder, "ch9_small", [IMPORTS, DOUBLE, DOUBLE])
    with pytest.raises(CatalogueError, match="grade_id used twice: double"):
        source_notebook(exercise, Settings())


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("double(x) >= 0", "100% of 200 seeds"),
        # one of two, one of ten
        ("double(x) % 4", "5.% of 200 seeds"),
        ("double(x) % 20", "1.% of 200 seeds"),
    ],
)
def test_an_autotest_that_a_constant_would_often_pass_is_refused(course_folder, line, complaint):
    lines = f"# x = draw.integer(0, 999)\n# ### 2p AUTOTEST {line}"
    exercise, source = exercise_with(course_folder, lines)
    with pytest.raises(CatalogueError, match=complaint):
        check_variety(exercise, "values", source)


def test_an_autotest_of_a_hundred_values_is_built(course_folder):
    lines = "# x = draw.integer(0, 99)\n# ### 2p AUTOTEST double(x)"
    exercise, source = exercise_with(course_folder, lines)
    check_variety(exercise, "values", source)


def test_a_line_that_shows_a_mistake_only_now_and_then_is_refused(course_folder):
    wrong = mistake(name="zero", rule="2 * x -> 2 * x or 1")
    lines = "# n = draw.integer(0, 3)\n# ### 2p AUTOTEST double(n)"
    exercise, source = exercise_with(course_folder, lines, known=[wrong])
    cell = expected_cell(exercise, "values", source, [[number] for number in range(8)])
    with pytest.raises(CatalogueError, match=r"'zero' under . of 8 seeds"):
        check_certainty(exercise, {"values": cell})
    (line,) = cell.lines
    draws = tuple(draw for draw in line.draws if draw.mistakes)
    always = ExpectedCell((), (ExpectedLine(line.expression, line.points, draws),))
    check_certainty(exercise, {"values": always})


@pytest.mark.parametrize(
    ("known", "complaint"),
    [
        ([mistake(cell="nowhere")], "'halved' names no grade cell: 'nowhere'"),
        ([mistake(rule="2 * x -> x * 2")], "values doesn't catch 'halved'"),
        (
            [mistake(), mistake(name="twin", rule="2 * x -> 0.5 * x")],
            "no line tells 'halved' from 'twin'",
        ),
        ([mistake(rule="3 * x -> x")], r"ch9_small\.md, line 6: .* `3 \* x` occurs nowhere"),
    ],
)
def test_a_mistake_that_no_line_catches_or_tells_is_refused(course_folder, known, complaint):
    exercise, source = exercise_with(course_folder, CHECK, known=known)
    with pytest.raises(CatalogueError, match=complaint):
        cell = expected_cell(exercise, "values", source, [[], [1]])
        check_catalogue(exercise, {"values": cell})


def test_what_a_line_must_agree_with_stays_with_the_grader(course_folder):
    lines = (
        "# agreement('twice', share=0.9, seconds=30)\n# x = draw.integers(5, low=0, high=99).tolist()\n"
        "# twice = [2 * number for number in x]\n# ### 2p AUTOTEST [double(number) for number in x]"
    )
    exercise, source = exercise_with(course_folder, lines)
    (line,) = expected_cell(exercise, "values", source, [[0], [1], [2]]).lines
    # once, as training takes its time, and other inputs for a second try
    drawn, other = line.draws
    assert line.asked == (drawn,) and other.inputs != drawn.inputs
    assert list(drawn.inputs) == ["x"] and line.agreement.seconds == 30
    assert drawn.expected["share"] == 0.9 and not drawn.mistakes
    x, twice = (restore(decode(t)) for t in (drawn.inputs["x"], drawn.expected["value"]))
    assert twice == [2 * number for number in x]
    check_variety(exercise, "values", source)
    assert parse_cell(source).asks() != parse_cell(source.replace("0.9", "0.8")).asks()
    with pytest.raises(CatalogueError, match="needs a drawn list 'thrice'"):
        other = source.replace("agreement('twice'", "agreement('thrice'")
        expected_cell(exercise, "values", other, [[0]])


def test_lines_that_take_long_are_asked_on_one_draw(course_folder):
    lines = f"{CHECK.replace('2p', '1p')}\n# memory(megabytes=60)\n# ### 1p AUTOTEST double(x + 1)"
    exercise, source = exercise_with(course_folder, lines)
    usual, long = expected_cell(exercise, "values", source, [[0], [1], [2]]).lines
    assert (len(usual.draws), usual.megabytes) == (3, None)
    assert (len(long.draws), long.megabytes) == (1, 60)


@pytest.mark.parametrize("expression", ["double(None)", "double", "{double: 1}.keys()"])
def test_a_reference_that_raises_or_gives_no_plain_data_is_named(course_folder, expression):
    exercise, source = exercise_with(course_folder, f"# ### 2p AUTOTEST {expression}")
    with pytest.raises(CatalogueError, match=f"cell values.*{re.escape(expression)}"):
        expected_cell(exercise, "values", source, [[0]])


def test_an_input_statement_that_raises_is_named(course_folder):
    exercise, source = exercise_with(course_folder, "# x = 1 / 0\n# ### 2p AUTOTEST double(x)")
    with pytest.raises(CatalogueError, match="cell values: an input statement raised ZeroDiv"):
        expected_cell(exercise, "values", source, [[0]])


def test_a_way_back_to_a_section_that_is_not_there_is_refused(small):
    write_exercise(
        small.root, "ch9_small", [IMPORTS, DOUBLE, check_cell(CHECK)], section="ch9-nowhere"
    )
    with pytest.raises(CatalogueError, match="'ch9-nowhere': no section"):
        generate.build(small)


def test_what_the_process_of_the_checks_refuses_is_raised_here_and_changes_nothing(small):
    lines = "# x = draw.integer(0, 3)\n# ### 2p AUTOTEST double(x) >= 0"
    exercise_with(small.root, lines, known=())
    with pytest.raises(CatalogueError, match=r"^solutions/ch9_small\.py, cell values: .*100% of"):
        generate.build(small)
    assert not (small.root / "exercises").exists()
    exercise, source = exercise_with(small.root, CHECK)
    cells = checked_cells(exercise, {"values": source}, [[], [1]])
    assert cells == {
        "values": expected_cell(exercise, "values", source, [[], [1]], for_release=True)
    }


# What a build writes, and what it never overwrites ------------------------------------------------


@pytest.fixture
def evaluated(monkeypatch):
    """The names of the exercises that `build` evaluates, in this process."""
    names = []
    # ast.parse in several threads can raise SystemError (CPython issue 106905)
    one_at_a_time = threading.Lock()

    def in_this_process(exercise, cells, seeds):
        names.append(exercise.name)
        with one_at_a_time:
            return {
                n: expected_cell(exercise, n, text, seeds, for_release=True)
                for n, text in cells.items()
            }

    monkeypatch.setattr(generate, "checked_cells", in_this_process)
    return names


def built(course):
    return [exercise.name for exercise in generate.build(course)]


def test_an_exercise_is_built_once(small, evaluated):
    assert built(small) == evaluated == ["ch9_small"]
    before = released(small.exercise("ch9_small"))
    assert before.metadata.autotest.digest == generate.content_digest(before)
    assert built(small) == [] and evaluated == ["ch9_small"]
    assert [e.name for e in generate.build(small, force=True)] == ["ch9_small"]
    assert released(small.exercise("ch9_small")) == before


def put_damaged(root):
    path = root / "exercises" / "ch9_small" / "ch9_small.ipynb"
    path.write_text(path.read_text(encoding="utf-8")[:-40])
    return path


def put_edited(root):
    path = root / "exercises" / "ch9_small" / "ch9_small.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[-1].source += "\nmy own words"
    nbformat.write(notebook, path)
    return path


def put_moved(root):
    """A cell moved to the end: every cell is still as it was."""
    path = root / "exercises" / "ch9_small" / "ch9_small.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(notebook.cells.pop(0))
    nbformat.write(notebook, path)
    return path


def put_text(root):
    path = root / "exercises" / "ch9_small" / "notes.txt"
    path.write_text("mine")
    return path


def put_foreign_notebook(root):
    path = root / "exercises" / "mine.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("mine")]), path)
    return path


@pytest.mark.parametrize(
    "put",
    [put_damaged, put_edited, put_moved, put_text, put_foreign_notebook],
)
def test_a_build_refuses_to_lose_work_by_name(small, evaluated, put):
    generate.build(small)
    # what is stale would be replaced
    (small.root / "solutions" / "ch9_small.py").write_text(
        "\n".join([IMPORTS, DOUBLE.replace("2 * x", "x + x"), check_cell(CHECK)])
    )
    path = put(small.root)
    before = path.read_bytes()
    for force in (False, True):
        with pytest.raises(ExerciseError, match=rf"^{path.relative_to(small.root)} holds work"):
            generate.build(small, force=force)
    assert path.read_bytes() == before and evaluated == ["ch9_small"]


def test_a_checkpoint_of_jupyter_is_nobodys_work(small, evaluated):
    generate.build(small)
    folder = small.root / "exercises" / "ch9_small" / ".ipynb_checkpoints"
    folder.mkdir()
    (folder / "ch9_small-checkpoint.ipynb").write_text("{}")
    assert built(small) == []


def test_a_folder_that_cannot_be_written_is_named(small, evaluated):
    (small.root / "exercises").write_text("a file")
    with pytest.raises((OutputError, ExerciseError), match="exercises"):
        generate.build(small)
    assert (small.root / "exercises").read_text() == "a file"


# What makes an exercise stale ---------------------------------------------------------------------

SOLUTION, CATALOGUE = "solutions/ch9_small.py", "solutions/catalogue/ch9_small.md"


def rewrite(path, *changes):
    """Replace texts in a file, each of which occurs once."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        (CATALOGUE, [("Which factor?", "Which one?")]),
        (SOLUTION, [("Twice x.", "Two times x.")]),
        (SOLUTION, [("# x = draw.array(3)", "# # three numbers\n# x = draw.array(3)")]),
    ],
)
def test_other_words_are_built_without_evaluating(small, evaluated, file, changes):
    generate.build(small)
    before = grade_cells(released(small.exercise("ch9_small")))
    rewrite(small.root / file, *changes)
    assert built(small) == ["ch9_small"]
    assert evaluated == ["ch9_small"]
    # the answers that were there
    after = grade_cells(released(small.exercise("ch9_small")))
    assert parse_cell(after["values"]) == parse_cell(before["values"])
    assert built(small) == []


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        (CATALOGUE, [("x / 2", "x / 4")]),
        (CATALOGUE, [("## halved", "## cut")]),
        (SOLUTION, [("2 * x", "(2 * x)  + 0")]),
        (SOLUTION, [("draw.array(3)", "draw.array(4)")]),
        (SOLUTION, [('"points": 2', '"points": 3'), ("### 2p", "### 3p")]),
    ],
)
def test_other_code_is_evaluated(small, evaluated, file, changes):
    generate.build(small)
    rewrite(small.root / file, *changes)
    assert built(small) == ["ch9_small"]
    assert evaluated == ["ch9_small"] * 2
    assert built(small) == []


def test_the_books_words_and_pins_of_tools_make_nothing_stale(small, evaluated):
    (small.root / "requirements.txt").write_text("ruff==0.1\n")
    generate.build(small)
    before = small.exercise("ch9_small").notebook.read_bytes()
    write_book(small.root, title="Twice as much")
    (small.root / "requirements.txt").write_text("ruff==0.2\n")
    # a process keeps the sections that it has read
    book_sections.cache_clear()
    assert "Twice as much" in book_sections(small.root)["ch9-double"].title
    assert built(small) == []
    assert small.exercise("ch9_small").notebook.read_bytes() == before
    # what is built anew for another reason has the new heading
    (exercise,) = generate.build(small, force=True)
    checker = next(c.source for c in released(exercise).cells if c.id == "checker")
    told = unpack(re.search(r'install_packed\("([^"]*)"\)', checker)[1])
    assert told["sections"]["values"] == 'chapter 9, "Twice as much"'


# Chapters above 9 ---------------------------------------------------------------------------------

QUADRUPLE = (
    '# %% nbgrader={"grade_id": "quadruple", "solution": true}\n'
    "def quadruple(x):\n    ### BEGIN SOLUTION\n    return double(double(x))\n"
    "    ### END SOLUTION\n"
)


@pytest.fixture
def long_course(course_folder):
    """A course with chapters 2, 9 and 10, of which the last imports from chapter 2."""
    root = course_folder
    write_exercise(root, "ch2_small", [IMPORTS, DOUBLE, check_cell(CHECK)])
    write_exercise(root, "ch9_small", [IMPORTS, DOUBLE, check_cell(CHECK)])
    imports = f"{IMPORTS}from solutions.ch2_small import double\n"
    check = check_cell(CHECK.replace("double(", "quadruple("))
    write_exercise(root, "ch10_small", [imports, QUADRUPLE, check], known=())
    return Course(root)


def test_chapter_10_comes_after_chapter_9(long_course):
    assert [e.name for e in long_course.exercises()] == ["ch2_small", "ch9_small", "ch10_small"]
    assert [e.chapter for e in long_course.exercises()] == [2, 9, 10]


def test_a_change_in_chapter_2_makes_chapter_10_stale_and_one_in_10_no_other(
    long_course, evaluated, monkeypatch
):
    # what `from solutions.ch2_small import double` finds in this process
    chapter_2 = types.SimpleNamespace(double=lambda x: 2 * x)
    monkeypatch.setitem(sys.modules, "solutions.ch2_small", chapter_2)
    generate.build(long_course)
    assert "def double" in code_of(long_course, "ch10_small", "built_so_far")
    evaluated.clear()
    solutions = long_course.root / "solutions"
    rewrite(solutions / "ch10_small.py", ("double(double(x))", "2 * double(x)"))
    assert built(long_course) == evaluated == ["ch10_small"]
    evaluated.clear()
    rewrite(solutions / "ch2_small.py", ("2 * x", "(2 * x) + 0"))
    assert "ch10_small" in built(long_course) and "ch10_small" in evaluated
    assert "(2 * x) + 0" in code_of(long_course, "ch10_small", "built_so_far")


def code_of(course, name, cell_id):
    return next(c.source for c in released(course.exercise(name)).cells if c.id == cell_id)


# Holding back -------------------------------------------------------------------------------------


def test_what_is_held_back_stands_in_a_file_and_not_in_the_notebook(
    long_course, evaluated, monkeypatch
):
    chapter_2 = types.SimpleNamespace(double=lambda x: 2 * x)
    monkeypatch.setitem(sys.modules, "solutions.ch2_small", chapter_2)
    generate.build(long_course)
    before = {e: e.notebook.read_bytes() for e in long_course.exercises()}
    last = long_course.exercise("ch10_small")
    evaluated.clear()

    # nothing is evaluated anew, and exercises that use nothing of earlier ones stay as they are
    assert generate.build(long_course, hold_back=True) == [last] and not evaluated
    assert "return 2 * x" not in last.notebook.read_text()
    assert code_of(long_course, "ch10_small", "built_so_far").endswith("%run -i built_so_far.py")
    path = generate.held_back_file(long_course, last)
    assert [*path.parent.parent.rglob("*.py")] == [path]
    names = {}
    exec(path.read_text(), names)
    assert names["double"](4) == 8 and "np" in names
    assert generate.build(long_course, hold_back=True) == []

    # a build after a correction hands out nothing, and the file has the correction
    solutions = long_course.root / "solutions"
    rewrite(solutions / "ch2_small.py", ("2 * x", "(2 * x) + 0"))
    assert "ch10_small" in built(long_course)
    assert "(2 * x) + 0" in path.read_text() and "(2 * x) + 0" not in last.notebook.read_text()
    rewrite(solutions / "ch2_small.py", ("(2 * x) + 0", "2 * x"))

    generate.build(long_course, hold_back=False)
    assert {e: e.notebook.read_bytes() for e in long_course.exercises()} == before


# Settings -----------------------------------------------------------------------------------------


def test_weights_and_allowed_functions_of_the_settings_are_in_the_built_notebook(small, evaluated):
    forbidding = "# forbid('Transformer', 'MultiheadAttention')\n"
    exercise, _ = exercise_with(small.root, forbidding + CHECK)
    generate.build(small)
    cell = parse_cell(code_of(small, "ch9_small", "values"))
    assert cell.forbidden == ("Transformer", "MultiheadAttention")
    assert [check.points for check in cell.checks] == [2]

    with (small.root / "nbgrader_config.py").open("a") as config:
        config.write(
            'c.Grader.weights = {"ch9_small": 2, "ch9_small/values": 1.5, "ch1_other": 7}\n'
        )
        config.write('c.Grader.allowed = {"ch9_small": ["Transformer"]}\n')
    weighted = Course(small.root)
    assert built(weighted) == ["ch9_small"]
    (found,) = (c for c in released(exercise).cells if is_grade_cell(c))
    cell = parse_cell(found.source)
    assert metadata_of(found).points == 6
    assert [check.points for check in cell.checks] == [6]
    assert cell.forbidden == ("MultiheadAttention",)

    with (small.root / "nbgrader_config.py").open("a") as config:
        config.write('c.Grader.allowed = {"ch9_small": ["Transformer", "MultiheadAttention"]}\n')
    generate.build(Course(small.root))
    assert parse_cell(code_of(small, "ch9_small", "values")).forbidden == ()


# nbgrader's own command ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ch9_small", "ch1_additive_attention"])
def test_nbgrader_generates_the_same_notebook_byte_for_byte(course_folder, evaluated, name):
    for folder in ("solutions", "solutions/catalogue", "solutions/checks"):
        (course_folder / folder).mkdir(exist_ok=True)
        for file in ("__init__.py", f"{name}.py", f"{name}.md"):
            if (COURSE.root / folder / file).exists():
                shutil.copy(COURSE.root / folder / file, course_folder / folder)
    if name == "ch9_small":
        write_exercise(course_folder, name, [IMPORTS, DOUBLE, check_cell(CHECK)])
    leave_out_mistakes(course_folder)
    course = Course(course_folder)
    exercise = course.exercise(name)
    generate.build(course)
    before = exercise.notebook.read_bytes()
    shutil.rmtree(course_folder / "exercises")
    generate.write_sources(course, [exercise])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", name],
        cwd=course_folder,
        env={**os.environ, "PYTHONPATH": str(COURSE.root)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert exercise.notebook.read_bytes() == before


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        pytest.param(
            "# says('" + "long " * 20 + "')\n# ### 2p AUTOTEST double(1)",
            "at most 90 characters",
            id="too long",
        ),
        ("# says(' ')\n# ### 2p AUTOTEST double(1)", "' ' has 1"),
        ("# says('doubles')\n# n = 1\n# ### 2p AUTOTEST double(n)", "directly above"),
        ("# says('doubles', part='n')\n# ### 2p AUTOTEST double(1)", "cell values: .*'part'"),
    ],
)
def test_a_sentence_that_is_too_long_or_out_of_place_is_refused(course_folder, lines, complaint):
    exercise = write_exercise(course_folder, "ch9_small", [IMPORTS, DOUBLE, check_cell(lines)])
    with pytest.raises(CatalogueError, match=complaint):
        source_notebook(exercise, Settings())


def test_names_of_parts_that_do_not_fit_are_refused(course_folder):
    lines = "# n = draw.integer(0, 99)\n# says('doubles', parts=['a'])\n# ### 2p AUTOTEST [n, double(n)]"
    exercise, source = exercise_with(course_folder, lines)
    with pytest.raises(CatalogueError, match=r"cell values: above `.*1 names for 2 parts"):
        expected_cell(exercise, "values", source, [[0]])


def test_a_kept_stamp_is_the_one_that_would_be_made(course_folder):
    cells, kept = [IMPORTS, DOUBLE, check_cell(CHECK)], course_folder / "kept.stamp"

    def stamps(**changes):
        """With a stamp of before, with the present one, and without one."""
        exercise = write_exercise(course_folder, "ch9_small", cells, [mistake(**changes)])
        given = {"values": "x = draw.array(3)\ncheck('double(x)', points=2)"}
        after = generate.answers_stamp(exercise, given, kept)
        again = generate.answers_stamp(exercise, given, kept)
        anew = generate.answers_stamp(exercise, given)
        assert after == again == anew == kept.read_text().split()[1]
        return anew

    first = stamps()
    assert stamps(rule="2 * x -> x / 3") != first
    assert stamps(name="another") != first
    # words count for nothing
    assert stamps(hint="Which one?") == first
