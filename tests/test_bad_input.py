"""Whatever is submitted, the run goes on, and a score with a reason is recorded."""

import contextlib
import copy
import dataclasses
import json
import os
import resource
import shutil
import sqlite3
import threading
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook

from autograder.audit.run import left_running
from autograder.audit.sample_class import answer_cell, reference_answers, solved
from autograder.errors import GradebookError, OutputError
from autograder.grade.examine import examined
from autograder.grade.grade_class import Course, grade_class, write_feedback
from autograder.report import pages

pytestmark = pytest.mark.xdist_group("bad input")
EXERCISE = "ch2_scaled_dot_product"
NAME = f"{EXERCISE}.ipynb"
LIMITS = {"cell": 8, "grade_cell": 8, "notebook": 120}
FULL, SOME, NONE = "full marks", "some points", "no points"
SUBMISSIONS = {}


def submission(score, *words):
    """Register what one student hands in: what it earns, and words that feedback and summary hold."""

    def register(make):
        SUBMISSIONS[make.__name__] = (make, score, words)
        return make

    return register


def right():
    return copy.deepcopy(solved(EXERCISE, reference_answers(EXERCISE)))


def save(folder, notebook, name=NAME):
    (folder / name).write_text(json.dumps(notebook), encoding="utf-8")


def with_cell(folder, code, at_start=True):
    notebook = right()
    place = notebook.cells.index(answer_cell(notebook)) if at_start else len(notebook.cells)
    notebook.cells.insert(place, new_code_cell(code))
    save(folder, notebook)


# Files ------------------------------------------------------------------------------------------


@submission(NONE, "No notebook named")
def empty_folder(folder):
    pass


@submission(NONE, "No notebook named")
def only_other_files(folder):
    (folder / "notes.txt").write_text("my notes")
    (folder / "folder").mkdir()


@submission(NONE, "No notebook named")
def folder_is_a_file(folder):
    folder.rmdir()
    folder.write_text("a file")


@submission(FULL, "Not all files beside the notebook were used")
def ten_thousand_files(folder):
    save(folder, right())
    for number in range(10_000):
        (folder / f"{number}.txt").write_text("")


@submission(FULL, "Not all files beside the notebook were used")
def names_that_are_no_text(folder):
    save(folder, right())
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\n.txt")).write_text("a file")


@submission(FULL, "its name should be")
def wrong_name(folder):
    save(folder, right(), "Untitled (1).ipynb")


@submission(FULL, "The notebook was named ?bung.ipynb; its name should be")
def a_name_in_latin_1(folder):
    Path(os.fsdecode(os.fsencode(folder) + b"/\xdcbung.ipynb")).write_text(json.dumps(right()))


@submission(NONE, "No notebook named")
def two_wrong_names(folder):
    save(folder, right(), "a.ipynb")
    save(folder, right(), "b.ipynb")


@submission(NONE, "is a link")
def link(folder):
    save(folder, right(), "elsewhere.txt")
    (folder / NAME).symlink_to(folder / "elsewhere.txt")


@submission(NONE, "is a link")
def link_to_nothing(folder):
    (folder / NAME).symlink_to(folder / "nothing")


@submission(NONE, "not an ordinary file")
def fifo(folder):
    os.mkfifo(folder / NAME)


@submission(NONE, "not an ordinary file")
def directory(folder):
    (folder / NAME).mkdir()


@submission(NONE, "too large")
def thirty_megabytes(folder):
    notebook = right()
    notebook.metadata.picture = "x" * 30_000_000
    save(folder, notebook)


@submission(NONE, "not a notebook that can be read")
def not_json(folder):
    (folder / NAME).write_text("print('this is no notebook')")


@submission(NONE, "not a notebook that can be read")
def nothing_in_it(folder):
    (folder / NAME).write_text("")


@submission(NONE, "not a notebook that can be read")
def not_text(folder):
    (folder / NAME).write_bytes(b"\xff\xfe\x00" * 1000)


@submission(NONE, "not a notebook that can be read")
def a_list(folder):
    (folder / NAME).write_text("[1, 2, 3]")


@submission(NONE, "not a notebook that can be read")
def no_cells(folder):
    (folder / NAME).write_text("{}")


@submission(NONE, "not a notebook that can be read")
def nested(folder):
    (folder / NAME).write_text("[" * 100_000)


# Cells ------------------------------------------------------------------------------------------


@submission(SOME, "attention_jacobian is missing")
def answer_deleted(folder):
    notebook = right()
    notebook.cells.remove(answer_cell(notebook, -1))
    save(folder, notebook)


@submission(FULL)
def all_cells_retyped(folder):
    notebook = right()
    for cell in notebook.cells:
        cell.cell_type = "raw" if cell.cell_type == "code" else "code"
    save(folder, notebook)


@submission(FULL)
def all_cells_doubled(folder):
    notebook = right()
    notebook.cells = [cell for cell in notebook.cells for _ in range(2)]
    save(folder, notebook)


@submission(FULL, "softmax_values had been changed")
def checks_edited(folder):
    notebook = right()
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade") and cell.cell_type == "code":
            cell.source = "1 / 0"
    save(folder, notebook)


@submission(FULL)
def format_3(folder):
    save(folder, nbformat.convert(right(), 3))


@submission(FULL)
def metadata_of_wrong_types(folder):
    notebook = right()
    for number, cell in enumerate(notebook.cells):
        cell.metadata = ["x", 7, None, {"nbgrader": [1]}, {"nbgrader": {"grade_id": {}}}][
            number % 5
        ]
        cell.id = [None, 7, [], "same", "same"][number % 5]
        cell.outputs = "none"
    notebook.metadata = notebook.nbformat = "x"
    notebook.cells += [None, 7, "x", {}, {"cell_type": 7, "source": {"x": 1}}]
    save(folder, notebook)


@submission(FULL, "the first 2000 were read")
def ten_thousand_cells(folder):
    notebook = right()
    notebook.cells += [new_code_cell("1 + 1") for _ in range(10_000)]
    save(folder, notebook)


@submission(NONE, "the first 2000 were read", "softmax is missing")
def ten_thousand_cells_first(folder):
    notebook = right()
    notebook.cells[:0] = [nbformat.v4.new_markdown_cell("one of many") for _ in range(10_000)]
    save(folder, notebook)


@submission(FULL)
def half_of_a_pair(folder):
    with_cell(folder, "word = 'half of a surrogate pair: \ud83d'")


def with_picture(folder, name, attachments):
    notebook = right()
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = f"my words ![a]({name})"
            cell.attachments = attachments
    cell = nbformat.v4.new_markdown_cell(f"more words ![a]({name})")
    cell.attachments = attachments
    notebook.cells.append(cell)
    save(folder, notebook)


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@submission(FULL, f"data:image/png;base64,{PICTURE}", "my words", "more words")
def pasted_picture(folder):
    with_picture(folder, "attachment:a%20b.png", {"a b.png": {"image/png": PICTURE}})


@submission(FULL, "The picture a.png is not here.", "my words", "more words")
def pasted_picture_that_is_none(folder):
    with_picture(folder, "attachment:a.png", {"a.png": {"image/png": "PHN2Zy8+"}})


@submission(FULL, "The picture a.png is not here.", "more words")
def pasted_picture_that_is_missing(folder):
    with_picture(folder, "attachment:a.png", {"b.png": 7, "a.svg": {"image/svg+xml": PICTURE}})


FORGED_REPLY = r"""
import itertools, json, sys
half = "half of a surrogate pair: \ud83d"
error = {"kind": "error", "name": half, "message": half, "at": half}
nested = {"kind": "dict", "items": {half: {"kind": "text", "value": half}}}
forged = itertools.cycle([
    {"value": error},
    {"value": {"kind": "none"}, "forbidden": [half]},
    {"value": {"kind": "none"}, "parameters": [{half: [half]}]},
    {"value": {"kind": "unsupported", "type": half}},
    {"value": nested, half: half},
])
def serve(request, definitions):
    return json.dumps([next(forged)] * len(json.loads(request)["draws"]))
sys.modules["_autotest"].serve = serve
"""


@submission(NONE, "half of a surrogate pair: ?")
def forged_reply_with_half_of_a_pair(folder):
    with_cell(folder, FORGED_REPLY)


@submission(FULL)
def half_of_a_pair_in_names(folder):
    notebook = right()
    cell = new_code_cell("1 + 1")
    cell.id, cell.cell_type = "\ud83d", "code"
    cell.metadata = {"nbgrader": {"grade_id": "\ud83d"}}
    notebook.cells.append(cell)
    (folder / NAME).write_text(json.dumps(notebook))


# Code -------------------------------------------------------------------------------------------


@submission(SOME, "does a loop never end?")
def endless_loop(folder):
    notebook = right()
    answer_cell(
        notebook, -1
    ).source = "def attention_jacobian(query, key):\n    while True:\n        pass"
    save(folder, notebook)


@submission(FULL, "ran for more than 8 seconds")
def endless_cell(folder):
    with_cell(folder, "while True:\n    pass")


@submission(SOME, "ended the Python process")
def kernel_dies(folder):
    notebook = right()
    place = notebook.cells.index(answer_cell(notebook, 1))
    notebook.cells.insert(place, new_code_cell("import os\nos._exit(1)"))
    save(folder, notebook)


@submission(FULL, "the rest of the output is not shown")
def hundred_megabytes(folder):
    with_cell(folder, "for _ in range(100):\n    print('x' * 1_000_000)")


@submission(FULL)
def honest(folder):
    save(folder, right())


# The class --------------------------------------------------------------------------------------


def class_of(folder, names=tuple(SUBMISSIONS)):
    course = Course(home=folder)
    course.limits = dataclasses.replace(course.limits, **LIMITS)
    for name in names:
        target = course.folder("submitted", name, EXERCISE)
        target.mkdir(parents=True)
        SUBMISSIONS[name][0](target)
    return course


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The whole class, graded in one run."""
    course = class_of(tmp_path_factory.mktemp("class"))
    results = grade_class(course, [EXERCISE])
    write_feedback(course, results)
    pages.write(results, course.home)
    return course, {result["student"]: result for result in results}


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_score_and_a_reason_are_recorded(graded, name):
    course, results = graded
    _, score, words = SUBMISSIONS[name]
    result = results[name]
    assert {0: NONE, result["points"]: FULL}.get(result["score"], SOME) == score
    page = course.folder("feedback", name, EXERCISE) / f"{EXERCISE}.html"
    text = page.read_text(encoding="utf-8")
    assert [word for word in words if word not in text] == []
    lines = [line for cell in result["cells"].values() for line in cell]
    assert all(line["message"] for line in lines if line["verdict"] != "passed")
    with Gradebook(course.db_url) as gradebook:
        assert gradebook.find_submission(EXERCISE, name).score == result["score"]


def test_the_summary_gives_a_reason_for_every_lost_point(graded):
    course, results = graded
    page = course.home / "reports" / f"{EXERCISE}.html"
    rows = page.read_text(encoding="utf-8").split("<tr>")
    for name, (_, score, words) in SUBMISSIONS.items():
        (row,) = [row for row in rows if f">{name}</a>" in row]
        reason = row.rsplit("<td>", 1)[1].split("</td>")[0]
        if score != FULL:
            assert reason
        if score == NONE:
            assert any(word in reason for word in words), (name, reason)
    assert results["honest"]["score"] == results["honest"]["points"]


def test_nothing_is_left_running(graded):
    assert left_running() == set()


# What changes meanwhile -------------------------------------------------------------------------


def test_a_folder_that_changes_while_it_is_read_ends_no_run(tmp_path):
    course = class_of(tmp_path, ["honest"])
    folder, read = course.folder("submitted", "honest", EXERCISE), threading.Event()
    text = (folder / NAME).read_text(encoding="utf-8")
    away = folder.with_name("away")

    def change():
        while not read.wait(0.002):
            (folder / NAME).write_text(text[: len(text) // 2], encoding="utf-8")
            (folder / "data.csv").write_text("1, 2")
            folder.rename(away)
            away.rename(folder)
            (folder / "data.csv").unlink()
            (folder / NAME).write_text(text, encoding="utf-8")

    thread = threading.Thread(target=change)
    thread.start()
    whole = parts = 0
    deadline = time.monotonic() + 60
    try:
        while (whole < 20 or parts < 20) and time.monotonic() < deadline:
            found = course.submission("honest", EXERCISE)
            assert found.cells or found.remarks
            whole, parts = whole + bool(found.cells), parts + (not found.cells)
    finally:
        read.set()
        thread.join()
    assert whole >= 20 and parts >= 20


def test_what_changes_after_it_was_read_is_graded_next_time(tmp_path, monkeypatch):
    course = class_of(tmp_path, ["honest"])
    path = course.folder("submitted", "honest", EXERCISE) / NAME
    record = Course.record

    def changed(self, student, exercise, graded):
        path.write_text("{}", encoding="utf-8")
        record(self, student, exercise, graded)

    monkeypatch.setattr(Course, "record", changed)
    (first,) = grade_class(course, [EXERCISE])
    assert first["score"] == first["points"]
    monkeypatch.setattr(Course, "record", record)
    (second,) = grade_class(course, [EXERCISE])
    assert second["score"] == 0


# A gradebook that can't be written --------------------------------------------------------------


@pytest.fixture(scope="module")
def half_graded(tmp_path_factory):
    """A course with one student graded, and what another, not yet recorded, has got."""
    course = class_of(tmp_path_factory.mktemp("class"), ["honest"])
    grade_class(course, [EXERCISE])
    late = course.folder("submitted", "late", EXERCISE)
    late.mkdir(parents=True)
    save(late, right())
    found = course.submission("late", EXERCISE)
    return course, examined(course.paper(EXERCISE), found, course.limits)


def in_gradebook(course):
    with Gradebook(course.db_url) as gradebook:
        return {s.student.id: s.score for s in gradebook.assignment_submissions(EXERCISE)}


@contextlib.contextmanager
def locked(course):
    with contextlib.closing(sqlite3.connect(course.home / "gradebook.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@contextlib.contextmanager
def full(course):
    """No file of this process may grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def no_room_for_the_notebook(course):
    place = course.home / "autograded" / "late"
    place.write_text("in the way")
    yield
    place.unlink()


@pytest.mark.parametrize(
    ("trouble", "kind", "words"),
    [
        (locked, GradebookError, "gradebook.*can't be used: database is locked.*kept"),
        (full, GradebookError, "gradebook.*can't be used: .*kept"),
        (no_room_for_the_notebook, OutputError, "late.*can't be written: .*kept"),
    ],
)
def test_a_grade_that_cannot_be_written_is_told_and_written_later(
    half_graded, trouble, kind, words
):
    course, notebook = half_graded
    before = course.result("honest", EXERCISE)
    with trouble(course), pytest.raises(kind, match=words):
        course.record("late", EXERCISE, notebook)
    assert not course.graded_notebook("late", EXERCISE).exists()
    course.record("late", EXERCISE, notebook)
    points = before["points"]
    assert in_gradebook(course) == {"honest": points, "late": points}
    assert course.result("honest", EXERCISE) == before
    shutil.rmtree(course.home / "autograded" / "late")
    with Gradebook(course.db_url) as gradebook:
        gradebook.remove_submission(EXERCISE, "late")


# An interrupted run -----------------------------------------------------------------------------


def test_an_interrupted_run_loses_and_repeats_nothing(tmp_path, monkeypatch):
    names = ("answer_deleted", "empty_folder", "honest", "not_json", "wrong_name")
    course = class_of(tmp_path, names)
    record = Course.record

    def interrupted(self, student, exercise, graded):
        # while kernels of those who come next run
        if sum(self.graded_notebook(name, exercise).exists() for name in names) == 2:
            raise KeyboardInterrupt
        record(self, student, exercise, graded)

    monkeypatch.setattr(Course, "record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grade_class(course, [EXERCISE])
    monkeypatch.setattr(Course, "record", record)
    assert left_running() == set()

    def recorded():
        notebooks = {name: course.graded_notebook(name, EXERCISE) for name in names}
        return {name: path.stat().st_mtime_ns for name, path in notebooks.items() if path.exists()}

    before = recorded()
    assert len(before) == 2
    results = grade_class(course, [EXERCISE])
    assert [result["student"] for result in results] == list(names)
    after = recorded()
    assert set(after) == set(names)
    assert {name: after[name] for name in before} == before
    again = grade_class(course, [EXERCISE])
    assert recorded() == after
    assert again == results
    assert Path(course.home / "gradebook.db").exists()
