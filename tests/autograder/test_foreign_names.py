"""Ids, names of files and titles from elsewhere are plain text on the terminal."""

import ast
import datetime
import io
import zipfile
from itertools import compress
from operator import not_

import pytest

from autograder.__main__ import main
from autograder.grade.lateness import Late
from autograder.grade.result import Basis, Limits, Result
from autograder.grade.submission import Submission
from autograder.grade.worker_pool import GradingJob
from autograder.lms.push import Change, Plan, show
from autograder.package import PACKAGE
from autograder.progress import progress, say
from autograder.report.deadlines import print_late
from autograder.report.pages import print_scores
from tests.support.copies import repository

EXERCISE = "ch1_additive_attention"
# a window's title, a cleared screen, red letters, a text that is read from right to left, markup
NASTY = "mal\x1b]0;owned\x07\x1b[2J\x1b[31mory\u202etxt\r[bold]"
ACTING = ("\x1b", "\x07", "\r", "\u202e")


def assert_plain(printed):
    assert "mal" in printed and "[bold]" in printed
    assert not [mark for mark in ACTING if mark in printed]


def test_names_in_a_zip(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(repository(tmp_path))
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"mallory_101_202_{NASTY}.ipynb", "{}")
        archive.writestr(f"{NASTY}_103_204_notes.txt", "")
        archive.writestr(f"{NASTY}.txt", "")
        inner = io.BytesIO()
        zipfile.ZipFile(inner, "w").close()
        archive.writestr(f"oscar_105_206_{NASTY}.zip", inner.getvalue())
    main(["import-zip", str(path), "--exercise", EXERCISE])
    printed = capsys.readouterr()
    assert_plain(printed.err)
    assert printed.err.count("mal") >= 3


def test_a_name_in_a_zip_makes_no_further_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(repository(tmp_path))
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mallory_101_202_x\nAll submissions are lost.\u2028.ipynb", "{}")
        archive.writestr("oscar_103_204_x\nAll submissions are lost.txt", "")
    main(["import-zip", str(path), "--exercise", EXERCISE])
    lines = "".join(capsys.readouterr()).splitlines()
    assert len([line for line in lines if "lost" in line]) == 3
    assert not [line for line in lines if line.startswith("All submissions")]


def test_ids_in_tables(capsys):
    result = Result(NASTY, EXERCISE, (), (), Basis("", "", Limits(), {}), 1.0)
    print_scores([result])
    assert_plain(capsys.readouterr().out)
    print_late([Late(NASTY, EXERCISE, datetime.timedelta(hours=1), 1.0, 0.0)])
    assert_plain(capsys.readouterr().out)
    show(Plan(1, NASTY, (Change(NASTY, 1, None, 2.0, NASTY),), 0, ()))
    assert_plain(capsys.readouterr().out)


def test_ids_beside_a_progress_bar(capsys):
    with progress("Grading") as bar:
        shown = bar.add_task("", total=1)
        bar.update(shown, advance=1, description=str(GradingJob(EXERCISE, Submission(NASTY))))
    printed = capsys.readouterr().err
    assert "owned" in printed and not [mark for mark in ACTING[1:] if mark in printed]
    assert "\x1b]" not in printed


# they print what is the course's own: addresses, pages, figures of an audit
OWN = ("publishing.py", "building.py", "dask_pool.py")


@pytest.mark.parametrize("folder", ["commands", "grade", "lms", "report"])
def test_nothing_but_constants_is_printed_in_another_way(folder):
    calls = [
        node
        for path in sorted((PACKAGE / folder).glob("*.py"))
        if path.name not in OWN
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    ]
    constant = [all(isinstance(part, ast.Constant) for part in call.args) for call in calls]
    assert [ast.unparse(call) for call in compress(calls, map(not_, constant))] == []


def test_a_sentence_is_one_line(capsys):
    say(f"{NASTY} is here.", "And so on.")
    printed = capsys.readouterr().out
    assert_plain(printed)
    assert printed.count("\n") == 2
