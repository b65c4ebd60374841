"""Faults of the book's pages that are known and still to be mended: the list may only get shorter.

known_faults.txt has one fault a line, `rule | page | fault`. A test collects what it finds now and
calls `check`, or `check_counts` where the fault is a number that may only fall. Both fail on a fault
that isn't listed, and on a line whose fault is gone: delete that line.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

FILE = Path(__file__).with_name("known_faults.txt")


def listed(rule: str, file: Path = FILE) -> set[tuple[str, str]]:
    """The known faults of a rule: (page, fault)."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    parts = [line.split(" | ", 2) for line in lines if line]
    assert all(len(part) == 3 for part in parts), f"{file.name}: a line is `rule | page | fault`"
    return {(page, fault) for name, page, fault in parts if name == rule}


def check(rule: str, found: Mapping[str, Iterable[str]], file: Path = FILE) -> None:
    """Compare what a rule finds with the list. found: page -> faults, each on one line."""
    now = {(page, fault) for page, faults in found.items() for fault in faults}
    known = listed(rule, file)
    complaints = []
    if now - known:
        complaints += ["New; mend these pages:", *_lines(rule, now - known)]
    if known - now:
        complaints += [f"Gone; delete from {file.name}:", *_lines(rule, known - now)]
    assert not complaints, "\n".join(["", *complaints])


def check_counts(rule: str, counts: Mapping[str, int], file: Path = FILE) -> None:
    """The same for a number per page, which may only fall. A page without a line has to have 0."""
    known = {page: int(number) for page, number in listed(rule, file)}
    complaints = [
        f"{rule}: {page} has {now}, known are {known.get(page, 0)}: "
        + ("mend what is new" if now > known.get(page, 0) else f"write {now} into {file.name}")
        for page in sorted({*counts, *known})
        if (now := counts.get(page, 0)) != known.get(page, 0)
    ]
    assert not complaints, "\n".join(["", *complaints, "(with 0, delete the line)"])


def _lines(rule: str, faults: set[tuple[str, str]]) -> list[str]:
    return [f"{rule} | {page} | {fault}" for page, fault in sorted(faults)]
