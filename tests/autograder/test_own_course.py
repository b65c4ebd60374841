"""A course of one's own, with NumPy alone: installed, written from the template, graded without torch."""

import csv
import json
import re
import shutil
import tomllib
import zipfile
from importlib.metadata import packages_distributions

import nbformat
import pytest
from packaging.requirements import Requirement

from autograder import new_course
from autograder.book_index import book_sections
from autograder.catalogue import mistakes, sections
from autograder.course import Course
from autograder.errors import CourseError
from autograder.grade.result import Result
from autograder.package import PACKAGE
from autograder.programs import imported_packages
from autograder.publish.page_source import read_page
from tests.support.course import COURSE
from tests.support.environments import build_wheel, install
from tests.support.needs import needs_sandbox

EXERCISE = "ch1_smoothing"
PRIVATE = ("nbgrader", "jupyter_client", "ipykernel")
pytestmark = pytest.mark.xdist_group("own course")


def project():
    """What pyproject.toml says of the distribution."""
    return tomllib.loads((COURSE.root / "pyproject.toml").read_text(encoding="utf-8"))


def succeeded(done):
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """An environment with the grader installed alone, without its extras, torch among them."""
    return install(wheel, tmp_path_factory.mktemp("installed") / "venv")


@pytest.fixture(scope="module")
def root(environment, tmp_path_factory):
    """A new course; its exercise is built and a sample class is graded, with feedback."""
    folder = tmp_path_factory.mktemp("courses")
    succeeded(environment.run(folder, "course-autograder", "new", "mycourse"))
    root = folder / "mycourse"
    for words in (["build"], ["sample"], ["grade", "--feedback", "--json", "verdicts.json"]):
        succeeded(environment.run(root, "course-autograder", *words))
    return root


# The distribution ---------------------------------------------------------------------------------


def test_pyproject_allows_what_is_pinned():
    lines = (COURSE.root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    pinned = {pin.name.lower(): str(pin.specifier).removeprefix("==") for pin in pins}
    own = project()["project"]
    core = {one.name.lower(): one for one in map(Requirement, own["dependencies"])}
    several = own["optional-dependencies"].values()
    extra = {one.name.lower(): one for lines in several for one in map(Requirement, lines)}
    for name, wanted in {**core, **extra}.items():
        assert wanted.specifier.contains(pinned[name]), name
    # private parts of these are used
    assert all(str(core[n].specifier).startswith("==") for n in PRIVATE), PRIVATE
    # what the package imports comes with it, and not only because another package needs it today
    files = (path for path in PACKAGE.rglob("*.py") if "template" not in path.parts)
    imported = {name for path in files for name in imported_packages(path.read_text("utf-8"))}
    distributions = packages_distributions()
    used = {name.lower() for one in imported for name in distributions.get(one, [])}
    lines = (COURSE.root / "requirements.txt").read_text(encoding="utf-8").splitlines()
    direct = {Requirement(line.split("#")[0]).name.lower() for line in lines if line.split("#")[0]}
    assert used & direct <= core.keys() | extra.keys()
    # nothing that an exercise need not have is required
    assert not {"torch", "distributed", "psycopg"} & core.keys()


def test_the_wheel_holds_every_file_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("autograder/")}
    files = (path for path in PACKAGE.rglob("*") if path.is_file())
    own = {
        path.relative_to(COURSE.root).as_posix()
        for path in files
        if ("__pycache__" not in path.parts and path.name != "README.md")
        or {"template", "templates"} & set(path.parts)
    }
    assert packed == {name for name in own if "__pycache__" not in name}


def test_a_course_carries_the_grader_that_made_it(wheel, root, tmp_path):
    (carried,) = (root / "wheels").iterdir()
    assert carried.name == wheel.name
    assert f"wheels/{carried.name}" in (root / "requirements.txt").read_text()
    contents = []
    for path in (wheel, carried):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("RECORD")]
            contents.append({name: archive.read(name) for name in names})
    assert contents[0] == contents[1]
    again = install(carried, tmp_path / "venv")
    told = succeeded(again.run(tmp_path, "course-autograder", "new", "another"))
    assert "make test" in told
    assert (tmp_path / "another" / "wheels" / carried.name).read_bytes() == carried.read_bytes()


# Writing a course ---------------------------------------------------------------------------------


def test_a_folder_that_exists_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(CourseError, match=r"mine exists already\."):
        new_course.make(tmp_path / "mine")
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]


@pytest.mark.skipif(any(COURSE.root.glob("*.egg-info")), reason="pip has installed this folder")
def test_a_grader_that_is_not_installed_says_how_to_install_it(tmp_path):
    with pytest.raises(CourseError, match=re.escape(f"pip install {COURSE.root}`")):
        new_course.make(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []


def test_the_templates_chapter_has_the_sections_that_hints_lead_to():
    page = new_course.TEMPLATE / "book" / f"{EXERCISE}.md"
    # its front matter and cells are what the book's builder asks for
    assert len(read_page(page).cells) == 2
    course = Course(new_course.TEMPLATE)
    (exercise,) = course.exercises()
    labels = {*sections(exercise).values(), *(m.section for m in mistakes(exercise))}
    assert labels <= book_sections(new_course.TEMPLATE).keys()


def test_its_settings_are_three_lines(root):
    lines = (root / "nbgrader_config.py").read_text().splitlines()
    assert len([line for line in lines if line]) == 3
    course = Course(root)
    assert course.exercises()[0].packages == ("numpy",)
    assert not course.exercises()[0].uses_torch


# A class of it, without torch ---------------------------------------------------------------------


def test_torch_is_missing_in_this_environment(environment, root):
    done = environment.run(root, environment.python, "-c", "import torch")
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stdout


def test_the_notebook_offers_no_torch(root):
    notebook = nbformat.read(root / "exercises" / EXERCISE / f"{EXERCISE}.ipynb", as_version=4)
    first = notebook.cells[0].source
    assert "Your code may import `numpy` and whatever comes with" in first


def test_a_class_is_graded_and_told_why(root):
    found = {path.parts[-3]: Result.read(path) for path in root.rglob("*.result.json")}
    assert {name: result.score for name, result in found.items()} == {
        "sample-ada": 5,
        "sample-ben": 5,
        "sample-dia": 2,
        "sample-eli": 2,
        "sample-ida": 0,
    }
    for result in found.values():
        assert set(result.basis.versions) == {"python", "numpy"}
    named = [line.mistake for _, line in found["sample-eli"].lines() if line.mistake]
    assert set(named) == {"sums in place of means"}
    # the second task uses the first, and is not charged for it
    assert found["sample-eli"].cell("residuals_values").passed
    page = root / "course" / "feedback" / "sample-eli" / EXERCISE / f"{EXERCISE}.html"
    text = page.read_text(encoding="utf-8")
    assert "These are the sums of the windows." in text and "Windows that move" in text
    verdicts = json.loads((root / "verdicts.json").read_text())
    assert len(verdicts) == len(found)


LOOKING = """
import dataclasses
from autograder.course import Course
from autograder.instructor_settings import Limits
from autograder.kernels.student_kernel import StudentKernel
from autograder.package import PACKAGE

course = Course.find()
settings = dataclasses.replace(course.settings, limits=Limits(sandbox=True))
code = f'''
import importlib.util, os
print(importlib.util.find_spec("autograder.reference"))
print(os.listdir({str(PACKAGE)!r}))
print(os.path.exists({str(course.root)!r}))
'''
with StudentKernel(settings) as kernel:
    print(kernel.run(code, 30).outputs[0]["text"])
"""


@needs_sandbox
def test_a_students_code_sees_neither_the_installed_grader_nor_the_course(environment, root):
    printed = succeeded(environment.run(root, environment.python, "-c", LOOKING))
    assert printed.split() == ["None", "[]", "False"]


def test_feedback_report_and_export_come_from_what_is_recorded(environment, root):
    told = succeeded(environment.run(root, "course-autograder", "feedback"))
    assert "0 of 5 written" in told
    succeeded(environment.run(root, "course-autograder", "report"))
    report = (root / "course" / "summary.html").read_text(encoding="utf-8")
    assert EXERCISE in report
    succeeded(environment.run(root, "course-autograder", "export", "--output", "grades.csv"))
    with (root / "grades.csv").open(encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert float(rows["sample-dia"][EXERCISE]) == 2


def test_nbgraders_own_commands_give_the_same_grades(environment, root):
    before = (root / "course" / "autograded" / "sample-dia" / EXERCISE).glob("*.result.json")
    (path,) = before
    score = Result.read(path).score
    words = ["autograde", EXERCISE, "--student", "sample-dia", "--force"]
    succeeded(environment.run(root, environment.python, "-m", "nbgrader", *words))
    assert Result.read(path).score == score
    # its own generation asks a kernel of this environment for the answers
    exercise = root / "exercises" / EXERCISE / f"{EXERCISE}.ipynb"
    built = exercise.read_bytes()
    words = ["generate_assignment", EXERCISE, "--force"]
    succeeded(environment.run(root, environment.python, "-m", "nbgrader", *words))
    assert exercise.read_bytes() == built


def test_a_missing_extra_is_named(environment, root):
    asked = (
        "from pathlib import Path; from autograder.course import Course; "
        "from autograder.grade.grade_class import WorkerOptions; "
        "WorkerOptions(scheduler='tcp://127.0.0.1:9').pool({}, Course(Path.cwd()).settings)"
    )
    done = environment.run(root, environment.python, "-c", asked)
    assert "--scheduler needs the package distributed, which isn't installed" in done.stdout
    assert "course-autograder[dask]" in done.stdout
    server = "postgresql+psycopg://127.0.0.1/none"
    done = environment.run(root, "course-autograder", "grade", "--db", server)
    assert done.returncode == 2 and "Traceback" not in done.stdout
    assert "needs the package psycopg, which isn't installed" in done.stdout
    assert "course-autograder[postgres]" in done.stdout


def test_an_exercise_with_torch_says_what_is_missing(environment, root, tmp_path):
    copy = tmp_path / "mine"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("course", "__pycache__"))
    solution = copy / "solutions" / f"{EXERCISE}.py"
    solution.write_text(
        solution.read_text().replace("import numpy as np", "import numpy as np\nimport torch")
    )
    done = environment.run(copy, "course-autograder", "build")
    assert done.returncode == 2 and "Traceback" not in done.stdout
    assert "torch" in done.stdout
