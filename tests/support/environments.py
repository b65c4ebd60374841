"""Environments with the grader installed, as `pip install .` leaves it."""

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.support.course import COURSE

# the program that installs packages, as pages print it, and as it runs here
INSTALLER = "pip"
INSTALL = (sys.executable, "-m", "pip")
NO_INDEX = {"PIP_NO_INDEX": "1"}
# what a page prints to install the grader, as a regular expression, and what runs in its place: what the
# grader needs is there, and no network is
INSTALL_GRADER = (
    r"(?m)^pip install \.$",
    'pip --python "$VIRTUAL_ENV/bin/python" install --no-deps --no-build-isolation --quiet .',
)

# What only extras of the grader bring, absent for every process of an environment that shares the packages
# of another one. A grader that somebody installed in that one is absent, too.
EXTRAS = ("torch", "distributed", "dask", "psycopg", "psycopg2")
WITHOUT_EXTRAS = f"""
import sys
from importlib.machinery import PathFinder

find = PathFinder.find_spec
shared = {sysconfig.get_path("purelib")!r}

def find_spec(cls, name, path=None, target=None):
    if name.partition(".")[0] in {EXTRAS}:
        return None
    if name == "autograder":
        path = [folder for folder in sys.path if folder != shared]
    return find(name, path, target)

PathFinder.find_spec = classmethod(find_spec)
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment: its folder."""

    prefix: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.prefix / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Where its own packages lie."""
        own = {"base": str(self.prefix), "platbase": str(self.prefix)}
        return Path(sysconfig.get_path("purelib", vars=own))

    def run(self, folder: Path, *words: object) -> subprocess.CompletedProcess:
        """Run a program in a folder, as somebody does who has activated this environment."""
        # nbgrader's own programs lie in the other environment
        places = [self.prefix / "bin", Path(sys.prefix, "bin"), os.environ["PATH"]]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(map(str, places)),
            "OMP_NUM_THREADS": "1",
        }
        for name in ("PYTHONPATH", "MAKEFLAGS", "MAKELEVEL"):
            environment.pop(name, None)
        return subprocess.run(
            list(map(str, words)),
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )


def build_wheel(folder: Path) -> Path:
    """The grader as a wheel, built as pip does from a copy of this repository, with no network."""
    source, wheels = folder / "source", folder / "wheels"
    source.mkdir()
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(COURSE.root / "autograder", source / "autograder", ignore=left_out)
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(COURSE.root / name, source)
    words = ("--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--wheel-dir")
    command = [*INSTALL, "wheel", *words, str(wheels), str(source)]
    subprocess.run(command, check=True)
    (wheel,) = wheels.iterdir()
    return wheel


def sharing_environment(prefix: Path) -> Environment:
    """A new environment with the packages of this one but those of extras."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    made = Environment(prefix)
    (made.packages / "without_extras.py").write_text(WITHOUT_EXTRAS)
    shared = f"{sysconfig.get_path('purelib')}\nimport without_extras\n"
    (made.packages / "shared.pth").write_text(shared)
    # the templates of nbconvert and nbgrader
    (prefix / "share").mkdir(exist_ok=True)
    (prefix / "share" / "jupyter").symlink_to(Path(sys.prefix, "share", "jupyter"))
    return made


def install(wheel: Path, prefix: Path) -> Environment:
    """A new environment with the grader from a wheel, and the packages of this one but those of extras."""
    made = sharing_environment(prefix)
    # without --ignore-installed, pip leaves it at a grader that somebody installed in the shared environment
    words = ("--no-deps", "--no-index", "--ignore-installed", "--no-warn-script-location")
    done = subprocess.run(
        [*INSTALL, "--python", str(made.python), "install", *words, str(wheel)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert (prefix / "bin" / "course-autograder").is_file(), done.stdout
    return made
