"""The list of known faults gets shorter only."""

import pytest

from tests.known_faults import FILE, check, check_counts


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "faults.txt"
    path.write_text(
        "# why\n\nspelling | ch1 | comma | cat\nspelling | ch2 | colon\nwide | ch1 | 3\n"
    )
    return path


def test_what_is_known_passes(file):
    check("spelling", {"ch1": ["comma | cat"], "ch2": ["colon", "colon"], "ch3": []}, file)
    check_counts("wide", {"ch1": 3, "ch2": 0}, file)
    check("unheard of", {}, file)


def test_what_is_new_fails(file):
    with pytest.raises(AssertionError, match=r"New.*\n.*spelling \| ch1 \| colon"):
        check("spelling", {"ch1": ["comma | cat", "colon"], "ch2": ["colon"]}, file)
    with pytest.raises(AssertionError, match="ch1 has 4, known are 3: mend what is new"):
        check_counts("wide", {"ch1": 4}, file)
    with pytest.raises(AssertionError, match="ch2 has 1, known are 0"):
        check_counts("wide", {"ch1": 3, "ch2": 1}, file)


def test_what_is_gone_but_listed_fails(file):
    with pytest.raises(AssertionError, match=r"Gone.*\n.*spelling \| ch2 \| colon"):
        check("spelling", {"ch1": ["comma | cat"]}, file)
    with pytest.raises(AssertionError, match="ch1 has 2, known are 3: write 2"):
        check_counts("wide", {"ch1": 2}, file)
    with pytest.raises(AssertionError, match="ch1 has 0"):
        check_counts("wide", {}, file)


def test_no_fault_is_listed_twice_and_every_rule_is_one_of_a_test():
    text = FILE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    assert len(lines) == len(set(lines))
    tests = "".join(path.read_text(encoding="utf-8") for path in FILE.parent.glob("test_*.py"))
    for rule in {line.split(" | ")[0] for line in lines}:
        assert f'"{rule}"' in tests, f"no test looks for {rule}"
