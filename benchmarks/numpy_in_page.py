"""Does a task give the same verdicts in a page as in the notebook?

    python -m benchmarks.numpy_in_page

For each task, every mistake and alternative of the catalogue, the reference, and what the notebook is handed
out with are checked by book/_practice/shell.py, as in a page: once by this Python, with the course's NumPy and
torch, and once by Python 3.11 with NumPy 1.24.4 and the stand-in for torch, in an environment made in _build/.
Verdicts and recognised mistakes must be the same, line
by line, unless the page says that it lacks something. What is counted is written into numpy_in_page.json; a
task with a difference can't stand on a page.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from autograder.catalogue import (
    alternative_answers,
    alternatives,
    mistake_answers,
    mistakes,
)
from autograder.course import Course, Exercise
from autograder.exercises import reference_answers
from autograder.publish.practice import (
    answers_used,
    numpy_names,
    practice_notebook,
    practice_tasks,
    stand_in_sources,
)

RESULT = Path(__file__).with_suffix(".json")
SHELL = Path("book/_practice/shell.py")
STAND_IN = Path("book/_practice/torch_stand_in")
IN_PAGE = "1.24.4"
# tasks that the page can check, by exercise
TASKS = {
    "ch1_additive_attention": ("additive_scores", "attend"),
    "ch2_scaled_dot_product": (
        "softmax",
        "attention_numpy",
        "attention",
        "score_statistics",
        "attention_jacobian",
    ),
    "ch3_multi_head": ("count_parameters",),
    "ch7_training": ("noam_rate", "corpus_bleu"),
    "ch8_language_model": ("cache_bytes",),
    "ch9_flash_attention": ("tiles", "traffic"),
    "first_hour": ("dot_scores", "weighted_sum", "full_attention", "masked_attention"),
}
MARKS = ("✓", "✗")
NAMES = ("    This looks like a known mistake: ",)


def answers_to(exercise: Exercise, task: str) -> dict[str, dict[str, str]]:
    """All that is known to be answered to a task: a name -> by task, the answers."""
    program = exercise.program()
    offered = TASKS[exercise.name]
    used = answers_used(exercise)
    right = {
        name: reference_answers(Exercise(exercise.root, other))[name]
        for name, other in used.items()
        if name in TASKS.get(other, ())
    }
    right |= {name: text for name, text in reference_answers(exercise).items() if name in offered}
    found = {"": right, "as handed out": {**right, task: practice_tasks(exercise)[task].stub}}
    for mistake in mistakes(exercise):
        if mistake.function == task:
            found[mistake.name] = {**right, **mistake_answers(program, mistake)}
    for alternative in alternatives(exercise):
        changed = alternative_answers(program, alternative)
        if task in changed and set(changed) <= set(offered):
            found[alternative.name] = {**right, **changed}
    return found


def stand_in(exercise: Exercise) -> dict[str, str]:
    """The modules of the stand-in for torch, where a task needs it."""
    return stand_in_sources(Course.find().root / STAND_IN, exercise, TASKS[exercise.name])


def digest(exercise: Exercise, task: str) -> str:
    """A digest of all that a task's verdicts depend on."""
    notebook, root = practice_notebook(exercise), Course.find().root
    held = [
        (root / SHELL).read_text(encoding="utf-8"),
        notebook.header,
        notebook.checker,
        notebook.data,
        notebook.cells[task],
        answers_to(exercise, task),
        stand_in(exercise),
        IN_PAGE,
    ]
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:16]


PROGRAM = """\
import json, sys
given = json.load(sys.stdin)
names = {"__name__": "shell"}
exec(compile(given["shell"], "shell.py", "exec"), names)
names["start"](given["names"])
before = None
for task, answers in given["jobs"]:
    if task != before:
        # anew, since a notebook remembers which of its other answers were wrong
        names["load"]("exercise", given["notebook"], given["stand_in"])
    before = task
    names["check"]("exercise", task, answers)
"""


def checked(
    python: str, exercise: Exercise, jobs: list[tuple[str, dict]]
) -> list[tuple[str, dict]]:
    """What is printed for each job, and its result, by the Python at a path.

    Another Python than this one has the stand-in for torch.
    """
    in_page = python != sys.executable
    given = {
        "shell": (Course.find().root / SHELL).read_text(encoding="utf-8"),
        "names": numpy_names(),
        "notebook": practice_notebook(exercise).as_json(),
        "stand_in": stand_in(exercise) if in_page else {},
        "jobs": jobs,
    }
    run = [python, "-c", PROGRAM]
    done = subprocess.run(run, input=json.dumps(given), capture_output=True, text=True, check=True)
    found, printed = [], ""
    for message in map(json.loads, done.stdout.splitlines()):
        printed += message.get("out", "")
        if message.get("done"):  # of a check; that of the others is empty
            found.append((printed, message["done"]))
            printed = ""
    return found


def verdicts(printed: str, result: dict) -> list[str]:
    """The lines that say what was right and which mistake it is, without the numbers that differ."""
    lines = [line for line in printed.splitlines() if line.startswith((*MARKS, *NAMES))]
    return [str(result["passed"]), *lines]


def python_of_the_page(folder: Path) -> str:
    """An environment with the NumPy of the page, made where there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run(["python3.11", "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"numpy=={IN_PAGE}"], check=True)
    return str(python)


def measure(course: Course) -> dict:
    """Counts by task, and the names of what differs or is refused."""
    python = python_of_the_page(course.root / "_build" / f"numpy_{IN_PAGE}")
    found = {}
    for name, tasks in TASKS.items():
        exercise = Exercise(course.root, name)
        jobs = [
            (t, label, answers) for t in tasks for label, answers in answers_to(exercise, t).items()
        ]
        asked = [(task, answers) for task, _, answers in jobs]
        pairs = zip(
            checked(sys.executable, exercise, asked), checked(python, exercise, asked), strict=True
        )
        kinds: dict[str, list[str]] = {}
        counts: dict[str, Counter] = {task: Counter() for task in tasks}
        for (task, label, _), (here, there) in zip(jobs, pairs, strict=True):
            same = verdicts(*here) == verdicts(*there)
            kind = "refused" if there[1]["lacking"] else "same" if same else "different"
            counts[task][kind] += 1
            if kind != "same":
                kinds.setdefault(f"{task} {kind}", []).append(label)
                print(task, kind, label, *there[1]["lacking"])
                if kind == "different":
                    print(here[0], there[0], sep="\n-----\n")
        for task in tasks:
            found[task] = {
                "exercise": name,
                "key": digest(exercise, task),
                **{kind: counts[task][kind] for kind in ("same", "refused", "different")},
                "not the same": kinds.get(f"{task} refused", [])
                + kinds.get(f"{task} different", []),
            }
    return found


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    result = measure(Course.find())
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
