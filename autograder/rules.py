"""Rules on the syntax tree of a program, such as `$X + self.dropout($Y) -> self.dropout($Y)`.

A rule holds everywhere in a program at once. `$X` stands for any expression, and for an equal one where
it occurs again. What a rule doesn't touch keeps its text.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.splices import EditError, Splice, line_starts, says_the_same, spliced
from autograder.syntax_trees import HOLE, PLACE, same_tree, tree_of, with_places

# what has no spaces around its sign, as the style of Python has it, is no assignment
ARGUMENT = re.compile(r"[^\W\d]\w*=[^=\s]")
ARROW = re.compile(r"(?:^|\s)->(?:\s|$)")
# what a rule can change
Part = ast.expr | ast.stmt | ast.keyword


@dataclass(frozen=True)
class Rule:
    """What is put in place of what, everywhere: an expression, a simple statement, or an `argument=1`.

    before, after: as text with holes. For a statement there may be several, joined by `;`, or none.
    line: where it stands in its file.
    """

    before: str
    after: str
    line: int = 0

    @functools.cached_property
    def pattern(self) -> ast.AST:
        """The expression, statement or argument that it looks for. Raises SyntaxError, ValueError."""
        (before,), after = _parsed(self.before), _parsed(self.after)
        if isinstance(before, ast.keyword) and [type(one) for one in after] != [ast.keyword]:
            raise SyntaxError("an argument becomes an argument")
        if isinstance(before, ast.Expr) and len(after) == 1 and isinstance(after[0], ast.Expr):
            return before.value
        return before

    @property
    def is_readable(self) -> bool:
        """Whether its sides are what a rule may have."""
        try:
            return isinstance(self.pattern, Part)
        except (SyntaxError, ValueError):
            return False

    @functools.cached_property
    def is_closed(self) -> bool:
        """Whether the new expression needs no parentheses, wherever it stands."""
        after = _parsed(self.after)[0]
        return (
            isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Call | ast.Attribute | ast.Subscript | ast.Name)
            and not HOLE.fullmatch(self.after)
        )


def read_rules(text: str, line: int = 1) -> list[Rule]:
    """The rules of a text, each on a line of its own; one may go on in indented lines.

    line: the number of the text's first line, for errors. Raises EditError for what is no rule, for a rule
    that changes nothing, and for a hole on the right that the left doesn't have.
    """
    lines = text.split("\n")
    starts = [n for n, one in enumerate(lines) if one.strip() and one[0] not in " \t"]
    return [
        _rule(" ".join(part.strip() for part in lines[start:end]).strip(), line + start)
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]


def _rule(text: str, line: int) -> Rule:
    # an arrow may be part of a text
    for arrow in ARROW.finditer(text):
        rule = Rule(text[: arrow.start()].strip(), text[arrow.end() :].strip(), line)
        if rule.is_readable:
            break
    else:
        raise EditError(
            f"`{text}` is no rule. A rule is `old -> new`: two expressions, two `name=value` arguments, "
            "or a simple statement and what comes in its place, if anything. A longer change is a diff.",
            line,
        )
    if HOLE.fullmatch(rule.before):
        raise EditError(f"`{rule.before}` alone stands for everything.", line)
    unbound = set(HOLE.findall(rule.after)) - set(HOLE.findall(rule.before))
    if unbound:
        raise EditError(f"`{text}`: nothing on the left says what ${min(unbound)} is.", line)
    if rule.after and same_tree(_parsed(rule.before), _parsed(rule.after)):
        raise EditError(f"`{text}` changes nothing.", line)
    return rule


def rule_splices(program: str, rules: Sequence[Rule]) -> list[Splice]:
    """What rules change in a program. Raises EditError for a rule that fits nowhere."""
    source = _Source(program, rules)
    splices = source.splices()
    for rule in rules:
        if rule not in source.used:
            raise EditError(f"`{rule.before}` occurs nowhere{_nearest(program, rule)}.", rule.line)
    return splices


def _nearest(program: str, rule: Rule) -> str:
    """Where a rule's first name occurs at least, to say with an error."""
    names = [node.id for node in ast.walk(rule.pattern) if isinstance(node, ast.Name)]
    names = [name for name in names if not PLACE.fullmatch(name)]
    missing = [name for name in names if not re.search(rf"\b{name}\b", program)]
    return f": there is no {missing[0]!r}" if missing else ""


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> list[ast.stmt] | list[ast.keyword]:
    """The simple statements of a line with holes, or its argument. Raises SyntaxError for what else it is."""
    text = with_places(text)
    if ARGUMENT.match(text):
        call = ast.parse(f"_({text})", mode="eval").body
        if not isinstance(call, ast.Call) or len(call.keywords) != 1:
            raise SyntaxError("more than one argument")
        return call.keywords
    body = ast.parse(text).body
    if any(hasattr(one, "body") or hasattr(one, "cases") for one in body):
        raise SyntaxError("a compound statement")
    return body


@dataclass(frozen=True)
class _Outline:
    """The parts of a program that rules can change, outer ones first.

    ends: for each the number of the first one behind it that is no part of it; numbers: by id.
    """

    nodes: list[Part]
    ends: list[int]
    numbers: dict[int, int]


@functools.lru_cache(maxsize=64)
def _outline(program: str) -> _Outline:
    found = _Outline([], [], {})

    def add(node: ast.AST) -> None:
        number = len(found.nodes)
        if isinstance(node, Part):
            found.numbers[id(node)] = number
            found.nodes.append(node)
            found.ends.append(0)
        # before Python 3.12 nothing says where the parts of an f-string stand
        if not isinstance(node, ast.JoinedStr):
            for child in ast.iter_child_nodes(node):
                add(child)
        if isinstance(node, Part):
            found.ends[number] = len(found.nodes)

    add(tree_of(program))
    return found


class _Source:
    """The text of a program, and where rules fit in it."""

    def __init__(self, program: str, rules: Sequence[Rule]) -> None:
        self._text = program.encode()
        self._starts = line_starts(self._text)
        self._outline = _outline(program)
        self._rules: dict[type[ast.AST], list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(type(rule.pattern), []).append(rule)
        self.used: set[Rule] = set()

    def splices(self) -> list[Splice]:
        """What the rules change."""
        return list(self._within(0, len(self._outline.nodes)))

    def _within(self, number: int, last: int) -> Iterator[Splice]:
        """What the rules change in some parts: outer ones, and in them what stands in holes."""
        while number < last:
            node = self._outline.nodes[number]
            for rule in self._rules.get(type(node), ()):
                bound: dict[str, ast.expr] = {}
                if same_tree(rule.pattern, node, bound):
                    self.used.add(rule)
                    yield self._replaced(node, rule, bound)
                    number = self._outline.ends[number]
                    break
            else:
                number += 1

    def _span(self, node: Part) -> tuple[int, int]:
        # what was parsed from a text has both ends
        assert node.end_lineno is not None and node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _replaced(self, node: Part, rule: Rule, bound: Mapping[str, ast.expr]) -> Splice:
        start, end = self._span(node)
        if not rule.after:
            return self._removed(start, end, rule)
        filled = {name: self._rewritten(part) for name, part in bound.items()}
        text = _filled(rule.after, filled).encode()
        # what a call without brackets of its own is given takes those of the call with it
        is_open = isinstance(node, ast.expr) and not (
            rule.is_closed and not isinstance(node, ast.GeneratorExp)
        )
        return Splice(start, end, text, is_open, rule.line)

    def _removed(self, start: int, end: int, rule: Rule) -> Splice:
        """Without a statement: its lines go, if nothing but a comment stands beside it."""
        first = self._text.rfind(b"\n", 0, start) + 1
        last = self._text.find(b"\n", end) + 1 or len(self._text)
        beside = self._text[first:start] + self._text[end:last].partition(b"#")[0]
        if beside.strip():
            return Splice(start, end, b"pass", line=rule.line)
        return Splice(first, last, b"", line=rule.line)

    def _rewritten(self, node: ast.expr) -> str:
        """The text of an expression, with the rules applied in it."""
        start, end = self._span(node)
        number = self._outline.numbers[id(node)]
        # in parentheses it may have several lines
        inner = [
            Splice(one.start - start + 1, one.end - start + 1, one.text, one.is_open)
            for one in self._within(number, self._outline.ends[number])
        ]
        return spliced(b"(%b)" % self._text[start:end], inner)[1:-1].decode()


def _filled(template: str, filled: Mapping[str, str]) -> str:
    """A rule's right side with texts in its holes, in parentheses where they are needed."""
    for hole in reversed(list(HOLE.finditer(template))):
        text = filled[hole[1]]
        bare, safe = (
            template[: hole.start()] + one + template[hole.end() :] for one in (text, f"({text})")
        )
        template = bare if says_the_same(with_places(bare), with_places(safe)) else safe
    return template
