"""Printed tables as tables: rows that a screen reader can follow and a narrow screen can scroll."""

import html
from collections.abc import Sequence

from figures import number_text
from IPython.display import HTML


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str | float]],
    digits: int | Sequence[int] = 2,
) -> HTML:
    """A table with a caption, a head, and names of rows in its first column.

    Args:
        caption: What the table shows. Plain text.
        columns: The head, one name a column, that of the first column included.
        rows: Each as long as `columns`; the first entry is the row's name.
        digits: Decimals of numbers; one for all columns, or one for each. Integers have none.

    Raises:
        ValueError: there is no caption, or a row or `digits` does not fit the columns.
    """
    if not caption.strip():
        raise ValueError("a table needs a caption: table(caption, columns, rows)")
    places = [digits] * len(columns) if isinstance(digits, int) else list(digits)
    for what, length in [("digits", len(places)), *((f"row {row}", len(row)) for row in rows)]:
        if length != len(columns):
            raise ValueError(f"{what}: {length} for {len(columns)} columns")
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{_cell(row[0], places[0])}</th>'
        + "".join(
            f"<td{'' if isinstance(entry, str) else ' class=number'}>{_cell(entry, place)}</td>"
            for entry, place in zip(row[1:], places[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    name = html.escape(caption)
    return HTML(
        f'<div class="results" role="group" tabindex="0" aria-label="{name}">'
        f'<table class="table"><caption>{name}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(entry: str | float, digits: int) -> str:
    if isinstance(entry, str):
        return html.escape(entry)
    # a whole number, of any library
    return number_text(entry, 0 if hasattr(entry, "__index__") else digits)
