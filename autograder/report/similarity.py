"""Near-identical answers of a class: a hint to look, never a verdict.

Answers are compared as their syntax trees say them: without comments, docstrings, annotations and
spacing, and with local names numbered in the order in which they appear. Lines that the exercise itself
gives (the signature, `super().__init__()`) are left out, because everybody has them. What remains is
compared token by token. The solutions are public, so an answer near one of them is reported as that, and
not as near to another student's.
"""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from autograder.catalogue import alternative_answers, alternatives
from autograder.course import Exercise
from autograder.exercises import is_answer_cell, metadata_of, reference_answers, released
from autograder.programs import spans_of

# Among the course's own correct answers of this size no two are nearer than 0.8, while changing a
# line or two of one leaves 0.9 (tests/autograder/report/test_similarity.py); shorter ones are alike by nature.
MIN_TOKENS = 60
NEAR = 0.9
STUB = "the stub"
# beyond, comparing takes too long; no answer of the course has 600
MAX_TOKENS = 4_000

Answers = Mapping[str, str]
Tokens = tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Students whose answers are near-identical, and near no public solution.

    answers: names of the cells, the longest first; similarity: of the two nearest students in that
    cell; pair: these two; near: the share of all pairs of these students who are near each other there.
    Each is near at least one other.
    """

    students: tuple[str, ...]
    answers: tuple[str, ...]
    similarity: float
    pair: tuple[str, str]
    near: float


class _Normal(ast.NodeTransformer):
    """Drops docstrings and annotations, and numbers the names that a program binds itself.

    Each function and method counts anew, so that a helper before a method changes none of its lines.
    """

    def __init__(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.own = stored | {n.arg for n in nodes if isinstance(n, ast.arg)} - {"self"}
        self.numbered: dict[str, str] = {}
        self.depth = 0

    def _name(self, name: str) -> str:
        return (
            self.numbered.setdefault(name, f"v{len(self.numbered)}") if name in self.own else name
        )

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._name(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg, node.annotation = self._name(node.arg), None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.Assign([node.target], node.value, lineno=node.lineno))

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        # docstrings, and strings used as comments
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        if self.depth == 0:
            self.numbered = {}
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        node.body = node.body or [ast.Pass()]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node


def normalised(source: str) -> str:
    """A program in its normal form; one that doesn't parse stays as it stands."""
    try:
        tree = ast.parse(source)
        return ast.unparse(_Normal(tree).visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


def own_part(source: str, stub: str) -> str:
    """What is compared of a program: its normal form without the lines that the stub gives."""
    expected_lines = collections.Counter(line.strip() for line in normalised(stub).split("\n"))
    lines = []
    for line in normalised(source).split("\n"):
        if expected_lines[line.strip()] > 0:
            expected_lines[line.strip()] -= 1
        else:
            lines.append(line)
    return "\n".join(lines)


def tokens(text: str) -> Tokens:
    """The words, numbers and marks of what is compared."""
    return tuple(re.findall(r"\w+|[^\w\s]", text)[:MAX_TOKENS])


def public_answers(exercise: Exercise) -> dict[str, dict[str, str]]:
    """What anybody can read: answer cell -> {name: text}."""
    program = exercise.program()
    sources = {"the reference": reference_answers(exercise)}
    for other in alternatives(exercise):
        sources[f'the alternative "{other.name}"'] = alternative_answers(program, other)
    found: dict[str, dict[str, str]] = {}
    for cell in filter(is_answer_cell, released(exercise).cells):
        public = found[metadata_of(cell).grade_id] = {STUB: cell.source}
        for name in spans_of(cell.source):
            public |= {who: answers[name] for who, answers in sources.items() if name in answers}
    return found


def _near(texts: Sequence[Tokens], others: Sequence[Tokens]) -> np.ndarray:
    """Similarities of all texts with all others, 0 where below NEAR."""
    if not texts or not others:
        return np.zeros((len(texts), len(others)), np.float32)
    scorer = Indel.normalized_similarity
    return cdist(texts, others, scorer=scorer, score_cutoff=NEAR, dtype=np.float32)


def compare(
    submissions: Mapping[str, Answers], public: Mapping[str, Answers]
) -> tuple[list[Group], dict[str, dict[str, list[str]]]]:
    """Groups of near-identical submissions, and who is near which public solution.

    submissions: student -> {answer cell: source}; public: answer cell -> {name: source}. The second
    result is {public solution: {student: answer cells}}; untouched cells are in neither.
    """
    shared = collections.defaultdict(list)
    known: dict[str, dict[str, list[str]]] = {}
    for answer, solutions in public.items():
        students: dict[Tokens, list[str]] = {}
        stub = solutions[STUB]
        for student, answers in sorted(submissions.items()):
            # of an untouched stub nothing is left
            text = tokens(own_part(answers.get(answer, ""), stub))
            if len(text) >= MIN_TOKENS:
                students.setdefault(text, []).append(student)
        public_texts = {
            who: tokens(own_part(text, stub)) for who, text in solutions.items() if who != STUB
        }
        like = _near(list(students), list(public_texts.values()))
        own = [text for text, row in zip(students, like, strict=True) if not row.any()]
        for text, row in zip(students, like, strict=True):
            if row.any():
                who = list(public_texts)[row.argmax()]
                for student in students[text]:
                    known.setdefault(who, {}).setdefault(student, []).append(answer)
        for members, size, similarity, pair, near in _linked(own, students):
            shared[members].append((size, answer, similarity, pair, near))
    groups = []
    for members, found in shared.items():
        found.sort(reverse=True)
        groups.append(Group(members, tuple(answer for _, answer, *_ in found), *found[0][2:]))
    return sorted(groups, key=lambda g: (-len(g.answers), -g.similarity, g.students)), known


def _linked(
    texts: Sequence[Tokens], students: Mapping[Tokens, Sequence[str]]
) -> list[tuple[tuple[str, ...], int, float, tuple[str, str], float]]:
    """Groups of near texts: (students, size, highest similarity, who has it, share of near pairs)."""
    near = _near(texts, texts)
    found = []
    for inside in _connected(near > 0):
        members = [student for i in inside for student in students[texts[i]]]
        if len(members) < 2:
            continue
        block = np.triu(near[np.ix_(inside, inside)], 1)
        first, second = np.unravel_index(block.argmax(), block.shape)
        similarity = float(block[first, second])
        pair = students[texts[inside[first]]][0], students[texts[inside[second]]][0]
        for text in (texts[i] for i in inside if len(students[texts[i]]) > 1):
            similarity, pair = 1.0, (students[text][0], students[text][1])
        sizes = np.array([len(students[texts[i]]) for i in inside])
        # ordered pairs, those of one and the same text among them, without anybody and themselves
        pairs = sizes @ (near[np.ix_(inside, inside)] > 0) @ sizes - len(members)
        share = float(pairs / (len(members) * (len(members) - 1)))
        size = len(texts[inside[first]])
        found.append((tuple(sorted(members)), size, similarity, pair, share))
    return found


def _connected(near: np.ndarray) -> Iterator[list[int]]:
    """The groups of texts that chains of near ones link, in the order of their first."""
    left = np.ones(len(near), dtype=bool)
    for first in range(len(near)):
        if left[first]:
            group, reached = np.zeros_like(left), np.arange(len(near)) == first
            while (reached != group).any():
                group, reached = reached, reached | near[reached].any(axis=0)
            left &= ~group
            yield np.flatnonzero(group).tolist()
