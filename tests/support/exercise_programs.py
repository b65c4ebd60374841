"""The functions of programs as syntax trees: is an answer somewhere?"""

import ast

from autograder.programs import definition_source, spans_of, without_docstrings, without_markers


def normalised(program):
    """Every function of a program as a syntax tree without docstrings, annotations and names of its own."""
    trees = {}
    for node in ast.walk(without_docstrings(ast.parse(program))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef):
                    inner.returns = None
                    for argument in inner.args.args:
                        argument.annotation = None
            trees[ast.dump(ast.Module(node.body, []))] = node.name
    return trees


def whole_answers(exercise):
    program = exercise.program()
    found = {}
    for name in spans_of(program):
        for tree, part in normalised(without_markers(definition_source(program, name))).items():
            if "raise" not in part:
                found[tree] = f"{name}: {part}"
    return found
