"""Pages of the book are executed again when what their cells import has changed, and only then."""

import os
import re
import shutil
import subprocess
import sys

import jupytext
import pytest

from autograder.dependencies import Dependencies
from autograder.errors import BookError
from autograder.package import PACKAGE_ROOT
from autograder.publish import cache_key
from autograder.publish.cache_key import is_executed
from autograder.publish.experiments import FOLDERS
from autograder.publish.page_source import read_page
from book.pictures import NOTEBOOK
from tests.support.course import COURSE
from tests.support.small_book import FRONT

# the chapters of which it is said below what they use; a later one may use any of it
KNOWN = {f"ch{number}" for number in range(1, 11)}


def chapters_with(pattern):
    """The chapters whose cells have this in them."""
    return {
        page.stem.partition("_")[0]
        for page in COURSE.book.glob("ch*.md")
        for cell in read_page(page).cells
        if re.search(pattern, cell.program())
    }


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """What the pages' cells import, and the pages, in a folder of their own."""
    root = tmp_path_factory.mktemp("course")
    ignored = shutil.ignore_patterns("__pycache__", "_vendor", "released")
    for name in ("book", "solutions", "translation", "autograder", "exercises"):
        shutil.copytree(COURSE.root / name, root / name, ignore=ignored)
    shutil.copy(COURSE.root / "constraints.txt", root)
    return root


def digests(root):
    return {
        page.stem: cache_key.imports_digest(root, page, page.read_text(encoding="utf-8"))
        for page in sorted((root / "book").glob("ch*.md"))
    }


@pytest.fixture(scope="module")
def before(copy):
    """The digests of the pages as they are."""
    return digests(copy)


@pytest.fixture
def change(copy):
    """A function that replaces the first occurrence of a text in a file; undone afterwards."""
    kept = {}

    def change(file, old, new):
        path = copy / file
        text = path.read_text(encoding="utf-8")
        kept.setdefault(path, text)
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")

    yield change
    for path, text in kept.items():
        path.write_text(text, encoding="utf-8")


def test_words_styles_and_pins_of_other_tools_execute_nothing(copy, before, change):
    change("solutions/catalogue/ch2_scaled_dot_product.md", "*Hint:* ", "*Hint:* In other words: ")
    change("constraints.txt", "==", "==99.")
    change("solutions/ch2_scaled_dot_product.py", "import numpy", "# a comment\nimport numpy")
    change("book/widgets.py", '"""Figures to touch', '"""In other words: figures')
    change("book/_static/book.css", "}", "} /* other */")
    change("book/ch3_multi_head.md", "```{code-cell}", "In other words.\n\n```{code-cell}")
    assert digests(copy) == before


@pytest.mark.parametrize(
    ("file", "figure"),
    [
        ("book/_widgets/clock.js", "position_clock"),
        ("book/_widgets/alignment.js", "alignment_viewer"),
        ("book/_widgets/common.js", r"\w+"),
    ],
)
def test_a_change_of_a_script_reaches_the_pages_with_its_figures(
    copy, before, change, file, figure
):
    change(file, "\n", "\nOTHER = 1;\n")
    executed = chapters_with(rf"\bwidgets\.{figure}\(")
    assert changed_chapters(copy, before) == executed != set()


def test_a_line_in_the_code_of_the_build_executes_nothing(copy, before, change):
    change("autograder/publish/page_source.py", "import math", "import math, cmath")
    assert digests(copy) == before


def test_pages_import_of_the_grader_only_what_reads_results_and_seeds():
    """Its code is in no page's key, so nothing else of it may decide what a page shows.

    But for the first page, which shows what a check says: its key has the notebook that holds the check. And for the
    one on what mistakes cost, whose stored results have the digest of each wrong answer (test_costs.py).
    """
    found = set()
    for page in sorted(COURSE.book.glob("*.md")):
        if is_executed(page) and page.stem not in ("intro", "what_training_tells"):
            used = Dependencies(COURSE.root, FOLDERS)
            used.add_program(page, "\n".join(cell.program() for cell in read_page(page).cells))
            found |= {module.path.relative_to(COURSE.root).as_posix() for module in used.modules}
    reading = {
        "publish/experiments",
        "publish/cache_key",
        "publish/page_source",
        "publish/seed_base",
    }
    reading |= {"dependencies", "errors", "files", "programs"}
    assert {name for name in found if name.startswith("autograder/")} == {
        f"autograder/{name}.py" for name in reading
    }


def test_the_first_page_is_executed_again_when_a_check_says_something_else(copy, change):
    page = copy / "book" / "intro.md"
    before = cache_key.imports_digest(copy, page, page.read_text(encoding="utf-8"))
    change(NOTEBOOK, "install_packed", "install_other_words")
    assert cache_key.imports_digest(copy, page, page.read_text(encoding="utf-8")) != before


# definitions, by the file that has them and how they begin, and which of the known chapters use them
USED_IN = (
    ("book/figures.py", "def show(", KNOWN),
    ("solutions/ch2_scaled_dot_product.py", "def attention(", KNOWN - {"ch1"}),
    ("solutions/ch6_transformer.py", "class EncoderLayer(", {"ch6", "ch7", "ch8", "ch10"}),
    # chapter 7 uses it, and chapter 3 does not
    ("solutions/ch1_additive_attention.py", "class AdditiveAttention(", {"ch1", "ch7"}),
    ("solutions/ch8_language_model.py", "def token_probabilities(", {"ch8"}),
)


def test_what_nothing_uses_executes_nothing(copy, before, change):
    for file, definition, _ in USED_IN:
        change(file, f"\n{definition}", f"\nOTHER = 1\n\n\n{definition}")
    assert digests(copy) == before


@pytest.mark.parametrize(("file", "definition", "executed"), USED_IN)
def test_a_change_reaches_the_pages_that_use_it(copy, before, change, file, definition, executed):
    change(file, f"\n{definition}", f"\n@type\n{definition}")
    assert changed_chapters(copy, before) & KNOWN == executed


def changed_chapters(copy, before):
    after = digests(copy)
    return {page.partition("_")[0] for page in before if before[page] != after[page]}


def test_a_new_result_reaches_the_page_that_shows_it(tmp_path):
    (tmp_path / "book" / "measured").mkdir(parents=True)
    page = tmp_path / "book" / "page.md"
    (tmp_path / "book" / "shown.py").write_text('RESULT = "book/measured/x.json"\n')
    text = FRONT + "```{code-cell} ipython3\nimport shown\n```\n"
    other = FRONT + "```{code-cell} ipython3\nimport math\n```\n"
    found = []
    for result in ("1", "2"):
        (tmp_path / "book" / "measured" / "x.json").write_text(result)
        found.append([cache_key.imports_digest(tmp_path, page, given) for given in (text, other)])
    assert found[0][0] != found[1][0] and found[0][1] == found[1][1]


def test_a_new_stored_result_reaches_its_page_alone(tmp_path):
    (tmp_path / "book" / "results").mkdir(parents=True)
    text = FRONT + "```{code-cell} ipython3\nimport math\n```\n"
    pages = [tmp_path / "book" / name for name in ("one.md", "two.md")]
    found = []
    for result in ("1", "2"):
        (tmp_path / "book" / "results" / "one.json").write_text(result)
        found.append([cache_key.imports_digest(tmp_path, page, text) for page in pages])
    assert found[0][0] != found[1][0] and found[0][1] == found[1][1]


def test_versions_of_what_computes_count(copy, before, monkeypatch):
    monkeypatch.setattr(cache_key, "plain_version", lambda package: f"99 of {package}")
    assert not set(before.values()) & set(digests(copy).values())


def test_every_script_belongs_to_a_figure():
    """The rule that finds the scripts knows every figure that there is."""
    folder = COURSE.root / "book"
    program = (folder / "widgets.py").read_text(encoding="utf-8")
    import_all = "from widgets import " + ", ".join(
        line.removeprefix("def ").partition("(")[0]
        for line in program.split("\n")
        if line.startswith("def ") and not line.startswith("def _")
    )
    every = {path.stem for path in (folder / "_widgets").glob("*.js")}
    assert cache_key.scripts(program, [cache_key.ast.parse(import_all)]) == every


def test_the_key_stands_in_the_front_matter_and_nowhere_else(copy, before):
    page = copy / "book" / "ch4_masking.md"
    text = page.read_text(encoding="utf-8")
    keyed = cache_key.with_key(copy, page, text)
    added = set(keyed.split("\n")) - set(text.split("\n"))
    assert added == {f"  imports: {before['ch4_masking']}"}
    spec = jupytext.reads(keyed, fmt="md:myst").metadata["kernelspec"]
    assert (spec["name"], spec["imports"]) == ("python3", before["ch4_masking"])
    for other in ("# No front matter\n\n---\n\nkernelspec:\n", "---\ntitle: x\n---\n# No kernel\n"):
        assert cache_key.with_key(copy, page, other) == other


def test_a_cell_that_is_no_python_is_an_error_that_names_it(copy):
    text = FRONT + "```{code-cell}\nx = (\n```\n"
    with pytest.raises(BookError, match=r"odd\.md: the cell that begins with 'x = \('"):
        cache_key.imports_digest(copy, copy / "odd.md", text)
    fine = text.replace("x = (", "%matplotlib inline\nx = 1")
    assert cache_key.imports_digest(copy, copy / "odd.md", fine)
    with pytest.raises(BookError, match=r"front matter of .*odd\.md is incomplete: 'display_name'"):
        cache_key.imports_digest(
            copy, copy / "odd.md", text.replace("  display_name: Python 3\n", "")
        )


PAGE = (
    FRONT
    + """\
# {name}

```{{code-cell}} ipython3
from pathlib import Path
from solutions.{module} import x
with Path("{root}/executed").open("a") as file:
    file.write("{name} ")
print("the value of x is", x)
```
"""
)


def test_the_books_builder_executes_what_has_changed(tmp_path):
    source = tmp_path / "source"
    solutions = source / "solutions"
    (source / "book").mkdir(parents=True)
    solutions.mkdir()
    for name, module in (("one", "ch1"), ("two", "ch2"), ("both", "ch3")):
        text = PAGE.format(name=name, module=module, root=tmp_path)
        (source / "book" / f"{name}.md").write_text(text)
    (solutions / "__init__.py").touch()
    (solutions / "ch1.py").write_text("x = 1\n")
    (solutions / "ch2.py").write_text("x = 2\n")
    (solutions / "ch3.py").write_text("from solutions.ch1 import x\n")
    toc = "# Start\n\n```{toctree}\nbook/one\nbook/two\nbook/both\n```\n"
    (source / "index.md").write_text(toc)
    (source / "conf.py").write_text(
        "extensions = ['myst_nb', 'execution']\nnb_execution_mode = 'cache'\nhtml_theme = 'basic'\n"
    )

    def executed():
        """Build anew from nothing but the cache; which pages ran, and what they show."""
        (tmp_path / "executed").write_text("")
        shutil.rmtree(tmp_path / "build" / "html", ignore_errors=True)
        paths = [str(source), str(PACKAGE_ROOT), str(PACKAGE_ROOT / "book" / "_extensions")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "sphinx", "-qWE", "source", "build/html"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        shown = (tmp_path / "build" / "html" / "book" / "both.html").read_text(encoding="utf-8")
        assert "imports:" not in shown
        value = shown.partition("the value of x is ")[2][:1]
        return set((tmp_path / "executed").read_text().split()), value

    assert executed() == ({"one", "two", "both"}, "1")
    (solutions / "ch1.py").write_text('"""In words."""\nx = 1  # of course\n')
    assert executed() == (set(), "1")
    (solutions / "ch1.py").write_text("x = 3\n")
    assert executed() == ({"one", "both"}, "3")
