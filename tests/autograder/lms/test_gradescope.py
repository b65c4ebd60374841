"""Gradescope: what the zip holds, what its runs tell, and that code in submissions gains nothing there."""

import ast
import contextlib
import functools
import json
import lzma
import os
import re
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from dataclasses import asdict, replace
from importlib.metadata import distribution

import nbformat
import numpy as np
import pytest
import torch
from nbformat.v4 import new_code_cell
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from audit_cases.attacks import FORBIDDING, with_code
from audit_cases.security_attacks import hand_in_table
from autograder import new_course
from autograder.audit import cases
from autograder.audit.examiner import HANGING_SECONDS
from autograder.audit.registry import ATTACKS, MACHINE
from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course
from autograder.errors import ExerciseError, ExportError, SandboxError
from autograder.exercises import (
    is_grade_cell,
    reference_answers,
    released,
    solved,
    task_names,
)
from autograder.expected import ExpectedCell, ExpectedDraw, ExpectedLine
from autograder.grade import make_keys, words, words_without_values
from autograder.grade.exercise_words import words_of
from autograder.grade.make_keys import keys_under
from autograder.grade.result import Basis, CellResult, LineResult, Remark, Result
from autograder.grade.seeds import new_seed
from autograder.grade.submission import read_folder
from autograder.grade.words import Words
from autograder.instructor_settings import Limits
from autograder.kernels import own_user
from autograder.lms import gradescope, gradescope_run
from autograder.lms.requirements import requirements
from autograder.package import PACKAGE
from autograder.programs import code_only, spans_of
from autograder.runtime import messages
from autograder.runtime.compare import Difference
from autograder.runtime.plain_data import encode
from tests.support.container import run_inside
from tests.support.copies import command, configure, repository
from tests.support.course import COURSE
from tests.support.imports import imported, module_name
from tests.support.needs import needs_root, needs_sandbox

pytestmark = pytest.mark.xdist_group("gradescope")
EXERCISE = COURSE.exercise(FORBIDDING)
REFERENCE = reference_answers(EXERCISE)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return Course(COURSE.root, class_folder=tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def keys(few_mistakes):
    """Answer keys on two sets of inputs: evaluating as many as a zip has takes minutes."""
    exercise = few_mistakes.exercise(EXERCISE.name)
    return keys_under(few_mistakes, exercise, [new_seed(), new_seed()])


def archive_of(folder, course, keys, follow_through=False):
    path = folder / "autograder.zip"
    path.write_bytes(gradescope.zipped(course, EXERCISE, keys, follow_through))
    return path


@pytest.fixture(scope="module")
def archive(tmp_path_factory, course, keys):
    """A zip with two sets of inputs."""
    return archive_of(tmp_path_factory.mktemp("zip"), course, keys)


@pytest.fixture(scope="module")
def packed(archive):
    with zipfile.ZipFile(archive) as opened:
        text = opened.read(gradescope_run.EXERCISE).decode()
    return gradescope_run.PackedExercise.from_json(text)


# What is said ---------------------------------------------------------------------------------------

PLANT = "PLANTED 3.25"


class Planted(dict):
    """Parameters of which every one is a planted text."""

    def __missing__(self, key):
        return PLANT


def line_with(aspect, parameters):
    difference = Difference(aspect, parameters, (("part", 1, 7, PLANT), ("key", PLANT)))
    return LineResult("f(x)", 1.0, difference)


@pytest.mark.parametrize("aspect", sorted({*messages.SENTENCES, *words.SENTENCES}))
def test_a_sentence_tells_no_value_whatever_the_parameters_are(aspect):
    parameters = Planted()
    if aspect in words_without_values.WITHOUT_VALUES:
        # the grader's own: limits, and names that the release has
        parameters = {"reason": "exit", "seconds": 10.0, "expression": "f(x)"}
    said = words_without_values.sentence(line_with(aspect, parameters))
    assert len(said) > 10
    assert "PLANT" not in said and "3.25" not in said and "7" not in said


def test_a_part_is_named_only_where_the_notebook_names_it():
    place = (("part", 2, 3, "weights"), ("part", 1, 4, "for d_model=24"), ("key", "weights"))
    line = LineResult("f(x)", 1.0, Difference("shape", {}, place))
    assert words_without_values.sentence(line, {"weights"}) == "weights: the shape is wrong"
    assert words_without_values.sentence(line) == "the shape is wrong"


def test_only_errors_of_pythons_own_are_named():
    for name, said in {
        "ValueError": "your code raised ValueError",
        "x0_17_x1_25": "your code raised an error",
        "print": "your code raised an error",
        "__name__": "your code raised an error",
    }.items():
        line = line_with("error", {"name": name, "message": PLANT, "line": PLANT})
        assert words_without_values.sentence(line) == said


def test_an_error_of_the_grader_is_not_quoted():
    for kind in ("failed", "no_follow_through"):
        assert "PLANT" in words.remark(Remark(kind, {"error": PLANT}))
        assert "PLANT" not in words_without_values.remark(Remark(kind, {"error": PLANT}))


def test_words_survive_the_wire():
    before = words_of(EXERCISE)
    assert Words.from_json(before.to_json()) == before
    assert before.mistakes and before.titles and before.section_of and before.sections


def test_the_zip_has_no_module_that_makes_exercises_or_answer_keys():
    modules = {path.relative_to(PACKAGE).as_posix() for path in gradescope.packed_modules()}
    assert {"grade/answer_key.py", "grade/examine.py", "expected.py"} <= modules
    making = {"grade/make_keys.py", "reference.py", "right_versions.py", "dependencies.py"}
    assert not modules & (making | {"catalogue.py", "catalogue_file.py", "rules.py", "diffs.py"})
    assert not [module for module in modules if module.startswith(("build/", "publish/", "audit/"))]


# The results, by https://gradescope-autograders.readthedocs.io/en/latest/specs/ -----------------------

VISIBILITY = ("hidden", "after_due_date", "after_published", "visible")
FORMATS = ("text", "html", "simple_format", "md", "ansi")
OF_RESULTS = {
    "score": float,
    "execution_time": float,
    "output": str,
    "output_format": FORMATS,
    "test_output_format": FORMATS,
    "test_name_format": FORMATS,
    "visibility": VISIBILITY,
    "stdout_visibility": VISIBILITY,
    "extra_data": dict,
    "tests": list,
    "leaderboard": list,
}
OF_A_TEST = {
    "score": float,
    "max_score": float,
    "status": ("passed", "failed"),
    "name": str,
    "name_format": FORMATS,
    "number": str,
    "output": str,
    "output_format": FORMATS,
    "tags": list,
    "visibility": VISIBILITY,
    "extra_data": dict,
}


def check_fields(found, specified):
    for name, value in found.items():
        allowed = specified[name]
        assert value in allowed if isinstance(allowed, tuple) else isinstance(value, allowed), name


def check_results(text):
    """Assert that a text is what the specification asks for; returns it as data."""
    found = json.loads(text)
    check_fields(found, OF_RESULTS)
    assert found["tests"] or "score" in found, "either has to be there"
    for test in found["tests"]:
        check_fields(test, OF_A_TEST)
        assert test["score"] <= test["max_score"]
        if test["max_score"]:  # a line of a dropped question has none
            assert (test["status"] == "passed") == (test["score"] == test["max_score"])
        assert "\r" not in test["output"]
    return found


def result_of(packed, keys, told):
    """A result in which every line failed, with what is told of the first of each cell."""
    found = []
    for name, cell in keys[0].cells.items():
        lines = [
            LineResult(
                one.expression, one.points, Difference("shape", {"expected": [4], "got": []})
            )
            for one in cell.lines
        ]
        found.append(CellResult(name, (replace(lines[0], **told(name)), *lines[1:]), PLANT))
    basis = Basis("", "", Limits(), {})
    return Result("student", EXERCISE.name, tuple(found), (), basis, 1.5)


def test_every_line_has_its_sentence_the_mistake_and_the_hint(packed, keys):
    of_cell = {mistake.cell: mistake for mistake in mistakes(EXERCISE)}

    def told(name):
        return {"mistake": of_cell[name].name} if name in of_cell else {}

    result = result_of(packed, keys, told)
    found = check_results(gradescope_run.results_of(result, packed).to_json())
    lines = list(result.lines())
    assert len(found["tests"]) == len(lines) > 10
    assert "score" not in found and PLANT not in json.dumps(found)
    assert "execution_time" not in found and found["stdout_visibility"] == "hidden"
    assert sum(test["max_score"] for test in found["tests"]) == result.points
    _, tasks = task_names(released(EXERCISE))
    named = 0
    for (cell, line), test in zip(lines, found["tests"], strict=True):
        assert test["name"].startswith(f"{tasks[cell]}: ")
        assert test["output"].startswith("the shape is wrong")
        if line.mistake:
            named += 1
            assert of_cell[cell].means in test["output"] and of_cell[cell].hint in test["output"]
            assert re.search(r'To read again: (chapter 2|page "Symptoms: [^"]+"), ', test["output"])
    assert named > 3
    assert len({test["number"] for test in found["tests"]}) == len(lines)
    assert "There is no follow-through here" in found["output"]
    follows = replace(packed, follow_through=True)
    assert "no follow-through" not in gradescope_run.results_of(result, follows).output


def test_a_dropped_question_says_that_it_does_not_count(packed, keys):
    result = result_of(packed, keys, lambda name: {})
    first, *others = result.cells
    lines = tuple(replace(line, points=0) for line in first.lines)
    dropped = replace(result, cells=(replace(first, lines=lines), *others))
    found = check_results(gradescope_run.results_of(dropped, packed).to_json())
    told = [test["output"].startswith("This question doesn't count.") for test in found["tests"]]
    assert told == [True] * len(lines) + [False] * (len(told) - len(lines))


# The zip --------------------------------------------------------------------------------------------


def test_the_zip_has_the_two_programs_and_the_sets_with_their_modes(archive):
    with zipfile.ZipFile(archive) as opened:
        modes = {info.filename: info.external_attr >> 16 for info in opened.infolist()}
        programs = [opened.read(name).decode() for name in ("setup.sh", "run_autograder")]
    assert all(
        stat.filemode(modes[name]) == "-rwxr-xr-x" for name in ("setup.sh", "run_autograder")
    )
    sets = [name for name in modes if re.fullmatch(r"expected/\d+\.xz", name)]
    assert len(sets) == 2
    assert all(stat.filemode(modes[name]) == "-rw-------" for name in sets)
    assert stat.filemode(modes["expected/"]) == "drwx------"
    for program in programs:
        assert program.startswith("#!/usr/bin/env bash\n") and "\r" not in program
        done = subprocess.run(["bash", "-n"], input=program, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


@functools.cache
def code_of(text):
    """The functions and classes in a text, if it is Python, without their words."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    kinds = ast.FunctionDef | ast.ClassDef
    return {code_only(ast.unparse(node)) for node in ast.walk(tree) if isinstance(node, kinds)}


def texts_of(path):
    """All texts in a zip, and the texts in those that are JSON."""

    def inside(value):
        if isinstance(value, str):
            yield value
            with contextlib.suppress(ValueError):
                yield from inside(json.loads(value))
        elif isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                yield from inside(one)

    with zipfile.ZipFile(path) as opened:
        for name in opened.namelist():
            content = opened.read(name)
            if name.endswith(".xz"):
                # sizes, JSON, and arrays, which hold numbers only
                sizes, content = lzma.decompress(content).split(b"\n", 1)
                content = content[: json.loads(sizes)[0]]
            yield from inside(content.decode())


def test_the_zip_holds_no_solution_and_no_mistakes_code(exercise, archive, course, keys, tmp_path):
    path = archive
    if exercise != EXERCISE:
        # without what is expected, which takes long to evaluate and holds no code
        key = replace(keys[0], exercise=exercise.name, release=released(exercise), cells={})
        path = tmp_path / "zip.zip"
        path.write_bytes(gradescope.zipped(course, exercise, [key], follow_through=False))
    program, right = exercise.program(), reference_answers(exercise)
    wrong = [
        answer for one in mistakes(exercise) for answer in mistake_answers(program, one).values()
    ]
    secret = {code_only(text) for text in (*right.values(), *wrong)}
    found = [text for text in texts_of(path) if code_of(text) & secret]
    assert found == []
    # also not as a part of a text
    bodies = {re.sub(r"\s", "", text.rpartition('"""')[2]) for text in (*right.values(), *wrong)}
    everything = re.sub(r"\s", "", "".join(texts_of(path)))
    assert not [body for body in bodies if len(body) > 20 and body in everything]
    with zipfile.ZipFile(path) as opened:
        names = "\n".join(opened.namelist())
    assert not re.search("solutions|audit|catalogue/", names)


def test_right_versions_are_there_only_when_they_are_asked_for(archive, course, keys, tmp_path):
    with_them = archive_of(tmp_path, course, keys[:1], follow_through=True)
    program, several = EXERCISE.program(), {}
    for path in (archive, with_them):
        with zipfile.ZipFile(path) as opened:
            packed = gradescope_run.PackedExercise.from_json(opened.read("exercise.json").decode())
            first = gradescope_run.PackedSet.from_bytes(opened.read("expected/00.xz"))
            several[path] = first.right_versions
        assert not packed.key.right_versions and not packed.key.cells and not packed.key.files
    assert several[archive] == {}
    assert list(several[with_them]) == list(spans_of(program))[:-1]


def test_what_is_packed_imports_nothing_that_is_not(archive):
    with zipfile.ZipFile(archive) as opened:
        files = [COURSE.root / name for name in opened.namelist() if name.endswith(".py")]
    packed = {module_name(path) for path in files}
    missing = {name: set(imported(name)) - packed for name in packed if name != "autograder"}
    assert {name: others for name, others in missing.items() if others} == {}
    run = {"lms.gradescope_run", "kernels.forkserver_main", "kernels.preload", "runtime.evaluate"}
    assert {f"autograder.{name}" for name in run} <= packed
    assert not any(
        re.match(r"autograder\.(audit|publish|report|__main__)", name) for name in packed
    )


def test_a_set_is_read_as_it_was_packed():
    """Arrays that several lines have, one without numbers, and a dictionary with an array's own words."""
    value = np.arange(6.0).reshape(2, 3)
    inputs = {"x": encode(value), "y": encode(torch.zeros(0, 2)), "data": encode(7)}
    expected = {"value": encode({"dtype": value, "data": 3, "shape": [value, "float64"]})}
    draw = ExpectedDraw(inputs, 1, expected, ["number"], {"data": [2, 0.5]})
    lines = (ExpectedLine("f(x)", 1, (draw, draw)), ExpectedLine("f(y)", 2, (draw,), megabytes=3))
    right = gradescope_run.PackedSet(
        {"data": ExpectedCell(("eval",), lines)}, {"f": "def f(x): ..."}
    )
    read = gradescope_run.PackedSet.from_bytes(right.to_bytes())
    assert json.dumps(asdict(read)) == json.dumps(asdict(right))


def test_torch_is_installed_only_for_an_exercise_that_uses_it(course):
    own = Course(new_course.TEMPLATE)
    (without,) = own.exercises()
    found = [
        list(requirements(*pair, gradescope.NEEDED))
        for pair in ((course, EXERCISE), (own, without))
    ]
    of_torch = [[line for line in lines if "torch" in line] for lines in found]
    assert len(of_torch[0]) == 2 and of_torch[0][0].startswith("--extra-index-url https://")
    assert of_torch[0][1].startswith("torch==") and of_torch[1] == []
    assert all(any(line.startswith("numpy==") for line in lines) for lines in found)


def test_the_zip_runs_with_what_it_installs(archive, tmp_path):
    """Nothing is imported there but what its requirements bring along."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path)
    lines = (tmp_path / "requirements.txt").read_text().splitlines()
    lines = [line for line in lines if not line.startswith("--extra-index-url ")]
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+(\.post\d+)?", line) for line in lines)
    # the grader lies in the zip, wherever else it's installed
    known, waiting = {("course-autograder", frozenset())}, [Requirement(line) for line in lines]
    while waiting:
        found = waiting.pop()
        name = (canonicalize_name(found.name), frozenset(found.extras))
        if name not in known:
            known.add(name)
            needed = [Requirement(text) for text in distribution(found.name).requires or ()]
            waiting += [
                one
                for one in needed
                if not one.marker
                or any(one.marker.evaluate({"extra": extra}) for extra in ("", *found.extras))
            ]
    code = (
        "import sys, importlib.metadata as m\n"
        f"known = {sorted(name for name, _ in known)!r}\n"
        "of = m.packages_distributions()\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        owners = of.get(name.partition('.')[0], [])\n"
        "        if owners and not any(o.lower().replace('_', '-') in known for o in owners):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import autograder.lms.gradescope_run, autograder.kernels.forkserver_main\n"
        "import autograder.kernels.preload\n"
        "print(autograder.__file__)\n"
    )
    environment = {"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))


def test_the_command_says_what_to_set_and_what_can_be_gained(course, keys, monkeypatch, tmp_path):
    asked = []

    def keys_under(course, exercise, seeds, advance):
        asked[:] = seeds
        return keys

    monkeypatch.setattr(gradescope, "keys_under", keys_under)
    path = tmp_path / "new" / "zip.zip"
    made = gradescope.make(course, EXERCISE, path)
    assert len(set(map(tuple, asked))) >= 50
    assert made.path == path and stat.filemode(path.stat().st_mode) == "-rw-------"
    said = "\n".join(made.notes)
    assert "no follow-through" in said and "3 GB" in said
    points = sum(line.points for cell in keys[0].cells.values() for line in cell.lines)
    assert f"{points:g} points" in said
    assert not any("right versions" in gain for gain in made.gains)
    made = gradescope.make(course, EXERCISE, path, follow_through=True)
    assert any("right versions" in gain for gain in made.gains)
    assert [one.name for one in path.parent.iterdir()] == ["zip.zip"]
    assert gradescope.make(course, EXERCISE).path == course.home / "gradescope" / f"{EXERCISE}.zip"
    ended = command(COURSE.root, "gradescope", "--exercise", EXERCISE.name, "--output", path)
    assert ended.status == 0 and ended.stdout.endswith(f"For Gradescope: {path}\n")
    undetected = [one for one in ATTACKS.values() if one.undetected]
    assert undetected
    for gain in (*(one.what for one in gradescope.GAINS), *(one.name for one in undetected)):
        assert gain in ended.stdout


def test_evaluating_many_sets_shows_how_far_it_is(course, keys, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        make_keys, "_expected", lambda jobs, processes: [keys[0].cells for _ in jobs]
    )
    monkeypatch.setattr(gradescope, "SETS", 9)
    gradescope.make(course, EXERCISE, tmp_path / "zip.zip")
    assert "9/9" in capsys.readouterr().err


# Bad input ------------------------------------------------------------------------------------------


def test_a_zip_that_is_too_large_is_refused_before_it_is_written(
    course, keys, monkeypatch, tmp_path
):
    monkeypatch.setattr(gradescope, "keys_under", lambda *_: keys[:1])
    monkeypatch.setattr(gradescope, "MAX_MEGABYTES", 0.1)
    with pytest.raises(ExportError, match=rf"{EXERCISE} .*MB.*Nothing was written"):
        gradescope.make(course, EXERCISE, tmp_path / "zip.zip")
    assert not any(tmp_path.iterdir())


def test_what_is_held_back_is_not_given_away(course, monkeypatch):
    monkeypatch.setattr(gradescope, "is_held_back", lambda _: True)
    with pytest.raises(ExerciseError, match="--no-hold-back"):
        gradescope.make(course, EXERCISE)


def test_a_package_that_is_offered_and_missing_is_named(tmp_path):
    root = repository(tmp_path)
    configure(root, 'c.Grader.packages = ["no_such_package"]')
    ended = command(root, "gradescope", "--exercise", EXERCISE.name)
    assert ended.status == 2 and "no_such_package" in ended.stderr


def test_no_notebook_and_two_are_told_apart(tmp_path):
    def said(*names):
        for name in names:
            # each another one, since two that are equal are one
            answer = next(iter(REFERENCE))
            changed = {answer: f"{REFERENCE[answer]}\n# {name}"}
            nbformat.write(solved(EXERCISE, changed), tmp_path / name)
        submission = read_folder(tmp_path, "student", EXERCISE.name, lambda: released(EXERCISE))
        return [words_without_values.remark(one) for one in submission.remarks], submission.cells

    assert said() == ([f"No notebook named {EXERCISE}.ipynb was submitted."], ())
    assert said("a.ipynb")[1]
    told, cells = said("b.ipynb")
    assert cells == () and "but 2 with other names (a.ipynb, b.ipynb)" in told[0]
    told, cells = said(f"{EXERCISE}.ipynb")
    assert cells and told == []


def test_ids_that_a_container_lacks_are_not_taken():
    usual, small = own_user.RANGES
    whole, few = "         0          0 4294967295\n", "0 100000 65536\n70000 170000 10\n"
    assert own_user.is_mapped(usual, whole) and own_user.is_mapped(small, whole)
    assert not own_user.is_mapped(usual, few) and own_user.is_mapped(small, few)
    assert not own_user.is_mapped(range(65_530, 65_536, 2), "0 100000 65535\n")


def test_only_root_takes_another_user(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxError, match="Only root"):
        own_user.unused_user()


# Runs in a container ----------------------------------------------------------------------------------

# Grades the submissions NAME.tar in the folder GIVEN one after the other, each as if in a container of its own
GRADE = """
import json, os, shutil, sys, tarfile
from pathlib import Path
from autograder.kernels import own_user, sandbox
from autograder.lms import gradescope_run
base, given, out = Path("/autograder"), Path(os.environ["GIVEN"]), Path(os.environ["OUT"])
assert sandbox.why_not(), "this is to be a container without namespaces"
packed = json.loads((base / "source" / "exercise.json").read_text())
users = []
def forget():
    for place in ("/tmp", "/dev/shm", "/var/tmp"):
        for path in Path(place).iterdir() if Path(place).is_dir() else ():
            if path.lstat().st_uid in users:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
def graded(submission):
    forget()
    shutil.rmtree(base / "submission")
    (base / "submission").mkdir()
    with tarfile.open(submission) as opened:
        opened.extractall(base / "submission", filter="fully_trusted")
    found = gradescope_run.run(base)
    return found, (base / "results" / "results.json").read_text()
unused = own_user.unused_user
def noted():
    users.append(unused())
    return users[-1]
own_user.unused_user = noted
for submission in sorted(given.glob("*.tar")):
    limits = json.loads(submission.with_suffix(".json").read_text())
    changed = {**packed, "limits": {**packed["limits"], **limits}}
    (base / "source" / "exercise.json").write_text(json.dumps(changed))
    found, results = graded(submission)
    outputs = [out for cell in found.notebook.cells for out in cell.get("outputs", [])] if found else []
    printed = "".join(one.get("text", "") for one in outputs)
    raised = [one["ename"] for one in outputs if one["output_type"] == "error"]
    left = [process.name for process in own_user.processes_of(users[-1])]
    (out / f"{submission.stem}.json").write_text(json.dumps([results, printed, raised, left]))
"""


def hand_in(given, name, folder, limits=()):
    """Put a submission's folder among those to be graded."""
    given.mkdir(exist_ok=True)
    with tarfile.open(given / f"{name}.tar", "w") as opened:
        # some attacks hand in a link in its place, or nothing, which Gradescope makes an empty folder
        for path in folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ():
            opened.add(path, arcname=path.name)
    (given / f"{name}.json").write_text(json.dumps(dict(limits)))


def hand_in_notebooks(given, folder, name, **notebooks):
    """The same for notebooks: name without ending -> notebook."""
    folder = folder / name
    folder.mkdir(parents=True)
    for stem, notebook in notebooks.items():
        nbformat.write(notebook, folder / f"{stem}.ipynb")
    hand_in(given, name, folder)


def inside(folder, archive, program, given=None):
    """What a program in a container has written, by file name without ending."""
    done = run_inside(folder, archive, program, given)
    assert done.status == 0, done.printed
    return {path.stem: json.loads(path.read_text()) for path in done.folder.glob("*.json")}


# What Gradescope does: setup.sh, without a network, then run_autograder
AS_GRADESCOPE = """
import json, os, subprocess
from pathlib import Path
base, out = Path("/autograder"), Path(os.environ["OUT"])
stubs = Path("stubs")
stubs.mkdir()
def stub(name, text):
    (stubs / name).write_text("#!/bin/sh\\n" + text)
    (stubs / name).chmod(0o755)
# an image with nothing but Python 3.12
stub("apt-get", '[ "$1" = update ] || [ "$3" = python3.12 ]\\n')
stub("python3.12", 'mkdir -p "$3/bin" && ln -s /bin/true "$3/bin/python"\\n')
path = f"{stubs.resolve()}:{os.environ['PATH']}"
subprocess.run(["bash", base / "source" / "setup.sh", base / "source", "environment"],
               env={"PATH": path}, check=True)
modes = {str(one.relative_to(base)): oct(one.stat().st_mode & 0o7777)
         for one in (base / "source", base / "source/expected", *(base / "source/expected").iterdir())}
notebook = Path(os.environ["GIVEN"], "right.ipynb")
(base / "submission" / "right.ipynb").write_text(notebook.read_text())
done = subprocess.run([base / "run_autograder"], cwd=base, env={"PATH": "/usr/bin:/bin"},
                      capture_output=True, text=True)
closed = {name: oct((base / name).stat().st_mode & 0o7777)
          for name in ("source", "submission", "results", "submission_metadata.json")}
told = [done.returncode, done.stdout, done.stderr, (base / "results" / "results.json").read_text()]
(out / "told.json").write_text(json.dumps([modes, closed, *told]))
"""


@needs_root
@needs_sandbox
def test_the_programs_of_the_zip_do_in_a_container_what_the_specification_says(tmp_path, archive):
    given = tmp_path / "given"
    given.mkdir()
    nbformat.write(solved(EXERCISE, REFERENCE), given / "right.ipynb")
    found = inside(tmp_path / "container", archive, AS_GRADESCOPE, given)["told"]
    modes, closed, status, printed, errors, text = found
    assert modes.pop("source") == modes.pop("source/expected") == "0o700"
    assert len(modes) == 2 and set(modes.values()) == {"0o600"}
    assert set(closed.values()) == {"0o700"}
    assert (status, printed) == (0, ""), errors
    results = check_results(text)
    assert [test["output"] for test in results["tests"] if test["status"] != "passed"] == []
    assert f"its name should be {EXERCISE}.ipynb" in results["output"]


GIVEN_RIGHT = "correct, given a correct `softmax`"


def hand_in_first_wrong(given, made):
    """A submission whose first answer is wrong, and all others right."""
    answers = REFERENCE | {"softmax": "def softmax(*arguments, **named):\n    return None"}
    assert next(iter(REFERENCE)) == "softmax"
    hand_in_notebooks(given, made, "first", **{EXERCISE.name: solved(EXERCISE, answers)})


@needs_root
@needs_sandbox
def test_submissions_of_all_sorts_are_graded_and_told(tmp_path, archive):
    given, made = tmp_path / "given", tmp_path / "made"
    program, name = EXERCISE.program(), EXERCISE.name
    wrong = mistakes(EXERCISE)[0]
    right = solved(EXERCISE, REFERENCE)
    right.cells.append(new_code_cell("print(open('/proc/self/status').read())"))
    hand_in_notebooks(given, made, "right", **{name: right})
    hand_in_notebooks(given, made, "untouched", **{name: solved(EXERCISE, {})})
    answers = REFERENCE | mistake_answers(program, wrong)
    hand_in_notebooks(given, made, "wrong", **{name: solved(EXERCISE, answers)})
    hand_in_notebooks(given, made, "none")
    hand_in_notebooks(
        given, made, "two", a=solved(EXERCISE, REFERENCE), b=solved(EXERCISE, answers)
    )
    hand_in_first_wrong(given, made)
    found = inside(tmp_path / "container", archive, GRADE, given)
    results = {one: check_results(text) for one, (text, *_) in found.items()}
    scores = {one: sum(t["score"] for t in told["tests"]) for one, told in results.items()}
    most = sum(test["max_score"] for test in results["right"]["tests"])
    assert scores["right"] == most > scores["wrong"] > 0
    assert scores["untouched"] == scores["none"] == scores["two"] == 0
    assert any(
        f"This looks like a known mistake: {wrong.name}. {wrong.means}\nHint: {wrong.hint}"
        in test["output"]
        for test in results["wrong"]["tests"]
    )
    assert results["none"]["output"].startswith(f"No notebook named {name}.ipynb was submitted.")
    assert "2 with other names (a.ipynb, b.ipynb)" in results["two"]["output"]
    assert 0 < scores["first"] < most and GIVEN_RIGHT not in found["first"][0]
    assert all(left == [] for *_, left in found.values())
    # the student's code ran as somebody else, without privileges, and could get none
    status = dict(line.split(":\t") for line in found["right"][1].splitlines() if ":\t" in line)
    for ids in (status["Uid"].split(), status["Gid"].split()):
        assert len(set(ids)) == 1 and int(ids[0]) >= 20_000
    assert status["Groups"].split() == []
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Prm", "Eff", "Bnd", "Amb")} == {0}


@needs_root
@needs_sandbox
def test_a_notebook_that_runs_to_the_timeout_keeps_its_points(tmp_path, archive):
    endless = solved(EXERCISE, REFERENCE)
    last = max(number for number, cell in enumerate(endless.cells) if is_grade_cell(cell))
    endless.cells[last:last] = [new_code_cell("while True:\n    pass") for _ in range(100)]
    (tmp_path / "endless").mkdir()
    nbformat.write(endless, tmp_path / "endless" / f"{EXERCISE.name}.ipynb")
    hand_in(tmp_path / "given", "endless", tmp_path / "endless", {"cell_seconds": 2})
    # no code is begun 24 seconds after the run has
    shortened = GRADE.replace('"limits":', '"minutes": 1.9, "limits":')
    begun = time.monotonic()
    found = inside(tmp_path / "container", archive, shortened, tmp_path / "given")["endless"]
    assert time.monotonic() - begun < 60 * 1.9
    results = check_results(found[0])
    said = [test["output"] for test in results["tests"]]
    assert set(said[:5]) == {"passed"}
    assert "the time for grading this notebook was over before this" in said[-1]
    assert "Your instructor can run it again" in results["output"]


def test_a_timeout_that_is_too_short_or_too_long_is_refused(course, keys, monkeypatch, tmp_path):
    monkeypatch.setattr(gradescope, "keys_under", lambda *_: keys[:1])
    for minutes in (4, 41):
        told = f"timeout of {minutes} minutes.* needs 5 at least, .* 40 at most"
        with pytest.raises(ExportError, match=told):
            gradescope.make(course, EXERCISE, tmp_path / "zip.zip", minutes=minutes)
    assert not any(tmp_path.iterdir())
    made = gradescope.make(course, EXERCISE, tmp_path / "zip.zip", minutes=5)
    assert "a timeout of 5 minutes" in "\n".join(made.notes)
    with zipfile.ZipFile(made.path) as opened:
        text = opened.read(gradescope_run.EXERCISE).decode()
    assert gradescope_run.PackedExercise.from_json(text).minutes == 5


@needs_root
@needs_sandbox
def test_follow_through_where_the_zip_has_right_versions(tmp_path, course, keys):
    hand_in_first_wrong(tmp_path / "given", tmp_path / "made")
    archive = archive_of(tmp_path, course, keys, follow_through=True)
    text, *_ = inside(tmp_path / "container", archive, GRADE, tmp_path / "given")["first"]
    assert GIVEN_RIGHT in text


BROKEN = """
import json, os
from pathlib import Path
from autograder.lms import gradescope_run
base, found = Path("/autograder"), []
def tried():
    gradescope_run.run(base)
    found.append((base / "results" / "results.json").read_text())
(base / "source" / "expected").joinpath("00.xz").write_text("{")
for path in list((base / "source" / "expected").iterdir())[1:]:
    path.unlink()
tried()
(base / "source" / "expected").rename(base / "source" / "elsewhere")
(base / "source" / "expected").symlink_to("elsewhere")
tried()
Path(os.environ["OUT"], "told.json").write_text(json.dumps(found))
"""


@needs_root
@needs_sandbox
def test_whatever_goes_wrong_there_are_results_that_say_whose_fault_it_is_not(
    tmp_path, course, keys
):
    archive = archive_of(tmp_path, course, keys[:1])
    texts = inside(tmp_path / "container", archive, BROKEN)["told"]
    for text, kind in zip(texts, ("LZMAError", "SandboxError"), strict=True):
        results = check_results(text)
        assert results["score"] == 0 and results["tests"] == []
        assert f"not your fault: {kind}. Hand it in again" in results["output"]


# Attacks ----------------------------------------------------------------------------------------------

CASES = cases.attack_cases(EXERCISE)
GAINED = {name for gain in gradescope.GAINS for name in gain.attacks}


@pytest.fixture(scope="module")
def attacked(request, tmp_path_factory, archive):
    """What came of the attacks whose tests run: results, what was printed and raised, what was left."""
    folder = tmp_path_factory.mktemp("attacked")
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    for number, case in enumerate(CASES):
        if any(given.get("case") is case for given in asked):
            # in a folder of its student's, which some attacks replace
            place = folder / "made" / str(number) / EXERCISE.name
            case.hand_in(place)
            limits = HANGING_SECONDS if case.hangs else {}
            hand_in(folder / "given", number, place, limits)
    found = inside(folder / "container", archive, GRADE, folder / "given")
    return {case: found.get(str(number)) for number, case in enumerate(CASES)}


@needs_root
@needs_sandbox
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_attack_gains_but_what_the_command_prints(attacked, case):
    (text, printed, raised, left), attack = attacked[case], ATTACKS[case.name]
    results = check_results(text)
    assert left == []
    got = [line for line in printed.split("\n") if line.startswith("GOT")]
    assert got == [] or case.name in GAINED
    if attack.kind == MACHINE:
        assert {"NameError", "SyntaxError", "IndexError", "PermissionError"}.isdisjoint(raised)
    if results["tests"]:
        score = sum(test["score"] for test in results["tests"])
        assert score == 0 or attack.undetected, "the command prints these from the audit"
    else:
        assert case.name in GAINED, results["output"]
    assert not any(line in text for line in printed.split("\n") if len(line) > 20)


def test_the_attacks_that_are_named_exist():
    assert {case.name for case in CASES} >= GAINED


# What somebody can try who keeps what was told. The first two checks tell which set was drawn, by the names
# of errors. In every other check, a guess for the first draw whose right value isn't known yet: an error in
# the next draw shows whether it was right. GUESSES are tried first, then what the notebook and the draw hold.
PROBE = """
import hashlib
told, guesses = json.load(open("told.json")), json.load(open("guesses.json"))
errors = sorted(name for name in dir(builtins) if name.endswith("Error"))
RIGHT = ("your code raised KeyError", "passed")
words = sorted({word for run in told for test in run["tests"] for word in test["output"].split()})
asked_before, drawn = [], []
def error(name):
    return {"kind": "error", "name": name, "message": "", "at": "", "inside": "", "by_check": False}
def said(run, number):
    return run["tests"][number]["output"].split("\\n")[0]
def candidates(expression, draw):
    if expression in guesses:
        return guesses[expression]
    trees = [visible[expression]["value"], *draw["inputs"].values()]
    values = [plain_data.restore(plain_data.decode(tree)) for tree in trees]
    numbers = [value for value in values if hasattr(value, "shape")] + [1.0]
    changed = [change(value) for change in (lambda v: -v, lambda v: v * 0, lambda v: v * 0 + 1, lambda v: v + v)
               for value in numbers]
    return [plain_data.encode(value) for value in [*values, *changed, 0, 1, True, *words]]
class Probe:
    def __init__(self, request):
        self.request, self.number = json.loads(request), len(asked_before)
        asked_before.append(self)
    def _repr_mimebundle_(self, **options):
        expression, draws = self.request["expression"], self.request["draws"]
        if self.number < 2:
            digest = hashlib.sha256(json.dumps([draw["inputs"] for draw in draws]).encode()).digest()
            name = errors[digest[self.number] % len(errors)]
            drawn.append(f"your code raised {name}")
            values = [error(name)] * len(draws)
        else:
            known, tried = [], 0
            for run in told:
                if len(known) < len(draws) and [said(run, 0), said(run, 1)] == drawn:
                    tried += 1
                    if said(run, self.number) in RIGHT:
                        known.append(candidates(expression, draws[len(known)])[tried - 1])
                        tried = 0
            if len(known) < len(draws):
                some = candidates(expression, draws[len(known)])
                known.append(some[tried % len(some)])
            values = known + [error("KeyError")] * (len(draws) - len(known))
        parameters = visible[expression]["parameters"]
        found = [{"value": value, "parameters": parameters, "forbidden": []} for value in values]
        return {MIME: json.dumps(found)}
sys.modules["_autotest_reply"] = Probe
print("armed to probe", len(told))
"""
# Submits as often as RUNS says, each time with all results so far. The sets are drawn in turn.
AGAIN = """
import json, os, shutil, types
from pathlib import Path
from autograder.lms import gradescope_run
base, given, out = Path("/autograder"), Path(os.environ["GIVEN"]), Path(os.environ["OUT"])
told = []
for number in range(RUNS):
    gradescope_run.secrets = types.SimpleNamespace(choice=lambda sets: sets[number % len(sets)])
    shutil.rmtree(base / "submission")
    shutil.copytree(given, base / "submission")
    (base / "submission" / "told.json").write_text(json.dumps(told))
    found = gradescope_run.run(base)
    outputs = [one for cell in found.notebook.cells for one in cell.get("outputs", [])]
    assert any(f"armed to probe {number}" in one.get("text", "") for one in outputs), outputs
    told.append(json.loads((base / "results" / "results.json").read_text()))
(out / "told.json").write_text(json.dumps(told))
"""


def probed(folder, archive, runs, guesses):
    """What is told to somebody who probes in so many runs; guesses: by expression."""
    given = folder / "given"
    given.mkdir()
    notebook = with_code(EXERCISE, PROBE)
    (given / f"{EXERCISE.name}.ipynb").write_text(json.dumps(notebook))
    (given / "guesses.json").write_text(json.dumps(guesses))
    return inside(folder / "container", archive, AGAIN.replace("RUNS", str(runs)), given)["told"]


def scores(told):
    return [sum(test["score"] for test in one["tests"]) for one in told]


@needs_root
@needs_sandbox
@pytest.mark.parametrize("runs", [8, 20])
def test_who_submits_often_and_keeps_what_was_told_gains_nothing(tmp_path, archive, runs):
    """On two sets of inputs, which are drawn in turn: of fifty, few are drawn twice."""
    told = probed(tmp_path, archive, runs, {})
    assert scores(told) == [0] * runs
    said = [[test["output"].split("\n")[0] for test in one["tests"]] for one in told]
    # it was heard: what it raised is named, by the inputs that were drawn
    assert len({tuple(one[:2]) for one in said}) == 2
    # and told nothing but sentences that are known beforehand, about parts that the notebook names
    known, notebook = {*words_without_values.SENTENCES.values(), "passed"}, repr(released(EXERCISE))
    for sentence in {sentence for one in said for sentence in one}:
        if re.fullmatch(r"your code raised [A-Z]\w+", sentence):
            continue
        (end,) = [one for one in known if sentence.endswith(one)]
        assert all(part in notebook for part in sentence.removesuffix(end).split(": ")), sentence


@needs_root
@needs_sandbox
def test_a_verdict_tells_whether_a_guess_is_right_on_the_set_that_was_drawn(tmp_path, course, keys):
    """What does leak: the same code gets a check whose right values are among few guesses, on the only set."""
    lines = [line for cell in keys[0].cells.values() for line in cell.lines]
    line = lines[2]
    right = [draw.expected["value"] for draw in line.draws]
    told = probed(
        tmp_path, archive_of(tmp_path, course, keys[:1]), 6, {line.expression: right[::-1]}
    )
    assert scores(told) == [0] * 5 + [line.points]


@needs_root
@needs_sandbox
def test_a_table_of_what_is_right_on_the_only_set_would_gain_everything(tmp_path, course, keys):
    """So the attacks lack nothing but what they are not told."""
    folder = tmp_path / "table"
    folder.mkdir()
    hand_in_table(EXERCISE, folder, keys[0])
    hand_in(tmp_path / "given", "table", folder)
    archive = archive_of(tmp_path, course, keys[:1])
    text, *_ = inside(tmp_path / "container", archive, GRADE, tmp_path / "given")["table"]
    tests = check_results(text)["tests"]
    assert [test["name"] for test in tests if test["status"] != "passed"] == []
