"""Sphinx extension: what stands on a folded cell, as *Setup, 14 lines*.

myst-nb folds the code of cells with the tag `hide-input`, and has the same words for all of them.
"""

from docutils import nodes
from sphinx.application import Sphinx

IMPORTS = ("import ", "from ")


def name_code(app: Sphinx, doctree: nodes.document) -> None:
    """Say how many lines of code are folded, and of cells that begin with imports that they set up."""
    for cell in doctree.findall(nodes.container):
        if cell.get("hide_mode") == "input":
            source = next(iter(cell.findall(nodes.literal_block))).astext()
            number = sum(bool(line.strip()) for line in source.split("\n"))
            what = "Setup" if source.lstrip().startswith(IMPORTS) else "Code"
            words = f"{what}, {number} line{'' if number == 1 else 's'}"
            cell["prompt_show"] = cell["prompt_hide"] = words


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", name_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
