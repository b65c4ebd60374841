"""The audit says what it saw: a clean one is clean, and a surprise is told."""

import json

import nbformat
import pytest

from autograder.audit import audit
from autograder.audit.cases import Case, catalogue_cases, extra_cases, honest_cases
from autograder.audit.own_check import disagreements, own_check
from autograder.catalogue import mistake_answers, mistakes
from autograder.errors import SubmissionFolderError
from autograder.exercises import reference_answers, solved
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("attacks")
EXERCISE = COURSE.exercise("ch2_scaled_dot_product")


def some_cases():
    """The reference, the untouched notebook, one mistake, one alternative and one style."""
    first = {}
    for case in [*catalogue_cases(EXERCISE), *honest_cases(EXERCISE)]:
        first.setdefault(case.kind, case)
    assert list(first) == ["reference", "untouched", "mistake", "alternative", "honest"]
    return list(first.values())


def wrong_notebook():
    answers = mistake_answers(EXERCISE.program(), mistakes(EXERCISE)[0])
    return nbformat.writes(solved(EXERCISE, reference_answers(EXERCISE) | answers))


def test_a_clean_audit_is_clean_and_lists_further_submissions(tmp_path):
    (tmp_path / EXERCISE.name).mkdir()
    path = tmp_path / EXERCISE.name / "somebody.ipynb"
    path.write_text(wrong_notebook(), encoding="utf-8")
    cases = [*some_cases(), *extra_cases(EXERCISE, tmp_path)]
    (found,) = findings = audit.findings_of(COURSE, cases, workers=1)
    counted = ("mistakes", "caught", "named", "alternatives", "accepted", "honest")
    assert {name: getattr(found, name) for name in counted} == dict.fromkeys(counted, 1)
    assert found.undeserved_points == 0 and found.honest_full_marks == 1
    (extra,) = found.extra
    assert extra.name == "somebody" and 0 < extra.result.score < extra.result.points
    assert audit.is_clean(findings)
    told = json.loads(audit.to_json(findings))[EXERCISE.name]
    assert told["caught"] == 1 and told["extra"][0]["result"]["cells"]


def test_every_kind_of_surprise_is_told(capsys):
    text, right = wrong_notebook(), some_cases()[0].text
    cases = [
        Case(EXERCISE, "reference", "reference", text, checked=right),
        Case(EXERCISE, "untouched", "untouched", right),
        Case(EXERCISE, "mistake", mistakes(EXERCISE)[0].name, right),
        Case(EXERCISE, "alternative", "wrong", text),
        Case(EXERCISE, "honest", "wrong", text),
    ]
    (found,) = findings = audit.findings_of(COURSE, cases, workers=1)
    assert found.caught == found.named == found.accepted == found.honest_full_marks == 0
    audit.print_table(findings)
    told = " ".join(capsys.readouterr().out.split())
    for words in ("'reference' loses", "untouched notebook", "keeps all", "alternative", "honest"):
        assert words in told
    assert found.disagreements
    assert not audit.is_clean(findings)


def test_processes_of_their_own_find_the_same():
    reference = some_cases()[:1]
    (outcome,) = audit.grade_cases(COURSE, reference, workers=2)
    assert outcome.full_marks and audit.disagreements(outcome) == []


def test_a_students_own_check_is_read_line_by_line_with_the_mistake_it_names():
    check = own_check(wrong_notebook())
    mistake = mistakes(EXERCISE)[0]
    assert check.mistakes[mistake.cell] == mistake.name
    wrong = [cell for (cell, _), passed in check.passed.items() if not passed]
    assert mistake.cell in wrong and any(check.passed.values())
    (outcome,) = audit.grade_cases(COURSE, some_cases()[:1], workers=1)
    told = disagreements(check, outcome.result)
    assert f"{mistake.cell}: named {mistake.name!r}, not None" in told
    assert len(told) == len(wrong) + sum(name is not None for name in check.mistakes.values())


def test_a_folder_of_further_submissions_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(SubmissionFolderError, match="There is no folder"):
        audit.run(COURSE, [EXERCISE], extra=tmp_path / "nowhere")
