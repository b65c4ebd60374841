"""The concept tests: questions from a page of the book, answers from a file that students don't get."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.book_index import book_sections
from autograder.errors import BookError

QUESTIONS = Path("book") / "teaching_questions.md"
ANSWERS = Path("solutions") / "concept_tests.md"
HEADING = re.compile(r"^## (.+)$", flags=re.MULTILINE)
QUESTION = re.compile(
    r"^\*\*(?P<number>\d+)\.\*\* (?P<text>.+)\n\n(?P<options>(?:- \*\*[A-Z]\*\* .+\n)+)",
    flags=re.MULTILINE,
)
OPTION = re.compile(r"^- \*\*([A-Z])\*\* (.+)$", flags=re.MULTILINE)
ANSWER = re.compile(
    r"^(?P<number>\d+)\. \*\*(?P<right>[A-Z])\*\*, (?P<section>[\w-]+): (?P<reason>.+)$",
    flags=re.MULTILINE,
)


@dataclass(frozen=True)
class Question:
    """A question and its answer.

    options: by letter; right: the letter of the right one; section: label of the section that teaches it;
    reason: why it is right, and what the wrong options come from.
    """

    number: int
    text: str
    options: Mapping[str, str]
    right: str
    section: str
    reason: str


def _parts(path: Path) -> dict[str, str]:
    """The text below each heading of the second level."""
    _, *found = HEADING.split(path.read_text(encoding="utf-8"))
    return dict(zip(found[::2], found[1::2], strict=True))


def concept_tests(root: Path) -> dict[str, list[Question]]:
    """The tests by title. root: the course's folder.

    Raises BookError when a question has no answer, or an answer no question.
    """
    questions, answers = _parts(root / QUESTIONS), _parts(root / ANSWERS)
    tests = {}
    for title in {**questions, **answers}:
        asked = {int(m["number"]): m for m in QUESTION.finditer(questions.get(title, ""))}
        answered = {int(m["number"]): m for m in ANSWER.finditer(answers.get(title, ""))}
        if alone := sorted(asked.keys() ^ answered.keys()):
            raise BookError(
                f"{title!r}, question {alone[0]}: {QUESTIONS} and {ANSWERS} don't have the same "
                "questions. Add what is missing, in the form of the others."
            )
        tests[title] = [
            Question(
                number,
                question["text"],
                dict(OPTION.findall(question["options"])),
                answered[number]["right"],
                answered[number]["section"],
                answered[number]["reason"],
            )
            for number, question in sorted(asked.items())
        ]
    return tests


def with_answers(root: Path) -> str:
    """The tests as Markdown, with answers and reasons."""
    sections = book_sections(root)
    lines = ["# Concept tests, with answers", ""]
    for title, questions in concept_tests(root).items():
        lines += [f"## {title}", ""]
        for one in questions:
            lines += [f"**{one.number}.** {one.text}", ""]
            lines += [f"- **{letter}** {option}" for letter, option in one.options.items()]
            lines += ["", f"Right: **{one.right}**. {one.reason}"]
            lines += [f"Taught in {sections[one.section].place}.", ""]
    return "\n".join(lines)
