"""What an answer is: one text, the same for every grader, and what each grader calls the task.

The text of an answer is a task's own code with some edits, so that the mistake can be read off, or a whole
text. Adapters give it the names and arguments that a grader asks for. An adapter makes no mistake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

TORCH_JUDGE, TORCHLEET, OURS = "torch-judge", "torchleet", "ours"
GRADERS = (TORCH_JUDGE, TORCHLEET, OURS)


@dataclass(frozen=True)
class Place:
    """Where a grader asks for a task.

    name: what the grader calls the task, for ours the exercise; some names with a space between them where a
    grader has split the task, which is passed if all are; adapter: code that defines what is asked for;
    entries: the names that are asked for.
    """

    name: str
    adapter: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """One answer to a task.

    what: the mistake, or the style of a right answer; text: code that defines the functions that adapters
    call; wrong_for: by grader, why the answer is wrong by this grader's own statement of the task; a wrong answer
    is given to these graders only. source: where the mistake was published, or empty for generated ones;
    function: which of our answers it is graded as, or empty for the task's own; large: for which graders it is
    wrong with scores of hundreds only.
    """

    name: str
    what: str
    text: str
    wrong_for: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    function: str = ""
    large: frozenset[str] = frozenset()

    @property
    def right(self) -> bool:
        """Whether it is right for every grader."""
        return not self.wrong_for


@dataclass(frozen=True)
class Task:
    """A task that our exercises share with another grader.

    text: right code, from which wrong answers are made; places: by grader, where it has such a
    task; helpers: places of ours for answers that are wrong in a part of the task which our exercises ask for by itself.
    """

    name: str
    title: str
    text: str
    places: Mapping[str, Place]
    answers: Sequence[Answer]
    helpers: Mapping[str, Place] = field(default_factory=dict)

    def place(self, grader: str, answer: Answer) -> Place | None:
        """Where an answer is handed in; None if the grader has no such task or it isn't wrong there."""
        if not answer.right and grader not in answer.wrong_for:
            return None
        if grader == OURS and answer.function:
            return self.helpers[answer.function]
        return self.places.get(grader)


def edited(text: str, *edits: tuple[str, str]) -> str:
    """A text with parts replaced; ValueError if one of them doesn't occur exactly once."""
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


def wrong_answer(
    text: str,
    name: str,
    what: str,
    *edits: tuple[str, str],
    source: str,
    judge: str = "",
    leet: str = "",
    ours: str = "",
    function: str = "",
) -> Answer:
    """A published mistake in a text; judge, leet and ours: why it is wrong, by each grader's statement."""
    reasons = {TORCH_JUDGE: judge, TORCHLEET: leet, OURS: ours}
    wrong_for = {grader: why for grader, why in reasons.items() if why}
    return Answer(name, what, edited(text, *edits), wrong_for, source, function)
