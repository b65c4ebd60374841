"""Rules and diffs: against a rewriter of trees, in any layout of the text, and what they refuse."""

import ast
import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.diffs import read_diff
from autograder.edits import edited
from autograder.rules import read_rules
from autograder.splices import EditError

PROGRAM = '''\
def scores(query, key, mask=None):
    """Scores.

    mask: may be None.
    """
    ### BEGIN SOLUTION
    if mask is not None:
        query = scale(query)  # the root
    found = query @ key.T + 1
    found = relu(found)
    return softmax(found, axis=-1), f"{query}"
    ### END SOLUTION'''


def tree(text):
    return ast.dump(ast.parse(text))


# Against a rewriter of trees ---------------------------------------------------------------------

HOLES = ("X", "Y")
NAMES = ("a", "b", "c")
leaves = st.sampled_from([*NAMES, "1", "2.5", "None", "'é'", "-1", "f'{a}'"])


def combined(parts):
    """Expressions of some parts, each in parentheses, which `ast.unparse` leaves out where it can."""
    one = parts.map(lambda text: f"({text})")
    shapes = (
        *("{} + {}", "{} * {}", "{} ** {}", "{} - {}", "{} @ {}", "{} and {}", "{} or {}"),
        *("{} < {}", "{} if {} else a", "f({}, {})", "f({}, key={})", "({}, {})", "[{}, {}]"),
        *("{}[{}]", "{}[{}:]", "f(*{}, **{})", "f({} for b in {})", "lambda b=a: {} + {}"),
        *("-{} * {}", "not {} in {}", "{}.real.f({})", "{{{}: {}}}", "f'{{b}}'[{} % {}]"),
    )
    return st.builds(str.format, st.sampled_from(shapes), one, one)


expressions = st.recursive(leaves, combined, max_leaves=8).map(lambda e: ast.unparse(ast.parse(e)))


@st.composite
def programs(draw):
    """A function of some statements, in a layout that `ast.unparse` would not choose."""
    lines = ["def f(a, b=1):", "    # é: a comment"]
    for text in draw(st.lists(expressions, min_size=1, max_size=3)):
        lines += draw(
            st.sampled_from([[f"    c = {text}"], [f"    c = (  # b\n        {text}\n    )"]])
        )
    return "\n".join([*lines, "    return c"])


@st.composite
def rules_for(draw, program):
    """One or two rules whose left sides are parts of a program, with holes in place of smaller parts."""
    found = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.expr)]
    found = [node for node in found if not isinstance(node, ast.Slice | ast.Starred)]
    made = []
    for _ in range(draw(st.integers(1, 2))):
        before = copy.deepcopy(draw(st.sampled_from(found)))
        below = [
            (node, name)
            for node in ast.walk(before)
            if not isinstance(node, ast.JoinedStr | ast.FormattedValue)
            for name, value in ast.iter_fields(node)
            if isinstance(value, ast.expr) and not isinstance(value, ast.Slice | ast.Starred)
        ]
        holes = []
        for hole in HOLES[: draw(st.integers(0, 2))]:
            if below:
                node, name = draw(st.sampled_from(below))
                setattr(node, name, ast.Name(f"HOLE_{hole}", getattr(node, "ctx", ast.Load())))
                holes.append(hole)
        left = ast.unparse(before)
        holes = [hole for hole in holes if f"HOLE_{hole}" in left]
        right = draw(expressions)
        places = {draw(st.sampled_from(NAMES)): ast.Name(f"HOLE_{hole}") for hole in holes}
        right = ast.unparse(Filler(places).visit(ast.parse(right)))
        made.append((left, right))
    return made


def fits(pattern, node, bound):
    if isinstance(pattern, ast.Name) and pattern.id.startswith("HOLE_"):
        known = bound.setdefault(pattern.id, node)
        return isinstance(node, ast.expr) and ast.unparse(known) == ast.unparse(node)
    if isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and all(
            fits(value, getattr(node, name), bound)
            for name, value in ast.iter_fields(pattern)
            if name != "ctx"
        )
    if isinstance(pattern, list):
        pairs = zip(pattern, node, strict=False)
        return len(pattern) == len(node) and all(fits(a, b, bound) for a, b in pairs)
    return (type(pattern), pattern) == (type(node), node)


class Rewriter(ast.NodeTransformer):
    """Applies rules to a tree, from the outside in."""

    def __init__(self, rules):
        self.rules = [[ast.parse(side, mode="eval").body for side in rule] for rule in rules]
        self.used = set()

    def visit(self, node):
        if isinstance(node, ast.JoinedStr) and not any(fits(p, node, {}) for p, _ in self.rules):
            return node
        for number, (before, after) in enumerate(self.rules):
            bound = {}
            if isinstance(node, ast.expr) and fits(before, node, bound):
                self.used.add(number)
                filled = {name: self.visit(copy.deepcopy(part)) for name, part in bound.items()}
                return Filler(filled).visit(copy.deepcopy(after))
        return self.generic_visit(node)


class Filler(ast.NodeTransformer):
    def __init__(self, filled):
        self.filled = filled

    def visit_JoinedStr(self, node):
        return node

    def visit_Name(self, node):
        return copy.deepcopy(self.filled[node.id]) if node.id in self.filled else node


def parsed_again(node):
    """A tree as its own text gives it: with the contexts that go with it. None where it has none."""
    try:
        return ast.dump(ast.parse(ast.unparse(ast.fix_missing_locations(node))))
    except (SyntaxError, ValueError):
        return None


@given(st.data())
def test_rules_give_what_rewriting_the_tree_gives(data):
    program = data.draw(programs())
    rules = data.draw(rules_for(program))
    rewriter = Rewriter(rules)
    expected = parsed_again(rewriter.visit(ast.parse(program)))
    lines = "\n".join(" -> ".join(rule) for rule in rules).replace("HOLE_", "$")
    try:
        found = edited(program, read_rules(lines))
    except EditError:
        changes = [tree(a) != tree(b) for a, b in rules]
        bare = any(before in ("HOLE_X", "HOLE_Y") for before, _ in rules)
        all_used = len(rewriter.used) == len(rules)
        assert expected in (None, tree(program)) or bare or not all_used or not all(changes)
    else:
        assert tree(found) == expected
        assert "# é: a comment" in found


# What rules do ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "changes"),
    [
        # everywhere at once, and in what a hole stands for
        ("found -> other", {"found": "other"}),
        ("relu($X) -> gelu($X)", {"relu": "gelu"}),
        # all are found in the original, so that two names can be exchanged
        ("query -> key\nkey -> query", {"query @ key.T": "key @ query.T", "= scale": "= scale"}),
        # parentheses come where they are needed, and only there
        ("query @ key.T -> query + key", {"query @ key.T + 1": "query + key + 1"}),
        ("key.T -> key + 0", {"key.T": "(key + 0)"}),
        ("key -> key + 0", {"key.T": "(key + 0).T"}),
        # arguments, and statements: another, more of them, none
        ("axis=-1 -> axis=0", {"axis=-1": "axis=0"}),
        ("found = relu(found) -> found = found", {"relu(found)": "found"}),
        ("found = relu($X) -> $X = 1; found = 2", {"found = relu(found)": "found = 1; found = 2"}),
        ("found = relu(found) ->", {"    found = relu(found)\n": ""}),
        ("mask is not None -> mask", {"mask is not None": "mask"}),
        # a rule of two lines
        ("softmax(found, axis=-1)\n    -> softmax(found)", {", axis=-1": ""}),
        # an arrow in a text is none
        ('relu(found) -> einsum("a -> b", found)', {"relu(found)": 'einsum("a -> b", found)'}),
    ],
)
def test_a_rule_changes_what_it_names_and_leaves_the_rest_of_the_text(rules, changes):
    expected = {
        "found -> other": PROGRAM.replace("found", "other"),
        "query -> key\nkey -> query": PROGRAM.replace(
            "query = scale(query)", "key = scale(key)"
        ).replace("query @ key.T", "key @ query.T"),
    }.get(rules)
    if expected is None:
        expected = PROGRAM
        for old, new in changes.items():
            assert expected.count(old) == 1
            expected = expected.replace(old, new)
    assert edited(PROGRAM, read_rules(rules)) == expected


def test_a_hole_that_stands_twice_is_the_same_both_times():
    rule = read_rules("$X + $X -> 2 * $X")
    assert edited("a = b + b\nc = b + d", rule) == "a = 2 * b\nc = b + d"


def test_what_is_the_only_argument_keeps_the_brackets_of_its_call():
    rule = read_rules("(a for a in b) -> b")
    assert edited("sum(a for a in b)", rule) == "sum(b)"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("relu(found)", "is no rule"),
        ("if mask: pass -> pass", "is no rule"),
        ("a = 1; b = 2 -> a = 2", "is no rule"),
        ("axis=1 -> 2", "is no rule"),
        ("a + -> b", "is no rule"),
        ("a -> b -> c", "is no rule"),
        ("$X -> relu($X)", "`$X` alone stands for everything"),
        ("relu($X) -> $X + $Y", "nothing on the left says what $Y is"),
        ("relu(found) -> relu( found )", "changes nothing"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_line(text, complaint):
    with pytest.raises(EditError) as caught:
        read_rules(f"found -> other\n\n{text}", 7)
    assert complaint in str(caught.value) and caught.value.line == 9


@pytest.mark.parametrize(
    ("edits", "complaint", "line"),
    [
        (read_rules("\nrelu(query) -> query", 3), "`relu(query)` occurs nowhere.", 4),
        (read_rules("gelu($X) -> $X", 3), "`gelu($X)` occurs nowhere: there is no 'gelu'.", 3),
        (read_rules("mask=None -> mask=1"), "`mask=None` occurs nowhere.", 1),
        (read_diff("-found = scale(found)\n+found = 1", 5), "don't occur; they have to occur", 5),
        (read_diff("-found = relu(found)\n+found = (", 5), "is no Python: '(' was never closed", 0),
        (read_diff("-found = relu(found)\n+found = relu( found )"), "the same program", 0),
        (
            read_rules("relu -> gelu") + read_diff("-found = relu(found)\n+found = 1", 5),
            "Two changes of one place",
            5,
        ),
    ],
)
def test_changes_that_do_not_fit_say_what_was_looked_for(edits, complaint, line):
    with pytest.raises(EditError) as caught:
        edited(PROGRAM, edits)
    assert complaint in str(caught.value) and caught.value.line == line


# Diffs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("diff", "changes"),
    [
        ("-found = relu(found)", {"    found = relu(found)\n": ""}),
        # neither comments nor spacing of the program have to be repeated
        ("-query=scale( query )\n+query = 2", {"query = scale(query)  # the root": "query = 2"}),
        # lines that stay tell where others go or come, in whatever depth
        (
            " if mask is not None:\n+    key = 1",
            {"if mask is not None:\n": "if mask is not None:\n        key = 1\n"},
        ),
        (
            "+if True:\n+    pass\n found = relu(found)",
            {"    found = relu": "    if True:\n        pass\n    found = relu"},
        ),
        (
            "-if mask is not None:\n-    query = scale(query)\n+query = scale(query)",
            {
                "    if mask is not None:\n        query = scale(query)  # the root\n": "    query = scale(query)\n"
            },
        ),
        # several places
        (
            "-found = relu(found)\n@@\n-query = scale(query)\n+pass",
            {"    found = relu(found)\n": "", "query = scale(query)  # the root": "pass"},
        ),
    ],
)
def test_a_diff_changes_its_lines(diff, changes):
    expected = PROGRAM
    for old, new in changes.items():
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    assert edited(PROGRAM, read_diff(diff)) == expected


def test_arrows_in_texts_are_no_arrows_of_a_rule():
    (rule,) = read_rules('"a -> b" -> "c -> d"')
    assert (rule.before, rule.after) == ('"a -> b"', '"c -> d"')


def test_a_diff_may_change_the_last_line_of_a_program():
    assert edited("a = 1\nb = 2", read_diff("-b = 2")) == "a = 1\n"
    assert edited("a = 1\nb = 2", read_diff(" b = 2\n+c = 3")) == "a = 1\nb = 2\nc = 3"


def test_lines_that_stand_twice_need_a_neighbour():
    program = "a = 1\nb = 2\nb = 2\na = 3\nb = 2"
    with pytest.raises(EditError, match="occur 3 times"):
        edited(program, read_diff("-b = 2"))
    assert edited(program, read_diff(" a = 3\n-b = 2")) == "a = 1\nb = 2\nb = 2\na = 3\n"


@pytest.mark.parametrize(
    ("diff", "complaint", "line"),
    [("-a\nb", "`b`: a line of a diff begins with", 5), ("-a\n@@\n b", "none of these lines", 6)],
)
def test_what_is_no_diff_is_refused_with_its_line(diff, complaint, line):
    with pytest.raises(EditError, match=complaint) as caught:
        read_diff(diff, 4)
    assert caught.value.line == line
