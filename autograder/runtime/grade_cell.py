"""A grade cell: functions, statements that draw inputs, and lines that are checked."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .draw import Draw
from .evaluate import compiled
from .functions import call, called, code
from .plain_data import unpack
from .tensors import libraries

# what may stand in a grade cell beside drawn inputs and its lines
STATEMENTS = ("forbid", "agreement", "memory", "says", "equal", "unequal")


@dataclass(frozen=True)
class Agreement:
    """How a line is judged that trains something, so that no single value of it is right.

    targets: name of the drawn list that it should return; share: how many of its items must come
    back, from 0 to 1; seconds: its own time, by the clock on the wall; processor_seconds: the processor
    time that it is given; sources: name of the drawn list that the targets belong to, of which an
    example is shown.
    """

    targets: str
    share: float
    seconds: float | None = None
    processor_seconds: float | None = None
    sources: str | None = None


# names of a nested value's parts, from the outside in: a name for each part, a template for every
# part, or None where they have none
Parts = tuple[tuple[str, ...] | str | None, ...]


@dataclass(frozen=True)
class Sentence:
    """What a line tests, in words, as `says(...)` above it gives them.

    parts: what the parts of its value are called (see `parts`); case: whether a student may get at
    the line's inputs; added: the name of what only a later statement than the first release's asks.
    """

    text: str
    parts: Parts = ()
    case: bool = True
    added: str = ""


@dataclass(frozen=True)
class Check:
    """One autotest line.

    answer: packed, what the student's own check compares with; megabytes: the memory that it may use
    beyond its inputs, None for a line that is not measured; functions: the source of those that it calls.
    """

    expression: str
    points: float
    answer: str | None = None
    agreement: Agreement | None = None
    says: Sentence | None = None
    megabytes: int | None = None
    functions: str = ""

    @property
    def code(self) -> str:
        """What is evaluated."""
        return code(self.expression, self.functions)

    @property
    def call(self) -> str:
        """Its expression, which names the inputs that it uses."""
        return call(self.expression, self.functions)


@dataclass(frozen=True)
class Relation:
    """What results of right answers have in common, whatever the inputs: tried where a line fails.

    says: what is told where it is violated; expression: code that gives a list of results; equal: whether these
    have to be the same, or to differ; axis: of arrays that should be equal, along which the places are
    told where they aren't.
    """

    says: str
    expression: str
    equal: bool = True
    axis: int | None = None


@dataclass(frozen=True)
class GradeCell:
    """A grade cell's forbidden names, its steps in order (input statements, as text, and checks), relations.

    functions: the source of those that its steps call.
    """

    forbidden: tuple[str, ...]
    steps: tuple[str | Check, ...]
    relations: tuple[Relation, ...] = ()
    functions: str = ""

    @property
    def checks(self) -> list[Check]:
        """Its autotest lines."""
        return [step for step in self.steps if isinstance(step, Check)]

    def asks(self) -> GradeCell:
        """The same cell without baked answers, words and relations: what two versions must share."""
        steps = (
            step if isinstance(step, str) else replace(step, answer=None, says=None, functions="")
            for step in self.steps
        )
        functions = ast.unparse(ast.parse(self.functions))
        return GradeCell(self.forbidden, tuple(steps), functions=functions)


def read_relations(data: str) -> dict[str, tuple[Relation, ...]]:
    """Relations by grade cell, from the lines below a notebook's note on what its checks compare with.

    The last line has the answers, and the one above it the relations.
    """
    *_, packed, _ = data.strip().split("\n")
    return {name: tuple(Relation(**one) for one in found) for name, found in unpack(packed).items()}


def _sentence(text: str, parts: object = (), case: bool = True, added: str = "") -> Sentence:
    """The arguments of `says`: a text or a list is one level of parts, a tuple several."""
    levels = parts if isinstance(parts, tuple) else (parts,)
    named = tuple(tuple(level) if isinstance(level, list) else level for level in levels)
    return Sentence(text, named, case, added)


def _call(node: ast.expr | None) -> tuple[str | None, list[ast.expr], list[ast.keyword]]:
    """What a statement `name(...)` calls, and with which arguments; None for any other."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id, node.args, node.keywords
    return None, [], []


def parse_cell(source: str) -> GradeCell:
    """Read a grade cell.

    The `%%autotest` line, if there is one, is skipped. The lines below
    `agreement("targets", share=..., seconds=..., processor_seconds=...)` are judged by agreement, on one draw;
    those below `memory(megabytes=...)` may use no more memory than that;
    `says("...", parts=..., case=..., added=...)` belongs to the one line that it stands directly above, and
    anywhere else raises ValueError. `equal("...", expression, axis=...)` and `unequal("...", expression)`
    are relations of the cell; instead of an expression they take a function, whose parameters are inputs.
    """
    body = "\n".join(line for line in source.split("\n") if not line.startswith("%%autotest"))
    forbidden: list[str] = []
    steps: list[str | Check] = []
    agreement: Agreement | None = None
    says: Sentence | None = None
    megabytes: int | None = None
    relations: list[Relation] = []
    tree, lines = ast.parse(body), body.split("\n")
    functions = {
        # ten times as fast as ast.get_source_segment
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    for node in tree.body:
        name, arguments, keywords = _call(node.value if isinstance(node, ast.Expr) else None)
        if says and name != "check":
            raise ValueError(f"`says({says.text!r})` does not stand directly above a line's check")
        if name == "forbid":
            forbidden += [ast.literal_eval(argument) for argument in arguments]
        elif name == "memory":
            (keyword,) = keywords
            megabytes = ast.literal_eval(keyword.value)
        elif name in ("equal", "unequal"):
            named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
            words, given = (
                ast.literal_eval(arguments[0]),
                _relation(arguments[1], functions),
            )
            relations.append(Relation(words, given, name == "equal", **named))
        elif name in ("check", "agreement", "says"):
            named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords}
            first = ast.literal_eval(arguments[0])
            if name == "check":
                asked = Check(first, functions=called(first, functions), **named)
                check = replace(asked, agreement=agreement, says=says, megabytes=megabytes)
                steps.append(check)
                says = None
            elif name == "says":
                says = _sentence(first, **named)
            else:
                agreement = Agreement(first, **named)
        elif not isinstance(node, ast.FunctionDef):
            steps.append(ast.unparse(node))
    if says:
        raise ValueError(f"`says({says.text!r})` does not stand directly above a line's check")
    texts = [step if isinstance(step, str) else step.expression for step in steps]
    needed = called("\n".join(texts), functions)
    return GradeCell(tuple(forbidden), tuple(steps), tuple(relations), needed)


def _relation(argument: ast.expr, functions: Mapping[str, str]) -> str:
    """The code of a relation, which is text or the name of a function."""
    if not isinstance(argument, ast.Name):
        return ast.literal_eval(argument)
    if argument.id not in functions:
        raise ValueError(f"`{argument.id}` is no function of the cell")
    return code(argument.id, called(argument.id, functions))


def checks_with_inputs(cell: GradeCell, draw: Draw) -> Iterator[tuple[Check, dict[str, Any]]]:
    """Run a cell's input statements; give each check with a copy of the inputs drawn so far."""
    names = {**libraries(), "draw": draw}
    exec(compiled(cell.functions, "exec"), names)
    own = dict(names)
    for step in cell.steps:
        if isinstance(step, str):
            exec(compiled(step, "exec"), names)
        else:
            inputs = {name: value for name, value in names.items() if name not in own}
            yield step, copy.deepcopy(inputs)
