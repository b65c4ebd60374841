"""Tables that cells compute are tables, with caption and names of rows."""

import sys

import bs4
import numpy as np
import pytest

from tests.support.course import COURSE


@pytest.fixture(scope="module")
def table():
    sys.path.insert(0, str(COURSE.book))  # as a page imports it
    try:
        from tables import table
    finally:
        sys.path.remove(str(COURSE.book))
    return table


def test_a_table_has_caption_head_and_names_of_rows(table):
    rows = [["one <b>", 0.51234, np.int64(7), "yes"], [2, np.float32(-1.5), 30, "no"]]
    made = table("Accuracy & time", ["heads", "share", "seeds", "?"], rows, [0, 3, 1, 0])
    page = bs4.BeautifulSoup(made.data, "html.parser")
    assert page.caption.text == "Accuracy & time"
    assert page.div["aria-label"] == "Accuracy & time" and page.div["tabindex"] == "0"
    assert [th.text for th in page.thead.find_all("th", scope="col")] == [
        "heads",
        "share",
        "seeds",
        "?",
    ]
    shown = [
        [cell.text for cell in row.find_all(["th", "td"])] for row in page.tbody.find_all("tr")
    ]
    assert shown == [["one <b>", "0.512", "7", "yes"], ["2", "−1.500", "30", "no"]]
    assert all(row.th["scope"] == "row" for row in page.tbody.find_all("tr"))
    assert [cell.text for cell in page.select("td.number")] == ["0.512", "7", "−1.500", "30"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((" ", ["a"], []), "caption"),
        (("x", ["a", "b"], [["1"]]), "1 for 2 columns"),
        (("x", ["a", "b"], [], [1]), "digits: 1 for 2"),
    ],
)
def test_what_does_not_fit_is_an_error(table, arguments, message):
    with pytest.raises(ValueError, match=message):
        table(*arguments)
