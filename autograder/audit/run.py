"""The grader's own exam: mistakes and attacks must lose, correct work must win, however it is dressed."""

from __future__ import annotations

import ast
import concurrent.futures
import contextlib
import hashlib
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from rich.console import Console
from rich.table import Table

from autograder.audit.attacks import ATTACKS, HONEST, SPY, attacks
from autograder.audit.honest import ODDITIES
from autograder.audit.sample_class import reference_answers, solved
from autograder.audit.sandbox_attacks import LEFT_BEHIND
from autograder.catalogue import (
    ROOT,
    alternative_answers,
    alternatives,
    definition_source,
    definitions,
    mistake_answers,
    mistakes,
    solution_path,
)
from autograder.errors import SubmissionFolderError
from autograder.grade.grade_class import Course, progress
from autograder.kernels.student_kernel import FOLDER, StudentKernel

VISIBLE_SECONDS = 60
# an attack that hangs is to be over soon
ATTACK_SECONDS = {"cell": 5, "grade_cell": 5, "notebook": 30}
SHOWN_LINE = re.compile(r"^([✓✗]) [\d.]+/[\d.]+ points   (.*)$", flags=re.MULTILINE)
SHOWN_NAME = re.compile(r"^ *Recognised: (.*?)\. ", flags=re.MULTILINE)


@dataclass
class Case:
    """One submission of the audit: what it is, and how it fared.

    text: what is handed in; seen: what its student has checked, if anything; harm: what an attack did
    beside asking for points.
    """

    exercise: str
    kind: str
    name: str
    text: str = ""
    seen: str = ""
    result: dict = field(default_factory=dict)
    visible: dict = field(default_factory=dict)
    harm: list[str] = field(default_factory=list)

    @property
    def full_marks(self) -> bool:
        """Whether it got every automatic point."""
        return self.result["score"] == self.result["points"]


def cases_of(exercise: str) -> list[Case]:
    """The submissions that an exercise's catalogue describes, the oddities and the attacks."""
    program = solution_path(exercise).read_text(encoding="utf-8")
    right = reference_answers(exercise)
    made = [("reference", "reference", right), ("untouched", "untouched", {})]
    for mistake in mistakes(exercise):
        made.append(("mistake", mistake.name, right | mistake_answers(program, mistake)))
    for other in alternatives(exercise):
        made.append(("alternative", other.name, right | alternative_answers(program, other)))
    texts = [
        (kind, name, nbformat.writes(solved(exercise, answers))) for kind, name, answers in made
    ]
    return [
        *(Case(exercise, kind, name, text, text) for kind, name, text in texts),
        *honest_cases(exercise),
        *attack_cases(exercise),
    ]


def honest_cases(exercise: str) -> list[Case]:
    """The honest oddities, each with what its student has seen."""
    return [
        Case(
            exercise,
            "honest",
            name,
            json.dumps(odd.handed_in(exercise)),
            json.dumps(odd.seen(exercise)),
        )
        for name, odd in ODDITIES.items()
    ]


def attack_cases(exercise: str) -> list[Case]:
    """The attacks; each writes its own submission."""
    return [Case(exercise, "attack", attack.name) for attack in attacks(exercise)]


def visible_check(text: str) -> dict:
    """Run a notebook as its student would: {"lines": {(cell, expression): passed}, "named": {cell: name}}."""
    lines, named = {}, {}
    with StudentKernel() as kernel:
        for cell in nbformat.reads(text, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            reply = kernel.run(cell.source, VISIBLE_SECONDS)
            given = cell.metadata.get("nbgrader", {})
            if not given.get("grade"):
                continue
            shown = "".join(out.get("text", "") for out in reply.outputs if "text" in out)
            for mark, expression in SHOWN_LINE.findall(shown):
                lines[given.grade_id, expression] = mark == "✓"
            found = SHOWN_NAME.search(shown)
            named[given.grade_id] = found[1] if found else None
    return {"lines": lines, "named": named}


def _grade(cases: list[Case], seed: list[int]) -> list[Case]:
    """Grade some cases of one exercise in a course of their own, with the whole audit's seed."""
    exercise = cases[0].exercise
    with tempfile.TemporaryDirectory() as home:
        Path(home, "seeds.json").write_text(json.dumps({exercise: seed}))
        course = Course(home=Path(home))
        course.prepare(exercise)
        attacked = [case for case in cases if case.kind == "attack"]
        if attacked:
            text = nbformat.writes(solved(exercise, reference_answers(exercise)))
            _hand_in(course, HONEST, exercise).write_text(text, encoding="utf-8")
            course.grade(HONEST, exercise)
        for number, case in enumerate(cases):
            student = f"case-{number}"
            path = _hand_in(course, student, exercise)
            if case.kind == "attack":
                _grade_attack(course, case, student, path.parent)
            else:
                path.write_text(case.text, encoding="utf-8")
                course.grade(student, exercise)
                case.result = course.result(student, exercise)
            if case.seen:
                case.visible = visible_check(case.seen)
        if attacked:
            before = _recorded(course, exercise)[HONEST]
            course.grade(HONEST, exercise)
            if _recorded(course, exercise)[HONEST] != before:
                for case in attacked:
                    names = ", ".join(repr(other.name) for other in attacked)
                    case.harm.append(f"changes another student's later score, or one of {names}")
    return cases


def _hand_in(course: Course, student: str, exercise: str) -> Path:
    path = course.folder("submitted", student, exercise) / f"{exercise}.ipynb"
    path.parent.mkdir(parents=True)
    return path


def _grade_attack(course: Course, case: Case, student: str, folder: Path) -> None:
    """Grade an attack, then look around for harm."""
    ATTACKS[case.name].make(case.exercise, folder)
    before = _recorded(course, case.exercise)
    usual, course.limits = course.limits, replace(course.limits, **ATTACK_SECONDS)
    try:
        course.grade(student, case.exercise)
        case.result = course.result(student, case.exercise)
    except Exception as error:
        case.harm.append(f"ends the run: {type(error).__name__}: {error}")
        case.result = {"score": 0, "points": 0, "remarks": [], "cells": {}}
        return
    finally:
        course.limits = usual
    printed = _printed(course.graded_notebook(student, case.exercise))
    got = [line for line in printed.split("\n") if line.startswith("GOT")]
    if got:
        case.harm.append(f"gets what it wants: {got[0][:200]}")
    if not _was_tried(course.graded_notebook(student, case.exercise)):
        case.harm.append("was not tried: its first cell failed")
    after = _recorded(course, case.exercise)
    if after.pop(student, None) != case.result["score"]:
        case.harm.append("the gradebook has another score than the report")
    if after != before:
        case.harm.append("changes another student's score")
    lines = [line for cell in case.result["cells"].values() for line in cell]
    if not all(line["message"] or line["verdict"] == "passed" for line in lines):
        case.harm.append("has no reason recorded")
    if left_running():
        case.harm.append("leaves processes running")


def _was_tried(graded: Path) -> bool:
    """Whether the code that attacks begin with, if an attack has it, ran to its end."""
    first_line = SPY.strip().split("\n")[0]
    return all(
        any("armed" in out.get("text", "") for out in cell.outputs)
        for cell in nbformat.read(graded, as_version=4).cells
        if cell.source.startswith(first_line)
    )


def _printed(graded: Path) -> str:
    """All that a submission's own cells printed."""
    cells = nbformat.read(graded, as_version=4).cells
    return "\n".join(out.get("text", "") for cell in cells for out in cell.get("outputs", []))


def _recorded(course: Course, exercise: str) -> dict[str, float]:
    """Every student's score in the gradebook."""
    with Gradebook(course.db_url) as gradebook:
        return {s.student.id: s.score for s in gradebook.assignment_submissions(exercise)}


def left_running() -> set[int]:
    """Ids of processes that belong to a student's kernel whose folder is gone already."""

    def now() -> set[int]:
        found = set()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                names = [str((process / "cwd").readlink()), (process / "environ").read_text()]
                folder = re.search(rf"/[^\0=:]*/{FOLDER}\w+", "\0".join(names))
                left = LEFT_BEHIND in (process / "cmdline").read_text()
                if left or (folder and not Path(folder[0]).exists()):
                    found.add(int(process.name))
        return found

    found = now()
    if found:
        # what has been killed may take a moment to be gone
        time.sleep(1)
        found &= now()
    return found


def grade_cases(cases: Sequence[Case]) -> list[Case]:
    """Grade cases of any exercises, on all cores."""
    cores = os.cpu_count() or 1
    # one seed, so that a worker evaluates the reference once per exercise
    seed = [secrets.randbits(32) for _ in range(8)]
    done: list[Case] = []
    with progress("Auditing") as bar:
        task = bar.add_task("", total=len(cases))
        # attacks mostly wait, for what hangs to be stopped; training needs a core to itself
        for attacking, workers in ((False, cores), (True, 2 * cores)):
            group = [case for case in cases if (case.kind == "attack") is attacking]
            with concurrent.futures.ProcessPoolExecutor(workers) as pool:
                running = [pool.submit(_grade, chunk, seed) for chunk in _chunks(group, workers)]
                for future in concurrent.futures.as_completed(running):
                    done += future.result()
                    bar.update(task, completed=len(done))
    return done


def _chunks(cases: Sequence[Case], workers: int) -> list[list[Case]]:
    """Cases of one exercise each, for workers to take in turn."""
    chunks = []
    for exercise in sorted({case.exercise for case in cases}):
        own = [case for case in cases if case.exercise == exercise]
        size = min(16, -(-len(own) // workers))
        chunks += [own[i : i + size] for i in range(0, len(own), size)]
    return chunks


def depends_on(program: str, name: str) -> set[str]:
    """The answers of a program that use an answer, directly or through others, itself included."""
    uses = {
        answer: {
            node.id
            for node in ast.walk(ast.parse(definition_source(program, answer)))
            if isinstance(node, ast.Name)
        }
        for answer in definitions(program)
    }
    found = {name}
    while True:
        more = {answer for answer, names in uses.items() if names & found} - found
        if not more:
            return found
        found |= more


def _failed(result: dict) -> list[tuple[str, str]]:
    return [
        (cell, line["expression"])
        for cell, lines in result["cells"].items()
        for line in lines
        if line["verdict"] != "passed"
    ]


def _check_mistake(case: Case, program: str, found: dict) -> None:
    mistake = next(m for m in mistakes(case.exercise) if m.name == case.name)
    failed = _failed(case.result)
    if any(cell == mistake.cell for cell, _ in failed):
        found["caught"] += 1
    else:
        found["surprises"].append(f"mistake {case.name!r} keeps all points of {mistake.cell}")
    names = {line["mistake"] for line in case.result["cells"][mistake.cell]}
    if case.name in names:
        found["named"] += 1
    else:
        found["surprises"].append(f"mistake {case.name!r} is not named in {mistake.cell}")
    affected = depends_on(program, mistake.function)
    for cell, expression in failed:
        words = {n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)}
        if not words & affected:
            found["surprises"].append(f"mistake {case.name!r} also costs {cell}: {expression}")


def disagreements(case: Case) -> list[str]:
    """Where a student's own check does not say what the grade says, line by line and name by name."""
    found = []
    for cell, lines in case.result["cells"].items():
        for line in lines:
            # a cell that nobody has begun shows one "To do" and no lines
            shown = case.visible["lines"].get((cell, line["expression"]), False)
            if shown != (line["verdict"] == "passed"):
                found.append(f"{case.name}: {cell}: {line['expression']}")
        graded = {line["mistake"] for line in lines} - {None}
        shown_name = case.visible["named"].get(cell)
        if graded != ({shown_name} - {None}):
            found.append(f"{case.name}: {cell}: named {shown_name!r}, not {graded}")
    return found


def _check_attack(case: Case, found: dict) -> None:
    attack, points = ATTACKS[case.name], case.result["score"]
    found["surprises"] += [f"attack {case.name!r} {harm}" for harm in case.harm]
    if attack.may_gain:
        why = attack.undetected or attack.without_room
        found["gained"].append({"name": case.name, "points": points, "why": why})
    elif points:
        found["undeserved_points"] += points
        found["surprises"].append(f"attack {case.name!r} earns {points:g} points")


def _digest(*folders: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


def run(exercises: Sequence[str], extra: Path | None = None) -> dict[str, dict]:
    """Audit some exercises; returns the findings by exercise.

    extra: a folder of further submissions, EXERCISE/NAME.ipynb, whose results are listed.
    """
    cases = [case for exercise in exercises for case in cases_of(exercise)]
    if extra is not None:
        if not extra.is_dir():
            raise SubmissionFolderError(f"There is no folder {extra}.")
        for exercise in exercises:
            for path in sorted((extra / exercise).glob("*.ipynb")):
                text = path.read_text(encoding="utf-8", errors="replace")
                cases.append(Case(exercise, "extra", path.stem, text))
    before = _digest(ROOT / "exercises", ROOT / "solutions")
    graded = grade_cases(cases)
    changed = _digest(ROOT / "exercises", ROOT / "solutions") != before
    findings = {}
    for exercise in exercises:
        program = solution_path(exercise).read_text(encoding="utf-8")
        own = [case for case in graded if case.exercise == exercise]
        found: dict = {
            "mistakes": sum(case.kind == "mistake" for case in own),
            "caught": 0,
            "named": 0,
            "alternatives": sum(case.kind == "alternative" for case in own),
            "accepted": 0,
            "attacks": sum(case.kind == "attack" for case in own),
            "undeserved_points": 0,
            "honest": sum(case.kind == "honest" for case in own),
            "honest_full_marks": 0,
            "gained": [],
            "surprises": ["exercises/ or solutions/ has changed meanwhile"] if changed else [],
            "disagreements": [],
            "extra": [],
        }
        for case in own:
            if case.kind == "mistake":
                _check_mistake(case, program, found)
            elif case.kind in ("alternative", "honest"):
                found["accepted" if case.kind == "alternative" else "honest_full_marks"] += (
                    case.full_marks
                )
                if not case.full_marks:
                    found["surprises"].append(
                        f"{case.kind} {case.name!r} loses {_failed(case.result)}"
                    )
            elif case.kind == "attack":
                _check_attack(case, found)
            elif case.kind == "reference" and not case.full_marks:
                found["surprises"].append(f"the reference loses {_failed(case.result)}")
            elif case.kind == "untouched" and case.result["score"] != 0:
                found["surprises"].append("the untouched notebook earns points")
            elif case.kind == "extra":
                found["extra"].append({"name": case.name, **case.result})
            if case.seen:
                found["disagreements"] += disagreements(case)
        findings[exercise] = found
    return findings


def is_clean(findings: dict[str, dict]) -> bool:
    """Whether an audit found nothing to mend."""
    return not any(found["surprises"] or found["disagreements"] for found in findings.values())


def print_table(findings: dict[str, dict]) -> None:
    """Print an audit's findings."""
    table = Table(title="Audit")
    columns: dict[str, Callable[[dict], str]] = {
        "mistakes caught": lambda f: f"{f['caught']} of {f['mistakes']}",
        "named": lambda f: f"{f['named']} of {f['mistakes']}",
        "alternatives at full marks": lambda f: f"{f['accepted']} of {f['alternatives']}",
        "oddities at full marks": lambda f: f"{f['honest_full_marks']} of {f['honest']}",
        "undeserved points in attacks": lambda f: f"{f['undeserved_points']:g} in {f['attacks']}",
        "disagreements": lambda f: str(len(f["disagreements"])),
    }
    table.add_column("exercise")
    for head in columns:
        table.add_column(head, justify="right")
    for exercise, found in findings.items():
        table.add_row(exercise, *(show(found) for show in columns.values()))
    console = Console(width=110)
    console.print(table)
    for exercise, found in findings.items():
        for text in [*found["surprises"], *found["disagreements"]]:
            console.print(f"{exercise}: {text}", style="red")
        for gain in found["gained"]:
            text = f"{exercise}: known to gain: {gain['name']}: {gain['points']:g} points: {gain['why']}"
            console.print(text, style="yellow")
        for result in found["extra"]:
            console.print(
                f"{exercise}: {result['name']}: {result['score']:g} of {result['points']:g}"
            )
