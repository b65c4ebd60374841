"""What a student reads below a check: `Checks.run_cell`, and the runtime loaded from its packed text."""

import json
import subprocess
import sys

import pytest

from autograder import embedding
from autograder.runtime import MODULES
from autograder.runtime.notebook import AutotestFailure, Checks
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
    assert failure == "Not yet: 0 of 2.5 points in this cell."
    assert lines[0] == "✗ 0/1.5 points   double(n)"
    assert lines[1] == f"    expected {2.0 * n:g}, got {0.5 * n:g}"
    assert lines[2:4] == ["    Recognised: halved. The result is half.", "    Hint: Which factor?"]
    assert lines[4] == "✗ 0/1 points   [double(n), n]"
    assert lines[5] == f"    in part 1 of 2: expected {2.0 * n:g}, got {0.5 * n:g}"
    assert lines[6:] == ['Read again: chapter 1, "A"']


def test_an_unknown_mistake_says_what_the_cells_section_is(run):
    lines, failure = run("values", values_cell(), double=lambda x: 2.0 * x if x == 0 else 7.0 * x)
    assert failure == "Not yet: 0 of 2.5 points in this cell."
    assert not [line for line in lines if "Recognised" in line]
    assert lines[-1] == 'Read again: chapter 2, "B"'


def test_points_of_lines_that_pass_are_counted(run):
    calls = []

    def sometimes(x):
        calls.append(x)
        return 2.0 * x if len(calls) == 1 else None

    lines, failure = run("values", values_cell(), double=sometimes)
    assert failure == "Not yet: 1.5 of 2.5 points in this cell."
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
    assert failure == "Not yet: 0 of 2.5 points in this cell."
    assert lines[1] == (
        "    `double` is not defined yet: run the cell above that defines it  (the same in 1 more check)"
    )
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
    assert lines[2].startswith("    This result matches a known mistake: halved. The ")
    run("values", values_cell(), **halved)
    lines, _ = run("shifted", source, **halved)
    assert lines[2] == "    Recognised: halved. The result is half."
    # `double` stands in the expression, so that its hint is given
    assert lines[3] == "    Hint: Which factor?"
    assert lines[-1] == 'Read again: chapter 1, "A"'


def test_answers_may_lie_in_a_cell_of_their_own(run, checks):
    n = drawn("values")
    source = "n = draw.integer(1, 99)\ncheck('double(n)', points=1)"
    lines, failure = run("values", source, double=lambda x: 2 * x)
    assert lines == [] and "Run All Above" in failure
    answer = {"value": encode(2 * n), "parameters": [], "mistakes": {}}
    checks.use_answers({"values": {"double(n)": answer}})
    assert run("values", source, double=lambda x: 2 * x) == (["✓ 1/1 points   double(n)"], None)
    _, failure = run("values", source.replace("double(n)", "n"))
    assert "not one of the course's: n" in failure


def test_a_check_says_what_it_tests_first_and_its_expression_last(run):
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
    assert lines[2] == "    Checked: [double(n), n]"
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
    assert (
        lines[-2] == "This uses your `double`, where something is not right yet. Mend that first."
    )


def test_output_to_stderr_goes_where_the_marks_go(run):
    def noisy(x):
        print("hm", file=sys.stderr)
        return 2.0 * x

    lines, failure = run("values", values_cell(), double=noisy)
    assert failure is None and lines[0] == "hm"


def test_the_packed_runtime_runs_without_the_package(tmp_path):
    """The embedded text is complete: only numpy and the standard library are imported."""
    assert list(embedding.sources()) == list(MODULES)
    program = (
        f"{embedding.LOADER}\nnotebook = load_checks({embedding.packed_sources()!r})\n"
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
