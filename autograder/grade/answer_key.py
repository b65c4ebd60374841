"""The answer key: what grading one exercise in one class needs, and nothing about how it is said.

It is plain data, so that it can travel to the process or machine where submissions are examined.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import nbformat
from nbformat import NotebookNode

from autograder.expected import ExpectedCell


@dataclass(frozen=True)
class AnswerKey:
    """What a submission to an exercise is graded with.

    release: the notebook that students got; cells: what is expected, by grade cell; mistake_cells: by
    known mistake, the grade cell that is meant to catch it; mistake_functions: the answer that it is a
    version of; answers: by answer cell, the names that it defines; graded: by grade cell, the answers
    that it grades; uses: by answer, those of the answers that the reference uses in it; right_versions:
    by answer, an expression that gives a right version of it; packages: what the exercise counts on
    beside Python; versions: by locked cell, digests of all
    that were ever released; files: what lies in the folder of a student's kernel, by name, whatever
    the student has handed in under that name; digest: of everything here that a verdict depends on.
    """

    exercise: str
    release: NotebookNode
    cells: Mapping[str, ExpectedCell]
    mistake_cells: Mapping[str, str]
    mistake_functions: Mapping[str, str]
    answers: Mapping[str, tuple[str, ...]]
    graded: Mapping[str, tuple[str, ...]]
    uses: Mapping[str, tuple[str, ...]]
    right_versions: Mapping[str, str]
    packages: tuple[str, ...]
    versions: Mapping[str, list[str]]
    files: Mapping[str, str]
    digest: str

    def to_json(self) -> str:
        """As text, for another process."""
        cells = {name: cell.as_data() for name, cell in self.cells.items()}
        return json.dumps({**vars(self), "cells": cells})

    @staticmethod
    def from_json(text: str) -> AnswerKey:
        """From `to_json`."""
        data = json.loads(text)
        cells = {name: ExpectedCell.read(cell) for name, cell in data["cells"].items()}
        release = nbformat.from_dict(data["release"])
        packages = tuple(data["packages"])
        return AnswerKey(**data | {"cells": cells, "release": release, "packages": packages})
