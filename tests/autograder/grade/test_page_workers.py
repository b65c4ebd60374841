"""A page that takes too much memory or time costs no other page, and is told."""

import os
import signal

import pytest

from autograder.grade import page_workers
from autograder.grade.page_workers import written_pages
from tests.support.needs import needs_fork_server

pytestmark = needs_fork_server
TOO_MUCH = "it takes too much memory or time"


def write(student, exercise):
    """A page of each kind, by the name of its student."""
    match student:
        case "memory":
            return bool(bytearray(3_000_000_000))
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "time":
            while True:
                pass
        case "error":
            raise ValueError("x" * 1_000)
        case "same":
            return False
    return True


def test_all_pages_are_written_but_those_that_cannot_be(monkeypatch):
    monkeypatch.setattr(page_workers, "MAX_SECONDS", 0.5)
    names = ["a", "memory", "b", "time", "killed", "c", "error", "same", "time", "d"]
    found = [
        (page[0], outcome) for page, outcome in written_pages(write, [(n, "x") for n in names])
    ]
    expected = {"memory": "MemoryError: ", "time": TOO_MUCH, "killed": TOO_MUCH, "same": False}
    expected["error"] = f"ValueError: {'x' * 200}"
    assert sorted(found, key=str) == sorted(((n, expected.get(n, True)) for n in names), key=str)


def test_pages_are_written_by_other_processes():
    ids = {outcome for _, outcome in written_pages(lambda *_: os.getpid(), [("a", "x")] * 8)}
    assert os.getpid() not in ids and 1 <= len(ids) <= page_workers.MAX_WORKERS


def test_who_stops_asking_leaves_no_process(monkeypatch):
    found = written_pages(lambda *_: os.getpid(), [("a", "x")] * 8)
    _, process = next(found)
    found.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_nothing_to_write_starts_nothing():
    assert list(written_pages(write, [])) == []
