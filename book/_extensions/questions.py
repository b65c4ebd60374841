"""Sphinx extension: questions with choices, predictions and those under *Check yourself* alike.

A question's content is a definition list: the choices are the terms, and each definition says why it's right
or wrong, in half a sentence. `:right:` has the number of the right choice. Each choice is a fold, so that it
answers without a script; _static/memory.js remembers the first answer.

    :::{quiz} Somebody adds 3 to all scores. What happens to the weights?
    :right: 2

    Each grows.
    : Their sum grows as much: [the softmax](ch1-softmax) divides by it.

    Nothing.
    : The factor that all exponentials get cancels.
    :::

With `:right: 1 3`, a quiz asks to check all that apply. A box with the class `dropdown`, such as
`{admonition} Answer`, becomes a fold like that of a prediction.
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


def places(argument: str) -> list[int]:
    """The value of `:right:`: numbers, counted from 1."""
    return [directives.positive_int(word) for word in argument.split()]


class Question(SphinxDirective):
    """What {quiz} and {predict} have in common; the question is the argument."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    title: ClassVar[str]

    def box(self) -> tuple[nodes.admonition, list[nodes.Node]]:
        """The box with the question, still without choices, and what the parser has said."""
        question, messages = self.state.inline_text(self.arguments[0], self.lineno)
        box = nodes.admonition("", nodes.title("", self.title), ids=[self.id()])
        box["classes"] += [self.name, "tip"]
        box += nodes.paragraph("", "", *question, classes=["question"])
        self.set_source_info(box)
        return box, messages

    def id(self) -> str:
        """The question's id by its words: it stays when others are added before it."""
        return f"{self.name}-{hashlib.sha256(self.arguments[0].encode()).hexdigest()[:8]}"

    def choices(self, fewest: int, most_right: int) -> list[fold]:
        """The choices, each a fold with its reason."""
        held = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, held)
        items = list(held.findall(nodes.definition_list_item))
        right = self.options.get("right", [])
        if (
            len(items) < fewest
            or not 1 <= len(right) <= most_right
            or not {*right} <= {*range(1, len(items) + 1)}
        ):
            raise self.error(
                f"{{{self.name}}} needs at least {fewest} choices, each with its reason below it "
                "(`: because ...`), and a line `:right: 2` with the number of the right one"
            )
        found = []
        for number, item in enumerate(items, 1):
            term, definition = item[0], item[-1]
            verdict = ("Right.", "right") if number in right else ("No.", "wrong")
            reason = definition.children
            reason[0].insert(0, [nodes.strong("", verdict[0]), nodes.Text(" ")])
            summary = fold_summary("", "", *term.children)
            found.append(fold("", summary, *reason, classes=["choice", verdict[1]]))
        return found


class Quiz(Question):
    """A question under *Check yourself*, with one right choice or several."""

    option_spec: ClassVar = {"right": places}
    title = "Check"

    def run(self) -> list[nodes.Node]:
        box, messages = self.box()
        box += self.choices(FEWEST_CHOICES, most_right=len(self.content))
        if len(self.options["right"]) > 1:
            box["classes"].append("several")
            box[1] += nodes.Text(" Check all that apply.")
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
