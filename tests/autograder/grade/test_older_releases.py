"""Who has a notebook of an older release isn't charged for what only a newer statement says."""

from dataclasses import replace

import pytest

from autograder.build import generate
from autograder.build.released_versions import released_versions
from autograder.course import Course
from autograder.exercises import STRICT, cell_digest, is_grade_cell, metadata_of, released
from autograder.grade.examine import grade_submission
from autograder.grade.make_keys import answer_key
from autograder.grade.older_releases import is_lenient
from autograder.grade.submission import Submission, SubmittedCell, read_notebook
from autograder.instructor_settings import Limits, Settings
from tests.running_class import class_exercises, unpack_class
from tests.support import small_course as small

ROUNDED = "def double(x):\n    return (2 * x * (1 + 3e-5)).astype(np.float32)"
OLDER = "# x = draw.array(3)\n# ### 2p AUTOTEST double( x )  # as it was"


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """The notebooks of a class that began with an earlier release."""
    return unpack_class(tmp_path_factory.mktemp("older"), "released") / "released"


def submission(cells):
    return Submission("ada", tuple(cells))


def test_an_older_release_is_recognised_and_the_present_one_is_none(exercise, older):
    if exercise.name not in class_exercises():
        pytest.skip(f"{exercise} is newer than the class")
    release, versions = released(exercise), released_versions(exercise)
    cells, _, _ = read_notebook(older / f"{exercise.name}.ipynb")
    strict = set(versions[STRICT])
    assert strict >= {cell_digest(cell.source) for cell in release.cells if is_grade_cell(cell)}
    names = {metadata_of(cell).grade_id for cell in release.cells if is_grade_cell(cell)}
    checks = {cell_digest(cell.source) for cell in cells if cell.grade_id in names}
    # where no check has changed since, nothing tells the two apart
    assert is_lenient(submission(cells), release, versions) == bool(checks - strict)
    assert bool(checks - strict) == (exercise.name != "ch10_circuits")
    present, _, _ = read_notebook(exercise.notebook)
    assert not is_lenient(submission(present), release, versions)
    # a notebook that lost its checks, or whose checks are its own, is none of ours
    assert not is_lenient(submission(()), release, versions)
    made_up = [SubmittedCell(cell.kind, cell.source + "\n# mine", cell.grade_id) for cell in cells]
    assert not is_lenient(submission(made_up), release, versions)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """The answer key of an exercise of which an older check is known."""
    with small.settings_of_a_course(tmp_path_factory.mktemp("small")) as root:
        cells = [small.IMPORTS, small.DOUBLE, small.check_cell(small.CHECK)]
        exercise = small.write_exercise(root, "ch9_small", cells)
        generate.build(Course(root))
        key = answer_key(Course(root), exercise)
    present = key.versions["values"]
    assert key.versions[STRICT] == present
    return replace(key, versions={**key.versions, "values": [cell_digest(OLDER), *present]})


def cells_with(key, checks, answer=ROUNDED):
    """The cells of a notebook with these sources under the name of the check."""
    answered = [SubmittedCell("code", answer, grade_id="double")]
    return [*answered, *(SubmittedCell("code", source, grade_id="values") for source in checks)]


def test_a_check_of_an_older_release_beside_the_present_one_changes_nothing(key):
    (present,) = [cell.source for cell in key.release.cells if cell.id == "values"]
    for checks, lenient in (([present, OLDER], False), ([OLDER, present], True)):
        found = submission(cells_with(key, checks))
        assert is_lenient(found, key.release, key.versions) == lenient


def test_what_is_right_anyway_has_no_remark(key):
    right = submission(cells_with(key, [OLDER], "def double(x):\n    return 2 * x"))
    result = grade_submission(right, key, Settings(Limits(sandbox=False))).result
    assert (result.score, result.remarks) == (2, ())


@pytest.mark.parametrize(("older", "score"), [(True, 2), (False, 0)])
def test_float32_is_tolerated_where_the_statement_left_the_data_type_open(key, older, score):
    (present,) = [cell.source for cell in key.release.cells if cell.id == "values"]
    cells = cells_with(key, [OLDER if older else present])
    graded = grade_submission(submission(cells), key, Settings(Limits(sandbox=False)))
    assert graded.result.score == score
    # whoever looks at the grade reads what it rests on
    kinds = [remark.kind for remark in graded.result.remarks]
    assert kinds == (["older_release"] if older else [])
