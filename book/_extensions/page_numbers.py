"""Sphinx extension: the second and later pages of chapter 3 are numbered 3.1, 3.2, ...

Sphinx itself would number the sections of a chapter's first page in the same row. It puts the number into the
page's title, the contents, links to the next page and the document's title.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def number_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Number the pages below each numbered page, after Sphinx has numbered the chapters."""
    for chapter, sections in env.toc_secnumbers.copy().items():
        number = sections.get("")
        if not number or len(number) > 1:
            continue
        for place, page in enumerate(env.toctree_includes.get(chapter, ()), 1):
            own = (*number, place)
            title, *sections = env.tocs[page].findall(nodes.reference)
            # no number for sections: without an entry they would have their page's
            unnumbered: dict[str, tuple[int, ...]] = {link["anchorname"]: () for link in sections}
            env.toc_secnumbers[page] = unnumbered | {"": own}
            env.titles[page]["secnumber"] = own
            title["secnumber"] = own
    return []


def number_of(env: BuildEnvironment, page: str) -> str:
    """A page's number with a point and a space behind it, such as "3.1. "; empty for a page without one."""
    number = env.toc_secnumbers.get(page, {}).get("")
    return f"{'.'.join(map(str, number))}. " if number else ""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-get-updated", number_pages, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
