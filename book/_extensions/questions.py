"""Sphinx extension: questions that a page asks under *Check yourself*.

`{quiz}` is a question with choices. Each choice is a fold that says whether it's right, and why, so that it
answers without a script; _static/memory.js remembers the first choice. Its content is a definition list: the
choices are the terms, the reasons the definitions. `:right:` is the right choice's number.

    :::{quiz} Somebody adds 3 to all scores. What happens to the weights?
    :right: 2

    Each grows.
    : Their sum grows as much: [the softmax](ch1-softmax) divides by it.

    Nothing.
    : The factor that all exponentials get cancels.
    :::

A box with the class `dropdown`, such as `{admonition} Answer`, becomes a fold like that of a prediction.
"""

import hashlib
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from folds import fold, fold_summary
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

FEWEST_CHOICES = 3


def question_id(kind: str, question: str) -> str:
    """The id of a question by its words: it stays when others are added before it."""
    return f"{kind}-{hashlib.sha256(question.encode()).hexdigest()[:8]}"


class Quiz(SphinxDirective):
    """The question is the argument."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {"right": directives.positive_int}

    def run(self) -> list[nodes.Node]:
        held = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, held)
        choices = list(held.findall(nodes.definition_list_item))
        right = self.options.get("right", 0)
        if len(choices) < FEWEST_CHOICES or not 1 <= right <= len(choices):
            raise self.error(
                f"{{quiz}} needs at least {FEWEST_CHOICES} choices, each with its reason below it "
                "(`: because ...`), and a line `:right: 2` with the number of the right one"
            )
        name = question_id("quiz", self.arguments[0])
        question, messages = self.state.inline_text(self.arguments[0], self.lineno)
        box = nodes.container(classes=["quiz"], ids=[name])
        box += nodes.paragraph("", "", *question, classes=["question"])
        for number, item in enumerate(choices, 1):
            term, definition = item[0], item[-1]
            verdict = ("Right.", "right") if number == right else ("No.", "wrong")
            reason = definition.children
            reason[0].insert(0, [nodes.strong("", verdict[0]), nodes.Text(" ")])
            summary = fold_summary("", "", *term.children)
            box += fold("", summary, *reason, classes=["choice", verdict[1]])
        self.set_source_info(box)
        return [box, *messages]


class FoldWrittenAnswers(SphinxTransform):
    """Make folds of the boxes with answers."""

    default_priority = 200

    def apply(self, **kwargs: object) -> None:
        """Change the document in place."""
        for box in list(self.document.findall(nodes.admonition)):
            if "dropdown" in box["classes"]:
                title = box[0]
                words = title.children
                if title.astext() == "Answer":
                    words = [nodes.Text("Show the answer")]
                summary = fold_summary("", "", *words)
                box.replace_self(fold("", summary, *box.children[1:], classes=["predict-answer"]))


def count_questions(app: Sphinx, doctree: nodes.document) -> None:
    """Keep how many predictions and questions with choices a page has, for the page of progress."""
    found = {"predict": 0, "quiz": 0}
    for node in doctree.findall(nodes.Element):
        for kind in found:
            found[kind] += any(name.startswith(f"{kind}-") for name in node["ids"]) and (
                kind in node["classes"]
            )
    app.env.metadata[app.env.docname].update(found)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("folds")
    app.add_directive("quiz", Quiz)
    app.add_transform(FoldWrittenAnswers)
    app.connect("doctree-read", count_questions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
