"""Courses of one exercise with one answer, `double`."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.build import generate
from autograder.course import Course, Exercise
from tests.support.course import COURSE

IMPORTS = '# %% nbgrader={"grade_id": "imports", "locked": true}\nimport numpy as np\n'
DOUBLE = (
    '# %% nbgrader={"grade_id": "double", "solution": true}\n'
    'def double(x):\n    """Twice x."""\n    ### BEGIN SOLUTION\n    return 2 * x\n'
    "    ### END SOLUTION\n"
)
# a tuple, a dictionary and numbers of both kinds
DOUBLE_AND_SUM = DOUBLE.replace("Twice x.", "Twice x, with its sum and its size.").replace(
    "return 2 * x\n",
    "twice = 2 * x\n    return twice, {'sum': float(twice.sum()), 'size': twice.size}\n",
)
ADDED = "x + x, {'sum': float(2 * x.sum()), 'size': x.size}"
# the last line is right whatever is doubled
CHECKS = """# x, n = draw.array(3, 4), draw.integer(1, 999)
# ### 0.5p AUTOTEST double(x)[0]
# ### 1p AUTOTEST double(x)
# ### 0.5p AUTOTEST double(np.ones(n))[1]['size']"""
CHECK = "# x = draw.array(3)\n# ### 2p AUTOTEST double(x)"


def mistake(**changes):
    """A mistake of `double`, as `write_exercise` takes it."""
    return {
        "name": "halved",
        "function": "double",
        "cell": "values",
        "means": "Half of it.",
        "hint": "Which factor?",
        "section": "ch9-double",
        "rule": "2 * x -> x / 2",
        **changes,
    }


def check_cell(lines):
    given = '{"grade_id": "values", "grade": true, "points": 2}'
    return f'# %% active="ipynb" nbgrader={given}\n{lines}\n'


KNOWN = (mistake(),)


def write_exercise(root, name, cells, known=KNOWN, section="ch9-double", others=()):
    """Write a solution of some cells and a catalogue; returns the exercise.

    others: what other right versions of `double` return.
    """
    catalogue = [f"# double: values, {section}"]
    for one in known:
        catalogue += [
            f"# {one['function']}: {one['cell']}",
            f"## {one['name']} [{one['section']}]",
            f"{one['means']}\n*Hint:* {one['hint']}\n`{one['rule']}`",
        ]
    catalogue += ["# Alternatives"]
    for result in others:
        catalogue += [f"## {result}\n```python\ndef double(x):\n    return {result}\n```"]
    (root / "solutions" / f"{name}.py").write_text("\n".join(cells))
    (root / "solutions" / "catalogue" / f"{name}.md").write_text("\n".join([*catalogue, ""]))
    return Course(root).exercise(name)


@contextlib.contextmanager
def settings_of_a_course(root: Path) -> Iterator[Path]:
    """An empty course in a folder: nbgrader_config.py and empty solutions.

    Reading nbgrader_config.py puts its folder on the paths of this process; they are put back.
    """
    paths, environment = list(sys.path), dict(os.environ)
    shutil.copy(COURSE.root / "nbgrader_config.py", root)
    (root / "solutions" / "catalogue").mkdir(parents=True)
    yield root
    sys.path[:] = paths
    for name in ("PATH", "PYTHONPATH"):
        os.environ.pop(name, None)
        os.environ.update({key: value for key, value in environment.items() if key == name})


def built_exercise(root: Path) -> Exercise:
    """An exercise of one answer, which gives an array and more, built in an empty course."""
    cells = [IMPORTS, DOUBLE_AND_SUM, check_cell(CHECKS)]
    exercise = write_exercise(root, "ch9_small", cells, others=(ADDED,))
    generate.build(Course(root))
    return exercise
