"""A book of a few pages, built with Sphinx and this book's own extensions."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.package import PACKAGE_ROOT

FRONT = """\
---
file_format: mystnb
kernelspec:
  name: python3
  display_name: Python 3
---
"""


def build_book(
    folder: Path,
    pages: Mapping[str, str],
    extensions: Sequence[str],
    settings: str = "",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Build pages (path without ending -> Markdown) as the book is built, warnings as errors.

    The built pages lie in folder/html; what Sphinx said is in the result's `stderr`.
    """
    source = folder / "source"
    for name, text in pages.items():
        path = source / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    toc = "# Start\n\n```{toctree}\n" + "\n".join(pages) + "\n```\n"
    (source / "index.md").write_text(toc)
    (source / "conf.py").write_text(
        f"extensions = {['myst_nb', *extensions]!r}\n"
        "nb_execution_mode = 'force'\n"
        "nb_merge_streams = False\n"
        "nb_execution_show_tb = True\n"
        "html_theme = 'basic'\n" + settings
    )
    paths = [source, PACKAGE_ROOT, PACKAGE_ROOT / "book", PACKAGE_ROOT / "book" / "_extensions"]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "-qnWE", "--keep-going", "source", "html"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
