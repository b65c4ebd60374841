"""A result in words: what students, instructors and reports read about verdicts and remarks."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from autograder.book_index import Section
from autograder.grade.result import MAX_RUNS, CellResult, LineResult, Remark
from autograder.points import as_shown
from autograder.runtime import hints, messages
from autograder.runtime.functions import shown
from autograder.runtime.hints import MistakeWords
from autograder.runtime.mistakes import NamedMistake
from autograder.runtime.plan import plan, with_asides
from autograder.text import plain_text

Parameters = Mapping[str, Any]
# of an error that a student's code raised: enough for any message about shapes
MAX_MESSAGE, MAX_WHOLES, MAX_DECIMALS = 200, 8, 2
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")

ENDS = {
    "memory": "your code used more than {memory_gb:g} GB of memory and was stopped",
    "time": "your code computed for longer than a whole notebook may and was stopped",
    "exit": "your code ended the Python process",
    "not_interrupted": "your code could not be interrupted when its time was up and was stopped",
    "chance": (
        "your code ended the Python process, each time at another check, so nobody can say what it gives"
    ),
    "notebook_time": "your notebook had run for {seconds:g} seconds before this",
    "no_time_left": "the time for grading this notebook was over before this",
}


def _list(p: Parameters) -> str:
    """Some of the names of files, and whether there are more."""
    return ", ".join(p["names"]) + (", ..." if p["number"] > len(p["names"]) else "")


def _quoted(line: str) -> str:
    """A line of code to stand between backticks."""
    return line.replace("`", "'")


def _ended(p: Parameters) -> str:
    how = ENDS[p["reason"]].format(**p)
    if p.get("cell"):
        return f"{how} in the cell {p['cell']}, so nothing after it could run"
    if p.get("own"):
        line = _quoted(p["own"])
        return f"{how} in your own cell that begins with `{line}`, so nothing after it could run"
    if p.get("expression"):
        return f"{how} during `{p['expression']}`"
    return how


# differences that only a grader meets, beside those of runtime/messages.py
SENTENCES: dict[str, Callable[[Parameters], str]] = {
    "no_code": lambda p: "there is no code to run",
    "ended": _ended,
    "time_used_up": lambda p: (
        f"not run: the lines above used up this cell's {p['seconds']:g} seconds"
    ),
    "memory_held": lambda p: (
        f"not run: it is about memory, and your own cells have taken more than {p['megabytes']} MB before. "
        "Delete large arrays with `del`, and leave experiments with them out of what you hand in"
    ),
    "memory_processes": lambda p: (
        "not run: its memory is measured, and another process that your notebook has started is still "
        "running"
    ),
    "memory_threads": lambda p: (
        "its memory is measured, so your code must not start a thread or a process while this check runs. "
        "Compute in the thread that calls your function"
    ),
    "memory_ended": lambda p: "not run: the process of your notebook has ended",
    "timeout": lambda p: f"no answer within {p['seconds']:g} seconds: does a loop never end?",
    "unreadable": lambda p: (
        f"your code's result could not be read{': ' + p['reason'] if p['reason'] else ''}"
    ),
    "not_plain": lambda p: f"your code's result is not plain data ({p['reason']})",
    "cell_failed": lambda p: (
        f"`{p['answer']}` doesn't exist: "
        + (f"your own cell that begins with `{_quoted(p['line'])}`" if "line" in p else "its cell")
        + f" failed with {p['error']}"
        + (
            f". Notebooks are graded with Python {p['python']}, which doesn't know newer syntax"
            if "python" in p
            else ""
        )
        + messages.without_device(p["error"])
        + (f". {messages.offered(p['offered'])}" if "offered" in p else "")
    ),
    "not_defined": lambda p: (
        f"`{p['answer']}` is not defined: the answer cell {p['cell']} "
        + (
            f"defines {', '.join(f'`{name}`' for name in p['names'])}"
            if p["names"]
            else "doesn't define it"
        )
        + ". Keep the name that was handed out"
    ),
    "answer_elsewhere": lambda p: (
        f"your own cell that begins with `{_quoted(p['line'])}` defines `{p['answer']}`, "
        + (
            "and is below this check. Cells run from top to bottom"
            if p["below"]
            else f"and the answer cell {p['cell']}, as it was handed out, then defines it again"
        )
        + f": move it into the answer cell {p['cell']}, instead of what is there"
    ),
}

# what stopped code or couldn't be read, as against an answer that is wrong
FAILURES = frozenset(SENTENCES) - {"cell_failed", "answer_elsewhere", "not_defined"}

HAND_IN_AGAIN = "open it in JupyterLab to see that it is in order, and hand it in again"
CLEAR_OUTPUTS = (
    "Clear its outputs (in JupyterLab: Edit, Clear Outputs of All Cells), make pasted pictures smaller, save it and "
    "hand it in again."
)
REMARKS: dict[str, Callable[[Parameters], str]] = {
    "not_submitted": lambda p: f"No {p['what']} named {p['name']} was submitted.",
    "several_notebooks": lambda p: (
        f"No notebook named {p['wanted']} was submitted, but {p['number']} with other names "
        f"({_list(p)}). A person will look at them; hand in one, under that name."
    ),
    "is_link": lambda p: f"The submitted {p['what']} is a link, which isn't followed.",
    "in_link": lambda p: "The submitted notebook, or its folder, is a link, which isn't followed.",
    "not_a_file": lambda p: f"The submitted {p['what']} is not an ordinary file.",
    "unreadable": lambda p: f"The submitted {p['what']} can't be read: {p['reason']}.",
    "too_large": lambda p: (
        f"The submitted {p['what']} is too large to be read ({p['megabytes']:.0f} MB)."
        + (f" {CLEAR_OUTPUTS}" if p["what"] == "notebook" else "")
    ),
    "without_outputs": lambda p: (
        f"The notebook takes {p['megabytes']:.0f} MB, most of it outputs or pictures. Outputs were left out; all the "
        "rest was graded."
    ),
    "not_utf_8": lambda p: (
        "The notebook isn't saved in UTF-8; it was read as cp1252, so letters with accents may be different. "
        "Save it in Jupyter."
    ),
    "conflict_markers": lambda p: (
        "The file holds git's conflict markers (<<<<<<<), so it is no notebook. Decide on one version of each "
        f"part, remove the markers, {HAND_IN_AGAIN}."
    ),
    "another_file": lambda p: (
        f"The submitted file is {p['what']}, not a notebook, whatever its name says. Download or save the "
        f"notebook itself, {HAND_IN_AGAIN}."
    ),
    "cut_short": lambda p: (
        f"The file ends in the middle: it was not saved or uploaded whole. Save it once more, {HAND_IN_AGAIN}."
    ),
    "empty": lambda p: (
        f"The submitted file is empty: it was not saved or uploaded whole. Save it once more, {HAND_IN_AGAIN}."
    ),
    "not_a_notebook": lambda p: (
        f"The submitted file is not a notebook that can be read ({p['reason']}). Save it in Jupyter, "
        f"{HAND_IN_AGAIN}."
    ),
    "too_long": lambda p: (
        f"The notebook is too long: only {p['read']} of its {p['cells']} cells were read."
    ),
    "renamed": lambda p: f"The notebook was named {p['name']}; its name should be {p['wanted']}.",
    "copy_taken": lambda p: (
        f"{p['wanted']} is as it was handed out, or can't be read; {p['name']} was graded instead."
    ),
    "other_work": lambda p: (
        f"{'Another notebook has' if p['number'] == 1 else 'Other notebooks have'} answers that {p['wanted']} lacks: "
        f"{_list(p)}. {p['wanted']} was graded; a person will look at the others."
    ),
    "other_files": lambda p: (
        f"No answer was found in a notebook, and something else was handed in: {_list(p)}. A person will look at it; "
        "answers belong into the cells of the notebook."
    ),
    "timestamp": lambda p: "The time stamp of this submission can't be read.",
    "companions": lambda p: (
        f"Not all files beside the notebook were used (at most {p['files']}, of at most "
        f"{p['megabytes']:g} MB): without {', '.join(p['left_out'])}"
        + (f" and {p['more']} more." if p["more"] else ".")
    ),
    "pictures": lambda p: (
        f"Pictures in the text could not be kept: {_list(p)}. Save them as PNG or JPEG, of at most 6 MB and 20 "
        "megapixels each, and hand in again. A person can see them in the notebook that was handed in."
    ),
    "answer_found": lambda p: (
        f"The answer cell {p['cell']} had lost its marks; it was found by the name it defines "
        f"({', '.join(p['names'])})."
    ),
    "answer_missing": lambda p: f"The answer cell {p['cell']} is missing.",
    "question_found": lambda p: (
        f"The written answer {p['cell']} had lost its marks; it was found by the text of its question."
    ),
    "question_missing": lambda p: (
        f"The cell of the written answer {p['cell']} is missing. A person will look for the answer."
    ),
    "written_beside": lambda p: (
        f"The cell of the written answer {p['cell']} is as it was handed out, and there are cells of your "
        "own next to it. A person will read them."
    ),
    "another_notebook": lambda p: (
        "None of its cells belongs to this exercise: is it the notebook of another one? A person will look "
        "at it."
    ),
    "check_changed": lambda p: (
        f"The check {p['cell']} had been changed; the released one was used."
    ),
    "fell": lambda p: (
        f"The checks gave {as_shown(p['before'])} points to what you had handed in before; this submission counts."
    ),
    "kept_best": lambda p: (
        f"You have handed in again, and the checks gave {as_shown(p['points'])} points to that. The better grade "
        "counts: what you see here is the submission before."
    ),
    "kept_rules": lambda p: (
        f"This submission was graded again by newer rules, which gave it {as_shown(p['points'])} points. The better "
        "grade counts: what you see here is the earlier one."
    ),
    "by_clock": lambda p: (
        "Something in this notebook was stopped by the clock, before it had computed as long as it may: the "
        "machine had too much else to do, or the notebook waits. "
        + (
            f"That was so in each of {p['runs']} runs, so this grade stays, and a person will look at it."
            if p.get("runs", 1) >= MAX_RUNS
            else "It is graded again."
        )
    ),
    "older_release": lambda p: (
        "The checks in this notebook are those of an older release, whose statements ask for less. What only a later "
        "one asks was not counted: without that fewer checks would have passed."
    ),
    "companions_kept_out": lambda p: (
        "The files beside the notebook take more room than a submission has, so it was graded without them. Hand "
        "in only what the notebook needs."
    ),
    "failed": lambda p: (
        f"This submission could not be graded ({p['error']}). Your instructor will look at it."
    ),
    "no_follow_through": lambda p: (
        "Answers that use an earlier one which is wrong could not be graded with a correct version "
        f"instead ({p['error']}). Your instructor can have this submission graded again."
    ),
    "not_asked": lambda p: (
        "Some checks could not be asked, because the process of your notebook had ended. A person will look at "
        "this submission."
    ),
    "varies": lambda p: (
        f"{' and '.join(f'`{name}`' for name in p['names'])} gives different values for the same input, so the "
        "points may be different when this is graded again. Compute the result from the arguments only: without "
        "chance, the clock, or what an earlier call has left."
    ),
    "clock": lambda p: (
        f"An answer uses {' and '.join(f'`{name}`' for name in p['names'])}, whose value is another one in each run. "
        "If a result depends on it, the points may be different when this is graded again."
    ),
    "memory_not_limited": lambda p: (
        "Without a sandbox, memory can't be limited from outside. A check that asks for little of it has "
        "counted tensors only."
    ),
    "ended_grader": lambda p: (
        "Grading this submission ended the grader's own process twice, so it was given up. Your "
        "instructor will look at it."
    ),
}


# what stands below a cell of the student's, by the name of an error
OUTPUTS: dict[str, Callable[[Parameters], str]] = {
    "Timeout": lambda p: f"Stopped: this cell ran for more than {p['seconds']:g} seconds.",
    "The kernel died": lambda p: "The Python process ended here.",
}


def _shortened(message: str) -> str:
    """An error's message, short and with few numbers: a student's code could put drawn inputs in it."""
    wholes, decimals = itertools.count(), itertools.count()

    def shown(number: re.Match) -> str:
        is_whole = number[0].isdigit()
        few = next(wholes) < MAX_WHOLES if is_whole else next(decimals) < MAX_DECIMALS
        return number[0] if few else "…"

    kept = NUMBER.sub(shown, message)
    return f"{kept[:MAX_MESSAGE]}…" if len(kept) > MAX_MESSAGE else kept


def sentence(line: LineResult) -> str:
    """What is said about a line; empty for one that passed with the notebook as it stands."""
    return plain_text(_sentence(line))


def _sentence(line: LineResult) -> str:
    if line.given:
        return f"correct, given a correct {' and '.join(f'`{name}`' for name in line.given)}"
    found = line.difference
    if found is None:
        return ""
    if found.aspect in SENTENCES:
        return SENTENCES[found.aspect](found.parameters)
    if found.aspect == "error":
        message = _shortened(found.parameters["message"])
        found = replace(found, parameters={**found.parameters, "message": message})
    return messages.sentence(found)


def remark(found: Remark) -> str:
    """A remark as a sentence."""
    return plain_text(REMARKS[found.kind](found.parameters))


@dataclass(frozen=True)
class LineRow:
    """A check as the page shows it.

    title: what it tests; words: why it failed, or given which right answers it passed, empty if it passed
    as it stands; folded: nothing new is said of it beside another check of its cell.
    """

    title: str
    expression: str
    points: float
    earned: float
    words: str
    is_passed: bool = False
    folded: bool = False


@dataclass(frozen=True)
class Words:
    """The words of one exercise: what its catalogue and its checks say, and where the book teaches it.

    titles: by grade cell and expression, what a line tests; codes: what is evaluated, of lines that call a
    function of their cell, by expression.
    """

    mistakes: Mapping[str, MistakeWords]
    titles: Mapping[tuple[str, str], str]
    section_of: Mapping[str, str]
    sections: Mapping[str, Section]
    codes: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """As text."""
        mistakes = {name: asdict(mistake) for name, mistake in self.mistakes.items()}
        sections = [asdict(section) for section in self.sections.values()]
        titles = [[*place, title] for place, title in self.titles.items()]
        return json.dumps([mistakes, titles, dict(self.section_of), sections, dict(self.codes)])

    @staticmethod
    def from_json(text: str) -> Words:
        """From `to_json`."""
        mistakes, titles, section_of, sections, codes = json.loads(text)
        return Words(
            {name: MistakeWords(**mistake) for name, mistake in mistakes.items()},
            {(grade_id, expression): title for grade_id, expression, title in titles},
            section_of,
            {section["label"]: Section(**section) for section in sections},
            codes,
        )

    def title(self, grade_id: str, expression: str) -> str:
        """What a line of a grade cell is called: what it tests in words, or its expression."""
        return self.titles.get((grade_id, expression), expression)

    def shown(self, expression: str) -> str:
        """What a line checks, as code that a person can read."""
        return shown(self.codes.get(expression, expression))

    def rows(self, cell: CellResult) -> tuple[LineRow, ...]:
        """What is said about a cell, line by line."""
        problems = with_asides([line.difference for line in cell.lines])
        pairs = zip(cell.lines, problems, strict=True)
        lines = [replace(line, difference=problem) for line, problem in pairs]
        named = [NamedMistake(one.mistake, one.by_line) if one.mistake else None for one in lines]
        told = plan(problems, named, [sentence(line) for line in lines])
        return tuple(
            LineRow(
                self.title(cell.grade_id, line.expression),
                self.shown(line.expression),
                line.points,
                line.earned,
                self.line(line),
                line.passed,
                one.folded,
            )
            for line, one in zip(lines, told.lines, strict=True)
        )

    def line(self, line: LineResult) -> str:
        """All that is said about a line: the difference, and the mistake that was recognised."""
        return "\n".join(filter(None, [sentence(line), self.explanation(line)]))

    def explanation(self, line: LineResult) -> str:
        """What is said about the mistake that was recognised in a line; empty where none was."""
        # a catalogue may have lost a mistake since
        name = line.mistake or ""
        mistake = self.mistakes.get(name)
        # what is wrong is told where it costs points
        if mistake is None or line.passed:
            return ""
        code = self.codes.get(line.expression, line.expression)
        return hints.explanation(name, mistake, code, line.by_line)

    def section(self, cell: CellResult) -> Section | None:
        """The section to read again after a cell: the mistake's, else the cell's; None if it passed."""
        if cell.passed:
            return None
        mistake = self.mistakes.get(cell.mistake or "")
        label = mistake.section if mistake else self.section_of.get(cell.grade_id)
        return self.sections.get(label or "")
