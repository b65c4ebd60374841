"""Which submitted cell is which released one: by its marks, else by the name that it defines or the question
that stands in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nbformat import NotebookNode

from autograder.exercises import cell_digest, is_answer_cell, is_written_question, metadata_of
from autograder.grade.result import Remark
from autograder.programs import spans_of

STUB = "YOUR ANSWER HERE"
# words that follow one another; of those of a question so many are enough to find it
WORDS, ENOUGH = 3, 0.7


@dataclass(frozen=True)
class SubmittedCell:
    """A cell as it was handed in.

    kind: "code" or "markdown"; pictures: pasted into it, as nbformat's attachments.
    """

    kind: str
    source: str
    grade_id: str | None = None
    id: str | None = None
    pictures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def match(
    cells: Sequence[SubmittedCell], skeleton: Sequence[NotebookNode]
) -> tuple[list[str | None], list[Remark]]:
    """For every submitted cell the released cell that it is, if any; and remarks."""
    known = {cell.id for cell in skeleton}
    keys = [
        cell.grade_id if cell.grade_id in known else cell.id if cell.id in known else None
        for cell in cells
    ]
    remarks = []
    for released in skeleton:
        name = released.id
        if name in keys:
            continue
        if is_answer_cell(released):
            wanted = defined(released.source)
            found = [bool(wanted & defined(cell.source)) for cell in cells]
            told = Remark("answer_found", {"cell": name, "names": sorted(wanted)})
            missing = Remark("answer_missing", {"cell": name})
        elif is_written_question(released):
            found = [_asks(cell.source, released.source) for cell in cells]
            told = Remark("question_found", {"cell": name})
            missing = Remark("question_missing", {"cell": name})
        else:
            continue
        places = [number for number, key in enumerate(keys) if key is None and found[number]]
        if places:
            keys[places[0]] = name
        remarks.append(told if places else missing)
    return keys, remarks


def answered(cells: Sequence[SubmittedCell], release: NotebookNode) -> Mapping[str, str]:
    """The answers that somebody has worked on: digests of their texts, by the released cell."""
    skeleton = [cell for cell in release.cells if metadata_of(cell).get("solution")]
    keys, _ = match(cells, skeleton)
    as_released = {cell.id: cell_digest(cell.source) for cell in skeleton}
    found: dict[str, str] = {}
    for cell, key in zip(cells, keys, strict=True):
        digest = cell_digest(cell.source)
        if key is not None and digest not in (as_released[key], cell_digest("")):
            found.setdefault(key, digest)
    return found


def defined(source: str) -> set[str]:
    """The functions and classes that a cell defines, also if it has a syntax error."""
    try:
        return set(spans_of(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(re.findall(r"^(?:def|class)\s+(\w+)", source, flags=re.MULTILINE))


def _asks(source: str, question: str) -> bool:
    """Whether a cell holds the text of a written question, perhaps a little changed."""
    asked = _sequences(question.replace(STUB, ""))
    return bool(asked) and len(asked & _sequences(source)) >= ENOUGH * len(asked)


def _sequences(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    return {tuple(words[i : i + WORDS]) for i in range(len(words) - WORDS + 1)}
