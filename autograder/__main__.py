"""The course's command line: python -m autograder, or course-autograder where that is installed.

Every command but `new` works on the course that the working directory lies in.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    # the working folder is first: of a file of it named numpy.py, `_refuse_shadows` tells
    sys.path.append(sys.path.pop(0))

import argparse
import errno
import os
from collections.abc import Sequence
from pathlib import Path

from autograder.commands import arrangements, building, github, grading, lms, publishing
from autograder.commands.arguments import Commands
from autograder.errors import CourseError
from autograder.text import plain_text

# of a folder that can only be read
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
# of a disk, or of what an account may have there
FULL = (errno.ENOSPC, errno.EDQUOT)


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    all_commands = argparse.ArgumentParser(
        prog="python -m autograder",
        description="Turns the course's reference solutions into exercises, and submissions into grades.",
        epilog="Submissions lie in course/submitted/STUDENT/EXERCISE/EXERCISE.ipynb; all that a run "
        "writes lies in course/.",
    )
    commands = Commands(all_commands)
    for subject in (building, grading, arrangements, lms, github, publishing):
        subject.add_commands(commands)
    return all_commands


def main(words: Sequence[str] | None = None) -> None:
    """Run one command, by default the process's; an error ends with its message and exit status 2."""
    _open_standard_files()
    arguments = parser().parse_args(words)
    try:
        _refuse_shadows(Path.cwd())
        arguments.run(arguments)
    except CourseError as error:
        print(f"Error: {plain_text(str(error))}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno in FULL:
            told = f"{error.strerror}. What was recorded before is kept; make room and run the command again."
        elif error.errno in UNWRITABLE and error.filename:
            told = (
                f"{error.filename} can't be used: {error.strerror}. Make {Path(error.filename).parent} "
                "writable, or copy the course to a folder that is, and run the command there."
            )
        else:
            raise
        print(f"Error: {plain_text(told)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(
            "Stopped. What was recorded is kept; run the command again to go on.", file=sys.stderr
        )
        sys.exit(130)


def _refuse_shadows(folder: Path) -> None:
    """Raise CourseError where other processes would find a file of a folder in place of a package or Python's own."""
    for path in [*folder.glob("*.py"), *folder.glob("*/__init__.py")]:
        name = path.parent.name if path.stem == "__init__" else path.stem
        # what isn't loaded here, such as Python's own `test`, is needed nowhere else
        found = getattr(sys.modules.get(name), "__file__", None)
        is_foreign = found and (name in sys.stdlib_module_names or "-packages" in found)
        if is_foreign and name != "autograder":
            raise CourseError(
                f"{path} has the name of a module that the grader needs. Rename it, and run the command again."
            )


def _open_standard_files() -> None:
    """Let nothing else get the number of a standard file that is closed: what is opened next would."""
    while (file := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(file, True)
    os.close(file)


if __name__ == "__main__":
    main()
