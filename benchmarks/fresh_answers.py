"""Fresh answers, written by somebody who has seen neither the checks nor the catalogue: what is said about them?

    python -m benchmarks.fresh_answers FOLDER

Each file of the folder is the whole code of one answer cell. It begins with lines of comments: the exercise's number,
the answer cell (task), whether it's right or wrong, the mistake (or what is unusual), and where that shows. It is
graded in a class, beside right answers to everything else, and its student's own check runs in the notebook. The
digest of the folder is printed before anything is graded, so that nobody can mend an answer afterwards.

A wrong answer is caught if a check of its own task fails. It is named if a known mistake is told there, and
explained if something else than numbers that differ is told: a relation that doesn't hold, a form, an error. Whether
a name is the right one, a person reads: it stands beside the mistake in the result. Lines in sight are those that the
student's own checks print, of all cells, without what is folded.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.audit.audit import grade_cases
from autograder.audit.cases import Case
from autograder.audit.own_check import SECONDS_PER_CELL
from autograder.course import Course, Exercise
from autograder.exercises import (
    graded_answers,
    is_grade_cell,
    metadata_of,
    reference_answers,
    released,
    solved,
    spans_of,
)
from autograder.files import digest_of_files
from autograder.grade.result import CellResult, Result
from autograder.grade.words import sentence
from autograder.instructor_settings import Settings
from autograder.kernels.student_kernel import StudentKernel
from autograder.runtime.violations import NUMBERS
from benchmarks.record import save

HEAD = re.compile(r"^# (exercise|task|kind|mistake|shows): (.*)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    """A fresh answer. task: the answer cell; mistake: or, of a right one, what is unusual."""

    name: str
    exercise: Exercise
    task: str
    right: bool
    mistake: str
    code: str


@dataclass(frozen=True)
class Finding:
    """What is said about one answer.

    own, elsewhere: points lost in the cells that grade its task, and in others; names: told as known
    mistakes; in_sight: lines that the student's own checks print; printed: these; lost: of a right answer,
    the lines that it fails, with what the grade says.
    """

    name: str
    task: str
    right: bool
    mistake: str
    own: float
    elsewhere: float
    names: list[str]
    explained: bool
    in_sight: int
    printed: str
    lost: list[str]


def read_answers(course: Course, folder: Path) -> list[Answer]:
    """The answers of a folder; a file whose head lacks a line raises ValueError that names it."""
    by_number = {exercise.name.split("_")[0]: exercise for exercise in course.exercises()}
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        head = dict(HEAD.findall(text))
        if missing := {"exercise", "task", "kind", "mistake"} - head.keys():
            raise ValueError(f"{path}: no line for {', '.join(sorted(missing))}")
        exercise, right = (
            by_number[f"ch{head['exercise'].strip()}"],
            head["kind"].strip() == "right",
        )
        found.append(
            Answer(
                path.stem,
                exercise,
                head["task"].strip(),
                right,
                head["mistake"],
                HEAD.sub("", text),
            )
        )
    return found


def notebook_with(answer: Answer) -> NotebookNode:
    """Right answers everywhere, but for one; ValueError if its exercise has no such answer cell."""
    notebook = solved(answer.exercise, reference_answers(answer.exercise))
    cells = [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and metadata_of(cell).get("grade_id") == answer.task
    ]
    if len(cells) != 1:
        raise ValueError(f"{answer.name}: {answer.exercise.name} has no answer cell {answer.task}")
    cells[0].source = answer.code.strip()
    return notebook


def own_cells(answer: Answer) -> set[str]:
    """The grade cells of its task."""
    notebook = released(answer.exercise)
    names = next(
        set(spans_of(cell.source))
        for cell in notebook.cells
        if metadata_of(cell).get("grade_id") == answer.task
    )
    return {cell for cell, graded in graded_answers(notebook).items() if names & set(graded)}


def in_sight(notebook: NotebookNode) -> Iterator[str]:
    """What the checks print that fail in a student's notebook, a text a cell."""
    with StudentKernel(Settings()) as kernel:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                outputs = kernel.run(cell.source, SECONDS_PER_CELL).outputs
                text = "".join(
                    one.get("text") or one.get("data", {}).get("text/plain", "") + "\n"
                    for one in outputs
                    if one.output_type != "error"
                )
                if is_grade_cell(cell) and "✗" in text:
                    yield text.strip()


def _explains(cell: CellResult) -> bool:
    problems = [line.difference for line in cell.lines if line.difference]
    return any(one.aspect not in NUMBERS or "violated" in one.parameters for one in problems)


def finding(answer: Answer, result: Result) -> Finding:
    """What is said about an answer."""
    own = own_cells(answer)
    failed = [cell for cell in result.cells if not cell.passed]
    lost = {cell.grade_id: cell.points - cell.earned for cell in failed}
    printed = "\n\n".join(in_sight(notebook_with(answer))) if failed else ""
    return Finding(
        answer.name,
        answer.task,
        answer.right,
        answer.mistake,
        own=sum(points for cell, points in lost.items() if cell in own),
        elsewhere=sum(points for cell, points in lost.items() if cell not in own),
        names=sorted({cell.mistake for cell in failed if cell.mistake}),
        explained=any(_explains(cell) for cell in failed if cell.grade_id in own),
        in_sight=sum(1 for line in printed.splitlines() if line.strip()),
        printed=printed,
        lost=[
            f"{cell.grade_id}: {line.expression}: {sentence(line) or line.verdict}"
            for cell in failed
            for line in cell.lines
            if answer.right and not line.passed
        ],
    )


def counts(found: Sequence[Finding]) -> dict[str, float]:
    """The figures of some answers."""
    wrong, right = [one for one in found if not one.right], [one for one in found if one.right]
    caught = [one for one in wrong if one.own]
    lines = [one.in_sight for one in caught]
    return {
        "wrong": len(wrong),
        "caught": len(caught),
        "named": sum(1 for one in caught if one.names),
        "named_or_explained": sum(1 for one in caught if one.names or one.explained),
        "points_elsewhere": sum(one.elsewhere for one in found),
        "right": len(right),
        "full_marks": sum(1 for one in right if not one.own + one.elsewhere),
        "median_in_sight": statistics.median(lines) if lines else 0,
        "most_in_sight": max(lines, default=0),
    }


def main() -> None:
    """Grade a folder of answers, print what is said about each, and save it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suffix", default="", help="of the file that is written: _SUFFIX")
    options = parser.parse_args()
    course = Course.find()
    digest = digest_of_files(options.folder.rglob("*.py"), options.folder)
    print(f"digest of the answers: {digest}", flush=True)
    answers = read_answers(course, options.folder)
    cases = {
        answer.name: Case(
            answer.exercise, "extra", answer.name, nbformat.writes(notebook_with(answer))
        )
        for answer in answers
    }
    outcomes = {one.case.name: one for one in grade_cases(course, list(cases.values()))}
    found = [finding(answer, outcomes[answer.name].graded_result) for answer in answers]
    by_exercise = {
        exercise.name: counts(some)
        for exercise in course.exercises()
        if (some := [one for one, a in zip(found, answers, strict=True) if a.exercise == exercise])
    }
    measured = {
        "digest": digest,
        "all": counts(found),
        "exercises": by_exercise,
        "answers": [asdict(replace(one, printed="")) for one in found],
    }
    texts = course.root / "_build" / "fresh_answers.txt"
    texts.write_text(
        "\n".join(f"=== {one.name}: {one.mistake}\n{one.printed}\n" for one in found),
        encoding="utf-8",
    )
    save(__file__, measured, options.suffix)
    print(f"what the checks print: {texts}")


if __name__ == "__main__":
    main()
