"""Reading a submission: answers before all else, pictures wherever they stand."""

import base64
import json
import struct
import time
from dataclasses import replace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.grade import words
from autograder.grade.matching import SubmittedCell
from autograder.grade.pictures_in_text import TextsWithPictures
from autograder.grade.submission import (
    MAX_CELLS,
    MAX_PICTURE,
    MAX_SOURCE,
    MAX_SOURCES,
    read_notebook,
)

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


def shows(text, attachments):
    own = {"nbgrader": {"grade_id": "why", "solution": True}}
    return new_markdown_cell(text, attachments=attachments, metadata=own)


@pytest.mark.parametrize(
    ("text", "attachments", "lost"),
    [
        pytest.param("![a](attachment:a.png)", {"a.png": {"image/png": PNG}}, [], id="kept"),
        pytest.param(
            "![a](attachment:a%20b.webp)",
            {"a b.webp": {"image/webp": "AAAA"}},
            ["a b.webp"],
            id="kind",
        ),
        pytest.param(
            '<img src="attachment:a.png" width="300">',
            {"a.png": {"image/png": PNG + "A" * MAX_PICTURE}},
            ["a.png"],
            id="too large",
        ),
        pytest.param("![a](attachment:a.png)", {}, ["a.png"], id="not there"),
        pytest.param("words", {"a.gif": {"image/gif": "AAAA"}}, [], id="not shown"),
    ],
)
def test_a_picture_that_is_lost_is_told(tmp_path, text, attachments, lost):
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps(new_notebook(cells=[shows(text, attachments)])), encoding="utf-8")
    _, remarks, _ = read_notebook(path)
    assert [remark.parameters["names"] for remark in remarks] == ([lost] if lost else [])
    assert all(lost[0] in words.remark(remark) for remark in remarks)


def test_a_photo_of_a_phone_is_kept(tmp_path):
    photo = base64.b64encode(jpeg(4032, 3024) + bytes(5_000_000)).decode()
    found, remarks = read(tmp_path, [shows("![](attachment:p)", {"p": {"image/jpeg": photo}})])
    assert remarks == [] and found[0].pictures == {"p": {"image/jpeg": photo}}


def jpeg(width, height):
    """The beginning of a JPEG file of so many pixels."""
    return b"\xff\xd8\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(20)


PICTURE = SubmittedCell("markdown", "", pictures={"p.png": {"image/png": PNG}})


@pytest.mark.parametrize(
    ("text", "shown", "names"),
    [
        ("![mine](photo.jpg)", "![mine](attachment:photo.jpg)", {"p.png", "photo.jpg"}),
        ("![](./my%20p.jpg 'x')", "![](attachment:my%20p.jpg 'x')", {"p.png", "my p.jpg"}),
        ('<img src="my p.jpg" width=9>', "![](attachment:my%20p.jpg)", {"p.png", "my p.jpg"}),
        ("<IMG alt='x' src=attachment:p.png>", "![](attachment:p.png)", {"p.png"}),
        ("![](none.jpg) [a](notes.txt)", "![](none.jpg) [a](notes.txt)", {"p.png"}),
        ("<img alt=x> 1 <img 2", "<img alt=", {"p.png"}),
    ],
)
def test_pictures_are_found_wherever_they_are(text, shown, names):
    beside = {"photo.jpg": jpeg(3, 4), "my p.jpg": jpeg(3, 4), "notes.txt": b"words"}
    source, pictures = TextsWithPictures(beside).shown(replace(PICTURE, source=text))
    assert shown in source and set(pictures) == names


def test_a_text_of_unfinished_pictures_takes_no_time():
    begun = time.process_time()
    for text in ("<img src=" * 10_000, "<img " + "src " * 25_000, "![" * 50_000, "](a" * 30_000):
        TextsWithPictures({}).shown(replace(PICTURE, source=text))
    assert time.process_time() - begun < 5
