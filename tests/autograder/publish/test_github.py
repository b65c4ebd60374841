"""The template repository: what it holds, and its workflow's commands, run in a copy as GitHub would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell

from autograder.build.source_notebook import HELD_BACK
from autograder.catalogue import mistakes
from autograder.course import Course
from autograder.errors import ExerciseError
from autograder.exercises import answer_cell, reference_answers, solved
from autograder.publish import github
from tests.support.course import COURSE

EXERCISE = COURSE.exercise("ch1_additive_attention")
CHECKS = ".github/workflows/checks.yml"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The template of chapter 1's exercise."""
    course = Course(COURSE.root, class_folder=tmp_path_factory.mktemp("class"))
    return github.write(course, EXERCISE)


def workflow_of(folder):
    return yaml.safe_load((folder / CHECKS).read_text())


def test_it_holds_what_students_get_anyway(template):
    files = {
        path.relative_to(template).as_posix() for path in template.rglob("*") if path.is_file()
    }
    assert files == {
        f"{EXERCISE}.ipynb",
        *("README.md", "requirements.txt", "constraints.txt", ".gitignore", ".gitattributes"),
        *(CHECKS, ".github/checks.py", ".devcontainer/devcontainer.json"),
    }
    assert (template / f"{EXERCISE}.ipynb").read_bytes() == EXERCISE.notebook.read_bytes()
    others = [(template / name).read_text() for name in files - {f"{EXERCISE}.ipynb"}]
    for answer in reference_answers(EXERCISE).values():
        body = answer.rstrip().rpartition("\n")[2].strip()
        assert not any(body in text for text in others)
    for mistake in mistakes(EXERCISE):
        assert not any(mistake.hint in text for text in others)
    for text in others:
        assert not re.search(r"EXERCISE_|PYTHON_VERSION|BEGIN SOLUTION|BEGIN HIDDEN", text)


def test_it_installs_what_is_installed_here(template):
    lines = (template / "requirements.txt").read_text().split()
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert {"nbclient", "ipykernel", "numpy", "torch"} <= {
        line.partition("==")[0] for line in lines
    }
    assert "https://download.pytorch.org/whl/cpu" in lines
    container = json.loads((template / ".devcontainer" / "devcontainer.json").read_text())
    assert container["image"].endswith(f":{here}")
    setup = workflow_of(template)["jobs"]["checks"]["steps"][1]
    assert setup["with"]["python-version"] == here


def test_its_workflow_may_read_and_nothing_else(template):
    workflow = workflow_of(template)
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert not {"permissions", "env", "secrets", "services"} & job.keys()
    assert job["steps"][0]["with"] == {"persist-credentials": False}
    own = yaml.safe_load((COURSE.root / ".github" / "workflows" / "course.yml").read_text())
    known = {
        step["uses"] for job in own["jobs"].values() for step in job["steps"] if "uses" in step
    }
    assert {step["uses"] for step in job["steps"] if "uses" in step} <= known


def test_what_was_changed_beside_its_files_stays(template):
    (template / ".git").mkdir()
    (template / ".git" / "HEAD").write_text("x")
    (template / "README.md").write_text("changed")
    course = Course(COURSE.root, class_folder=template.parents[1])
    assert github.write(course, EXERCISE) == template
    assert (template / ".git" / "HEAD").read_text() == "x"
    assert (template / "README.md").read_text().startswith("# Exercise 1")


def test_an_exercise_that_needs_a_file_of_the_class_is_refused(small_exercise):
    original = small_exercise.notebook.read_text(encoding="utf-8")
    notebook = nbformat.reads(original, as_version=4)
    notebook.cells.insert(1, new_code_cell(HELD_BACK, id="built_so_far"))
    nbformat.write(notebook, small_exercise.notebook)
    try:
        with pytest.raises(ExerciseError, match="--no-hold-back"):
            github.contents(Course(small_exercise.root), small_exercise)
    finally:
        small_exercise.notebook.write_text(original, encoding="utf-8")


# The workflow -------------------------------------------------------------------------------------


def run_workflow(folder: Path, summary: Path) -> list[subprocess.CompletedProcess]:
    """Run the workflow's commands in a repository, as they stand, without a network; up to the first failure."""
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        **{"GITHUB_STEP_SUMMARY": str(summary), "PIP_NO_INDEX": "1", "OMP_NUM_THREADS": "1"},
    }
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    done = []
    for step in workflow_of(folder)["jobs"]["checks"]["steps"]:
        if "run" in step:
            ended = subprocess.run(
                ["bash", "-e", "-c", step["run"]],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            done.append(ended)
            if ended.returncode:
                break
    return done


def test_a_push_is_checked_and_its_summary_names_what_is_wrong(template, tmp_path):
    right = reference_answers(EXERCISE)
    right["additive_scores"] = right["additive_scores"].replace("np.tanh(", "np.sin(")
    notebook = solved(EXERCISE, right)
    nbformat.write(notebook, template / f"{EXERCISE}.ipynb")
    install, checks = run_workflow(template, tmp_path / "summary.md")
    assert install.returncode == 0, install.stderr
    assert "Successfully installed" not in install.stdout, "everything was there already"
    assert checks.returncode == 1
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("## 25 of 29 points\n")
    assert "| 1. Alignment scores | 0 of 4 |" in summary
    assert "| 4. One step of the decoder | 7 of 7, and 3 for a written answer |" in summary
    assert "### 1. Alignment scores\n\n```text\n✗ 0/2 points   scores every key" in summary
    assert summary.count("###") == 1, "what is passed isn't told"


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    """The template's program as a module."""
    program = (github.TEMPLATES / "checks.py").read_text()
    names = {"__name__": "checks"}
    exec(compile(program, "checks.py", "exec"), names)
    return names


def test_all_points_are_a_success_and_what_a_student_prints_is_no_markup(
    checks, small_exercise, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.ipynb"
    notebook = solved(small_exercise, reference_answers(small_exercise))
    nbformat.write(notebook, path)
    told, done = checks["summary"](checks["executed"](path))
    assert done and told.startswith("## 2 of 2 points")
    wrong = 'def double(x):\n    print("````\\n# @somebody <b>")\n    return x, {}'
    answer_cell(notebook).source = wrong
    nbformat.write(notebook, path)
    told, done = checks["summary"](checks["executed"](path))
    (fence,) = re.findall(r"^(`+)text$", told, re.MULTILINE)
    inside = told.partition(f"{fence}text\n")[2].partition(f"\n{fence}\n")[0]
    assert not done and len(fence) > 4
    assert "@somebody" in inside and "@somebody" not in told.replace(inside, "")


def test_a_notebook_without_checks_or_without_cells_is_told(checks, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    path = tmp_path / "x.ipynb"
    for text, said in ((None, "is missing"), ("<<<<<<< HEAD", "is no notebook")):
        if text:
            path.write_text(text)
        monkeypatch.setattr(sys, "argv", ["checks.py", str(path)])
        with pytest.raises(SystemExit) as end:
            checks["main"]()
        assert end.value.code == 1 and said in capsys.readouterr().out
