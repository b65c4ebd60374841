"""Courses of one exercise with one answer, `double`."""

from autograder.course import Course

IMPORTS = '# %% nbgrader={"grade_id": "imports", "locked": true}\nimport numpy as np\n'
DOUBLE = (
    '# %% nbgrader={"grade_id": "double", "solution": true}\n'
    'def double(x):\n    """Twice x."""\n    ### BEGIN SOLUTION\n    return 2 * x\n'
    "    ### END SOLUTION\n"
)
CHECK = "# x = draw.array(3)\n# ### 2p AUTOTEST double(x)"


def mistake(**changes):
    """A mistake of `double` as the keywords of Mistake."""
    return {
        "name": "halved",
        "function": "double",
        "cell": "values",
        "means": "Half of it.",
        "hint": "Which factor?",
        "section": "ch9-double",
        "edits": [("2 * x", "x / 2")],
        **changes,
    }


def check_cell(lines):
    given = '{"grade_id": "values", "grade": true, "points": 2}'
    return f'# %% active="ipynb" nbgrader={given}\n{lines}\n'


KNOWN = (mistake(),)


def write_exercise(root, name, cells, known=KNOWN, section="ch9-double"):
    """Write a solution of some cells and a catalogue; returns the exercise."""
    (root / "solutions" / f"{name}.py").write_text("\n".join(cells))
    (root / "solutions" / "catalogue" / f"{name}.py").write_text(
        "from autograder.catalogue import Mistake\n"
        f"SECTIONS = {{'values': {section!r}}}\nALTERNATIVES = []\n"
        f"MISTAKES = [Mistake(**words) for words in {list(known)!r}]\n"
    )
    return Course(root).exercise(name)
