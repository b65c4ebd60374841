"""Nobody gets zero unread: work that isn't in its place is found, or a person is asked to look for it."""

import copy
import json
from pathlib import PurePath

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from autograder.exercises import answer_cell, metadata_of, reference_answers, released, solved
from autograder.grade import words
from autograder.grade.result import FOR_A_PERSON, TO_BE_READ, Remark
from autograder.grade.sanitize import sanitized
from autograder.grade.submission import MAX_NOTEBOOK, is_litter, read_folder
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch2_scaled_dot_product")
NAME, QUESTION = EXERCISE.notebook.name, "why_the_root"
ANSWER = "The variance of the scores grows with d_k, so the softmax saturates."


def right():
    return solved(EXERCISE, reference_answers(EXERCISE))


def untouched():
    return released(EXERCISE)


def with_wrong(number):
    """The solved exercise with another answer in one place."""
    notebook = right()
    answer_cell(notebook, number).source += "\n# mine"
    return notebook


def first_half():
    notebook = right()
    for number in (2, 3, 4):
        answer_cell(notebook, number).source = answer_cell(untouched(), number).source
    return notebook


def question(notebook):
    return next(c for c in notebook.cells if metadata_of(c).get("grade_id") == QUESTION)


def read(folder, notebooks):
    for name, notebook in notebooks.items():
        content = notebook if isinstance(notebook, bytes) else nbformat.writes(notebook).encode()
        (folder / name).write_bytes(content)
    return read_folder(folder, "ada", EXERCISE.name, lambda: released(EXERCISE))


def kinds(submission):
    return [remark.kind for remark in submission.remarks]


def is_solved(submission):
    wanted = answer_cell(right(), 4).source
    return wanted in [cell.source for cell in submission.cells]


# Which notebook -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notebooks", "solved_one", "remarks"),
    [
        pytest.param({NAME: right()}, True, [], id="one"),
        pytest.param(
            {NAME: untouched(), "x-Copy1.ipynb": right()}, True, ["copy_taken"], id="a copy"
        ),
        pytest.param({NAME: right(), "before.ipynb": first_half()}, True, [], id="an older state"),
        pytest.param(
            {NAME: first_half(), "x-Copy1.ipynb": right()},
            False,
            ["other_work"],
            id="a later state",
        ),
        pytest.param(
            {NAME: untouched(), "a.ipynb": right(), "b.ipynb": with_wrong(1)},
            False,
            ["other_work"],
            id="two copies",
        ),
        pytest.param({"mine.ipynb": right()}, True, ["renamed"], id="another name"),
        pytest.param({f"{NAME}.txt": right()}, True, ["renamed"], id="with .txt"),
        pytest.param(
            {"a.ipynb": right(), "b.ipynb": untouched()}, True, ["renamed"], id="one of two"
        ),
        pytest.param(
            {"a.ipynb": right(), "b.ipynb": with_wrong(0)},
            False,
            ["several_notebooks"],
            id="two names",
        ),
        pytest.param(
            {NAME: b"<html>", "x-Copy1.ipynb": right()}, True, ["copy_taken"], id="a broken one"
        ),
        pytest.param({"mine.ipynb": right(), "~$mine.ipynb": b"x"}, True, ["renamed"], id="lock"),
    ],
)
def test_the_notebook_that_was_worked_on_is_graded(tmp_path, notebooks, solved_one, remarks):
    found = read(tmp_path, notebooks)
    assert is_solved(found) is solved_one
    assert kinds(found) == remarks
    assert all(words.remark(remark) for remark in found.remarks)


def test_what_is_not_certain_goes_to_a_person():
    assert {"other_work", "several_notebooks", "conflict_markers", "not_asked"} <= FOR_A_PERSON
    # an upload that failed may be all that is left of work
    assert {"empty", "cut_short"} <= FOR_A_PERSON
    # what is certain does not
    assert not {"copy_taken", "renamed", "not_submitted"} & FOR_A_PERSON
    told = {"wanted": NAME, "number": 2, "names": ["a.ipynb", "b.ipynb"], "cell": QUESTION}
    for kind in ("other_work", "several_notebooks"):
        assert "a.ipynb, b.ipynb" in words.remark(Remark(kind, told))
    for kind in FOR_A_PERSON | TO_BE_READ:
        assert kind in words.REMARKS


@pytest.mark.parametrize(
    "name",
    [
        *(".DS_Store", "._a.ipynb", "__MACOSX/a.ipynb", "Thumbs.db", "desktop.ini", "Icon\r"),
        *("~$a.docx", "a.ipynb~", ".ipynb_checkpoints/a.ipynb", "#a.ipynb#", ".a.ipynb.swp"),
        "a.ipynb.crdownload",
    ],
)
def test_what_nobody_meant_to_hand_in_is_litter(name, tmp_path):
    assert is_litter(PurePath(name))
    if "/" not in name:
        found = read(tmp_path, {NAME: right(), name: b"x"})
        assert found.companions == {} and kinds(found) == []


@pytest.mark.parametrize("name", ["data.csv", "helper.py", "a.ipynb", "Download.txt", "icon.png"])
def test_what_somebody_may_have_meant_is_none(name):
    assert not is_litter(PurePath(name))


# Written answers ----------------------------------------------------------------------------------


def remarks_of(tmp_path, notebook):
    made, remarks = sanitized(read(tmp_path, {NAME: notebook}), released(EXERCISE), {})
    return {remark.kind: remark.parameters for remark in remarks}, question(made).source


@pytest.mark.parametrize(
    "own", [new_markdown_cell(ANSWER), new_code_cell(f'"""{ANSWER}"""')], ids=["text", "code"]
)
@pytest.mark.parametrize("offset", [0, 1], ids=["above", "below"])
def test_an_answer_beside_its_untouched_cell_is_read_by_a_person(tmp_path, own, offset):
    notebook = right()
    question(notebook).source = question(untouched()).source
    place = notebook.cells.index(question(notebook)) + offset
    notebook.cells.insert(place, copy.deepcopy(own))
    found, _ = remarks_of(tmp_path, notebook)
    assert found == {"written_beside": {"cell": QUESTION}}


def test_an_untouched_question_with_nothing_beside_it_needs_no_person(tmp_path):
    notebook = right()
    question(notebook).source = question(untouched()).source
    notebook.cells.insert(8, new_markdown_cell("A remark of mine on another task."))
    place = notebook.cells.index(question(notebook)) + 1
    notebook.cells.insert(place, new_markdown_cell("  \n"))
    assert remarks_of(tmp_path, notebook)[0] == {}


def test_an_answered_question_needs_no_second_reader_of_what_stands_beside_it(tmp_path):
    notebook = right()
    notebook.cells.insert(notebook.cells.index(question(notebook)) + 1, new_markdown_cell("More."))
    assert remarks_of(tmp_path, notebook)[0] == {}


def without_marks(notebook):
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"lost{number}", {"cell_id": f"x{number}"}
    return notebook


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("YOUR ANSWER HERE", ANSWER),
        lambda text: f"{ANSWER}\n\n{text}",
        # as an editor wraps lines and a student shortens
        lambda text: " ".join(text.split()).replace("Three to six sentences;", "") + ANSWER,
    ],
    ids=["in place", "above", "shortened"],
)
def test_a_question_that_has_lost_its_marks_is_found_by_its_text(tmp_path, change):
    notebook = right()
    question(notebook).source = change(question(untouched()).source)
    found, source = remarks_of(tmp_path, without_marks(notebook))
    assert found["question_found"] == {"cell": QUESTION} and ANSWER in source
    assert "question_missing" not in found and "written_beside" not in found


def test_a_question_that_is_gone_is_looked_for_by_a_person(tmp_path):
    notebook = right()
    notebook.cells.remove(question(notebook))
    notebook.cells.append(new_markdown_cell(ANSWER))
    found, _ = remarks_of(tmp_path, notebook)
    assert found["question_missing"] == {"cell": QUESTION}


def test_the_notebook_of_another_exercise_is_looked_at(tmp_path):
    other = released(COURSE.exercise("ch4_masking"))
    assert list(remarks_of(tmp_path, other)[0]) == ["another_notebook"]


# Files that can't be read -------------------------------------------------------------------------

TEXT = nbformat.writes(right()).encode()
CONFLICT = TEXT.replace(
    b'"execution_count": null',
    b'<<<<<<< HEAD\n"execution_count": 1\n=======\n"execution_count": 2\n>>>>>>> main',
    1,
)


@pytest.mark.parametrize(
    ("content", "kind", "told"),
    [
        pytest.param(CONFLICT, "conflict_markers", "git's conflict markers", id="conflict"),
        pytest.param(TEXT[: len(TEXT) // 2], "cut_short", "ends in the middle", id="half"),
        pytest.param(b"<!DOCTYPE html><html></html>", "another_file", "a web page", id="page"),
        pytest.param(b"PK\x03\x04" + bytes(50), "another_file", "a zip", id="zip"),
        pytest.param(b"%PDF-1.7 ...", "another_file", "a PDF", id="pdf"),
        pytest.param(b"import numpy as np\n", "another_file", "a program", id="program"),
        pytest.param(b"[1, 2]", "not_a_notebook", "Save it in Jupyter", id="other JSON"),
        pytest.param(b"{" + TEXT, "not_a_notebook", "Save it in Jupyter", id="a slip"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_a_way_out(tmp_path, content, kind, told):
    found = read(tmp_path, {NAME: content})
    (remark,) = found.remarks
    assert remark.kind == kind and kind in FOR_A_PERSON
    assert told in words.remark(remark) and "hand it in again" in words.remark(remark)
    assert "codec" not in words.remark(remark)


def test_letters_in_another_encoding_cost_no_answer(tmp_path):
    notebook = right()
    question(notebook).source = "Größere Varianz, schärfere Gewichte – “so”."
    text = json.dumps(notebook, ensure_ascii=False)
    found = read(tmp_path, {NAME: text.encode("cp1252")})
    assert kinds(found) == ["not_utf_8"] and is_solved(found)
    assert question(notebook).source in [cell.source for cell in found.cells]


def test_a_notebook_that_holds_markers_as_text_is_read(tmp_path):
    notebook = right()
    notebook.cells.append(new_markdown_cell("<<<<<<< HEAD\n=======\n>>>>>>> main"))
    assert kinds(read(tmp_path, {NAME: notebook})) == []


def test_outputs_that_are_too_large_are_left_out(tmp_path):
    notebook = right()
    cell = answer_cell(notebook)
    cell.outputs = [new_output("stream", text="x" * (MAX_NOTEBOOK + 1_000_000))]
    found = read(tmp_path, {NAME: notebook})
    assert kinds(found) == ["without_outputs"] and is_solved(found)
    assert "21 MB" in words.remark(found.remarks[0])


@pytest.mark.parametrize("way", ["attached", "in the text"])
def test_pictures_that_are_too_large_cost_no_answer(tmp_path, way):
    notebook, data = right(), "A" * MAX_NOTEBOOK
    cell = question(notebook)
    if way == "attached":
        cell.source, cell.attachments = "![](attachment:a.png)", {"a.png": {"image/png": data}}
    else:
        cell.source = f"my words ![](data:image/png;base64,{data})"
    found = read(tmp_path, {NAME: notebook})
    assert kinds(found) == ["without_outputs", "pictures"] and is_solved(found)


def test_sources_that_are_too_large_are_not_read(tmp_path):
    notebook = right()
    notebook.cells.append(new_markdown_cell("x" * (MAX_NOTEBOOK + 1)))
    (remark,) = read(tmp_path, {NAME: notebook}).remarks
    assert remark.kind == "too_large" and "Clear its outputs" in words.remark(remark)


# Work in other files -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["answers.py", "work.zip", "report.pdf", "final/" + NAME])
@pytest.mark.parametrize("notebooks", [{}, {NAME: untouched()}], ids=["alone", "untouched"])
def test_work_beside_a_notebook_without_answers_is_looked_at(tmp_path, name, notebooks):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("my work")
    found = read(tmp_path, notebooks)
    (told,) = [remark for remark in found.remarks if remark.kind in FOR_A_PERSON]
    assert told.kind == "other_files" and told.parameters["names"] == [name.partition("/")[0]]
    assert name.partition("/")[0] in words.remark(told)


@pytest.mark.parametrize("name", ["data.csv", ".ipynb_checkpoints/x.ipynb", "timestamp.txt"])
def test_what_the_course_or_a_machine_has_put_there_is_no_work(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("1")
    (tmp_path / NAME).write_text(nbformat.writes(untouched()))
    given = tmp_path, "ada", EXERCISE.name, untouched, (), {"data.csv"}
    assert not any(remark.kind in FOR_A_PERSON for remark in read_folder(*given).remarks)


def test_files_beside_answers_need_no_person(tmp_path):
    (tmp_path / "helper.py").write_text("x = 1")
    assert kinds(read(tmp_path, {NAME: right()})) == []


# An answer in the cell of a check -------------------------------------------------------------------


def in_check(merged=False, name="softmax", check="softmax_values"):
    """The solved exercise with an answer in the cell of a check; merged: its own cell is gone."""
    notebook = right()
    answer = next(c for c in notebook.cells if metadata_of(c).get("grade_id") == name)
    cell = next(c for c in notebook.cells if metadata_of(c).get("grade_id") == check)
    cell.source = f"%matplotlib inline\n{answer.source}\n\n{cell.source}"
    answer.source = answer_cell(untouched()).source
    if merged:
        notebook.cells.remove(answer)
    return notebook


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("kind", ["code", "raw"])
def test_an_answer_in_the_cell_of_a_check_runs_before_the_check(tmp_path, merged, kind):
    notebook = in_check(merged)
    next(c for c in notebook.cells if c.id == "softmax_values").cell_type = kind
    notebook = json.dumps(notebook).encode()
    made, remarks = sanitized(read(tmp_path, {NAME: notebook}), released(EXERCISE), {})
    place = [cell.id for cell in made.cells].index("softmax_values")
    own, check = made.cells[place - 1 : place + 1]
    assert (
        "def softmax" in own.source and own.cell_type == "code" and "nbgrader" not in own.metadata
    )
    fresh = next(c for c in untouched().cells if c.id == "softmax_values")
    assert check.source == fresh.source
    assert "check_changed" in [remark.kind for remark in remarks]


def test_a_check_that_is_changed_otherwise_is_not_run(tmp_path):
    notebook = right()
    cell = next(c for c in notebook.cells if c.id == "softmax_values")
    cell.source = f"print(softmax)\n{cell.source}"
    made, _ = sanitized(read(tmp_path, {NAME: notebook}), released(EXERCISE), {})
    assert not any("print(softmax)" in cell.source for cell in made.cells)
