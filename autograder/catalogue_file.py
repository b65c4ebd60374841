"""Reads `solutions/catalogue/chN_name.md`: known mistakes, alternatives, and other ways for students.

    # answer: grade_cell, section of the book to read again
    ## name of a mistake [another section]
    What its values mean, in a sentence or two.
    *Hint:* The way on, without the solution?
    `a rule -> of autograder.rules`

A change that is no rule of one line stands in a fence: `rule` for several rules, `diff` for lines of the
answer, `python` for a whole wrong answer. `Like *another mistake*.` first makes two mistakes one idea; words
and change that are left out are that mistake's. `From *another mistake*.` first lets the change begin from
that mistake's answer in place of the reference. `# Alternatives` and `# Other ways` follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autograder.diffs import Hunk, read_diff
from autograder.errors import CatalogueError
from autograder.rules import ARROW, Rule, read_rules
from autograder.runtime.guide import Way
from autograder.splices import EditError

# a fragment shows an idea; a whole answer would give the next student's away
MAX_FRAGMENT = 3
WAYS = 2
ALTERNATIVES, DISCUSSIONS = "Alternatives", "Other ways"
ANSWER = re.compile(r"(?P<function>\w+): (?P<cell>\w+)(?:, (?P<section>[\w-]+))?")
NAME = re.compile(r"(?P<name>.+?)(?: \[(?P<section>[\w-]+)\])?")
# what may stand before the words of a mistake, and names another
OTHER = re.compile(r"(Like|From) \*(.+?)\*\.\s*")
HINT, COST = "*Hint:*", "*Cost:*"
# a line of a program that students see, or the part of it that they see
SHOWN = re.compile(r"(?P<code>.*?)\s*# shown(?:: (?P<part>.+))?")


@dataclass(frozen=True)
class Mistake:
    """A named, wrong version of one answer.

    name: unique in the exercise; function: the answer it is a version of; cell: grade_id of the cell
    meant to catch it; means: what the wrong values are; hint: the way on, without the solution;
    section: label of the book section that helps; like: an earlier mistake that is the same idea.
    Either edits of the reference, or of the answer of an earlier mistake, start; or source, the whole
    wrong answer. file, line: where it stands.
    """

    name: str
    function: str
    cell: str
    means: str
    hint: str
    section: str
    edits: tuple[Rule | Hunk, ...] = ()
    source: str = ""
    like: str = ""
    file: str = ""
    line: int = 0
    start: Mistake | None = None


@dataclass(frozen=True)
class Alternative:
    """A correct solution in another style.

    source: one or more whole answers; cost: what speaks for this style and against it, for instructors.
    """

    name: str
    source: str
    cost: str = ""


@dataclass(frozen=True)
class Discussion:
    """Other ways to solve a task, shown after it is passed.

    function: the task's answer; programs: for each way the one that its fragment is a part of.
    """

    function: str
    ways: tuple[Way, ...] = ()
    programs: tuple[str, ...] = ()


@dataclass
class Catalogue:
    """What a file says. sections: the section of the book to read again, by grade cell."""

    mistakes: dict[str, Mistake] = field(default_factory=dict)
    alternatives: dict[str, Alternative] = field(default_factory=dict)
    discussions: dict[str, Discussion] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Fence:
    language: str
    text: str
    line: int


@dataclass
class _Section:
    """What stands below a heading. parts: lines of text and fences, in their order."""

    level: int
    heading: str
    line: int
    parts: list[str | _Fence] = field(default_factory=list)


def read_catalogue(text: str, file: str) -> Catalogue:
    """What a catalogue says. file: its name in errors. Raises CatalogueError with file and line."""
    return _Reader(file).read(text)


class _Reader:
    """Reads one file: answers, then alternatives, then other ways."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found = Catalogue()

    def _error(self, line: int, message: str) -> CatalogueError:
        return CatalogueError(f"{self._file}, line {line}: {message}")

    def read(self, text: str) -> Catalogue:
        chapter = ""
        for section in self._sections(text):
            if section.level == 1:
                chapter = section.heading
                self._chapter(section)
            elif chapter == ALTERNATIVES:
                self._alternative(section)
            elif chapter == DISCUSSIONS:
                self._discussion(section)
            elif chapter:
                self._mistake(section, chapter)
            else:
                raise self._error(
                    section.line, "a mistake stands below `# answer: grade_cell, section`."
                )
        return self._found

    def _sections(self, text: str) -> Iterator[_Section]:
        """The file by its headings; what stands before the first one is for people only."""
        current, opened = _Section(0, "", 1), None
        lines: list[str] = []
        for number, line in enumerate(text.split("\n"), 1):
            if opened is not None:
                if line.rstrip() != "```":
                    lines.append(line)
                    continue
                language, start = opened
                current.parts.append(_Fence(language, "\n".join(lines), start + 1))
                opened, lines = None, []
            elif line.startswith("```"):
                opened = (line[3:].strip(), number)
            elif heading := re.fullmatch(r"(#{1,2}) +(.+?) *", line):
                if current.level:
                    yield current
                current = _Section(len(heading[1]), heading[2], number)
            elif (code := re.fullmatch("`([^`]+)`", line.strip())) and ARROW.search(code[1]):
                current.parts.append(_Fence("rule", code[1], number))
            elif not re.fullmatch(r"\s*<!--.*-->\s*", line):
                current.parts.append(line.strip())
        if opened is not None:
            raise self._error(opened[1], "this fence isn't closed: ``` is missing below it.")
        if current.level:
            yield current

    def _chapter(self, section: _Section) -> None:
        if any(isinstance(part, _Fence) for part in section.parts):
            raise self._error(section.line, "code stands below `## name`.")
        if section.heading in (ALTERNATIVES, DISCUSSIONS):
            return
        head = ANSWER.fullmatch(section.heading)
        if head is None:
            raise self._error(
                section.line,
                f"`# {section.heading}` is neither `# answer: grade_cell, section` nor "
                f"`# {ALTERNATIVES}` nor `# {DISCUSSIONS}`.",
            )
        if head["section"]:
            known = self._found.sections.setdefault(head["cell"], head["section"])
            if known != head["section"]:
                raise self._error(section.line, f"the section of {head['cell']} was {known} above.")

    def _mistake(self, section: _Section, chapter: str) -> None:
        head, answer = NAME.fullmatch(section.heading), ANSWER.fullmatch(chapter)
        assert head is not None and answer is not None
        name = head["name"]
        if name in self._found.mistakes:
            raise self._error(section.line, f"there is a mistake called {name!r} above.")
        words = " ".join(part for part in section.parts if isinstance(part, str) and part)
        others, words = self._others(section, words)
        model, start = others.get("Like"), others.get("From")
        edits, source = self._change(section)
        means, _, hint = words.partition(HINT)
        if model and not words:
            means, hint = model.means, model.hint
        if model and not edits and not source and not start:
            edits, source, start = list(model.edits), model.source, model.start
        if start and (start.function != answer["function"] or not edits):
            raise self._error(
                section.line,
                f"{name!r} begins from {start.name!r}, so it needs a rule or a diff that changes it, and "
                f"both have to be answers to the same task; {start.name!r} is one to {start.function!r}.",
            )
        mistake = Mistake(
            name,
            answer["function"],
            answer["cell"],
            means.strip(),
            hint.strip(),
            head["section"] or self._found.sections.get(answer["cell"], ""),
            tuple(edits),
            source,
            model.name if model else "",
            self._file,
            section.line,
            start,
        )
        self._refuse_incomplete(mistake)
        self._found.mistakes[name] = mistake

    def _others(self, section: _Section, words: str) -> tuple[dict[str, Mistake], str]:
        """The mistakes that the words of one begin with, by `Like` and `From`, and the other words."""
        others: dict[str, Mistake] = {}
        while other := OTHER.match(words):
            if other[2] not in self._found.mistakes:
                raise self._error(section.line, f"no mistake above is called {other[2]!r}.")
            others[other[1]] = self._found.mistakes[other[2]]
            words = words[other.end() :]
        return others, words

    def _change(self, section: _Section) -> tuple[list[Rule | Hunk], str]:
        """What is written out below a mistake: edits, or a whole answer."""
        fences = [part for part in section.parts if isinstance(part, _Fence)]
        sources = [fence.text for fence in fences if fence.language == "python"]
        edits = [edit for fence in fences for edit in self._edits(fence)]
        if len(sources) > 1 or (sources and edits):
            name = NAME.sub(r"\g<name>", section.heading)
            raise self._error(section.line, f"{name!r} has a whole answer and another change.")
        return edits, "".join(sources)

    def _refuse_incomplete(self, mistake: Mistake) -> None:
        for what, is_there in [
            ("words on what its values mean", mistake.means),
            (f"a hint, behind `{HINT}`", mistake.hint),
            (
                "a change: a rule, or a fence with `rule`, `diff` or `python`",
                mistake.edits or mistake.source,
            ),
            ("a section of the book, in its heading or its answer's", mistake.section),
        ]:
            if not is_there:
                raise self._error(mistake.line, f"{mistake.name!r} needs {what}.")

    def _edits(self, fence: _Fence) -> Sequence[Rule | Hunk]:
        """The changes of the reference in a fence; none in one with a whole answer."""
        try:
            match fence.language:
                case "rule":
                    return read_rules(fence.text, fence.line)
                case "diff":
                    return read_diff(fence.text, fence.line)
                case "python":
                    return []
        except EditError as error:
            raise self._error(error.line, str(error)) from None
        raise self._error(
            fence.line - 1, f"```{fence.language} is none of ```rule, ```diff and ```python."
        )

    def _alternative(self, section: _Section) -> None:
        sources = [part.text for part in section.parts if isinstance(part, _Fence)]
        cost = " ".join(part for part in section.parts if isinstance(part, str) and part)
        if len(sources) != 1:
            raise self._error(section.line, "an alternative has one fence, with whole answers.")
        if section.heading in self._found.alternatives:
            raise self._error(section.line, f"there is an alternative {section.heading!r} above.")
        self._found.alternatives[section.heading] = Alternative(section.heading, sources[0], cost)

    def _discussion(self, section: _Section) -> None:
        """One way to solve a task: words, what it costs, and a program of which some lines are shown."""
        programs = [part.text for part in section.parts if isinstance(part, _Fence)]
        text = " ".join(part for part in section.parts if isinstance(part, str) and part)
        words, _, cost = text.partition(COST)
        if not (words.strip() and cost.strip() and len(programs) == 1):
            raise self._error(
                section.line,
                f"another way is words, what it costs, behind `{COST}`, and a fence with a "
                "program, of which students see the lines that end in `# shown`.",
            )
        fragment = self._shown(programs[0], section.line)
        answer = section.heading
        known = self._found.discussions.get(answer, Discussion(answer))
        if len(known.ways) == WAYS:
            raise self._error(section.line, f"{answer} has {WAYS} other ways above.")
        self._found.discussions[answer] = Discussion(
            answer,
            (*known.ways, Way(words.strip(), fragment, cost.strip())),
            (*known.programs, programs[0]),
        )

    def _shown(self, program: str, line: int) -> str:
        """The lines of a program that students see, those with a mark, or what the mark names of them."""
        shown, whole = [], []
        for text in program.split("\n"):
            if mark := SHOWN.fullmatch(text):
                code, part = mark["code"], mark["part"]
                if part and code.strip() and part not in code:
                    raise self._error(line, f"`{part}` is no part of `{code.strip()}`.")
                shown.append(part or code)
                whole += [] if part else [len(code) - len(code.lstrip())]
        shared = min(whole, default=0)
        if not 0 < len(shown) <= MAX_FRAGMENT:
            raise self._error(
                line,
                f"students are shown {len(shown)} lines, and it has to be 1 to {MAX_FRAGMENT}. Mark "
                "them with `# shown`, and say the rest in words.",
            )
        return "\n".join(one if one[:1].strip() else one[shared:] for one in shown)
