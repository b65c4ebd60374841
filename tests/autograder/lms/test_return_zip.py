"""Feedback goes back in one zip that Canvas or Moodle takes: to the right people, and only what is new."""

import csv
import shutil
import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.errors import ExportError, GradebookError, OutputError, TableError
from autograder.grade.feedback import feedback_page
from autograder.grade.groups import Groups, set_groups
from autograder.lms import return_zip
from autograder.lms.import_zip import import_zip
from tests.support.course import COURSE
from tests.support.grading import add_exercise

EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME = f"{EXERCISE}.ipynb"
# id: first name, last name, number in Canvas
STUDENTS = {
    "s1": ("Jane", "Doe", "1001"),
    "s2": ("Zoë", "O'Neil-Smith", "1002"),
    "s3": ("李", "雷", "1003"),
    "s4": ("No", "Body", "1004"),
}
CANVAS_ZIP = {
    "s1": f"doejane_1001_2001_{NAME}",
    "s2": f"oneilsmithzoë_LATE_1002_2002_{EXERCISE}-1.ipynb",
    "s3": f"雷李_1003_2003_12_34_{NAME}",
}
MOODLE_ZIP = {
    "s1": f"Jane Doe_501_assignsubmission_file/{NAME}",
    "s2": f"Zoë O'Neil-Smith_502_assignsubmission_file_/a folder/{NAME}",
    "s3": f"李 雷_503_assignsubmission_file_{NAME}",
}


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory):
    """A gradebook's file, of a class of four, three of whom have handed in."""
    made = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("made"))
    with Gradebook(made.db_url) as book:
        add_exercise(book, EXERCISE.name, all=30)
        for student, (first, last, number) in STUDENTS.items():
            book.add_student(student, first_name=first, last_name=last, lms_user_id=number)
            if student != "s4":
                book.add_submission(EXERCISE.name, student)
    return made.home / "gradebook.db"


@pytest.fixture
def course(tmp_path, gradebook):
    """That class, with a page for everybody who has handed in; nothing is known of an LMS."""
    made = Course(COURSE.root, class_folder=tmp_path / "class")
    made.home.mkdir()
    shutil.copy(gradebook, made.home)
    for student in CANVAS_ZIP:
        write_page(made, student, "first")
    return made


def write_page(course, student, content, made_from="0"):
    page = feedback_page(course, student, EXERCISE.name)
    page.parent.mkdir(parents=True, exist_ok=True)
    digest = content.encode().hex()
    page.write_text(f"{student}: {content}\n<!-- feedback {made_from} {digest} -->\n", "utf-8")


def imported(course, tmp_path, names):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for student, name in names.items():
            archive.writestr(name, f'{{"{student}": 1}}')
    assert sorted(import_zip(course, path, EXERCISE).new) == sorted(names)


def returned(course, tmp_path, lms, **options):
    """What return_zip.write says, and the files of the zip, if it has written one."""
    output = tmp_path / "out" / "feedback.zip"
    output.unlink(missing_ok=True)
    done = return_zip.write(course, EXERCISE, lms, output, **options)
    if not output.exists():
        return done, {}
    with zipfile.ZipFile(output) as archive:
        assert archive.testzip() is None
        return done, {name: archive.read(name).decode() for name in archive.namelist()}


# What the two systems make of a name, after their sources ------------------------------------------


def canvas_takes(path):
    """The numbers of user and attachment that Canvas finds in a file's name, as texts."""
    parts = [part for part in path.rpartition("/")[2].split("_") if part != "LATE"]
    if parts[0] == "anon":
        return parts[1], parts[2]
    if parts[-1].startswith("link"):
        return None
    numbers = [part for part in parts if part.isascii() and part.isdigit()]
    return tuple(numbers[:2])


def moodle_takes(path):
    """The number of the participant and the file's name that Moodle finds, in versions of both layouts."""
    folder, _, file = path.partition("/")
    info = folder.split("_", 4)
    new = (
        (int(info[1]), file)
        if len(info) >= 4 and info[2:4] == ["assignsubmission", "file"]
        else None
    )
    info = f"/import/{path}".split("_", 4)
    old = (int(info[1]), info[4].lstrip("/")) if len(info) == 5 and info[3] == "file" else None
    assert new == old
    return new


def test_canvas_finds_everybody(course, tmp_path):
    imported(course, tmp_path, CANVAS_ZIP)
    done, files = returned(course, tmp_path, "canvas")
    assert (done.packed, done.unchanged, done.without) == (("s1", "s2", "s3"), (), ("s4",))
    found = {canvas_takes(name): text.partition(":")[0] for name, text in files.items()}
    assert found == {("1001", "2001"): "s1", ("1002", "2002"): "s2", ("1003", "2003"): "s3"}
    assert all(name.endswith(f"_{EXERCISE}.html") for name in files)


def test_canvas_finds_who_is_anonymous(course, tmp_path):
    with Gradebook(course.db_url) as book:
        book.add_student("anon_Ab3xY")
        book.add_submission(EXERCISE.name, "anon_Ab3xY")
    write_page(course, "anon_Ab3xY", "first")
    imported(course, tmp_path, {"anon_Ab3xY": f"LATE_anon_Ab3xY_2005_{NAME}"})
    _, files = returned(course, tmp_path, "canvas")
    assert [canvas_takes(name) for name in files] == [("Ab3xY", "2005")]


def test_moodle_finds_everybody(course, tmp_path):
    imported(course, tmp_path, MOODLE_ZIP)
    done, files = returned(course, tmp_path, "moodle")
    assert done.packed == ("s1", "s2", "s3")
    found = {moodle_takes(name): text.partition(":")[0] for name, text in files.items()}
    page = f"{EXERCISE}.html"
    assert found == {(501, page): "s1", (502, page): "s2", (503, page): "s3"}


# Only what is new ---------------------------------------------------------------------------------


def test_a_page_that_says_nothing_new_is_not_returned_again(course, tmp_path):
    imported(course, tmp_path, CANVAS_ZIP)
    returned(course, tmp_path, "canvas")
    # written again, to the same words
    write_page(course, "s1", "first", made_from="1")
    done, files = returned(course, tmp_path, "canvas")
    assert (done.packed, done.unchanged, files) == ((), ("s1", "s2", "s3"), {})
    write_page(course, "s2", "second")
    done, files = returned(course, tmp_path, "canvas")
    assert done.packed == ("s2",) and [*files.values()] == [
        feedback_page(course, "s2", EXERCISE.name).read_text("utf-8")
    ]
    done, files = returned(course, tmp_path, "canvas", everything=True)
    assert done.packed == ("s1", "s2", "s3") and len(files) == 3


def test_a_newer_zip_has_newer_attachments(course, tmp_path):
    imported(course, tmp_path, CANVAS_ZIP)
    with zipfile.ZipFile(tmp_path / "again.zip", "w") as archive:
        archive.writestr(f"doejane_1001_3001_{NAME}", '{"again": 1}')
    import_zip(course, tmp_path / "again.zip", EXERCISE)
    _, files = returned(course, tmp_path, "canvas")
    assert {canvas_takes(name)[1] for name in files} == {"3001", "2002", "2003"}


def test_a_zip_that_cannot_be_written_is_no_return(course, tmp_path):
    imported(course, tmp_path, CANVAS_ZIP)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        return_zip.write(course, EXERCISE, "canvas", tmp_path / "file" / "feedback.zip")
    assert returned(course, tmp_path, "canvas")[0].packed == ("s1", "s2", "s3")


# Groups -------------------------------------------------------------------------------------------


def test_in_canvas_a_group_sees_its_one_page(course, tmp_path):
    set_groups(course, [EXERCISE], Groups({"s1": "A", "s4": "A"}))
    imported(course, tmp_path, {"s1": f"a_1001_2001_{NAME}"})
    done, files = returned(course, tmp_path, "canvas")
    assert [*map(canvas_takes, files)] == [("1001", "2001")] and done.without == ()
    group, others = done.notes
    assert group.startswith("s4: Canvas shows them the page of their group")
    assert others.startswith("s2, s3: there is feedback") and "push --comments" in others


def worksheet(tmp_path, *rows, head=("Identifier", "Full name", "Email address", "Grade")):
    path = tmp_path / "worksheet.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def test_in_moodle_each_member_gets_the_page_by_the_worksheet(course, tmp_path):
    set_groups(course, [EXERCISE], Groups({"s1": "A", "s4": "A"}))
    rows = [
        [f"Participant {500 + n}", " ".join(STUDENTS[f"s{n}"][:2]), "", ""] for n in range(1, 5)
    ]
    done, files = returned(course, tmp_path, "moodle", worksheet=worksheet(tmp_path, *rows))
    found = {moodle_takes(name)[0]: text.partition(":")[0] for name, text in files.items()}
    assert found == {501: "s1", 502: "s2", 503: "s3", 504: "s1"}
    assert (done.without, done.notes) == ((), ())


def test_the_number_of_a_group_is_no_participants(course, tmp_path):
    set_groups(course, [EXERCISE], Groups({"s1": "Team A", "s4": "Team A"}))
    imported(course, tmp_path, MOODLE_ZIP | {"s1": f"Team A_77_assignsubmission_file/{NAME}"})
    done, files = returned(course, tmp_path, "moodle")
    assert {moodle_takes(name)[0] for name in files} == {502, 503}
    (told,) = done.notes
    assert told.startswith("s1, s4: there is feedback") and "worksheet" in told


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lms", ["canvas", "moodle"])
def test_without_the_names_of_a_zip_nothing_is_packed(course, tmp_path, lms):
    with pytest.raises(ExportError, match=f"import-zip FILE --exercise {EXERCISE}"):
        returned(course, tmp_path, lms)
    imported(course, tmp_path, MOODLE_ZIP if lms == "canvas" else CANVAS_ZIP)
    with pytest.raises(ExportError, match=lms.capitalize()):
        returned(course, tmp_path, lms)


def test_a_worksheet_that_is_none_is_an_error(course, tmp_path):
    imported(course, tmp_path, CANVAS_ZIP)
    with pytest.raises(ExportError, match="Canvas needs the names of its own zip"):
        returned(course, tmp_path, "canvas", worksheet=worksheet(tmp_path))
    with pytest.raises(ExportError, match="no column Identifier"):
        returned(course, tmp_path, "moodle", worksheet=worksheet(tmp_path, head=("Full name",)))
    with pytest.raises(ExportError, match=r"'Teilnehmer 501'.*in English"):
        row = ["Teilnehmer 501", "Jane Doe", "", ""]
        returned(course, tmp_path, "moodle", worksheet=worksheet(tmp_path, row))
    with pytest.raises(TableError, match="can't be read"):
        returned(course, tmp_path, "moodle", worksheet=tmp_path / "nowhere.csv")


def test_without_grades_there_is_nothing_to_return(tmp_path):
    with pytest.raises(GradebookError, match="autograder grade"):
        return_zip.write(
            Course(COURSE.root, class_folder=tmp_path), EXERCISE, "canvas", tmp_path / "x.zip"
        )
