"""Right answers changed in one place at a time: how many such changes does no check see?

python -m benchmarks.mutants
python -m benchmarks.mutants --exercise ch2_scaled_dot_product

Every reference answer and every alternative is changed at each node of its syntax tree in turn: another
operator or comparison, a neighbouring number, an argument left out or exchanged, a statement deleted, a
condition that always or never holds, a slice that is longer or shorter. The grade cells of the changed
answer are evaluated on a class's draws. Changes that pass every line are printed: most of them change
nothing (`dim=1` for `dim=-1`); a person reads the list for those that are wrong.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import difflib
import signal
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.catalogue import alternative_answers, alternatives, with_answers
from autograder.course import Course, Exercise
from autograder.exercises import reference_answers
from autograder.grade.answer_key import AnswerKeys
from autograder.programs import without_docstrings
from autograder.reference import ExpectedCell, definitions, prepare_process
from autograder.runtime.compare import Expected, judge
from autograder.runtime.evaluate import Evaluation, evaluate
from autograder.runtime.plain_data import decode, restore
from benchmarks.record import save

SECONDS = 10  # for one line on one draw; a change that never ends is seen

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
# what these hold is no value: annotations, and whether a name is read or written
NO_VALUES = ("annotation", "returns", "ctx")


@dataclass(frozen=True)
class Change:
    """A changed answer that passes every line: whose version it is, and the lines that differ."""

    answer: str
    version: str
    lines: tuple[str, ...]


def changed(source: str) -> Iterator[str]:
    """Every program that differs from a source in one place; docstrings are left out of all."""
    tree = without_docstrings(ast.parse(source))
    seen = {ast.unparse(tree)}
    for steps, node in _nodes(tree, ()):
        for other in _others(node):
            text = ast.unparse(ast.fix_missing_locations(_replaced(tree, steps, other)))
            if text not in seen and _is_program(text):
                seen.add(text)
                yield text


def _is_program(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _nodes(node: ast.AST, steps: tuple) -> Iterator[tuple[tuple, ast.AST]]:
    """All nodes below a node, each with the steps that lead to it: (field, place in a list or None)."""
    for field, value in ast.iter_fields(node):
        if field in NO_VALUES:
            continue
        places = enumerate(value) if isinstance(value, list) else [(None, value)]
        for place, child in places:
            if isinstance(child, ast.AST):
                path = (*steps, (field, place))
                yield path, child
                yield from _nodes(child, path)


def _replaced(tree: ast.Module, steps: tuple, other: ast.AST) -> ast.Module:
    tree = copy.deepcopy(tree)
    node: Any = tree
    for field, place in steps[:-1]:
        node = getattr(node, field) if place is None else getattr(node, field)[place]
    field, place = steps[-1]
    if place is None:
        setattr(node, field, other)
    else:
        getattr(node, field)[place] = other
    return tree


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    other = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a node's place, one at a time."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in OPERATORS:
                yield _with(node, op=OPERATORS[type(op)]())
            yield from (left, right)
        case ast.Compare(ops=[op]):
            yield from (_with(node, ops=[other()]) for other in COMPARISONS.get(type(op), ()))
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            yield from values
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1) if value else ast.UnaryOp(ast.USub(), ast.Constant(1))
        case ast.Constant(value=float(value)):
            yield ast.Constant(1.2 * value + 0.01)
        case ast.Call():
            yield from _other_calls(node)
        case ast.Slice():
            yield from _other_slices(node)
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.If():
            yield from (_with(node, test=ast.Constant(value)) for value in (True, False))
        case ast.AugAssign(target=target, value=value):
            yield from (ast.Pass(), ast.Assign([target], value))
        case ast.Assign() | ast.Expr() | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass()


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    for place in range(len(node.keywords)):
        yield _with(node, keywords=node.keywords[:place] + node.keywords[place + 1 :])
    plain = [given for given in node.args if not isinstance(given, ast.Starred)]
    if len(plain) == len(node.args) >= 2:
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
        yield _with(node, args=node.args[:-1])
    if isinstance(node.func, ast.Attribute):
        yield node.func.value
    if plain:
        yield plain[0]


def _other_slices(node: ast.Slice) -> Iterator[ast.AST]:
    for part in ("lower", "upper", "step"):
        if getattr(node, part) is not None:
            yield _with(node, **{part: None})
    if node.lower is None:
        yield _with(node, lower=ast.Constant(1))
    if node.upper is None:
        yield _with(node, upper=ast.UnaryOp(ast.USub(), ast.Constant(1)))


class OutOfTime(BaseException):
    """A changed answer takes too long. No Exception, so that it is not the answer's own error."""


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """End what runs after some seconds with OutOfTime."""

    def end(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def passes(program: str, cells: list[ExpectedCell]) -> bool:
    """Whether a program passes every line of some grade cells, but for those that train."""
    try:
        with time_limit(SECONDS):
            names = definitions(program)
        for line in (line for cell in cells for line in cell.lines if not line.agreement):
            for draw in line.draws:
                inputs = {name: restore(decode(tree)) for name, tree in draw.inputs.items()}
                with time_limit(SECONDS):
                    told = evaluate(line.expression, names, inputs, draw.parameter_seed)
                if judge(Expected.read(draw.expected), Evaluation.read(told)) is not None:
                    return False
    except (Exception, OutOfTime):
        return False
    return True


def unseen(exercise: Exercise, cells: Mapping[str, list[ExpectedCell]]) -> tuple[int, list[Change]]:
    """How many changes were tried, and those that no check sees. cells: that grade an answer, by name."""
    program, tried, left = exercise.program(), 0, []
    versions = {"reference": reference_answers(exercise)}
    versions |= {one.name: alternative_answers(program, one) for one in alternatives(exercise)}
    for version, answers in versions.items():
        for answer in answers.keys() & cells.keys():
            right = ast.unparse(without_docstrings(ast.parse(answers[answer]))).splitlines()
            for text in changed(answers[answer]):
                tried += 1
                if passes(with_answers(program, answers | {answer: text}), cells[answer]):
                    lines = difflib.ndiff(right, text.splitlines())
                    kept = tuple(line for line in lines if line[0] in "+-")
                    left.append(Change(answer, version, kept))
    return tried, left


def main() -> None:
    """Measure, print what no check sees, and save the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--exercise", help="only this exercise")
    chosen = parser.parse_args().exercise
    warnings.filterwarnings("ignore")
    prepare_process()
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Course.find().root, class_folder=Path(folder))
        for exercise in [course.exercise(chosen)] if chosen else course.exercises():
            key = AnswerKeys(course).of_class(exercise)
            cells: dict[str, list[ExpectedCell]] = {}
            for grade_id, answers in key.graded.items():
                trains = all(line.agreement for line in key.cells[grade_id].lines)
                for answer in () if trains else answers:
                    cells.setdefault(answer, []).append(key.cells[grade_id])
            tried, left = unseen(exercise, cells)
            counts[exercise.name] = {"tried": tried, "unseen": len(left)}
            for change in left:
                print(
                    f"{exercise.name}: {change.answer} ({change.version})",
                    *change.lines,
                    sep="\n  ",
                )
    save(__file__, {"changes": counts})


if __name__ == "__main__":
    main()
