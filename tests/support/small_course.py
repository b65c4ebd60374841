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
