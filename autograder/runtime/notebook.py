"""The checks as a student sees them: the `%%autotest` magic of the exercise notebooks."""

from __future__ import annotations

import contextlib
import copy
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .compare import Difference, Expected, judge
from .draw import Draw
from .evaluate import Evaluation, evaluate, one_thread, usual_settings
from .grade_cell import Check, checks_with_inputs, parse_cell
from .guide import Guide, Outcome, Way
from .messages import explanation, sentence, title
from .mistakes import Home, Judged, Named, Recognition, fingerprint, says_little
from .packages import not_offered, with_offered
from .plain_data import unpack
from .progress import Progress, Task
from .telling import told as as_told


def seed_of(grade_id: str) -> int:
    """What seeds the visible draw of a grade cell: its name alone."""
    return zlib.crc32(grade_id.encode())


# differences that no inputs explain
WITHOUT_CASE = ("kind", "keys", "parameters")
RUN_ABOVE = "Choose Run > Run All Above Selected Cell, then run this cell again."


class AutotestFailure(Exception):
    """Raised at the end of a grade cell that is not yet right, so that no tool takes it for done."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class ToldMistake:
    """What is said about a known mistake; section: where to read again, empty when not known."""

    function: str
    cell: str
    means: str
    hint: str
    section: str


class Checks:
    """The checks of one notebook.

    mistakes: by name; sections: where to read again, by grade cell; ways: by answer, others than the
    student's; tasks: in the notebook's order; packages: what may be imported, None if that isn't known;
    graded: by grade cell, the answers that it grades.
    """

    def __init__(
        self,
        mistakes: Mapping[str, ToldMistake],
        sections: Mapping[str, str],
        ways: Mapping[str, Sequence[Way]] | None = None,
        tasks: Sequence[Task] = (),
        packages: Sequence[str] | None = None,
        graded: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._mistakes = mistakes
        self._sections = sections
        homes = {name: Home(told.function, told.cell) for name, told in mistakes.items()}
        self._recognition = Recognition(homes)
        self._answers: Mapping[str, Mapping[str, dict]] = {}
        cells: dict[str, set[str]] = {}
        for cell, answers in (graded or {}).items():
            for answer in answers:
                cells.setdefault(answer, set()).add(cell)
        self.guide = Guide(ways or {}, cells)
        self.progress = Progress(tasks)
        self._packages = packages
        self._warned: set[str] = set()

    def use_answers(self, answers: Mapping[str, Mapping[str, dict]]) -> None:
        """What the checks compare with: grade cell -> expression -> answer, as the build baked it."""
        self._answers = answers

    def _answer(self, grade_id: str, check: Check) -> dict:
        if check.answer is not None:
            return unpack(check.answer)
        if not self._answers:
            raise AutotestFailure(f"The data of the checks is not loaded. {RUN_ABOVE}")
        try:
            return self._answers[grade_id][check.expression]
        except KeyError:
            raise AutotestFailure(
                f"This check is not one of the course's: {check.expression}. Undo your change, or take "
                "the cell from a fresh copy of the notebook."
            ) from None

    def run_cell(self, grade_id: str, source: str, definitions: Mapping[str, Any]) -> None:
        """Check a grade cell: show every line, then raise AutotestFailure if one is wrong."""
        cell = parse_cell(source)
        draw = Draw(seed_of(grade_id))
        found: list[tuple[Check, Difference | None]] = []
        judged, answers = [], {}
        for check, inputs in checks_with_inputs(cell, draw):
            answer = answers[check.expression] = self._answer(grade_id, check)
            timed = one_thread() if check.agreement else contextlib.nullcontext()
            with contextlib.redirect_stderr(sys.stdout), timed:
                seed, forbidden, own = draw.parameter_seed, cell.forbidden, copy.deepcopy(inputs)
                given = check.expression, definitions, own, seed, forbidden, check.megabytes
                got = evaluate(*given)
            evaluation, expected = Evaluation.read(got), Expected.read(answer)
            if problem := judge(expected, evaluation):
                problem = as_told(problem, check, inputs, expected, evaluation)
                problem = with_offered(problem, self._packages or ())
            found.append((check, problem))
            value = evaluation.value
            little = problem is not None and says_little(value)
            prints = fingerprint(value), answer["mistakes"]
            judged.append([Judged(problem is None, *prints, little)])
        self.progress.record(grade_id, sum(c.points for c, problem in found if problem is None))
        problems = [problem for _, problem in found]
        begun = [problem for problem in problems if problem is None or problem.aspect != "to_do"]
        if not begun and problems[0]:
            outcome = Outcome(cell, seed_of(grade_id), definitions, problems, answers, [])
            self.guide.record(grade_id, outcome)
            raise AutotestFailure(sentence(problems[0]))
        named = self._recognition.cell(grade_id, judged)
        suspects = self._recognition.suspects(grade_id, judged)
        hints = self._hints(grade_id, found, named, suspects)
        outcome = Outcome(cell, seed_of(grade_id), definitions, problems, answers, hints)
        self.guide.record(grade_id, outcome)
        self._warn_of_packages(definitions)
        self._show(grade_id, found, named, suspects)

    def _warn_of_packages(self, definitions: Mapping[str, Any]) -> None:
        """Say once of each package that it may be missing where the notebook is graded."""
        if self._packages is None:
            return
        new = [n for n in not_offered(definitions, self._packages) if n not in self._warned]
        self._warned.update(new)
        if new:
            there = ", ".join(self._packages)
            print(
                f"Note: your notebook uses {', '.join(new)}. Where it is graded, you can count on {there} "
                "and what comes with Python only."
            )

    def _hints(
        self,
        grade_id: str,
        found: list[tuple[Check, Difference | None]],
        named: list[Named | None],
        suspects: list[str],
    ) -> list[str]:
        """What is tested, which mistake it may be, where to look, what to read: as far as it is known."""
        lines = zip(found, named, strict=True)
        failed = [(check, problem, name) for (check, problem), name in lines if problem]
        if not failed:
            return []
        # a check and what explains it, and no explanation of another check
        check, problem, name = next((one for one in failed if one[2]), failed[0])
        hints = [f"Your answer should pass this: {title(check)}. At present: {sentence(problem)}."]
        section = self._sections.get(grade_id)
        if name:
            mistake = self._mistakes[name.name]
            hints += [mistake.means, f"In `{mistake.function}`: {mistake.hint}"]
            section = mistake.section
        elif suspects:
            names = ", ".join(f"`{name}`" for name in suspects)
            hints.append(f"This uses your {names}, where something is not right yet.")
        elif problem.parameters.get("line"):
            hints.append(f"Look at this line of yours: {problem.parameters['line']}")
        elif problem.aspect not in WITHOUT_CASE:
            hints.append("`case = failing_case()` gives you small inputs to try: print(case).")
        return [*hints, f"Read again: {section}"] if section else hints

    def _show(
        self,
        grade_id: str,
        found: list[tuple[Check, Difference | None]],
        named: list[Named | None],
        suspects: list[str],
    ) -> None:
        messages = [sentence(problem) if problem else "" for _, problem in found]
        for number, (check, problem) in enumerate(found):
            mark, earned = ("✗", 0) if problem else ("✓", check.points)
            print(f"{mark} {earned:g}/{check.points:g} points   {title(check)}")
            if problem is None:
                continue
            message = messages[number]
            if message not in messages[:number]:
                more = messages[number:].count(message) - 1
                also = f"  (the same in {more} more {'check' if more == 1 else 'checks'})"
                print(f"    {message}{also if more else ''}")
            if mistake := named[number]:
                told = self._mistakes[mistake.name]
                words = explanation(mistake.name, told, check.expression, mistake.by_line)
                print("    " + words.replace("\n", "\n    "))
            if check.says:
                print(f"    Checked: {check.expression}")
        earned = sum(check.points for check, problem in found if problem is None)
        if all(problem is None for _, problem in found):
            return
        mistake = next(filter(None, named), None)
        if suspects and not mistake:
            names = ", ".join(f"`{name}`" for name in suspects)
            print(f"This uses your {names}, where something is not right yet. Mend that first.")
        section = self._mistakes[mistake.name].section if mistake else self._sections.get(grade_id)
        if section:
            print(f"Read again: {section}")
        total = sum(check.points for check, _ in found)
        raise AutotestFailure(f"Not yet: {earned:g} of {total:g} points in this cell.")


def install_packed(packed: str) -> None:
    """Make `%%autotest` known to the notebook.

    packed: {"mistakes": {name: the fields of ToldMistake}, "sections": {grade cell: where to read
    again}, "ways": {answer: [the fields of Way]}, "tasks": [the fields of Task],
    "packages": names, "graded": {grade cell: answers}}.
    """
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    words = unpack(packed)
    mistakes = {name: ToldMistake(**mistake) for name, mistake in words["mistakes"].items()}
    ways = {answer: [Way(**way) for way in ways] for answer, ways in words["ways"].items()}
    tasks = [Task(**task) for task in words["tasks"]]
    checks = Checks(mistakes, words["sections"], ways, tasks, words["packages"], words["graded"])

    def autotest(line: str, cell: str) -> None:
        # comparing must not raise either where a student's settings turn overflows into exceptions
        with usual_settings():
            checks.run_cell(line.strip(), cell, dict(shell.user_ns))

    def autotest_data(line: str, cell: str) -> None:
        # below the note; the build has not put it in when nbgrader runs the cell
        _, _, data = cell.strip().partition("\n")
        if data:
            checks.use_answers(unpack(data))

    shell.register_magic_function(autotest, magic_kind="cell")
    shell.register_magic_function(autotest_data, magic_kind="cell")

    def progress() -> None:
        """Show your points by task and what is open."""
        display(checks.progress.report())

    guide = checks.guide
    # a student's own function of that name stays
    names = {
        "failing_case": guide.failing_case,
        "hint": guide.hint,
        "discuss": guide.discuss,
        "progress": progress,
    }
    shell.push({name: function for name, function in names.items() if name not in shell.user_ns})
