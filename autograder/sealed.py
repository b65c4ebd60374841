"""Sealed grading: nbgrader's Execute step, with test code, expected values and verdicts kept here.

The student's cells run in the student's kernel. For a grade cell only drawn inputs and expressions go
there, and only plain data comes back; it is compared here.
"""

from __future__ import annotations

import functools
import hashlib
import html
import json
import os
import secrets
import time
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import Execute
from traitlets import Float

from autograder import autotest, catalogue, reference
from autograder.catalogue import ROOT, CatalogueError, definitions, mistakes
from autograder.generation import grade_cells, inputs_digest, released, released_grade_cells
from autograder.kernel import Reply, StudentKernel
from autograder.rebuild import MISSING, what_it_asks
from autograder.sections import Section, book_sections, book_url

RESULT_MIME = "application/vnd.attention-from-scratch.result+json"
MAX_VALUE = 20_000_000
MAX_SHOWN, MAX_SHOWN_LINE = 20_000, 1_000

GRADERS = ("autotest", "grading", "kernel", "rebuild", "reference", "sealed")


def grader_digest(exercise: str) -> str:
    """A digest of everything that a grade depends on, but for the submission."""
    digest = hashlib.sha256(inputs_digest(exercise).encode())
    for name in GRADERS:
        digest.update((ROOT / "autograder" / f"{name}.py").read_bytes())
    return digest.hexdigest()


def class_seed(exercise: str, folder: Path, new: bool = False) -> list[int]:
    """The secret seed of an exercise in this class, drawn once and kept beside the gradebook."""
    path = folder / "seeds.json"
    seeds = json.loads(path.read_text()) if path.exists() else {}
    if new or exercise not in seeds:
        folder.mkdir(parents=True, exist_ok=True)
        seeds[exercise] = [secrets.randbits(32) for _ in range(8)]
        aside = path.with_suffix(".new")
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(seeds, file)
        aside.replace(path)
    return seeds[exercise]


@functools.lru_cache(maxsize=32)
def _values(exercise: str, seed: tuple[int, ...], digest: str) -> dict:
    """The reference's values for a class; digest keys the cache on what they are made from."""
    seeds = [[*seed, number] for number in range(reference.DRAWS)]
    return reference.in_own_process(exercise, grade_cells(exercise), seeds)


def expected_values(exercise: str, folder: Path) -> dict:
    """Expected values of every line of an exercise for this class, from the reference process.

    Raises CatalogueError when the released exercise isn't the one in solutions/.
    """
    current, handed_out = grade_cells(exercise), released_grade_cells(exercise)
    for name in sorted(set(current) | set(handed_out)):
        pair = (current.get(name), handed_out.get(name))
        if None in pair or what_it_asks(pair[0]) != what_it_asks(pair[1]):
            raise CatalogueError(
                f"{exercise}, cell {name}: solutions/{exercise}.py has changed since exercises/ was built. "
                "Run `python -m autograder build`, or restore the solution."
            )
    return _values(exercise, tuple(class_seed(exercise, folder)), inputs_digest(exercise))


class SealedExecute(Execute):
    """Runs a rebuilt submission and writes a verdict into every grade cell."""

    grade_cell_seconds = Float(10.0, help="Time for all lines of one grade cell.").tag(config=True)
    notebook_seconds = Float(600.0, help="Time for a whole submission.").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict, km: Any = None
    ) -> tuple[NotebookNode, dict]:
        """Grade a notebook; what cannot be run is recorded as 0 with a reason."""
        exercise = resources["nbgrader"]["notebook"]
        folder = Path(resources["nbgrader"]["db_url"].removeprefix("sqlite:///")).parent
        values = expected_values(exercise, folder)
        self._catalogue = {mistake.name: vars(mistake) for mistake in mistakes(exercise)}
        self._sections = catalogue.sections(exercise)
        self._known: list[str] = []
        self._answers = {
            cell.metadata.nbgrader.grade_id: list(definitions(cell.source))
            for cell in released(exercise).cells
            if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
        }
        self._failed: dict[str, str] = {}
        self._death = ""
        start = time.monotonic()
        self._end = start + self.notebook_seconds
        companions = resources.get("submission", {}).get("companions", [])
        if any(cell.cell_type == "code" and _is_students(cell) for cell in nb.cells):
            with StudentKernel(companions) as kernel:
                for cell in nb.cells:
                    self._run_cell(cell, values, kernel)
        else:
            for cell in nb.cells:
                self._run_cell(cell, values, None)
        nb.metadata.setdefault("autotest", NotebookNode()).graded = grader_digest(exercise)
        nb.metadata.autotest.seconds = round(time.monotonic() - start, 1)
        return nb, resources

    def _run_cell(self, cell: NotebookNode, values: dict, kernel: StudentKernel | None) -> None:
        if cell.cell_type != "code":
            return
        given = cell.metadata.get("nbgrader", {})
        if given.get("grade"):
            self._grade_cell(cell, values[given.grade_id], kernel)
        elif given.get("grade_id") == "checker":
            cell.source = "# The course's checks."
        elif kernel is not None:
            if time.monotonic() > self._end and not kernel.dead:
                kernel.kill()
                self._death = (
                    f"your notebook had run for {self.notebook_seconds:g} seconds before this"
                )
            name = given.get("grade_id", "one of your own")
            reply = kernel.run(cell.source, self.timeout)
            cell.outputs = reply.outputs
            cell.source = _for_display(cell.source)
            errors = [out for out in reply.outputs if out["output_type"] == "error"]
            for answer in self._answers.get(name, []) if errors else []:
                self._failed[answer] = f"{errors[0]['ename']}: {errors[0]['evalue']}"[:300]
            if reply.status == "timeout":
                text = f"Stopped: this cell ran for more than {self.timeout} seconds."
                cell.outputs.append(_error("Timeout", text))
            if kernel.dead and not self._death:
                self._death = f"your code ended the Python process in the cell {name}, so nothing after it could run"
                cell.outputs.append(_error("The kernel died", "The Python process ended here."))

    def _grade_cell(self, cell: NotebookNode, values: dict, kernel: StudentKernel | None) -> None:
        lines, printed = [], []
        deadline = time.monotonic() + max(map(self._seconds, values["lines"]))
        for line in values["lines"]:
            results, outputs = self._ask(line, values["forbidden"], kernel, deadline)
            lines.append(self._verdict(line, results))
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
                told_here = autotest.explain(mistake, line["expression"])
                # the section stands below, by its title
                line["message"] += "\n" + told_here.partition("\nRead again:")[0]
        label = self._catalogue[name]["section"] if name else self._sections.get(here)
        _write_verdict(cell, lines, "".join(printed), book_sections().get(label))

    def _seconds(self, line: dict) -> float:
        return line.get("seconds", self.grade_cell_seconds)

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
            self._death = f"your code ended the Python process during `{line['expression']}`"
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
            results = json.loads(reply.value)
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
    cell: NotebookNode, lines: list[dict], printed: str, section: Section | None
) -> None:
    """Put the verdict into a grade cell, in the form that nbgrader's determine_grade reads."""
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


def _plain(lines: list[dict], section: Section | None) -> str:
    rows = []
    for line in lines:
        mark = "✓" if line["verdict"] == "passed" else "✗"
        rows.append(f"{mark} {line['earned']:g}/{line['points']:g} points   {line['expression']}")
        if line["message"]:
            rows.append("    " + line["message"].replace("\n", "\n    "))
    if section and any(line["verdict"] != "passed" for line in lines):
        rows.append(f"Read again: {section.place}")
    return "\n".join(rows)


def _html(lines: list[dict], section: Section | None) -> str:
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
        rows.append(f"<div>Read again: {section.link(book_url())}</div>")
    return "".join(rows)


def results_of(cell: NotebookNode) -> list[dict]:
    """The lines that the grader wrote into an autograded grade cell."""
    for output in cell.get("outputs", []):
        found = output.get("data", {}).get(RESULT_MIME)
        if found:
            return found["lines"]
    return []
