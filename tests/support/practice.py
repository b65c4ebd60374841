"""Tasks that readers solve in the page, checked outside a browser by what checks them there."""

import json
import subprocess
import sys

from autograder.catalogue import alternative_answers, alternatives, mistake_answers, mistakes
from autograder.course import Exercise
from autograder.exercises import reference_answers
from autograder.publish.practice import (
    answers_used,
    numpy_names,
    offered_tasks,
    practice_notebook,
    practice_tasks,
    stand_in_sources,
)
from tests.support.course import COURSE

SHELL = COURSE.book / "_practice" / "shell.py"
STAND_IN = COURSE.book / "_practice" / "torch_stand_in"
OFFERED = offered_tasks(COURSE.book)
# the tasks with a block, by exercise
TASKS = {
    exercise: tuple(task for task, home in OFFERED.items() if home == exercise)
    for exercise in sorted(set(OFFERED.values()))
}
PROGRAM = """\
import importlib.machinery, json, os, sys, sysconfig

# a module that isn't one of the browser's Python says where they are
sysconfig.get_path("purelib")


class OfThePage:
    "Finds what the Python of a browser has: the standard library and NumPy."

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {*sys.stdlib_module_names, "numpy"}:
            return importlib.machinery.PathFinder.find_spec(name, path, target)

given = json.load(sys.stdin)
if given["in_page"]:
    sys.meta_path[sys.meta_path.index(importlib.machinery.PathFinder)] = OfThePage()
names = {"__name__": "shell"}
exec(compile(given["shell"], "shell.py", "exec"), names)
names["start"](given["names"])
names["load"]("exercise", given["notebook"], given["stand_in"])
for task, answers in given["jobs"]:
    # each in a process of its own, since a notebook remembers what it has told of other answers
    if (child := os.fork()) == 0:
        names["check"]("exercise", task, answers)
        os._exit(0)
    os.waitpid(child, 0)
"""


def answers_to(exercise: Exercise, task: str) -> dict[str, dict[str, str]]:
    """All that is known to be answered to a task: a name, "" of the reference -> by task, the answers."""
    program = exercise.program()
    offered = TASKS[exercise.name]
    right = {
        name: reference_answers(Exercise(exercise.root, other))[name]
        for name, other in answers_used(exercise).items()
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


def checked(
    exercise: Exercise, jobs: list[tuple[str, dict[str, str]]], *, in_page: bool = False
) -> list[tuple[str, dict]]:
    """What is printed for each job, a task and the answers, and its result.

    in_page: with nothing but NumPy and the stand-in for torch, as in a browser, though with this NumPy.
    """
    given = {
        "in_page": in_page,
        "shell": SHELL.read_text(encoding="utf-8"),
        "names": numpy_names(),
        "notebook": practice_notebook(exercise).as_json(),
        "stand_in": stand_in_sources(STAND_IN, exercise, TASKS[exercise.name]) if in_page else {},
        "jobs": jobs,
    }
    run = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(run, input=json.dumps(given), capture_output=True, text=True, check=True)
    found, printed = [], ""
    for message in map(json.loads, done.stdout.splitlines()):
        printed += message.get("out", "")
        if message.get("done"):  # of a check; that of the others is empty
            found.append((printed, message["done"]))
            printed = ""
    return found
