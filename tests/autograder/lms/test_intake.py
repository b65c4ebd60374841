"""A class's zip from Canvas or Moodle: everybody's newest notebook, and nothing that a zip can do."""

import csv
import datetime
import io
import os
import struct
import warnings
import zipfile

import pytest
from nbgrader.api import Gradebook

from autograder.__main__ import main
from autograder.audit import sample_class
from autograder.course import SAMPLE_MARK, Course
from autograder.errors import CourseError, OutputError, SubmissionFolderError
from autograder.grade import lateness
from autograder.lms import import_zip as importer
from autograder.lms import names
from autograder.lms.systems import SYSTEMS
from tests.support.course import COURSE

EXERCISE = "ch1_additive_attention"
NAME = f"{EXERCISE}.ipynb"
EARLY, LATE = (2027, 3, 1, 10, 0, 0), (2027, 3, 2, 10, 0, 0)


def entry(name, date=EARLY):
    info = zipfile.ZipInfo(name, date)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def import_zip(path, folder, **options):
    course = Course(COURSE.root, class_folder=folder)
    return importer.import_zip(course, path, course.exercise(EXERCISE), **options)


@pytest.fixture
def unpack(tmp_path):
    """Zip files {name or entry: content} and lay them out; returns the outcome."""

    def run(files, course=tmp_path / "course", **options):
        path = tmp_path / "class.zip"
        with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
            warnings.simplefilter("ignore", UserWarning)
            for name, content in files.items():
                info = name if isinstance(name, zipfile.ZipInfo) else entry(name)
                archive.writestr(info, content)
        return import_zip(path, course, **options)

    run.course = tmp_path / "course"
    return run


def laid_out(course):
    found = {}
    for path in sorted((course / "submitted").rglob("*")):
        if path.is_file() and path.name != "timestamp.txt":
            student, exercise, name = path.relative_to(course / "submitted").parts
            assert exercise == EXERCISE
            if name == NAME:
                found[student] = path.read_text(encoding="utf-8")
    return found


def beside(course):
    """The student's other notebooks, by student: name and content."""
    return {
        path.parents[1].name: (path.name, path.read_text(encoding="utf-8"))
        for path in sorted((course / "submitted").glob(f"*/{EXERCISE}/*.ipynb"))
        if path.name != NAME
    }


# Names --------------------------------------------------------------------------------------------


def test_canvas(unpack):
    done = unpack(
        {
            f"doejane_1001_2001_{NAME}": "jane",
            f"roerichard_LATE_1002_2002_{EXERCISE}-1.ipynb": "richard",
            f"o_neil_1003_2003_{NAME}": "underscore",
            f"müllerकी_1004_2004_{EXERCISE}-2 (1).ipynb": "letters and marks",
            f"anon_Ab3xY_2005_{NAME}": "anonymous",
            f"LATE_anon_Zz9zZ_2006_{NAME}": "anonymous and late",
        }
    )
    assert laid_out(unpack.course) == {
        "doejane_1001": "jane",
        "roerichard_1002": "richard",
        "o_neil_1003": "underscore",
        "müllerकी_1004": "letters and marks",
        "anon_Ab3xY": "anonymous",
        "anon_Zz9zZ": "anonymous and late",
    }
    (late,) = done.notes
    assert "anon_Zz9zZ, roerichard_1002" in late and "has no due date here" in late


@pytest.mark.parametrize(
    "name",
    [
        f"Jane Doe_1234567_assignsubmission_file_/{NAME}",
        f"Jane Doe_1234567_assignsubmission_file/{NAME}",
        f"Jane Doe_1234567_assignsubmission_file_/a folder/another/{NAME}",
        f"Jane Doe_1234567_assignsubmission_file_{NAME}",
        f"Course-Exercise-77/Jane Doe_1234567_assignsubmission_file_/{NAME}",
    ],
)
def test_moodle(unpack, name):
    done = unpack(
        {
            name: "jane",
            "Jane Doe_1234567_assignsubmission_file_/.ipynb_checkpoints/x-checkpoint.ipynb": "no",
            "__MACOSX/Jane Doe_1234567_assignsubmission_file_/._x.ipynb": "no",
        }
    )
    assert laid_out(unpack.course) == {"Jane_Doe": "jane"}
    assert (done.new, done.notes) == (["Jane_Doe"], [])


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("Doe, Jane", "Doe_Jane"),
        ("=cmd|'/c calc'!A1", "cmd_c_calc_A1"),
        ("..", "unnamed"),
        pytest.param("x" * 300, "x" * 60, id="a long name"),
        ("a*?[b]{c}", "a_b_c"),
        ("Zoe\u0308 O\u2019Neil-Smith", "Zoë_O_Neil-Smith"),
        ("hindi की", "hindi_की"),
        ("line\nbreak\x00", "line_break"),
    ],
)
def test_a_name_becomes_an_id_that_a_folder_can_have(name, student):
    assert names.student_id(name) == student


def test_two_of_one_name_are_told_apart(unpack):
    done = unpack(
        {
            f"Jo Doe_11_assignsubmission_file_/{NAME}": "one",
            f"jo doe_12_assignsubmission_file_/{NAME}": "other",
        }
    )
    assert laid_out(unpack.course) == {"Jo_Doe_11": "one", "jo_doe_12": "other"}
    assert len(done.notes) == 1 and "occurs 2 times" in done.notes[0]


def test_students_of_the_roster_keep_their_ids(unpack):
    unpack.course.mkdir()
    # reading db_url puts alembic, which nbgrader calls, on the path
    with Gradebook(Course(COURSE.root, class_folder=unpack.course).db_url) as book:
        book.add_student("s1", lms_user_id="1001")
        book.add_student("s2", first_name="Jo Ann", last_name="O'Neil")
        book.add_student("s3", first_name="Kim", last_name="Doe")
        book.add_student("s4", first_name="Kim", last_name="Doe")
    unpack({f"whoever_1001_1_{NAME}": "1", f"oneiljoann_1002_2_{NAME}": "2"})
    unpack(
        {
            f"Jo Ann O'Neil_9_assignsubmission_file_/{NAME}": "2, again",
            f"Kim Doe_8_assignsubmission_file_/{NAME}": "which?",
        }
    )
    assert laid_out(unpack.course) == {"s1": "1", "s2": "2, again", "Kim_Doe": "which?"}


def test_who_is_not_in_the_roster_is_told(unpack):
    unpack.course.mkdir()
    files = {f"doejane_1001_1_{NAME}": "1", f"strangeralice_99_2_{NAME}": "2"}
    with Gradebook(Course(COURSE.root, class_folder=unpack.course).db_url) as book:
        book.add_student("s1", lms_user_id="1001")
    (told,) = unpack(files).notes
    assert told.startswith("Not in the roster: strangeralice_99. ")
    # and of the other system nothing
    assert "(lms_user_id)" in told and "Moodle" not in told


def worksheet(tmp_path, *rows):
    path = tmp_path / "worksheet.csv"
    head = ["Identifier", "Full name", "Email address", "Last modified (submission)"]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


WEI = {f"Wei Zhang_{n}_assignsubmission_file_/{NAME}": str(n) for n in (7022, 7023)}


def test_moodles_worksheet_tells_two_of_one_name_apart(unpack, tmp_path):
    unpack.course.mkdir()
    with Gradebook(Course(COURSE.root, class_folder=unpack.course).db_url) as book:
        for student in ("s8", "s9"):
            book.add_student(student, first_name="Wei", last_name="Zhang", email=f"{student}@uni")
    without = unpack(WEI, tmp_path / "without")
    assert without.new == ["Wei_Zhang_7022", "Wei_Zhang_7023"]
    rows = (
        ["Participant 7022", "Wei Zhang", "s9@uni", ""],
        ["Participant 7023", "Wei Zhang", "s8@uni", "-"],
    )
    done = unpack(WEI, worksheet=worksheet(tmp_path, *rows))
    assert laid_out(unpack.course) == {"s9": "7022", "s8": "7023"} and done.notes == []
    # of an anonymous assignment it says nothing
    rows = [[f"Participant {n}", "", "", ""] for n in (7022, 7023)]
    alike, strangers = unpack(WEI, worksheet=worksheet(tmp_path, *rows)).notes
    for told in (alike, strangers):
        assert "once the identities are revealed" in told and "import with" not in told


def test_a_name_of_a_file_makes_it_nobody_elses(unpack, tmp_path):
    unpack.course.mkdir()
    with Gradebook(Course(COURSE.root, class_folder=unpack.course).db_url) as book:
        for student in ("alice", "mallory"):
            book.add_student(student, email=f"{student}@uni")
    rows = [["Participant 1", "Alice Smith", "alice@uni", ""]]
    rows.append(["Participant 9", "Mallory Moe", "mallory@uni", ""])
    # without folders: the name of the file follows that of the student
    as_another = f"Mallory Moe_9_assignsubmission_file_Alice Smith_1_assignsubmission_file_{NAME}"
    unpack({as_another: "of mallory"}, worksheet=worksheet(tmp_path, *rows))
    assert laid_out(unpack.course) == {"mallory": "of mallory"}


# Times --------------------------------------------------------------------------------------------


def stamps(course):
    return {
        path.parts[-3]: path.read_text().strip()
        for path in (course / "submitted").rglob("timestamp.txt")
    }


def test_moodles_worksheet_gives_the_times_of_submission(unpack, tmp_path):
    rows = (
        ["Participant 7022", "Wei Zhang", "", "Monday, 1 March 2027, 9:14 PM"],
        ["Participant 7023", "Wei Zhang", "", "Thursday, 1 July 2027, 00:05"],
    )
    unpack(WEI, worksheet=worksheet(tmp_path, *rows), zone="Europe/Berlin")
    # one hour ahead of UTC in winter, two in summer
    assert stamps(unpack.course) == {
        "Wei_Zhang_7022": "2027-03-01 20:14:00 UTC",
        "Wei_Zhang_7023": "2027-06-30 22:05:00 UTC",
    }
    # a time that is there stays: somebody may have corrected it
    rows[0][3] = "Tuesday, 2 March 2027, 9:14 PM"
    unpack(WEI, worksheet=worksheet(tmp_path, *rows), zone="Europe/Berlin")
    assert stamps(unpack.course)["Wei_Zhang_7022"] == "2027-03-01 20:14:00 UTC"


@pytest.mark.parametrize(
    ("row", "zone", "words"),
    [
        (["Teilnehmer 1", "Jo", "", ""], "UTC", "worksheet in English"),
        (["Participant 1", "Jo", "", "Montag, 1. März 2027, 21:14"], "UTC", "no time as Moodle"),
        (
            ["Participant 1", "Jo", "", "Monday, 1 March 2027, 9:14 PM"],
            "Mars",
            "'Mars' is no time zone",
        ),
    ],
)
def test_a_worksheet_that_cannot_be_read_changes_nothing(unpack, tmp_path, row, zone, words):
    with pytest.raises(CourseError, match=words):
        unpack(WEI, worksheet=worksheet(tmp_path, row), zone=zone)
    assert not (unpack.course / "submitted").exists()


def test_canvas_mark_of_lateness_counts_from_the_due_date(unpack):
    course = Course(COURSE.root, class_folder=unpack.course)
    exercise = course.exercise(EXERCISE)
    lateness.set_due_date(course, exercise, datetime.datetime(2027, 3, 1, 18))
    with Gradebook(course.db_url) as book:
        book.add_student("roe", lms_user_id="1002")
        book.add_student("ann", lms_user_id="1004")
    lateness.extend(course, [lateness.Extension("ann", EXERCISE, datetime.timedelta(days=1))])
    files = {
        f"doejane_1001_2001_{NAME}": "in time",
        f"roerichard_LATE_1002_2002_{NAME}": "late",
        f"ann_LATE_1004_2004_{NAME}": "later than her extension",
    }
    done = unpack(files)
    assert stamps(unpack.course) == {
        "roe": "2027-03-01 18:01:00 UTC",
        "ann": "2027-03-02 18:01:00 UTC",
    }
    (told,) = [words for words in done.notes if words.startswith("Late")]
    assert "ann, roe" in told and "a minute late" in told
    # a time that somebody has corrected stays, and is not asked for again
    stamp = unpack.course / "submitted" / "ann" / EXERCISE / "timestamp.txt"
    stamp.write_text("2027-03-03 12:00:00 UTC\n")
    assert not [words for words in unpack(files).notes if words.startswith("Late")]
    assert stamps(unpack.course)["ann"] == "2027-03-03 12:00:00 UTC"
    # handed in again, and late again: the mark is the new submission's
    done = unpack({f"roerichard_LATE_1002_2003_{NAME}": "again"})
    assert done.replaced == ["roe"] and stamps(unpack.course)["roe"] == "2027-03-01 18:01:00 UTC"


def test_a_time_that_the_newer_submission_lacks_is_told(unpack):
    unpack({f"ada_1_10_{NAME}": "first"})
    stamp = unpack.course / "submitted" / "ada_1" / EXERCISE / "timestamp.txt"
    stamp.write_text("2027-03-01 21:14:00 UTC\n")
    (told,) = unpack({f"ada_1_11_{NAME}": "second"}).notes
    assert told.startswith("ada_1 has handed in again") and not stamp.exists()


# Which file ---------------------------------------------------------------------------------------


def test_of_several_notebooks_the_one_of_the_right_name_or_the_newest_is_taken(unpack):
    folder = "{}_1_assignsubmission_file_/{}"
    done = unpack(
        {
            f"ada_1_10_{NAME}": "right name",
            "ada_1_99_scratch.ipynb": "newer, wrong name",
            "ben_2_20_final.ipynb": "newer",
            "ben_2_19_draft.ipynb": "older",
            f"chi_3_30_{EXERCISE}-1.ipynb": "newest",
            f"chi_3_29_{NAME}": "older",
            "dia_4_40_homework.ipynb": "only one",
            "eli_5_50_report.pdf": "no notebook",
            entry(folder.format("Fay", "a.ipynb"), LATE): "newer",
            entry(folder.format("Fay", "b.ipynb"), EARLY): "older",
        }
    )
    assert laid_out(unpack.course) == {
        "ada_1": "right name",
        "ben_2": "newer",
        "chi_3": "newest",
        "dia_4": "only one",
        "Fay": "newer",
    }
    # the others lie beside them: the grader sees which was worked on
    assert beside(unpack.course) == {
        "ada_1": ("scratch (1).ipynb", "newer, wrong name"),
        "ben_2": ("draft (1).ipynb", "older"),
        "chi_3": (f"{EXERCISE} (1).ipynb", "older"),
        "Fay": ("b (1).ipynb", "older"),
    }
    told = "\n".join(done.notes)
    for words in (
        f"ada_1 has handed in 2 notebooks; {NAME} was taken",
        "ben_2 has handed in 2 notebooks; final.ipynb was taken",
        "dia_4's notebook is called homework.ipynb",
        "eli_5 has handed in no notebook (report.pdf)",
    ):
        assert words in told


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def test_a_notebook_with_a_further_ending_or_in_a_zip_is_taken(unpack):
    done = unpack(
        {
            f"ada_1_10_{NAME}.txt": "windows",
            f"ben_2_20_{EXERCISE}-1.ipynb.txt": "again",
            "chi_3_30_work.zip": zipped({f"work/{NAME}": "in a zip", "work/other.ipynb": "no"}),
            "dia_4_40_all.zip": zipped({"mine.ipynb": "only one", "__MACOSX/._mine.ipynb": "no"}),
            "eli_5_50_two.zip": zipped({"a.ipynb": "a", "b.ipynb": "b"}),
            "fay_6_60_bomb.zip": zipped({NAME: b"0" * 5_000_000}),
            "gus_7_70_broken.zip": b"PK no zip",
            "hal_8_80_text.html": "typed in",
            "Ina_9_assignsubmission_onlinetext_/onlinetext.html": "typed in",
        }
    )
    assert laid_out(unpack.course) == {
        "ada_1": "windows",
        "ben_2": "again",
        "chi_3": "in a zip",
        "dia_4": "only one",
    }
    told = "\n".join(done.notes)
    for words in (
        "holds 2 notebooks",
        "holds a notebook that unpacks to far more",
        "gus_7: 'gus_7_70_broken.zip' is damaged",
        "Typed in as text or as a link in place of a file, and left out: 2",
    ):
        assert words in told
    assert len(done.notes) == 4


def companions(course, student):
    """What lies beside a student's notebook: name and content."""
    folder = course / "submitted" / student / EXERCISE
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != NAME}


def test_what_a_notebook_may_need_lies_beside_it(unpack):
    folder = "Jane Doe_7_assignsubmission_file_/"
    packed = {f"work/{NAME}": "in a zip", "work/helper.py": "packed", "work/data/x.csv": "deeper"}
    unpack(
        {
            f"ada_1_10_{NAME}": "ada",
            "ada_1_11_helper.py": "module",
            "ada_1_12_my photo.jpg": "picture",
            f"{folder}{NAME}": "jane",
            f"{folder}src/helper.py": "deeper",
            "chi_3_30_work.zip": zipped(packed),
        }
    )
    assert companions(unpack.course, "ada_1") == {"helper.py": "module", "my photo.jpg": "picture"}
    assert companions(unpack.course, "Jane_Doe") == {"helper.py": "deeper"}
    assert companions(unpack.course, "chi_3") == {"helper.py": "packed"}


def test_a_file_that_canvas_has_counted_can_be_imported_by_its_own_name(unpack):
    files = {f"ada_1_12_{EXERCISE}-1.ipynb": "again", "ada_1_10_helper.py": "first"}
    unpack(files | {"ada_1_11_helper-1.py": "second", "ada_1_13_data-1.csv": "1"})
    assert companions(unpack.course, "ada_1") == {
        **{"helper.py": "first", "helper-1.py": "second"},
        **{"data-1.csv": "1", "data.csv": "1"},
    }


def test_no_file_beside_a_notebook_passes_for_something_else(unpack):
    """Not for a time of submission, the notebook, or what nobody meant to hand in."""
    names = ("timestamp.txt", "Timestamp.TXT", "timestamp-1.txt", ".hidden", "Thumbs.db", "x" * 144)
    packed = zipped({NAME: "in a zip", "timestamp.txt": "forged", "../out.py": "out"})
    given = {f"ada_1_2{n}_{name}": "no" for n, name in enumerate(names)}
    unpack({f"ada_1_10_{NAME}": "ada", **given, "ben_2_20_a.zip": packed})
    assert companions(unpack.course, "ada_1") == {"timestamp-1.txt": "no"}
    assert companions(unpack.course, "ben_2") == {}


def test_what_is_no_notebook_is_laid_out_for_a_person(unpack):
    two = zipped({"a.ipynb": "a", "b.ipynb": "b"})
    done = unpack(
        {"ada_1_10_report.pdf": "my work", "ada_1_11_code.py": "x", "ben_2_20_a.zip": two}
    )
    assert done.new == ["ada_1", "ben_2"] and laid_out(unpack.course) == {}
    assert companions(unpack.course, "ada_1") == {"report.pdf": "my work", "code.py": "x"}
    folder = unpack.course / "submitted" / "ben_2" / EXERCISE
    assert (folder / "a.zip").read_bytes() == two
    assert "A person has to look at it" in done.notes[0]
    # and takes no notebook's place
    assert unpack({f"ada_1_12_{NAME}": "ada"}).replaced == ["ada_1"]
    assert unpack({"ada_1_13_report.pdf": "more"}).replaced == []
    assert laid_out(unpack.course) == {"ada_1": "ada"}


def test_files_beside_a_notebook_have_their_limits(unpack):
    many = {f"ada_1_{n}_{n:02}.txt": "" for n in range(30, 60)}
    large = os.urandom(importer.MAX_COMPANION + 1)
    done = unpack({f"ada_1_10_{NAME}": "ada", "ada_1_11_film.mp4": large, **many})
    assert len(companions(unpack.course, "ada_1")) == importer.MAX_COMPANIONS
    (told,) = done.notes
    assert told.startswith("ada_1 has handed in files of more than 5 MB") and "film.mp4" in told


def test_a_file_beside_that_has_changed_is_another_submission(unpack):
    files = {f"ada_1_10_{NAME}": "ada", "ada_1_11_helper.py": "in time"}
    unpack(files)
    assert unpack(files).unchanged == ["ada_1"]
    # a time belongs to all of what was handed in at that time
    assert unpack({**files, "ada_1_11_helper.py": "later"}).replaced == ["ada_1"]


def test_nothing_is_overwritten_without_a_word(unpack):
    files = {f"ada_1_10_{NAME}": "first", f"ben_2_20_{NAME}": "same"}
    assert unpack(files).new == ["ada_1", "ben_2"]
    stamp = unpack.course / "submitted" / "ada_1" / EXERCISE / "timestamp.txt"
    stamp.write_text("2027-03-01 21:14:00 UTC\n")
    done = unpack({**files, f"ada_1_10_{NAME}": "second"})
    assert (done.new, done.unchanged, done.replaced) == ([], ["ben_2"], ["ada_1"])
    done = unpack({**files, f"ada_1_10_{NAME}": "third"})
    assert laid_out(unpack.course) == {"ada_1": "third", "ben_2": "same"}
    aside = unpack.course / "replaced" / "ada_1" / EXERCISE
    assert [(aside / n / NAME).read_text() for n in ("1", "2")] == ["first", "second"]
    # a time belongs to what was handed in at that time
    assert (aside / "1" / "timestamp.txt").exists() and not stamp.exists()


# What a zip can do --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        f"../../ada_1_10_{NAME}",
        f"..\\..\\ada_1_10_{NAME}",
        f"C:\\ada_1_10_{NAME}",
        f"x/../../Jo Doe_1_assignsubmission_file_/{NAME}",
        pytest.param("_1" * 20_000 + NAME, id="a long path"),
    ],
)
def test_a_path_that_leads_out_is_left_out(unpack, tmp_path, name):
    before = set(tmp_path.parent.rglob("*.ipynb"))
    done = unpack({name: "out", f"ben_2_20_{NAME}": "in"})
    assert laid_out(unpack.course) == {"ben_2": "in"}
    assert "left out: 1" in done.notes[0]
    assert {path.name for path in set(tmp_path.parent.rglob("*.ipynb")) - before} == {NAME}
    assert len(set(tmp_path.parent.rglob(NAME)) - before) == 1


def test_links_devices_and_encrypted_files_are_left_out(unpack):
    link, device = entry(f"ada_1_10_{NAME}"), entry(f"ben_2_20_{NAME}")
    link.external_attr = 0o120777 << 16
    device.external_attr = 0o020666 << 16
    done = unpack({link: "/etc/passwd", device: "", f"chi_3_30_{NAME}": "in"})
    assert laid_out(unpack.course) == {"chi_3": "in"}
    assert sum("is a link" in words for words in done.notes) == 2


def test_a_bomb_does_not_go_off(unpack, monkeypatch):
    zeros = b"0" * 5_000_000
    done = unpack({f"ada_1_10_{NAME}": zeros, f"ben_2_20_{NAME}": "in"})
    assert laid_out(unpack.course) == {"ben_2": "in"}
    assert "far more than a notebook" in done.notes[0]
    monkeypatch.setattr(importer, "MAX_WITH_OUTPUTS", 1_000)
    done = unpack({f"ada_1_10_{NAME}": os.urandom(1_001)})
    assert "too large" in done.notes[0]
    monkeypatch.setattr(importer, "MAX_TOTAL", 1_500)
    with pytest.raises(SubmissionFolderError, match="would unpack to more than"):
        unpack({f"ada_{n}_{n}_{NAME}": os.urandom(900) for n in range(2)})
    monkeypatch.setattr(importer, "MAX_ENTRIES", 3)
    with pytest.raises(SubmissionFolderError, match="more than 3 files"):
        unpack({f"ada_{n}_{n}_{NAME}": "" for n in range(4)})


def test_a_header_that_lies_about_the_size_is_not_believed(tmp_path):
    """5 MB of zeros that say they are 100 bytes: in both headers of the zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(entry(f"ada_1_10_{NAME}"), b"0" * 5_000_000)
    content = packed.getvalue().replace(struct.pack("<I", 5_000_000), struct.pack("<I", 100))
    path = tmp_path / "class.zip"
    path.write_bytes(content)
    done = import_zip(path, tmp_path)
    assert done.new == [] and "is damaged" in done.notes[0]


def test_one_damaged_file_costs_no_other(unpack, tmp_path):
    unpack({f"ada_1_10_{NAME}": "a" * 40, f"ben_2_20_{NAME}": "in"})
    path = tmp_path / "class.zip"
    content = bytearray(path.read_bytes())
    content[30 + len(f"ada_1_10_{NAME}") + 1] ^= 0xFF
    path.write_bytes(content)
    course = tmp_path / "other"
    done = import_zip(path, course)
    assert laid_out(course) == {"ben_2": "in"}
    assert "ada_1" in done.notes[0] and "is damaged" in done.notes[0]


# The command, and errors -------------------------------------------------------------------------------------------


def test_the_command_says_what_it_did(unpack, tmp_path, capsys):
    unpack({f"ada_1_10_{NAME}": "in", f"ben_2_20_{EXERCISE}.pdf": "no notebook"})
    command = ["import-zip", str(tmp_path / "class.zip"), "--exercise", EXERCISE]
    main([*command, "--submitted", str(unpack.course / "submitted")])
    printed = capsys.readouterr()
    assert "1 unchanged: ada_1" in printed.out and "0 new" in printed.out
    assert "ben_2 has handed in no notebook" in printed.err


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 cut off"])
def test_what_is_no_zip_is_an_error_with_a_way_out(tmp_path, content):
    path = tmp_path / "class.zip"
    path.write_bytes(content)
    with pytest.raises(
        SubmissionFolderError, match=r"class\.zip is not a zip .* Download it again"
    ):
        import_zip(path, tmp_path)
    with pytest.raises(SubmissionFolderError, match="not a zip"):
        import_zip(tmp_path / "none.zip", tmp_path)


def test_a_zip_of_something_else_is_an_error(unpack):
    with pytest.raises(SubmissionFolderError) as raised:
        unpack({"thesis.docx": "", "s1/notebook.ipynb": ""})
    for system in SYSTEMS.values():
        assert f"in {system.title}, {system.download}" in str(raised.value)
    assert not (unpack.course / "submitted").exists()


def test_a_folder_that_cannot_be_written_is_an_error_with_a_way_out(unpack):
    unpack.course.mkdir()
    (unpack.course / "submitted").touch()
    with pytest.raises(OutputError, match=r"can't be written: .*write elsewhere"):
        unpack({f"ada_1_10_{NAME}": "in"})


@pytest.mark.parametrize("marked", [True, False])
def test_no_class_is_laid_out_beside_the_sample_class(unpack, marked):
    (unpack.course / "submitted" / "sample-ada").mkdir(parents=True)
    if marked:
        (unpack.course / "submitted" / "sample-zoe").mkdir()
        (unpack.course / "submitted" / SAMPLE_MARK).touch()
    with pytest.raises(SubmissionFolderError, match="sample class") as refused:
        unpack({f"ada_1_10_{NAME}": "in"})
    assert "delete" not in str(refused.value)


def test_a_student_who_is_called_like_the_sample_class_is_a_student(unpack):
    """No message leads to a class being deleted because of a name, and no grading removes a submission."""
    named = {f"sample-ada Lovelace_123_assignsubmission_file_/{NAME}": "in"}
    assert unpack(named).new == ["sample-ada_Lovelace"]
    assert unpack(named).unchanged == ["sample-ada_Lovelace"]
    course = Course(COURSE.root, class_folder=unpack.course)
    assert not course.is_sample_class
    assert not sample_class.make(course, [course.exercise(EXERCISE)])


def test_the_sample_class_is_marked_by_who_makes_it(tmp_path):
    course = Course(COURSE.root, class_folder=tmp_path / "course")
    assert sample_class.make(course, [course.exercise(EXERCISE)]) and course.is_sample_class
    assert sample_class.make(course, [course.exercise(EXERCISE)])
    (course.submitted / "s001").mkdir()
    assert not course.is_sample_class
    assert not sample_class.make(course, [course.exercise(EXERCISE)])
