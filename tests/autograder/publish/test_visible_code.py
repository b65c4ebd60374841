"""What a reader can paste: no name, module or file that only a hidden cell provides."""

from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.course import Course
from autograder.publish.page_source import read_page
from autograder.publish.visible_code import forbidden_imports, names_of_hidden_cells, run_pasted
from tests.support.course import COURSE
from tests.support.small_book import FRONT


def page_of(*cells):
    """A page of cells; those that begin with a # are hidden."""
    text = FRONT
    for cell in cells:
        tags = ":tags: [remove-cell]\n" if cell.startswith("#") else ""
        text += f"\n```{{code-cell}} ipython3\n{tags}{cell}\n```\n"
    return text


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["#\nimport numpy as np", "x = np.ones(3)"], {"np"}),
        (["import numpy as np", "x = np.ones(3)"], set()),
        (["#\nimport numpy as np", "import numpy as np\nx = np"], set()),
        (["#\ny = 1", "def f(y):\n    return [y for z in y]"], set()),
        (["#\ny = 1", "def f():\n    return [z for z in range(3) if z == y]"], {"y"}),
        (["#\ny = 1", "class A:\n    def f(self):\n        return y"], {"y"}),
        (["#\ndef f(): ...", "print(f())"], {"f"}),
        (["#\nprint = 1", "print(2)"], set()),
        (["#\ny = 1", "y += 1"], set()),
        (["#\ny = 1", "#\nz = y"], set()),
        (["#\nfor i in range(3): pass", "%matplotlib inline\ni"], {"i"}),
    ],
)
def test_names_that_only_hidden_cells_define_are_found(cells, names):
    assert names_of_hidden_cells(read_page(Path("x.md"), page_of(*cells))) == names


def test_imports_that_a_reader_lacks_are_found():
    page = read_page(
        Path("x.md"),
        page_of(
            "#\nimport widgets",
            "import math, torch.nn as nn\nfrom figures import show\nfrom solutions.ch1 import x",
            "def f():\n    from sklearn.metrics import log_loss",
        ),
    )
    assert forbidden_imports(page) == {"sklearn": 3}


def test_no_visible_cell_needs_a_hidden_one():
    pages = {path.stem: read_page(path) for path in sorted(COURSE.book.glob("*.md"))}
    for name, page in pages.items():
        assert not names_of_hidden_cells(page), name
        assert not forbidden_imports(page), name


def test_visible_cells_run_on_their_own(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        page_of("from figures import COLOURS\nfrom book.models.seeds import seed", "x = seed(2)")
    )
    assert run_pasted(COURSE.root, page) is None
    page.write_text(page_of("x = 1", "#\ny = 2", "print(x)\nprint(y)"))
    assert run_pasted(COURSE.root, page) == "cell 3: NameError: name 'y' is not defined"
    page.write_text(page_of("import book.widgets"))
    assert run_pasted(COURSE.root, page) == "cell 1 imports book"


def test_the_command_names_page_and_cell(tmp_path, monkeypatch, capsys):
    for name in ("solutions", "autograder"):
        (tmp_path / name).symlink_to(COURSE.root / name)
    (tmp_path / "nbgrader_config.py").write_text("")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "figures.py").write_text("")
    (tmp_path / "book" / "ch1_good.md").write_text(page_of("x = 1"))
    (tmp_path / "book" / "ch2_bad.md").write_text(page_of("#\nx = 1", "print(x)"))
    monkeypatch.chdir(tmp_path)
    assert Course.find().root == tmp_path
    with pytest.raises(SystemExit) as stopped:
        main(["paste-test"])
    assert stopped.value.code == 1
    said = capsys.readouterr().out
    assert "ch1_good: runs" in said
    assert "ch2_bad: cell 2: NameError: name 'x' is not defined" in said
    main(["paste-test", "ch1_good"])
    with pytest.raises(SystemExit):
        main(["paste-test", "ch9_unheard_of"])
