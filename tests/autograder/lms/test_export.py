"""Exported grades: the right ones, for the right people, in cells that are no formulas."""

import csv
import dataclasses
import datetime
import re
import shutil
from pathlib import Path

import pytest
import sqlalchemy
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin
from sqlalchemy.engine import Engine

from autograder.course import Course, Exercise
from autograder.errors import ExportError, GradebookError, OutputError, TableError
from autograder.lms import canvas_files, export, moodle_files, names
from autograder.points import as_shown
from autograder.tables import safe
from tests.support.copies import command, repository, run
from tests.support.course import COURSE
from tests.support.grading import add_exercise

FIRST, SECOND = "ch1_additive_attention", "ch2_scaled_dot_product"
EXERCISES = [COURSE.exercise(FIRST), COURSE.exercise(SECOND)]
HANDED_IN = datetime.datetime(2027, 3, 1, 21, 14)
POINTS = {FIRST: 32, SECOND: 44}
# id: first name, last name, e-mail address, number in Canvas
STUDENTS = {
    "s1": ("Jo Ann", "Comma, Quote", 's1"@example.org', "1001"),
    "s2": ('The "Quoted"', "=1+1", "s2@example.org", ""),
    "s3": ("@home", "-minus", "s3@example.org", "1003"),
    "s4": ("", "", "", ""),
    "s5": ("é 名", "новый\nline", "s5@example.org", ""),
}
SCORES = {("s1", FIRST): 30.5, ("s1", SECOND): 44, ("s2", FIRST): 7, ("s5", SECOND): 0.5}
# the second is more than the score
PENALTY = {("s1", FIRST): 10, ("s5", SECOND): 1}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose gradebook holds STUDENTS and SCORES; who has none has handed in nothing."""
    made = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("course"))
    # reading db_url puts alembic, which nbgrader calls, on the path
    with Gradebook(made.db_url) as book:
        book.add_assignment("of another course")
        for exercise, points in POINTS.items():
            add_exercise(
                book, exercise, duedate=HANDED_IN if exercise == FIRST else None, all=points
            )
        for student, (first, last, email, number) in STUDENTS.items():
            named = {"first_name": first, "last_name": last, "email": email}
            book.add_student(student, **named, lms_user_id=number or None)
        for (student, exercise), score in SCORES.items():
            book.add_submission(exercise, student, timestamp=HANDED_IN)
            book.find_grade("all", exercise, exercise, student).auto_score = score
            notebook = book.find_submission_notebook(exercise, exercise, student)
            notebook.late_submission_penalty = PENALTY.get((student, exercise), 0)
        book.db.commit()
    return made


def score(student, exercise):
    return max(0, SCORES.get((student, exercise), 0) - PENALTY.get((student, exercise), 0))


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def written(course, tmp_path, form, **options):
    output = tmp_path / "out" / "grades.csv"
    told = export.write(course, EXERCISES, form, output, **options)
    head, *body = rows(output)
    assert {len(row) for row in body} == {len(head)}
    for cell in (cell for row in body for cell in row):
        assert not re.match(r"\s*[=+\-@]|[\t\r\n]", cell), cell
    return head, body, told


def roster(tmp_path, head, *body, mark=",", encoding="utf-8"):
    path = tmp_path / "roster.csv"
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=mark).writerows([head, *body])
    return path


# Cells --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "\u00a0=1",
        "＝1",
        "＋1",
        "－",
        "＠",
    ],
)
def test_a_formula_becomes_text(cell):
    assert safe(cell) == f"'{cell}"


@pytest.mark.parametrize("mark", [";", "\t", "; ", "\n", "\r\n"])
def test_what_is_a_formula_where_cells_are_separated_by_other_marks_becomes_text(mark):
    # a spreadsheet program takes the semicolon for what separates cells in many languages
    for formula in ("=1+1", "@SUM(A1)", "+1", "-1", "＝1"):
        assert safe(f"Ada{mark}{formula};") == f"Ada{mark}'{formula};"


@pytest.mark.parametrize(
    "cell",
    ["", " ", "a=b", "O'Neil", "a-b", "1", -1, 0.5, None, "'=1", "good:\n- one\n- two", "a; b\nc"],
)
def test_everything_else_stays(cell):
    assert safe(cell) == cell


# nbgrader's and a plain table ---------------------------------------------------------------------


def test_nbgraders_export_with_names_that_hold_commas_and_quotes(course, tmp_path):
    head, body, told = written(course, tmp_path, "nbgrader")
    assert told == []
    assert head == [
        *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
        *("raw_score", "late_submission_penalty", "score", "max_score"),
    ]
    found = [dict(zip(head, row, strict=True)) for row in body]
    assert len(found) == len(STUDENTS) * len(POINTS)
    for row in found:
        student, exercise = row["student_id"], row["assignment"]
        first, last, email, _ = STUDENTS[student]
        assert [row[n] for n in ("first_name", "last_name", "email")] == [
            *map(safe, (first, last, email))
        ]
        assert float(row["score"]) == score(student, exercise)
        assert float(row["raw_score"]) == SCORES.get((student, exercise), 0)
        assert float(row["max_score"]) == POINTS[exercise]


def test_nbgraders_own_exporter_says_the_same(course, tmp_path):
    """nbgrader quotes nothing, so the names of its oracle's students hold no commas."""
    plain = tmp_path / "plain"
    plain.mkdir()
    source = Path(course.db_url.removeprefix("sqlite:///"))
    (plain / "gradebook.db").write_bytes(source.read_bytes())
    copy = Course(COURSE.root, class_folder=plain)
    with Gradebook(copy.db_url) as book:
        for student in book.students:
            student.first_name, student.last_name, student.email = "A", None, f"{student.id}@x"
        book.db.commit()
        oracle = CsvExportPlugin(to=str(tmp_path / "oracle.csv"), assignment=[FIRST, SECOND])
        oracle.export(book)
    export.write(copy, EXERCISES, "nbgrader", tmp_path / "own.csv")
    head, *wanted = rows(tmp_path / "oracle.csv")
    own_head, *own = rows(tmp_path / "own.csv")
    assert own_head == head and len(own) == len(STUDENTS) * len(POINTS)
    numbers = head.index("raw_score")
    values = lambda body: sorted([*row[:numbers], *map(float, row[numbers:])] for row in body)
    assert values(own) == values(wanted)


def test_columns_stand_in_the_order_of_the_chapters(course):
    grades = export.grades_of(course, EXERCISES[:1])
    later = [dataclasses.replace(grade, exercise="ch10_later") for grade in grades]
    head, _ = export.as_table([grades[0], later[0]])
    assert head == ["student", FIRST, "ch10_later"]
    reverse = export.grades_of(course, EXERCISES[::-1])
    assert [grade.exercise for grade in reverse[:2]] == [SECOND, FIRST]


def test_a_plain_table_has_one_row_per_student(course, tmp_path):
    head, (top, *body), _ = written(course, tmp_path, "csv")
    assert head == ["student", FIRST, SECOND]
    assert top == ["maximum", "32", "44"]
    assert [row[0] for row in body] == sorted(STUDENTS)
    for student, *own in body:
        assert [float(cell) for cell in own] == [score(student, e) for e in (FIRST, SECOND)]


def test_points_of_answers_that_nobody_has_read_are_open_and_not_lost(tmp_path):
    made = Course(COURSE.root, class_folder=tmp_path)
    with Gradebook(made.db_url) as book:
        add_exercise(book, FIRST, code=5, why=3)
        for student, read in {"ann": None, "bob": 2}.items():
            book.add_student(student)
            book.add_submission(FIRST, student)
            book.find_grade("code", FIRST, FIRST, student).auto_score = 4
            grade = book.find_grade("why", FIRST, FIRST, student)
            # as formgrader leaves it
            grade.manual_score, grade.needs_manual_grade = read, read is None
        book.db.commit()
    head, body, (told,) = written(made, tmp_path, "csv")
    assert head == ["student", FIRST, f"{FIRST} (open)"]
    assert body == [["maximum", "8", ""], ["ann", "4", "3"], ["bob", "6", "0"]]
    assert FIRST in told and "1 of the students" in told and "3 points" in told


def test_points_for_an_earlier_text_count_and_are_told(tmp_path):
    made = Course(COURSE.root, class_folder=tmp_path)
    with Gradebook(made.db_url) as book:
        add_exercise(book, FIRST, why=3)
        for student in ("ann", "bob"):
            book.add_student(student)
            book.add_submission(FIRST, student)
            grade = book.find_grade("why", FIRST, FIRST, student)
            # as grading leaves it when there were points by hand before
            grade.manual_score, grade.needs_manual_grade = 2, student == "bob"
        book.db.commit()
    _, body, (told,) = written(made, tmp_path, "csv")
    assert [row[1] for row in body] == ["3", "2", "2"]
    assert (
        told.startswith(f"{FIRST}: after points were given by hand")
        and "have changed: bob." in told
    )


def test_the_grades_of_a_class_take_as_many_queries_as_those_of_one(tmp_path):
    """nbgrader would ask the database several times for every student."""
    queries = []
    for size in (1, 5):
        made = Course(COURSE.root, class_folder=tmp_path / str(size))
        made.home.mkdir()
        with Gradebook(made.db_url) as book:
            add_exercise(book, FIRST, code=3, why=2)
            for number in range(size):
                book.add_student(f"s{number}")
                book.add_submission(FIRST, f"s{number}")
                book.find_grade("code", FIRST, FIRST, f"s{number}").auto_score = number / 2
            book.db.commit()
        asked = []
        hear = lambda *heard, asked=asked: asked.append(heard[2])
        sqlalchemy.event.listen(Engine, "before_cursor_execute", hear)
        try:
            found = export.grades_of(made, EXERCISES[:1])
        finally:
            sqlalchemy.event.remove(Engine, "before_cursor_execute", hear)
        assert [(grade.score, grade.unread) for grade in found] == [(n / 2, 2) for n in range(size)]
        queries.append(sum("SELECT" in text for text in asked))
    assert queries[0] == queries[1] > 0


@pytest.mark.parametrize("form", ["csv", "nbgrader"])
def test_without_names_nothing_leads_back_but_the_key(course, tmp_path, form):
    head, body, _ = written(course, tmp_path, form, hide_names=True)
    text = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8")
    for student, (first, last, email, number) in STUDENTS.items():
        for name in filter(None, (student, first, last, email, number)):
            assert not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
    key = course.home / export.KEY_FILE
    assert key.stat().st_mode & 0o077 == 0
    column = head.index("student" if form == "csv" else "student_id")
    names = [row[column] for row in body if row[0] != "maximum"]
    assert names == sorted(names)
    assert set(names) == {export.pseudonym(student, course) for student in STUDENTS}
    assert written(course, tmp_path, form, hide_names=True)[1] == body
    # another key, other names
    kept = key.read_text()
    key.unlink()
    assert not {export.pseudonym(student, course) for student in STUDENTS} & set(names)
    key.write_text(kept)


# Canvas -------------------------------------------------------------------------------------------

CANVAS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
EXPORTED = [*CANVAS, f"{SECOND} (78)", "Essay (77)", "Essay Current Score", "Final Score"]


def canvas_roster(tmp_path, points="44.00", **options):
    return roster(
        tmp_path,
        EXPORTED,
        ["", "", "", "", "", "Manual Posting", "", "", ""],
        ["    Points Possible", "", "", "", "", points, "10", "(read only)", "(read only)"],
        ["Comma, Jo Ann", "1001", "u1", "login1", "A", "1", "9", "90", "90"],
        ['="=Quoted"', "1002", "u2", "s2", "A and B", "", "8", "80", "80"],
        ["Home", "1003", "s1003", "login3", "A", "", "", "", ""],
        ["Student, Test", "1999", "", "ffff", "A", "", "", "", ""],
        **options,
    )


@pytest.mark.parametrize("options", [{}, {"mark": ";"}, {"encoding": "utf-8-sig"}])
def test_canvas_gets_its_own_columns_and_people_back(course, tmp_path, options):
    path = canvas_roster(tmp_path, **options)
    head, (top, *body), told = written(course, tmp_path, "canvas", roster=path)
    assert head == [*CANVAS, FIRST, f"{SECOND} (78)"]
    assert "Points Possible" in top[0] and top[5:] == ["32", "44"] and top[1:5] == [""] * 4
    found = {row[1]: row for row in body}
    # found by number, by login and by number again; who isn't there gets no row, nor an empty cell
    assert found.keys() == {"1001", "1002", "1003"}
    for number, student in (("1001", "s1"), ("1002", "s2"), ("1003", "s3")):
        assert [float(c) for c in found[number][5:]] == [score(student, e) for e in (FIRST, SECOND)]
    assert found["1001"][:5] == ["Comma, Jo Ann", "1001", "u1", "login1", "A"]
    assert any(FIRST in words and "new assignment" in words for words in told)
    assert "Not in the roster, and left out: s4, s5." in told


def test_a_column_of_sections_in_the_roster_is_passed_over(course_folder):
    """Canvas's own sections come back from its gradebook, see above."""
    (course_folder / "course").mkdir()
    # the course's nbgrader_config.py imports it from its own folder
    (course_folder / "autograder").symlink_to(COURSE.root / "autograder")
    path = course_folder / "roster.csv"
    path.write_text("id,first_name,last_name,section\ns1,Jo,Doe,Tuesday\n", encoding="utf-8")
    done = run(course_folder, "nbgrader", "db", "student", "import", path)
    assert done.returncode == 0 and "Unknown keys in csv" in done.stderr, done.stderr
    with Gradebook(f"sqlite:///{course_folder}/course/gradebook.db") as gradebook:
        (student,) = gradebook.students
        assert (student.id, student.first_name, student.last_name) == ("s1", "Jo", "Doe")


def test_who_is_excused_in_canvas_stays_excused(course, tmp_path):
    """Any number would take that away; canvas-lms' importer reads EX in small letters, too."""
    path = roster(
        tmp_path,
        EXPORTED,
        ["    Points Possible", "", "", "", "", "44", "10", "", ""],
        ["Comma, Jo Ann", "1001", "u1", "login1", "A", "ex", "EX", "", ""],
        ["Home", "1003", "s1003", "login3", "A", "", "EX", "", ""],
    )
    head, (_, *body), _ = written(course, tmp_path, "canvas", roster=path)
    found = {row[1]: dict(zip(head, row, strict=True)) for row in body}
    assert found["1001"][f"{SECOND} (78)"] == "EX" and float(found["1001"][FIRST]) == 20.5
    # of another assignment
    assert found["1003"][f"{SECOND} (78)"] == "0"


def test_canvas_may_split_names_into_two_columns(course, tmp_path):
    """As lib/gradebook_exporter.rb writes them with the option, and the importer reads them."""
    head = ["LastName", "FirstName", "ID", "SIS Login ID", "Section", f"{SECOND} (78)"]
    path = roster(
        tmp_path,
        head,
        ["    Points Possible", "", "", "", "", "44"],
        ["Comma", "Jo Ann", "1001", "login1", "A", "1"],
        ["Named", "By", "7", "login7", "A", "1"],
    )
    given = export.grades_of(course, EXERCISES[1:])
    # as import-zip calls a student of a zip from Canvas
    by_name = dataclasses.replace(given[1], student=export.Student("namedby_7"))
    table = canvas_files.as_canvas([given[0], by_name], path, told := [])
    assert table[0] == head and told == []
    assert [row[:5] for row in table[1][1:]] == [
        ["Comma", "Jo Ann", "1001", "login1", "A"],
        ["Named", "By", "7", "login7", "A"],
    ]


@pytest.mark.parametrize("form", ["csv", "canvas", "moodle", "nbgrader"])
def test_points_are_rounded(course, tmp_path, form):
    """A late penalty of 10 % makes 16.799999999999997 of 42 points."""
    with Gradebook(course.db_url) as book:
        book.add_student("s6")
        book.add_submission(FIRST, "s6")
        book.find_grade("all", FIRST, FIRST, "s6").auto_score = 18.9
        book.find_submission_notebook(FIRST, FIRST, "s6").late_submission_penalty = 18.9 / 9
        book.db.commit()
    try:
        _, body, _ = written(course, tmp_path, form)
        assert f"{as_shown(18.9 - 18.9 / 9)}" in {cell for row in body for cell in row}
        assert not [cell for row in body for cell in row if re.fullmatch(r"\d+\.\d{3,}", cell)]
    finally:
        with Gradebook(course.db_url) as book:
            book.remove_student("s6")


def test_a_zip_from_canvas_and_its_gradebook_fit(course):
    """What intake makes of a file's name, export finds in the gradebook's row."""
    name = "o_neilsmithjosé"
    assert names.canvas_id("O_Neil-Smith, José", "12") == f"{name}_12"
    match = next(
        filter(None, (p.fullmatch(f"{name}_12_9_{FIRST}.ipynb") for p in canvas_files.FILES))
    )
    assert names.canvas_id(match["name"], match["number"]) == f"{name}_12"


def test_canvas_without_a_roster_has_its_columns(course, tmp_path):
    head, (top, *body), told = written(course, tmp_path, "canvas")
    assert head == [*CANVAS, FIRST, SECOND]
    assert top == ["    Points Possible", "", "", "", "", "32", "44"]
    found = {row[3]: row for row in body}
    assert found.keys() == STUDENTS.keys()
    assert found["s1"][:3] == ["Comma, Quote, Jo Ann", "1001", ""]
    assert found["s4"][0] == "s4"
    assert "--roster" in told[0]


def test_canvas_with_other_points_is_refused(course, tmp_path):
    path = canvas_roster(tmp_path, points="100,00")
    with pytest.raises(ExportError, match=r"Canvas gives 100,00 points for ch2.* has 44"):
        written(course, tmp_path, "canvas", roster=path)


# Moodle -------------------------------------------------------------------------------------------

MOODLE = ["First name", "Last name", "ID number", "Email address", "Assignment: Essay (Real)"]


def test_moodle_gets_identifiers_that_all_have(course, tmp_path):
    path = roster(
        tmp_path,
        MOODLE,
        ["Jo Ann", "Comma", "77", 's1"@example.org', "-"],
        ["The", "Quoted", "", "s2@example.org", "-"],
        ["New", "Line", "s5", "S5@example.org", "-"],
        ["Nobody", "Else", "80", "else@example.org", "-"],
    )
    head, body, told = written(course, tmp_path, "moodle", roster=path)
    # s2 has no ID number: that column would give the row to the student before
    assert head == ["Email address", FIRST, SECOND]
    found = {row[0]: [float(cell) for cell in row[1:]] for row in body}
    emails = {"s1": 's1"@example.org', "s2": "s2@example.org", "s5": "S5@example.org"}
    assert found == {emails[s]: [score(s, e) for e in (FIRST, SECOND)] for s in emails}
    left_out, *maximum = told
    assert left_out == "Not in the roster, and left out: s3, s4."
    for words, exercise in zip(maximum, (FIRST, SECOND), strict=True):
        assert words.endswith(
            f"the maximum grade of {exercise} there has to be {POINTS[exercise]}."
        )


def test_moodle_finds_who_came_in_a_zip_by_the_full_name(course, tmp_path):
    renamed = [
        dataclasses.replace(grade, student=export.Student(names.student_id(f"Jo {name}")))
        for grade in export.grades_of(course, EXERCISES[:1])
        for name in [grade.student.id]
    ]
    path = roster(tmp_path, MOODLE, *(["Jo", s, "", f"{s}@uni", "-"] for s in STUDENTS))
    head, body = moodle_files.as_moodle(renamed, path, told := [])
    assert len(told) == 1 and head == ["Email address", FIRST]
    assert dict(body) == {f"{student}@uni": score(student, FIRST) for student in STUDENTS}


def test_two_rows_that_fit_are_no_ones(course, tmp_path):
    grade = export.grades_of(course, EXERCISES[:1])[0]
    given = [dataclasses.replace(grade, student=export.Student("Jo_Doe"))]
    path = roster(tmp_path, MOODLE, *(["Jo", "Doe", n, f"{n}@uni", "-"] for n in "12"))
    with pytest.raises(ExportError, match="No student"):
        moodle_files.as_moodle(given, path, told := [])
    assert told == ["Like several students in the roster, and left out: Jo_Doe."]


def test_one_row_that_fits_two_students_is_no_ones(course, tmp_path):
    grade = export.grades_of(course, EXERCISES[:1])[0]
    twins = [export.Student(name, "Wei", "Zhang") for name in ("s8", "s9")]
    own = [dataclasses.replace(grade, student=who) for who in (*twins, export.Student("s1"))]
    rows = ["Wei", "Zhang", "77", "wei@uni", "-"], ["Jo", "Doe", "s1", "jo@uni", "-"]
    _, body = moodle_files.as_moodle(own, roster(tmp_path, MOODLE, *rows), told := [])
    assert [row[0] for row in body] == ["s1"]
    assert told[0].startswith("Like a student in the roster whom another one is like, too")
    assert told[0].endswith("left out: s8, s9.")


def test_the_grading_worksheet_tells_two_of_one_name_apart(course, tmp_path):
    grade = export.grades_of(course, EXERCISES[:1])[0]
    twins = [export.Student(f"Wei_Zhang_{number}") for number in (7022, 7023)]
    given = [dataclasses.replace(grade, student=who) for who in twins]
    head = ["Identifier", "Full name", "Email address", "Grade"]
    rows = [
        ["Participant 7023", "Wei Zhang", "b@uni", ""],
        ["Participant 7022", "Wei Zhang", "a@uni", ""],
    ]
    _, body = moodle_files.as_moodle(given, roster(tmp_path, head, *rows), told := [])
    assert [row[0] for row in body] == ["a@uni", "b@uni"] and len(told) == 1


SHEET = [
    *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum grade"),
    *(
        "Grade can be changed",
        "Last modified (submission)",
        "Last modified (grade)",
        "Feedback comments",
    ),
]


def sheet_row(number, name="", email="", maximum="32.00"):
    time = "Monday, 1 March 2027, 9:14 PM"
    return [f"Participant {number}", name, email, "Submitted", "", maximum, "Yes", time, "-", "=so"]


def one_exercise(course, tmp_path, path):
    output = tmp_path / "out" / "grades.csv"
    told = export.write(course, EXERCISES[:1], "moodle", output, path)
    return rows(output), told


def test_moodles_worksheet_comes_back_in_its_form(course, tmp_path):
    given = [
        sheet_row(501, "Jo Ann", 's1"@example.org'),
        sheet_row(502, "Nobody Here", "nobody@example.org"),
        sheet_row(503, "The Quoted", "s2@example.org"),
    ]
    (head, *body), told = one_exercise(course, tmp_path, roster(tmp_path, SHEET, *given))
    assert head == SHEET and [row[0] for row in body] == [row[0] for row in given]
    assert [row[4] for row in body] == ["20.5", "", "7"]
    for before, after in zip(given, body, strict=True):
        # a formula that somebody has written doesn't become one
        assert [*after[:4], *after[5:9]] == [*before[:4], *before[5:9]] and after[9] == "'=so"
    assert told == ["Not in the worksheet, and left out: s3, s4, s5."]


def test_anonymous_participants_are_found_by_their_numbers_in_the_zip(course, tmp_path):
    columns = [n for n in SHEET if n not in ("Full name", "Email address")]
    given = [[row[0], *row[3:]] for row in map(sheet_row, (7022, 7023, 7024))]
    known = {
        "s1": names.LmsName("moodle", moodle_files.folder("Participant", "7023")),
        "s2": names.LmsName("moodle", moodle_files.folder("Participant", "7022")),
        # of another system
        "s3": names.LmsName("canvas", "minushome_7024_1_"),
    }
    exercise = EXERCISES[0]
    try:
        names.remember_names(course, exercise, known)
        (head, *body), _ = one_exercise(course, tmp_path, roster(tmp_path, columns, *given))
    finally:
        (course.home / "lms_names" / f"{exercise}.json").unlink()
    assert head == columns
    assert [row[2] for row in body] == ["7", "20.5", ""]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_worksheet_that_a_spreadsheet_has_saved_is_read(course, tmp_path, mark):
    given = sheet_row(501, "Jo Ann", 's1"@example.org')
    path = roster(
        tmp_path, SHEET, given, mark=mark, encoding="utf-16" if mark == "\t" else "cp1252"
    )
    (_, row), _ = one_exercise(course, tmp_path, path)
    assert row[4] == "20.5"


def test_a_worksheet_of_other_points_or_of_several_exercises_is_refused(course, tmp_path):
    path = roster(tmp_path, SHEET, sheet_row(501, "Jo Ann", 's1"@example.org', "100.00"))
    with pytest.raises(ExportError, match=r"Moodle gives 100\.00 points .* has 32"):
        one_exercise(course, tmp_path, path)
    with pytest.raises(ExportError, match="--exercise"):
        export.write(course, EXERCISES, "moodle", tmp_path / "out.csv", path)


def test_an_identifier_that_is_a_formula_is_left_out_and_told(course, tmp_path):
    given = export.grades_of(course, EXERCISES[:1])
    path = roster(
        tmp_path, MOODLE, *(["", s, s, f"={s}" if s == "s1" else s, "-"] for s in STUDENTS)
    )
    _, body = moodle_files.as_moodle(given, path, told := [])
    assert len(body) == len(STUDENTS) - 1
    assert told[0].startswith("s1 was left out")


def test_moodle_without_a_roster_has_user_names(course, tmp_path):
    head, body, told = written(course, tmp_path, "moodle")
    # not everybody has an e-mail address
    assert head == ["Username", FIRST, SECOND]
    assert "ends its whole import" in told[0]
    assert [row[0] for row in body] == sorted(STUDENTS)


# The command, and errors -------------------------------------------------------------------------------------------


def test_the_command_writes_the_file_and_says_what_is_to_be_said(course, tmp_path):
    # copies: this repository may have a class of its own, and the command records penalties again
    root, output = repository(tmp_path), tmp_path / "grades.csv"
    gradebook = shutil.copy(course.db_url.removeprefix("sqlite:///"), tmp_path / "copy.db")
    words = ["export", "--db", f"sqlite:///{gradebook}", "--format", "canvas", "--output", output]
    ended = command(root, *words)
    assert ended.status == 0 and str(output) in ended.stdout and "--roster" in ended.stderr
    assert rows(output)[0] == [*CANVAS, FIRST, SECOND]
    ended = command(root, *words, "--without-names")
    assert ended.status == 2 and "use --format csv" in ended.stderr


@pytest.mark.parametrize(
    ("form", "options", "words"),
    [
        ("canvas", {"hide_names": True}, "use --format csv"),
        ("csv", {"roster": Path("x.csv")}, "--roster is for"),
    ],
)
def test_options_that_do_not_fit_are_refused(course, tmp_path, form, options, words):
    with pytest.raises(ExportError, match=words):
        written(course, tmp_path, form, **options)
    assert not (tmp_path / "out" / "grades.csv").exists()


def test_a_roster_that_cannot_be_read_is_an_error(course, tmp_path):
    with pytest.raises(TableError, match=r"nowhere\.csv can't be read"):
        written(course, tmp_path, "canvas", roster=Path("nowhere.csv"))
    assert not (tmp_path / "out" / "grades.csv").exists()


@pytest.mark.parametrize(
    ("form", "head", "words"),
    [
        ("canvas", ["Name", "Points"], "Export Entire Gradebook"),
        ("canvas", ["Student"], "Export Entire Gradebook"),
        ("moodle", ["Vorname", "Nachname"], "Plain text file"),
        ("moodle", MOODLE, "No student of the gradebook"),
    ],
)
def test_a_roster_that_is_none_is_an_error_with_a_way_out(course, tmp_path, form, head, words):
    path = roster(tmp_path, head, ["x"] * len(head))
    with pytest.raises(ExportError, match=words):
        written(course, tmp_path, form, roster=path)


def test_no_gradebook_and_no_grades_are_errors(course, tmp_path):
    with pytest.raises(GradebookError, match="autograder grade"):
        empty = Course(COURSE.root, class_folder=tmp_path)
        export.write(empty, EXERCISES, "csv", tmp_path / "x.csv")
    assert not (tmp_path / "gradebook.db").exists()
    with pytest.raises(GradebookError, match="no grades of this"):
        export.write(course, [Exercise(COURSE.root, "ch9_x")], "csv", tmp_path / "x.csv")


def test_an_output_that_cannot_be_written_is_an_error_with_a_way_out(course, tmp_path):
    (tmp_path / "file").touch()
    output = tmp_path / "file" / "grades.csv"
    with pytest.raises(OutputError, match=r"can't be written: .*write elsewhere"):
        export.write(course, EXERCISES, "csv", output)
