"""What is expected: the reference solution and its known mistakes, evaluated on drawn inputs.

In: an exercise, its grade cells and seeds. Out: per line and draw the inputs, the expected value and
what every known mistake gives. All of it runs in a process of its own (`python -m
autograder.reference`, a JSON job on standard input) that has ended before any student's code runs, so
that no submission can reach it.
"""

from __future__ import annotations

import concurrent.futures
import functools
import json
import linecache
import multiprocessing
import os
import subprocess
import sys
import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from autograder.catalogue import mistake_answers, mistakes, with_answers
from autograder.catalogue_file import Mistake
from autograder.course import Exercise
from autograder.dependencies import depends_on
from autograder.errors import CatalogueError
from autograder.expected import ExpectedCell, ExpectedDraw, ExpectedLine, Failed
from autograder.files import digest_of
from autograder.package import module_command
from autograder.programs import names_in
from autograder.runtime import tensors
from autograder.runtime.compare import NUDGE, Expected, cancellation, judge, summary
from autograder.runtime.draw import Draw
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.grade_cell import (
    Check,
    GradeCell,
    Relation,
    checks_with_inputs,
    parse_cell,
)
from autograder.runtime.messages import describe
from autograder.runtime.mistakes import Fingerprint, Judged, fingerprint, fits, tree_of
from autograder.runtime.parts import check_parts
from autograder.runtime.plain_data import Error, Items, Unsupported, Value, decode, encode, restore
from autograder.runtime.violations import violated

DRAWS = 3
# results that cancel no more than this need no wider tolerance
LITTLE_SUMMED = 4
ERROR_MARK = "CatalogueError: "


def place(exercise: Exercise, grade_id: str) -> str:
    """A grade cell as error messages name it."""
    return f"solutions/{exercise.name}.py, cell {grade_id}"


@functools.lru_cache(maxsize=256)
def namespace_of(program: str) -> dict[str, Any]:
    """The names that a program defines."""
    names: dict[str, Any] = {"__name__": "solutions.reference"}
    file = f"<reference {digest_of(program)[:16]}>"
    # so that an exception tells the line that raised it
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    exec(compile(program, file, "exec"), names)
    return names


def wrong_print(program: str, value: Value) -> Fingerprint:
    """The fingerprint of what a mistake gives: an exception of code that is right may come of anything, unless that
    refuses something."""
    refuses = isinstance(value, Error) and value.at.startswith("raise ")
    is_right = (
        isinstance(value, Error) and not refuses and tree_of(value.at) in _right_lines(program)
    )
    return fingerprint(value)[: 1 if is_right else None]


@functools.lru_cache(maxsize=64)
def _right_lines(program: str) -> frozenset[str]:
    """What the lines of a program compute."""
    return frozenset(map(tree_of, program.split("\n")))


# every draw and seed asks for the same
_names_in = functools.lru_cache(maxsize=1024)(names_in)


# every cell and seed asks for the same
@functools.lru_cache(maxsize=1024)
def wrong_program(program: str, mistake: Mistake) -> str:
    """The program with a mistake in it. Raises CatalogueError."""
    return with_answers(program, mistake_answers(program, mistake))


def draws_of(
    where: str, cell: GradeCell, seeds: Sequence[int], grade_id: str
) -> tuple[Draw, Iterator[tuple[Check, dict[str, Any]]]]:
    """A grade cell's draw under some seeds, and its checks with the inputs drawn.

    where: names the cell in a CatalogueError, when an input statement raises.
    """

    def checks() -> Iterator[tuple[Check, dict[str, Any]]]:
        try:
            yield from checks_with_inputs(cell, draw)
        except CatalogueError:
            raise
        except Exception as error:
            raise CatalogueError(
                f"{where}: an input statement raised {type(error).__name__}: {error}"
            ) from error

    draw = Draw(*seeds, zlib.crc32(grade_id.encode()))
    return draw, checks()


def expected_value(where: str, program: str, check: Check, inputs: dict, seed: int) -> dict:
    """What the reference gives for a check, as JSON for `Expected.read`."""
    if check.agreement:
        targets = inputs.get(check.agreement.targets)
        if not isinstance(targets, list):
            raise CatalogueError(
                f"{where}: agreement needs a drawn list {check.agreement.targets!r}."
            )
        return Expected.data(check, encode(targets), [])
    names, megabytes = namespace_of(program), check.megabytes
    used = _names_in(check.call) if megabytes is None else set()
    moved = {name: _nudged(one) if name in used else one for name, one in inputs.items()}
    result = evaluate(check.code, names, inputs, seed, megabytes=megabytes)
    value = decode(result["value"])
    if isinstance(value, Error | Unsupported):
        raise CatalogueError(
            f"{where}: the reference solution gives {describe(summary(value))} for "
            f"`{check.expression}`. An autotest must return plain data: arrays, numbers, text or "
            "containers of them. Correct the solution or the line."
        )
    expected = Expected.data(check, result["value"], result["parameters"])
    if megabytes is None:
        other = decode(evaluate(check.code, names, moved, seed)["value"])
        if (summed := round(cancellation(value, other))) > LITTLE_SUMMED:
            expected["summed"] = summed
    return expected


def _nudged(value: Any) -> Any:
    """An input whose floating numbers are a little larger or smaller."""
    if isinstance(value, list | tuple):
        return [_nudged(one) for one in value]
    if isinstance(value, dict):
        return {key: _nudged(one) for key, one in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value * (1 + NUDGE * np.sign(np.cos(np.arange(value.size)))).reshape(value.shape)
    if tensors.is_tensor(value) and value.dtype == tensors.needed().float64:
        return tensors.needed().from_numpy(_nudged(value.numpy()))
    return value


def caught_answers(exercise: Exercise, grade_id: str) -> set[str]:
    """The answers whose mistakes a grade cell is meant to catch."""
    return {mistake.function for mistake in mistakes(exercise) if mistake.cell == grade_id}


@dataclass(frozen=True)
class Asked:
    """Which known mistakes are evaluated with a grade cell.

    part: of the catalogue's; elsewhere: on how many draws those of answers that the cell doesn't grade are, None =
    on all; shown: by expression, those that show, None if that isn't known; failed: after the first draw only
    those that may explain it, None = all.
    """

    part: slice = field(default_factory=lambda: slice(None))
    elsewhere: int | None = None
    shown: Mapping[str, Collection[str]] | None = None
    failed: Failed | None = None

    def on_line(self, wrong: Mapping[str, str], check: Check, own: set[str]) -> Mapping[str, str]:
        """Those of some wrong programs, by the mistake's name, that are evaluated on a line.

        own: the mistakes that its cell is meant to catch.
        """
        # what is trained has no fingerprint
        if check.agreement:
            return {}
        seen = None if self.shown is None else self.shown[check.expression]
        return {
            name: program
            for name, program in wrong.items()
            # a line whose memory is measured takes long, and the lines before it have shown the other mistakes
            if (check.megabytes is None or name in own) and (seen is None or name in seen)
        }


EVERYTHING, NOTHING = Asked(), Asked(part=slice(0))


def expected_cell(
    exercise: Exercise,
    grade_id: str,
    source: str,
    seeds: Sequence[Sequence[int]],
    asked: Asked = EVERYTHING,
    for_release: bool = False,
) -> ExpectedCell:
    """What is expected of a grade cell, with mistakes' fingerprints.

    seeds: for every draw the integers that seed it; the cell's name is added. for_release: also what is
    right on the smallest visible draw, and relations that the reference violates are refused.
    """
    program = exercise.program()
    # the checks' input statements use what it imports
    namespace_of(program)
    where = place(exercise, grade_id)
    cell = parse_cell(source)
    known = mistakes(exercise)[asked.part]
    wrong = {mistake.name: wrong_program(program, mistake) for mistake in known}
    # a mistake can only change lines that name what depends on its answer
    affected = {mistake.name: depends_on(program, mistake.function) for mistake in known}
    own = caught_answers(exercise, grade_id)
    graded = {mistake.name for mistake in known if mistake.function in own}
    homed = {mistake.name for mistake in known if mistake.cell == grade_id}
    draws: list[list[ExpectedDraw]] = [[] for _ in cell.checks]
    for count, words in enumerate(seeds):
        possible = set(wrong)
        if asked.failed is not None and count:
            possible = explaining(asked.failed, [first.mistakes for first, *_ in draws], wrong)
        if asked.elsewhere is not None and count >= asked.elsewhere:
            possible &= graded
        draw, checks = draws_of(where, cell, words, grade_id)
        told: dict[str, dict] = {}
        for number, (check, inputs) in enumerate(checks):
            # these take so long that one draw has to do, and what trains gets another for a second try
            if len(draws[number]) >= _draws_at_most(check):
                continue
            used = _names_in(check.code)
            reached = {n: wrong[n] for n in wrong if n in possible and affected[n] & used}
            programs = asked.on_line(reached, check, homed)
            expected = _expected_draw(where, program, programs, check, inputs, draw.parameter_seed)
            draws[number].append(expected)
            told |= expected.inputs
        # a class's grading can't fail because of what is only told
        for relation in cell.relations if for_release else ():
            check_relation(where, program, relation, told, draw.parameter_seed)
    small = _on_smallest_draw(where, program, cell, grade_id) if for_release else {}
    lines = tuple(
        ExpectedLine(
            check.expression,
            check.points,
            tuple(found),
            check.agreement,
            small.get(check.expression),
            check.megabytes,
            check.functions,
        )
        for check, found in zip(cell.checks, draws, strict=True)
    )
    return ExpectedCell(cell.forbidden, lines)


def explaining(
    failed: Failed, shown: Sequence[Mapping[str, Fingerprint]], names: Iterable[str]
) -> set[str]:
    """Those of some mistakes that give on the first draw what a line has failed with; no other explains a cell.

    shown: by line, the mistakes that show on that draw.
    """
    pairs = zip(failed, shown, strict=True)
    judged = {repr(one): Judged(*one, mistakes) for found, mistakes in pairs for one in found}
    return {name for name in names if any(fits([one], name) for one in judged.values())}


def check_relation(
    where: str, program: str, relation: Relation, inputs: Mapping[str, dict], seed: int
) -> None:
    """Refuse a relation that the reference violates, or that says nothing of it.

    inputs: as JSON, what the cell's lines name; a grader has nothing else. Raises CatalogueError.
    """
    given = {name: restore(decode(tree)) for name, tree in inputs.items()}
    names = namespace_of(program)
    value = Evaluation.read(evaluate(relation.expression, names, given, seed)).value
    if not isinstance(value, Items) or len(value.items) < 2:
        raise CatalogueError(
            f"{where}: the relation `{relation.expression}` gives {describe(summary(value))} for the "
            "reference solution. It has to give a list of at least two results, and may use what the "
            "cell's lines name."
        )
    if violated(relation, value) is not None:
        raise CatalogueError(
            f"{where}: the reference solution violates the relation {relation.says!r}: "
            f"`{relation.expression}`."
        )


def _draws_at_most(check: Check) -> int:
    if check.agreement:
        return 2
    return sys.maxsize if check.megabytes is None else 1


def _on_smallest_draw(
    where: str, program: str, cell: GradeCell, grade_id: str
) -> dict[str, dict[str, Any]]:
    """What is right on the visible draw with the smallest sizes: by expression, where it can be drawn."""
    found = {}
    draw = Draw(zlib.crc32(grade_id.encode()), small=True)
    try:
        for check, inputs in checks_with_inputs(cell, draw):
            if check.agreement is None and (check.says is None or check.says.case):
                seed = draw.parameter_seed
                found[check.expression] = expected_value(where, program, check, inputs, seed)
    except Exception:
        # an author needn't think of sizes that no grade is made with
        return found
    return found


def _expected_draw(
    where: str,
    program: str,
    wrong_programs: Mapping[str, str],
    check: Check,
    inputs: dict[str, Any],
    seed: int,
) -> ExpectedDraw:
    used = _names_in(check.call)
    packed = {name: encode(value) for name, value in inputs.items() if name in used}
    if any(tree["kind"] == "unsupported" for tree in packed.values()):
        raise CatalogueError(f"{where}: `{check.expression}` uses an input that isn't plain data.")

    def fresh() -> dict[str, Any]:
        """Inputs that no program has changed."""
        return {name: restore(decode(tree)) for name, tree in packed.items()}

    expected = expected_value(where, program, check, {**inputs, **fresh()}, seed)
    wanted = Expected.read(expected)
    prints, rounded = {}, []
    for name, wrong_program in wrong_programs.items():
        names, megabytes = namespace_of(wrong_program), check.megabytes
        got = evaluate(check.code, names, fresh(), seed, megabytes=megabytes)
        evaluation = Evaluation.read(got)
        if judge(wanted, evaluation) is not None:
            prints[name] = wrong_print(program, evaluation.value)
            if judge(wanted, evaluation, lenient=True) is None:
                rounded.append(name)
    try:
        check_parts(check, inputs, wanted.value)
    except ValueError as error:
        raise CatalogueError(f"{where}: above `{check.expression}`, {error}.") from error
    return ExpectedDraw(packed, seed, expected, fingerprint(wanted.value), prints, rounded)


def prepare_process() -> None:
    """Settings of a process that evaluates references and their mistakes."""
    # torch reads this when it is imported, which the programs do
    os.environ["OMP_NUM_THREADS"] = "1"
    if torch := tensors.loaded():
        torch.set_num_threads(1)
    # wrong programs warn, and what they give is judged anyway
    warnings.simplefilter("ignore")


def check_right_versions(
    exercise: Exercise, right_versions: Mapping[str, str], cells: Mapping[str, ExpectedCell]
) -> None:
    """Refuse a right version that doesn't give what is expected, or that later answers can't use.

    right_versions: from `RightVersions.under`. Raises CatalogueError.
    """
    program = exercise.program()
    for answer, expression in right_versions.items():
        names = namespace_of(with_answers(program, {answer: f"{answer} = {expression}"}))
        affected = depends_on(program, answer)
        for name, cell in cells.items():
            for line in cell.lines:
                if line.agreement or not names_in(line.code) & affected:
                    continue
                draw = line.draws[0]
                inputs = {key: restore(decode(tree)) for key, tree in draw.inputs.items()}
                got = evaluate(line.code, names, inputs, draw.parameter_seed)
                if judge(Expected.read(draw.expected), Evaluation.read(got)) is not None:
                    raise CatalogueError(
                        f"{place(exercise, name)}: with {answer!r} as it is put in place of a wrong "
                        f"answer, `{line.expression}` is not right. An attribute that a later answer or "
                        "a check uses must stand as code in the statement."
                    )


@dataclass(frozen=True)
class Conditions:
    """What one evaluation of an exercise's cells is made under.

    seeds: for every draw the integers that seed it; right_versions: checked in the same process; failed: the
    cells that are evaluated, with the mistakes that may explain it; empty: all, without any; None: all, with
    all; shown: by cell and expression, the mistakes that show, None if that isn't known.
    """

    seeds: Sequence[Sequence[int]]
    right_versions: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, Failed] | None = None
    shown: Mapping[str, Mapping[str, Collection[str]]] | None = None

    def asked(self, name: str, part: slice) -> Asked:
        """What is evaluated with a grade cell, in the process that has a part of the catalogue."""
        if self.failed is not None and not self.failed:
            return NOTHING
        failed = self.failed[name] if self.failed else None
        return Asked(part, shown=(self.shown or {}).get(name), failed=failed)


def expected_cells(
    exercise: Exercise, cells: Mapping[str, str], several: Sequence[Conditions], processes: int = 1
) -> list[dict[str, ExpectedCell]]:
    """`expected_cell` of some grade cells under each of several seeds, in a process of its own.

    cells: grade_id -> source; processes: how many share the mistakes and the right versions, forked from that
    one; it changes nothing in what is found. CatalogueError when the reference or a right version is wrong.
    """
    found = run_job(
        "autograder.reference",
        exercise,
        cells=dict(cells),
        several=[asdict(one) for one in several],
        processes=processes,
    )
    return [{name: ExpectedCell.read(cell) for name, cell in cells.items()} for cells in found]


def _evaluated(
    exercise: Exercise, cells: Mapping[str, str], several: Sequence[Conditions], part: slice
) -> list[dict[str, ExpectedCell]]:
    """In that process: `expected_cells`; part: of the catalogue's mistakes, and of the right versions."""
    found = []
    for conditions in several:
        failed = conditions.failed
        one = {
            name: expected_cell(
                exercise,
                name,
                source,
                conditions.seeds,
                conditions.asked(name, part),
            )
            for name, source in cells.items()
            if not failed or name in failed
        }
        right_versions = dict(list(conditions.right_versions.items())[part])
        check_right_versions(exercise, right_versions, one)
        found.append(one)
    return found


def _shared(
    exercise: Exercise, cells: Mapping[str, str], several: Sequence[Conditions], processes: int
) -> list[dict[str, ExpectedCell]]:
    """The same by several processes, where they can be forked from this one."""
    evaluated = functools.partial(_evaluated, exercise, cells, several)
    if processes == 1 or sys.platform != "linux":
        return evaluated(slice(None))
    # imports what takes longest, once for all
    namespace_of(exercise.program())
    forked = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(processes, forked) as pool:
        parts = list(pool.map(evaluated, [slice(n, None, processes) for n in range(processes)]))
    return [
        {name: joined(exercise, [part[name] for part in together]) for name in together[0]}
        for together in zip(*parts, strict=True)
    ]


def joined(exercise: Exercise, parts: Sequence[ExpectedCell]) -> ExpectedCell:
    """One grade cell from several evaluations of it with other mistakes each."""
    order = [mistake.name for mistake in mistakes(exercise)]
    lines = [
        replace(
            line,
            draws=tuple(
                _joined_draw([other.lines[number].draws[at] for other in parts], order)
                for at in range(len(line.draws))
            ),
        )
        for number, line in enumerate(parts[0].lines)
    ]
    return replace(parts[0], lines=tuple(lines))


def _joined_draw(parts: Sequence[ExpectedDraw], order: Sequence[str]) -> ExpectedDraw:
    found = {name: seen for part in parts for name, seen in part.mistakes.items()}
    rounded = {name for part in parts for name in part.rounded}
    return replace(
        parts[0],
        mistakes={name: found[name] for name in order if name in found},
        rounded=[name for name in order if name in rounded],
    )


def run_job(module: str, exercise: Exercise, **job: Any) -> Any:
    """Run a module in a process of its own, JSON in and out; its CatalogueError is raised here."""
    job = {"root": str(exercise.root), "exercise": exercise.name, **job}
    done = subprocess.run(
        module_command(module),
        input=json.dumps(job),
        capture_output=True,
        text=True,
        cwd=exercise.root,
        env={**os.environ, "PYTHONPATH": str(exercise.root)},
        check=False,
    )
    if done.returncode == 0:
        return json.loads(done.stdout)
    message = done.stderr.strip()
    if ERROR_MARK in message:
        raise CatalogueError(message.rpartition(ERROR_MARK)[2])
    raise CatalogueError(f"The process that evaluates {exercise.name} ended: {message[-500:]}")


def answer_job() -> dict[str, Any]:
    """In that process: the job from standard input, with the exercise as an object."""
    prepare_process()
    job = json.load(sys.stdin)
    return {**job, "exercise": Exercise(Path(job.pop("root")), job["exercise"])}


def _main() -> None:
    job = answer_job()
    several = [Conditions(**one) for one in job["several"]]
    try:
        found = _shared(job["exercise"], job["cells"], several, job["processes"])
    except CatalogueError as error:
        sys.exit(f"{ERROR_MARK}{error}")
    json.dump([{name: cell.as_data() for name, cell in one.items()} for one in found], sys.stdout)


if __name__ == "__main__":
    _main()
