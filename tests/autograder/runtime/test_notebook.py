"""What a student reads below a check: `Checks.run_cell`, and the runtime loaded from its packed text."""

import contextlib
import json
import subprocess
import sys

import pytest

from autograder import embedding
from autograder.runtime import MODULES
from autograder.runtime.fold import Fold
from autograder.runtime.notebook import MAX_PRINTED, NEXT, AutotestFailure, Checks
from autograder.runtime.plain_data import encode
from tests.support.notebook_checks import HALVED, SECTIONS, SHIFTED, check, drawn, values_cell


@pytest.fixture
def checks():
    return Checks({"halved": HALVED, "shifted": SHIFTED}, SECTIONS)


@pytest.fixture
def run(checks, capsys):
    """A function that runs a cell and returns the printed lines, and the failure's message or None."""

    def run(grade_id, source, **names):
        failure = None
        try:
            checks.run_cell(grade_id, source, names)
        except AutotestFailure as error:
            failure = str(error)
        said = capsys.readouterr()
        assert said.err == ""
        return said.out.splitlines(), failure

    return run


def test_a_right_cell_shows_a_tick_and_the_points_of_every_line(run):
    lines, failure = run("values", values_cell(), double=lambda x: 2.0 * x)
    assert failure is None
    assert lines == ["✓ 1.5/1.5 points   double(n)", "✓ 1/1 points   [double(n), n]"]


def test_a_recognised_mistake_is_explained_once_and_says_what_to_read(run):
    n = drawn("values")
    lines, failure = run("values", values_cell(), double=lambda x: 0.5 * x)
    assert failure == f"Not yet: 0 of 2.5 points in this cell. {NEXT}"
    assert lines[0] == "✗ 0/1.5 points   double(n)"
    assert lines[1] == f"    expected {2.0 * n:g}, got {0.5 * n:g}"
    assert lines[2] == "    This looks like a known mistake: halved. The result is half."
    # the second line is explained by the mistake as well
    assert lines[-2:] == ["✗ 0/1 points   [double(n), n]", 'Read again: chapter 1, "A"']
    assert len([line for line in lines if "known mistake" in line]) == 1


def test_an_unknown_mistake_says_what_the_cells_section_is(run):
    lines, failure = run("values", values_cell(), double=lambda x: 2.0 * x if x == 0 else 7.0 * x)
    assert failure == f"Not yet: 0 of 2.5 points in this cell. {NEXT}"
    assert not [line for line in lines if "known mistake" in line]
    assert lines[-1] == 'Read again: chapter 2, "B"'


def test_points_of_lines_that_pass_are_counted(run):
    calls = []

    def sometimes(x):
        calls.append(x)
        return 2.0 * x if len(calls) == 1 else None

    lines, failure = run("values", values_cell(), double=sometimes)
    assert failure == f"Not yet: 1.5 of 2.5 points in this cell. {NEXT}"
    assert [line[0] for line in lines if line[0] in "✓✗"] == ["✓", "✗"]
    assert lines[2] == f"    in part 1 of 2: expected {2 * drawn('values')}, got None"


def test_an_answer_that_nobody_has_begun_is_told_by_its_own_words_alone(run):
    def stub(x):
        raise NotImplementedError("To do: put your code in place of this line.")

    assert run("values", values_cell(), double=stub) == (
        [],
        "To do: put your code in place of this line.",
    )


def test_an_error_is_shown_without_a_traceback(run):
    lines, failure = run("values", values_cell())
    assert failure == f"Not yet: 0 of 2.5 points in this cell. {NEXT}"
    assert lines[1] == ("    `double` is not defined yet: run the cell above that defines it")
    assert lines[2] == "✗ 0/1 points   [double(n), n]" and len(lines) == 4
    assert not [line for line in lines if "Traceback" in line]
    assert AutotestFailure("x")._render_traceback_() == ["x"]


def test_a_mistake_of_another_cell_is_named_for_sure_when_it_is_recognised_there(run):
    n = drawn("shifted")
    source = "\n".join(
        ["n = draw.integer(1, 99)", check("shift(double(n))", 2.0 * n + 1, halved=0.5 * n + 1)]
    )
    halved = {"double": lambda x: 0.5 * x, "shift": lambda x: x + 1}
    lines, _ = run("shifted", source, **halved)
    assert lines[2].startswith("    This looks like a known mistake: halved. The ")
    assert lines[-1] == 'Read again: chapter 1, "A"'
    # where it has been explained, that isn't said again
    again = "the mistake that the checks `{}` show, in your `double`: halved. Fix that first."
    lines, failure = run("values", values_cell(), **halved)
    assert lines == [f"✗ 0/2.5 points   {again.format('shifted')}"]
    assert failure.startswith("Not yet: 0 of 2.5 points")
    run("shifted", source, double=lambda x: 2.0 * x, shift=lambda x: x + 1)
    lines, _ = run("values", values_cell(), **halved)
    assert lines[0] == "✗ 0/1.5 points   double(n)" and len(lines) > 1
    lines, _ = run("shifted", source, **halved)
    assert lines == [f"✗ 0/1 points   {again.format('values')}"]


def test_answers_may_lie_in_a_cell_of_their_own(run, checks):
    n = drawn("values")
    source = "n = draw.integer(1, 99)\ncheck('double(n)', points=1)"
    lines, failure = run("values", source, double=lambda x: 2 * x)
    assert lines == [] and "Run All Above" in failure
    answer = {"value": encode(2 * n), "parameters": [], "mistakes": {}}
    checks.use_answers({"values": {"double(n)": answer}})
    assert run("values", source, double=lambda x: 2 * x) == (["✓ 1/1 points   double(n)"], None)
    _, failure = run("values", source.replace("double(n)", "n"))
    assert "isn't one of the course: n" in failure


def test_a_check_says_what_it_tests_and_not_its_expression(run):
    n = drawn("values")
    source = "\n".join(
        [
            "n = draw.integer(1, 99)",
            "says('doubles', parts=['twice', 'once'])",
            check("[double(n), n]", [2.0 * n, n]),
        ]
    )
    lines, _ = run("values", source, double=lambda x: 5.0 * x)
    assert lines[0] == "✗ 0/1 points   doubles"
    assert lines[1].startswith(f"    in twice: expected {2 * n}, got {5 * n}")
    assert len(lines) == 3 and "double(n)" not in "".join(lines)
    lines, _ = run("values", source, double=lambda x: 2.0 * x)
    assert lines == ["✓ 1/1 points   doubles"]


def test_an_unexplained_answer_is_named_where_another_one_uses_it(run):
    n = drawn("shifted")
    source = "\n".join(
        ["n = draw.integer(1, 99)", check("shift(double(n))", 2.0 * n + 1, halved=0.5 * n + 1)]
    )
    wrong = {"double": lambda x: 7.5 * x, "shift": lambda x: x + 1}
    run("values", values_cell(), **wrong)
    lines, _ = run("shifted", source, **wrong)
    assert lines[0] == "This uses your `double`, which isn't correct yet. Fix that first."


def test_a_cell_that_uses_a_wrong_answer_tells_no_other_numbers_but_other_reasons(run):
    wrong = {"double": lambda x: 7.5 * x, "shift": lambda x: x + 1 if x > 20 else x[0]}
    lines = [check(f"shift(double({n}))", 2.0 * n + 1, halved=0.5 * n + 1) for n in (3, 4, 5)]
    run("values", values_cell(), **wrong)
    fix = "This uses your `double`, which isn't correct yet. Fix that first."
    assert run("shifted", "\n".join(lines), **wrong)[0] == [
        fix,
        "✗ 0/3 points   3 lines are incorrect",
    ]
    lines.append(check("shift(double(1))", 3.0, halved=1.5))
    shown, _ = run("shifted", "\n".join(lines), **wrong)
    assert shown[:2] == [fix, "✗ 0/1 points   shift(double(1))"] and "TypeError" in shown[2]
    assert shown[3:] == ["✗ 0/3 points   3 more lines are incorrect as well"]


@pytest.mark.parametrize(
    ("double", "told"),
    [
        (lambda x: {}[x], "your code raised KeyError"),
        (lambda x: 2.0 * x * (1 + 1e-4), "correct, but only to 4 digits"),
    ],
)
def test_what_comes_of_one_reason_is_told_once_a_cell(run, double, told):
    lines, _ = run("values", doubles(5), double=double)
    assert [line[0] for line in lines if line[0] in "✓✗"] == [*"✗✗✗✗✗"]
    assert [told in line for line in lines if line.startswith("    ")] == [True]


def test_the_first_lines_that_an_answer_prints_stand_below_the_marks(run):
    def noisy(x):
        print("hm", file=sys.stderr)
        print("a\nb\nc" * 20)
        return 2.0 * x

    lines, failure = run("values", values_cell(), double=noisy)
    assert failure is None and lines[0].startswith("✓") and lines[1].startswith("✓")
    assert lines[2:5] == ["Your code printed, the first 3 of 84 lines:", "    hm", "    a"]
    assert len(lines) == 3 + MAX_PRINTED


def test_a_violated_relation_is_told_in_place_of_numbers(run):
    x = [1.5, -2.25, 4.5]
    source = "\n".join(
        [
            f"x = {x}",
            "equal('an item has an influence on others', '[double(x)[:1], double(x[:1])]')",
            "unequal('the items have no influence', '[double(x), double([7.0, 8.0, 9.0])]')",
            check("double(x)", [2.0 * n for n in x]),
            check("double(x[:2])", [2.0 * n for n in x[:2]]),
        ]
    )
    lines, _ = run("values", source, double=lambda x: [2 * n + 0.1 * sum(x) for n in x])
    assert lines[:3] == [
        "✗ 0/1 points   double(x)",
        "    an item has an influence on others",
        "✗ 0/1 points   double(x[:2])",
    ]
    lines, _ = run("values", source, double=lambda x: [7.5] * len(x))
    assert lines[1] == "    the items have no influence"
    # neither is violated, and an error is no evidence
    lines, _ = run("values", source, double=lambda x: [3.5 * n + n**2 for n in x])
    assert lines[1].startswith("    in part 1 of 3: ")
    lines, _ = run("values", source, double=lambda x: [1 / 0])
    assert lines[1].startswith("    your code raised ZeroDivisionError")
    lines, failure = run("values", source, double=lambda x: [2.0 * n for n in x])
    assert failure is None and len(lines) == 2


def doubles(count, *ways, **mistakes):
    """A cell with some lines; ways: what the mistake "halved" gives for each, if it shows there."""
    given = zip(range(1, count + 1), [*ways, *[None] * count], strict=False)
    lines = [
        check(f"double({n})", 2.0 * n, **({} if wrong is None else {"halved": wrong}))
        for n, wrong in given
    ]
    return "\n".join(lines)


def test_behind_a_fold_stand_its_lines(checks):
    shown = []
    checks = Checks({"halved": HALVED}, SECTIONS)
    checks.display = shown.append
    with pytest.raises(AutotestFailure):
        checks.run_cell("values", doubles(3, 0.5, 1.0, 1.5), {"double": lambda x: x / 2})
    (fold,) = shown
    assert fold.lines == ["✗ 0/1 points   double(2)", "✗ 0/1 points   double(3)"]
    assert (
        repr(fold)
        == fold.summary
        == "✗ 0/2 points   2 more lines are incorrect because of this mistake"
    )
    assert Fold("a < b", ["<i>"])._repr_html_().count("&lt;") == 2


@pytest.fixture
def one_answer():
    """Checks of two cells that grade the same answer, with the mistake `halved` of the first."""
    graded = {"values": ["double"], "edges": ["double"]}
    return Checks({"halved": HALVED}, SECTIONS, graded=graded)


def shown_by(checks, capsys, grade_id, source, double):
    with contextlib.suppress(AutotestFailure):
        checks.run_cell(grade_id, source, {"double": double})
    return capsys.readouterr().out.splitlines()


def test_a_later_cell_tells_a_reason_that_is_new_and_folds_the_rest(one_answer, capsys):
    def wrong(x):
        if x == 4:
            raise KeyError("four")
        return 2.0 * x if x > 5 else 7.5 * x

    def told(grade_id):
        return shown_by(one_answer, capsys, grade_id, doubles(7), wrong)

    assert [line[0] for line in told("values") if line[0] in "✓✗"] == [*"✗✗✗✗✗✓✓"]
    lines = told("edges")
    assert lines[0] == "✗ 0/1 points   double(1)" and "expected 2" in lines[1]
    # another reason stays in sight
    assert lines[2] == "✗ 0/1 points   double(4)" and "KeyError" in lines[3]
    assert lines[4:] == [
        "✗ 0/3 points   3 more lines are incorrect as well",
        "✓ 2/2 points   2 lines are correct",
    ]
    # what is right shows all of its ticks
    right = shown_by(one_answer, capsys, "edges", doubles(7), lambda x: 2.0 * x)
    assert [line[0] for line in right] == [*"✓" * 7]
    # the first cell tells all again, and so does the second where the first one is right
    assert len(told("values")) == 10
    shown_by(one_answer, capsys, "values", doubles(7), lambda x: 2.0 * x)
    assert [line[0] for line in told("edges") if line[0] in "✓✗"] == [*"✗✗✗✗✗✓✓"]


def test_a_mistake_that_stands_explained_is_named_in_a_line_below_another(one_answer, capsys):
    def wrong(x):
        return 0.5 * x if x < 3 else -2.0 * x

    values, edges = doubles(2, 0.5, 1.0), doubles(3, 0.5, 1.0, 1.5)
    lines = shown_by(one_answer, capsys, "values", values, wrong)
    assert "    This looks like a known mistake: halved. The result is half." in lines
    lines = shown_by(one_answer, capsys, "edges", edges, wrong)
    assert lines == [
        "✗ 0/1 points   double(1)",
        "    This looks like a known mistake: halved. The checks `values` explain it.",
        "✗ 0/1 points   double(3)",
        "    yours has the wrong sign; expected 6, got -6",
        "✗ 0/1 points   double(2)",
    ]


def test_the_packed_runtime_runs_without_the_package(tmp_path):
    """The embedded text is complete: only numpy and the standard library are imported."""
    assert list(embedding.sources()) == list(MODULES)
    program = (
        f"{embedding.loader()}\nnotebook = load_checks({embedding.packed_sources()!r})\n"
        "import json, sys\n"
        f"checks = notebook.Checks({{}}, {{}})\n"
        f"checks.run_cell('values', {values_cell()!r}, {{'double': lambda x: 2.0 * x}})\n"
        "print(json.dumps(sorted(name for name in sys.modules if name.startswith(('autograder', 'torch')))))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    *lines, modules = done.stdout.splitlines()
    assert lines == ["✓ 1.5/1.5 points   double(n)", "✓ 1/1 points   [double(n), n]"]
    assert json.loads(modules) == []
