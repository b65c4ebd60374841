"""A grade is a function of the submission: however its process ends, five gradings agree in every line."""

from dataclasses import replace

import numpy as np
import pytest

from autograder.course import Course
from autograder.exercises import released
from autograder.expected import ExpectedCell, ExpectedDraw, ExpectedLine
from autograder.grade import words
from autograder.grade.examine import grade_submission
from autograder.grade.make_keys import answer_key
from autograder.grade.submission import Submission, SubmittedCell
from autograder.instructor_settings import Limits
from autograder.kernels import forkserver
from autograder.runtime.mistakes import NO_FINGERPRINT
from autograder.runtime.plain_data import encode
from tests.support.needs import needs_fork_server
from tests.support.small_course import built_exercise, settings_of_a_course

RIGHT = (
    "def double(x):\n    twice = 2 * x\n"
    "    return twice, {'sum': float(twice.sum()), 'size': x.size}"
)
# long enough for a timer to go off between two checks
SLOW = "import time\n" + RIGHT.replace("    twice", "    time.sleep(0.1)\n    twice", 1)
# in C: nothing in the kernel can refuse it
END = "import ctypes, threading\nend = ctypes.CDLL(None)._exit\n"
GRADINGS = 5


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    with settings_of_a_course(tmp_path_factory.mktemp("small")) as root:
        exercise = built_exercise(root)
        course = Course(root, tmp_path_factory.mktemp("class"))
        yield course, exercise, answer_key(course, exercise)


def graded(small, *own, answer=RIGHT, behind=(), seconds=10.0):
    """The result of a notebook with cells of its own before the answer, and behind it.

    seconds: for a grade cell.
    """
    course, exercise, key = small
    cells = []
    for cell in released(exercise).cells:
        if cell.id == "double":
            cells += [SubmittedCell("code", code) for code in own]
            cells += [SubmittedCell("code", answer, "double", "double")]
            cells += [SubmittedCell("code", code) for code in behind]
        else:
            cells.append(SubmittedCell(cell.cell_type, cell.source, cell.id, cell.id))
    submission = Submission("ada", tuple(cells), digest="a digest")
    settings = replace(course.settings, limits=Limits(grade_cell_seconds=seconds))
    return grade_submission(submission, key, settings).result


def verdicts(result):
    return [(line.earned, words.sentence(line)) for _, line in result.lines()], result.remarks


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(f"{END}end(1)", id="at once"),
        pytest.param(f"{END}threading.Timer(0.15, end, [1]).start()", id="later"),
        pytest.param(
            "import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 0.15; kill -9 $PPID'])",
            id="by a child",
        ),
    ],
)
def test_an_end_falls_on_the_cell_that_did_it_in_each_grading(small, own):
    one, *others = [verdicts(graded(small, own, answer=SLOW)) for _ in range(3)]
    assert all(other == one for other in others)
    lines, remarks = one
    first = own.split("\n")[0]
    told = f"ended the Python process in your own cell that begins with `{first}`"
    assert all(earned == 0 and told in sentence for earned, sentence in lines)
    assert [remark.kind for remark in remarks] == ["not_asked"]


def test_an_answer_that_ends_the_process_is_named_itself(small):
    result = graded(small, answer=f"{END}def double(x):\n    end(1)")
    sentences = [words.sentence(line) for _, line in result.lines()]
    assert all("ended the Python process during `double(x)" in told for told in sentences)


def test_an_end_at_another_check_each_time_gives_no_number(small, tmp_path):
    # no sandbox here: the file tells one run from the next
    counter = tmp_path / "runs"
    answer = (
        f"{END}{RIGHT}\nright = double\ncalls = []\n"
        f"runs = open({str(counter)!r}, 'a+')\nruns.write('x')\nruns.flush()\n"
        f"run = len(open({str(counter)!r}).read())\n"
        "def double(x):\n    calls.append(x)\n"
        "    if len(calls) == 3 * run - 2:\n        end(1)\n    return right(x)"
    )
    result = graded(small, answer=answer)
    # with all lines in one message, then each in one of its own, then with a wait after each cell
    assert counter.read_text() == "xxx"
    assert result.score == 0
    assert all("each time at another check" in words.sentence(line) for _, line in result.lines())
    assert [remark.kind for remark in result.remarks] == ["not_asked"]


def test_a_coin_falls_the_same_way_each_time(small):
    coins = "random.random() + np.random.rand() + np.random.default_rng().random() + uuid.uuid4().int % 9 + lucky"
    answer = (
        f"import random, secrets, uuid\n{RIGHT}\nlucky = secrets.randbelow(9)\nright = double\n"
        f"def double(x):\n    return right(x * ({coins}))"
    )
    assert len({str(verdicts(graded(small, answer=answer))) for _ in range(GRADINGS)}) == 1


@pytest.mark.parametrize(
    ("factor", "behind", "is_told"),
    [
        ("os.urandom(1)[0]", "", True),
        ("uuid.uuid4().int % 999", "", True),
        ("time.time_ns() // 100 % 999", "", True),
        ("np.random.default_rng().random()", "", True),
        # what every line begins with, a constant, and what a later cell has made of it
        ("random.random() * np.random.rand()", "", False),
        ("3", "", False),
        ("factor", "factor = 5", False),
    ],
)
def test_who_gives_other_values_for_the_same_input_is_told(small, factor, behind, is_told):
    answer = f"import os, random, time, uuid\nfactor = 4\n{RIGHT}".replace("2 * x", f"{factor} * x")
    result = graded(small, answer=answer, behind=[behind])
    assert result.score == 0.5, result.remarks
    told = [words.remark(remark) for remark in result.remarks]
    assert is_told == any(told) and all("`double` gives different values" in one for one in told)


@pytest.mark.parametrize("call", ["time.time_ns", "os.getpid", "random.Random", "uuid.uuid4", None])
def test_chance_that_is_drawn_once_is_the_same_or_told(small, call):
    drawn = f"import os, random, time, uuid\nunused = time.time()\nonce = str({call}{'()' * bool(call)})"
    answer = RIGHT.replace("twice = 2 * x", "twice = 2 * x + 0 * len(once)")
    result = graded(small, drawn, answer=answer)
    told = [words.remark(remark) for remark in result.remarks]
    assert result.score == 2
    is_told = call not in ("uuid.uuid4", None)
    assert [f"An answer uses `{call}`" in one for one in told] == [True] * is_told


@needs_fork_server
def test_an_address_gives_the_same_grade_each_time_or_a_remark(small):
    answer = RIGHT.replace("2 * x", "(id(object()) // 16 % 999) * x")
    found = []
    for _ in range(3):
        forkserver.server().end()
        found.append(str(verdicts(graded(small, answer=answer))))
    # where another thread has made something, the next object lies elsewhere
    assert len({*found}) == 1 or all("kind='varies'" in one for one in found)


# Several lines in one message ---------------------------------------------------------------------

# tells the message that it was called in
TELLS = (
    "def double(x):\n    twice = 2 * x\n"
    "    print(get_ipython().kernel.get_parent('shell')['header']['msg_id'])\n"
    "    return twice, {'sum': float(twice.sum()), 'size': x.size}"
)


def test_the_lines_of_a_grade_cell_are_asked_for_in_one_message(small):
    result = graded(small, answer=TELLS)
    (cell,) = result.cells
    assert (result.score, len(cell.lines)) == (2, 3)
    told = cell.printed.split()
    assert len(told) == 9 and len(set(told)) == 1


# what happens on the first draw of the second line, and the verdicts on the second and the third
TROUBLES = {
    "endless": ("while True:\n    pass", "timeout", "time_used_up"),
    "interrupted": ("raise KeyboardInterrupt", "unreadable", "passed"),
    "too large": ("return [0.5] * 40_000", "error", "passed"),
    "too many parts": ("return [[[0.5]] * 100] * 200", "unreadable", "passed"),
    "printing": ("print('a line\\n' * 9_000)", "passed", "passed"),
    "two streams": (
        "import sys\nfor _ in range(40):\n    print(1)\n    print(2, file=sys.stderr)",
        "passed",
        "passed",
    ),
    "ending": ("import ctypes\nctypes.CDLL(None)._exit(1)", "ended", "ended"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_with_a_line_costs_no_other_line_its_verdict(small, trouble):
    code, *wanted = TROUBLES[trouble]
    body = code.replace("\n", "\n        ")
    answer = (
        f"{RIGHT}\nright = double\ncalls = []\ndef double(x):\n    calls.append(x)\n"
        f"    if len(calls) == 4:\n        {body}\n    return right(x)"
    )
    result = graded(small, answer=answer, seconds=1.0)
    verdicts_of_lines = [line.verdict for cell in result.cells for line in cell.lines]
    assert verdicts_of_lines == ["passed", *wanted]


def line_of(inputs, expected, **settings):
    trees = {name: encode(value) for name, value in inputs.items()}
    draw = ExpectedDraw(trees, 1, {"value": encode(expected)}, NO_FINGERPRINT, {})
    return ExpectedLine("f(x)", 1, (draw,), **settings)


def test_no_line_is_asked_for_with_one_that_is_given_what_it_expects():
    mask = np.tri(3, dtype=bool)
    lines = [
        line_of({"n": 3}, mask),
        line_of({"x": np.ones(2)}, [1.0, {"a": np.arange(2)}]),
        # as numbers instead of truths, and in a list
        line_of({"mask": [mask.astype("float32")]}, 1.0),
        line_of({"x": np.ones(2)}, 2.0),
        line_of({"x": np.ones(2)}, 2.0, megabytes=5),
        line_of({"x": np.ones(2)}, 2.0),
        line_of({"x": np.arange(2)}, 2.0),
    ]
    assert ExpectedCell((), tuple(lines)).messages == ((0, 1), (2, 3), (4,), (5, 6))
    # what was expected in an earlier message is known to nobody's gain
    assert ExpectedCell((), (lines[0], lines[2], lines[2])).messages == ((0,), (1, 2))
