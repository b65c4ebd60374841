"""Examining a submission: its code runs in the student's kernel, every verdict is made here.

In: a submission, an answer key, limits. Out: a typed result, and the notebook that was executed. For a
grade cell only drawn inputs and its lines' code go to the student's kernel, and only plain data comes back.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.exercises import baked_relations, is_answer_cell, is_grade_cell, metadata_of
from autograder.expected import ExpectedCell, ExpectedLine, Failed, Unexplained
from autograder.files import digest_of
from autograder.grade.answer_key import AnswerKey
from autograder.grade.follow_through import follow_through, uses_of
from autograder.grade.kernel_run import (
    TOGETHER,
    Answer,
    KernelRun,
    Manner,
    Step,
    first_line,
    is_run,
    runs,
    steps_of,
)
from autograder.grade.older_releases import not_asked, without_charge
from autograder.grade.result import Basis, CellResult, LineResult, Remark, Result
from autograder.grade.sanitize import MISSING, sanitized
from autograder.grade.submission import Submission
from autograder.grade.words import OUTPUTS
from autograder.instructor_settings import Settings
from autograder.kernels.student_kernel import KernelStartError, StudentKernel
from autograder.kernels.versions import kernel_versions
from autograder.programs import bound_names, clocks_in, names_in, reached
from autograder.runtime.compare import Difference
from autograder.runtime.evaluate import Evaluation
from autograder.runtime.grade_cell import Check, GradeCell, Relation, parse_cell
from autograder.runtime.mistakes import (
    NO_FINGERPRINT,
    Judged,
    Origin,
    Recognition,
    same_code_raised,
    same_fingerprint,
)
from autograder.runtime.packages import with_offered
from autograder.runtime.plain_data import Nothing, valid_text
from autograder.runtime.violations import MODES, unexplained, with_violations
from autograder.text import plain_text

MAX_SHOWN, MAX_SHOWN_LINE = 20_000, 1_000
MAX_PRINTED, MAX_PRINTED_LINES = 2_000, 40
MAX_NAMES = 3
# differences of lines without a value, in which no mistake can be recognised
WITHOUT_VALUE = {"ended", "no_code", "time_used_up", "timeout", "to_do", "unreadable"}
# what Python knows from 3.12 on: `type X = ...`, parameters of types; nested quotes show in the error's message
NEWER_SYNTAX = re.compile(r"^\s*(?:type\s+\w+.*=|(?:async\s+)?(?:def|class)\s+\w+\[)", re.MULTILINE)


@dataclass(frozen=True)
class Shown:
    """What a grade cell has shown, from which known mistakes are recognised.

    judged: every line on its draws; problems: of the lines; violated: relations, of which it is told if no
    mistake explains the cell. All empty if the cell has passed. given: the answers in whose place right
    versions stood, if what is judged comes of a second run.
    """

    judged: Sequence[Sequence[Judged]] = ()
    problems: Sequence[Difference | None] = ()
    violated: Sequence[Mapping[str, Any]] = ()
    given: Collection[str] = ()

    def followed(self, again: Mapping[int, Sequence[Judged]], given: Collection[str]) -> Shown:
        """What the cell has shown beside right versions of earlier answers; again: by line, what was asked again."""
        judged = [again.get(number, line) for number, line in enumerate(self.judged)]
        return replace(self, judged=judged, given=given)


@dataclass(frozen=True)
class Graded:
    """A graded submission: its result, and the notebook with what its own cells displayed.

    shown: by grade cell, in the order in which they were examined.
    """

    result: Result
    notebook: NotebookNode
    shown: Mapping[str, Shown] = field(default_factory=dict)

    def failed(self) -> dict[str, Failed]:
        """The cells of which a line has failed with a value, which may be a known mistake's."""
        found = {
            name: [
                [(line[0].passed, line[0].fingerprint)]
                if problem
                and problem.aspect not in WITHOUT_VALUE
                and not all(one.passed for one in line)
                else []
                for line, problem in zip(shown.judged, shown.problems, strict=True)
            ]
            for name, shown in self.shown.items()
        }
        return {name: lines for name, lines in found.items() if any(lines)}


def grade_submission(submission: Submission, key: AnswerKey, settings: Settings) -> Graded:
    """Grade a submission; whatever it holds, it ends with a verdict and a reason for every line.

    This is the one way to a grade: the command line, nbgrader's commands, formgrader, workers, trials
    and the audit all come here. Raises KernelStartError when no kernel can be started, for which no
    submission is to blame: files beside a notebook that keep a kernel from starting are left out.
    """
    try:
        return _graded(submission, key, settings)
    except KernelStartError:
        if not _keeps_from_starting(submission, settings):
            raise
        remarks = (*submission.remarks, Remark("companions_kept_out"))
        return grade_submission(replace(submission, companions={}, remarks=remarks), key, settings)
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
    seed = int(digest_of(key.digest + submission.digest)[:16], 16)
    start = functools.partial(_started, settings, submission, seed)
    examined = functools.partial(_examined, notebook, key, settings, start)
    tried = list(runs(TOGETHER, examined))
    (_, first), (manner, examination) = tried[0], tried[-1]
    if examination.by_clock:
        remarks = [*remarks, Remark("by_clock")]
    if examination.unlimited:
        remarks = [*remarks, Remark("memory_not_limited")]
    if examination.varying:
        remarks = [*remarks, Remark("varies", {"names": examination.varying})]
    elif clocks := examination.clocks():
        remarks = [*remarks, Remark("clock", {"names": clocks})]
    cells, shown = tuple(examination.results), examination.shown
    if first.ended and examination.ended and _is_chance(first.ended, examination.ended):
        cells, shown = tuple(_without_verdicts(cell) for cell in cells), {}
    elif settings.follow_through and any(map(_is_students_code, notebook.cells)):
        # the verdicts so far are final, and the kernel they came from has ended
        try:
            found = follow_through(steps_of(notebook), key, cells, settings, start, manner)
            cells = found.cells
            again = found.judged.items()
            shown |= {name: shown[name].followed(lines, found.given) for name, lines in again}
        except Exception as error:
            remarks = [*remarks, Remark("no_follow_through", {"error": _reason(error)})]
    unasked = not_asked(submission, key.release, key.versions)
    charged, cells = cells, tuple(without_charge(cell, unasked) for cell in cells)
    if cells != charged:
        remarks = [*remarks, Remark("older_release")]
    # where a student's answers stand in another order, they were asked in that
    cells = tuple(sorted(cells, key=lambda cell: list(key.cells).index(cell.grade_id)))
    if any(not line.passed and line.verdict == "ended" for cell in cells for line in cell.lines):
        remarks = [*remarks, Remark("not_asked")]
    result = Result(
        student=submission.student,
        exercise=key.exercise,
        cells=cells,
        remarks=(*submission.remarks, *remarks),
        basis=basis(submission, key, settings),
        seconds=round(time.monotonic() - begun, 1),
    )
    return named(Graded(result, examination.notebook, shown), key, key.cells)


def named(graded: Graded, key: AnswerKey, expected: Mapping[str, ExpectedCell]) -> Graded:
    """A graded submission with the names of the known mistakes that explain it.

    expected: with what mistakes give in the cells of `Graded.failed`; where they don't, none is named.
    """
    recognition = Recognition(
        {
            name: Origin(key.mistake_functions[name], cell)
            for name, cell in key.mistake_cells.items()
        }
    )
    cells = {cell.grade_id: cell for cell in graded.result.cells}
    for name, shown in graded.shown.items():
        draws_of_lines = [line.draws for line in expected[name].lines]
        judged = [
            # what trains may have been tried once
            [replace(one, mistakes=draw.mistakes) for one, draw in zip(line, draws, strict=False)]
            for line, draws in zip(shown.judged, draws_of_lines, strict=False)
        ]
        by_mode = any(one["says"].startswith(MODES) for one in shown.violated)
        found = recognition.cell(name, judged, shown.given, by_mode)
        told = unexplained(shown.problems, found)
        lines = list(cells[name].lines)
        for number, (mistake, problem) in enumerate(zip(found, shown.problems, strict=True)):
            # it may have passed since then, after right versions
            if lines[number].passed:
                problem = None
            elif problem and number == told and shown.violated:
                parameters = {**problem.parameters, "violated": [*shown.violated]}
                problem = replace(problem, parameters=parameters)
            name_told, by_line = (mistake.name, mistake.by_line) if mistake else (None, False)
            lines[number] = replace(
                lines[number], difference=problem, mistake=name_told, by_line=by_line
            )
        cells[name] = replace(cells[name], lines=tuple(lines))
    result = replace(graded.result, cells=tuple(cells.values()))
    return replace(graded, result=result)


def unexplained_cells(
    graded: Graded, key: AnswerKey, expected: Mapping[str, ExpectedCell]
) -> dict[str, Unexplained]:
    """The cells that failed with values, and in which no known mistake is told."""
    told = {cell.grade_id: cell for cell in graded.result.cells}
    found = {}
    for name in graded.failed():
        shown, lines = graded.shown[name], told[name].lines
        if not any(line.mistake for line in lines):
            failed = [number for number, line in enumerate(lines) if not line.passed]
            prints = [[one.fingerprint for one in line] for line in shown.judged]
            found[name] = Unexplained(expected[name], key.graded[name], prints, failed)
    return {name: one for name, one in found.items() if one.failed}


def with_pairs(graded: Graded, pairs: Mapping[str, Sequence[str]]) -> Graded:
    """A graded submission with two known mistakes told in some cells, at the first lines that failed."""
    cells = []
    for cell in graded.result.cells:
        names = list(pairs.get(cell.grade_id, ()))
        lines = [
            replace(line, mistake=names.pop(0), by_line=True) if names and not line.passed else line
            for line in cell.lines
        ]
        cells.append(replace(cell, lines=tuple(lines)))
    return replace(graded, result=replace(graded.result, cells=tuple(cells)))


def _examined(
    notebook: NotebookNode,
    key: AnswerKey,
    settings: Settings,
    start: Callable[[], AbstractContextManager[StudentKernel]],
    manner: Manner,
) -> _Examination:
    """What came of executing a sanitised notebook. Raises UnclearAnswerError if lines are asked for together."""
    notebook = copy.deepcopy(notebook)
    with contextlib.ExitStack() as stack:
        kernel = None
        if any(map(_is_students_code, notebook.cells)):
            kernel = stack.enter_context(start())
        run = KernelRun(kernel, settings.limits, manner, settings.until)
        examination = _Examination(notebook, key, run, settings, start)
        for cell in notebook.cells:
            examination.run_cell(cell)
        examination.tell_violations()
        examination.find_varying()
    return examination


def _is_chance(one: Difference, other: Difference) -> bool:
    """Whether two runs ended at different checks: an end that no cell of the student's explains."""
    places = one.parameters.get("expression"), other.parameters.get("expression")
    return places[1] is not None and places[0] != places[1]


def _without_verdicts(cell: CellResult) -> CellResult:
    """A grade cell of a notebook that ends at a moment of chance: no line of it counts."""
    ended = Difference("ended", {"reason": "chance"})
    lines = (replace(line, difference=ended, mistake=None, by_line=False) for line in cell.lines)
    return replace(cell, lines=tuple(lines), printed="")


def _keeps_from_starting(submission: Submission, settings: Settings) -> bool:
    """Whether a kernel starts without a submission's companions, and not with them."""
    if not submission.companions:
        return False
    with _started(settings, replace(submission, companions={}), seed=0):
        pass
    try:
        with _started(settings, submission, seed=0):
            return False
    except KernelStartError:
        return True


@contextlib.contextmanager
def _started(settings: Settings, submission: Submission, seed: int) -> Iterator[StudentKernel]:
    """A kernel for a submission; whatever keeps it from starting is a KernelStartError.

    No student's code has run by then, so that nobody must lose points by it.
    """
    with contextlib.ExitStack() as stack:
        try:
            kernel = stack.enter_context(StudentKernel(settings, submission.companions, seed))
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
    follow = settings.follow_through
    return Basis(submission.digest, key.digest, settings.limits, versions, follow_through=follow)


class _Examination:
    """One notebook's examination, cell by cell: what has failed or was recognised so far.

    notebook: sanitised, and changed: it gets outputs; start: a kernel for a second try.
    """

    def __init__(
        self,
        notebook: NotebookNode,
        key: AnswerKey,
        run: KernelRun,
        settings: Settings,
        start: Callable[[], AbstractContextManager[StudentKernel]],
    ) -> None:
        self.notebook = notebook
        self.results: list[CellResult] = []
        self._own = _OwnDefinitions(notebook.cells, key)
        self._cells: dict[str, GradeCell] = {}
        self._relations = baked_relations(key.release)
        self._start = start
        python = kernel_versions(settings.python, key.packages)["python"]
        self._python = ".".join(python.split(".")[:2])
        self._ran: list[Step] = []
        self._key = key
        self._run = run
        self._packages = settings.offered(key.packages)
        self.shown: dict[str, Shown] = {}
        # by answer cell, the names that it defines
        self._bound: dict[str, set[str]] = {}
        # by name, the error of the cell that should have defined it
        self._failed: dict[str, dict[str, str]] = {}
        # by grade cell, how many of the student's cells ran before it
        self._before: dict[str, int] = {}
        # the answers of the first grade cell that gives something else when it is asked once more
        self.varying: Sequence[str] = ()

    @property
    def ended_itself(self) -> bool:
        """Whether the process ended by what the student's code did."""
        return self._run.ended_itself

    @property
    def ended(self) -> Difference | None:
        """Where the process ended, if it did so by what the student's code did."""
        return self._run.ended if self.ended_itself else None

    @property
    def by_clock(self) -> bool:
        """Whether something was stopped by the clock, which may be the machine's fault."""
        return self._run.by_clock

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
        name = metadata_of(cell).get("grade_id", "")
        ended_before = self._run.ended
        self._ran.append(Step(cell.id, cell.source, graded=False))
        reply = self._run.run_cell(cell.source, name)
        source = cell.source
        self._bound[name] = bound_names(source)
        defined = {*self._key.answers.get(name, ()), *self._bound[name]}
        cell.outputs = reply.outputs
        cell.source = _for_display(source)
        errors = [out for out in reply.outputs if out["output_type"] == "error"]
        if errors:
            kind, text = errors[0]["ename"], f"{errors[0]['ename']}: {errors[0]['evalue']}"
            error = {"error": valid_text(text, 300)}
            if kind == "SyntaxError" and ("f-string" in text or NEWER_SYNTAX.search(source)):
                error |= {"python": self._python}
            own = {} if name else {"line": first_line(source)}
            self._failed |= dict.fromkeys(defined, error | own)
        if reply.status == "timeout":
            limit = {"seconds": self._run.limits.cell_seconds}
            cell.outputs.append(_error_output("Timeout", limit))
        ended = self._run.ended
        if ended and ended is not ended_before and ended.parameters.keys() & {"cell", "own"}:
            cell.outputs.append(_error_output("The kernel died", {}))

    def _grade_cell(self, cell: NotebookNode) -> None:
        grade_id, run = metadata_of(cell).grade_id, self._run
        expected = self._key.cells[grade_id]
        self._before[grade_id] = len(self._ran)
        deadline = time.monotonic() + max(map(run.seconds, expected.lines))
        found: list[Answer] = []
        parsed = self._cells[grade_id] = parse_cell(cell.source)
        by_expression = {check.expression: check for check in parsed.checks}
        # an instructor's weights change points, but no expression
        checks = [by_expression[line.expression] for line in expected.lines]
        for numbers in expected.messages:
            asked = [expected.lines[number] for number in numbers], expected.forbidden, deadline
            found += run.ask_all(*asked, [checks[number] for number in numbers])
            line, answer = expected.lines[numbers[-1]], found[-1]
            if line.agreement and any(d and d.aspect == "agreement" for _, d in answer.judged):
                # training is a matter of luck
                found[-1] = self._in_a_fresh_kernel(line, expected.forbidden, checks[numbers[-1]])
        judged = [[one for one, _ in answer.judged] for answer in found]
        problems = [one.problem and self._explained(one.problem, grade_id) for one in found]
        lines = [
            LineResult(line.expression, line.points, problem)
            for line, problem in zip(expected.lines, problems, strict=True)
        ]
        self.shown[grade_id] = Shown(judged, problems) if any(problems) else Shown()
        printed = "".join(answer.printed for answer in found)
        shown = "\n".join(printed[:MAX_PRINTED].split("\n")[:MAX_PRINTED_LINES])
        self.results.append(CellResult(grade_id, tuple(lines), shown))

    def tell_violations(self) -> None:
        """Ask which relations are violated in cells that have failed; all verdicts are made."""
        for name, shown in self.shown.items():
            cell = self._cells[name]
            relations = [*cell.relations, *self._relations.get(name, ())]
            if relations and unexplained(shown.problems, [None] * len(shown.problems)) is not None:
                found = self._violated(name, relations, cell.forbidden)
                self.shown[name] = replace(shown, violated=found)

    def find_varying(self) -> None:
        """Ask lines that have failed once more, on the same inputs; all verdicts are made."""
        if not any(shown.judged for shown in self.shown.values()):
            return
        uses = uses_of(self._ran, self._key)
        bound = [bound_names(step.source) for step in self._ran]
        for name, shown in self.shown.items():
            later = set[str]().union(*bound[self._before[name] :])
            expected = self._key.cells[name]
            failed = [
                number
                for number, problem in enumerate(shown.problems)
                if problem
                and problem.aspect not in WITHOUT_VALUE
                and expected.lines[number].is_plain
                # what a later cell has bound anew gives something else with good reason
                and reached(names_in(expected.lines[number].code), uses).isdisjoint(later)
            ]
            if not failed:
                continue
            asked = [expected.lines[number] for number in failed]
            found = self._run.again(asked, expected.forbidden)
            if found is None:
                return
            pairs = zip((shown.judged[number] for number in failed), found, strict=True)
            if any(_is_other(*one) for pair in pairs for one in zip(*pair, strict=True)):
                self.varying = self._key.graded[name]
                return

    def clocks(self) -> list[str]:
        """What graded lines call whose value no run repeats, by the code: once drawn, it doesn't vary."""
        calls = {name: call for step in self._ran for name, call in clocks_in(step.source).items()}
        if not calls:
            return []
        lines = [line for cell in self._key.cells.values() for line in cell.lines]
        names = set[str]().union(*(names_in(line.code) for line in lines))
        used = reached(names, uses_of(self._ran, self._key))
        return sorted({call for name, call in calls.items() if name in used})[:MAX_NAMES]

    def _violated(
        self, name: str, relations: Sequence[Relation], forbidden: Sequence[str]
    ) -> Sequence[Mapping[str, Any]]:
        draws = [line.draws[0] for line in self._key.cells[name].lines]
        inputs = {name: tree for draw in draws for name, tree in draw.inputs.items()}

        def evaluated(code: str) -> Evaluation:
            given = code, inputs, draws[0].parameter_seed, forbidden
            return self._run.evaluation(*given) or Evaluation(Nothing())

        return with_violations(Difference("entries"), relations, evaluated).parameters.get(
            "violated", ()
        )

    def _in_a_fresh_kernel(
        self, line: ExpectedLine, forbidden: Sequence[str], check: Check
    ) -> Answer:
        """What a kernel answers that has run the cells so far and knows nothing of the first try.

        It gets other inputs, so that nothing that was learnt the first time helps.
        """
        line = replace(line, draws=line.draws[1:] or line.draws)
        with self._start() as kernel:
            limits, until = self._run.limits, self._run.until
            run = KernelRun(kernel, limits, until=until)
            for step in self._ran:
                run.run_cell(step.source, step.name)
            answer = run.ask(line, forbidden, time.monotonic() + run.seconds(line), check)
        self._run.by_clock |= run.by_clock
        return answer

    def _explained(self, problem: Difference, grade_id: str) -> Difference:
        """A problem as what it comes from.

        An undefined name: the cell that should have defined it failed. A stub: the answer is in another cell.
        """
        if problem.aspect == "to_do":
            return self._own.elsewhere(self._key, grade_id) or problem
        if problem.aspect == "error" and problem.parameters["name"] == "NameError":
            message = problem.parameters["message"]
            for name, failure in self._failed.items():
                if message == f"name '{name}' is not defined":
                    problem = Difference("cell_failed", {"answer": name, **failure})
                    return with_offered(problem, self._packages)
            for cell, names in self._key.answers.items():
                lacking = [name for name in names if message == f"name '{name}' is not defined"]
                # what was defined may have been deleted again
                if lacking and lacking[0] not in self._bound.get(cell, ()):
                    found = self._own.elsewhere(self._key, grade_id)
                    return found or self._not_defined(cell, lacking[0])
        return with_offered(problem, self._packages)

    def _not_defined(self, cell: str, name: str) -> Difference:
        """An answer cell that ran, or is gone, and doesn't define its answer."""
        there = sorted(self._bound.get(cell, ()))[:MAX_NAMES]
        return Difference("not_defined", {"answer": name, "cell": cell, "names": there})


def _is_other(before: Judged, now: Judged) -> bool:
    """Whether a line gives another value than before on the same draw."""
    pair = before.fingerprint, now.fingerprint
    return NO_FINGERPRINT not in pair and not (same_fingerprint(*pair) or same_code_raised(*pair))


class _OwnDefinitions:
    """Where cells define the names of answers that have another cell."""

    def __init__(self, cells: Sequence[NotebookNode], key: AnswerKey) -> None:
        self._order = {cell.id: number for number, cell in enumerate(cells)}
        self._defined: dict[str, tuple[int, str]] = {}
        for number, cell in enumerate(cells):
            if _is_students_code(cell):
                for name in bound_names(cell.source) - {*key.answers.get(cell.id, ())}:
                    self._defined[name] = number, first_line(cell.source)

    def elsewhere(self, key: AnswerKey, grade_id: str) -> Difference | None:
        """The cell that defines an answer which its own cell doesn't; None if there is none."""
        for cell, names in key.answers.items():
            for name in names:
                if name in key.graded[grade_id] and name in self._defined:
                    place, line = self._defined[name]
                    below = place > self._order[grade_id]
                    told = {"answer": name, "cell": cell, "line": line, "below": below}
                    return Difference("answer_elsewhere", told)
        return None


def _is_students_code(cell: NotebookNode) -> bool:
    """Whether a cell of the sanitised notebook holds a student's code."""
    if cell.cell_type != "code":
        return False
    if "nbgrader" not in cell.metadata:
        return True
    return is_answer_cell(cell) and cell.source != MISSING


def _error_output(name: str, parameters: Mapping[str, Any]) -> NotebookNode:
    text = OUTPUTS[name](parameters)
    return nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def _for_display(source: str) -> str:
    """A student's code as it is shown. What is too long is cut: colouring takes quadratic time."""
    lines = plain_text(source[:MAX_SHOWN]).split("\n")
    cut = [ln if len(ln) <= MAX_SHOWN_LINE else f"{ln[:MAX_SHOWN_LINE]} ..." for ln in lines]
    return "\n".join(cut) + ("\n..." if len(source) > MAX_SHOWN else "")
