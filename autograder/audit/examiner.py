"""Grading the cases of an audit in a class of their own, and looking for harm that attacks have done.

In: cases. Out: an outcome for each. `Examiner` grades and writes nothing, so that several processes can
examine at once; `AuditedClass` is the one that writes the gradebook, as in any class.
"""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.audit.acting import acting
from autograder.audit.cases import Case
from autograder.audit.leftovers import left_running
from autograder.audit.own_check import OwnCheck, own_check
from autograder.audit.registry import (
    ATTACKS,
    DEED,
    HONEST_STUDENT,
    MACHINE,
    SETUP,
    Attack,
    HandIn,
    register_cases,
)
from autograder.course import Course, Exercise
from autograder.exercises import reference_answers, solved
from autograder.grade import words
from autograder.grade.examine import Graded, grade_submission
from autograder.grade.feedback import FeedbackWriter, feedback_page
from autograder.grade.grade_class import Grader
from autograder.grade.gradebook import Recorder, register, stored_result
from autograder.grade.read_gradebook import opened
from autograder.grade.result import Result
from autograder.grade.submission import read_submission
from autograder.report import pages

# processor time that the grader may take for one attack, for its page, and for the class's report
MAX_SECONDS = 30
# the kinds of attacks whose feedback pages are looked at; those of the others hold what these hold
READ_KINDS = ("harm to readers", "forged values", "outputs and metadata", "files and links")
# memory by which the grader may grow while it examines one attack
MAX_MEMORY = 1_000_000_000
# limits for attacks that hang; the others have the usual ones, as honest work has
HANGING_SECONDS: dict[str, Any] = {
    "cell_seconds": 2,
    "grade_cell_seconds": 1,
    "notebook_seconds": 4,
}
# what the grader, and the interrupt that it sends, write into a cell that was stopped
DIED, STOPPED = "The kernel died", {"Timeout", "KeyboardInterrupt"}
# exceptions of code that does not fit the interpreter or the modules that it finds there
MISFITS = {"NameError", "AttributeError", "ImportError", "ModuleNotFoundError", "SyntaxError"}


@dataclass(frozen=True)
class Examination:
    """A case that was graded and not yet recorded; graded is None when grading raised."""

    graded: Graded | None
    own_check: OwnCheck | None = None
    harm: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    result: None when grading raised; harm: what an attack did beside asking for points.
    """

    case: Case
    result: Result | None
    own_check: OwnCheck | None = None
    harm: tuple[str, ...] = ()

    @property
    def graded_result(self) -> Result:
        """Its result; only of an attack grading may have raised."""
        assert self.result is not None, self.harm
        return self.result

    @property
    def full_marks(self) -> bool:
        """Whether it got every automatic point."""
        return self.result is not None and self.result.score == self.result.points


class Examiner:
    """Grades cases that were handed in to a class; what lies in that class is only read."""

    def __init__(self, root: Path, class_folder: Path) -> None:
        # this may be another process than the one in which the cases were made
        register_cases(root)
        self.course = Course(root, class_folder=class_folder)
        self.grader = Grader(self.course, complete=True)

    def examine(self, case: Case) -> Examination:
        """Grade a case, and run its student's own check."""
        attack = ATTACKS[case.name] if case.kind == "attack" else None
        own, changed = self.grader.settings, HANGING_SECONDS if case.hangs else {}
        changed = changed | dict(attack.limits) if attack else changed
        settings = replace(own, limits=replace(own.limits, **changed))
        key = self.grader.key(case.exercise)
        begun, memory = time.process_time(), _memory()
        try:
            if attack and attack.again:
                graded = self._examine_again(case, attack, attack.again)
            else:
                submission = read_submission(self.course, case.student, case.exercise)
                graded = grade_submission(submission, key, settings)
            harm = _harm(graded, attack) if attack else _own_cells_failed(graded, case)
        except Exception as error:
            if attack is None:
                raise
            return Examination(None, harm=(f"ends the run: {type(error).__name__}: {error}",))
        if attack and time.process_time() - begun > MAX_SECONDS:
            harm += ("takes much of the grader's time",)
        if attack and _memory() - memory > MAX_MEMORY:
            harm += ("makes the grader use much memory",)
        return Examination(graded, own_check(case.checked) if case.checked else None, harm)

    def _examine_again(self, case: Case, attack: Attack, again: HandIn) -> Graded:
        """What an attack gets that is handed in when feedback, its own or another's, has been written.

        It has a class of its own, with the seeds of this one.
        """
        exercise = case.exercise
        with tempfile.TemporaryDirectory() as folder:
            course = Course(self.course.root, class_folder=Path(folder))
            shutil.copy(self.course.home / "seeds.json", folder)
            shutil.copytree(self.course.home / "expected", course.home / "expected")
            first = "another" if attack.of_another else case.student
            case.hand_in(course.submitted / first / exercise.name)
            grader = Grader(course)
            register(course, exercise)
            with Recorder(course) as recorder:
                recorder.record(grader.grade(first, exercise))
            FeedbackWriter(course).write(first, exercise.name)
            place = course.submitted / case.student / exercise.name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            again(exercise, place, grader.key(exercise))
            return grader.grade(case.student, exercise)


def _memory() -> int:
    """The most memory that this process has used so far, in bytes."""
    # Linux counts in kilobytes
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _own_cells_failed(graded: Graded, case: Case) -> tuple[str, ...]:
    """Whether the code of an attack on follow-through, in cells of its own, has raised an error."""
    if case.kind != "follow-through":
        return ()
    return tuple(
        f"was not tried: its cell raised {output.ename}: {output.evalue[:200]}"
        for cell in graded.notebook.cells
        if cell.cell_type == "code" and "nbgrader" not in cell.metadata
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    )


def _harm(graded: Graded, attack: Attack) -> tuple[str, ...]:
    """What shows in a graded attack, or on this machine after it."""
    harm = []
    printed = _printed(graded.notebook)
    got = [line for line in printed.split("\n") if line.startswith("GOT")]
    if got:
        harm.append(f"gets what it wants: {got[0][:200]}")
    if why := _not_tried(graded, attack):
        harm.append(f"was not tried: {why}")
    if not all(line.passed or words.sentence(line) for _, line in graded.result.lines()):
        harm.append("has no reason recorded")
    if left_running():
        harm.append("leaves processes running")
    return tuple(harm)


def _printed(notebook: NotebookNode) -> str:
    """All that the cells of a notebook printed."""
    return "\n".join(
        out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", [])
    )


def _expected_ends(attack: Attack) -> set[str]:
    """Errors in the cell of an attack that do not mean that its code is wrong."""
    if attack.hangs:
        return STOPPED | {DIED}
    # a limit of the sandbox ends the kernel
    return {DIED} if attack.kind == MACHINE else set()


def _not_tried(graded: Graded, attack: Attack) -> str:
    """Why the code of an attack can't have done what it is for; empty if it can.

    An attack whose code raises an error on its way proves nothing.
    """
    for cell in graded.notebook.cells:
        outputs = cell.get("outputs", [])
        if cell.source.startswith(SETUP) and not any("armed" in o.get("text", "") for o in outputs):
            return "the cell before its own failed"
        if cell.source.startswith(DEED):
            for output in outputs:
                stopped = output.get("ename") in _expected_ends(attack)
                if output.output_type == "error" and not stopped:
                    return f"its cell raised {output.ename}: {output.evalue[:200]}"
    if attack.remark and attack.remark not in [one.kind for one in graded.result.remarks]:
        return f"nothing was remarked of the kind {attack.remark}"
    for grade_id, line in graded.result.lines():
        found = line.difference
        # without a line of the notebook, it is the check that raised: an answer is not there
        if found is None or found.aspect != "error" or not found.parameters["line"]:
            continue
        if found.parameters["name"] in MISFITS:
            told = f"{found.parameters['name']}: {found.parameters['message'][:200]}"
            return f"its answer raised {told} in {grade_id}"
    return ""


class AuditedClass:
    """A class of its own for some cases: handed in and known to the gradebook.

    A context manager. root: the course's folder; folder: an empty one, or a new class's with its seeds, for all that is
    written.
    """

    def __init__(self, root: Path, folder: Path, cases: Sequence[Case]) -> None:
        exercises = sorted({case.exercise for case in cases}, key=lambda e: e.order)
        self.examiner = Examiner(root, folder)
        self.course = self.examiner.course
        self.examiner.grader.prepare(exercises)
        self._scores: dict[str, dict[str, float]] = {}
        self._attacked: list[tuple[Case, Result]] = []
        self._honest = [
            _honest_case(e)
            for e in exercises
            if any(case.kind == "attack" and case.exercise == e for case in cases)
        ]
        for exercise in exercises:
            register(self.course, exercise)
            self._scores[exercise.name] = {}
        for case in (*self._honest, *cases):
            case.hand_in(self.course.submitted / case.student / case.exercise.name)

    def __enter__(self) -> AuditedClass:
        self._recorder = Recorder(self.course)
        for case in self._honest:
            self.grade(case)
        return self

    def __exit__(self, *_: object) -> None:
        self._recorder.__exit__()

    def grade(self, case: Case) -> Outcome:
        """Examine and record a case in this process."""
        return self.record(case, self.examiner.examine(case))

    def record(self, case: Case, examined: Examination) -> Outcome:
        """Write an examined case into the gradebook, and see that nothing else has changed in it."""
        if examined.graded is None:
            return Outcome(case, None, harm=examined.harm)
        result, harm = examined.graded.result, list(examined.harm)
        try:
            self._recorder.record(examined.graded)
        except Exception as error:
            if case.kind != "attack":
                raise
            harm.append(f"can't be recorded: {type(error).__name__}: {error}")
            return Outcome(case, None, harm=tuple(harm))
        expected = self._scores[case.exercise.name]
        expected[case.student] = result.score
        if case.kind == "attack":
            stored = stored_result(self.course, case.student, case.exercise.name)
            given = Result.from_json(result.to_json())
            # as text: a result may hold NaN, which does not equal itself
            if stored is None or stored.to_json() != given.to_json():
                harm.append("has another result stored than it was given")
            if self._recorded(case.exercise) != expected:
                harm.append("changes scores in the gradebook")
            self._attacked.append((case, result))
        return Outcome(case, result, examined.own_check, tuple(harm))

    def _recorded(self, exercise: Exercise) -> dict[str, float]:
        """Every student's score in the gradebook."""
        from nbgrader.api import Assignment, Grade, SubmittedAssignment, SubmittedNotebook
        from sqlalchemy import func

        with opened(self.course) as gradebook:
            assert gradebook is not None
            # one small question: nbgrader's own joins tables five times, and is asked after each attack
            found = (
                gradebook.db.query(SubmittedAssignment.student_id, func.sum(Grade.score))
                .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
                .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
                .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
                .filter(Assignment.name == exercise.name)
                .group_by(SubmittedAssignment.student_id)
            )
            return dict(found)

    def later_harm(self) -> list[Outcome]:
        """What shows once all are graded: on pages for students and instructors, and in later scores.

        The honest students beside the attackers are graded once more.
        """
        found = self._harm_on_pages()
        for case in self._honest:
            examined = self.examiner.examine(case)
            before = self._scores[case.exercise.name][case.student]
            if examined.graded is None or examined.graded.result.score != before:
                found.append(Outcome(case, None, harm=("changes an honest student's later score",)))
        return found

    def _harm_on_pages(self) -> list[Outcome]:
        """What the feedback pages of attacks, and the class's report, would do to their readers."""
        found, writer = [], FeedbackWriter(self.course)
        results = [result for _, result in self._attacked]
        for case in self._honest:
            writer.write(case.student, case.exercise.name)
            page = feedback_page(self.course, case.student, case.exercise.name)
            allowed = acting(page.read_text(encoding="utf-8"))
            for attacker, _ in self._attacked:
                is_read = ATTACKS[attacker.name].kind in READ_KINDS
                if is_read and attacker.exercise == case.exercise:
                    harm = self._harm_on_a_page(attacker, writer, allowed)
                    found += [Outcome(attacker, None, harm=(harm,))] if harm else []
        if results:
            begun = time.process_time()
            pages.write(self.course, results)
            if time.process_time() - begun > MAX_SECONDS:
                found.append(Outcome(self._attacked[0][0], None, harm=("stalls the report",)))
        return found

    def _harm_on_a_page(
        self, case: Case, writer: FeedbackWriter, allowed: Sequence[tuple[str, str]]
    ) -> str:
        begun = time.process_time()
        try:
            writer.write(case.student, case.exercise.name)
        except Exception as error:
            return f"keeps its feedback from being written: {type(error).__name__}: {error}"
        if time.process_time() - begun > MAX_SECONDS:
            return "stalls the writing of feedback"
        page = feedback_page(self.course, case.student, case.exercise.name)
        found = acting(page.read_text(encoding="utf-8"))
        return "" if found == allowed else f"acts on its feedback page: {found[:3]}"


def _honest_case(exercise: Exercise) -> Case:
    """The student beside the attackers, whose work lies in the same class."""
    text = nbformat.writes(solved(exercise, reference_answers(exercise)))
    return Case(exercise, HONEST_STUDENT, HONEST_STUDENT, text)
