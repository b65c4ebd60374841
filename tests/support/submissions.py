"""What students hand in: every kind of submission that the grader has to live with.

`SUBMISSIONS` holds, by the student's name, what makes the folder, what it earns, and words that the
feedback has to say.
"""

import copy
import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.course import Course
from autograder.exercises import answer_cell, metadata_of, reference_answers, released, solved
from tests.support.copies import CELL_SECONDS
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch2_scaled_dot_product")
NAME = EXERCISE.notebook.name
FULL, SOME, NONE = "full marks", "some points", "no points"


def folder_of(course: Course, student: str) -> Path:
    """Where a student hands in."""
    return course.submitted / student / EXERCISE.name


def hand_in(course: Course, *names: str) -> Course:
    """Put some of the submissions below into a class."""
    for name in names:
        folder = folder_of(course, name)
        folder.mkdir(parents=True)
        SUBMISSIONS[name].make(folder)
    return course


@dataclass(frozen=True)
class Case:
    """What one student hands in, what it earns, and words that the feedback holds."""

    make: Callable[[Path], None]
    score: str
    words: tuple[str, ...]


SUBMISSIONS: dict[str, Case] = {}


def submission(score: str, *words: str) -> Callable:
    def register(make: Callable[[Path], None]) -> Callable:
        SUBMISSIONS[make.__name__] = Case(make, score, words)
        return make

    return register


@functools.cache
def _right() -> NotebookNode:
    return solved(EXERCISE, reference_answers(EXERCISE))


def right() -> NotebookNode:
    """The exercise, solved."""
    return copy.deepcopy(_right())


def save(folder: Path, notebook: NotebookNode, name: str = NAME) -> None:
    """Hand in a notebook."""
    (folder / name).write_text(json.dumps(notebook), encoding="utf-8")


def with_cell(folder: Path, code: str) -> None:
    """Hand in the solved exercise with a cell of one's own before the first answer."""
    notebook = right()
    notebook.cells.insert(notebook.cells.index(answer_cell(notebook)), new_code_cell(code))
    save(folder, notebook)


# Files ------------------------------------------------------------------------------------------


@submission(NONE, "No notebook named")
def empty_folder(folder):
    pass


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


@submission(FULL, "The notebook was named Übung 注意.ipynb")
def a_name_in_other_scripts(folder):
    save(folder, right(), "Übung 注意.ipynb")


@submission(NONE, "No notebook named", "(a.ipynb, b.ipynb). A person will look at them")
def two_wrong_names(folder):
    save(folder, right(), "a.ipynb")
    other = right()
    answer_cell(other).source += "\n# another version"
    save(folder, other, "b.ipynb")


@submission(FULL, "was graded instead")
def finished_copy(folder):
    save(folder, released(EXERCISE))
    save(folder, right(), f"{EXERCISE.name}-Copy1.ipynb")


@submission(FULL)
def checkpoints(folder):
    save(folder, right())
    (folder / ".ipynb_checkpoints").mkdir()
    save(folder / ".ipynb_checkpoints", released(EXERCISE))


@submission(NONE, "is a link")
def link(folder):
    save(folder, right(), "elsewhere.txt")
    (folder / NAME).symlink_to(folder / "elsewhere.txt")


@submission(NONE, "is a link")
def link_to_nothing(folder):
    (folder / NAME).symlink_to(folder / "nothing")


@submission(NONE, "or its folder, is a link")
def folder_is_a_link(folder):
    elsewhere = folder.parent / "elsewhere"
    folder.rename(elsewhere)
    save(elsewhere, right())
    folder.symlink_to(elsewhere)


@submission(NONE, "or its folder, is a link")
def student_is_a_link(folder):
    save(folder, right())
    elsewhere = folder.parents[2] / "elsewhere"
    folder.parent.rename(elsewhere)
    folder.parent.symlink_to(elsewhere)


@submission(NONE, "not an ordinary file")
def fifo(folder):
    os.mkfifo(folder / NAME)


@submission(FULL, "The notebook takes 30 MB", "Outputs were left out")
def thirty_megabytes(folder):
    notebook = right()
    notebook.metadata.picture = "x" * 30_000_000
    save(folder, notebook)


@submission(NONE, "not a notebook that can be read")
def not_json(folder):
    (folder / NAME).write_text("print('this is no notebook')")


@submission(NONE, "The submitted file is empty")
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


@submission(NONE, "The file ends in the middle")
def cut_in_the_middle(folder):
    text = json.dumps(right())
    (folder / NAME).write_text(text[: len(text) // 2])


@submission(NONE, "git's conflict markers")
def conflict_markers(folder):
    text = json.dumps(right(), indent=1)
    marked = "<<<<<<< HEAD\n 1,\n=======\n 2,\n>>>>>>> other\n"
    (folder / NAME).write_text(text.replace("\n", f"\n{marked}", 1))


@submission(FULL)
def byte_order_mark(folder):
    (folder / NAME).write_bytes(b"\xef\xbb\xbf" + json.dumps(right()).encode())


# Files beside the notebook ----------------------------------------------------------------------


def with_helper(folder: Path, name: str = NAME) -> None:
    notebook = right()
    notebook.cells.insert(0, new_code_cell("from my_helper import half\nassert half(4) == 2"))
    cell = answer_cell(notebook)
    cell.source = f"from my_helper import half\nhalf(4)\n{cell.source}\nassert half(6) == 3"
    save(folder, notebook, name)
    (folder / "my_helper.py").write_text("def half(number):\n    return number / 2\n")


@submission(FULL)
def companion(folder):
    with_helper(folder)


@submission(FULL, "its name should be")
def companion_of_a_renamed_notebook(folder):
    with_helper(folder, "my homework.ipynb")


@submission(FULL)
def data_beside_it(folder):
    with_cell(folder, "print(open('numbers.csv').read() * 3)")
    (folder / "numbers.csv").write_text("1,2,3\n")


@submission(FULL)
def module_named_like_a_library(folder):
    save(folder, right())
    for name in ("numpy.py", "torch.py", "json.py"):
        (folder / name).write_text("raise ImportError('not the real one')\n")


@submission(
    SOME,
    "`rearrange` doesn't exist: your own cell that begins with `from no_such_package import rearrange` failed with "
    "ModuleNotFoundError: No module named 'no_such_package'. You can use numpy, torch, ",
)
def package_that_is_not_there(folder):
    notebook = right()
    own = "from no_such_package import rearrange\n\n\ndef own():\n    pass"
    notebook.cells.insert(1, new_code_cell(own))
    answer = answer_cell(notebook)
    answer.source = answer.source.replace("    return ", "    rearrange\n    return ")
    save(folder, notebook)


@submission(
    SOME,
    "doesn't exist: its cell failed with ModuleNotFoundError",
    "hand in your own files with the notebook",
)
def companion_forgotten(folder):
    with_helper(folder)
    (folder / "my_helper.py").unlink()


@submission(FULL)
def folder_beside_it(folder):
    save(folder, right())
    (folder / "data").mkdir()
    (folder / "data" / "numbers.csv").write_text("1,2,3\n")


@submission(FULL)
def link_beside_it(folder):
    save(folder, right())
    (folder / "passwords").symlink_to("/etc/passwd")


@submission(FULL)
def fifo_beside_it(folder):
    save(folder, right())
    os.mkfifo(folder / "pipe")


@submission(FULL, "of at most 5 MB): without large.bin.")
def large_file_beside_it(folder):
    save(folder, right())
    (folder / "large.bin").write_bytes(bytes(5_000_001))


@submission(FULL, "Not all files beside the notebook were used (at most 20", "and 2 more")
def twenty_five_files_beside_it(folder):
    save(folder, right())
    for number in range(25):
        (folder / f"{number:02}.txt").write_text("one of many")


# Time stamps ------------------------------------------------------------------------------------


@submission(FULL)
def late(folder):
    save(folder, right())
    (folder / "timestamp.txt").write_text("2099-01-01 12:00:00.000000 UTC\n")
    (folder / "submission_secret.txt").write_text("5f3e\n")


@submission(FULL, "The time stamp of this submission can't be read")
def nonsense_for_a_time_stamp(folder):
    save(folder, right())
    (folder / "timestamp.txt").write_text("yesterday, I think\n")


@submission(FULL, "The time stamp of this submission can't be read")
def linked_time_stamp(folder):
    save(folder, right())
    (folder / "timestamp.txt").symlink_to("/etc/hostname")


# Cells ------------------------------------------------------------------------------------------


@submission(NONE, "To do")
def untouched(folder):
    save(folder, released(EXERCISE))


@submission(SOME, "attention_jacobian is missing")
def answer_deleted(folder):
    notebook = right()
    notebook.cells.remove(answer_cell(notebook, -1))
    save(folder, notebook)


@submission(FULL, "had lost its marks; it was found by the name it defines")
def answer_without_its_marks(folder):
    notebook = right()
    cell = answer_cell(notebook, 1)
    notebook.cells[notebook.cells.index(cell)] = new_code_cell(cell.source)
    save(folder, notebook)


@submission(FULL)
def nothing_but_answers(folder):
    notebook = right()
    notebook.cells = [cell for cell in notebook.cells if metadata_of(cell).get("solution")]
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
def saved_by_vs_code(folder):
    notebook = right()
    notebook.nbformat_minor = 2
    for cell in notebook.cells:
        del cell["id"]
        cell.metadata["vscode"] = {"languageId": "python"}
    notebook.metadata = {"language_info": {"name": "python"}, "orig_nbformat": 4}
    save(folder, notebook)


@submission(FULL)
def saved_by_colab(folder):
    notebook = right()
    notebook.nbformat_minor = 0
    notebook.metadata = {"colab": {"provenance": []}, "kernelspec": {"name": "python3"}}
    for number, cell in enumerate(notebook.cells):
        del cell["id"]
        cell.metadata = {
            **cell.metadata,
            "id": f"c{number}",
            "colab": {"base_uri": "https://localhost:8080/"},
            "executionInfo": {"status": "ok", "elapsed": 3, "user": {"displayName": "me"}},
        }
    notebook.cells.insert(0, new_code_cell("#@title My work { display-mode: 'form' }\n1 + 1"))
    save(folder, notebook)


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


@submission(FULL, "only 2000 of its")
def ten_thousand_cells_first(folder):
    notebook = right()
    notebook.cells[:0] = [new_markdown_cell("one of many") for _ in range(10_000)]
    save(folder, notebook)


@submission(FULL)
def half_of_a_pair(folder):
    with_cell(folder, "word = 'half of a surrogate pair: \ud83d'")


@submission(FULL)
def a_null_character(folder):
    with_cell(folder, "word = 'a null character: \0'")


def with_picture(folder: Path, name: str, attachments: dict) -> None:
    notebook = right()
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = f"my words ![a]({name})"
            cell.attachments = attachments
    cell = new_markdown_cell(f"more words ![a]({name})")
    cell.attachments = attachments
    notebook.cells.append(cell)
    save(folder, notebook)


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@submission(FULL, f"data:image/png;base64,{PICTURE}", "my words", "more words")
def pasted_picture(folder):
    with_picture(folder, "attachment:a%20b.png", {"a b.png": {"image/png": PICTURE}})


@submission(FULL, "Pictures in the text could not be kept: a.png.")
def pasted_picture_that_is_none(folder):
    with_picture(folder, "attachment:a.png", {"a.png": {"image/png": "PHN2Zy8+"}})


@submission(FULL, "Pictures in the text could not be kept: a.png.")
def pasted_picture_that_is_missing(folder):
    with_picture(folder, "attachment:a.png", {"b.png": 7, "a.svg": {"image/svg+xml": PICTURE}})


@submission(FULL, f"data:image/png;base64,{PICTURE}")
def drawn_picture(folder):
    with_cell(
        folder,
        "import base64\nfrom IPython.display import Image\n"
        f"Image(base64.b64decode('{PICTURE}'), format='png')",
    )


@submission(FULL, "shown as a page")
def html_with_a_script(folder):
    with_cell(
        folder,
        "from IPython.display import HTML\nHTML('<p>shown as a page</p><script>alert(1)</script>')",
    )


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
for name in ("autograder.runtime.evaluate", "attention_checks.evaluate"):
    if name in sys.modules:
        sys.modules[name].serve = serve
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


@submission(
    SOME, "could not be interrupted when its time was up and was stopped during `attention_"
)
def loop_that_cannot_be_interrupted(folder):
    notebook = right()
    answer_cell(notebook, 1).source = (
        "def attention_numpy(query, key, value, mask=None):\n    while True:\n        try:\n"
        "            while True:\n                pass\n        except KeyboardInterrupt:\n            pass"
    )
    save(folder, notebook)


@submission(FULL, f"ran for more than {CELL_SECONDS} seconds")
def endless_cell(folder):
    with_cell(folder, "while True:\n    pass")


@submission(SOME, "ended the Python process")
def kernel_dies(folder):
    notebook = right()
    place = notebook.cells.index(answer_cell(notebook, 1))
    notebook.cells.insert(place, new_code_cell("import ctypes\nctypes.CDLL(None)._exit(1)"))
    save(folder, notebook)


@submission(FULL, "the rest of the output is not shown")
def hundred_megabytes(folder):
    with_cell(folder, "for _ in range(100):\n    print('x' * 1_000_000, flush=True)")


@submission(SOME, "doesn't exist: its cell failed with SyntaxError")
def syntax_error(folder):
    notebook = right()
    answer_cell(notebook, 1).source = "def unfinished(:\n    return"
    save(folder, notebook)


@submission(FULL, "working hard")
def prints_and_warns(folder):
    notebook = right()
    cell = answer_cell(notebook)
    noise = (
        "import sys, warnings\nwarnings.warn('only this')\nprint('working hard', file=sys.stderr)"
    )
    cell.source = f"{noise}\n{cell.source}"
    save(folder, notebook)


@submission(FULL)
def device_by_default(folder):
    with_cell(folder, "import torch\ntorch.set_default_device('meta')")


@submission(FULL)
def compiles(folder):
    notebook = right()
    cell = answer_cell(notebook, 2)
    cell.source = f"@torch.compile\n{cell.source}"
    save(folder, notebook)


@submission(SOME, "Torch not compiled with CUDA enabled", "remove `.cuda()`")
def asks_for_a_gpu(folder):
    notebook = right()
    cell = answer_cell(notebook, 2)
    cell.source = cell.source.replace("    scores = ", "    query = query.cuda()\n    scores = ")
    save(folder, notebook)


@submission(SOME, "defines `softmax`, and is below this check", "move it into the answer cell")
def answer_below_its_check(folder):
    notebook = right()
    notebook.cells.append(new_code_cell(answer_cell(notebook).source))
    answer_cell(notebook).source = answer_cell(released(EXERCISE)).source
    save(folder, notebook)


@submission(FULL)
def helper_between_moved_answers(folder):
    notebook = right()
    first, second = answer_cell(notebook), answer_cell(notebook, 1)
    first.source += "\n_own = softmax\ndef softmax(x, axis=-1):\n    return same(_own(x, axis))"
    notebook.cells.remove(second)
    place = notebook.cells.index(first)
    notebook.cells[place:place] = [second, new_code_cell("def same(x):\n    return x")]
    save(folder, notebook)


@submission(FULL, "A person will read them")
def written_answer_in_the_cell_below(folder):
    notebook = right()
    cell, stub = (
        next(c for c in one.cells if c.cell_type == "markdown" and metadata_of(c).get("solution"))
        for one in (notebook, released(EXERCISE))
    )
    notebook.cells.insert(notebook.cells.index(cell) + 1, new_markdown_cell(cell.source))
    cell.source = stub.source
    save(folder, notebook)


@submission(FULL, "from the shell")
def magics(folder):
    with_cell(folder, "%load_ext autoreload\n!echo from the shell")


@submission(FULL)
def honest(folder):
    save(folder, right())
