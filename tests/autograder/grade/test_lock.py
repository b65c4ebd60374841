"""Two graders in one course folder: the second says who holds the lock, and ends."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from autograder.__main__ import main
from autograder.errors import GradebookError, OutputError
from autograder.grade.lock import LOCK_FILE, only_grader
from autograder.package import PACKAGE_ROOT
from tests.support.course import COURSE

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
    with subprocess.Popen(command, cwd=PACKAGE_ROOT, stdout=subprocess.PIPE, text=True) as other:
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


def test_a_course_folder_is_made_when_it_is_not_there(tmp_path):
    with only_grader(tmp_path / "new" / "course"):
        assert (tmp_path / "new" / "course" / LOCK_FILE).is_file()


def test_a_course_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(
            OutputError, match=r"file/course/grading\.lock can't be written: Not a directory"
        ),
        only_grader(tmp_path / "file" / "course"),
    ):
        pass


@pytest.mark.parametrize("how", [[], ["--changed", "--yes"]])
def test_the_command_ends_with_status_2_and_grades_nothing(tmp_path, monkeypatch, capsys, how):
    for name in ("solutions", "exercises", "autograder", "book"):
        (tmp_path / name).symlink_to(COURSE.root / name)
    shutil.copy(COURSE.root / "nbgrader_config.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "course"
    with only_grader(home), pytest.raises(SystemExit) as end:
        main(["grade", *how])
    assert end.value.code == 2
    assert re.search(holder(), capsys.readouterr().err)
    # source notebooks are no grades: nbgrader's commands need them
    assert {path.name for path in home.iterdir()} <= {LOCK_FILE, "source"}
