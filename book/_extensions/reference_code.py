"""Sphinx extension: one way to write what an exercise asks for, folded, from the course's solutions.

`{reference} ch1_additive_attention AdditiveAttention` shows a function or class of that solution as it
stands there, without the docstring, which is in the exercise's notebook. A book for a class that is graded
with the exercises leaves these folds out (`python -m autograder book --for-class`).
"""

from pathlib import Path

from docutils import nodes
from folds import fold, fold_summary
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from autograder.book_index import is_for_class
from autograder.catalogue import definition_source, without_markers
from autograder.embedding import docstring_lines
from autograder.errors import CatalogueError


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


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("folds")
    app.add_directive("reference", Reference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
