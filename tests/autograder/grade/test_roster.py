"""Tables as spreadsheet programs save them, and the roster in the gradebook."""

import re

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.course import Course
from autograder.errors import TableError
from autograder.grade.roster import import_roster
from autograder.package import PACKAGE
from autograder.tables import read_csv, read_table, write_csv
from tests.support.course import COURSE

TABLE = "id,first_name,last_name,email\ns010,Jörg,Müller,j@example.org\ns011,Zoë,d'Été – Łuk,\n"
SAVED = {
    "UTF-8": TABLE.encode(),
    "with a byte order mark": TABLE.encode("utf-8-sig"),
    "with semicolons": TABLE.replace(",", ";").encode(),
    "with tabs in UTF-16": TABLE.replace(",", "\t").encode("utf-16"),
    "with Excel's first line": ("sep=;\r\n" + TABLE.replace(",", ";")).encode("utf-8-sig"),
    "with ids kept as text": TABLE.replace("s010", '="s010"').encode(),
    "with two byte order marks": b"\xef\xbb\xbf" + TABLE.encode("utf-8-sig"),
    "with line breaks of Windows": TABLE.replace("\n", "\r\n").encode(),
    "cp1252": TABLE.replace("Ł", "L").encode("cp1252"),
    "cp1252 with semicolons": TABLE.replace("Ł", "L").replace(",", ";").encode("cp1252"),
}


@pytest.fixture
def course(tmp_path):
    return Course(COURSE.root, class_folder=tmp_path / "class")


def students(course):
    with Gradebook(course.db_url) as book:
        return {s.id: (s.first_name, s.last_name, s.email, s.lms_user_id) for s in book.students}


def imported(course, content, name="roster.csv"):
    path = course.home.parent / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return import_roster(course, path)


@pytest.mark.parametrize("name", SAVED)
def test_a_roster_is_read_however_it_is_saved(course, name):
    done = imported(course, SAVED[name])
    assert done.added == ["s010", "s011"]
    found = students(course)
    assert found["s010"] == ("Jörg", "Müller", "j@example.org", None)
    assert found["s011"][0] == "Zoë" and found["s011"][1].startswith("d'Été – ")
    assert len(done.notes) == name.startswith("cp1252")


@pytest.mark.parametrize(
    "head",
    [
        "Username,First name,Last name,E-mail",
        "Student ID,Given name,Surname,Email address",
        "ID,FIRST_NAME,LAST_NAME,EMAIL",
        "SIS Login ID,Firstname,Lastname,Mail",
        "SID,First Name,Last Name,Email",
        "User Name,Forename,Family Name,E-mail address",
    ],
)
def test_a_roster_may_have_another_programs_columns(course, head):
    imported(course, TABLE.replace("id,first_name,last_name,email", head))
    assert students(course)["s010"] == ("Jörg", "Müller", "j@example.org", None)


def test_control_characters_of_a_table_act_on_nobody(course, tmp_path):
    nasty = "Ada\x1b[2J\x07\x9b31m\x7f"
    path = tmp_path / "table.csv"
    path.write_text(f'id,first_name\ns1,{nasty}\ns2,"two\nlines\tof text"\n')
    plain = "Ada\ufffd[2J\ufffd\ufffd31m\ufffd"
    assert read_table(path)[1] == [["s1", plain], ["s2", "two\nlines\tof text"]]
    assert next(row["first_name"] for _, row in read_csv(path, ("id",))) == plain
    import_roster(course, path)
    assert students(course)["s1"][0] == plain
    write_csv(path, ["id"], [[nasty]])
    assert path.read_text().splitlines() == ["id", plain]


def test_no_other_module_reads_tables():
    files = PACKAGE.rglob("*.py")
    readers = [path.name for path in files if re.search(r"import csv|pandas", path.read_text())]
    assert readers == ["tables.py"]


@pytest.mark.parametrize(
    "content", [b"id\n\x81\x8d\x8f\n", b"id,name\n\x00\x01\n", b"\xff\xfei\x00d\x00\n\x00\x00"]
)
def test_what_is_no_table_is_told_in_one_sentence(course, content):
    with pytest.raises(TableError, match="can't be read as a CSV file: it is in none of"):
        imported(course, content)


def test_another_import_changes_what_it_says_and_nothing_else(course):
    imported(course, "id,first_name,email,lms_user_id\ns1,Ada,a@example.org,17\ns2,Ben,,\n")
    done = imported(course, "id,first_name,group\ns1,Ada,A\ns3,Chi,B\ns2,Benjamin,\n")
    assert (done.added, done.changed, done.unchanged) == (["s3"], ["s2"], ["s1"])
    found = students(course)
    assert found["s1"] == ("Ada", None, "a@example.org", "17")
    assert found["s2"][0] == "Benjamin" and set(found) == {"s1", "s2", "s3"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("id\ns1\ns1\n", "line 3: s1 is in a line above"),
        ("id,first_name\ns1,A\n,B\n", "line 3: there is no id"),
        ("id\n1.23E+08\n", "line 2: 1.23E[+]08 is a number as a spreadsheet"),
        ("id\n123.0\n", "Format the column id as text"),
        ("id\n../x\n", "name of a folder"),
        ('id,first_name\ns1,A\ns2,"B\ns3,C\n', "row that begins in line 3"),
        ('id,first_name\ns1,"A" B\n', "row that begins in line 2"),
        ("id,first_name,First_Name\ns1,A,B\n", "line 1: there are two columns first_name"),
        ('id, first_name\ns1, "A, B"\n', "line 2: there are more cells than columns.*double quote"),
        ("<html><table>", "own file.*Save it there as CSV"),
        ("PK\x03\x04sheet", "own file.*Save it there as CSV"),
        (
            "id\ns1\ns\x1b[2J2\n",
            "line 3: 's\ufffd.2J2' holds a character that can't be seen or read",
        ),
        ('id\n"s1\ns2"\n', r"line 3: 's1\\ns2' holds a character"),
        ("id\ns1\u200b\n", r"'s1\\u200b' holds a character"),
        ("name\nAda\n", "has no column id"),
        ("", "is empty"),
    ],
)
def test_a_roster_with_a_bad_line_names_it_and_nothing_is_written(course, lines, words):
    with pytest.raises(TableError, match=words):
        imported(course, lines)
    assert not course.home.exists() or students(course) == {}


def lost_zeros(done):
    return [note for note in done.notes if "lost zeros at their beginning" in note]


def test_zeros_that_a_spreadsheet_has_dropped_are_told(course):
    (note,) = lost_zeros(imported(course, "id\n1234567\n234\n2345678\n"))
    assert " 234." in note
    assert lost_zeros(imported(course, "id\n0000234\n1234567\n2345678\n")) == []
    (note,) = lost_zeros(imported(course, "id\n234\nx1\n"))
    assert ": 234." in note
    assert lost_zeros(imported(course, "id\n0000234\nx1\n0000235\n")) == []


def test_the_command(course, tmp_path, monkeypatch, capsys):
    path = tmp_path / "roster.csv"
    path.write_bytes(SAVED["cp1252 with semicolons"])
    monkeypatch.chdir(COURSE.root)
    main(["roster", str(path), "--db", f"sqlite:///{tmp_path}/book.db"])
    printed = capsys.readouterr()
    assert "2 added: s010, s011" in printed.out and "cp1252" in printed.err
    with Gradebook(f"sqlite:///{tmp_path}/book.db") as book:
        assert next(student.last_name for student in book.students) == "Müller"
