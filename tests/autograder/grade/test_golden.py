"""The grader gives what its version gave: golden results of a fixed set of submissions."""

import json

import pytest

from autograder.course import Course
from tests import golden
from tests.support.class_keys import give_keys
from tests.support.copies import repository, with_short_limits
from tests.support.submissions import EXERCISE

pytestmark = pytest.mark.xdist_group("submissions")


@pytest.fixture(scope="module")
def golden_results(tmp_path_factory):
    course = Course(with_short_limits(repository(tmp_path_factory.mktemp("golden"))))
    course.home.mkdir()
    give_keys(course, EXERCISE.name, seed=golden.SEED)
    return golden.golden_results(course)


def recorded():
    return json.loads(golden.golden_file().read_text(encoding="utf-8"))


def test_this_version_gives_what_it_gave(golden_results):
    before = recorded()
    assert list(golden_results) == list(before)
    for name, result in golden_results.items():
        # as text, because NaN is not equal to itself
        assert json.dumps(result) == json.dumps(golden.stable(before[name])), (
            f"{name}: a verdict has changed. If that is right, raise GRADER_VERSION in "
            "autograder/grade/result.py and run `python -m tests.golden`."
        )


def test_the_recorded_results_tell_right_from_wrong():
    """Guards against a file that was written while the grader was broken."""
    found = recorded()
    failed = {
        name: [line for line in result["lines"].values() if isinstance(line, dict)]
        for name, result in found.items()
    }
    full = found["reference"]["score"]
    assert len(found) == 12
    for name in ("reference", "alternative 0", "alternative 1", "noise"):
        assert found[name]["score"] == full == sum(found[name]["lines"].values())
    assert found["untouched"]["score"] == 0
    for name in golden.MISTAKES:
        assert 0 < found[name]["score"] < full
        assert name in [line["mistake"] for line in failed[name]]
    aspects = {line["difference"]["aspect"] for lines in failed.values() for line in lines}
    assert {"to_do", "timeout", "cell_failed", "kind", "entries"} <= aspects


def test_results_are_recorded_once_a_version(tmp_path):
    golden.write({"a": 1}, tmp_path / "grader-1.json")
    with pytest.raises(FileExistsError):
        golden.write({"a": 2}, tmp_path / "grader-1.json")
    golden.write({"a": 2}, tmp_path / "grader-2.json")
    (path,) = tmp_path.iterdir()
    assert json.loads(path.read_text()) == {"a": 2}
