"""The words on folded code say what it is and how long."""

import bs4

from tests.support.small_book import FRONT, build_book

CELLS = [
    ("hide-input", "import math\n\nn = 3\n", "Setup, 2 lines"),
    ("hide-input", "def double(x):\n    return 2 * x\n\n\nprint(double(n))\n", "Code, 3 lines"),
    ("hide-input", "print(n)\n", "Code, 1 line"),
    ("hide-output", "print(n)\n", "Show code cell output"),
]


def test_folded_code_says_what_it_is_and_how_long(tmp_path):
    cells = [f"```{{code-cell}} ipython3\n:tags: [{tag}]\n{code}```\n" for tag, code, _ in CELLS]
    done = build_book(
        tmp_path, {"page": f"{FRONT}# A page\n\n" + "\n".join(cells)}, ["code_prompts"]
    )
    assert done.returncode == 0, done.stderr
    page = bs4.BeautifulSoup((tmp_path / "html/page.html").read_text(), "html.parser")
    summaries = [
        summary.find(class_="collapsed") for summary in page.select("details.hide summary")
    ]
    assert [summary.get_text() for summary in summaries] == [words for _, _, words in CELLS]
