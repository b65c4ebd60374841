"""The smallest build, grading and training where laptops, containers and nodes of a cluster are odd."""

import os
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from autograder.kernels import sandbox
from tests.support.course import COURSE
from tests.support.small_course import built_exercise, settings_of_a_course

PROGRAM = """
import os, sys
import nbformat
from autograder.__main__ import main
from autograder.course import Course
from autograder.exercises import reference_answers, solved
if CORES:
    os.cpu_count, os.sched_getaffinity = lambda: CORES, lambda process: set(range(CORES))
main(["build", "--force"])
(exercise,) = Course.find().exercises()
folder = exercise.root / "course" / "submitted" / "zoë" / exercise.name
folder.mkdir(parents=True)
nbformat.write(solved(exercise, reference_answers(exercise)), folder / exercise.notebook.name)
main(["grade", "--feedback"])
from translation.__main__ import main
small = ["--d-model=16", "--heads=2", "--layers=1", "--d-ff=32", "--vocab-size=80", "--examples=60", "--held-out=8"]
sys.exit(main(["train", "--folder=run", "--steps=2", "--save-every=1", *small]))
"""


@dataclass(frozen=True)
class Place:
    """Where somebody works.

    folder: the course's; variables: of the environment, None for one that isn't there; shell: what a shell
    does before; cores: of the machine, as it says.
    """

    folder: str
    variables: dict[str, str | None] = field(default_factory=dict)
    shell: str = ":"
    cores: int = 0


PLACES = {
    # /proc can't be written to, by root either
    "a laptop": Place("Zoë's [1] 100% $HOME & co", {"HOME": "/proc", "LC_ALL": "tr_TR.UTF-8"}),
    "a container": Place(
        "c",
        {"HOME": None, "USER": None, "LOGNAME": None, "LANG": None, "TERM": None, "LC_ALL": "C"}
        | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TMPDIR": "/dev/shm"},
        "exec <&- && umask 077 && ulimit -c 0",
    ),
    "a node": Place(
        "/".join(["a_name_of_a_project_on_a_file_system_of_many"] * 4),
        {"TMPDIR": "/".join([".", *["a_long_name_of_a_job_in_a_queue"] * 4])},
        "ulimit -n 256 -u 2000 -v 20000000 -t 300",
        cores=256,
    ),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_all_of_it_works(place, tmp_path):
    root = tmp_path / place.folder
    root.mkdir(parents=True)
    with settings_of_a_course(root):
        built_exercise(root)
    environment = {**os.environ, "PYTHONPATH": str(COURSE.root), "OMP_NUM_THREADS": "1"}
    for name, value in place.variables.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    if "TMPDIR" in place.variables:
        environment["TMPDIR"] = str(root / environment["TMPDIR"])
        (root / environment["TMPDIR"]).mkdir(parents=True, exist_ok=True)
    program = PROGRAM.replace("CORES", str(place.cores))
    done = subprocess.run(
        ["bash", "-c", f'{place.shell} && exec "$0" -c "$1"', sys.executable, program],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "zoë" in (root / "course" / "summary.csv").read_text(encoding="utf-8")
    assert (root / "course" / "feedback" / "zoë").is_dir()
    assert "Traceback" not in done.stderr and bool(sandbox.why_not()) == (
        "NOT SANDBOXED" in done.stderr
    )
