"""A student's folder: what `make lab` copies into it, and the page over all exercises."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from autograder import lab
from autograder.course import Course
from autograder.errors import ExerciseError, OutputError
from autograder.exercises import released, task_names, tasks
from autograder.runtime.progress import MIME, Progress
from tests.support.course import COURSE

FIRST, SECOND = COURSE.exercises()[:2]


@pytest.fixture
def course(course_folder):
    """A course of two exercises with its copies in work/."""
    for exercise in (FIRST, SECOND):
        shutil.copy(exercise.solution, course_folder / "solutions")
        place = course_folder / "exercises" / exercise.name
        place.mkdir(parents=True)
        shutil.copy(exercise.notebook, place)
    course = Course(course_folder)
    assert lab.copy_missing(course) == course.exercises()
    return course


def copy_of(course, exercise=FIRST):
    return course.root / "work" / exercise.name / f"{exercise.name}.ipynb"


def save(path, data):
    """Save a notebook as JupyterLab does, with what its last cell shows."""
    notebook = nbformat.read(path, as_version=4)
    output = nbformat.v4.new_output("display_data", data={"text/plain": "points", MIME: data})
    notebook.cells.append(nbformat.v4.new_code_cell("progress()", outputs=[output]))
    path.write_text(json.dumps(notebook), encoding="utf-8")


def progress(exercise, **earned):
    found = Progress(tasks(released(exercise)))
    for cell, points in earned.items():
        found.record(cell, points)
    return found.report()._repr_mimebundle_()[MIME]


def rows(course):
    """The page's rows as Markdown shows them: mark, exercise, points, what is open."""
    assert lab.write_overview(course)
    (cell,) = nbformat.read(lab.overview_page(course), as_version=4).cells
    text = re.sub(r"&#(\d+);", lambda found: chr(int(found[1])), cell.source)
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[part.strip() for part in line.strip("|").split("|")] for line in lines]


def test_what_has_not_run_is_no_zero(course):
    found = rows(course)
    assert [row[0] for row in found] == ["", ""]
    title = task_names(released(FIRST))[0]
    assert found[0][1] == f"[{title}]({FIRST.name}/{FIRST.name}.ipynb)"
    points = sum(sum(task.checks.values()) for task in tasks(released(FIRST)))
    assert found[0][2] == f"? of {points:g}"
    assert "has not been run" in found[0][3]


def test_points_and_open_tasks_are_those_of_the_saved_notebook(course):
    some = tasks(released(FIRST))[0]
    save(copy_of(course), progress(FIRST, **some.checks))
    everything = {cell: p for task in tasks(released(SECOND)) for cell, p in task.checks.items()}
    save(copy_of(course, SECOND), progress(SECOND, **everything))
    first, second = rows(course)
    assert first[2].startswith(f"{sum(some.checks.values()):g} of ") and first[0] == ""
    assert some.name not in first[3] and tasks(released(FIRST))[1].name in first[3]
    total = sum(everything.values())
    assert second[0] == "✓" and second[2:] == [f"{total:g} of {total:g}", ""]
    # what was saved last counts
    save(copy_of(course), progress(FIRST))
    assert rows(course)[0][2].startswith("0 of ")


GOOD = {"name": "1. A", "points": 1, "earned": 1, "unchecked": 0, "written": 0}


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        "done",
        [None],
        [GOOD] * 1000,
        [GOOD | {"name": 7}],
        [GOOD | {"points": float("nan")}],
        [GOOD | {"earned": True}],
        [{"name": "1. A"}],
    ],
)
def test_damaged_points_are_told_and_count_nothing(course, data):
    save(copy_of(course), [GOOD])
    save(copy_of(course), data)
    before = copy_of(course).read_bytes()
    first, second = rows(course)
    assert first[0] == first[2] == "" and "run that cell again" in first[3]
    assert "has not been run" in second[3]
    assert copy_of(course).read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"\xff\xfe", b"[]", b'{"cells": 3}', b'"\\ud800"', b"my work"),
        pytest.param(b'{"a": ' * 30_000, id="deep"),
    ],
)
def test_a_file_that_is_no_notebook_is_left_as_it_is(course, text):
    copy_of(course).write_bytes(text)
    first, second = rows(course)
    assert "it is no notebook" in first[3] and "rename it" in first[3]
    assert "has not been run" in second[3]
    assert lab.copy_missing(course) == []
    assert copy_of(course).read_bytes() == text


def test_damaged_cells_and_outputs_are_passed_over(course):
    save(copy_of(course), [GOOD])
    notebook = json.loads(copy_of(course).read_text(encoding="utf-8"))
    odd = [7, {"outputs": 3}, {"outputs": [None, {}, {"data": []}, {"data": {MIME: [GOOD]}}]}]
    notebook["cells"] = [*odd[:2], *notebook["cells"], odd[2]]
    copy_of(course).write_text(json.dumps(notebook), encoding="utf-8")
    assert rows(course)[0][:3:2] == ["✓", "1 of 1"]


def test_a_missing_notebook_and_a_folder_in_its_place_are_told(course):
    copy_of(course).unlink()
    copy_of(course, SECOND).unlink()
    copy_of(course, SECOND).mkdir()
    first, second = rows(course)
    assert "No such file" in first[3] and "Is a directory" in second[3]
    assert lab.copy_missing(course) == [course.exercise(FIRST.name)]
    assert "has not been run" in rows(course)[0][3]


def test_names_in_a_notebook_are_text(course):
    save(copy_of(course), [GOOD | {"name": "<img src=x>|[a](b)`\n# x", "earned": 0}])
    assert lab.write_overview(course)
    (cell,) = nbformat.read(lab.overview_page(course), as_version=4).cells
    assert "<img" not in cell.source and "(b)" not in cell.source
    (row,) = [line for line in cell.source.splitlines() if "img" in line]
    assert row.count("|") == 5


def test_a_page_of_the_students_own_is_left_as_it_is(course):
    assert lab.write_overview(course)
    page = lab.overview_page(course)
    notebook = nbformat.read(page, as_version=4)
    # JupyterLab adds metadata; that is no edit
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, page)
    assert lab.write_overview(course)
    for edit in ("My plan", ""):
        notebook.cells[0].source += edit
        notebook.cells += [] if edit else [nbformat.v4.new_code_cell("1 + 1")]
        nbformat.write(notebook, page)
        before = page.read_bytes()
        assert not lab.write_overview(course) and page.read_bytes() == before
    page.write_text("no notebook", encoding="utf-8")
    assert not lab.write_overview(course)
    page.unlink()
    assert lab.write_overview(course)


def test_nothing_outside_of_work_is_written(course):
    def outside():
        return {
            path: path.stat().st_mtime_ns
            for path in course.root.rglob("*")
            if "work" not in path.relative_to(course.root).parts
        }

    save(copy_of(course), [GOOD])
    before = outside()
    copy_of(course, SECOND).unlink()
    lab.copy_missing(course)
    lab.write_overview(course)
    assert outside() == before
    assert not list((course.root / "work").rglob("*.new"))


def test_what_keeps_it_from_copying_is_named(course):
    copy_of(course).unlink()
    course.exercise(FIRST.name).notebook.unlink()
    with pytest.raises(ExerciseError, match=rf"{FIRST.name}.*autograder build"):
        lab.copy_missing(course)
    shutil.rmtree(course.root / "work")
    (course.root / "work").write_text("a file")
    shutil.copy(FIRST.notebook, course.root / "exercises" / FIRST.name)
    with pytest.raises(OutputError, match="work"):
        lab.copy_missing(course)


def test_jupyterlab_runs_as_whoever_calls_it_and_little_is_printed(course):
    """Root included, the only user of many containers."""
    assert lab.write_overview(course)
    program = "import sys; from pathlib import Path; from autograder import lab; "
    program += f"sys.exit(lab.open_jupyterlab(Path({str(lab.overview_page(course))!r})))"
    command = [sys.executable, "-c", program]
    options = {"env": os.environ | {"BROWSER": "true"}, "start_new_session": True, "text": True}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, **options)
    lines = [running.stdout.readline() for _ in range(3)]
    (address,) = re.findall(r"http://\S+", "".join(lines))
    for _ in range(300):
        try:
            page = urllib.request.urlopen(address, timeout=10).read()
            break
        except OSError:
            time.sleep(0.2)
    assert b"JupyterLab" in page
    os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C does
    assert running.communicate(timeout=60)[0] == ""
