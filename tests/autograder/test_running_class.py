"""A class that an earlier commit has graded goes on: what it recorded, late work, links.

The class is `tests/running_class/class.tar.xz`; nothing here makes it anew.
"""

import csv
import dataclasses
import functools
import hashlib
import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.errors import ExerciseError
from autograder.exercises import metadata_of, released
from autograder.grade.grade_class import Grader
from autograder.grade.gradebook import register, stored_result
from autograder.grade.make_keys import answer_key
from autograder.grade.result import GRADER_VERSION, Result
from autograder.runtime.plain_data import unpack
from tests.running_class import (
    BOOK,
    CONFIG,
    EXPORTS,
    class_exercises,
    results,
    unpack_class,
    verdicts,
)
from tests.support.canvas_server import TOKEN, class_of, serving
from tests.support.copies import command, configure, repository
from tests.support.course import COURSE
from tests.support.processor_budget import filling

# the exercise to which somebody has handed in twice
AGAIN = "ch1_additive_attention"
ALWAYS = {"ch7_training": ("mia", "noa")}
RIGHT_AND_WRONG = ("ada", "eli")
# an address of a section in the class's book
ADDRESS = re.compile(re.escape(BOOK) + r"/book/(\w+)\.html#([\w-]+)")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The class in its course: a copy of the repository as it stands now, with the class's `course/`."""
    root = repository(tmp_path_factory.mktemp("running"))
    configure(root, CONFIG)
    unpack_class(root, "course", "files", "exported")
    return Course(root)


@pytest.fixture
def to_grade(tmp_path, exercise):
    """A class of its own for one test, to grade in: what is expected is kept between runs."""
    if exercise.name not in class_exercises():
        pytest.skip(f"{exercise} is newer than the class")
    unpack_class(tmp_path, "course", "late")
    course = Course(COURSE.root, class_folder=tmp_path / "course")
    kept = COURSE.cache / "running_class"
    for path in (course.home / "expected").glob("*.json"):
        # what it was made from stands in it: today's code takes it, or makes it anew
        kept.mkdir(parents=True, exist_ok=True)
        if not (kept / path.name).exists():
            shutil.copy(path, kept)
    shutil.rmtree(course.home / "expected")
    (course.home / "expected").symlink_to(kept)
    with filling():
        answer_key(course, course.exercise(exercise.name))
    return course


# Read, exported, reported ---------------------------------------------------------------------------


def recorded(course):
    """All that was graded or told: digests of the files, and the points in the gradebook."""
    files = {
        path.relative_to(course.home).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for name in ("seeds.json", "told", "submitted", "autograded", "groups.json")
        for path in [course.home / name, *(course.home / name).rglob("*")]
        if path.is_file()
    }
    with Gradebook(course.db_url) as gradebook:
        points = {
            (grade.student.id, grade.assignment.name, grade.name): (
                grade.auto_score,
                grade.manual_score,
                grade.needs_manual_grade,
            )
            for assignment in gradebook.assignments
            for submission in assignment.submissions
            for notebook in submission.notebooks
            for grade in notebook.grades
        }
    return files, points


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.xdist_group("running class")
def test_grades_leave_as_they_did_and_nothing_is_graded(running):
    before, root = recorded(running), running.root
    assert len(before[1]) > 500
    for form, roster in EXPORTS.items():
        output = root / f"{form}.csv"
        options = ("--roster", root / "files" / roster) if roster else ()
        done = command(root, "export", "--format", form, "--output", output, *options)
        assert done.status == 0, done.stderr
        then, now = table(root / "exported" / f"{form}.csv"), table(output)
        assert len(then) == len(now) > 10
        for old, new in zip(then, now, strict=True):
            # a later version may tell more
            assert {name: new[name] for name in old} == old
    done = command(root, "report")
    assert done.status == 0, done.stderr
    then, now = table(root / "exported" / "summary.csv"), table(running.home / "summary.csv")
    for old, new in zip(then, now, strict=True):
        assert {name: new[name] for name in old} == old
    for name in class_exercises():
        assert (running.home / "reports" / f"{name}.html").is_file()
    assert recorded(running) == before


@pytest.mark.xdist_group("running class")
def test_feedback_is_written_again_and_ends_no_round(running):
    before = recorded(running)
    exercise = AGAIN
    done = command(running.root, "feedback", "--exercise", exercise)
    assert done.status == 0, done.stderr
    page = (running.feedback / "dia" / exercise / f"{exercise}.html").read_text(encoding="utf-8")
    result = stored_result(running, "dia", exercise)
    assert result.score == result.points
    assert re.search(rf"<strong>{result.score:g} of {result.points:g} points", page)
    assert recorded(running) == before


@pytest.mark.xdist_group("running class")
@pytest.mark.parametrize(
    "words",
    [
        ("export", "--format", "csv", "--output", "grades.csv"),
        ("due", AGAIN, "2099-01-01 12:00 UTC"),
        ("extend", "ada", "ch2_scaled_dot_product", "2d"),
        ("groups", "files/groups.csv"),
        ("feedback", "--exercise", AGAIN),
    ],
    ids=lambda words: words[0],
)
def test_a_command_that_tells_grades_has_them_in_the_gradebook_again(tmp_path, running, words):
    """As after `nbgrader db student remove --force`, here for all that eli has handed in."""
    changed = [running.home, running.exercise(AGAIN).notebook.parent]
    for folder in changed:
        shutil.copytree(folder, tmp_path / folder.name)
    _, before = recorded(running)
    own = {key for key in before if key[0] == "eli"}
    with Gradebook(running.db_url) as gradebook:
        gradebook.remove_student("eli")
    assert len(own) > 50 and not own & recorded(running)[1].keys()
    done = command(running.root, *words)
    assert done.status == 0, done.stderr
    told = {key: points for key, points in recorded(running)[1].items() if key in own}
    exercises = {AGAIN} if AGAIN in words else {key[1] for key in own}
    assert {key[1] for key in told} == exercises
    assert told == {key: before[key] for key in own if key[1] in exercises}
    for folder in changed:
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / folder.name, folder)


def test_a_grade_that_is_not_in_the_gradebook_any_more_is_pushed_all_the_same(
    tmp_path, monkeypatch
):
    root = repository(tmp_path)
    configure(root, CONFIG)
    unpack_class(root, "course")
    course = Course(root)
    before = stored_result(course, "eli", AGAIN)
    with Gradebook(course.db_url) as gradebook:
        gradebook.remove_student("eli")
        maximum = gradebook.find_assignment(AGAIN).max_score
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("CANVAS_TOKEN", TOKEN)
    with serving(class_of(AGAIN, maximum, 7)) as state:
        state.users[0]["login_id"] = "eli"
        words = ["push", "--lms", "canvas", "--exercise", AGAIN, "--course", state.url, "--yes"]
        done = command(root, *words)
        assert done.status == 0, done.stderr
        assert state.submissions[7]["score"] == before.score > 0
    assert "eli" in done.stderr


def test_every_result_of_the_class_is_read(running):
    found = list(results(running.autograded))
    assert {result.exercise for result in found} == class_exercises()
    assert class_exercises() <= {exercise.name for exercise in COURSE.exercises()}
    assert len(found) > 60
    full = [result for result in found if result.student in ("ada", "ben")]
    assert all(result.score == result.points for result in full) and len(full) == 20
    assert all(result.score == 0 for result in found if result.student == "ida")


# Graded again ---------------------------------------------------------------------------------------


def patient(course: Course) -> Grader:
    """A grader that takes no points where a busy machine is slow."""
    grader = Grader(course)
    limits = dataclasses.replace(grader.settings.limits, grade_cell_seconds=60)
    grader.settings = dataclasses.replace(grader.settings, limits=limits)
    return grader


# what a later version of the grader gives a cell of the class, by student and exercise, and why
MOVED = {
    # each call on the same tensors scales the query once more, and a line calls twice since version 3
    ("gus", "ch2_scaled_dot_product"): {"attention_values": (5, 4)},
}


def same_verdicts(grader: Grader, before: Result) -> None:
    """Grade a submission once more, and compare with what it got: line by line, or cell by cell.

    A later version may ask in other lines, and the points of a cell move only as MOVED has it.
    """
    after = grader.grade(before.student, grader.course.exercise(before.exercise)).result
    assert after.basis.submission == before.basis.submission
    if before.basis.grader != GRADER_VERSION:
        then, now = ({cell.grade_id: cell.earned for cell in r.cells} for r in (before, after))
        moved = {name: (then.get(name), now[name]) for name in now if then.get(name) != now[name]}
        assert then.keys() == now.keys()
        assert moved == MOVED.get((before.student, before.exercise), {})
        return
    assert verdicts(after) == verdicts(before), (
        f"{before.student}, {before.exercise}: a verdict has changed for a class that is running. If that "
        "is right, raise GRADER_VERSION in autograder/grade/result.py."
    )
    assert (after.score, after.points) == (before.score, before.points)


@pytest.mark.xdist_group("running class")
def test_a_gradebook_that_knows_older_exercises_says_how_to_go_on(running):
    told = []
    for name in class_exercises():
        try:
            assert not register(running, running.exercise(name))
        except ExerciseError as error:
            told.append(str(error))
    # whose checks are the same is known still
    assert told and all("--rerelease" in sentence for sentence in told)


def test_every_exercise_as_it_is_now_can_take_the_place_of_the_class_own(tmp_path):
    """Cells without points may have come and gone; points given by hand stay."""
    unpack_class(tmp_path, "course")
    running = Course(COURSE.root, class_folder=tmp_path / "course")
    with Gradebook(running.db_url) as gradebook:
        own = {"cell_type": "markdown", "locked": True}
        for name in class_exercises():
            gradebook.add_source_cell("gone", name, name, **own)
    _, before = recorded(running)
    replaced = []
    for exercise in map(running.exercise, class_exercises()):
        # where the checks are the same, the class goes on as it is
        if not register(running, exercise, rerelease=True):
            continue
        replaced.append(exercise.name)
        assert not register(running, exercise)
        with Gradebook(running.db_url) as gradebook:
            known = {
                cell.name
                for cell in gradebook.find_notebook(exercise.name, exercise.name).source_cells
            }
        cells = [metadata_of(cell) for cell in released(exercise).cells]
        assert known == {cell["grade_id"] for cell in cells if cell.get("grade_id")}
    # one of them has a cell more
    assert "ch8_language_model" in replaced and len(replaced) > 3
    assert recorded(running)[1] == before


def test_an_exercise_that_asks_for_more_than_the_class_own_is_refused(tmp_path):
    unpack_class(tmp_path, "course")
    running = Course(COURSE.root, class_folder=tmp_path / "course")
    exercise = running.exercise(AGAIN)
    with Gradebook(running.db_url) as gradebook:
        cell = gradebook.find_notebook(AGAIN, AGAIN).solution_cells[0]
        gradebook.db.delete(cell)
        gradebook.db.commit()
    with pytest.raises(ExerciseError, match="cells for answers or checks were added or removed"):
        register(running, exercise, rerelease=True)


def test_a_right_and_a_wrong_submission_get_the_same_verdicts_again(to_grade, exercise):
    grader = patient(to_grade)
    students = ALWAYS.get(exercise.name, RIGHT_AND_WRONG)
    right, wrong = (stored_result(to_grade, student, exercise.name) for student in students)
    assert {line.verdict for _, line in right.lines()} <= {"passed", "to_do"}
    assert any(cell.mistake for cell in wrong.cells)
    same_verdicts(grader, right)
    same_verdicts(grader, wrong)


def test_every_submission_gets_the_same_verdicts_again(to_grade, exercise):
    grader = patient(to_grade)
    for before in results(to_grade.autograded):
        if before.exercise == exercise.name:
            same_verdicts(grader, before)


def test_late_work_is_graded_as_then(to_grade, exercise):
    """On most exercises before anybody has had feedback; on one after it, so on other inputs."""
    if exercise.name != AGAIN:
        (to_grade.home / "told" / f"{exercise.name}.json").unlink()
    late, students, keys = to_grade.home.parent / "late", [], set()
    for before in results(late):
        if before.exercise == exercise.name:
            place = f"{before.student}/{exercise.name}"
            shutil.rmtree(to_grade.submitted / place, ignore_errors=True)
            only_handed_in = shutil.ignore_patterns("*.result.json")
            shutil.copytree(late / place, to_grade.submitted / place, ignore=only_handed_in)
            same_verdicts(patient(to_grade), before)
            students.append(before.student)
            keys.add(before.basis.answer_key)
    assert students == (["eli", "zoe"] if exercise.name == AGAIN else ["zoe"])
    # each has inputs of its own where feedback has been written
    in_time = stored_result(to_grade, "ada", exercise.name).basis.answer_key
    assert len(keys | {in_time}) == (3 if exercise.name == AGAIN else 1)


# Links into the book ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    """Where the class is told to read: (page, label) by the kind of file that says so."""
    folder = unpack_class(tmp_path_factory.mktemp("links"), "course", "released", "gradescope")
    texts = {
        "feedback": [path.read_text("utf-8") for path in (folder / "course").rglob("*.html")],
        "graded": [path.read_text("utf-8") for path in (folder / "course").rglob("*.ipynb")],
        "released": [told_in(path) for path in (folder / "released").glob("*.ipynb")],
    }
    found = {
        kind: {pair for text in some for pair in ADDRESS.findall(text)}
        for kind, some in texts.items()
    }
    words = [json.loads(path.read_text("utf-8")) for path in (folder / "gradescope").glob("*.json")]
    found["gradescope"] = {(one["page"], one["label"]) for *_, some in words for one in some}
    return found


def told_in(notebook: Path) -> str:
    """What the checks of a released notebook can tell."""
    (cell,) = [cell for cell in nbformat.read(notebook, 4).cells if cell.id == "checker"]
    return json.dumps(unpack(re.search(r'install_packed\("(.+?)"\)', cell.source)[1]))


def test_the_class_is_told_to_read_many_sections(links):
    assert {kind: len(found) > 30 for kind, found in links.items()} == dict.fromkeys(
        ("feedback", "graded", "released", "gradescope"), True
    )


@pytest.mark.xdist_group("book")
def test_every_link_of_the_class_leads_to_its_section_in_the_built_book(links, built_book):
    lost, ids = [], functools.cache(ids_of)
    for page, label in sorted(set().union(*links.values())):
        if label not in ids(built_book / "book" / f"{page}.html"):
            lost.append(f"{page}#{label}")
    assert not lost


def ids_of(page: Path) -> set[str]:
    """The anchors of a page; none when there is no such page."""
    if not page.is_file():
        return set()
    return set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))
