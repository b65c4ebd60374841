"""Sphinx extension: a page is executed again when what its cells import has changed."""

from pathlib import Path

from sphinx.application import Sphinx

from autograder.publish.cache_key import with_key


def add_key(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a digest of what a page's cells import where the cache of executed pages looks."""
    source[0] = with_key(Path(app.srcdir), Path(app.env.doc2path(page)), source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", add_key)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
