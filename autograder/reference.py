"""What is expected: the reference solution and its known mistakes, evaluated on drawn inputs.

Runs in a process of its own (`python -m autograder.reference`, a JSON job on standard input) that has
ended before any student's code runs, so that no submission can reach it.
"""

from __future__ import annotations

import ast
import collections
import functools
import json
import os
import subprocess
import sys
import warnings
import zlib
from collections.abc import Sequence
from typing import Any

from autograder.catalogue import (
    ROOT,
    CatalogueError,
    mistake_answers,
    mistakes,
    solution_path,
    with_answers,
)
from autograder.runtime import autotest

DRAWS = 3
VARIETY_SEEDS = 200
VARIETY_SHARE = 0.05


@functools.lru_cache(maxsize=256)
def definitions(program: str) -> dict[str, Any]:
    """The names that a program defines."""
    names: dict[str, Any] = {"__name__": "solutions.reference"}
    exec(compile(program, "<reference>", "exec"), names)
    return names


def _used(expression: str, inputs: dict[str, Any]) -> dict[str, Any]:
    words = {n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)}
    return {name: value for name, value in inputs.items() if name in words}


def _expected(where: str, program: str, line: dict, inputs: dict, seed: int) -> dict:
    if "truth" in line:
        if not isinstance(inputs.get(line["truth"]), list):
            raise CatalogueError(f"{where}: agreement needs a drawn list {line['truth']!r}.")
        value = autotest.encode(inputs[line["truth"]])
        return {"value": value, "parameters": [], "share": line["share"]}
    names = {**definitions(program), **autotest.HELPERS, **inputs}
    result = autotest.evaluate(line["expression"], names, seed)
    value = result["value"]
    if value["kind"] in ("error", "unsupported"):
        raise CatalogueError(
            f"{where}: the reference solution gives {autotest.describe(value)} for "
            f"`{line['expression']}`. An autotest must return plain data: arrays, numbers, text or "
            "containers of them. Mend the solution or the line."
        )
    return {"value": value, "parameters": result["parameters"]}


def cell_values(exercise: str, grade_id: str, source: str, seeds: Sequence[Sequence[int]]) -> dict:
    """Inputs, expected values and the mistakes' fingerprints of one grade cell on several draws.

    seeds: for every draw the words that seed it; the cell's name is added. Returns {"forbidden",
    "lines": [{"expression", "points", "draws": [{"inputs", "parameter_seed", "expected",
    "mistakes"}]}]}.
    """
    program = solution_path(exercise).read_text(encoding="utf-8")
    where = f"solutions/{exercise}.py, cell {grade_id}"
    forbidden, steps = autotest.parse_cell(source)
    wrong = {
        mistake.name: with_answers(program, mistake_answers(program, mistake))
        for mistake in mistakes(exercise)
    }
    lines = [{**step, "draws": []} for step in steps if isinstance(step, dict)]
    for words in seeds:
        draw = autotest.Draw(*words, zlib.crc32(grade_id.encode()))
        seed = draw.parameter_seed
        # one pass for every program, because each evaluation needs inputs that nobody has changed
        for number, (line, inputs) in enumerate(_run(where, steps, draw)):
            if "truth" in line and lines[number]["draws"]:
                continue
            packed = {
                name: autotest.encode(v) for name, v in _used(line["expression"], inputs).items()
            }
            if any(tree["kind"] == "unsupported" for tree in packed.values()):
                raise CatalogueError(
                    f"{where}: `{line['expression']}` uses an input that isn't plain data."
                )

            def fresh(packed: dict = packed) -> dict[str, Any]:
                return {k: autotest.restore(autotest.decode(tree)) for k, tree in packed.items()}

            expected = _expected(where, program, line, {**inputs, **fresh()}, seed)
            right = autotest.fingerprint(autotest.decode(expected["value"]))
            prints = {}
            # what is trained has no fingerprint
            for name, wrong_program in ({} if "truth" in line else wrong).items():
                names = {**definitions(wrong_program), **autotest.HELPERS, **fresh()}
                got = autotest.evaluate(line["expression"], names, seed)
                if not autotest.judge(expected, got)["passed"]:
                    prints[name] = autotest.fingerprint(autotest.decode(got["value"]))
            lines[number]["draws"].append(
                {
                    "inputs": packed,
                    "parameter_seed": seed,
                    "expected": expected,
                    "right": right,
                    "mistakes": prints,
                }
            )
    return {"forbidden": forbidden, "lines": lines}


def _run(where: str, steps: Sequence[str | dict], draw: autotest.Draw) -> Any:
    try:
        yield from autotest.lines_with_inputs(steps, draw)
    except CatalogueError:
        raise
    except Exception as error:
        raise CatalogueError(
            f"{where}: an input statement raised {type(error).__name__}: {error}"
        ) from error


def check_variety(exercise: str, grade_id: str, source: str) -> None:
    """Refuse an autotest that often gives the same value: it could be answered by a constant."""
    program = solution_path(exercise).read_text(encoding="utf-8")
    where = f"solutions/{exercise}.py, cell {grade_id}"
    _, steps = autotest.parse_cell(source)
    counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for seed in range(VARIETY_SEEDS):
        draw = autotest.Draw(seed, zlib.crc32(grade_id.encode()))
        for line, inputs in _run(where, steps, draw):
            expected = _expected(where, program, line, inputs, draw.parameter_seed)
            value = autotest.fingerprint(autotest.decode(expected["value"]))
            counts[line["expression"]][tuple(value)] += 1
    for expression, counter in counts.items():
        share = counter.most_common(1)[0][1] / VARIETY_SEEDS
        if share > VARIETY_SHARE:
            raise CatalogueError(
                f"{where}: `{expression}` gives the same value under {share:.0%} of {VARIETY_SEEDS} "
                f"seeds (at most {VARIETY_SHARE:.0%} are allowed): a constant would pass. Return more "
                "data: the results for several drawn inputs, not one bit."
            )


def check_catalogue(exercise: str, cells: dict[str, dict]) -> None:
    """Refuse a mistake that its cell doesn't catch, or that can't be told from another.

    cells: `cell_values` by grade_id.
    """
    where = f"solutions/catalogue/{exercise}.py"
    for mistake in mistakes(exercise):
        if mistake.cell not in cells:
            raise CatalogueError(
                f"{where}: mistake {mistake.name!r} names no grade cell: {mistake.cell!r}."
            )
        lines = [
            {
                "passed": mistake.name not in draw["mistakes"],
                "fingerprint": draw["mistakes"].get(mistake.name, draw["right"]),
                "mistakes": draw["mistakes"],
            }
            for line in cells[mistake.cell]["lines"]
            for draw in line["draws"]
        ]
        if all(line["passed"] for line in lines):
            raise CatalogueError(f"{where}: cell {mistake.cell} doesn't catch {mistake.name!r}.")
        own = [other.name for other in mistakes(exercise) if other.cell == mistake.cell]
        if autotest.recognise(lines, own, known=()) != mistake.name:
            twins = [
                other.name
                for other in mistakes(exercise)
                if other is not mistake
                and other.cell == mistake.cell
                and all(
                    (other.name in line["mistakes"]) is (not line["passed"])
                    and (
                        line["passed"]
                        or autotest.same_fingerprint(
                            line["mistakes"][other.name], line["fingerprint"]
                        )
                    )
                    for line in lines
                )
            ]
            raise CatalogueError(
                f"{where}: in cell {mistake.cell} no line tells {mistake.name!r} from "
                f"{', '.join(map(repr, twins))}. Merge them into one mistake with two causes, or add "
                "a line that separates them."
            )


def check_certainty(exercise: str, cells: dict[str, dict]) -> None:
    """Refuse a line that catches a mistake under some seeds only: who is told would be a matter of luck.

    cells: `cell_values` by grade_id.
    """
    for name, cell in cells.items():
        for line in cell["lines"]:
            draws = line["draws"]
            caught = collections.Counter(wrong for draw in draws for wrong in draw["mistakes"])
            for wrong, count in caught.items():
                if count < len(draws):
                    raise CatalogueError(
                        f"solutions/{exercise}.py, cell {name}: `{line['expression']}` shows the mistake "
                        f"{wrong!r} under {count} of {len(draws)} seeds. Draw larger sizes or more "
                        "cases, so that it shows under every seed or under none."
                    )


def run_job(job: dict) -> dict:
    """Values of all cells of a job {"exercise", "cells": {grade_id: source}, "seeds", "strict"}."""
    import torch

    torch.set_num_threads(1)
    # wrong programs warn, and what they give is judged anyway
    warnings.simplefilter("ignore")
    exercise, cells = job["exercise"], job["cells"]
    values = {name: cell_values(exercise, name, text, job["seeds"]) for name, text in cells.items()}
    if job["strict"]:
        check_catalogue(exercise, values)
        check_certainty(exercise, values)
        for name, text in cells.items():
            check_variety(exercise, name, text)
    return values


def in_own_process(
    exercise: str, cells: dict[str, str], seeds: Sequence[Sequence[int]], strict: bool = False
) -> dict:
    """`run_job` in a process of its own; CatalogueError with its message when the reference is wrong."""
    job = {
        "exercise": exercise,
        "cells": cells,
        "seeds": [list(s) for s in seeds],
        "strict": strict,
    }
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "autograder.reference"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    if done.returncode == 0:
        return json.loads(done.stdout)
    message = done.stderr.strip()
    raise CatalogueError(message.removeprefix("CatalogueError: ") or "the reference process died")


if __name__ == "__main__":
    try:
        answer = json.dumps(run_job(json.load(sys.stdin)))
    except CatalogueError as error:
        sys.exit(f"CatalogueError: {error}")
    sys.stdout.write(answer)
