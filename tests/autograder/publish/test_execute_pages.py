"""Executing pages side by side, in kernels that are forked from one process."""

import os
import re

import pytest
from jupyter_cache import get_cache

from autograder.errors import BookError
from autograder.publish import execute_pages

FRONT = """---
kernelspec:
  name: python3
  display_name: Python 3
  language: python
---
# A page
"""


@pytest.fixture
def pages(tmp_path):
    """A function that writes pages, a cell each, and executes those that aren't yet."""

    def executed(**cells):
        (tmp_path / "book").mkdir(exist_ok=True)
        paths = [tmp_path / "book" / f"{name}.md" for name in cells]
        for path, cell in zip(paths, cells.values(), strict=True):
            path.write_text(f"{FRONT}\n```{{code-cell}} python\n{cell}\n```\n")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "WORD": "query"}
        execute_pages.execute_pages(tmp_path, paths, environment)
        cache = get_cache(str(execute_pages.cache_folder(tmp_path)))
        records = {record.uri: record.pk for record in cache.list_cache_records()}
        return {
            path.stem: cache.get_cache_bundle(records[str(path)]).nb.cells[-1].outputs
            for path in paths
            if str(path) in records
        }

    return executed


ONE = "import os, sys, numpy\nprint(os.getpid(), os.getcwd(), os.environ['WORD'], sys.path[0])"
TWO = "import torch, matplotlib.pyplot as plt\nplt.plot([1, 2]); print(torch.ones(2).sum())"


def test_pages_are_executed_once_each_in_a_kernel_of_its_own(pages, tmp_path):
    first = pages(one=ONE, other=f"{ONE} # too", two=TWO, raises="1 / 0")
    assert set(first) == {"one", "other", "two"}
    process, folder, word, _ = first["one"][0].text.split(" ")
    assert (folder, word) == (str(tmp_path / "book"), "query")
    assert process != first["other"][0].text.split(" ")[0]
    kinds = [output.output_type for output in first["two"]]
    assert kinds == ["stream", "display_data"]
    assert "image/png" in first["two"][1].data
    # the cache is asked before a process is started
    second = pages(one=ONE, two=TWO.replace("ones", "zeros"))
    assert second["one"][0].text == first["one"][0].text
    assert second["two"][0].text == "tensor(0.)\n"


def test_a_kernel_that_dies_is_told_with_its_page(pages):
    with pytest.raises(BookError, match=re.escape("dies.md: DeadKernelError")):
        pages(dies="import os\nos.kill(os.getpid(), 9)")
