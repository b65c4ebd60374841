"""Publishing: a page knows where it lies and where its exercise opens, from the environment alone."""

import ast
import os
import re
import subprocess
import sys

import bs4
import pytest
import yaml

from autograder.book_index import colab_url
from autograder.exercises import released
from tests.support.course import COURSE

EXERCISE = "ch2_scaled_dot_product"
NOTEBOOK = f"exercises/{EXERCISE}/{EXERCISE}.ipynb"
ON_GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "someone/course",
    "GITHUB_REF": "refs/heads/a branch",
}
ON_COLAB = "https://colab.research.google.com/github/someone/course/blob/a%20branch/"


@pytest.mark.parametrize(
    ("changed", "address"),
    [
        ({}, ON_COLAB + NOTEBOOK),
        ({"GITHUB_REF": "refs/tags/v1"}, ON_COLAB.replace("a%20branch", "v1") + NOTEBOOK),
        ({"GITHUB_REF": "refs/pull/7/merge"}, ""),
        ({"GITHUB_REPOSITORY": ""}, ""),
        ({"GITHUB_SERVER_URL": "https://git.example.org"}, ""),
    ],
    ids=["a branch", "a tag", "a pull request", "no repository", "another server"],
)
def test_colab_is_offered_where_it_can_read(monkeypatch, changed, address):
    for name, value in (ON_GITHUB | changed).items():
        monkeypatch.setenv(name, value)
    assert colab_url(EXERCISE) == address


@pytest.mark.parametrize("known", [True, False])
def test_a_chapter_ends_with_ways_to_its_exercise(tmp_path, known):
    page = tmp_path / "book" / f"{EXERCISE}.md"
    page.parent.mkdir()
    page.write_text(
        f"# A chapter\n\n## Your turn\n\n{{download}}`It <../{NOTEBOOK}>` asks.\n\n## End\n"
    )
    (tmp_path / NOTEBOOK).parent.mkdir(parents=True)
    (tmp_path / NOTEBOOK).write_bytes(b"a notebook")
    (tmp_path / "index.md").write_text(f"# Start\n\n```{{toctree}}\nbook/{EXERCISE}\n```\n")
    paths = [str(COURSE.root), str(COURSE.root / "book" / "_extensions")]
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path[:0] = {paths}\n"
        "extensions = ['myst_parser', 'publishing']\nhtml_theme = 'basic'\n"
    )
    told = ON_GITHUB | {"BOOK_URL": "https://example.org/course/"} if known else {}
    environment = {
        key: value for key, value in os.environ.items() if key not in (*ON_GITHUB, "BOOK_URL")
    }
    command = [sys.executable, "-m", "sphinx", "-nWq", str(tmp_path), str(tmp_path / "html")]
    subprocess.run(command, env=environment | told, check=True)
    built = tmp_path / "html" / "book" / f"{EXERCISE}.html"
    text = built.read_text(encoding="utf-8")
    turn = re.search(r'<section id="your-turn">.*?</section>', text, re.DOTALL)[0]
    *_, download = re.findall(r'href="(\.\./_downloads/[^"]*)"', turn)
    assert (built.parent / download).read_bytes() == b"a notebook"
    links = [a["href"] for a in bs4.BeautifulSoup(text, "html.parser").find_all("a", href=True)]
    assert turn.count("_downloads") == 2
    assert links.count(ON_COLAB + NOTEBOOK) == turn.count("Open in Colab") == known
    canonical = f'<link rel="canonical" href="https://example.org/course/book/{EXERCISE}.html"'
    assert text.count('rel="canonical"') == text.count(canonical) == known


def test_an_exercise_needs_only_what_colab_and_the_readme_have(exercise):
    needed = set()
    for cell in released(exercise).cells:
        if cell.cell_type == "code" and not cell.source.startswith("%%"):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Import):
                    needed |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    needed.add(node.module)
    outside = {name.split(".")[0] for name in needed} - set(sys.stdlib_module_names)
    assert {"torch"} <= outside <= {"numpy", "torch", "matplotlib", "IPython"}


def test_workflows_pin_what_they_use_and_run_what_there_is():
    used, ran = [], []
    for path in (COURSE.root / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
            assert job["runs-on"] != "ubuntu-latest"
            used += [step["uses"] for step in job["steps"] if "uses" in step]
            ran += [step["run"] for step in job["steps"] if "run" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+\.\d+\.\d+", action) for action in used)
    targets = set(re.findall(r"^([\w-]+):", (COURSE.root / "Makefile").read_text(), re.MULTILINE))
    made = {word for command in ran if command.startswith("make ") for word in command.split()[1:]}
    assert made == {"exercises", "book", "release", "paste-test", "audit", "setup"} <= targets
    assert ".ci/run" in ran and os.access(COURSE.root / ".ci" / "run", os.X_OK)
