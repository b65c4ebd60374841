"""The audit says what it saw: a clean one is clean, and a surprise is told."""

import json

import nbformat
import pytest

from autograder.audit import run
from autograder.audit.sample_class import reference_answers, solved
from autograder.catalogue import mistake_answers, mistakes, solution_path

pytestmark = pytest.mark.xdist_group("attacks")
EXERCISE = "ch2_scaled_dot_product"


def some_cases(exercise):
    """The reference, the untouched notebook, one mistake and one alternative."""
    cases = [case for case in run.cases_of(exercise) if case.kind != "attack"]
    first = {}
    for case in cases:
        first.setdefault(case.kind, case)
    return [first[kind] for kind in ("reference", "untouched", "mistake", "alternative", "honest")]


def wrong_notebook():
    program = solution_path(EXERCISE).read_text(encoding="utf-8")
    answers = reference_answers(EXERCISE) | mistake_answers(program, mistakes(EXERCISE)[0])
    return nbformat.writes(solved(EXERCISE, answers))


def test_a_clean_audit_is_clean_and_lists_further_submissions(monkeypatch, tmp_path):
    cases = some_cases(EXERCISE)
    monkeypatch.setattr(run, "cases_of", lambda exercise: cases)
    (tmp_path / EXERCISE).mkdir()
    (tmp_path / EXERCISE / "somebody.ipynb").write_text(wrong_notebook(), encoding="utf-8")
    findings = run.run([EXERCISE], extra=tmp_path)
    found = json.loads(json.dumps(findings))[EXERCISE]
    counted = ("mistakes", "caught", "named", "alternatives", "accepted", "honest")
    assert {key: found[key] for key in counted} == dict.fromkeys(counted, 1)
    assert found["undeserved_points"] == 0 and found["honest_full_marks"] == 1
    (extra,) = found["extra"]
    assert extra["name"] == "somebody" and 0 < extra["score"] < extra["points"]
    assert run.is_clean(findings)


def test_every_kind_of_surprise_is_told(monkeypatch):
    text = wrong_notebook()
    right = some_cases(EXERCISE)[0].text
    cases = [
        run.Case(EXERCISE, "reference", "reference", text, right),
        run.Case(EXERCISE, "untouched", "untouched", right),
        run.Case(EXERCISE, "mistake", mistakes(EXERCISE)[0].name, right),
        run.Case(EXERCISE, "alternative", "wrong", text),
        run.Case(EXERCISE, "honest", "wrong", text),
    ]
    monkeypatch.setattr(run, "cases_of", lambda exercise: cases)
    findings = run.run([EXERCISE])
    found = findings[EXERCISE]
    assert found["caught"] == found["named"] == found["accepted"] == found["honest_full_marks"] == 0
    told = " ".join(found["surprises"])
    for words in ("reference loses", "untouched notebook", "keeps all", "alternative", "honest"):
        assert words in told
    assert found["disagreements"]
    assert not run.is_clean(findings)
