"""python -m tests.running_class: make the class anew, with the code of its commit.

It takes some minutes and no network. Only a commit whose classes have to survive belongs into COMMIT.
"""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.running_class import ARCHIVE, BOOK, COMMIT, CONFIG, EXPORTS, FOLDER, results
from tests.support.course import COURSE

# of the folder course/: what a class can't lose
KEPT = (
    "seeds.json",
    "groups.json",
    "told",
    "submitted",
    "autograded",
    "feedback",
    "gradebook.db",
    "gradebook_state.json",
)
# later than any of its submissions
MADE = 1_804_000_000


def run(root: Path, *words: object) -> None:
    """Run Python in the checkout; ends this program when it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "BOOK_URL": BOOK, "PYTHONPATH": str(root)}
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(
        command, cwd=root, env=environment, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {root}.")


def step(root: Path, name: str, *folders: Path) -> None:
    """Do a step of in_commit.py in the checkout."""
    run(root, FOLDER / "in_commit.py", name, *folders)


def make_class(root: Path, made: Path) -> None:
    """Make a class in a checkout of the commit, and put what the archive holds into a folder."""
    files, exported = made / "files", made / "exported"
    files.mkdir()
    exported.mkdir()
    with (root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"\n{CONFIG}\n")
    grader = ("-m", "autograder")
    run(root, *grader, "build")
    step(root, "seeds")
    run(root, *grader, "due", "ch2", "2027-03-01 18:00 UTC", "--past")
    step(root, "hand-in")
    run(root, *grader, "grade")
    step(root, "late-before-feedback", made / "late")
    run(root, *grader, "feedback")
    step(root, "hand-in-again")
    run(root, *grader, "grade", "--feedback")
    step(root, "rosters", files)
    step(root, "marks", files)
    run(root, *grader, "groups", files / "groups.csv", "--exercise", "ch3")
    run(root, *grader, "extend", "ben", "ch2_scaled_dot_product", "2d")
    run(root, *grader, "comments", files / "marks.csv", "--exercise", "ch2")
    run(root, *grader, "feedback")
    run(root, *grader, "report")
    shutil.copy(root / "course" / "summary.csv", exported)
    for form, roster in EXPORTS.items():
        options = ("--roster", files / roster) if roster else ()
        output = exported / f"{form}.csv"
        run(root, *grader, "export", "--format", form, "--output", output, *options)
    home = made / "course"
    home.mkdir()
    for name in KEPT:
        path = root / "course" / name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, home / name)
    step(root, "late-after-feedback", made / "late")
    step(root, "other-files", made)
    shrink(home / "gradebook.db")


def shrink(database: Path) -> None:
    """Leave the notebooks' own checks out of a gradebook; nothing reads them there."""
    connection = sqlite3.connect(database)
    with connection:
        names = "('checker', 'check_data')"
        connection.execute(f"UPDATE source_cell SET source = '' WHERE name IN {names}")
    connection.execute("VACUUM")
    connection.close()


def refuse_own_paths(folder: Path, *places: Path) -> None:
    """End this program when a file of the class tells where it was made."""
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            for place in places:
                if f"{place}/".encode() in content:
                    sys.exit(f"{path.relative_to(folder)} holds the path {place}.")


def refuse_lost_time(folder: Path) -> None:
    """End this program when somebody has lost points because the machine had other things to do."""
    for result in results(folder):
        slow = any(line.verdict in ("timeout", "time_used_up") for _, line in result.lines())
        # one has an endless loop
        if not result.is_final or (slow and result.student != "lea"):
            sys.exit(f"{result.student}, {result.exercise}: out of time. Try on a quieter machine.")


def pack(folder: Path, archive: Path) -> None:
    """Write a folder as an archive that tells nothing of its user."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = MADE
        return member

    # files of one kind side by side, however far that is in the order of names
    paths = sorted(filter(Path.is_file, folder.rglob("*")), key=lambda p: (p.suffixes, p.name, p))
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:xz", preset=9) as packed:
        for path in paths:
            packed.add(path, path.relative_to(folder).as_posix(), filter=plain)
    archive.write_bytes(written.getvalue())


def main() -> None:
    """Make the class in a worktree of its commit, and write the archive."""
    with tempfile.TemporaryDirectory() as place:
        root, made = Path(place) / "commit", Path(place) / "class"
        made.mkdir()
        git = ("git", "-C", str(COURSE.root), "worktree")
        added = subprocess.run([*git, "add", "--detach", str(root), COMMIT], check=False)
        if added.returncode:
            sys.exit(f"{COMMIT} can't be checked out: a whole clone of the repository is needed.")
        try:
            make_class(root, made)
        finally:
            subprocess.run([*git, "remove", "--force", str(root)], check=True)
        own = (COURSE.root, Path.home(), Path(sys.prefix), Path(sys.prefix).resolve())
        refuse_own_paths(made, Path(place), *own)
        refuse_lost_time(made)
        pack(made, ARCHIVE)
    print(f"Written: {ARCHIVE.relative_to(COURSE.root)}, {ARCHIVE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
