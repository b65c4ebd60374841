"""The checks as a student sees them: the `%%autotest` magic of the exercise notebooks."""

from __future__ import annotations

import contextlib
import copy
import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .compare import Difference, Expected, judge
from .draw import Draw
from .evaluate import Evaluation, evaluate
from .fold import Fold
from .grade_cell import Check, Relation, checks_with_inputs, parse_cell, read_relations
from .guide import Guide, Outcome, Way
from .hints import Explained, MistakeWords, in_steps
from .messages import sentence, title, uses_wrong
from .mistakes import (
    Judged,
    NamedMistake,
    Origin,
    Recognition,
    fingerprint,
    is_evidence,
    says_little,
)
from .packages import not_offered, with_offered
from .plain_data import unpack
from .plan import Known, Line, Plan, plan, with_asides
from .progress import Progress, Task
from .settings import usual_settings
from .telling import refined
from .violations import MODES, unexplained, violated, with_violations


def seed_of(grade_id: str) -> int:
    """What seeds the visible draw of a grade cell: its name alone."""
    return zlib.crc32(grade_id.encode())


NEXT = "Next: `hint()`, or `failing_case()` for an input to try; `progress()` shows your points."
# of what a student's code prints during a check
MAX_PRINTED, MAX_PRINTED_WIDTH = 3, 100
RUN_ABOVE = "Choose Run > Run All Above Selected Cell, then run this cell again."


class AutotestFailure(Exception):
    """Raised at the end of a grade cell that is not yet right, so that no tool takes it for done."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Checks:
    """The checks of one notebook.

    mistakes: by name; sections: where to read again, by grade cell; ways: by answer, others than the
    student's; tasks: in the notebook's order; packages: what may be imported, None if that isn't known;
    graded: by grade cell, the answers that it grades. display: prints what may be more than text.
    """

    def __init__(
        self,
        mistakes: Mapping[str, MistakeWords],
        sections: Mapping[str, str],
        ways: Mapping[str, Sequence[Way]] | None = None,
        tasks: Sequence[Task] = (),
        packages: Sequence[str] | None = None,
        graded: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._mistakes = mistakes
        self._sections = sections
        origins = {name: Origin(words.function, words.cell) for name, words in mistakes.items()}
        self._recognition = Recognition(origins)
        self._answers: Mapping[str, Mapping[str, dict]] = {}
        self._relations: Mapping[str, Sequence[Relation]] = {}
        cells: dict[str, set[str]] = {}
        for cell, answers in (graded or {}).items():
            for answer in answers:
                cells.setdefault(answer, set()).add(cell)
        self.guide = Guide(ways or {}, cells)
        self.progress = Progress(tasks)
        self._packages = packages
        self._warned: set[str] = set()
        self._graded = graded or {}
        self.display: Callable[[Any], object] = print
        self._explained = Explained(mistakes)
        # whether a grade cell has failed, in the order in which they ran first
        self._failed: dict[str, bool] = {}

    def use_answers(
        self,
        answers: Mapping[str, Mapping[str, dict]],
        relations: Mapping[str, Sequence[Relation]] | None = None,
    ) -> None:
        """What the checks compare with: grade cell -> expression -> answer, as the build baked it.

        relations: by grade cell, those that the build took out of it.
        """
        self._answers = answers
        self._relations = relations or {}

    def _answer(self, grade_id: str, check: Check) -> dict:
        if check.answer is not None:
            return unpack(check.answer)
        if not self._answers:
            raise AutotestFailure(f"The data of the checks is not loaded. {RUN_ABOVE}")
        try:
            return self._answers[grade_id][check.expression]
        except KeyError:
            raise AutotestFailure(
                f"This check isn't one of the course: {check.expression}. Undo your change, or take "
                "the cell from a fresh copy of the notebook."
            ) from None

    def run_cell(self, grade_id: str, source: str, definitions: Mapping[str, Any]) -> None:
        """Check a grade cell: show every line, then raise AutotestFailure if one is wrong."""
        cell = parse_cell(source)
        draw = Draw(seed_of(grade_id))
        found: list[tuple[Check, Difference | None]] = []
        judged, answers = [], {}
        printed = io.StringIO()
        drawn: dict[str, Any] = {}
        for check, drawn in checks_with_inputs(cell, draw):
            answer = answers[check.expression] = self._answer(grade_id, check)
            own = copy.deepcopy(drawn)
            given = definitions, own, draw.parameter_seed, cell.forbidden, check.megabytes
            got = _quietly(printed, check.code, *given)
            evaluation, expected = Evaluation.read(got), Expected.read(answer)
            if problem := judge(expected, evaluation):
                problem = refined(problem, check, drawn, expected, evaluation)
                problem = with_offered(problem, self._packages or ())
            found.append((check, problem))
            value = evaluation.value
            little = problem is not None and says_little(expected.value, value)
            evidence = bool(evaluation.forbidden) or is_evidence(expected.value, value)
            prints = fingerprint(value), answer["mistakes"]
            judged.append([Judged(problem is None, *prints, little, evidence)])
        earned = sum(check.points for check, problem in found if problem is None)
        self.progress.record(grade_id, earned)
        problems = [problem for _, problem in found]
        begun = [problem for problem in problems if problem is None or problem.aspect != "to_do"]
        if not begun and problems[0]:
            outcome = Outcome(cell, seed_of(grade_id), definitions, problems, answers, [])
            self.guide.record(grade_id, outcome)
            raise AutotestFailure(sentence(problems[0]))
        relations = [*cell.relations, *self._relations.get(grade_id, ())]

        def evaluated(code: str) -> Evaluation:
            given = definitions, copy.deepcopy(drawn), draw.parameter_seed, cell.forbidden
            return Evaluation.read(_quietly(io.StringIO(), code, *given))

        modes = [one for one in relations if any(problems) and one.says.startswith(MODES)]
        by_mode = any(violated(one, evaluated(one.expression).value) is not None for one in modes)
        named = self._recognition.cell(grade_id, judged, by_mode=by_mode)
        suspects = self._recognition.suspects(grade_id, judged)
        self._record_waiting(grade_id, earned, [check for check, _ in found], judged)
        number = unexplained(problems, named)
        if number is not None and relations:
            check, problem = found[number]
            assert problem is not None
            problems[number] = with_violations(problem, relations, evaluated)
            found[number] = check, problems[number]
        lines = zip(found, named, strict=True)
        failed = [(check, problem, one) for (check, problem), one in lines if problem]
        section = self._sections.get(grade_id)
        hints = in_steps(failed, suspects, self._mistakes, section) if failed else []
        outcome = Outcome(cell, seed_of(grade_id), definitions, problems, answers, hints)
        self.guide.record(grade_id, outcome)
        self._warn_of_packages(definitions)
        self._show(grade_id, found, named, suspects, printed.getvalue())

    def _record_waiting(
        self,
        grade_id: str,
        earned: float,
        checks: Sequence[Check],
        judged: Sequence[Sequence[Judged]],
    ) -> None:
        """Keep how many points wait for earlier answers."""
        waits = [self._recognition.waits_for(grade_id, line) for line in judged]
        waiting = sum(check.points for check, names in zip(checks, waits, strict=True) if names)
        self.progress.record(grade_id, earned, waiting, sorted(set().union(*waits)))

    def _warn_of_packages(self, definitions: Mapping[str, Any]) -> None:
        """Say once of each package that it may be missing where the notebook is graded."""
        if self._packages is None:
            return
        new = [n for n in not_offered(definitions, self._packages) if n not in self._warned]
        self._warned.update(new)
        if new:
            there = ", ".join(self._packages)
            print(
                f"Note: your notebook uses {', '.join(new)}. Where it is graded, only {there} and what comes "
                "with Python are certain to be there."
            )

    def _show(
        self,
        grade_id: str,
        found: list[tuple[Check, Difference | None]],
        named: list[NamedMistake | None],
        suspects: list[str],
        printed: str,
    ) -> None:
        self._explained.forget(grade_id)
        checks = [check for check, _ in found]
        problems = with_asides([problem for _, problem in found])
        known = Known(self._explained.cells, suspects, self._failed_before(grade_id))
        self._failed[grade_id] = any(problems)
        told = plan(problems, named, [sentence(p) if p else "" for p in problems], known)
        if told.repeated:
            self._show_again(checks, told, told.repeated)
        if told.suspects:
            those = "that" if len(told.suspects) == 1 else "those"
            print(f"{uses_wrong(told.suspects)}. Fix {those} first.")
        for check, line in zip(checks, told.lines, strict=True):
            if not line.folded:
                print(_marked(check, line))
                self._show_problem(grade_id, check, line)
        self._show_folded(checks, told)
        _show_printed(printed)
        if any(problems):
            self._show_section(grade_id, told)
            raise _not_yet(checks, told)

    def _failed_before(self, grade_id: str) -> bool:
        """Whether another cell of the same answer has run first, and is not right yet."""
        answers = set(self._graded.get(grade_id, ()))
        for cell, failed in self._failed.items():
            if cell == grade_id:
                return False
            if failed and answers & set(self._graded.get(cell, ())):
                return True
        return False

    def _show_problem(self, grade_id: str, check: Check, line: Line) -> None:
        """What is said below a line: what is wrong, and which mistake that is, in full once."""
        if line.problem is not None:
            print(f"    {sentence(line.problem)}")
        if line.mistake:
            words = self._explained.explain(line.mistake, check, grade_id)
            print("    " + words.replace("\n", "\n    "))

    def _show_folded(self, checks: Sequence[Check], told: Plan) -> None:
        """The lines of which nothing is said, those that failed and those that passed."""
        words = "because of this mistake" if told.sure else "as well"
        some = f"more lines are incorrect {words}" if told.says_how else "lines are incorrect"
        for passed, words in ((False, some), (True, "lines are correct")):
            pairs = zip(checks, told.lines, strict=True)
            folded = [pair for pair in pairs if pair[1].folded and pair[1].passed is passed]
            if len(folded) == 1:
                print(_marked(*folded[0]))
            elif folded:
                points = sum(check.points for check, _ in folded)
                mark = f"{_mark(passed, points)}{len(folded)} {words}"
                self.display(Fold(mark, [_marked(*pair) for pair in folded]))

    def _show_section(self, grade_id: str, told: Plan) -> None:
        """What to read."""
        mistake = self._mistakes[told.mistake] if told.mistake else None
        section = mistake.section if mistake else self._sections.get(grade_id)
        if section and not told.nothing_new:
            print(f"Read again: {section}")

    def _show_again(self, checks: Sequence[Check], told: Plan, name: str) -> None:
        """Say of a cell that a mistake which stands explained shows here, too, and raise AutotestFailure."""
        words = (
            f"the mistake that the checks `{self._explained.cells[name]}` show, in your "
            f"`{self._mistakes[name].function}`: {name}. Fix that first."
        )
        earned, total = _points(checks, told)
        pairs = zip(checks, told.lines, strict=True)
        lines = [_marked(*pair) for pair in pairs]
        self.display(Fold(f"✗ {earned:g}/{total:g} points   {words}", lines))
        raise _not_yet(checks, told)


def _marked(check: Check, line: Line) -> str:
    marked = f"{_mark(line.passed, check.points)}{title(check)}"
    return f"○{marked[1:]} (waits for the result)" if line.waits else marked


def _mark(passed: bool, points: float) -> str:
    mark, earned = ("✓", points) if passed else ("✗", 0)
    return f"{mark} {earned:g}/{points:g} points   "


def _points(checks: Sequence[Check], told: Plan) -> tuple[float, float]:
    """What a cell has earned, and what it is worth."""
    pairs = zip(checks, told.lines, strict=True)
    earned = sum(check.points for check, line in pairs if line.passed)
    return earned, sum(check.points for check in checks)


def _not_yet(checks: Sequence[Check], told: Plan) -> AutotestFailure:
    earned, total = _points(checks, told)
    return AutotestFailure(f"Not yet: {earned:g} of {total:g} points in this cell. {NEXT}")


def _quietly(printed: io.StringIO, code: str, *given: Any) -> dict:
    """What a line gives, with what it prints put aside."""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        return evaluate(code, *given)


def _show_printed(printed: str) -> None:
    """Show the first lines of what a student's code has printed during a check."""
    lines = printed.rstrip().splitlines()
    if not lines:
        return
    more = f", the first {MAX_PRINTED} of {len(lines)} lines" if len(lines) > MAX_PRINTED else ""
    print(f"Your code printed{more}:")
    for line in lines[:MAX_PRINTED]:
        print(f"    {line[:MAX_PRINTED_WIDTH]}")


def unanswered(definitions: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Those of some answers that aren't defined, or still hold what the notebook was handed out with."""

    def is_stub(answer: Any) -> bool:
        parts = vars(answer).values() if isinstance(answer, type) else [answer]
        codes = [part.__code__ for part in parts if hasattr(part, "__code__")]
        return any("NotImplementedError" in code.co_names for code in codes)

    return [name for name in names if name not in definitions or is_stub(definitions[name])]


def install_packed(packed: str) -> None:
    """Make `%%autotest` known to the notebook.

    packed: {"mistakes": {name: the fields of MistakeWords}, "sections": {grade cell: where to read
    again}, "ways": {answer: [the fields of Way]}, "tasks": [the fields of Task],
    "packages": names, "graded": {grade cell: answers}}.
    """
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    words = unpack(packed)
    mistakes = {name: MistakeWords(**mistake) for name, mistake in words["mistakes"].items()}
    ways = {answer: [Way(**way) for way in ways] for answer, ways in words["ways"].items()}
    tasks = [Task(**task) for task in words["tasks"]]
    given = words["sections"], ways, tasks, words["packages"], words["graded"]
    checks = Checks(mistakes, *given)
    checks.display = display

    def autotest(line: str, cell: str) -> None:
        # comparing must not raise either where a student's settings turn overflows into exceptions
        with usual_settings():
            checks.run_cell(line.strip(), cell, dict(shell.user_ns))

    def autotest_data(line: str, cell: str) -> None:
        # below the note; the build has not put it in when nbgrader runs the cell
        _, _, data = cell.strip().partition("\n")
        if data:
            checks.use_answers(unpack(data.rpartition("\n")[2]), read_relations(data))

    shell.register_magic_function(autotest, magic_kind="cell")
    shell.register_magic_function(autotest_data, magic_kind="cell")

    def progress() -> None:
        """Show your points by task and what is open."""
        display(checks.progress.report())

    def still_missing(*names: str) -> bool:
        """Whether some of these answers aren't written yet; says which."""
        found = unanswered(shell.user_ns, names)
        if found:
            print(f"Still missing: {', '.join(found)}. Write what is missing, and run its cell.")
        return bool(found)

    guide = checks.guide
    # a student's own function of that name stays
    names = {
        "failing_case": guide.failing_case,
        "hint": guide.hint,
        "discuss": guide.discuss,
        "progress": progress,
        "still_missing": still_missing,
    }
    shell.push({name: function for name, function in names.items() if name not in shell.user_ns})
