"""How packages are installed, in what errors advise."""

import contextlib
import shlex
from collections.abc import Iterator

from autograder.errors import MissingPackageError


def how_to_install(*packages: str, python: str = "python") -> str:
    """The command that installs packages for a Python, as a sentence shows it."""
    return f"`{shlex.join([python, '-m', 'pip', 'install', *packages])}`"


@contextlib.contextmanager
def needing(package: str, extra: str, what: str) -> Iterator[None]:
    """Say how to install a package that the block imports, where it is missing.

    package: how its name begins; extra: the grader's extra that brings it; what: what needs it. Raises
    MissingPackageError.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(package):
            raise
        raise MissingPackageError(
            f"{what} needs the package {error.name}, which isn't installed. Install it with "
            f"{how_to_install(f'course-autograder[{extra}]')}."
        ) from error
