"""Due dates and extensions: recorded, shown to students, and followed by penalties without grading."""

import datetime
import math
import re
import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin

from autograder.build.due_date import put_due_date, show_due_date, shown_due_date
from autograder.build.generate import refuse_to_lose_edits
from autograder.course import Course, Exercise
from autograder.errors import CourseError, DateError, ExerciseError, GradebookError, TableError
from autograder.exercises import released
from autograder.grade import gradebook, lateness
from autograder.grade.lateness import Extension
from autograder.nbgrader_adapter import transaction
from autograder.times import read_time
from tests.support.copies import command, repository
from tests.support.course import COURSE
from tests.support.grading import add_exercise, grade_here
from tests.support.submissions import EXERCISE as GRADED
from tests.support.submissions import hand_in

FIRST, SECOND = "ch1_additive_attention", "ch2_scaled_dot_product"
DUE = datetime.datetime(2027, 3, 1, 18)
DAY = datetime.timedelta(days=1)
AHEAD = f"{datetime.date.today().year + 1}-03-01"


# Times in words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2027-03-01 18:00 UTC", DUE),
        ("2027-03-01 18:00", DUE),
        ("2027-03-01T18:00Z", DUE),
        ("2027-03-01 19:00 +01:00", DUE),
        ("2027-03-01T13:00-05:00", DUE),
        ("2027-03-01 19:00 Europe/Berlin", DUE),
        # in summer time
        ("2027-07-01 20:00 Europe/Berlin", datetime.datetime(2027, 7, 1, 18)),
        ("2027-03-01", datetime.datetime(2027, 3, 1, 23, 59)),
        ("2027-03-01 UTC", datetime.datetime(2027, 3, 1, 23, 59)),
    ],
)
def test_a_time_is_read_in_its_zone(text, wanted):
    assert read_time(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2027-13-01", "2027-03-01 18:00 Nowhere/City", "1 March 2027", "2d"),
        *("01/03/2027 18:00", "01.03.2027", "03-01-2027 18:00 UTC", "2027-07-01 18:00 CEST"),
        *("2027-03-01 6 PM", "2027-03-01 18:00 Berlin"),
    ],
)
def test_what_is_no_time_is_an_error_with_an_example(text):
    with pytest.raises(DateError, match="2027-03-01 18:00 UTC"):
        read_time(text)


@pytest.mark.parametrize(
    ("text", "hours"),
    [("2d", 48), ("36h", 36), ("1w", 168), ("1d12h", 36), ("90m", 1.5), ("1.5h", 1.5), ("0", 0)],
)
def test_a_length_of_time_is_read(text, hours):
    assert lateness.read_duration(text) == datetime.timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "-2d", "2", "2 d", "2y", "2dd", "9999w", "1e9d"])
def test_what_is_no_length_of_time_is_an_error(text):
    with pytest.raises(DateError):
        lateness.read_duration(text)


def test_times_are_told_in_words():
    assert lateness.in_words(DUE) == "Monday, 1 March 2027, 18:00 UTC"
    assert lateness.duration_in_words(1.5 * DAY) == "1 d 12 h"
    assert lateness.duration_in_words(datetime.timedelta(seconds=7)) == "7 s"


# In the gradebook ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """A gradebook's file: s1 has handed in FIRST, with 20 of 30 points, and s2 nothing."""
    made = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("made"))
    with Gradebook(made.db_url) as book:
        add_exercise(book, FIRST, all=30)
        for student in ("s1", "s2"):
            book.add_student(student)
        book.add_submission(FIRST, "s1")
        book.find_grade("all", FIRST, FIRST, "s1").auto_score = 20
        book.db.commit()
    return made.home / "gradebook.db"


@pytest.fixture
def course(tmp_path, database):
    """A class with that gradebook. All late work gets 0."""
    made = Course(COURSE.root, class_folder=tmp_path / "class")
    made.home.mkdir()
    made.config.LateSubmissionPlugin.penalty_method = "zero"
    shutil.copy(database, made.home)
    return made


def hand_in_at(course, student, text):
    folder = course.submitted / student / FIRST
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "timestamp.txt").write_text(text)


def penalties(course):
    return [
        (late.student, late.by, late.penalty)
        for late in lateness.update_penalties(course, course.exercises())
    ]


def recorded(course):
    with Gradebook(course.db_url) as book:
        return book.find_submission(FIRST, "s1").late_submission_penalty


def test_a_penalty_follows_the_due_date_the_extension_and_the_time_of_submission(course):
    exercise = course.exercise(FIRST)
    hand_in_at(course, "s1", "2027-03-02 18:00:00 UTC")
    assert penalties(course) == [] and recorded(course) == 0
    assert lateness.set_due_date(course, exercise, DUE) == []
    assert penalties(course) == [("s1", DAY, 20)] and recorded(course) == 20
    lateness.extend(course, [Extension("s1", FIRST, DAY)])
    assert penalties(course) == [] and recorded(course) == 0
    hand_in_at(course, "s1", "2027-03-02 19:00:00 UTC")
    assert penalties(course) == [("s1", DAY / 24, 20)]
    # a longer one takes its place, and doesn't add to it
    lateness.extend(course, [Extension("s1", FIRST, 2 * DAY)])
    assert penalties(course) == []
    lateness.extend(course, [Extension("s1", FIRST, datetime.timedelta())])
    assert penalties(course) == [("s1", 25 * DAY / 24, 20)]
    assert lateness.dates(course, [exercise])[0].extensions == {}


def test_a_penalty_follows_points_given_by_hand(course):
    hand_in_at(course, "s1", "2027-03-02 18:00:00 UTC")
    lateness.set_due_date(course, course.exercise(FIRST), DUE)
    assert penalties(course) == [("s1", DAY, 20)]
    with Gradebook(course.db_url) as book:
        book.find_grade("all", FIRST, FIRST, "s1").manual_score = 25
        book.db.commit()
    (late,) = lateness.update_penalties(course, course.exercises())
    assert (late.before, late.penalty) == (20, 25) and recorded(course) == 25


class Failing(LateSubmissionPlugin):
    """What a plugin with a slip may do; result: what it returns, or raises."""

    result = None

    def late_submission_penalty(self, student_id, score, total_seconds_late):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        ("2", "TypeError"),
        (math.nan, "it returns nan"),
    ],
)
def test_a_plugin_that_fails_is_named_in_one_sentence(course, result, reason):
    lateness.set_due_date(course, course.exercise(FIRST), DUE)
    hand_in_at(course, "s1", "2027-03-02 18:00:00 UTC")
    course.config.AssignLatePenalties.plugin_class = type("Own", (Failing,), {"result": result})
    with pytest.raises(CourseError, match=f"late penalty of s1.*{reason}.*nbgrader_config.py"):
        lateness.update_penalties(course, course.exercises())
    assert recorded(course) == 0


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("LateSubmissionPlugin", "penalty_method", "half"),
        ("AssignLatePenalties", "plugin_class", "no_such_module.Plugin"),
        ("AssignLatePenalties", "plugin_class", dict),
    ],
)
def test_a_setting_of_penalties_that_is_wrong_is_named(course, section, name, value):
    lateness.set_due_date(course, course.exercise(FIRST), DUE)
    hand_in_at(course, "s1", "2027-03-02 18:00:00 UTC")
    course.config[section][name] = value
    with pytest.raises(CourseError, match="can't be computed") as caught:
        lateness.update_penalties(course, course.exercises())
    assert f"c.{section}.{name}" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("extension", [0, 1])
@pytest.mark.parametrize(
    ("due", "handed_in", "seconds"),
    [
        ("2027-03-01", "23:59:00", 0),
        ("2027-03-01", "23:59:30", 0),
        ("2027-03-01", "23:59:59.999999", 0),
        ("2027-03-01 23:59:20 UTC", "23:59:59", 0),
        ("2027-03-01 23:58 UTC", "23:59:00", 60),
        ("2027-03-01 23:58 UTC", "23:59:30", 90),
    ],
)
def test_a_due_date_lasts_to_the_end_of_the_minute_that_is_shown(
    course, due, handed_in, seconds, extension
):
    lateness.set_due_date(course, course.exercise(FIRST), read_time(due))
    lateness.extend(course, [Extension("s1", FIRST, extension * DAY)])
    hand_in_at(course, "s1", f"2027-03-0{1 + extension} {handed_in} UTC")
    late = [("s1", datetime.timedelta(seconds=seconds), 20)] if seconds else []
    assert penalties(course) == late


@pytest.mark.parametrize("text", ["01/03/2027 18:00", "2027-03-01 20:00:00.0 CEST", "soon"])
def test_a_time_of_submission_that_could_be_another_is_told_and_not_guessed(course, text):
    lateness.set_due_date(course, course.exercise(FIRST), DUE - 99 * DAY)
    hand_in_at(course, "s1", text)
    assert penalties(course) == []
    (told,) = lateness.unreadable_times(course, [course.exercise(FIRST)])
    assert repr(text) in told and "timestamp.txt" in told and "2027-03-01 18:00 UTC" in told
    hand_in_at(course, "s1", "2027-03-01 18:00:00.25 UTC")
    assert lateness.unreadable_times(course, [course.exercise(FIRST)]) == []


def test_a_time_stamp_that_is_gone_or_damaged_leaves_the_recorded_time(course):
    lateness.set_due_date(course, course.exercise(FIRST), DUE)
    hand_in_at(course, "s1", "2027-03-02 18:00:00 UTC")
    assert penalties(course) == [("s1", DAY, 20)]
    hand_in_at(course, "s1", "yesterday, I think")
    assert penalties(course) == [("s1", DAY, 20)]
    shutil.rmtree(course.submitted)
    assert penalties(course) == [("s1", DAY, 20)]


def test_an_extension_before_handing_in_is_no_submission(course):
    lateness.set_due_date(course, course.exercise(FIRST), DUE)
    lateness.extend(course, [Extension("s2", FIRST, DAY)])
    (own,) = lateness.dates(course, [course.exercise(FIRST)])
    assert (own.due, own.extensions) == (DUE, {"s2": DAY})
    with Gradebook(course.db_url) as book:
        assert [found["student"] for found in book.submission_dicts(FIRST)] == ["s1"]
        assert book.find_submission(FIRST, "s2").duedate == DUE + DAY
    # taken back, nothing is left
    lateness.extend(course, [Extension("s2", FIRST, datetime.timedelta())])
    with Gradebook(course.db_url) as book:
        assert [s.student_id for s in book.assignment_submissions(FIRST)] == ["s1"]


def test_grading_completes_it_and_keeps_the_extension(course):
    lateness.set_due_date(course, course.exercise(FIRST), DUE)
    lateness.extend(course, [Extension("s2", FIRST, DAY)])
    with transaction(course.db_url) as book:
        found = gradebook._submission(book, FIRST, "s2", DUE + 2 * DAY)
        assert (found.extension, found.timestamp) == (DAY, DUE + 2 * DAY)
        assert lateness.lateness(found) == DAY
        book.find_grade("all", FIRST, FIRST, "s2").auto_score = 7
        book.db.commit()
        # another time it is the same one
        assert gradebook._submission(book, FIRST, "s2", None).id == found.id
    assert penalties(course) == [("s2", DAY, 7)]


def test_a_due_date_that_is_taken_away_takes_its_extensions_along(course):
    exercise = course.exercise(FIRST)
    lateness.set_due_date(course, exercise, DUE)
    lateness.extend(course, [Extension(student, FIRST, DAY) for student in ("s1", "s2")])
    hand_in_at(course, "s1", "2028-03-02 18:00:00 UTC")
    assert len(penalties(course)) == 1
    assert lateness.set_due_date(course, exercise, None) == ["s1", "s2"]
    assert penalties(course) == [] and recorded(course) == 0
    assert lateness.dates(course, [exercise]) == [lateness.Dates(FIRST, None, {})]


def test_an_extension_that_is_over_is_told():
    ahead = lateness.now() + DAY
    recorded = [lateness.Dates(FIRST, ahead - 3 * DAY, {}), lateness.Dates(SECOND, ahead, {})]
    given = [
        Extension("s1", FIRST, DAY),
        Extension("s2", FIRST, 5 * DAY),
        Extension("s1", SECOND, DAY),
    ]
    none = Extension("s3", FIRST, datetime.timedelta())
    (told,) = lateness.already_over(recorded, [*given, none])
    assert told.startswith(f"s1, {FIRST}: the extended due date") and "in the past" in told


def test_an_exercise_that_nobody_has_handed_in_can_have_a_due_date(course, tmp_path):
    for own in (course, Course(COURSE.root, class_folder=tmp_path / "new")):
        exercise = own.exercise(SECOND)
        assert lateness.dates(own, [exercise]) == [lateness.Dates(SECOND, None, {})]
        lateness.set_due_date(own, exercise, DUE)
        assert lateness.dates(own, [exercise]) == [lateness.Dates(SECOND, DUE, {})]
        assert lateness.update_penalties(own, own.exercises()) == []


def table(tmp_path, *lines):
    path = tmp_path / "extensions.csv"
    path.write_text("\n".join(["student,exercise,extension", *lines]), encoding="utf-8")
    return path


def test_a_table_of_extensions_is_written_whole_or_not_at_all(course, tmp_path):
    lateness.set_due_date(course, course.exercise(FIRST), DUE)
    wrong = lateness.read_extensions(table(tmp_path, f"s1,{FIRST},2d", f"s3,{FIRST},2d"))
    with pytest.raises(GradebookError, match=r"no student 's3'\. Did you mean s\d or s\d\?"):
        lateness.extend(course, wrong)
    assert lateness.dates(course, [course.exercise(FIRST)])[0].extensions == {}
    right = lateness.read_extensions(table(tmp_path, f"s1,{FIRST},2d", "", f" s2 ,{FIRST}, 12h "))
    lateness.extend(course, right)
    assert lateness.dates(course, [course.exercise(FIRST)])[0].extensions == {
        "s1": 2 * DAY,
        "s2": DAY / 2,
    }


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([f"s1,{FIRST},2 days"], r"line 2: '2 days' is not a length of time"),
        ([f"s1,{FIRST},2d", f"s1,{FIRST},3d"], "line 3: s1 has an extension .* above"),
    ],
)
def test_a_table_with_a_bad_line_names_it(tmp_path, lines, words):
    with pytest.raises(DateError, match=words):
        lateness.read_extensions(table(tmp_path, *lines))


def test_a_table_without_its_columns_is_an_error(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,time\ns1,2d\n")
    with pytest.raises(TableError, match=r"no column student .*student,exercise,extension"):
        lateness.read_extensions(path)


def test_an_exercise_without_a_due_date_cannot_be_extended(course):
    for exercise in (FIRST, SECOND):
        with pytest.raises(DateError, match=f"autograder due {exercise} TIME"):
            lateness.extend(course, [Extension("s1", exercise, DAY)])


def test_without_a_gradebook_there_is_nobody_to_extend(tmp_path):
    empty = Course(COURSE.root, class_folder=tmp_path)
    with pytest.raises(GradebookError, match="python -m autograder roster"):
        lateness.extend(empty, [Extension("s1", FIRST, DAY)])
    assert lateness.update_penalties(empty, empty.exercises()) == []
    assert not list(tmp_path.iterdir())


# In the notebook ----------------------------------------------------------------------------------


@pytest.fixture
def first(tmp_path):
    """A copy of an exercise as it is handed out."""
    shutil.copytree(COURSE.root / "exercises" / FIRST, tmp_path / "exercises" / FIRST)
    return Exercise(tmp_path, FIRST)


def test_the_first_cell_shows_the_due_date_below_the_title(first):
    before = first.notebook.read_bytes()
    assert show_due_date(first, "on Monday")
    title, due, *_ = released(first).cells[0].source.split("\n\n")
    assert title.startswith("# Exercise 1") and due == "**Due:** on Monday"
    assert shown_due_date(released(first)) == "on Monday"
    # a build takes it for its own work
    refuse_to_lose_edits(Course(first.root))
    assert show_due_date(first, "on Tuesday") and not show_due_date(first, "on Tuesday")
    assert released(first).cells[0].source.count("**Due:**") == 1
    assert show_due_date(first, "")
    assert first.notebook.read_bytes() == before


def test_a_notebook_with_edits_is_left_as_it_is(first):
    notebook = released(first)
    notebook.cells[0].source += "\n\nA note of the instructor's."
    nbformat.write(notebook, first.notebook)
    before = first.notebook.read_bytes()
    with pytest.raises(ExerciseError, match="edited by hand"):
        show_due_date(first, "on Monday")
    assert first.notebook.read_bytes() == before


def test_a_notebook_without_text_shows_no_date():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    put_due_date(notebook, "on Monday")
    assert [cell.source for cell in notebook.cells] == ["1"] and shown_due_date(notebook) == ""


# The commands -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A copy of the repository with a roster."""
    root = repository(tmp_path_factory.mktemp("due"))
    (root / "course").mkdir()
    with Gradebook(Course(root).db_url) as book:
        book.add_student("s1")
    return root


@pytest.mark.xdist_group("due")
def test_the_commands_set_show_and_refuse(root):
    done = command(root, "due", FIRST, f"{AHEAD} 18:00 UTC")
    assert done.status == 0 and f"{AHEAD} 18:00" in done.stdout, done.stderr
    done = command(root, "extend", "s1", FIRST, "2d")
    assert done.status == 0 and "s1" in done.stdout and "2 d" in done.stdout, done.stderr
    assert command(root, "due").stdout == command(root, "extend").stdout
    for words, said in (
        (("due", FIRST, "2020-01-01"), "is in the past.*--past"),
        (("due", FIRST, "tomorrow"), "is not a time"),
        (("due", "ch0_x", "2030-01-01"), "no exercise 'ch0_x'"),
        (("extend", "s2", FIRST, "2d"), "no student 's2'. Did you mean s1"),
        (("extend", "s1", SECOND, "2d"), f"{SECOND} has no due date"),
        (("extend", "s1", FIRST, "2 days"), "is not a length of time"),
        (("extend", "s1", FIRST), "needs a student, an exercise and a time"),
        (("extend", "s1", FIRST, "2d", "--table", "x.csv"), "not both"),
        (("extend", "--table", "x.csv"), "x.csv can't be read"),
    ):
        done = command(root, *words)
        assert done.status == 2, words
        assert re.search(said, done.stderr), (words, done.stderr)
    assert "shows the due date" in command(root, "due", FIRST, "2020-01-01", "--past").stdout
    assert "shows no due date" in command(root, "due", FIRST, "none").stdout


@pytest.mark.xdist_group("due")
def test_a_build_keeps_the_date_and_does_not_build_for_it(root):
    exercise = Course(root).exercise(FIRST)
    assert command(root, "due", FIRST, f"{AHEAD} 18:00").status == 0
    shown = shown_due_date(released(exercise))
    assert f"{AHEAD[:4]}, 18:00 UTC" in shown
    done = command(root, "build", "--exercise", FIRST)
    assert "up to date" in done.stdout
    text = exercise.solution.read_text(encoding="utf-8")
    exercise.solution.write_text(text.replace("# Exercise 1:", "# Exercise One:", 1), "utf-8")
    done = command(root, "build", "--exercise", FIRST)
    assert done.status == 0 and "Built" in done.stdout, done.stderr
    assert released(exercise).cells[0].source.startswith("# Exercise One:")
    assert shown_due_date(released(exercise)) == shown


# Grading ------------------------------------------------------------------------------------------


@pytest.mark.xdist_group("submissions")
def test_an_extension_given_before_holds_when_the_submission_is_graded(new_class):
    course = hand_in(new_class(), "honest")
    folder = course.submitted / "honest" / GRADED.name
    (folder / "timestamp.txt").write_text("2027-03-02 18:00:00 UTC")
    course.config.LateSubmissionPlugin.penalty_method = "zero"
    exercise = course.exercise(GRADED.name)
    lateness.set_due_date(course, exercise, DUE)
    with Gradebook(course.db_url) as book:
        book.add_student("honest")
    lateness.extend(course, [Extension("honest", exercise.name, DAY)])
    (result,) = grade_here(course, exercise.name)
    with Gradebook(course.db_url) as book:
        submission = book.find_submission(exercise.name, "honest")
        assert submission.extension == DAY and submission.late_submission_penalty == 0
        assert submission.score == result.points
    lateness.extend(course, [Extension("honest", exercise.name, DAY / 2)])
    (late,) = lateness.update_penalties(course, [exercise])
    assert (late.by, late.penalty) == (DAY / 2, result.points)
