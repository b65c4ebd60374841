"""Sphinx extension: the contents at the side, with chapters numbered through the parts of the book.

The first page of chapter 3 has the number 3, its other pages 3.1, 3.2, ... Sphinx itself would begin again in
each part, and number the sections of a page in the same row. It puts the number into the page's title, the
contents, links to the next page and the document's title.

Teachers' pages are one link, and on them the contents show these pages alone.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

TEACHING = "book/teachers"


def number_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Number the pages of each chapter."""
    for first in env.toctree_includes.get(app.config.root_doc, ()):
        chapter = re.match(r"book/ch(\d+)_", first)
        for place, page in enumerate([first, *env.toctree_includes.get(first, ())]):
            if not chapter:
                continue
            own = (int(chapter[1]), place) if place else (int(chapter[1]),)
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


def show_a_part(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Take teachers' pages out of the contents of others, and the opposite; name the arrows beside chapters."""
    if "generate_toctree_html" not in context:
        return
    make = context["generate_toctree_html"]
    below = app.env.toctree_includes.get(TEACHING, ())

    def contents(**options: Any) -> Any:
        soup = make(**options)
        lists = soup.find_all("ul", recursive=False)
        if page in (TEACHING, *below):
            for other in lists:
                if not other.select(".current"):
                    other.find_previous_sibling("p").decompose()
                    other.decompose()
        elif below:
            address = app.builder.get_relative_uri(page, TEACHING)
            row = soup.find("a", href=address).find_parent("li")
            row.details.decompose()
            row["class"].remove("has-children")
        # the theme gives them an icon only
        for arrow in soup.select("summary:has(.toctree-toggle)"):
            arrow["aria-label"] = "Pages below this one"
        return soup

    context["generate_toctree_html"] = contents


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-get-updated", number_pages, priority=600)
    # after the theme has made the function
    app.connect("html-page-context", show_a_part, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
