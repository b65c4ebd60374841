"""Attacks that a review of the grader's security found, and others of their kinds."""

from __future__ import annotations

import json
from pathlib import Path

from autograder.audit.attacks import ATTACKS, Attack, save, with_code
from autograder.course import Exercise
from autograder.grade.answer_key import AnswerKey

# Feedback as an oracle --------------------------------------------------------------------------

TABLE = "table.json"
# replies with what was right when the first submission was graded
FROM_THE_TABLE = """
table = json.load(open("table.json"))
class Forged:
    def __init__(self, request):
        self.expression = json.loads(request)["expression"]
    def _repr_mimebundle_(self, **options):
        return {MIME: json.dumps(table[self.expression])}
sys.modules["_autotest_reply"] = Forged
"""


def table_of(key: AnswerKey) -> dict[str, list[dict]]:
    """What is right for every expression on its draws: more than a feedback page can tell."""
    return {
        line.expression: [{**draw.expected, "forbidden": []} for draw in line.draws]
        for cell in key.cells.values()
        for line in cell.lines
    }


def hand_in_table(exercise: Exercise, folder: Path, key: AnswerKey) -> None:
    """Hand in a notebook that replies with a table of what was expected under an answer key."""
    (folder / TABLE).write_text(json.dumps(table_of(key)), encoding="utf-8")
    save(exercise, folder, with_code(exercise, FROM_THE_TABLE))


def _untouched(exercise: Exercise, folder: Path) -> None:
    save(exercise, folder, with_code(exercise, "pass"))


for _name, _of_another in {
    "handed in again with a table of all that was expected": False,
    "handed in late with a table of all that was expected of another student": True,
}.items():
    ATTACKS[_name] = Attack(
        _name, "feedback as an oracle", _untouched, again=hand_in_table, of_another=_of_another
    )
