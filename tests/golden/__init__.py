"""Golden results: what a fixed set of submissions gets from this version of the grader.

`grader-N.json` holds the results under GRADER_VERSION N (see autograder/grade/result.py). When a change
to the grader changes a verdict on purpose, raise GRADER_VERSION and run, from the course's folder,

    python -m tests.golden

It writes the file of the new number in place of the old one: what git shows between the two is what has
changed, and what of it a class meets stands with its reason in MOVED, in tests/running_class/.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from autograder.catalogue import (
    alternative_answers,
    alternatives,
    mistake_answers,
    mistakes,
)
from autograder.course import Course
from autograder.exercises import answer_cell, reference_answers, released, solved
from autograder.grade.grade_class import Grader
from autograder.grade.result import GRADER_VERSION, Result
from tests.support.submissions import EXERCISE, folder_of, save

FOLDER = Path(__file__).parent
SEED = [1, 2, 3, 4, 5, 6, 7, 8]
MISTAKES = (
    "no maximum subtracted",
    "axis ignored, always the last",
    "no scaling",
    "mask ignored",
)
# parameters of a difference that depend on the machine, on its limits or on how often a cell ran
VARYING = {"error", "message", "seconds"}
DIGITS = 4


def golden_file() -> Path:
    """Where the results of this version of the grader lie."""
    return FOLDER / f"grader-{GRADER_VERSION}.json"


def submissions() -> dict[str, NotebookNode]:
    """The fixed set, by a name for each."""
    reference, program = reference_answers(EXERCISE), EXERCISE.program()
    found = {"reference": solved(EXERCISE, reference)}
    for number, alternative in enumerate(alternatives(EXERCISE)[:2]):
        answers = reference | alternative_answers(program, alternative)
        found[f"alternative {number}"] = solved(EXERCISE, answers)
    known = {mistake.name: mistake for mistake in mistakes(EXERCISE)}
    for name in MISTAKES:
        found[name] = solved(EXERCISE, reference | mistake_answers(program, known[name]))
    found["untouched"] = released(EXERCISE)
    found["syntax error"] = solved(EXERCISE, reference)
    answer_cell(found["syntax error"], 1).source = "def attention_numpy(:\n    return"
    found["endless loop"] = solved(EXERCISE, reference)
    answer_cell(
        found["endless loop"], -1
    ).source = "def attention_jacobian(*arguments):\n    while True:\n        pass"
    found["noise"] = solved(EXERCISE, reference)
    noise = "import sys, warnings\nwarnings.warn('noise')\nprint('noise', file=sys.stderr)\n1 / 0"
    found["noise"].cells.insert(0, new_code_cell(noise))
    found["wrong types"] = solved(
        EXERCISE, reference | {"softmax": "def softmax(x, axis=-1):\n    return str(x)"}
    )
    return found


def golden_results(course: Course) -> dict[str, Any]:
    """What the fixed set gets in an empty class, without what differs from run to run.

    course: its settings, and a class folder to write to.
    """
    course.home.mkdir(parents=True, exist_ok=True)
    (course.home / "seeds.json").write_text(json.dumps({EXERCISE.name: SEED}), encoding="utf-8")
    grader, found = Grader(course), {}
    for name, notebook in submissions().items():
        folder_of(course, name).mkdir(parents=True)
        save(folder_of(course, name), notebook)
        found[name] = _stable(grader.grade(name, course.exercise(EXERCISE.name)).result)
    return found


def _stable(result: Result) -> dict[str, Any]:
    """A result as JSON: by line its points if it passed, else the difference; numbers rounded."""
    data = json.loads(result.to_json())
    lines = {
        f"{cell['grade_id']}: {line['expression']}": line["points"]
        if line["difference"] is None
        else {"difference": stable(line["difference"]), "mistake": line["mistake"]}
        for cell in data["cells"]
        for line in cell["lines"]
    }
    return {"score": result.score, "remarks": data["remarks"], "lines": lines}


def stable(value: Any) -> Any:
    """A part of a result without what varies, with rounded numbers."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: stable(part) for name, part in value.items() if name not in VARYING}
    return [stable(part) for part in value] if isinstance(value, list) else value


def write(results: dict[str, Any], path: Path) -> None:
    """Write golden results in place of another version's; FileExistsError when this one's are there."""
    with path.open("x", encoding="utf-8") as file:
        file.write(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    for other in set(path.parent.glob("grader-*.json")) - {path}:
        other.unlink()
