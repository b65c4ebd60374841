"""The smallest build, grading and training where laptops, containers and nodes of a cluster are odd."""

import os
import subprocess
import sys

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
if __name__ == "__main__":
    if CORES:
        os.cpu_count, os.sched_getaffinity = lambda: CORES, lambda process: set(range(CORES))
    main(["build", "--force"])
    (exercise,) = Course.find().exercises()
    folder = exercise.root / "course" / "submitted" / "zoë" / exercise.name
    folder.mkdir(parents=True)
    nbformat.write(solved(exercise, reference_answers(exercise)), folder / exercise.notebook.name)
    main(["grade", "--feedback"])
    from translation.__main__ import main
    small = ["--d-model=16", "--heads=2", "--layers=1", "--d-ff=32", "--vocab-size=80", "--examples=60", "--held-out=1"]
    sys.exit(main(["train", "--folder=run", "--steps=2", "--save-every=1", *small]))
"""


# by what they are: the folder, variables of the environment (None: there is none), what a shell does before, and how
# many cores the machine says it has
PLACES = {
    # by root, too, /proc can't be written to
    "a laptop": (
        "Zoë's [1] 100% $HOME & co",
        {"HOME": "/proc", "LC_ALL": "tr_TR.UTF-8"},
        "exec >&-",
        0,
    ),
    "a container": (
        "c",
        {**dict.fromkeys(("HOME", "USER", "LOGNAME", "LANG", "TERM")), "LC_ALL": "C"}
        | {"TMPDIR": "/dev/shm"},
        "exec <&- && umask 077 && ulimit -c 0",
        0,
    ),
    "a node": (
        "/".join(["a_name_of_a_project_on_a_file_system_of_many"] * 4),
        {"TMPDIR": "/".join(["/tmp", *["a_long_name_of_a_job_in_a_queue"] * 4])},
        'mkdir -p "$TMPDIR" && ulimit -n 256 -u 2000 -v 20000000 -t 300',
        256,
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_course_is_built_graded_and_a_model_trained(place, tmp_path):
    folder, variables, shell, cores = PLACES[place]
    root, program = tmp_path / folder, tmp_path / "program.py"
    root.mkdir(parents=True)
    with settings_of_a_course(root):
        built_exercise(root)
    program.write_text(PROGRAM.replace("CORES", str(cores)), encoding="utf-8")
    given = os.environ | {"PYTHONPATH": str(COURSE.root), "OMP_NUM_THREADS": "1"} | variables
    done = subprocess.run(
        ["bash", "-c", f'{shell} && exec "$0" "$1"', sys.executable, str(program)],
        cwd=root,
        env={name: value for name, value in given.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stdout + done.stderr
    assert bool(sandbox.why_not()) == ("NOT SANDBOXED" in done.stderr), done.stderr
    assert ",zoë,2.0,2.0," in (root / "course" / "summary.csv").read_text(encoding="utf-8")
    assert (root / "course" / "feedback" / "zoë").is_dir() and any((root / "run").iterdir())
