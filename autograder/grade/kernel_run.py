"""One run through a notebook in a student's kernel: cells are run, checks are asked and judged.

In: a kernel, an answer key's lines, limits. Out: replies, and every draw of a line judged. What a kernel
answers is trusted in nothing.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from nbformat import NotebookNode

from autograder.exercises import CHECK_CELLS, is_grade_cell, metadata_of
from autograder.expected import ExpectedDraw, ExpectedLine
from autograder.instructor_settings import Limits
from autograder.kernels.kernel_memory import NOTEBOOK_BYTES
from autograder.kernels.processor_time import CLOCK
from autograder.kernels.student_kernel import Reply, StudentKernel
from autograder.runtime.compare import Difference, Expected, judge
from autograder.runtime.evaluate import Evaluation
from autograder.runtime.grade_cell import Check
from autograder.runtime.guide import STUBS
from autograder.runtime.mistakes import (
    NO_FINGERPRINT,
    Judged,
    fingerprint,
    is_evidence,
    says_little,
)
from autograder.runtime.plain_data import (
    Array,
    Dictionary,
    Error,
    Items,
    Value,
    decode,
    restore,
    valid_text,
)
from autograder.runtime.telling import refined
from autograder.text import valid_json

# How much of a grade cell's time lines may take together in one message, before each is asked for alone:
# what is right takes a hundredth.
SHARE = 0.25
# a reply's characters, and its lists, objects and commas: what is right has a quarter of either at most
MAX_VALUE, MAX_PARTS = 4_000_000, 30_000
# seconds after each of a student's cells in a run that is to find the cell that ends the process
PAUSE = 1.0
# what may end a process at a moment of its own: a limit of time doesn't
OWN_ENDS = ("exit", "memory")
# What Python says where a limit on processes lets none begin: a thread, or a process by `fork`.
NO_THREAD = (
    ("RuntimeError", "can't start new thread"),
    ("BlockingIOError", f"[Errno {errno.EAGAIN}] {os.strerror(errno.EAGAIN)}"),
)
# numbers of which a fingerprint is made, which takes microseconds for each: what is right
# has a third of this at most
MAX_NUMBERS = 100_000
# What is kept of a difference, in characters of JSON; of more, so many items of a list and characters of a text. Every
# command reads all results, and a sentence shows six names.
MAX_KEPT, KEPT_ITEMS, KEPT_TEXT = 15_000, 50, 200


@dataclass(frozen=True)
class Step:
    """A code cell as it is run: name is its cell's id; graded: whether it holds checks."""

    name: str
    source: str
    graded: bool


def is_run(cell: NotebookNode) -> bool:
    """Whether a cell of a sanitised notebook is run or asked."""
    return cell.cell_type == "code" and metadata_of(cell).get("grade_id") not in CHECK_CELLS


def steps_of(notebook: NotebookNode) -> tuple[Step, ...]:
    """The steps of a sanitised notebook, in its order."""
    return tuple(
        Step(cell.id, cell.source, is_grade_cell(cell)) for cell in notebook.cells if is_run(cell)
    )


class UnclearAnswerError(Exception):
    """Lines that were asked for together have no answers from which nothing is missing."""


@dataclass(frozen=True)
class Manner:
    """How a submission is run.

    together: several lines are asked for in one message, where that can be done; pausing: each of the student's
    cells is waited for, so that a process which such a cell ends a little later ends there.
    """

    together: bool = False
    pausing: bool = False


TOGETHER, APART, PAUSING = Manner(together=True), Manner(), Manner(pausing=True)


class Ran(Protocol):
    """What came of a run."""

    @property
    def ended_itself(self) -> bool:
        """As for `KernelRun`."""


T = TypeVar("T", bound=Ran)


def runs(first: Manner, run: Callable[[Manner], T]) -> Iterator[tuple[Manner, T]]:
    """The runs of a submission that can be used, each with its manner; the last one counts.

    What lines give that were asked for together, and aren't clear, shows when each has a message of its own. A process
    that ended itself may have done so later than the cell that did it, at a moment of chance: so another
    run follows, which pauses.
    """
    manner = first
    while True:
        try:
            found = run(manner)
        except UnclearAnswerError:
            manner = APART
            continue
        yield manner, found
        if manner.pausing or not found.ended_itself:
            return
        manner = PAUSING


@dataclass(frozen=True)
class Answer:
    """What a kernel answered for a line: every draw judged, and what was printed meanwhile."""

    judged: Sequence[tuple[Judged, Difference | None]]
    printed: str = ""

    @property
    def problem(self) -> Difference | None:
        """The first draw's difference that isn't right; None when all are."""
        return next((difference for _, difference in self.judged if difference is not None), None)


class KernelRun:
    """A run through a notebook; kernel: None for a notebook without code.

    until: as in `Settings`; ended: why there is no kernel any more, if there is none; unlimited:
    whether a line ran whose memory should have been limited from outside, and could not be; by_clock:
    whether something was stopped before it had used its processor time.
    """

    def __init__(
        self,
        kernel: StudentKernel | None,
        limits: Limits,
        manner: Manner = APART,
        until: float = math.inf,
    ) -> None:
        self.kernel = kernel
        self.limits = limits
        self._manner = manner
        self.until = until
        self.ended: Difference | None = None
        self.unlimited = False
        self.by_clock = False
        self._deadline = time.monotonic() + limits.notebook_seconds
        # the deadline that was asked for last, and how long the kernel has waited since it was set, and in all
        self._asked, self._waited, self._waited_in_all = 0.0, 0.0, 0.0
        # likewise how long it was ready to compute and had no processor
        self._ready, self._ready_in_all = 0.0, 0.0
        if kernel is not None:
            # what the notebook's own checks offer does nothing here
            kernel.run(STUBS, limits.cell_seconds)

    @property
    def _started(self) -> StudentKernel:
        assert self.kernel is not None, "a notebook without code has nothing to run"
        return self.kernel

    @property
    def ended_itself(self) -> bool:
        """Whether the process ended by what it did, and perhaps later than the cell that did it."""
        return self.ended is not None and self.ended.parameters["reason"] in OWN_ENDS

    def run_cell(self, source: str, name: str) -> Reply:
        """Run a cell that isn't graded; name: its grade_id, empty for one of the student's own."""
        limits, kernel = self.limits, self._started
        self._end_in_time()
        waited = min(self._waited_in_all, (CLOCK - 1) * limits.notebook_seconds)
        if time.monotonic() > self._deadline + self._ready_in_all + waited and not kernel.dead:
            kernel.kill()
            self.by_clock |= waited < self._waited_in_all
            self.ended = _ended("notebook_time", seconds=limits.notebook_seconds)
        reply = kernel.run(source, limits.cell_seconds)
        if self._manner.pausing:
            begun = time.monotonic()
            kernel.wait_for_end(PAUSE)
            self._waited_in_all += time.monotonic() - begun
        self._note_time(reply)
        self._note_end(reply, **({"cell": name} if name else {"own": first_line(source)}))
        return reply

    def define(self, name: str, expression: str) -> None:
        """Bind a name of the notebook to what an expression gives."""
        self._note_end(self._started.define(name, expression, self.limits.cell_seconds))

    def seconds(self, line: ExpectedLine) -> float:
        """How long a line may take."""
        own = line.agreement and line.agreement.seconds
        return own or self.limits.grade_cell_seconds

    def ask_all(
        self,
        lines: Sequence[ExpectedLine],
        forbidden: Sequence[str],
        deadline: float,
        checks: Sequence[Check | None],
    ) -> list[Answer]:
        """As `ask`, for lines of one of a cell's messages; what they print comes with the first.

        Together, they are answered as if each had been asked for alone, or not at all: raises
        UnclearAnswerError when one takes long, ends the process, gives nothing that can be read, or prints
        more than is kept. Then nothing of this run can be used.
        """
        allowed = self.limits.grade_cell_seconds
        self._end_in_time()
        left = self._seconds_left(deadline, allowed)
        alone = len(lines) < 2 or not self._manner.together or left <= 0
        if alone or self.kernel is None or self.kernel.dead:
            pairs = zip(lines, checks, strict=True)
            return [self.ask(line, forbidden, deadline, check) for line, check in pairs]
        requests = [_request(line, forbidden) for line in lines]
        reply = self.kernel.ask_together(requests, min(left, SHARE * allowed))
        self._note_time(reply)
        if reply.status != "ok" or self.kernel.dead or reply.cut:
            raise UnclearAnswerError
        answers: list[Answer] = []
        for line, check, value in zip(lines, checks, reply.values, strict=True):
            try:
                evaluations = _evaluations(value or "", len(line.asked))
            except (ValueError, RecursionError, MemoryError) as error:
                raise UnclearAnswerError from error
            printed = "" if answers else _printed(reply)
            answers.append(self._judged(line, check, _Evaluations(evaluations, printed)))
        return answers

    def ask(
        self,
        line: ExpectedLine,
        forbidden: Sequence[str],
        deadline: float,
        check: Check | None = None,
    ) -> Answer:
        """What the kernel answers for a line, every draw judged.

        deadline: on the monotonic clock, when a kernel that never waits has used up its time; check: as the
        notebook holds it, to tell how a value is wrong.
        """
        return self._judged(line, check, self._answer(line, forbidden, deadline))

    def _judged(self, line: ExpectedLine, check: Check | None, found: _Evaluations) -> Answer:
        if isinstance(found.evaluations, Difference):
            judged: list[tuple[Judged, Difference | None]] = [
                (Judged(False, NO_FINGERPRINT, draw.mistakes), found.evaluations)
                for draw in line.asked
            ]
        else:
            pairs = zip(line.asked, found.evaluations, strict=True)
            judged = [_judged(check, *pair) for pair in pairs]
        return Answer(judged, found.printed)

    def _answer(
        self, line: ExpectedLine, forbidden: Sequence[str], deadline: float
    ) -> _Evaluations:
        kernel = self.kernel
        if kernel is None:
            return _Evaluations(Difference("no_code"))
        self._end_in_time()
        allowed = {"seconds": self.seconds(line)}
        seconds = self._seconds_left(deadline, self.seconds(line))
        # also when the kernel died of it: whether it could be interrupted depends on the machine's load
        if seconds <= 0:
            self.by_clock |= (CLOCK - 1) * self.seconds(line) < self._waited
            return _Evaluations(Difference("time_used_up", allowed))
        if kernel.dead:
            return _Evaluations(self.ended or _ended("exit"))
        request = _request(line, forbidden)
        timed = bool(line.agreement and line.agreement.processor_seconds)
        if line.megabytes is None:
            reply = kernel.ask(request, seconds, timed)
        else:
            with kernel.limited_memory(line.megabytes) as refused:
                unlimited = refused is None
                self.unlimited |= unlimited
                request |= {"megabytes": line.megabytes, "counted": unlimited}
                if refused:
                    return _Evaluations(
                        Difference(refused, {"megabytes": NOTEBOOK_BYTES // 1_000_000})
                    )
                reply = kernel.ask(request, seconds, timed)
        printed = _printed(reply)
        self._note_time(reply)
        self._note_end(reply, expression=line.expression)
        if reply.status == "timeout":
            return _Evaluations(Difference("timeout", allowed), printed)
        if reply.value is None:
            nothing = Difference("unreadable", {"reason": ""})
            return _Evaluations(self.ended or nothing, printed)
        try:
            evaluations = _evaluations(reply.value, len(line.asked))
        except (ValueError, RecursionError, MemoryError) as error:
            reason = {"reason": valid_text(error, 200)}
            return _Evaluations(Difference("unreadable", reason), printed)
        if reply.processor_seconds is not None:
            # what was measured from outside, whatever the kernel says
            evaluations = [_with_time(one, reply.processor_seconds) for one in evaluations]
        if line.megabytes is not None and any(_was_refused_a_thread(one) for one in evaluations):
            return _Evaluations(Difference("memory_threads"), printed)
        return _Evaluations(evaluations, printed)

    def _seconds_left(self, deadline: float, allowed: float) -> float:
        """How long a line may still take, what the kernel has waited not counted; allowed: in all."""
        if deadline != self._asked:
            self._asked, self._waited = deadline, 0.0
            self._ready = 0.0
        return deadline + self._ready + min(self._waited, (CLOCK - 1) * allowed) - time.monotonic()

    def evaluation(
        self, code: str, inputs: Mapping[str, dict], seed: int, forbidden: Sequence[str]
    ) -> Evaluation | None:
        """What the kernel answers for code that no grade depends on; None for no answer.

        It may end the kernel, so nothing can be graded afterwards.
        """
        self._end_in_time()
        if self.kernel is None or self.kernel.dead:
            return None
        draws = [{"inputs": dict(inputs), "parameter_seed": seed}]
        request = {"expression": code, "forbidden": list(forbidden), "draws": draws}
        reply = self.kernel.ask(request, self.limits.grade_cell_seconds)
        if reply.status == "timeout":
            self.kernel.kill()
        try:
            return Evaluation.read(_evaluations(reply.value or "", 1)[0])
        except (ValueError, RecursionError, MemoryError):
            return None

    def again(
        self, lines: Sequence[ExpectedLine], forbidden: Sequence[str]
    ) -> list[list[Judged]] | None:
        """What the kernel answers for lines that were asked for before, by line and draw; None for no answer.

        It may end the kernel, so nothing can be graded afterwards.
        """
        self._end_in_time()
        if self.kernel is None or self.kernel.dead:
            return None
        requests = [_request(line, forbidden) for line in lines]
        reply = self.kernel.ask_together(requests, self.limits.grade_cell_seconds)
        try:
            found = [
                zip(line.asked, _evaluations(value or "", len(line.asked)), strict=True)
                for line, value in zip(lines, reply.values, strict=True)
            ]
        except (ValueError, RecursionError, MemoryError):
            return None
        return [[_judged(None, *pair)[0] for pair in line] for line in found]

    def _end_in_time(self) -> None:
        """End the kernel if no code is to be run any more."""
        if time.monotonic() > self.until and self.kernel is not None and not self.kernel.dead:
            self.kernel.kill()
            self.by_clock = True
            self.ended = _ended("no_time_left")

    def _note_time(self, reply: Reply) -> None:
        """Keep how long the kernel has waited for other than itself."""
        self._ready += reply.ready
        self._ready_in_all += reply.ready
        self._waited += reply.waited
        self._waited_in_all += reply.waited
        self.by_clock |= reply.by_clock

    def _note_end(self, reply: Reply, **where: str) -> None:
        """Keep why the kernel ended, if it did so just now."""
        if self._started.dead and not self.ended:
            # after a timeout a kernel is only ended when interrupting it was to no avail
            status = "not_interrupted" if reply.status == "timeout" else "exit"
            reason = self._started.limit or status
            self.ended = _ended(reason, memory_gb=self.limits.memory_bytes / 1e9, **where)


def first_line(source: str) -> str:
    """The first line of a cell that says something."""
    lines = (line.strip() for line in source.split("\n"))
    return valid_text(next(filter(None, lines), ""), 60)


@dataclass(frozen=True)
class _Evaluations:
    """A line's evaluations by draw, or why there are none."""

    evaluations: Sequence[object] | Difference
    printed: str = ""


def _request(line: ExpectedLine, forbidden: Sequence[str]) -> dict[str, Any]:
    """A line as `runtime.evaluate.serve` is asked for it, with all draws of one time."""
    draws = [{"inputs": draw.inputs, "parameter_seed": draw.parameter_seed} for draw in line.asked]
    return {"expression": line.code, "forbidden": list(forbidden), "draws": draws}


def _printed(reply: Reply) -> str:
    return "".join(output["text"] for output in reply.outputs if output["output_type"] == "stream")


def _ended(reason: str, **parameters: float | str) -> Difference:
    """Why there is no kernel any more; reason: one of `words.ENDS`."""
    return Difference("ended", {"reason": reason, **parameters})


def _evaluations(value: str, draws: int) -> list[object]:
    """The evaluations in a kernel's reply, one for every draw; ValueError when it has other data."""
    if len(value) > MAX_VALUE:
        raise ValueError("it is too large")
    # judging takes time with the number of parts; a forged reply may have a part in every two characters
    if sum(map(value.count, "[{,")) > MAX_PARTS:
        raise ValueError("it has too many parts")
    found = valid_json(value)
    if not isinstance(found, list) or len(found) != draws:
        raise ValueError("it is not plain data")
    return found


def _with_time(evaluation: object, seconds: float) -> object:
    """A kernel's evaluation with another processor time."""
    if isinstance(evaluation, dict):
        return {**evaluation, "processor_seconds": seconds}
    return evaluation


def _was_refused_a_thread(evaluation: object) -> bool:
    """Whether a kernel's evaluation ended because no thread and no process may be started."""
    with contextlib.suppress(ValueError, RecursionError, MemoryError):
        value = Evaluation.read(evaluation).value
        return isinstance(value, Error) and (value.name, value.message) in NO_THREAD
    return False


def _judged(
    check: Check | None, draw: ExpectedDraw, evaluation: object
) -> tuple[Judged, Difference | None]:
    """One draw; a kernel's answer may be any nonsense, so anything but a pass is a fail."""
    try:
        read = Evaluation.read(evaluation)
        expected = Expected.read(draw.expected)
        problem = judge(expected, read)
        if problem and check:
            inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
            problem = refined(problem, check, inputs, expected, read)
        # of what is too large to be a known mistake's value, no fingerprint is made
        comparable = _size(read.value) <= MAX_NUMBERS
        own = fingerprint(read.value) if comparable else NO_FINGERPRINT
        little = problem is not None and (not comparable or says_little(expected.value, read.value))
        evidence = bool(read.forbidden) or is_evidence(expected.value, read.value)
        return Judged(problem is None, own, draw.mistakes, little, evidence), _kept(problem)
    except Exception as error:
        problem = Difference("not_plain", {"reason": valid_text(error, 100)})
        return Judged(False, NO_FINGERPRINT, draw.mistakes), problem


def _kept(problem: Difference | None) -> Difference | None:
    """A difference as it is stored: shorter where a kernel has made it very long."""
    if problem is None or len(json.dumps(dict(problem.parameters))) <= MAX_KEPT:
        return problem
    return replace(problem, parameters=_shortened(dict(problem.parameters)))


def _shortened(data: Any) -> Any:
    """JSON data with the beginnings of long lists and texts."""
    match data:
        case str():
            return data[:KEPT_TEXT]
        case list() | tuple():
            return [_shortened(item) for item in data[:KEPT_ITEMS]]
        case dict():
            return {name: _shortened(item) for name, item in data.items()}
    return data


def _size(value: Value) -> int:
    """How many numbers, texts and the like a value has."""
    match value:
        case Array(values=values):
            return values.size
        case Items(items):
            return sum(map(_size, items))
        case Dictionary(items):
            return sum(map(_size, items.values()))
    return 1
