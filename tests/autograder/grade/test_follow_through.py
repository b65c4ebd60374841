"""Follow-through: a later answer isn't charged for an earlier one's fault, and gains nothing by it."""

import ast
import functools
import json
import re
import shutil
from dataclasses import replace

import nbformat
import numpy as np
import pytest
import torch

from autograder.audit.cases import catalogue_cases
from autograder.audit.registry import FOLLOW_THROUGH_ATTACKS, register_cases
from autograder.build.generate import build
from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course
from autograder.errors import CatalogueError
from autograder.exercises import reference_answers, released, solved
from autograder.grade import words
from autograder.grade.examine import grade_submission
from autograder.grade.follow_through import SecondRun, follow_through
from autograder.grade.kernel_run import Step
from autograder.grade.make_keys import answer_key
from autograder.grade.result import LineResult, Remark
from autograder.grade.submission import Submission, SubmittedCell
from autograder.kernels.student_kernel import KernelStartError, StudentKernel
from autograder.programs import spans_of
from autograder.reference import check_right_versions
from autograder.right_versions import RightVersions, specified_names
from autograder.runtime.compare import Difference
from tests.support.copies import repository
from tests.support.course import COURSE

pytestmark = pytest.mark.xdist_group("follow-through")

DOT_PRODUCT = COURSE.exercise("ch2_scaled_dot_product")
TRANSFORMER = COURSE.exercise("ch6_transformer")


def right_of(exercise, seed=(1, 2)):
    until = [e for e in COURSE.exercises() if e.chapter <= exercise.chapter]
    return RightVersions(exercise, specified_names(map(released, until))).under(seed)


def source_of(expression):
    """The program inside an expression for a right version."""
    (call,) = (
        node
        for node in ast.walk(ast.parse(expression))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "exec"
    )
    return ast.literal_eval(call.args[0])


# What is put in place -----------------------------------------------------------------------------


def test_a_right_version_shows_no_other_answer_by_its_name(exercise):
    own = list(spans_of(exercise.program()))
    for answer, expression in right_of(exercise).items():
        tree = ast.parse(source_of(expression))
        named = [n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert [name for name in named if not name.startswith("_")] == [answer]
        uses = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in own}
        # parameters, and local names, may be called as an answer is
        bound = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
        assert uses - bound <= {answer}
        # a docstring would be longer than the message of an error
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        assert not any(isinstance(text, str) and len(text.split()) > 14 for text in texts)
        assert "solutions" not in expression


def test_the_last_answer_has_no_right_version_and_every_other_has_one(exercise):
    own = list(spans_of(exercise.program()))
    assert list(right_of(exercise)) == own[:-1]


def test_names_depend_on_the_seed_and_on_the_answer():
    one, other = (right_of(TRANSFORMER, seed)["EncoderLayer"] for seed in ((1,), (2,)))
    assert one != other
    hidden = [
        {n.name for n in ast.parse(source_of(text)).body if isinstance(n, ast.ClassDef)}
        for text in (one, other, right_of(TRANSFORMER, (1,))["DecoderLayer"])
    ]
    assert hidden[0] & hidden[1] == {"EncoderLayer"} and not hidden[0] & hidden[2]


def test_a_right_version_computes_what_the_solution_does():
    from solutions import ch2_scaled_dot_product as ch2
    from solutions import ch6_transformer as ch6

    right = eval(right_of(DOT_PRODUCT)["attention_numpy"])
    rng = np.random.default_rng(0)
    arguments = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    for one, other in zip(right(*arguments), ch2.attention_numpy(*arguments), strict=True):
        np.testing.assert_allclose(one, other)
    made, reference = (
        eval(right_of(TRANSFORMER)["EncoderLayer"])(8, 2, 16),
        ch6.EncoderLayer(8, 2, 16),
    )
    made.load_state_dict(reference.state_dict())
    x = torch.randn(2, 3, 8)
    torch.testing.assert_close(made(x), reference(x))
    assert made.__class__.__name__ == "EncoderLayer"
    assert made.feed_forward.__class__.__name__ != "FeedForward"


# A small course -----------------------------------------------------------------------------------

SOLUTION = '''# %% nbgrader={"grade_id": "imports", "locked": true}
import numpy as np

# %% [markdown]
# `double`, `shifted` and `Total`, which has an attribute `count`.

# %% nbgrader={"grade_id": "double", "solution": true}
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    hidden_helper = 2
    return hidden_helper * x
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "double_values", "grade": true, "points": 3}
# x = draw.array(3)
# ### 2p AUTOTEST double(x)
# ### 1p AUTOTEST double(x + 1)

# %% nbgrader={"grade_id": "shifted", "solution": true}
def shifted(x):
    """Twice x, and one more."""
    ### BEGIN SOLUTION
    return double(x) + 1
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "shifted_values", "grade": true, "points": 4}
# x = draw.array(3)
# ### 4p AUTOTEST shifted(x)

# %% nbgrader={"grade_id": "alone", "solution": true}
def alone(x):
    """x squared."""
    ### BEGIN SOLUTION
    return x**2
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "alone_values", "grade": true, "points": 1}
# x = draw.array(3)
# ### 1p AUTOTEST alone(x)

# %% nbgrader={"grade_id": "Total", "solution": true}
class Total:
    """Sums of what `shifted` gives."""

    def __init__(self):
        """Begin at 0."""
        ### BEGIN SOLUTION
        self.count = 0
        ### END SOLUTION

    def add(self, x):
        """The sum of shifted(x), and how many have been added."""
        ### BEGIN SOLUTION
        self.count += 1
        return [shifted(x).sum(), self.count]
        ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "total_values", "grade": true, "points": 5}
# x = draw.array(3)
# ### 5p AUTOTEST Total().add(x)
'''
CATALOGUE = """# shifted: shifted_values, somewhere

## one less
One is taken off.
*Hint:* Which way is it shifted?

`double(x) + 1 -> double(x) - 1`
"""
ANSWERS = {
    "double": "def double(x):\n    return 2 * x",
    "shifted": "def shifted(x):\n    return double(x) + 1",
    "alone": "def alone(x):\n    return x**2",
    "Total": (
        "class Total:\n    def __init__(self):\n        self.count = 0\n"
        "    def add(self, x):\n        self.count += 1\n"
        "        return [shifted(x).sum(), self.count]"
    ),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A course with one exercise, and its answer key."""
    root = tmp_path_factory.mktemp("small")
    shutil.copy(COURSE.root / "nbgrader_config.py", root)
    (root / "solutions" / "catalogue").mkdir(parents=True)
    (root / "solutions" / "ch9_small.py").write_text(SOLUTION)
    (root / "solutions" / "catalogue" / "ch9_small.md").write_text(CATALOGUE)
    course = Course(root)
    build(course)
    exercise = course.exercise("ch9_small")
    course.home.mkdir()
    return course, exercise, answer_key(course, exercise)


def graded(small, answers, before="", settings=None):
    """The result of answers, and what its notebook shows; before: code of a cell at the top."""
    course, exercise, key = small
    notebook = solved(exercise, answers, written="")
    if before:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(before))
    cells = tuple(
        SubmittedCell(c.cell_type, c.source, c.metadata.get("nbgrader", {}).get("grade_id"), c.id)
        for c in notebook.cells
    )
    submission = Submission("somebody", cells, digest="d")
    return grade_submission(submission, key, settings or course.settings)


def points(small, answers, before="", settings=None):
    result = graded(small, answers, before, settings).result
    return {cell.grade_id.partition("_")[0]: cell.earned for cell in result.cells}


TO_DO = Difference("to_do", {"message": "nothing"})
FULL = {"double": 3, "shifted": 4, "alone": 1, "total": 5}


def test_one_wrong_answer_costs_its_own_points_only_and_the_others_say_why(small):
    result = graded(small, ANSWERS | {"double": "def double(x):\n    return 3 * x"}).result
    assert {c.grade_id.partition("_")[0]: c.earned for c in result.cells} == FULL | {"double": 0}
    shifted, total = result.cell("shifted_values").lines[0], result.cell("total_values").lines[0]
    assert shifted.given == total.given == ("double",)
    assert words.sentence(total) == "correct, given a correct `double`"
    assert total.passed and not total.passed_alone
    assert result.cell("alone_values").lines[0].passed_alone
    assert type(result).from_json(result.to_json()) == result


def test_two_wrong_answers_cost_what_both_are_worth(small):
    wrong = {
        "double": "def double(x):\n    return 3 * x",
        "shifted": "def shifted(x):\n    return double(x) - 1",
    }
    assert points(small, ANSWERS | wrong) == FULL | {"double": 0, "shifted": 0}
    # what nobody knows is wrong in the one keeps no name from the other
    (line,) = graded(small, ANSWERS | wrong).result.cell("shifted_values").lines
    assert line.mistake == "one less"


@pytest.mark.parametrize("name", ANSWERS)
def test_a_single_answer_earns_exactly_its_own_points(small, name):
    found = points(small, {name: ANSWERS[name]})
    place = name.lower()
    assert found == dict.fromkeys(FULL, 0) | {place: FULL[place]}


def test_the_untouched_notebook_earns_nothing_and_needs_no_second_kernel(small):
    result = graded(small, {}).result
    assert result.score == 0
    assert not any(line.given for _, line in result.lines())


def steps_of_answers(answers):
    """Steps as `steps_of` gives them, of the small course."""
    return [
        step
        for name, grade in zip(ANSWERS, FULL, strict=True)
        for step in (Step(name, answers[name], False), Step(f"{grade}_values", "", True))
    ]


def with_failures(small, answers, failed):
    """A second run after a first one in which the lines of some cells failed."""
    result = graded(small, ANSWERS).result
    cells = [
        replace(c, lines=tuple(replace(n, difference=TO_DO) for n in c.lines))
        if c.grade_id in failed
        else c
        for c in result.cells
    ]
    return SecondRun(steps_of_answers(answers), small[2], cells)


@pytest.mark.parametrize(
    ("failed", "needed"),
    [
        ((), False),
        (("double_values",), False),
        (("alone_values", "total_values"), False),
        (("double_values", "alone_values"), False),
        (("double_values", "total_values"), True),
        (("shifted_values", "total_values"), True),
    ],
)
def test_a_second_kernel_is_started_only_if_it_can_change_a_verdict(small, failed, needed):
    assert with_failures(small, ANSWERS, failed).is_needed() is needed


def test_what_a_students_own_answer_uses_counts_too(small):
    own = ANSWERS | {"alone": "def alone(x):\n    return double(x) * x / 2"}
    assert with_failures(small, own, ("double_values", "alone_values")).is_needed()
    wrong = own | {"double": "def double(x):\n    return 3 * x"}
    assert points(small, wrong) == FULL | {"double": 0}


def test_nothing_but_verdicts_is_kept_of_the_second_run(small, tmp_path):
    # without a sandbox, so that the second run finds the file
    place = str(tmp_path / "first")
    before = (
        f"import os\nseen = os.path.exists({place!r})\nopen({place!r}, 'w').close()\n"
        "print('run', 2 if seen else 1)"
    )
    found = graded(small, ANSWERS | {"double": "def double(x):\n    return 3 * x"}, before)
    text = json.dumps(found.notebook)
    assert "run 1" in text and "run 2" not in text
    assert found.result.remarks == ()


@pytest.mark.parametrize(
    "fault",
    [
        "import ctypes\n    ctypes.CDLL(None)._exit(1)",
        "raise SystemExit",
        "while True:\n        pass",
    ],
    ids=["ends the kernel", "exits", "never ends"],
)
def test_an_answer_that_takes_the_kernel_with_it_costs_its_own_points_only(small, fault):
    own = small[0].settings
    short = replace(own, limits=replace(own.limits, cell_seconds=2, grade_cell_seconds=2))
    wrong = {"double": f"def double(x):\n    {fault}"}
    found = points(small, ANSWERS | wrong, settings=short)
    assert found == FULL | {"double": 0}


def test_a_second_run_that_ends_itself_leaves_the_first_verdicts(small):
    before = (
        "import ctypes, sys\nend = ctypes.CDLL(None)._exit\n"
        "def watch(frame, event, argument):\n"
        "    if frame.f_code.co_filename == '<string>' and 'double' in frame.f_code.co_names:\n"
        "        end(0)\n"
        "sys.settrace(watch)\n"
    )
    wrong = {"double": "def double(x):\n    return 3 * x"}
    assert points(small, ANSWERS | wrong, before) == {
        "double": 0,
        "shifted": 0,
        "alone": 1,
        "total": 0,
    }


def test_a_second_kernel_that_does_not_start_is_told_to_the_caller(small, tmp_path):
    course, _, key = small
    cells = graded(small, ANSWERS).result.cells
    failing = [
        replace(c, lines=tuple(replace(n, difference=TO_DO) for n in c.lines)) for c in cells
    ]
    broken = replace(course.settings, python=str(tmp_path / "no-python"))
    start = functools.partial(StudentKernel, broken, {}, 0)
    with pytest.raises((KernelStartError, OSError)):
        follow_through(steps_of_answers(ANSWERS), key, failing, broken, start)
    told = words.remark(Remark("no_follow_through", {"error": "no kernel"}))
    assert "correct version" in told and "graded again" in told


def test_an_answer_that_uses_a_later_one_is_refused(small, tmp_path):
    exercise = small[1]
    (tmp_path / "solutions").mkdir()
    text = SOLUTION.replace("return hidden_helper * x", "return hidden_helper * x + 0 * shifted(x)")
    (tmp_path / "solutions" / "ch9_small.py").write_text(text)
    other = type(exercise)(tmp_path, "ch9_small")
    with pytest.raises(CatalogueError, match="'double' uses 'shifted', which comes later"):
        RightVersions(other, frozenset())


def test_a_right_version_that_is_not_right_is_refused(small):
    _, exercise, key = small
    check_right_versions(exercise, key.right_versions, key.cells)
    with pytest.raises(CatalogueError, match="'shifted' as it is put in place"):
        check_right_versions(exercise, {"shifted": "lambda x: x"}, key.cells)


def test_names_that_the_statement_does_not_specify_are_hidden(small):
    source = source_of(small[2].right_versions["double"])
    assert "hidden_helper" not in source and "double" in source
    text = source_of(small[2].right_versions["shifted"])
    assert "double" not in text and "Twice" not in text


# The course ---------------------------------------------------------------------------------------


def with_one_mistake(folder, exercise, answer, name):
    """A copy of the course whose catalogue of an exercise has a single mistake; evaluating all takes a minute."""
    course = Course(repository(folder))
    exercise = course.exercise(exercise)
    headings = re.split(
        "^(?=# )", exercise.catalogue.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    (heading, text) = next(
        (part.split("\n", 1)[0], mistake)
        for part in headings
        if part.startswith(f"# {answer}:")
        for mistake in re.split("^(?=## )", part, flags=re.MULTILINE)
        if mistake.startswith(f"## {name}\n")
    )
    exercise.catalogue.write_text(f"{heading}\n\n{text}", encoding="utf-8")
    return course, exercise


def test_a_forgotten_relu_costs_the_points_of_the_feed_forward_network_only(tmp_path):
    course, exercise = with_one_mistake(tmp_path, TRANSFORMER.name, "FeedForward", "no ReLU")
    key, program = answer_key(course, exercise), exercise.program()
    (wrong,) = mistakes(exercise)
    answers = reference_answers(exercise) | mistake_answers(program, wrong)
    own = [cell for cell, graded in key.graded.items() if "FeedForward" in graded]
    assert own == ["feed_forward_values"]
    result = graded((course, exercise, key), answers).result
    assert {cell.grade_id for cell in result.cells if cell.earned < cell.points} == set(own)
    # a line that computes the same with and without the ReLU is still right
    assert result.cell("feed_forward_values").earned <= 1


def test_there_are_enough_attacks_and_each_has_a_right_twin():
    register_cases(COURSE.root)
    assert len(FOLLOW_THROUGH_ATTACKS) >= 20
    for attack in FOLLOW_THROUGH_ATTACKS.values():
        exercise = COURSE.exercise(attack.exercise)
        twin = json.dumps(attack.twin(exercise))
        for name in attack.missing:
            assert json.dumps(reference_answers(exercise)[name])[1:-1] in twin
        assert attack.notebook(exercise) != attack.twin(exercise)
    assert catalogue_cases(DOT_PRODUCT) and LineResult("a", 1.0).given == ()
