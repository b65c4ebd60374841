"""A corrected check is the instructor's change; an edited one is the student's."""

import copy

import pytest

from autograder.audit.sample_class import solved
from autograder.build import released_versions
from autograder.build.generate import released
from autograder.grade.sanitize import rebuild
from autograder.grade.submission import Submission, _cells

EXERCISE, CHECK = "ch2_scaled_dot_product", "softmax_values"


def check(notebook):
    return next(
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == CHECK
    )


@pytest.fixture
def corrected(monkeypatch, tmp_path):
    """The exercise with one check corrected, after the release of the version handed out."""
    monkeypatch.setattr(released_versions, "SOLUTIONS", tmp_path)
    before = released(EXERCISE)
    released_versions.remember_released(EXERCISE, before)
    after = copy.deepcopy(before)
    check(after).source += "\ncheck('1 + 1', points=1, answer='')"
    released_versions.remember_released(EXERCISE, after)
    return after


def remarks(release, change=lambda cell: None):
    submitted = solved(EXERCISE, {})
    change(check(submitted))
    submission = Submission(*_cells(submitted))
    known = released_versions.released_versions(EXERCISE)
    return rebuild(submission, release, known).metadata.autotest.remarks


def test_nobody_is_told_to_have_changed_a_check_that_was_corrected(corrected):
    assert remarks(corrected) == []
    assert remarks(released(EXERCISE)) == []


def test_who_edits_a_check_is_told(corrected):
    def edit(cell):
        cell.source = cell.source.replace("check(", "print(", 1)

    told = [f"The check {CHECK} had been changed; the released one was used."]
    assert remarks(corrected, edit) == told


def test_every_version_is_remembered_once(corrected):
    before = released_versions.released_versions(EXERCISE)
    assert {len(digests) for name, digests in before.items() if name != CHECK} == {1}
    assert len(before[CHECK]) == 2
    released_versions.remember_released(EXERCISE, released(EXERCISE))
    assert released_versions.released_versions(EXERCISE) == before


def test_what_is_released_is_remembered_in_the_repository(exercise):
    known = released_versions.released_versions(exercise)
    cells = [c for c in released(exercise).cells if c.cell_type == "code"]
    locked = [c for c in cells if not c.metadata.nbgrader.solution]
    assert len(locked) > 3
    for cell in locked:
        assert released_versions.cell_digest(cell.source) in known[cell.metadata.nbgrader.grade_id]
