"""The deliberate faults fit the project as it stands; `python -m tests.faults` puts them in."""

from collections import Counter

from tests.faults import TESTS, faults


def test_every_fault_still_has_its_place():
    for fault in faults():
        text = (TESTS.parent / fault.file).read_text(encoding="utf-8")
        assert fault.applied(text) != text
        assert fault.caught_by and all((TESTS / name).is_file() for name in fault.caught_by)


def test_there_are_faults_of_every_part():
    parts = Counter(fault.file.partition("/")[0] for fault in faults())
    assert parts.total() >= 40 and len({fault.name for fault in faults()}) == parts.total()
    assert (
        parts["autograder"] >= 24
        and parts["book"] >= 7
        and parts["solutions"] + parts["translation"] >= 7
    )
