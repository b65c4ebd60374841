"""Printed text stands on a page as it was printed, however often the kernel flushed it."""

import html
import re

import yaml

from tests.support.course import COURSE
from tests.support.small_book import FRONT, build_book

PAGE = (
    FRONT
    + """
# Pieces

```{code-cell} ipython3
import sys, time
for row in range(2):
    for column in range(3):
        print(f"{row * column:4}", end="", flush=True)
        time.sleep(0.05)
    print("  |")
    sys.stdout.flush()
    time.sleep(0.05)
print()
print("  after an empty line", flush=True)
```

```{code-cell} ipython3
print("one", end=" ", flush=True)
```

```{code-cell} ipython3
from IPython.display import HTML, display
print("before", flush=True)
display(HTML("<b>between</b>"))
print("be", end="", flush=True)
time.sleep(0.05)
print("hind")
```
"""
)


def test_the_book_joins_streams_itself():
    config = yaml.safe_load((COURSE.root / "_config.yml").read_text(encoding="utf-8"))["sphinx"]
    assert config["config"]["nb_merge_streams"] is False
    assert "streams" in config["config"]["extensions"]


def test_pieces_are_joined_as_they_were_printed(tmp_path):
    built = build_book(tmp_path, {"pieces": PAGE}, ["streams"])
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "html" / "pieces.html").read_text(encoding="utf-8")
    found = re.findall(r'class="output stream[^"]*">.*?<pre>(.*?)</pre>', page, re.DOTALL)
    shown = [html.unescape(re.sub("<[^>]*>", "", text)).rstrip() for text in found]
    assert shown == [
        "   0   0   0  |\n   0   1   2  |\n\n  after an empty line",
        "one",
        "before",
        "behind",
    ]
    assert page.index("before") < page.index("<b>between</b>") < page.index("behind")
