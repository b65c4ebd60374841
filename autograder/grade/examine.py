"""Examining a submission: its code runs in the student's kernel, every verdict is made here.

For a grade cell only drawn inputs and expressions go to the student's kernel, and only plain data comes
back.
"""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.grade.sanitize import MISSING, rebuild
from autograder.grade.submission import Submission
from autograder.kernels.sandbox import MEMORY
from autograder.kernels.student_kernel import KernelStartError, Reply, StudentKernel
from autograder.runtime import autotest
from autograder.text import valid_json

RESULT_MIME = "application/vnd.attention-from-scratch.result+json"
MAX_VALUE = 20_000_000
MAX_SHOWN, MAX_SHOWN_LINE = 20_000, 1_000


@dataclass(frozen=True)
class Limits:
    """What a submission may take, and where.

    cell, grade_cell, notebook: seconds for a cell of the student, for all lines of a grade cell, and for
    all of a notebook; room: whether its kernel has a room of its own (see `sandbox`).
    """

    cell: float = 30.0
    grade_cell: float = 10.0
    notebook: float = 600.0
    room: bool = False


def examined(paper: dict, submission: Submission, limits: Limits) -> NotebookNode:
    """A submission, rebuilt and graded; whatever it holds, it ends with verdicts and reasons.

    paper: from `papers.paper`.
    """
    try:
        notebook = rebuild(submission, paper["release"], paper["versions"])
        examine(notebook, paper, limits, submission.companions)
    except KernelStartError:
        # nobody's submission is to blame
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error)[:300]}"
        return refused(
            paper,
            submission,
            f"This submission could not be graded ({reason}). Your instructor will look at it.",
        )
    return notebook


def refused(paper: dict, submission: Submission, remark: str) -> NotebookNode:
    """What is recorded for a submission whose code was not run, with the reason."""
    nothing = Submission([], [*submission.remarks, remark], submission.digest, {})
    notebook = rebuild(nothing, paper["release"], paper["versions"])
    examine(notebook, paper, Limits())
    return notebook


def examine(
    notebook: NotebookNode,
    paper: dict,
    limits: Limits,
    companions: Mapping[str, bytes] | None = None,
) -> None:
    """Grade a rebuilt notebook in place.

    companions: files that are to lie beside it.
    """
    begun = time.monotonic()
    sitting = _Sitting(paper, limits)
    if any(cell.cell_type == "code" and _is_students(cell) for cell in notebook.cells):
        seconds = limits.notebook if limits.room else None
        with StudentKernel(companions, seconds) as kernel:
            for cell in notebook.cells:
                sitting.run_cell(cell, kernel)
    else:
        for cell in notebook.cells:
            sitting.run_cell(cell, None)
    record = notebook.metadata.setdefault("autotest", NotebookNode())
    record.graded = paper["grader"]
    record.seconds = round(time.monotonic() - begun, 1)


class _Sitting:
    """One notebook's examination, cell by cell: what has failed or was recognised so far."""

    def __init__(self, paper: dict, limits: Limits) -> None:
        self._values = paper["values"]
        self._catalogue = paper["catalogue"]
        self._answers = paper["answers"]
        self._sections = paper["sections"]
        self._section_of = paper["section_of"]
        self._limits = limits
        self._known: list[str] = []
        self._failed: dict[str, str] = {}
        self._death = ""
        self._end = time.monotonic() + limits.notebook

    def run_cell(self, cell: NotebookNode, kernel: StudentKernel | None) -> None:
        """Run a cell of the student, or grade a grade cell."""
        if cell.cell_type != "code":
            return
        given = cell.metadata.get("nbgrader", {})
        if given.get("grade"):
            self._grade_cell(cell, self._values[given.grade_id], kernel)
        elif given.get("grade_id") == "checker":
            cell.source = "# The course's checks."
        elif kernel is not None:
            if time.monotonic() > self._end and not kernel.dead:
                kernel.kill()
                limit = f"{self._limits.notebook:g} seconds"
                self._death = f"your notebook had run for {limit} before this"
            name = given.get("grade_id", "one of your own")
            reply = kernel.run(cell.source, self._limits.cell)
            cell.outputs = reply.outputs
            cell.source = _for_display(cell.source)
            errors = [out for out in reply.outputs if out["output_type"] == "error"]
            for answer in self._answers.get(name, []) if errors else []:
                self._failed[answer] = f"{errors[0]['ename']}: {errors[0]['evalue']}"[:300]
            if reply.status == "timeout":
                text = f"Stopped: this cell ran for more than {self._limits.cell:g} seconds."
                cell.outputs.append(_error("Timeout", text))
            if kernel.dead and not self._death:
                self._death = (
                    f"{_how_it_ended(kernel)} in the cell {name}, so nothing after it could run"
                )
                cell.outputs.append(_error("The kernel died", "The Python process ended here."))

    def _grade_cell(self, cell: NotebookNode, values: dict, kernel: StudentKernel | None) -> None:
        lines, printed = [], []
        deadline = time.monotonic() + max(map(self._seconds, values["lines"]))
        for line in values["lines"]:
            results, outputs = self._ask(line, values["forbidden"], kernel, deadline)
            verdict = self._verdict(line, results)
            if "truth" in line and verdict["verdict"] == "agreement":
                # training is a matter of luck, and of what else the machine has to do
                again = time.monotonic() + self._seconds(line)
                results, outputs = self._ask(line, values["forbidden"], kernel, again)
                verdict = self._verdict(line, results)
            lines.append(verdict)
            printed += [output["text"] for output in outputs if output["output_type"] == "stream"]
        here = cell.metadata.nbgrader.grade_id
        own = [name for name, mistake in self._catalogue.items() if mistake["cell"] == here]
        results = [result for line in lines for result in line["results"]]
        name = autotest.recognise(results, own, self._known)
        if name and name not in self._known:
            self._known.append(name)
        told = False
        for line in lines:
            del line["results"]
            for answer, error in self._failed.items():
                if f"NameError: name '{answer}' is not defined" in line["message"]:
                    line["message"] = f"`{answer}` doesn't exist: its cell failed with {error}"
            if line["verdict"] != "passed" and name and not told:
                told = True
                line["mistake"] = name
                mistake = self._catalogue[name]
                line["message"] += "\n" + autotest.explain(mistake, line["expression"])
        label = self._catalogue[name]["section"] if name else self._section_of.get(here)
        _write_verdict(cell, lines, "".join(printed), self._sections.get(label))

    def _seconds(self, line: dict) -> float:
        return line.get("seconds", self._limits.grade_cell)

    def _ask(
        self, line: dict, forbidden: list[str], kernel: StudentKernel | None, deadline: float
    ) -> tuple[Any, list[NotebookNode]]:
        """Results of a line on every draw, or a sentence on why there are none."""
        if kernel is None:
            return "there is no code to run", []
        if kernel.dead:
            return self._death or "the Python process had ended", []
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            limit = f"{self._seconds(line):g} seconds"
            return f"not run: the lines above used up this cell's {limit}", []
        draws = [
            {"inputs": draw["inputs"], "parameter_seed": draw["parameter_seed"]}
            for draw in line["draws"]
        ]
        request = {"expression": line["expression"], "forbidden": forbidden, "draws": draws}
        reply: Reply = kernel.ask(request, seconds)
        if kernel.dead and not self._death:
            self._death = f"{_how_it_ended(kernel)} during `{line['expression']}`"
        if reply.status == "timeout":
            return (
                f"no answer within {self._seconds(line):g} seconds: does a loop never end?",
                reply.outputs,
            )
        if reply.value is None:
            return self._death or "your code's result could not be read", reply.outputs
        try:
            if len(reply.value) > MAX_VALUE:
                raise autotest.PlainDataError("it is too large")
            results = valid_json(reply.value)
            if not isinstance(results, list) or len(results) != len(draws):
                raise autotest.PlainDataError("it is not plain data")
            return results, reply.outputs
        except (ValueError, RecursionError, MemoryError) as error:
            return f"your code's result could not be read: {str(error)[:200]}", reply.outputs

    def _verdict(self, line: dict, results: Any) -> dict:
        """A line's verdict, and per draw what recognising a mistake needs."""
        judged = [_judge(draw, results, i) for i, draw in enumerate(line["draws"])]
        wrong = [result for result in judged if not result["passed"]]
        passed = not wrong
        return {
            "expression": line["expression"],
            "points": line["points"],
            "earned": line["points"] if passed else 0,
            "verdict": "passed" if passed else wrong[0]["aspect"],
            "message": "" if passed else wrong[0]["message"],
            "mistake": None,
            "results": judged,
        }


def _how_it_ended(kernel: StudentKernel) -> str:
    if kernel.limit == "memory":
        return f"your code used more than {MEMORY / 1e9:g} GB of memory and was stopped"
    if kernel.limit == "time":
        return "your code computed for longer than a whole notebook may and was stopped"
    return "your code ended the Python process"


def _judge(draw: dict, results: Any, number: int) -> dict:
    """One draw's result; a submission's answer may be any nonsense, so anything but a pass is a fail."""
    nothing = {"passed": False, "fingerprint": ["nothing"], "mistakes": draw["mistakes"]}
    if isinstance(results, str):
        return {**nothing, "aspect": "error", "message": results}
    try:
        got = results[number]
        fingerprint = autotest.fingerprint(autotest.decode(got["value"]))
        verdict = autotest.judge(draw["expected"], got)
    except Exception as error:
        text = f"your code's result is not plain data ({str(error)[:100]})"
        return {**nothing, "aspect": "kind", "message": text}
    return {**nothing, "fingerprint": fingerprint, **verdict}


def _is_students(cell: NotebookNode) -> bool:
    """Whether a rebuilt cell holds a student's code."""
    given = cell.metadata.get("nbgrader")
    return given is None or (given.solution and cell.source != MISSING)


def _error(name: str, text: str) -> NotebookNode:
    return nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])


def _write_verdict(
    cell: NotebookNode, lines: list[dict], printed: str, section: dict | None
) -> None:
    """Put the verdict into a grade cell, in the form that nbgrader's determine_grade reads.

    section: the one to read again, {"place", "link"}.
    """
    cell.source = "\n".join(_without_answers(cell.source))
    earned, points = sum(ln["earned"] for ln in lines), sum(ln["points"] for ln in lines)
    data = {
        "text/plain": _plain(lines, section),
        "text/html": _html(lines, section),
        RESULT_MIME: {"lines": lines},
    }
    cell.outputs = [nbformat.v4.new_output("display_data", data=data)]
    if printed:
        quoted = "\n".join(f"| {line}" for line in printed[:2000].split("\n")[:40])
        text = f"Printed by your code meanwhile:\n{quoted}\n"
        cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
    if earned == 0 and points > 0:
        cell.outputs.append(_error("Not yet", f"0 of {points:g} points"))
    elif earned < points:
        result = {"text/plain": repr(float(earned))}
        cell.outputs.append(nbformat.v4.new_output("execute_result", data=result))


def _for_display(source: str) -> str:
    """A student's code with what is too long to be shown cut: colouring takes quadratic time."""
    lines = source[:MAX_SHOWN].split("\n")
    cut = [ln if len(ln) <= MAX_SHOWN_LINE else f"{ln[:MAX_SHOWN_LINE]} ..." for ln in lines]
    return "\n".join(cut) + ("\n..." if len(source) > MAX_SHOWN else "")


def _without_answers(source: str) -> list[str]:
    """A grade cell's lines for reading: the baked answers are left out."""
    lines = []
    for line in source.split("\n"):
        head, mark, _ = line.partition(", answer=")
        lines.append(f"{head})" if mark and head.startswith("check(") else line)
    return lines


def _plain(lines: list[dict], section: dict | None) -> str:
    rows = []
    for line in lines:
        mark = "✓" if line["verdict"] == "passed" else "✗"
        rows.append(f"{mark} {line['earned']:g}/{line['points']:g} points   {line['expression']}")
        if line["message"]:
            rows.append("    " + line["message"].replace("\n", "\n    "))
    if section and any(line["verdict"] != "passed" for line in lines):
        rows.append(f"Read again: {section['place']}")
    return "\n".join(rows)


def _html(lines: list[dict], section: dict | None) -> str:
    rows = []
    for line in lines:
        passed = line["verdict"] == "passed"
        colour, mark = ("#2e7d32", "✓") if passed else ("#b3261e", "✗")
        message = html.escape(line["message"]).replace("\n", "<br>")
        rows.append(
            f'<div style="margin:0.4em 0;border-left:4px solid {colour};padding-left:0.6em">'
            f'<strong style="color:{colour}">{mark} {line["earned"]:g}/{line["points"]:g}</strong> '
            f"<code>{html.escape(line['expression'])}</code>"
            + (f"<div>{message}</div>" if message else "")
            + "</div>"
        )
    if section and any(line["verdict"] != "passed" for line in lines):
        rows.append(f"<div>Read again: {section['link']}</div>")
    return "".join(rows)


def results_of(cell: NotebookNode) -> list[dict]:
    """The lines that the grader wrote into an autograded grade cell."""
    for output in cell.get("outputs", []):
        found = output.get("data", {}).get(RESULT_MIME)
        if found:
            return found["lines"]
    return []
