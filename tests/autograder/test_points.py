"""Points are rounded, and written for people, in one place."""

import re

from autograder.points import as_shown, rounded, with_decimals
from tests.support.course import COURSE

# these write points for notebooks, for people's own machines, or for whoever changes the course
OF_THEIR_OWN = {"runtime", "build", "publish", "audit"}
NO_POINTS = ("seconds", "memory", "megabytes", "field.default")


def test_points_have_two_decimals_at_most_and_whole_ones_have_none():
    points = (32.0, 16 / 3, 0.1 + 0.2, 20.25, 0, -0.0)
    assert [f"{as_shown(number)}" for number in points] == ["32", "5.33", "0.3", "20.25", "0", "0"]
    assert f"{as_shown(0.5):+} {as_shown(-2.0):+}" == "+0.5 -2"
    assert [f"{rounded(number)}" for number in (32.0, 16 / 3, 2)] == ["32.0", "5.33", "2"]
    assert [with_decimals(number) for number in (32, 16 / 3)] == ["32.00", "5.33"]


def test_no_other_module_rounds_points_or_writes_them_in_a_way_of_its_own():
    rounding, writing = [], []
    package = COURSE.root / "autograder"
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package)
        if path.suffix not in (".py", ".j2", ".html") or name.parts[0] in OF_THEIR_OWN:
            continue
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"\bround\((?:[^()]|\([^()]*\))*\b(?:2|DECIMALS)\)", text)
        rounding += [name.as_posix() for _ in found]
        numbers = re.findall(r"\{([^{}]*):\+?g\}", text)
        writing += [f"{name}: {n}" for n in numbers if not any(word in n for word in NO_POINTS)]
    assert rounding == ["points.py"] and not writing
