"""Sphinx extension: a question that a reader answers before looking, and one fold with all that answers it.

`{predict}` is a question as in questions.py, with one right choice, and `:shows:` says what the fold shows.
What follows up to `{predict-end}` in the same section, outputs of cells included, goes into the fold, which
begins with the right choice. A script opens it at the first answer, and keeps that (_static/memory.js).

    :::{predict} Three scores grow by 3. What happens to the largest weight?
    :shows: the weights before and after
    :right: 1

    Nothing.
    : The factor cancels.

    It grows.
    : So would the others, and their sum stays 1.
    :::

Without `:right:` the choices are a list, or there are none.
"""

from string import ascii_uppercase
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from folds import fold, fold_summary
from questions import Question, places
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

FEWEST_CHOICES = 2

logger = logging.getLogger(__name__)


class predict(nodes.General, nodes.Element):
    """Where the fold begins, with the right choice. shows: what the fold shows."""


class predict_end(nodes.Invisible, nodes.Element):
    """Where the fold ends."""


class Predict(Question):
    """The question is the argument; the content is choices, or what helps to answer it."""

    option_spec: ClassVar = {"shows": directives.unchanged_required, "right": places}
    title = "Predict"

    def run(self) -> list[nodes.Node]:
        shows = self.options.get("shows", "").strip().rstrip(".")
        if not shows:
            raise self.error(
                "{predict} needs a line `:shows: the table of ...`: what its fold shows"
            )
        box, messages = self.box()
        begin = predict(shows=shows)
        self.set_source_info(begin)
        if "right" in self.options:
            choices = self.choices(FEWEST_CHOICES, most_right=1)
            box += choices
            number = self.options["right"][0]
            words = choices[number - 1][0].deepcopy().children
            mark = nodes.strong("", f"{ascii_uppercase[number - 1]} is right:")
            begin += nodes.paragraph(
                "", "", mark, nodes.Text(" "), *words, classes=["right-choice"]
            )
        else:
            self.state.nested_parse(self.content, self.content_offset, box)
        return [box, begin, *messages]


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
        for begin in list(self.document.findall(predict)):
            parent = begin.parent
            start = parent.index(begin) + 1
            following = parent.children[start:]
            marks = [n for n in following if isinstance(n, predict | predict_end | nodes.section)]
            if not marks or not isinstance(marks[0], predict_end):
                logger.warning("{predict} has no {predict-end} in its section", location=begin)
                continue
            end = parent.index(marks[0])
            held = parent.children[start:end]
            del parent[start : end + 1]
            summary = fold_summary("", f"Show {begin['shows']}")
            answer = fold("", summary, *begin.children, *held, classes=["predict-answer"])
            parent.replace(begin, answer)
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
