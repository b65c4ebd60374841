"""Changes to a program: rules on its syntax tree, and diffs of its lines. Comments play no part in either.

A rule, `$X + self.dropout($Y) -> self.dropout($Y)`, holds everywhere in a program at once. `$X` stands for
any expression, and for an equal one where it occurs again. All changes of a list are found in the
original, so that two rules can exchange two names. What a change doesn't touch keeps its text.
"""

from __future__ import annotations

import ast
import functools
import io
import itertools
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

HOLE = re.compile(r"\$([A-Z]\w*)")
# a hole as a name that Python accepts; nobody calls a variable so
PLACE = re.compile(r"HOLE_([A-Z]\w*)_ELOH")
# what has no spaces around its sign, as the style of Python has it, is no assignment
ARGUMENT = re.compile(r"[^\W\d]\w*=[^=\s]")
ARROW = re.compile(r"(?:^|\s)->(?:\s|$)")
# fields that don't matter for what a program does
UNCOMPARED = {"ctx", "kind", "type_comment", "type_params"}
# what a rule can change
Part = ast.expr | ast.stmt | ast.keyword


class EditError(ValueError):
    """A change that can't be read or made. line: where it stands; 0 where it is none of one line."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


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


@dataclass(frozen=True)
class Hunk:
    """A piece of a diff: lines of a program that stand there exactly once, and what becomes of them.

    lines: each behind `-` (goes), `+` (comes) or a space (stays).
    """

    lines: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True)
class Splice:
    """A piece of a program's text, from start to end in bytes, and the new text in its place.

    is_open: the text may need parentheses there.
    """

    start: int
    end: int
    text: bytes
    is_open: bool = False
    line: int = 0


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
    if rule.after and _is_same(_parsed(rule.before), _parsed(rule.after)):
        raise EditError(f"`{text}` changes nothing.", line)
    return rule


def read_diff(text: str, line: int = 1) -> list[Hunk]:
    """The hunks of a diff, between lines that begin with `@@`.

    line: the number of the text's first line, for errors. Raises EditError for a line that begins with
    none of `-`, `+` and a space, and for a hunk that changes nothing.
    """
    hunks: list[Hunk] = []
    lines: list[str] = []
    start = line
    for number, one in enumerate([*text.split("\n"), "@@"], line):
        if one.startswith("@@"):
            if not any(known[0] in "-+" for known in lines):
                raise EditError("none of these lines of a diff begins with - or +.", start)
            hunks.append(Hunk(tuple(lines), start))
            lines, start = [], number + 1
        elif one.strip() and one[0] not in "-+ ":
            raise EditError(f"`{one}`: a line of a diff begins with -, + or a space.", number)
        elif one.strip():
            lines.append(one)
    return hunks


def edited(program: str, edits: Sequence[Rule | Hunk]) -> str:
    """A program after all changes, each found in the original.

    Raises EditError for a change that fits nowhere, a diff that fits more than once, two changes of
    one place, a result that is no Python, or the same program.
    """
    tree, text = _tree(program), program.encode()
    rules = [edit for edit in edits if isinstance(edit, Rule)]
    source = _Source(program, rules)
    splices = source.splices()
    for rule in rules:
        if rule not in source.used:
            raise EditError(f"`{rule.before}` occurs nowhere{_nearest(program, rule)}.", rule.line)
    for edit in edits:
        if isinstance(edit, Hunk):
            splices += _hunk_splices(program, edit)
    splices.sort(key=lambda splice: (splice.start, splice.end))
    for one, other in itertools.pairwise(splices):
        if other.start < one.end:
            raise EditError("Two changes of one place: make them one.", max(one.line, other.line))
    found = _spliced(text, splices).decode()
    try:
        after = ast.parse(found)
    except SyntaxError as error:
        raise EditError(
            f"The result is no Python: {error.msg}, in `{(error.text or '').strip()}`."
        ) from None
    if _is_same(after, tree):
        raise EditError("The result is the same program.")
    return found


def _nearest(program: str, rule: Rule) -> str:
    """Where a rule's first name occurs at least, to say with an error."""
    names = [node.id for node in ast.walk(rule.pattern) if isinstance(node, ast.Name)]
    names = [name for name in names if not PLACE.fullmatch(name)]
    missing = [name for name in names if not re.search(rf"\b{name}\b", program)]
    return f": there is no {missing[0]!r}" if missing else ""


# Syntax trees ------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _tree(program: str) -> ast.Module:
    return ast.parse(program)


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> list[ast.stmt] | list[ast.keyword]:
    """The simple statements of a line with holes, or its argument. Raises SyntaxError for what else it is."""
    text = HOLE.sub(r"HOLE_\1_ELOH", text)
    if ARGUMENT.match(text):
        call = ast.parse(f"_({text})", mode="eval").body
        if len(call.keywords) != 1:
            raise SyntaxError("more than one argument")
        return call.keywords
    body = ast.parse(text).body
    if any(hasattr(one, "body") or hasattr(one, "cases") for one in body):
        raise SyntaxError("a compound statement")
    return body


def _is_same(one: object, other: object, bound: dict[str, ast.expr] | None = None) -> bool:
    """Whether two parts of syntax trees say the same; with bound, the first one may have holes.

    bound: what the holes stand for, by their names; filled in.
    """
    if bound is not None and isinstance(one, ast.Name) and (hole := PLACE.fullmatch(one.id)):
        if not isinstance(other, ast.expr):
            return False
        return _is_same(bound.setdefault(hole[1], other), other)
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        return all(
            _is_same(getattr(one, name, None), getattr(other, name, None), bound)
            for name in one._fields
            if name not in UNCOMPARED
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(
            _is_same(a, b, bound) for a, b in zip(one, other, strict=True)
        )
    return one == other


def _line_starts(text: bytes) -> list[int]:
    """Where each line begins, and where one behind the last would."""
    return [0, *itertools.accumulate(len(line) + 1 for line in text.split(b"\n"))]


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

    add(_tree(program))
    return found


class _Source:
    """The text of a program, and where rules fit in it."""

    def __init__(self, program: str, rules: Sequence[Rule]) -> None:
        self._text = program.encode()
        self._starts = _line_starts(self._text)
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
                if _is_same(rule.pattern, node, bound):
                    self.used.add(rule)
                    yield self._replaced(node, rule, bound)
                    number = self._outline.ends[number]
                    break
            else:
                number += 1

    def _span(self, node: Part) -> tuple[int, int]:
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
        return _spliced(b"(%b)" % self._text[start:end], inner)[1:-1].decode()


def _filled(template: str, filled: Mapping[str, str]) -> str:
    """A rule's right side with texts in its holes, in parentheses where they are needed."""
    for hole in reversed(list(HOLE.finditer(template))):
        text = filled[hole[1]]
        bare, safe = (
            template[: hole.start()] + one + template[hole.end() :] for one in (text, f"({text})")
        )
        template = bare if _says_the_same(bare, safe) else safe
    return template


def _says_the_same(bare: str, safe: str) -> bool:
    """Whether a text without some parentheses is the same program; without them, if only it is one."""
    trees = []
    for text in (safe, bare):
        try:
            trees.append(ast.parse(HOLE.sub(r"HOLE_\1_ELOH", text)))
        except SyntaxError:
            trees.append(None)
    return trees[0] is None or (trees[1] is not None and _is_same(*trees))


def _spliced(text: bytes, splices: Sequence[Splice]) -> bytes:
    """A text with all splices made, new expressions in parentheses where they need them."""

    def joined(bare: set[int]) -> str:
        parts, last = [], 0
        for number, splice in enumerate(splices):
            safe = splice.is_open and number not in bare
            parts += [text[last : splice.start], b"(%b)" % splice.text if safe else splice.text]
            last = splice.end
        return b"".join([*parts, text[last:]]).decode()

    bare = set(range(len(splices)))
    if any(splice.is_open for splice in splices):
        safe = joined(set())
        if not _says_the_same(joined(bare), safe):
            bare = {number for number in bare if _says_the_same(joined({number}), safe)}
    return joined(bare).encode()


# Diffs -------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def _code(line: str) -> tuple[str, ...]:
    """The tokens of a line of code, without its comment; an empty line has none."""
    found, line = [], line.strip()
    try:
        for token in tokenize.generate_tokens(io.StringIO(line).readline):
            found += [] if token.type == tokenize.COMMENT else [token.string.strip()]
    except (tokenize.TokenError, SyntaxError):
        # an open bracket ends so, and a line of a longer text has no tokens
        found = found or [line]
    return tuple(token for token in found if token)


def _hunk_splices(program: str, hunk: Hunk) -> list[Splice]:
    lines = program.split("\n")
    code = [(number, _code(line)) for number, line in enumerate(lines) if _code(line)]
    old = [line for line in hunk.lines if line[0] != "+"]
    wanted = [_code(line[1:]) for line in old]
    places = [
        start
        for start in range(len(code) - len(old) + 1)
        if [tokens for _, tokens in code[start : start + len(old)]] == wanted
    ]
    if len(places) != 1 or not old:
        shown = "\n".join(line[1:] for line in old)
        how_often = f"occur {len(places)} times" if places else "don't occur"
        raise EditError(
            f"These lines of the diff {how_often}; they have to occur exactly once:\n{shown}",
            hunk.line,
        )
    return list(_changed_lines(lines, [n for n, _ in code[places[0] :][: len(old)]], hunk))


def _changed_lines(lines: Sequence[str], numbers: Sequence[int], hunk: Hunk) -> Iterator[Splice]:
    """The splices of a hunk whose old lines are those with the given numbers."""
    starts = _line_starts("\n".join(lines).encode())
    first = next(line for line in hunk.lines if line[0] != "+")
    moved = _indent(lines[numbers[0]]) - _indent(first[1:])
    done, place = 0, starts[numbers[0]]
    while done < len(hunk.lines):
        sign = hunk.lines[done][:1]
        if sign == " ":
            place, numbers = starts[numbers[0] + 1], numbers[1:]
            done += 1
            continue
        old, new = 0, []
        while done < len(hunk.lines) and hunk.lines[done][:1] in ("-", "+"):
            line = hunk.lines[done]
            if line[0] == "+":
                new.append(_moved(line[1:], moved))
            else:
                old += 1
            done += 1
        start = starts[numbers[0]] if old else place
        end = starts[numbers[old - 1] + 1] if old else place
        numbers, place = numbers[old:], end
        text = "".join(f"{line}\n" for line in new)
        # the last line of a program has no end
        total = starts[-1] - 1
        if end > total:
            text, end = text.removesuffix("\n"), total
        if start > total:
            text, start = "\n" + text, total
        yield Splice(start, end, text.encode(), line=hunk.line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _moved(line: str, columns: int) -> str:
    """A line further to the right, or to the left."""
    if not line.strip():
        return ""
    return " " * columns + line if columns >= 0 else line[min(-columns, _indent(line)) :]
