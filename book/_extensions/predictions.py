"""Sphinx extension: a question that a reader answers before looking, and one fold with all that answers it.

`{predict}` has the question, the choices as its content, and in `:shows:` what the fold shows. What follows
up to `{predict-end}` in the same section, outputs of cells included, goes into the fold. A script keeps what
the reader has guessed and shows it beside the result (_static/memory.js).
"""

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from folds import fold, fold_summary
from questions import question_id
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


class predict(nodes.Admonition, nodes.Element):
    """The box with the question, until `FoldAnswers` has made the fold. shows: what that shows."""


class predict_end(nodes.Invisible, nodes.Element):
    """Where the fold ends."""


class Predict(SphinxDirective):
    """The question is the argument; the content is choices, or what helps to answer it."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"shows": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        if not self.options.get("shows", "").strip():
            raise self.error(
                "{predict} needs a line `:shows: the table of ...`: what its fold shows"
            )
        box = predict(shows=self.options["shows"].strip().rstrip("."))
        box["ids"] = [question_id("predict", self.arguments[0])]
        question, messages = self.state.inline_text(self.arguments[0], self.lineno)
        box += nodes.paragraph("", "", *question, classes=["question"])
        self.state.nested_parse(self.content, self.content_offset, box)
        self.set_source_info(box)
        return [box, *messages]


class PredictEnd(SphinxDirective):
    """Ends what the last `{predict}` has begun."""

    def run(self) -> list[nodes.Node]:
        end = predict_end()
        self.set_source_info(end)
        return [end]


class FoldAnswers(SphinxTransform):
    """Put what stands between a question and its end into a fold."""

    default_priority = 200

    def apply(self, **kwargs: Any) -> None:
        """Change the document in place; a warning for a question without its end, and the opposite."""
        for box in list(self.document.findall(predict)):
            parent = box.parent
            start = parent.index(box) + 1
            following = parent.children[start:]
            marks = [n for n in following if isinstance(n, predict | predict_end | nodes.section)]
            if not marks or not isinstance(marks[0], predict_end):
                logger.warning("{predict} has no {predict-end} in its section", location=box)
                continue
            end = parent.index(marks[0])
            held = parent.children[start:end]
            del parent[start : end + 1]
            summary = fold_summary("", f"Show {box['shows']}")
            parent.insert(start, fold("", summary, *held, classes=["predict-answer"]))
            shown = nodes.admonition("", nodes.title("", "Predict"), *box.children, ids=box["ids"])
            shown["classes"] += ["predict", "tip"]
            parent.replace(box, shown)
        for end in self.document.findall(predict_end):
            logger.warning("{predict-end} without a {predict} in its section", location=end)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("folds")
    app.add_node(predict)
    app.add_node(predict_end)
    app.add_directive("predict", Predict)
    app.add_directive("predict-end", PredictEnd)
    app.add_transform(FoldAnswers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
