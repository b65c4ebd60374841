"""A number that is stored has a program that measured it, and somebody who reads it."""

import json
import re

import pytest

from tests.support.course import COURSE

RESULTS = sorted((COURSE.book / "results").glob("*.json"))
# nothing is stored beside its benchmark without a reader, either
MEASURED = sorted(
    path
    for name in ("book/measured", "benchmarks")
    for path in (COURSE.root / name).rglob("*.json")
)
PROGRAMS = [path.stem for path in (COURSE.root / "benchmarks").iterdir()]
READERS = [
    *COURSE.book.glob("*.py"),
    *COURSE.book.glob("*.md"),
    *(COURSE.root / "autograder").rglob("*.py"),
]


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_a_measured_number_has_its_benchmark_and_a_reader(path):
    names = [path.stem, *(path.stem[: found.start()] for found in re.finditer("_", path.stem))]
    assert {*names} & {*PROGRAMS}, "no benchmark of this name writes it"
    says = re.compile(rf"{path.parent.name}\W+{path.name}")
    assert any(says.search(one.read_text(encoding="utf-8")) for one in READERS)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_stored_result_has_a_page_that_asks_for_it(path):
    text = (COURSE.book / f"{path.stem}.md").read_text(encoding="utf-8")
    stored = {entry["function"] for entry in json.loads(path.read_text())["results"]}
    assert stored and re.search(r"\bstored\b", text)
    assert not [name for name in stored if not re.search(rf"(?<!def )\b{name}\b", text)]


def test_there_are_results():
    assert MEASURED and RESULTS
