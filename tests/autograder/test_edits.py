"""Rules and diffs: what they change in a program's text, and what they refuse."""

import ast

import pytest

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


# What comes into a place ---------------------------------------------------------------------------

PLACES = (
    *("OLD + d", "d * OLD", "OLD ** d", "d ** OLD", "d - OLD", "-OLD", "not OLD", "OLD and d"),
    *("d < OLD", "d if OLD else e", "f(OLD, key=OLD)", "(OLD, d)", "[OLD]", "{OLD: d}", "d[OLD]"),
    *("d[OLD:]", "OLD[d]", "OLD.real", "OLD(d)", "f(*OLD, **OLD)", "f(d for d in OLD)"),
    *("lambda d=OLD: OLD", "(  # d\n  OLD)"),
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("new", ["a + 1", "a ** b", "-a", "a if b else c", "lambda: a", "a or b"])
def test_an_expression_keeps_its_meaning_wherever_it_is_put(place, new):
    found = edited(f"x = {place}  # é", read_rules(f"OLD -> {new}"))
    assert tree(found) == tree(f"x = {place}".replace("OLD", f"({new})"))
    assert found.endswith("  # é")


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


def test_what_a_hole_stands_for_is_changed_by_other_rules():
    assert edited("x = f(a + 1)", read_rules("f($X) -> g($X)\na -> b")) == "x = g(b + 1)"


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
