"""What is said and offered of learning management systems is made from the list of them."""

import subprocess
import sys

import pytest

from autograder.__main__ import parser
from autograder.lms.systems import SYSTEMS
from tests.support.course import COURSE

# takes a tenth of a second or more to import, and no help text needs it
HEAVY = ("nbgrader", "nbformat", "numpy", "rich", "torch")


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_commands_offer_every_system_and_name_it_in_their_help(system, capsys):
    for command, option in (("export", "--format"), ("return-zip", "--lms")):
        words = [command, option, system.name, "--exercise", "e", "--output", "file"]
        parser().parse_args(words)
    for command, said in (("import-zip", system.title), ("return-zip", system.upload)):
        with pytest.raises(SystemExit):
            parser().parse_args([command, "--help"])
        assert said in " ".join(capsys.readouterr().out.split())


def test_the_command_line_imports_nothing_that_takes_long():
    program = "import sys, autograder.__main__; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=COURSE.root, capture_output=True, text=True, check=True
    )
    assert not {name.partition(".")[0] for name in done.stdout.split()} & {*HEAVY}
