"""Two graders in one course folder: the second says who holds the lock, and ends."""

import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from autograder.__main__ import main
from autograder.catalogue import ROOT
from autograder.errors import GradebookError
from autograder.grade import grade_class
from autograder.grade.lock import LOCK_FILE, only_grader

HOLD = """
import sys, time
from pathlib import Path
from autograder.grade.lock import only_grader
with only_grader(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def holder():
    return rf"process {os.getpid()} on {re.escape(socket.gethostname())}, since \d{{4}}-\d\d-\d\d "


def test_a_second_grader_is_told_who_is_first(tmp_path):
    with (
        only_grader(tmp_path),
        pytest.raises(GradebookError, match=holder()),
        only_grader(tmp_path),
    ):
        pass
    with only_grader(tmp_path):
        assert (tmp_path / LOCK_FILE).read_text().count("process") == 1


def test_a_lock_ends_with_an_error_of_its_holder(tmp_path):
    with pytest.raises(RuntimeError), only_grader(tmp_path):
        raise RuntimeError
    with only_grader(tmp_path):
        pass


def test_a_killed_holder_does_not_block(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with (
                pytest.raises(GradebookError, match=f"process {other.pid} "),
                only_grader(tmp_path),
            ):
                pass
        finally:
            other.send_signal(signal.SIGKILL)
    assert f"process {other.pid} " in (tmp_path / LOCK_FILE).read_text()
    with only_grader(tmp_path):
        assert f"process {os.getpid()} " in (tmp_path / LOCK_FILE).read_text()


@pytest.mark.parametrize("how", [[], ["--changed", "--yes"]])
def test_the_command_ends_with_status_2_and_grades_nothing(tmp_path, monkeypatch, capsys, how):
    monkeypatch.setattr(grade_class, "COURSE", tmp_path)
    address = f"sqlite:///{tmp_path}/gradebook.db"
    words = ["grade", "--db", address, "--submitted", str(tmp_path / "in"), *how]
    with only_grader(tmp_path), pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert re.search(holder(), capsys.readouterr().err)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]
