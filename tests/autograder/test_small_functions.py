"""No function of the grader has many decision points."""

import ast

from tests.support.course import COURSE

MOST = 19
DECISIONS = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)


def decisions(node):
    """Branches, loops, `and`, `or` and conditions of comprehensions below a node, without functions of their own."""
    found = 0
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, ast.FunctionDef | ast.ClassDef):
            found += isinstance(part, DECISIONS) + decisions(part)
            found += len(part.ifs) if isinstance(part, ast.comprehension) else 0
            found += len(part.values) - 1 if isinstance(part, ast.BoolOp) else 0
    return found


def test_every_function_has_fewer_than_twenty_decision_points():
    assert decisions(ast.parse("a if b and c or d else [x for x in y if x if z]")) == 5
    many = {}
    for path in sorted((COURSE.root / "autograder").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (number := decisions(node)) > MOST:
                many[f"{path.relative_to(COURSE.root)}: {node.name}"] = number
    assert not many
