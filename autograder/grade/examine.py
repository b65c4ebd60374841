"""Examining a submission: its code runs in the student's kernel, every verdict is made here.

In: a submission, an answer key, limits. Out: a typed result, and the notebook that was executed. For a
grade cell only drawn inputs and expressions go to the student's kernel, and only plain data comes back.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import nbformat
from nbformat import NotebookNode

from autograder.exercises import given, is_answer_cell, is_grade_cell
from autograder.grade.answer_key import AnswerKey
from autograder.grade.follow_through import follow_through
from autograder.grade.kernel_run import KernelRun, is_run, steps_of
from autograder.grade.result import Basis, CellResult, LineResult, Remark, Result
from autograder.grade.sanitize import MISSING, sanitized
from autograder.grade.submission import Submission
from autograder.instructor_settings import Settings
from autograder.kernels.student_kernel import KernelStartError, StudentKernel
from autograder.kernels.versions import kernel_versions
from autograder.programs import bound_names
from autograder.runtime.compare import Difference
from autograder.runtime.grade_cell import parse_cell
from autograder.runtime.mistakes import Home, Recognition
from autograder.runtime.packages import with_offered
from autograder.runtime.plain_data import valid_text
from autograder.text import plain_text

MAX_SHOWN, MAX_SHOWN_LINE = 20_000, 1_000
MAX_PRINTED, MAX_PRINTED_LINES = 2_000, 40


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
        return refused(submission, key, settings, Remark("failed", {"error": _reason(error)}))


def refused(submission: Submission, key: AnswerKey, settings: Settings, why: Remark) -> Graded:
    """What is recorded for a submission whose code is not run."""
    nothing = replace(submission, cells=(), companions={}, remarks=(*submission.remarks, why))
    return _graded(nothing, key, settings)


def _graded(submission: Submission, key: AnswerKey, settings: Settings) -> Graded:
    begun = time.monotonic()
    files = {name: text.encode() for name, text in key.files.items()}
    submission = replace(submission, companions={**submission.companions, **files})
    notebook, remarks = sanitized(submission, key.release, key.versions)
    steps = steps_of(notebook)
    with contextlib.ExitStack() as stack:
        kernel = None
        if any(_is_students_code(cell) for cell in notebook.cells):
            kernel = stack.enter_context(_started(settings, submission))
        offered = settings.offered(key.packages)
        examination = _Examination(key, KernelRun(kernel, settings.limits), offered)
        for cell in notebook.cells:
            examination.run_cell(cell)
        if examination.unlimited:
            remarks = [*remarks, Remark("memory_not_limited")]
    cells = tuple(examination.results)
    if kernel is not None:
        # the verdicts so far are final, and the kernel they came from has ended
        try:
            cells = follow_through(steps, key, cells, settings, submission.companions)
        except Exception as error:
            remarks = [*remarks, Remark("no_follow_through", {"error": _reason(error)})]
    result = Result(
        student=submission.student,
        exercise=key.exercise,
        cells=cells,
        remarks=(*submission.remarks, *remarks),
        basis=basis(submission, key, settings),
        seconds=round(time.monotonic() - begun, 1),
    )
    return Graded(result, notebook)


@contextlib.contextmanager
def _started(settings: Settings, submission: Submission) -> Iterator[StudentKernel]:
    """A kernel for a submission; whatever keeps it from starting is a KernelStartError.

    No student's code has run by then, so that nobody must lose points by it.
    """
    with contextlib.ExitStack() as stack:
        try:
            kernel = stack.enter_context(StudentKernel(settings, submission.companions))
        except KernelStartError:
            raise
        except Exception as error:
            raise KernelStartError(_reason(error)) from error
        yield kernel


def _reason(error: Exception) -> str:
    return valid_text(f"{type(error).__name__}: {str(error)[:300]}")


def basis(submission: Submission, key: AnswerKey, settings: Settings) -> Basis:
    """What a grade of a submission would be made from now."""
    versions = kernel_versions(settings.python, key.packages)
    return Basis(submission.digest, key.digest, settings.limits, versions)


class _Examination:
    """One notebook's examination, cell by cell: what has failed or was recognised so far."""

    def __init__(self, key: AnswerKey, run: KernelRun, packages: Sequence[str]) -> None:
        self.results: list[CellResult] = []
        self._key = key
        self._run = run
        self._packages = packages
        self._recognition = Recognition(
            {
                name: Home(key.mistake_functions[name], cell)
                for name, cell in key.mistake_cells.items()
            }
        )
        # by name, the error of the cell that should have defined it
        self._failed: dict[str, str] = {}

    @property
    def unlimited(self) -> bool:
        """Whether a line ran whose memory should have been limited from outside, and could not be."""
        return self._run.unlimited

    def run_cell(self, cell: NotebookNode) -> None:
        """Run a cell of the student's, or grade a grade cell."""
        if cell.cell_type != "code":
            return
        if is_grade_cell(cell):
            self._grade_cell(cell)
        elif not is_run(cell):
            cell.source = "# The course's checks."
        elif self._run.kernel is not None:
            self._run_students_cell(cell)

    def _run_students_cell(self, cell: NotebookNode) -> None:
        name = given(cell).get("grade_id", "one of your own")
        ended_before = self._run.ended
        reply = self._run.run_cell(cell.source, name)
        defined = {*self._key.answers.get(name, ()), *bound_names(cell.source)}
        cell.outputs = reply.outputs
        cell.source = _for_display(cell.source)
        errors = [out for out in reply.outputs if out["output_type"] == "error"]
        if errors:
            text = f"{errors[0]['ename']}: {errors[0]['evalue']}"
            self._failed |= dict.fromkeys(defined, valid_text(text, 300))
        if reply.status == "timeout":
            seconds = self._run.limits.cell_seconds
            text = f"Stopped: this cell ran for more than {seconds:g} seconds."
            cell.outputs.append(_error_output("Timeout", text))
        ended = self._run.ended
        if ended and ended is not ended_before and "cell" in ended.parameters:
            cell.outputs.append(_error_output("The kernel died", "The Python process ended here."))

    def _grade_cell(self, cell: NotebookNode) -> None:
        grade_id, run = given(cell).grade_id, self._run
        expected = self._key.cells[grade_id]
        deadline = time.monotonic() + max(map(run.seconds, expected.lines))
        found = []
        checks = {check.expression: check for check in parse_cell(cell.source).checks}
        for line in expected.lines:
            # an instructor's weights change points, but no expression
            check = checks[line.expression]
            answer = run.ask(line, expected.forbidden, deadline, check)
            if line.agreement and any(d and d.aspect == "agreement" for _, d in answer.judged):
                # training is a matter of luck, and of what else the machine has to do
                again = time.monotonic() + run.seconds(line)
                answer = run.ask(line, expected.forbidden, again, check)
            found.append(answer)
        judged = [[one for one, _ in answer.judged] for answer in found]
        named = self._recognition.cell(grade_id, judged)
        lines = []
        for line, answer, mistake in zip(expected.lines, found, named, strict=True):
            problem = answer.problem and self._explained(answer.problem)
            told = (mistake.name, mistake.by_line) if mistake else ()
            lines.append(LineResult(line.expression, line.points, problem, *told))
        printed = "".join(answer.printed for answer in found)
        shown = "\n".join(printed[:MAX_PRINTED].split("\n")[:MAX_PRINTED_LINES])
        self.results.append(CellResult(grade_id, tuple(lines), shown))

    def _explained(self, problem: Difference) -> Difference:
        """An undefined name as what it comes from: the cell that should have defined it failed."""
        if problem.aspect == "error" and problem.parameters["name"] == "NameError":
            for name, error in self._failed.items():
                if problem.parameters["message"] == f"name '{name}' is not defined":
                    problem = Difference("cell_failed", {"answer": name, "error": error})
                    break
        return with_offered(problem, self._packages)


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
    """A student's code as it is shown. What is too long is cut: colouring takes quadratic time."""
    lines = plain_text(source[:MAX_SHOWN]).split("\n")
    cut = [ln if len(ln) <= MAX_SHOWN_LINE else f"{ln[:MAX_SHOWN_LINE]} ..." for ln in lines]
    return "\n".join(cut) + ("\n..." if len(source) > MAX_SHOWN else "")
