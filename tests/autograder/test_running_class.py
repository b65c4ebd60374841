"""A class that an earlier commit has graded goes on: what it recorded, late work, links.

The class is `tests/running_class/class.tar.xz`; nothing here makes it anew.
"""

import contextlib
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

from autograder.book_index import book_sections
from autograder.catalogue import mistakes
from autograder.course import Course
from autograder.errors import ExerciseError
from autograder.exercises import graded_answers, is_answer_cell, metadata_of, released
from autograder.grade.grade_class import Grader
from autograder.grade.gradebook import register, stored_result
from autograder.grade.result import GRADER_VERSION, Result
from autograder.programs import spans_of
from tests.running_class import (
    BOOK,
    CONFIG,
    EXPORTS,
    MOVED,
    class_exercises,
    results,
    unpack_class,
    verdicts,
)
from tests.support.copies import command, configure, repository
from tests.support.course import COURSE

# the exercise to which somebody has handed in twice
AGAIN = "ch1_additive_attention"
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
def to_grade(tmp_path):
    """A class of its own for one test, to grade in."""
    unpack_class(tmp_path, "course", "late")
    return Course(COURSE.root, class_folder=tmp_path / "course")


# Names ----------------------------------------------------------------------------------------------


def graded_cells(notebook):
    """The points of each graded cell by its name, and the answers that it is about."""
    points = {
        metadata_of(cell).grade_id: metadata_of(cell).points
        for cell in notebook.cells
        if metadata_of(cell).get("grade")
    }
    return points, graded_answers(notebook)


def answer_cells(notebook):
    """The cells that answers are typed into, each with the names that it defines."""
    cells = filter(is_answer_cell, notebook.cells)
    return {(metadata_of(cell).grade_id, *spans_of(cell.source)) for cell in cells}


def test_names_points_and_links_of_the_class_are_those_of_the_course(tmp_path):
    """An exercise, a mistake, an ungraded cell or a section may be new; none may go, or have another name."""
    folder = unpack_class(tmp_path, "released", "named.json")
    sections = book_sections(COURSE.root)
    rows = (COURSE.book / "moved.csv").read_text(encoding="utf-8").splitlines()[1:]
    moved = {tuple(row.split(",")[:2]) for row in rows}
    for name, words in json.loads((folder / "named.json").read_text(encoding="utf-8")).items():
        exercise = COURSE.exercise(name)
        then = nbformat.read(folder / "released" / f"{name}.ipynb", 4)
        assert graded_cells(released(exercise)) == graded_cells(then), name
        assert answer_cells(released(exercise)) >= answer_cells(then), name
        assert words["mistakes"] and words["links"]
        assert not set(words["mistakes"]) - {mistake.name for mistake in mistakes(exercise)}, name
        there = {(sections[label].page, label) for _, label in words["links"] if label in sections}
        assert {(page, label) for page, label in words["links"]} <= there | moved, name


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


def test_every_result_of_the_class_is_read(running):
    found = list(results(running.autograded))
    assert {result.exercise for result in found} == class_exercises()
    assert class_exercises() <= {exercise.name for exercise in COURSE.exercises()}
    assert len(found) > 60
    full = [result for result in found if result.student in ("ada", "ben")]
    assert all(result.score == result.points for result in full) and len(full) == 20
    assert all(result.score == 0 for result in found if result.student in ("ida", "uma"))
    damaged = [result for result in found if result.student == "uma"]
    assert {remark.kind for result in damaged for remark in result.remarks} == {"cut_short"}
    assert len(damaged) == 10


# Graded again ---------------------------------------------------------------------------------------


def patient(course: Course) -> Grader:
    """A grader that takes no points where a busy machine is slow."""
    grader = Grader(course)
    limits = dataclasses.replace(grader.settings.limits, grade_cell_seconds=60)
    grader.settings = dataclasses.replace(grader.settings, limits=limits)
    return grader


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
        assert moved == MOVED.get((before.student, before.exercise), ({}, ""))[0]
        return
    assert verdicts(after) == verdicts(before), (
        f"{before.student}, {before.exercise}: a verdict has changed for a class that is running. If that "
        "is right, raise GRADER_VERSION in autograder/grade/result.py, and say why in MOVED."
    )
    assert (after.score, after.points) == (before.score, before.points)


def test_every_exercise_as_it_is_now_can_take_the_place_of_the_class_own(tmp_path):
    """Checks may have changed, cells without points may have come and gone; points given by hand stay."""
    unpack_class(tmp_path, "course")
    running = Course(COURSE.root, class_folder=tmp_path / "course")
    _, before = recorded(running)
    for exercise in map(running.exercise, class_exercises()):
        # what the class is asked is what the course asks, or the course says how to go on
        with contextlib.suppress(ExerciseError):
            assert not register(running, exercise)
        name = exercise.name
        with Gradebook(running.db_url) as gradebook:
            notebook = gradebook.find_notebook(name, name)
            check = next(cell for cell in notebook.grade_cells if cell.cell_type == "code").name
            gradebook.update_or_create_source_cell(check, name, name, source="check('1', points=1)")
            own = {"cell_type": "markdown", "locked": True}
            gradebook.add_source_cell("gone", name, name, **own)
        with pytest.raises(ExerciseError, match="--rerelease"):
            register(running, exercise)
        assert register(running, exercise, rerelease=True)
        assert not register(running, exercise)
        with Gradebook(running.db_url) as gradebook:
            known = {cell.name for cell in gradebook.find_notebook(name, name).source_cells}
        cells = [metadata_of(cell) for cell in released(exercise).cells]
        assert known == {cell["grade_id"] for cell in cells if cell.get("grade_id")}
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


def test_a_right_and_a_wrong_submission_get_the_same_verdicts_again(to_grade):
    right, wrong = (stored_result(to_grade, student, AGAIN) for student in ("ada", "eli"))
    assert {line.verdict for _, line in right.lines()} <= {"passed", "to_do"}
    assert any(cell.mistake for cell in wrong.cells)
    grader = patient(to_grade)
    same_verdicts(grader, right)
    same_verdicts(grader, wrong)


def test_every_submission_and_late_work_get_the_same_verdicts_again(to_grade, exercise):
    """Late work mostly from before anybody has had feedback; to one exercise from after it, on other inputs."""
    if exercise.name not in class_exercises():
        pytest.skip(f"{exercise} is newer than the class")
    grader = patient(to_grade)
    for before in results(to_grade.autograded):
        if before.exercise == exercise.name:
            same_verdicts(grader, before)
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
    """Where the class's feedback leads: (page, label)."""
    folder = unpack_class(tmp_path_factory.mktemp("links"), "course") / "course" / "feedback"
    texts = [path.read_text("utf-8") for path in folder.rglob("*.html")]
    return {pair for text in texts for pair in ADDRESS.findall(text)}


@pytest.mark.xdist_group("book")
def test_every_link_of_the_class_leads_to_its_section_in_the_built_book(links, built_book):
    lost, ids = [], functools.cache(ids_of)
    assert len(links) > 30
    for page, label in sorted(links):
        if label not in ids(built_book / "book" / f"{page}.html"):
            lost.append(f"{page}#{label}")
    assert not lost


def ids_of(page: Path) -> set[str]:
    """The anchors of a page; none when there is no such page."""
    if not page.is_file():
        return set()
    return set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))
