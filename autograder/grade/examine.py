"""Examining a submission: its code runs in the student's kernel, every verdict is made here.

In: a submission, an answer key, limits. Out: a typed result, and the notebook that was executed. For a
grade cell only drawn inputs and expressions go to the student's kernel, and only plain data comes back.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import nbformat
from nbformat import NotebookNode

from autograder.exercises import given, is_answer_cell, is_grade_cell
from autograder.grade.answer_key import AnswerKey
from autograder.grade.result import Basis, CellResult, LineResult, Remark, Result
from autograder.grade.sanitize import MISSING, sanitized
from autograder.grade.submission import Submission
from autograder.kernels.student_kernel import KernelStartError, Reply, StudentKernel
from autograder.kernels.versions import kernel_versions
from autograder.reference import ExpectedDraw, ExpectedLine
from autograder.runtime.compare import Difference, Expected, judge
from autograder.runtime.evaluate import Evaluation
from autograder.runtime.grade_cell import Check, parse_cell
from autograder.runtime.mistakes import (
    NO_FINGERPRINT,
    Home,
    Judged,
    Recognition,
    fingerprint,
    says_little,
)
from autograder.runtime.plain_data import decode, restore
from autograder.runtime.telling import told
from autograder.settings import Settings
from autograder.text import valid_json, valid_text

MAX_VALUE = 20_000_000
MAX_SHOWN, MAX_SHOWN_LINE = 20_000, 1_000
MAX_PRINTED, MAX_PRINTED_LINES = 2_000, 40
CHECKER = "checker"


@dataclass(frozen=True)
class Graded:
    """A graded submission: its result, and the notebook with what its own cells displayed."""

    result: Result
    notebook: NotebookNode


def grade_submission(submission: Submission, key: AnswerKey, settings: Settings) -> Graded:
    """Grade a submission; whatever it holds, it ends with a verdict and a reason for every line.

    This is the one way to a grade: the command line, nbgrader's commands, formgrader, workers, trials
    and the audit all come here. Raises KernelStartError when no kernel can be started, for which no
    submission is to blame.
    """
    try:
        return _graded(submission, key, settings)
    except KernelStartError:
        raise
    except Exception as error:
        reason = valid_text(f"{type(error).__name__}: {str(error)[:300]}")
        return refused(submission, key, settings, Remark("failed", {"error": reason}))


def refused(submission: Submission, key: AnswerKey, settings: Settings, why: Remark) -> Graded:
    """What is recorded for a submission whose code is not run."""
    nothing = replace(submission, cells=(), companions={}, remarks=(*submission.remarks, why))
    return _graded(nothing, key, settings)


def _graded(submission: Submission, key: AnswerKey, settings: Settings) -> Graded:
    begun = time.monotonic()
    notebook, remarks = sanitized(submission, key.release, key.versions)
    examination = _Examination(key, settings)
    if any(_is_students_code(cell) for cell in notebook.cells):
        with StudentKernel(settings, submission.companions) as kernel:
            for cell in notebook.cells:
                examination.run_cell(cell, kernel)
    else:
        for cell in notebook.cells:
            examination.run_cell(cell, None)
    result = Result(
        student=submission.student,
        exercise=key.exercise,
        cells=tuple(examination.results),
        remarks=(*submission.remarks, *remarks),
        basis=basis(submission, key, settings),
        seconds=round(time.monotonic() - begun, 1),
    )
    return Graded(result, notebook)


def basis(submission: Submission, key: AnswerKey, settings: Settings) -> Basis:
    """What a grade of a submission would be made from now."""
    versions = kernel_versions(settings.python)
    return Basis(submission.digest, key.digest, settings.limits, versions)


@dataclass
class _Answer:
    """What a kernel answered for a line: evaluations by draw, or why there are none."""

    printed: str
    evaluations: Sequence[object] = ()
    failure: Difference | None = None


class _Examination:
    """One notebook's examination, cell by cell: what has failed or was recognised so far."""

    def __init__(self, key: AnswerKey, settings: Settings) -> None:
        self.results: list[CellResult] = []
        self._key = key
        self._limits = settings.limits
        self._recognition = Recognition(
            {
                name: Home(key.mistake_functions[name], cell)
                for name, cell in key.mistake_cells.items()
            }
        )
        self._failed_answers: dict[str, str] = {}
        self._ended: Difference | None = None
        self._deadline = time.monotonic() + settings.limits.notebook_seconds

    def run_cell(self, cell: NotebookNode, kernel: StudentKernel | None) -> None:
        """Run a cell of the student's, or grade a grade cell."""
        if cell.cell_type != "code":
            return
        if is_grade_cell(cell):
            self._grade_cell(cell, kernel)
        elif given(cell).get("grade_id") == CHECKER:
            cell.source = "# The course's checks."
        elif kernel is not None:
            self._run_students_cell(cell, kernel)

    def _run_students_cell(self, cell: NotebookNode, kernel: StudentKernel) -> None:
        limits = self._limits
        if time.monotonic() > self._deadline and not kernel.dead:
            kernel.kill()
            self._ended = _ended("notebook_time", seconds=limits.notebook_seconds)
        name = given(cell).get("grade_id", "one of your own")
        reply = kernel.run(cell.source, limits.cell_seconds)
        cell.outputs = reply.outputs
        cell.source = _for_display(cell.source)
        errors = [out for out in reply.outputs if out["output_type"] == "error"]
        for answer in self._key.answers.get(name, ()) if errors else ():
            text = f"{errors[0]['ename']}: {errors[0]['evalue']}"
            self._failed_answers[answer] = valid_text(text)[:300]
        if reply.status == "timeout":
            text = f"Stopped: this cell ran for more than {limits.cell_seconds:g} seconds."
            cell.outputs.append(_error_output("Timeout", text))
        if kernel.dead and not self._ended:
            self._ended = self._how_it_ended(kernel, reply, cell=name)
            cell.outputs.append(_error_output("The kernel died", "The Python process ended here."))

    def _grade_cell(self, cell: NotebookNode, kernel: StudentKernel | None) -> None:
        grade_id = given(cell).grade_id
        expected = self._key.cells[grade_id]
        deadline = time.monotonic() + max(map(self._seconds, expected.lines))
        found, printed = [], []
        checks = {check.expression: check for check in parse_cell(cell.source).checks}
        for line in expected.lines:
            # an instructor's weights change points, but no expression
            check = checks[line.expression]
            answer, judged = self._ask(line, check, expected.forbidden, kernel, deadline)
            if line.agreement and any(d and d.aspect == "agreement" for _, d in judged):
                # training is a matter of luck, and of what else the machine has to do
                again = time.monotonic() + self._seconds(line)
                answer, judged = self._ask(line, check, expected.forbidden, kernel, again)
            found.append(judged)
            printed.append(answer.printed)
        named = self._recognition.cell(grade_id, [[j for j, _ in judged] for judged in found])
        lines = []
        for line, judged, mistake in zip(expected.lines, found, named, strict=True):
            problem = next((d for _, d in judged if d is not None), None)
            problem = problem and self._explained(problem)
            told = (mistake.name, mistake.by_line) if mistake else ()
            lines.append(LineResult(line.expression, line.points, problem, *told))
        shown = "\n".join("".join(printed)[:MAX_PRINTED].split("\n")[:MAX_PRINTED_LINES])
        self.results.append(CellResult(grade_id, tuple(lines), shown))
        cell.source = _without_answers(cell.source)

    def _seconds(self, line: ExpectedLine) -> float:
        own = line.agreement and line.agreement.seconds
        return own or self._limits.grade_cell_seconds

    def _explained(self, problem: Difference) -> Difference:
        """An undefined name as what it comes from: the cell that should have defined it failed."""
        if problem.aspect == "error" and problem.parameters["name"] == "NameError":
            for answer, error in self._failed_answers.items():
                if problem.parameters["message"] == f"name '{answer}' is not defined":
                    return Difference("cell_failed", {"answer": answer, "error": error})
        return problem

    def _ask(
        self,
        line: ExpectedLine,
        check: Check,
        forbidden: Sequence[str],
        kernel: StudentKernel | None,
        deadline: float,
    ) -> tuple[_Answer, list[tuple[Judged, Difference | None]]]:
        """What the kernel answers for a line, and every draw judged."""
        answer = self._answer(line, forbidden, kernel, deadline)
        if answer.failure:
            judged = [
                (Judged(False, NO_FINGERPRINT, draw.mistakes), answer.failure)
                for draw in line.draws
            ]
        else:
            pairs = zip(line.draws, answer.evaluations, strict=True)
            judged = [_judged(check, draw, evaluation) for draw, evaluation in pairs]
        return answer, judged

    def _answer(
        self,
        line: ExpectedLine,
        forbidden: Sequence[str],
        kernel: StudentKernel | None,
        deadline: float,
    ) -> _Answer:
        if kernel is None:
            return _Answer("", failure=Difference("no_code"))
        seconds = deadline - time.monotonic()
        allowed = {"seconds": self._seconds(line)}
        # also when the kernel died of it: whether it could be interrupted depends on the machine's load
        if seconds <= 0:
            return _Answer("", failure=Difference("time_used_up", allowed))
        if kernel.dead:
            return _Answer("", failure=self._ended or _ended("exit"))
        draws = [
            {"inputs": draw.inputs, "parameter_seed": draw.parameter_seed} for draw in line.draws
        ]
        request = {"expression": line.expression, "forbidden": list(forbidden), "draws": draws}
        timed = bool(line.agreement and line.agreement.processor_seconds)
        reply = kernel.ask(request, seconds, timed)
        printed = "".join(
            output["text"] for output in reply.outputs if output["output_type"] == "stream"
        )
        if kernel.dead and not self._ended:
            self._ended = self._how_it_ended(kernel, reply, expression=line.expression)
        if reply.status == "timeout":
            return _Answer(printed, failure=Difference("timeout", allowed))
        if reply.value is None:
            nothing = Difference("unreadable", {"reason": ""})
            return _Answer(printed, failure=self._ended or nothing)
        try:
            evaluations = _evaluations(reply.value, len(draws))
        except (ValueError, RecursionError, MemoryError) as error:
            reason = {"reason": valid_text(str(error))[:200]}
            return _Answer(printed, failure=Difference("unreadable", reason))
        if reply.processor_seconds is not None:
            # what was measured from outside, whatever the kernel says
            evaluations = [_with_time(one, reply.processor_seconds) for one in evaluations]
        return _Answer(printed, evaluations)

    def _how_it_ended(self, kernel: StudentKernel, reply: Reply, **where: str) -> Difference:
        # after a timeout a kernel is only ended when interrupting it was to no avail
        reason = kernel.limit or ("not_interrupted" if reply.status == "timeout" else "exit")
        return _ended(reason, memory_gb=self._limits.memory_bytes / 1e9, **where)


def _ended(reason: str, **parameters: float | str) -> Difference:
    """Why there is no kernel any more; reason: one of `words.ENDS`."""
    return Difference("ended", {"reason": reason, **parameters})


def _evaluations(value: str, draws: int) -> list[object]:
    """The evaluations in a kernel's reply, one for every draw; ValueError when it has other data."""
    if len(value) > MAX_VALUE:
        raise ValueError("it is too large")
    found = valid_json(value)
    if not isinstance(found, list) or len(found) != draws:
        raise ValueError("it is not plain data")
    return found


def _with_time(evaluation: object, seconds: float) -> object:
    """A kernel's evaluation with another processor time."""
    known = isinstance(evaluation, dict)
    return {**evaluation, "processor_seconds": seconds} if known else evaluation


def _judged(
    check: Check, draw: ExpectedDraw, evaluation: object
) -> tuple[Judged, Difference | None]:
    """One draw; a kernel's answer may be any nonsense, so anything but a pass is a fail."""
    try:
        read = Evaluation.read(evaluation)
        expected = Expected.read(draw.expected)
        if problem := judge(expected, read):
            inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
            problem = told(problem, check, inputs, expected, read)
        little = problem is not None and says_little(read.value)
        return Judged(problem is None, fingerprint(read.value), draw.mistakes, little), problem
    except Exception as error:
        problem = Difference("not_plain", {"reason": valid_text(str(error))[:100]})
        return Judged(False, NO_FINGERPRINT, draw.mistakes), problem


def _is_students_code(cell: NotebookNode) -> bool:
    """Whether a cell of the sanitised notebook holds a student's code."""
    if cell.cell_type != "code":
        return False
    if "nbgrader" not in cell.metadata:
        return True
    return is_answer_cell(cell) and cell.source != MISSING


def _error_output(name: str, text: str) -> NotebookNode:
    return nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def _for_display(source: str) -> str:
    """A student's code with what is too long to be shown cut: colouring takes quadratic time."""
    lines = source[:MAX_SHOWN].split("\n")
    cut = [ln if len(ln) <= MAX_SHOWN_LINE else f"{ln[:MAX_SHOWN_LINE]} ..." for ln in lines]
    return "\n".join(cut) + ("\n..." if len(source) > MAX_SHOWN else "")


def _without_answers(source: str) -> str:
    """A grade cell for reading: the baked answers are left out."""
    lines = []
    for line in source.split("\n"):
        if line.startswith("check("):
            (check,) = parse_cell(line).checks
            line = f"check({check.expression!r}, points={check.points:g})"
        lines.append(line)
    return "\n".join(lines)
