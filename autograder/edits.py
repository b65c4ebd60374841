"""Changes to a program: rules and diffs, all found in the original, so that two can exchange two names."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence

from autograder.diffs import Hunk, hunk_splices
from autograder.rules import Rule, rule_splices
from autograder.splices import EditError, spliced
from autograder.syntax_trees import same_tree, tree_of


def edited(program: str, edits: Sequence[Rule | Hunk]) -> str:
    """A program after all changes, each found in the original.

    Raises EditError for a change that fits nowhere, a diff that fits more than once, two changes of
    one place, a result that is no Python, or the same program.
    """
    splices = rule_splices(program, [edit for edit in edits if isinstance(edit, Rule)])
    for edit in edits:
        if isinstance(edit, Hunk):
            splices += hunk_splices(program, edit)
    splices.sort(key=lambda splice: (splice.start, splice.end))
    for one, other in itertools.pairwise(splices):
        if other.start < one.end:
            raise EditError("Two changes of one place: make them one.", max(one.line, other.line))
    found = spliced(program.encode(), splices).decode()
    try:
        after = ast.parse(found)
    except SyntaxError as error:
        raise EditError(
            f"The result is no Python: {error.msg}, in `{(error.text or '').strip()}`."
        ) from None
    if same_tree(after, tree_of(program)):
        raise EditError("The result is the same program.")
    return found
