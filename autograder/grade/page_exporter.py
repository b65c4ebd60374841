"""What turns a graded notebook into a feedback page, for our commands and for nbgrader's alike."""

from __future__ import annotations

from typing import Any

from nbconvert.exporters import HTMLExporter
from nbconvert.exporters.templateexporter import TemplateExporter
from nbconvert.filters import Highlight2HTML
from nbformat import NotebookNode


class PageExporter(HTMLExporter):
    """nbconvert's exporter of HTML without its second reading of the page, which takes half of the time.

    Our template has no need of what that would add: it gives its pictures a text, and it has no cells of
    JupyterLab's, which would become focusable.
    """

    def from_notebook_node(  # type: ignore[override]
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """The page, and the resources that it was made from."""
        language = nb.metadata.get("language_info", {})
        lexer = language.get("pygments_lexer", language.get("name"))
        self.register_filter("highlight_code", Highlight2HTML(pygments_lexer=lexer, parent=self))
        made_from = self._init_resources(resources)
        return TemplateExporter.from_notebook_node(self, nb, made_from, **kw)
