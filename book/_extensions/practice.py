"""Sphinx extension: tasks of the exercises that readers solve in the page.

`:::{practice} ch2_scaled_dot_product softmax` stands where the page teaches it, with a short statement. Without a
script, from disk, or in a browser that can't run it, the block is the statement, the code to start from and a
link to the notebook; with one, _practice/practice.js puts an editor and the notebook's checks there. Every task
with a block can be solved there, with the page's NumPy and stand-in for torch (tests/book/test_practice.py).
With `:train: cards` the answer can learn that game there (_practice/training/, training.js), beside the curve of the
correct one; what known mistakes cost there was measured (book/costs.py).

`:::{practice-cell} first_hour NAME softmax weighted_sum` is a cell that runs with the answers of these tasks that a
reader has passed; `show_map(words, weights)` draws weights there. The content is words and one block of code.

`:::{own-transformer} 9430` is the Transformer in one file with what a reader has passed of it, with stored weights or
to train, and a switch on every head (training/heads.py, heads.js); the number is translated at first.

`{practice-list}` lists all tasks of all exercises, with what a reader has done in pages.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import html
import json
import posixpath
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from reference_code import reference_fold
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html import HTML5Translator

from autograder.book_index import book_sections, is_for_class
from autograder.catalogue import mistakes, sections
from autograder.course import CHAPTER, Course, Exercise
from autograder.embedding import without_words
from autograder.exercises import released, task_names
from autograder.publish.practice import (
    BLOCK,
    Task,
    answers_used,
    numpy_names,
    offered_tasks,
    practice_notebook,
    practice_tasks,
    stand_in_sources,
    uses_torch,
)
from book.costs import MEASURED, STORED, costs, right_curve

BOOK = Path(__file__).parent.parent
SOURCES = BOOK / "_practice"
SCRIPTS = ("practice.js", "practice.css", "training.js", "heads.js", "worker.js", "shell.py")
TRAINING = SOURCES / "training"
WEIGHTS = TRAINING / "heads.f16"
# the games that answers learn: what is counted, and what the network is asked then, with an example
GAMES = {
    "cards": {"offer": "lets it learn the game of cards.", "asked": "the cards"},
    "letters": {
        "offer": (
            "lets a small network learn to count in English, letter by letter, behind your masks. Watch the loss of a "
            "mask that leaks."
        ),
        "asked": "the numbers",
        "question": "A number to count on from:",
        "example": "seventeen ",
    },
    "numbers": {
        "offer": (
            "lets a whole Transformer translate numbers, with all that you have solved so far. It takes about a minute."
        ),
        "asked": "50 unseen numbers",
        "question": "A number to translate:",
        "example": "54321",
    },
}
STAND_IN = SOURCES / "torch_stand_in"
PYTHON = BOOK / "_vendor" / "python"
STAND_IN_NOTE = "In this page a small stand-in for PyTorch computes with NumPy; what it lacks, you check in the notebook."


class task(nodes.General, nodes.Element):
    """A task's block; its attributes are those of its <div>, `notebook` the file to download."""


class task_list(nodes.General, nodes.Element):
    """Stands for the list of all tasks until the pages of all blocks are known."""


@functools.cache
def offered() -> dict[str, str]:
    """The tasks of all blocks, each with its exercise."""
    return offered_tasks(BOOK)


def version_of(text: str) -> str:
    """A short digest of what a browser has to load anew when it changes."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def book_version() -> str:
    """The version of all that blocks load beside the exercises."""
    files = [*(SOURCES / name for name in SCRIPTS), *sorted(SOURCES.glob("*/*.py")), STORED]
    texts = [path.read_text(encoding="utf-8") for path in files]
    texts += [(PYTHON / "versions.json").read_text(encoding="utf-8"), WEIGHTS.read_bytes().hex()]
    return version_of("".join(texts))


def readings_of(exercise: Exercise) -> dict[str, str]:
    """The sections that an exercise's checks send readers to: the words for each, and its address from a page."""
    labels = {*sections(exercise).values(), *(mistake.section for mistake in mistakes(exercise))}
    known = book_sections(exercise.root)
    found = [known[label] for label in sorted(labels)]
    return {section.place: f"{section.page}.html#{section.label}" for section in found}


def exercise_json(exercise: Exercise) -> str:
    """What a page loads of an exercise before its first check."""
    homes = answers_used(exercise) | dict.fromkeys(practice_tasks(exercise), exercise.name)
    homes = {name: home for name, home in homes.items() if offered().get(name) == home}
    tasks = {home: practice_tasks(Exercise(exercise.root, home)) for home in {*homes.values()}}
    answers = {name: [home, tasks[home][name].stub] for name, home in homes.items()}
    own = [name for name, home in homes.items() if home == exercise.name]
    held = {
        "names": numpy_names(),
        "notebook": practice_notebook(exercise).as_json(),
        "standIn": stand_in_sources(STAND_IN, exercise, own),
        "answers": answers,
        "readings": readings_of(exercise),
    }
    return json.dumps(held, ensure_ascii=False)


def training_json(game: str) -> str:
    """What a page loads of a game before the first training: its modules, which answers it uses and what their
    notebooks import, the correct answer's curve, and what known mistakes cost.
    """
    paths = {f"training.{path.stem}": path for path in TRAINING.glob("*.py")}
    paths["book.models.transformer"] = BOOK / "models" / "transformer.py"
    sources = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    packages = dict.fromkeys(("training", "book", "book.models"), "")
    (names,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(sources[f"training.{game}"]).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ANSWERS"
    )
    homes = {name: offered()[name] for name in names if name in offered()}
    held = {
        **GAMES[game],
        "sources": packages | {name: without_words(text) for name, text in sources.items()},
        "homes": homes,
        "imports": imports_of(Exercise(BOOK.parent, home) for home in sorted({*homes.values()})),
        "curve": right_curve(game),
        "costs": {task: costs(game, task) for task in MEASURED[game]},
    }
    return json.dumps(held, ensure_ascii=False)


def imports_of(exercises: Iterable[Exercise]) -> str:
    """What the notebooks of exercises import, each line once."""
    headers = [ast.parse(practice_notebook(exercise).header) for exercise in exercises]
    found = [node for header in headers for node in header.body]
    kinds = ast.Import | ast.ImportFrom
    return "\n".join(dict.fromkeys(ast.unparse(node) for node in found if isinstance(node, kinds)))


def checks_of(found: Task) -> str:
    """The version of a task's checks: whoever has passed others may want to check again."""
    return version_of("".join(found.cells))


def anchor_of(answer: str) -> str:
    """The id of a task's block."""
    return f"task-{answer.replace('_', '-')}"


class Block(SphinxDirective):
    """What both kinds of blocks have. minutes: how long it takes by estimate."""

    has_content = True
    option_spec: ClassVar = {"minutes": directives.positive_int}

    def remarks(self, *others: str) -> nodes.Text:
        """What stands behind a block's title."""
        minutes = self.options.get("minutes")
        words = [*others, *([f"about {minutes} minutes"] if minutes else [])]
        return nodes.Text(f" ({', '.join(words)})" if words else "")


class TaskBlock(Block):
    """The arguments are an exercise and one of its answers; the content is the statement. train: a game that the
    answer can learn.
    """

    required_arguments = 2
    option_spec: ClassVar = Block.option_spec | {
        "train": lambda game: directives.choice(game, tuple(GAMES))
    }

    def run(self) -> list[nodes.Node]:
        name, answer = self.arguments
        self.assert_has_content()
        exercise = Exercise(BOOK.parent, name)
        found = practice_tasks(exercise).get(answer)
        if not found:
            raise self.error(f"{answer} is no task of {name}")
        self.env.note_dependency(str(exercise.notebook))
        made = task(
            classes=["task"],
            ids=[anchor_of(answer)],
            exercise=name,
            task=answer,
            checks=checks_of(found),
            notebook=exercise.notebook.relative_to(exercise.root).as_posix(),
        )
        self.env.dlfiles.add_file(self.env.docname, made["notebook"])
        graded = CHAPTER.fullmatch(name)
        points = [f"{found.points:g} points of exercise {exercise.chapter}"] if graded else []
        made += nodes.paragraph(
            "",
            "",
            nodes.Text("Your turn: "),
            nodes.literal("", answer),
            self.remarks(*points),
            nodes.inline("", "", classes=["task-state"]),
            classes=["task-title"],
        )
        self.state.nested_parse(self.content, self.content_offset, made)
        # what a game needs has solutions in it
        if (game := self.options.get("train")) and not is_for_class():
            made["train"] = game
            offer = [nodes.Text("After a check, "), nodes.emphasis("", "Train")]
            made += nodes.paragraph("", "", *offer, nodes.Text(f" {GAMES[game]['offer']}"))
        if uses_torch(exercise, [answer]):
            made += nodes.paragraph("", STAND_IN_NOTE, classes=["task-note"])
        code = nodes.literal_block("", found.stub, language="python")
        made += nodes.container("", code, classes=["task-code"])
        made += reference_fold(self, name, answer)
        self.set_source_info(made)
        return [made]


class CellBlock(Block):
    """The arguments are an exercise, a name, and the answers that the code uses."""

    required_arguments = 3
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        name, cell, answers = self.arguments
        self.assert_has_content()
        exercise = Exercise(BOOK.parent, name)
        if missing := set(answers.split()) - offered().keys():
            raise self.error(f"no page has a block for {', '.join(sorted(missing))}")
        needs = [f"{offered()[answer]}/{answer}" for answer in answers.split()]
        made = task(
            classes=["task"],
            ids=[f"cell-{cell.replace('_', '-')}"],
            exercise=name,
            cell=cell,
            needs=" ".join(needs),
            notebook=exercise.notebook.relative_to(exercise.root).as_posix(),
        )
        self.env.dlfiles.add_file(self.env.docname, made["notebook"])
        title = nodes.paragraph("", "Run it with your own ", classes=["task-title"])
        for place, answer in enumerate(answers.split()):
            title += [nodes.Text(", " if place else ""), nodes.literal("", answer)]
        title += self.remarks()
        made += title
        self.state.nested_parse(self.content, self.content_offset, made)
        for code in list(made.findall(nodes.literal_block)):
            code.replace_self(nodes.container("", code.deepcopy(), classes=["task-code"]))
        self.set_source_info(made)
        return [made]


class TransformerBlock(Block):
    """The argument is a number; the content says what to do."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        if is_for_class():
            return []
        exercise = Exercise(BOOK.parent, "ch6_transformer")
        made = task(
            classes=["task"],
            ids=["own-transformer"],
            exercise=exercise.name,
            heads="numbers",
            number=self.arguments[0],
            notebook=exercise.notebook.relative_to(exercise.root).as_posix(),
        )
        self.env.dlfiles.add_file(self.env.docname, made["notebook"])
        made += nodes.paragraph("", "Your own Transformer", classes=["task-title"])
        self.state.nested_parse(self.content, self.content_offset, made)
        self.set_source_info(made)
        return [made]


class TaskList(SphinxDirective):
    """No arguments."""

    def run(self) -> list[nodes.Node]:
        return [task_list()]


def visit_task(self: HTML5Translator, node: task) -> None:
    """Begin the <div>."""
    size = sum((PYTHON / name).stat().st_size for name in ("python.zip", "python.js.gz"))
    kinds = (("cell", "needs"), ("heads", "number"), ("task", "checks", "train"))
    own = next(names for names in kinds if names[0] in node)
    data = {
        "data-exercise": node["exercise"],
        **{f"data-{name}": node[name] for name in own if name in node},
        "data-version": book_version(),
        "data-megabytes": f"{size / 1e6:.1f}",
    }
    self.body.append(self.starttag(node, "div", **data))


def depart_task(self: HTML5Translator, node: task) -> None:
    """Put the link to the notebook below it, and end it."""
    builder = self.builder
    path = builder.env.dlfiles[node["notebook"]][1]
    address = posixpath.join(builder.dlpath, path)
    self.body.append(
        f'<p class="task-links"><a class="reference download internal" download="" href="{address}">'
        "Download the notebook</a></p></div>\n"
    )


def pages_of_blocks(app: Sphinx) -> dict[str, str]:
    """The page of each block, by the task's name: that of a chapter, if the task stands on another one, too."""
    found: dict[str, str] = {}
    for page in sorted(app.env.found_docs, key=lambda page: not page.startswith("book/ch")):
        for _, answer in BLOCK.findall(Path(app.env.doc2path(page)).read_text(encoding="utf-8")):
            found.setdefault(answer, page)
    return found


def list_tasks(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the list of all tasks in its place."""
    for node in list(doctree.findall(task_list)):
        pages = pages_of_blocks(app)
        course = Course(BOOK.parent)
        exercises = [*course.ungraded(), *course.exercises()]
        parts = [listed(app, page, exercise, pages) for exercise in exercises]
        node.replace_self([nodes.raw("", part, format="html") for part in parts])


def listed(app: Sphinx, page: str, exercise: Exercise, pages: dict[str, str]) -> str:
    """The tasks of an exercise, each with its block's address, as HTML."""
    title, _ = task_names(released(exercise))
    tasks = practice_tasks(exercise)
    graded = CHAPTER.fullmatch(exercise.name)
    if graded:
        labels = app.env.domaindata["std"]["labels"]
        prefix = f"ch{exercise.chapter}-exercise"
        where, anchor, _ = labels[next(name for name in labels if name.startswith(prefix))]
        home = f"{app.builder.get_relative_uri(page, where)}#{anchor}"
    else:
        home = app.builder.get_relative_uri(page, pages[next(iter(tasks))])
    items = []
    for name, found in tasks.items():
        code, points = f"<code>{name}</code>", f" ({found.points:g} points)" if graded else ""
        if name in pages:
            address = f"{app.builder.get_relative_uri(page, pages[name])}#{anchor_of(name)}"
            data = f'data-exercise="{exercise}" data-task="{name}" data-checks="{checks_of(found)}"'
            link = f'<a class="reference internal" href="{address}">{code}</a>'
            items.append(f'<li {data}>{link}{points}<span class="task-state"></span></li>')
        else:
            items.append(f"<li>{code}{points}, in the notebook</li>")
    return (
        f'<p><strong><a class="reference internal" href="{home}">{html.escape(title)}</a></strong></p>'
        f'<ul class="task-list">{"".join(items)}</ul>'
    )


def use_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the script and the style on pages that have blocks or the list, and on no others."""
    if re.search('data-(train|heads)="', context.get("body", "")):
        app.add_js_file("practice/training.js", loading_method="defer")
    if "data-heads=" in context.get("body", ""):
        app.add_js_file("practice/heads.js", loading_method="defer")
    if re.search('data-(task|cell|heads)="', context.get("body", "")):
        app.add_js_file("practice/practice.js", loading_method="defer")
        app.add_css_file("practice/practice.css")


def write_files(app: Sphinx) -> None:
    """Put the scripts, and what they load of the exercises, beside the pages."""
    if not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    folder = Path(app.outdir) / "_static" / "practice"
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    for name in SCRIPTS:
        shutil.copy(SOURCES / name, folder / name)
    if not is_for_class():
        (folder / "training").mkdir(exist_ok=True)
        for game in GAMES:
            text = training_json(game)
            (folder / "training" / f"{game}.json").write_text(text, encoding="utf-8")
        shutil.copy(WEIGHTS, folder / "training")
    for name in sorted({*offered().values()}):
        text = exercise_json(Exercise(BOOK.parent, name))
        (folder / "tasks" / f"{name}.json").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("reference_code")
    app.add_node(task, html=(visit_task, depart_task))
    app.add_node(task_list)
    app.add_directive("practice", TaskBlock)
    app.add_directive("practice-cell", CellBlock)
    app.add_directive("practice-list", TaskList)
    app.add_directive("own-transformer", TransformerBlock)
    app.connect("builder-inited", write_files)
    app.connect("doctree-resolved", list_tasks)
    app.connect("html-page-context", use_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
