"""Hostile repositories on GitHub: what a clone may hold to have something run, followed, or computed for ever.

Each is read as `collect-github` does, and what is taken from it is handed in.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat

from audit_cases.repositories import FILE, FOLDER, LINK, SUBMODULE, Repository
from autograder.audit.leftovers import LEFT_BEHIND
from autograder.audit.registry import ATTACKS, HONEST_STUDENT, Attack
from autograder.course import Exercise
from autograder.exercises import reference_answers, solved
from autograder.lms.clones import CloneError
from autograder.lms.collect_github import take

KIND = "repositories"
# a program that stays, and so shows that it was started
STAYS = f"{sys.executable} -c 'import time; time.sleep(300)' {LEFT_BEHIND} &"
# where git looks for programs that a configuration names
PROGRAMS = (
    *("core.fsmonitor", "core.sshCommand", "core.askPass", "core.editor", "core.pager"),
    *("diff.x.textconv", "filter.x.smudge", "filter.x.clean", "uploadpack.packObjectsHook"),
    *("core.gitProxy", "gpg.program", "core.alternateRefsCommand"),
)
HOOKS = ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman")


@dataclass(frozen=True)
class HostileRepository:
    """What a builder has: an empty repository, the exercise's names, notebooks untouched and right."""

    repository: Repository
    exercise: Exercise
    untouched: bytes
    right: bytes

    @property
    def name(self) -> str:
        """What the notebook is called."""
        return f"{self.exercise.name}.ipynb"

    @property
    def place(self) -> Path:
        """Where the repository lies."""
        return self.repository.place

    @property
    def deed(self) -> str:
        """A command that leaves a file and a process behind."""
        return f"touch {self.place.with_name('started')}; {STAYS}"

    def another(self) -> Repository:
        """Another student's repository beside it, with right answers."""
        other = Repository(self.place.with_name("other.git"))
        other.hand_in(self.name, self.right)
        return other


Build = Callable[[HostileRepository], None]
BUILDERS: dict[str, Build] = {}


def hostile_clone(name: str, exercise: Exercise, place: Path) -> Path:
    """Make the hostile repository of a name in a folder, where a clone of it would lie."""
    notebooks = [solved(exercise, {}, written=""), solved(exercise, reference_answers(exercise))]
    untouched, right = (nbformat.writes(notebook).encode() for notebook in notebooks)
    repository = Repository(place / "hostile.git")
    BUILDERS[name](HostileRepository(repository, exercise, untouched, right))
    return repository.place


def _repository(name: str) -> Callable[[Build], Build]:
    """Register a hostile repository, and that what is taken from it is handed in."""

    def make(exercise: Exercise, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as place:
            clone = hostile_clone(name, exercise, Path(place))
            try:
                files = dict(take(clone, exercise.name).files)
            except CloneError:
                files = {}
        for own, content in files.items():
            (folder / own).write_bytes(content)

    def register(build: Build) -> Build:
        BUILDERS[name] = build
        ATTACKS[name] = Attack(name, KIND, make)
        return build

    return register


# What is another thing than a file ----------------------------------------------------------------


@_repository("a repository whose notebook is a link to another student's")
def _(given: HostileRepository) -> None:
    target = f"../../{HONEST_STUDENT}/{given.exercise}/{given.name}"
    given.repository.hand_in(given.name, target.encode(), LINK)


@_repository("a repository whose notebook is a submodule")
def _(given: HostileRepository) -> None:
    other = given.another()
    commit = (other.place / "refs" / "heads" / "main").read_text().strip()
    modules = (
        f'[submodule "x"]\n\tpath = {given.name}\n\turl = {other.place}\n\tupdate = !{given.deed}\n'
    )
    blob = given.repository.add("blob", modules.encode())
    tree = given.repository.tree((FILE, ".gitmodules", blob), (SUBMODULE, given.name, commit))
    given.repository.commit(tree)


@_repository("a repository of names that lead out of it")
def _(given: HostileRepository) -> None:
    own = given.repository.add("blob", given.untouched)
    names: list[str | bytes] = [
        f"../../{HONEST_STUDENT}/{given.exercise}/{given.name}",
        f"..\\{given.name}",
        f"/{given.name}",
        f"\x1b[2J\n{given.name}",
        f"\u202e{given.name}",
        b"\xff" + given.name.encode(),
    ]
    inside = given.repository.tree((FILE, given.name, own))
    folders = [(FOLDER, name, inside) for name in ("..", ".", "", ".git", "a/../..")]
    given.repository.commit(given.repository.tree(*((FILE, n, own) for n in names), *folders))


@_repository("a repository with files of kinds that there are not")
def _(given: HostileRepository) -> None:
    own = given.repository.add("blob", given.untouched)
    modes = ("140000", "60000", "0", "100644444", "170000")
    given.repository.commit(given.repository.tree(*((mode, given.name, own) for mode in modes)))


# What would have git run something ----------------------------------------------------------------


@_repository("a clone whose configuration and hooks name programs")
def _(given: HostileRepository) -> None:
    lines = [
        *("[include]", "\tpath = more", "[alias]", f"\tcat-file = !{given.deed}"),
        *("[core]", "\thooksPath = hooks", "\tbare = false", "\tworktree = ."),
    ]
    (given.place / "config").write_text("\n".join([*lines, ""]))
    for name in PROGRAMS:
        section, _, key = name.rpartition(".")
        kind, _, of = section.partition(".")
        more = f'[{kind}{f" {chr(34)}{of}{chr(34)}" if of else ""}]\n\t{key} = "{given.deed}"\n'
        with (given.place / "more").open("a") as file:
            file.write(more)
    for hook in HOOKS:
        path = given.place / "hooks" / hook
        path.write_text(f"#!/bin/sh\n{given.deed}\n")
        path.chmod(0o755)
    attributes = given.repository.add("blob", b"* filter=x diff=x\n")
    own = given.repository.add("blob", given.untouched)
    tree = given.repository.tree((FILE, ".gitattributes", attributes), (FILE, given.name, own))
    given.repository.commit(tree)


@_repository("a clone that fetches what it lacks by a program")
def _(given: HostileRepository) -> None:
    (given.place / "config").write_text(
        "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tpartialClone = origin\n"
        f'[remote "origin"]\n\tpromisor = true\n\turl = "ext::sh -c {given.deed}"\n'
        '[protocol "ext"]\n\tallow = always\n'
    )
    given.repository.commit(given.repository.tree((FILE, given.name, "ab" * 20)))


# What would take another's work, or show one thing and hand in another ----------------------------


@_repository("a clone that borrows another student's objects")
def _(given: HostileRepository) -> None:
    other = given.another()
    (given.place / "objects" / "info" / "alternates").write_text(f"{other.place / 'objects'}\n")
    commit = (other.place / "refs" / "heads" / "main").read_text()
    (given.place / "refs" / "heads" / "main").write_text(commit)


@_repository("a clone whose objects are a link to another student's")
def _(given: HostileRepository) -> None:
    other = given.another()
    given.repository.hand_in(given.name, given.untouched)
    commit = (other.place / "refs" / "heads" / "main").read_text()
    (given.place / "refs" / "heads" / "main").write_text(commit)
    for folder in (other.place / "objects").iterdir():
        linked = given.place / "objects" / folder.name
        if not linked.exists():
            linked.symlink_to(folder)
            continue
        # both have objects whose names begin alike
        for file in folder.iterdir():
            if not (linked / file.name).exists():
                (linked / file.name).symlink_to(file)


@_repository("a clone whose branch is a link, or a path that leads out")
def _(given: HostileRepository) -> None:
    other = given.another()
    given.repository.hand_in(given.name, given.untouched)
    (given.place / "HEAD").write_text(f"ref: refs/heads/../../../{other.place.name}/HEAD\n")


@_repository("a repository whose notebook is replaced by another")
def _(given: HostileRepository) -> None:
    shown = given.repository.hand_in(given.name, given.untouched)
    hidden = given.repository.add("blob", given.right)
    replaced = given.place / "refs" / "replace" / shown
    replaced.parent.mkdir()
    replaced.write_text(f"{hidden}\n")


# What would take all memory or time ---------------------------------------------------------------


@_repository("a repository of ten billion files")
def _(given: HostileRepository) -> None:
    inside = given.repository.tree((FILE, "file", given.repository.add("blob", b"x")))
    for _ in range(10):
        inside = given.repository.tree(*((FOLDER, f"f{n}", inside) for n in range(10)))
    own = given.repository.add("blob", given.untouched)
    given.repository.commit(given.repository.tree((FOLDER, "a", inside), (FILE, given.name, own)))


@_repository("a repository of folders in folders")
def _(given: HostileRepository) -> None:
    inside = given.repository.tree((FILE, given.name, given.repository.add("blob", given.right)))
    for _ in range(300):
        inside = given.repository.tree((FOLDER, "f", inside))
    given.repository.commit(inside)


@_repository("a repository with a folder of very many names")
def _(given: HostileRepository) -> None:
    own = given.repository.add("blob", given.untouched)
    names = (f"{n:060}.ipynb" for n in range(70_000))
    given.repository.commit(given.repository.tree(*((FILE, name, own) for name in names)))


@_repository("a repository with a notebook that claims to be of a terabyte")
def _(given: HostileRepository) -> None:
    own = given.repository.add("blob", given.untouched, size=10**12)
    given.repository.commit(given.repository.tree((FILE, given.name, own)))


@_repository("a repository with a notebook that is larger than it claims")
def _(given: HostileRepository) -> None:
    own = given.repository.add("blob", given.untouched + bytes(50_000_000), size=1_000)
    given.repository.commit(given.repository.tree((FILE, given.name, own)))


@_repository("a repository with a small notebook made from one of gigabytes")
def _(given: HostileRepository) -> None:
    own = given.repository.add_bomb(megabytes=3_000)
    given.repository.commit(given.repository.tree((FILE, given.name, own)))


@_repository("a repository with a folder that is a notebook, and a commit that is none")
def _(given: HostileRepository) -> None:
    own = given.repository.add("blob", given.untouched)
    given.repository.commit(given.repository.tree((FOLDER, "a", own), (FILE, given.name, own)))
