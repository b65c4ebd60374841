"""Who has a notebook of an older release isn't charged for what only a later statement says."""

import pytest

from autograder.build import generate
from autograder.course import Course
from autograder.exercises import grade_cells, released
from autograder.grade.examine import grade_submission
from autograder.grade.make_keys import answer_key
from autograder.grade.submission import Submission, SubmittedCell
from autograder.instructor_settings import Limits, Settings
from tests.support import small_course as small

LATER = """# x = draw.array(3)
# ### 1p AUTOTEST double(x)
# says("large numbers, too", added="large numbers")
# ### 1p AUTOTEST double(1e9 * x)"""
# and a line that the first release didn't have, for what its statement says
CORRECTED = LATER.replace('says("large numbers, too", added="large numbers")', 'says("Large.")')
RIGHT, CLIPPED, UNTOUCHED = (
    f"def double(x):\n    {body}"
    for body in ("return 2 * x", "return np.clip(2 * x, -100, 100)", "raise NotImplementedError")
)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """By how the check was changed, the answer key, and the check as it was first released."""
    found = {}
    for name, lines in {"added": LATER, "corrected": CORRECTED}.items():
        with small.settings_of_a_course(tmp_path_factory.mktemp(name)) as root:
            for check in (small.CHECK, lines):
                cells = [small.IMPORTS, small.DOUBLE, small.check_cell(check)]
                exercise = small.write_exercise(root, "ch9_small", cells)
                generate.build(Course(root))
                if check == small.CHECK:
                    first = grade_cells(released(exercise))["values"]
            found[name] = answer_key(Course(root), exercise), first
    return found


@pytest.mark.parametrize(
    ("change", "answer", "of_release", "score", "remarks"),
    [
        ("added", CLIPPED, "first", 2, ["older_release"]),
        ("added", CLIPPED, "present", 1, []),
        ("added", CLIPPED, "its own", 1, ["check_changed"]),
        ("added", RIGHT, "first", 2, []),
        ("added", UNTOUCHED, "first", 0, []),
        ("corrected", CLIPPED, "first", 1, []),
    ],
)
def test_what_a_later_statement_adds_counts_where_it_is_said(
    keys, change, answer, of_release, score, remarks
):
    key, first = keys[change]
    present = grade_cells(key.release)["values"]
    check = {"first": first, "present": present, "its own": f"{first}\n# mine"}[of_release]
    cells = (
        SubmittedCell("code", answer, grade_id="double"),
        SubmittedCell("code", check, grade_id="values"),
    )
    submission = Submission("ada", cells)
    result = grade_submission(submission, key, Settings(Limits(sandbox=False))).result
    assert (result.score, [remark.kind for remark in result.remarks]) == (score, remarks)
