"""Sphinx extension: one way to write what an exercise asks for, folded, from the course's solutions.

`{reference} ch1_additive_attention AdditiveAttention` shows a function or class of that solution as it
stands there, without the docstring, which is in the exercise's notebook. A book for a class that is graded
with the exercises leaves these folds out (`python -m autograder book --for-class`).

`{block} models/transformer.py Masks` shows one block of a program (`block_of`). A book for a class leaves out the
bodies of the functions that exercises ask for.
"""

import ast
import functools
from pathlib import Path

from docutils import nodes
from folds import fold, fold_summary
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from autograder.book_index import is_for_class
from autograder.catalogue import definition_source, without_markers
from autograder.course import Course
from autograder.embedding import docstring_lines, docstring_of
from autograder.errors import BookError, CatalogueError
from autograder.exercises import reference_answers
from autograder.publish.page_source import block_of


def reference_fold(directive: SphinxDirective, module: str, name: str) -> list[nodes.Node]:
    """What a directive shows of a name that a module of solutions/ defines: one fold, or none for a class."""
    path = Path(directive.env.srcdir) / "solutions" / f"{module}.py"
    try:
        program = path.read_text(encoding="utf-8")
        source = without_markers(definition_source(program, name))
    except (OSError, CatalogueError) as error:
        raise directive.error(f"{directive.name} {module} {name}: {error}") from error
    directive.env.note_dependency(str(path))
    if is_for_class():
        return []
    words = docstring_lines(source)
    kept = [line for n, line in enumerate(source.split("\n"), 1) if n not in words]
    code = nodes.literal_block("", "\n".join(kept), language="python")
    summary = fold_summary("", "One way to write it: ", nodes.literal("", name))
    made = fold("", summary, code, classes=["reference-code"])
    directive.set_source_info(made)
    return [made]


class Reference(SphinxDirective):
    """The arguments are a module of solutions/ and a name that it defines."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        return reference_fold(self, *self.arguments)


@functools.cache
def asked_for(root: Path) -> dict[str, int]:
    """What the exercises ask for, each with the chapter that asks first."""
    exercises = sorted(Course(root).exercises(), key=lambda one: one.chapter, reverse=True)
    return {name: one.chapter for one in exercises for name in reference_answers(one)}


def without_bodies(program: str, asked: dict[str, int]) -> str:
    """A program without the bodies of some of its functions and classes; asked: each with its exercise."""
    lines = program.split("\n")
    for place in reversed(ast.parse(program).body):
        if not isinstance(place, ast.FunctionDef | ast.ClassDef) or place.name not in asked:
            continue
        functions = [node for node in ast.walk(place) if isinstance(node, ast.FunctionDef)]
        for node in reversed(functions):
            first = node.body[1] if docstring_of(node) and len(node.body) > 1 else node.body[0]
            left_out = f"{' ' * first.col_offset}...  # exercise {asked[place.name]}"
            lines[first.lineno - 1 : node.end_lineno] = [left_out]
    return "\n".join(lines)


class Block(SphinxDirective):
    """The arguments are a program, from the page's folder, and the name of one of its blocks."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        name, block = self.arguments
        path = Path(self.env.doc2path(self.env.docname)).parent / name
        self.env.note_dependency(str(path))
        try:
            text = block_of(path.read_text(encoding="utf-8"), block)
        except (OSError, BookError) as error:
            raise self.error(f"{self.name} {name} {block}: {error}") from error
        if is_for_class():
            text = without_bodies(text, asked_for(Path(self.env.srcdir)))
        shown = nodes.literal_block(text, text, language="python", classes=["program"])
        self.set_source_info(shown)
        return [shown]


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("folds")
    app.add_directive("reference", Reference)
    app.add_directive("block", Block)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
