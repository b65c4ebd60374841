"""Sphinx extension: the directive `diagram`, which puts a drawing of book/diagrams into a page.

The drawing becomes a part of the page, so that its colours follow the page's theme and its text can be
searched, copied and read aloud. With `:lit: PART` it is shown small, with that part of it emphasised.
"""

from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

DIAGRAMS = Path(__file__).parent.parent / "diagrams"
NAMESPACE = "http://www.w3.org/2000/svg"

ElementTree.register_namespace("", NAMESPACE)


def parts(svg: ElementTree.Element) -> set[str]:
    """The names that `:lit:` accepts: the words of all `data-part` attributes."""
    return {part for element in svg.iter() for part in element.get("data-part", "").split()}


def drawing(path: Path, prefix: str, lit: str = "") -> str:
    """An SVG file as HTML.

    Args:
        path: the file.
        prefix: put in front of every id, since a page may show a drawing twice.
        lit: the part to emphasise; the drawing is small then.

    Raises:
        ValueError: the drawing has no part of this name.
    """
    svg = ElementTree.parse(path).getroot()
    if lit and lit not in parts(svg):
        raise ValueError(f"{path.name} has no part '{lit}', only {', '.join(sorted(parts(svg)))}")
    if lit:
        svg.set("class", f"{svg.get('class')} small")
    for element in svg.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, prefix + value)
            elif name in ("aria-labelledby", "aria-describedby"):
                element.set(name, " ".join(prefix + identifier for identifier in value.split()))
            else:
                element.set(name, value.replace("url(#", f"url(#{prefix}"))
        if lit and lit in element.get("data-part", "").split():
            element.set("class", (element.get("class", "") + " lit").strip())
    return ElementTree.tostring(svg, encoding="unicode")


class Diagram(SphinxDirective):
    """The file book/diagrams/ARGUMENT.svg as a figure; the content is its caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"lit": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        name = self.arguments[0]
        path = DIAGRAMS / f"{name}.svg"
        self.env.note_dependency(str(path))
        prefix = f"diagram-{self.env.new_serialno('diagram')}-"
        try:
            svg = drawing(path, prefix, self.options.get("lit", ""))
        except (OSError, ElementTree.ParseError, ValueError) as error:
            raise self.error(f"diagram {name}: {error}") from error
        text = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, text)
        caption = nodes.caption("", "", *text[0].children)
        figure = nodes.figure("", nodes.raw("", svg, format="html"), caption, classes=["diagram"])
        self.set_source_info(figure)
        return [figure]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("diagram", Diagram)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
