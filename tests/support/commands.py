"""The commands that pages and READMEs print, and how they run in a scratch copy of the project."""

import contextlib
import csv
import datetime
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from autograder.course import Course
from autograder.exercises import metadata_of, reference_answers, released, solved
from tests.support import canvas_server
from tests.support.class_keys import give_keys
from tests.support.copies import command, repository
from tests.support.course import COURSE
from tests.support.environments import INSTALL_GRADER, NO_INDEX
from tests.support.github_class import GitHub, class_on_github

EXERCISE = COURSE.exercise("ch1_additive_attention")
PAGES = [
    COURSE.root / "README.md",
    COURSE.root / "CONTRIBUTING.md",
    *sorted(COURSE.root.glob("*/README.md")),
    *sorted(COURSE.book.glob("*.md")),
]
SHELL = "bash"
FENCE = re.compile(r"^ *(?P<ticks>`{3,})(?P<info>.*)$")

# What the scratch copy has in place of what is printed, as regular expressions. Nothing else is changed.
SUBSTITUTIONS = (
    # make, in the environment that runs the commands, which it must not set up again
    (r"(?m)^make\b", 'make VENV="$VIRTUAL_ENV" READY='),
    INSTALL_GRADER,
    # the stand-in for Canvas
    (r"https://canvas\.example\.org\b", "$CANVAS_ADDRESS"),
    # a date that lies ahead
    (r"\b2027-03-01\b", f"{datetime.date.today().year + 1}-03-01"),
    # a folder with a few sentences in place of all of Multi30k
    (r"--data DIR\b", "--data captions"),
    # few steps on few sentences, with ten checkpoints where their mean is taken
    (
        r"\btranslation train\b(?!.*(?:multi30k|parallel))",
        "translation train --steps 2 --examples 500 --held-out 8",
    ),
    (
        r"\btranslation train\b(?=.*multi30k)",
        "translation train --steps 10 --save-every 1 --vocab-size 80",
    ),
    (
        r"\bbenchmarks\.multi30k\b",
        "benchmarks.multi30k --seeds 0 --steps 2 --save-every 2 --vocab-size 80",
    ),
    (r"--vocab-size 8000 --steps 20000\b", "--vocab-size 80 --steps 10 --save-every 1"),
    # two processes: there may be no more cores
    (r"--nproc-per-node 4\b", "--nproc-per-node 2"),
)

# Blocks that don't run here, by how their first command begins, with the reason. At most ten blocks.
NOT_RUN = {
    "make course": "one of the two runs these tests, and the other takes a quarter of an hour",
    "pip install numpy": "installation needs a network",
    "python -m autograder gradescope": "it evaluates fifty sets of inputs, which takes minutes",
    "dask scheduler": "servers on several machines",
    "torchrun --nnodes": "needs several machines",
    # the first change: a test of its own follows it, edit included
    "python -m pytest tests/test_first_change": "tests/test_contributing.py does",
    "mkdir -p course/submitted/first": "tests/test_contributing.py does",
    "nbgrader db student remove first": "tests/test_contributing.py does",
}


@dataclass(frozen=True)
class Block:
    """A fenced block. page: its path in the project; language: what stands after the fence."""

    page: str
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Its commands, without comments and empty lines, continued lines joined."""
        return _commands(_joined(self.text))

    @property
    def why_not_run(self) -> str:
        """Why it isn't run here; empty for one that is."""
        first = self.commands[0]
        found = (reason for start, reason in NOT_RUN.items() if first.startswith(start))
        return next(found, "")


def fenced_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page that hold no others, in its order; what is in code is code."""
    found: list[Block] = []
    opened: list[tuple[str, str, int, list[str]]] = []
    name = page.relative_to(COURSE.root).as_posix()
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), 1):
        match = FENCE.match(line)
        info = match["info"].strip() if match else ""
        if match and not info and opened and len(match["ticks"]) >= len(opened[-1][0]):
            _, language, start, lines = opened.pop()
            found.append(Block(name, start, language, "\n".join(lines)))
        elif match and not (opened and opened[-1][1].isalpha()):
            opened.append((match["ticks"], info, number, []))
        elif opened:
            opened[-1][3].append(line)
    assert not opened, f"{name}: the fence of line {opened[-1][2]} is never closed"
    return sorted(found, key=lambda block: block.line)


def shell_blocks() -> list[Block]:
    """The shell blocks of all pages, in their order."""
    return [block for page in PAGES for block in fenced_blocks(page) if block.language == SHELL]


def _commands(text: str) -> list[str]:
    """The lines of a block, without comments and empty ones."""
    lines = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in text.split("\n"))
    return [line for line in lines if line]


def _joined(text: str) -> str:
    """Commands with continued lines on one line."""
    return re.sub(r"\s*\\\n\s*", " ", text)


def substituted(text: str) -> str:
    """Commands as the scratch copy runs them."""
    text = _joined(text)
    for pattern, replacement in SUBSTITUTIONS:
        text = re.sub(pattern, replacement, text)
    return text


# The scratch copy ---------------------------------------------------------------------------------

# tables that the page on running a class shows, by how they begin, and the names that its commands use
TABLES = {
    "id,first_name": "roster.csv",
    "id,group": "groups.csv",
    "student,exercise,extension": "extensions.csv",
    "question,key": f"solutions/comments/{EXERCISE}.csv",
    "student,question": "marks.csv",
}
CANVAS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
MOODLE = ["First name", "Last name", "ID number", "Email address"]
WORKSHEET = ["Identifier", "Full name", "Email address", "Last modified (submission)"]


def _write_table(path: Path, *rows: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def _write_captions(folder: Path) -> None:
    """A few sentences in the files of Multi30k."""
    folder.mkdir()
    words = {
        "en": (["a man", "a dog", "the girl", "a bird"], ["runs", "sleeps", "jumps"], "here there"),
        "de": (["ein mann", "ein hund", "das kind", "ein vogel"], ["rennt", "ruht", "springt"], "hier da"),
    }  # fmt: skip
    for language, (who, does, where) in words.items():
        sentences = [" ".join(parts) for parts in itertools.product(who, does, where.split())]
        for split, part in (("train", sentences), ("val", sentences[:3]), ("test_2016_flickr", sentences[3:6])):  # fmt: skip
            path = folder / f"{split}.lc.norm.tok.{language}"
            path.write_text("\n".join(part) + "\n", encoding="utf-8")
            # the files of somebody's own pair of languages
            own = {"train": "train", "val": "valid", "test_2016_flickr": "test"}[split]
            shutil.copy(path, folder.parent / f"{own}.{language.replace('de', 'nl')}")


def scratch_copy(folder: Path) -> Path:
    """A copy of the project with the files that the pages suppose an instructor to have."""
    root = repository(folder)
    for name in ("LICENSE", "Makefile", "README.md", "pyproject.toml"):
        shutil.copy(COURSE.root / name, root)
    shutil.copytree(
        COURSE.root / "benchmarks", root / "benchmarks", ignore=shutil.ignore_patterns("*.json")
    )
    for block in fenced_blocks(COURSE.book / "teaching.md"):
        for start, name in TABLES.items():
            if block.text.startswith(start):
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(block.text + "\n", encoding="utf-8")
    notebook = nbformat.writes(solved(EXERCISE, reference_answers(EXERCISE)))
    with zipfile.ZipFile(root / "submissions.zip", "w") as archive:
        archive.writestr(f"studentfirst_1001_2001_{EXERCISE.name}.ipynb", notebook)
    _write_table(
        root / "canvas.csv", CANVAS, ["Student, First", "1001", "s001", "studentfirst", "A"]
    )
    _write_table(root / "moodle.csv", MOODLE, ["First", "Student", "s001", "first@example.org"])
    modified = "Monday, 1 March 2027, 9:14 PM"
    row = ["Participant 501", "First Student", "first@example.org", modified]
    _write_table(root / "worksheet.csv", WORKSHEET, row)
    _write_captions(root / "captions")
    # what is expected of the exercise that the pages grade
    (root / "course").mkdir()
    give_keys(Course(root), EXERCISE.name)
    (root / "canvas.token").write_text(canvas_server.TOKEN, encoding="utf-8")
    return root


def canvas() -> contextlib.AbstractContextManager[canvas_server.State]:
    """A stand-in for Canvas with the exercise as an assignment, and the student of the zip."""
    points = sum(metadata_of(cell).get("points", 0) for cell in released(EXERCISE).cells)
    state = canvas_server.class_of(EXERCISE.name, points, 1001)
    state.users[0]["login_id"] = "s001"
    return canvas_server.serving(state)


def github(folder: Path, root: Path) -> GitHub:
    """A stand-in for GitHub in a folder, with a class that works on the exercise; its roster in the root."""
    return class_on_github(folder, EXERCISE, root / "github.csv")


def _of_the_grader(block: Block) -> list[list[str]]:
    """The words of a block's commands if all are the grader's own, and nothing in them is for a shell."""
    lines = _commands(substituted(block.text))
    program = "python -m autograder "
    if not all(line.startswith(program) for line in lines) or re.search(
        r"[|&;<>(){}*`]", block.text
    ):
        return []
    return [shlex.split(line.removeprefix(program)) for line in lines]


def _run_here(
    folder: Path, commands: list[list[str]], canvas_address: str
) -> subprocess.CompletedProcess:
    """Run commands of the grader in this process, which has imported what each would import anew."""
    given = {"CANVAS_ADDRESS": canvas_address, "NO_PROXY": "127.0.0.1"}
    printed, status = "", 0
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        patch.delenv("BOOK_URL", raising=False)
        for words in commands:
            patch.setattr("sys.stdin", io.StringIO("y\n" * 9))
            ended = command(folder, *map(os.path.expandvars, words))
            printed, status = printed + ended.stdout + ended.stderr, ended.status
            if status:
                break
    return subprocess.CompletedProcess(commands, status, printed)


def _environment(canvas_address: str, prefix: Path, github: GitHub | None) -> dict[str, str]:
    """The environment of somebody who has activated a virtual environment, and has no package index."""
    # nbgrader's own programs lie beside this Python
    places = [str(prefix / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    if github:
        places.insert(0, str(github.programs))
    environment = {
        **os.environ,
        **(github.environment if github else {}),
        "PATH": os.pathsep.join(dict.fromkeys(places)),
        "VIRTUAL_ENV": str(prefix),
        "OMP_NUM_THREADS": "1",
        **NO_INDEX,
        "CANVAS_ADDRESS": canvas_address,
        "NO_PROXY": "127.0.0.1",
    }
    for name in ("PYTHONPATH", "BOOK_URL", "MAKEFLAGS", "MAKELEVEL"):
        environment.pop(name, None)
    return environment


def run_block(
    folder: Path,
    block: Block,
    canvas_address: str,
    prefix: Path = Path(sys.prefix),
    github: GitHub | None = None,
) -> tuple[subprocess.CompletedProcess, Path]:
    """Run a block in a folder, as somebody does who types its lines; the first failure ends it.

    One that has only commands of the grader runs in this process, all others in a shell. Questions are answered with yes. Address of a package index: none. prefix: the virtual environment that is
    active; github: the stand-in that `gh` talks to. Returns how it ended, and the folder that it has changed to.
    """
    if commands := _of_the_grader(block):
        return _run_here(folder, commands, canvas_address), folder
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as left:
        ending = f"trap 'pwd > {left.name}' EXIT\n"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", ending + substituted(block.text)],
            cwd=folder,
            env=_environment(canvas_address, prefix, github),
            input="y\n" * 9,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return done, Path(left.read().strip())
