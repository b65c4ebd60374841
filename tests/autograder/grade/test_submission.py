"""Reading a submission: answers before all else, pictures wherever they stand."""

import base64
import json

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.grade.submission import MAX_CELLS, MAX_SOURCE, MAX_SOURCES, read_notebook

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(150_000)).decode()


def read(tmp_path, cells):
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps(new_notebook(cells=cells)), encoding="utf-8")
    found, remarks, _ = read_notebook(path)
    return found, [remark.kind for remark in remarks]


def answer(source):
    own = {"nbgrader": {"grade_id": "answer", "solution": True}}
    return new_code_cell(source, metadata=own)


def test_an_answer_is_read_however_much_stands_before_it(tmp_path):
    for before in (
        [new_code_cell("1")] * (MAX_CELLS + 5),
        [new_code_cell("#" * MAX_SOURCE)] * (MAX_SOURCES // MAX_SOURCE + 5),
    ):
        found, remarks = read(tmp_path, [*before, answer("mine = 1"), new_code_cell("2")])
        assert found[-1].source == "mine = 1" and found[-1].grade_id == "answer"
        assert remarks == ["too_long"] and len(found) <= MAX_CELLS
    found, remarks = read(tmp_path, [new_code_cell("1"), answer("mine = 1"), new_code_cell("2")])
    assert [cell.source for cell in found] == ["1", "mine = 1", "2"] and remarks == []


def test_pictures_in_markdown_itself_become_attachments_and_cost_no_text(tmp_path):
    text = f"before ![a](data:image/png;base64,{PNG}) between"
    cells = [new_markdown_cell(f"{text} ![b](data:image/jpeg;base64,AAAA) after")] * 11
    found, remarks = read(tmp_path, [*cells, answer("mine = 1")])
    assert remarks == [] and len(found) == 12
    assert found[0].source == (
        "before ![a](attachment:pasted-0) between ![b](attachment:pasted-1) after"
    )
    # the second is no picture
    assert found[0].pictures == {"pasted-0": {"image/png": PNG}}
    assert found[-1].source == "mine = 1"


def test_code_is_never_changed(tmp_path):
    source = f"picture = 'data:image/png;base64,{PNG[:100]}'"
    found, _ = read(tmp_path, [new_code_cell(source)])
    assert found[0].source == source
