"""The audit says what it saw: a clean one is clean, and a surprise is told."""

import subprocess
import sys

import nbformat
import pytest

from autograder.audit import audit
from autograder.audit.cases import Case, catalogue_cases, honest_cases
from autograder.audit.own_check import disagreements, marks_shown, names_shown, own_check
from autograder.audit.registry import register_cases
from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course
from autograder.exercises import reference_answers, solved
from autograder.kernels.outputs import Outputs
from autograder.runtime.fold import Fold
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("attacks")


@pytest.fixture
def course(small_exercise):
    return Course(small_exercise.root)


def some_cases(exercise):
    """The reference, the untouched notebook, one mistake, one alternative and one style."""
    register_cases(COURSE.root)
    first = {}
    for case in [*catalogue_cases(exercise), *honest_cases(exercise)]:
        first.setdefault(case.kind, case)
    assert list(first) == ["reference", "untouched", "mistake", "alternative", "honest"]
    return list(first.values())


def wrong_notebook(exercise):
    answers = mistake_answers(exercise.program(), mistakes(exercise)[0])
    return nbformat.writes(solved(exercise, reference_answers(exercise) | answers))


def test_a_clean_audit_is_clean(course, small_exercise):
    (found,) = findings = audit.findings_of(course, some_cases(small_exercise), workers=1)
    counted = ("mistakes", "caught", "named", "alternatives", "accepted", "honest")
    assert {name: getattr(found, name) for name in counted} == dict.fromkeys(counted, 1)
    assert found.undeserved_points == 0 and found.honest_full_marks == 1
    assert audit.is_clean(findings)


def test_every_kind_of_surprise_is_told(course, small_exercise, capsys):
    text, right = wrong_notebook(small_exercise), some_cases(small_exercise)[0].text
    cases = [
        Case(small_exercise, "reference", "reference", text, checked=right),
        Case(small_exercise, "untouched", "untouched", right),
        Case(small_exercise, "mistake", mistakes(small_exercise)[0].name, right),
        Case(small_exercise, "alternative", "wrong", text),
        Case(small_exercise, "honest", "wrong", text),
    ]
    (found,) = findings = audit.findings_of(course, cases, workers=1)
    assert found.caught == found.named == found.accepted == found.honest_full_marks == 0
    audit.print_table(findings)
    told = " ".join(capsys.readouterr().out.split())
    for words in ("'reference' loses", "untouched notebook", "keeps all", "alternative", "honest"):
        assert words in told
    assert found.disagreements
    assert not audit.is_clean(findings)


def test_processes_of_their_own_find_the_same(course, small_exercise):
    reference = some_cases(small_exercise)[:1]
    (outcome,) = audit.grade_cases(course, reference, workers=2)
    assert outcome.full_marks and audit.disagreements(outcome) == []


def test_a_students_own_check_is_read_line_by_line_with_the_mistake_it_names(
    course, small_exercise
):
    check = own_check(wrong_notebook(small_exercise))
    mistake = mistakes(small_exercise)[0]
    assert check.mistakes[mistake.cell] == mistake.name
    wrong = [cell for (cell, _), passed in check.passed.items() if not passed]
    assert mistake.cell in wrong and any(check.passed.values())
    (outcome,) = audit.grade_cases(course, some_cases(small_exercise)[:1], workers=1)
    told = disagreements(check, outcome.result)
    assert f"{mistake.cell}: named {mistake.name!r}, not None" in told
    assert len(told) == len(wrong) + sum(name is not None for name in check.mistakes.values())


def test_lines_behind_a_fold_are_read_and_the_fold_is_none():
    fold = Fold(
        "✗ 1/3 points   the mistake that the checks `a` show, in your `f`: halved. Fix that first.",
        ["✓ 1/1 points   is < 3", "✗ 0/2 points   is right"],
    )
    outputs = Outputs(10_000)
    outputs.add("stream", {"name": "stdout", "text": "✓ 1/1 points   is long\n"})
    shown = {"text/plain": repr(fold), "text/html": fold._repr_html_()}
    outputs.add("display_data", {"data": shown})
    assert marks_shown(outputs.kept) == {"is long": "✓", "is < 3": "✓", "is right": "✗"}
    assert names_shown(outputs.kept[1].data["text/plain"]) == ["halved"]


def test_a_course_has_cases_of_its_own(tmp_path):
    package = tmp_path / "audit_cases"
    package.mkdir()
    registers = "HONEST_STYLES['of its own'] = HonestStyle('of its own', lambda notebook: None)"
    text = f"from autograder.audit.registry import HONEST_STYLES, HonestStyle\n{registers}\n"
    (package / "__init__.py").write_text(text, encoding="utf-8")
    shown = "import pathlib, sys; from autograder.audit.registry import *; "
    shown += "register_cases(pathlib.Path(sys.argv[1])); print(list(HONEST_STYLES), list(ATTACKS))"
    command = [sys.executable, "-c", shown, tmp_path]
    # where another package of this name could be imported
    ended = subprocess.run(command, cwd=COURSE.root, capture_output=True, text=True, check=True)
    assert ended.stdout == "['of its own'] []\n"
