"""Follow-through marks: a later answer is not charged for an earlier one's fault.

In: a notebook and its final verdicts. Out: the verdicts with those lines that are right once right
versions stand in for earlier answers that are wrong, and of those that are still wrong what known mistakes are
compared with. The notebook runs once more, in a kernel of its own:

- After all lines of an answer, if any of them is wrong in both runs, its name is bound to a right
  version, which is sent to the kernel only then.
- A line that grades an answer never counts once a right version of that answer has been in the kernel.
  So code that gets hold of a right version gains what it would gain from having written it.
- Only whether a line is right, and which known mistake's values it gives, is kept of this run: no output,
  error, file or remark.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from autograder.grade.answer_key import AnswerKey
from autograder.grade.kernel_run import APART, KernelRun, Manner, Step, runs
from autograder.grade.result import CellResult, LineResult
from autograder.instructor_settings import Settings
from autograder.kernels.student_kernel import StudentKernel
from autograder.programs import names_in, reached
from autograder.runtime.mistakes import NO_FINGERPRINT, Judged

NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Followed:
    """The better verdicts; judged: by cells that are still wrong and numbers of lines, what these gave beside right
    versions; given: the answers in whose place these stood."""

    cells: tuple[CellResult, ...]
    judged: Mapping[str, Mapping[int, Sequence[Judged]]] = field(default_factory=dict)
    given: frozenset[str] = frozenset()


def follow_through(
    steps: Sequence[Step],
    key: AnswerKey,
    cells: Sequence[CellResult],
    settings: Settings,
    start: Callable[[], AbstractContextManager[StudentKernel]],
    manner: Manner = APART,
) -> Followed:
    """The better verdict of every line; a second kernel is started only if that can change one.

    steps: the notebook as it was run; cells: its verdicts; start: a kernel as the first run's was; manner: of the first
    of the second runs. Raises KernelStartError.
    """
    if not SecondRun(steps, key, cells).is_needed():
        return Followed(tuple(cells))

    def run(manner: Manner) -> SecondRun:
        second = SecondRun(steps, key, cells)
        with start() as kernel:
            second.go(KernelRun(kernel, settings.limits, manner, settings.until))
        return second

    *_, (_, second) = runs(manner, run)
    better = tuple(replace(cell, lines=tuple(second.lines[cell.grade_id])) for cell in cells)
    still_wrong = {cell.grade_id for cell in better if not cell.passed}
    judged = {name: found for name, found in second.judged.items() if name in still_wrong}
    return Followed(better, judged, frozenset(second.replaced))


@dataclass(frozen=True)
class _Place:
    """Where a line stands: its grade cell, and its number there."""

    cell: str
    number: int


class SecondRun:
    """A notebook's second run: the better verdicts so far, and in whose place right versions stand.

    lines: the verdicts by grade cell; judged: as in `Followed`, of all cells; replaced: the answers in whose
    place right versions stand; ended_itself: as for `KernelRun`.
    """

    ended_itself = False

    def __init__(self, steps: Sequence[Step], key: AnswerKey, cells: Sequence[CellResult]) -> None:
        self.lines: dict[str, list[LineResult]] = {
            cell.grade_id: list(cell.lines) for cell in cells
        }
        self.judged: dict[str, dict[int, Sequence[Judged]]] = {}
        self._steps, self._key = steps, key
        self._order = {step.name: number for number, step in enumerate(steps)}
        # an answer's last grade cell
        self._last = {name: cell for cell in self.lines for name in key.graded[cell]}
        self.replaced: list[str] = []
        self._uses: dict[str, set[str]] = {}
        self._places: list[_Place] = []
        if any(not cell.passed for cell in cells):
            self._uses = uses_of(steps, key)
            self._places = list(self._could_change())

    def is_needed(self) -> bool:
        """Whether a right version in some answer's place can change a verdict."""
        return bool(self._places)

    def go(self, run: KernelRun) -> None:
        """Run the notebook up to the last line that can change; TimeoutError if the clock stopped it."""
        last = max(self._order[place.cell] for place in self._places)
        for step in self._steps[: last + 1]:
            if run.ended:
                break
            if step.graded:
                self._ask_again(run, step.name)
                self._replace_wrong(run, step.name)
            else:
                run.run_cell(step.source, step.name)
        if run.by_clock:
            raise TimeoutError("it was stopped by the clock")
        self.ended_itself = run.ended_itself

    def _ask_again(self, run: KernelRun, cell: str) -> None:
        expected = self._key.cells[cell]
        deadline = time.monotonic() + max(map(run.seconds, expected.lines))
        if set(self._key.graded[cell]) & set(self.replaced):
            return
        lines = self.lines[cell]
        given = {
            place.number: tuple(n for n in self.replaced if self._depends(place, n))
            for place in self._places
            if place.cell == cell
        }
        for message in expected.messages:
            numbers = [number for number in message if given.get(number)]
            asked = [expected.lines[number] for number in numbers]
            checks = [None] * len(numbers)
            answers = run.ask_all(asked, expected.forbidden, deadline, checks)
            for number, answer in zip(numbers, answers, strict=True):
                if answer.problem is None:
                    lines[number] = replace(lines[number], difference=None, given=given[number])
                judged = [one for one, _ in answer.judged]
                if all(one.fingerprint != NO_FINGERPRINT for one in judged):
                    self.judged.setdefault(cell, {})[number] = judged

    def _replace_wrong(self, run: KernelRun, cell: str) -> None:
        """Bind answers whose last grade cell this is to right versions, if they are wrong and needed."""
        for name in self._key.graded[cell]:
            needed = any(self._counts_after(place, name) for place in self._places)
            right = self._key.right_versions.get(name)
            if right and self._last[name] == cell and needed and self._is_wrong(name):
                run.define(name, right)
                self.replaced.append(name)

    def _is_wrong(self, name: str) -> bool:
        """Whether the better verdict on an answer is a failure."""
        return any(
            not line.passed
            for cell, lines in self.lines.items()
            if name in self._key.graded[cell]
            for line in lines
        )

    def _could_change(self) -> Iterator[_Place]:
        """The lines that failed and depend on an earlier answer that failed."""
        changed = _changed_sources(self._steps, self._key)
        known = [name for name in self._last if name in self._key.right_versions]
        wrong = [name for name in known if self._is_wrong(name)]
        for cell, lines in self.lines.items():
            if not any(_mentions(changed, name) for name in self._key.graded[cell]):
                # nobody has answered it
                continue
            for number, line in enumerate(lines):
                place = _Place(cell, number)
                if not line.passed and any(self._counts_after(place, name) for name in wrong):
                    yield place

    def _counts_after(self, place: _Place, name: str) -> bool:
        """Whether a line can change once a right version of an answer is in place."""
        return (
            name not in self._key.graded[place.cell]
            and self._order[self._last[name]] < self._order[place.cell]
            and self._depends(place, name)
        )

    def _depends(self, place: _Place, name: str) -> bool:
        """Whether a line uses an answer, directly or through others, or found no kernel any more."""
        line = self.lines[place.cell][place.number]
        if line.difference is not None and line.difference.aspect == "ended":
            return True
        used = names_in(self._key.cells[place.cell].lines[place.number].code)
        return name in reached(used, self._uses)


def _changed_sources(steps: Sequence[Step], key: AnswerKey) -> list[str]:
    """The code that a student wrote."""
    released = {cell.id: cell.source for cell in key.release.cells}
    return [
        step.source for step in steps if not step.graded and step.source != released.get(step.name)
    ]


def _mentions(sources: Sequence[str], name: str) -> bool:
    return any(name in NAME.findall(source) for source in sources)


def uses_of(steps: Sequence[Step], key: AnswerKey) -> dict[str, set[str]]:
    """The names that every name uses, in the reference and in what was handed in.

    A name that is bound by a statement uses that statement, which uses its names: written out, thousands
    of names in one statement would be millions of pairs.
    """
    found = {name: set(used) for name, used in key.uses.items()}
    for step in steps:
        statements = () if step.graded else _definitions(step.source)
        for number, (defined, used) in enumerate(statements):
            statement = f"{step.name}, statement {number}"
            found[statement] = used
            for name in defined:
                found.setdefault(name, set()).add(statement)
    return found


def _definitions(source: str) -> Iterator[tuple[set[str], set[str]]]:
    """The names that each statement of a cell binds, and those that it uses."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # a magic or a slip: what the cell names may depend on what it names
        words = set(NAME.findall(source))
        yield words, words
        return
    for node in tree.body:
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        bound = {part.id for part in names if isinstance(part.ctx, ast.Store)}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound = {node.name}
        yield bound, {part.id for part in names}
