"""One student's file names are nobody else's loss, whichever way they come."""

import io
import os
import unicodedata
import zipfile

import pytest

from audit_cases.repositories import FILE, Repository
from autograder.course import Course
from autograder.errors import OutputError
from autograder.files import MAX_NAME, NOT_ORDINARY
from autograder.grade.submission import read_companions
from autograder.lms.collect_github import take
from autograder.lms.import_zip import import_zip
from autograder.lms.laid_out import ImportResult, put
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME = EXERCISE.notebook.name
TAKEN = (
    *("data.csv", "my photo.jpg", "con", "trailing dot.", "trailing blank ", "-rf", "*?.txt"),
    *("größe.csv", unicodedata.normalize("NFD", "größe größer.csv"), "x" * MAX_NAME, "ü" * 71),
    *("at 10.15\u202fPM.png", "no\u00a0break", "\U0001f469\u200d\U0001f4bb", "\U0001f600" * 35),
    *("\u0e01\u0e33.txt", "ｆｕｌｌ.py", "a\u0301\u0302\u0303.txt"),
)
LEFT_OUT = (
    *("x" * (MAX_NAME + 1), "x" * 256, "ü" * 72, "\U0001f600" * 70 + ".txt", "a\u0301" * 140),
    *("line\nbreak.txt", "tab\t.txt", "bell\x07.txt", "\u202egnp.exe", "\ufffe"),
    *("zero\u200bwidth", "\x7f"),
)


def packed(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


DOORS = {
    "Canvas": lambda n, name: {f"mal_{n}_21_{NAME}": "mal", f"mal_{n}_22_{name}": "x"},
    "Moodle": lambda n, name: {
        f"Mal {n}_{n}_assignsubmission_file_/{file}": "mal" for file in (NAME, name)
    },
    "a zip in it": lambda n, name: {f"mal_{n}_21_a.zip": packed({NAME: "mal", name: "x"})},
    "another notebook": lambda n, name: {
        f"mal_{n}_{part}_{file}": "mal" for part, file in ((21, NAME), (22, f"{name}.ipynb"))
    },
}


@pytest.mark.parametrize("door", DOORS)
def test_a_zip_with_these_names_lays_out_everybody(tmp_path, door):
    course = Course(COURSE.root, class_folder=tmp_path / "course")
    given = dict(enumerate(TAKEN + LEFT_OUT, 100))
    files = {f"ada_1_11_{NAME}": "ada", f"zoe_999_31_{NAME}": "zoe"}
    for n, name in given.items():
        files |= DOORS[door](n, name)
    path = tmp_path / "class.zip"
    path.write_bytes(packed(files))
    done = import_zip(course, path, EXERCISE)
    assert len(done.new) == len(given) + 2
    again = import_zip(course, path, EXERCISE)
    assert sorted(again.unchanged) == sorted(done.new) and again.notes == done.notes
    for n, name in given.items():
        (mal,) = course.submitted.glob(f"[mM]al_{n}/*")
        beside = {entry.name for entry in mal.iterdir()} - {NAME}
        if door == "another notebook":
            assert len(beside) == 1, name
            continue
        assert beside == ({unicodedata.normalize("NFC", name)} if name in TAKEN else set())
        told = [note for note in done.notes if note.lower().startswith(f"mal_{n}")]
        assert any(NOT_ORDINARY in note for note in told) == (name in LEFT_OUT)


def test_a_clone_and_the_folders_reader_judge_alike(tmp_path):
    repository, taken = Repository(tmp_path / "a.git"), {}
    blob = repository.add("blob", b"x")
    for name in TAKEN + LEFT_OUT:
        repository.commit(repository.tree(*((FILE, file, blob) for file in (NAME, name))))
        taken[name] = take(tmp_path / "a.git", EXERCISE.name)
        folder = tmp_path / str(len(taken))
        if len(name.encode()) <= 255:
            folder.mkdir()
            (folder / name).touch()
            found, told = read_companions(folder, NAME)
            assert (set(found), bool(told)) == (({name}, False) if name in TAKEN else (set(), True))
    assert {name for name, one in taken.items() if name in one.files} == set(TAKEN)
    assert {name for name, one in taken.items() if "1 files have" in " ".join(one.notes)} == {
        *LEFT_OUT
    }


def test_what_the_system_refuses_of_one_student_is_a_note(tmp_path, monkeypatch):
    course = Course(COURSE.root, class_folder=tmp_path / "course")
    result = ImportResult()
    assert put(course, EXERCISE, "mal", {NAME: b"first"}, result)
    # as a file system that takes shorter names than most
    assert not put(course, EXERCISE, "mal", {NAME: b"again", "x" * 300: b""}, result)
    assert put(course, EXERCISE, "zoe", {NAME: b"zoe"}, result)
    assert (result.new, result.replaced) == (
        ["mal", "zoe"],
        [],
    ) and "File name too" in result.notes[0]
    assert [entry.name for entry in (course.submitted / "mal").iterdir()] == [EXERCISE.name]
    assert (course.submitted / "mal" / EXERCISE.name / NAME).read_bytes() == b"first"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="write elsewhere"):
        put(course, EXERCISE, "mal", {"x" * 300: b""}, result)
