"""The catalogue of attacks against the grader, and what a student's process must not reach."""

import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from audit_cases.attacks import FORBIDDING, SCRIPTS, attack_by_code
from autograder.audit import audit, cases
from autograder.audit.acting import acting
from autograder.audit.examiner import AuditedClass
from autograder.audit.registry import ATTACKS, HONEST_STUDENT, MACHINE, METER
from autograder.display.cleaning import clean_markdown
from autograder.exercises import reference_answers, solved
from autograder.grade.examine import grade_submission
from autograder.grade.feedback import FeedbackWriter, feedback_page
from autograder.grade.grade_class import Grader
from autograder.grade.gradebook import Recorder, register
from autograder.grade.submission import read_submission
from autograder.instructor_settings import Settings
from autograder.kernels import forkserver
from autograder.kernels.student_kernel import StudentKernel
from tests.support.class_keys import give_keys
from tests.support.course import COURSE
from tests.support.needs import needs_fork_server

pytestmark = pytest.mark.xdist_group("attacks")
# Every attack runs here once: on an exercise of one answer; where it needs torch or forbids something, on
# chapter 2's; where modules make a difference, on one with modules, too. One of each kind runs every
# time, and all of them weekly; `audit` runs all on all.
EXERCISE, MODULES = COURSE.exercise(FORBIDDING), COURSE.exercise("ch1_additive_attention")
MEASURED = COURSE.exercise("ch9_flash_attention")
ON_MODULES = ("idle answers", "tests' own names", "runtime")
# of the attacks on the machine, which test_sandbox.py tries in a kernel of their own
GRADED = ("a fork storm", "a disk of its own", "a daemon that outlives the kernel")
# what the sandbox alone prevents
OPEN = [name for name, one in ATTACKS.items() if one.without_sandbox.startswith("all points")]
ON_ONE_ANSWER = [name for name, one in ATTACKS.items() if not one.exercise and not one.of_torch]
CASES = [
    *(
        c
        for c in cases.attack_cases(EXERCISE)
        if c.name in OPEN
        or (c.name not in ON_ONE_ANSWER and (ATTACKS[c.name].kind != MACHINE or c.name in GRADED))
    ),
    *(case for case in cases.attack_cases(MODULES) if ATTACKS[case.name].kind in ON_MODULES),
    *(case for case in cases.attack_cases(MEASURED) if ATTACKS[case.name].kind == METER),
]


def asked_for(request, name):
    """The values of a parameter in the tests that run."""
    items = [item for item in request.session.items if hasattr(item, "callspec")]
    return [item.callspec.params[name] for item in items if name in item.callspec.params]


def outcomes_of(audited, chosen, workers):
    """What came of some attacks, and what showed afterwards."""
    found = {
        case: audited.record(case, examined)
        for case, examined in audit.examined(audited, chosen, workers)
    }
    return found, audited.later_harm()


@pytest.fixture(scope="module")
def in_class(few_mistakes):
    """A function that gives a case as one of a class that knows few mistakes."""
    return lambda case: replace(case, exercise=few_mistakes.exercise(case.exercise.name))


@pytest.fixture(scope="module")
def audited(tmp_path_factory, few_mistakes, in_class):
    """A class to which every attack on these exercises and an honest student have handed in."""
    course = replace(few_mistakes, class_folder=tmp_path_factory.mktemp("attacks"))
    give_keys(course, EXERCISE.name, MODULES.name, MEASURED.name)
    with AuditedClass(course.root, course.home, [*map(in_class, CASES)]) as audited:
        yield audited


@pytest.fixture(scope="module")
def outcomes(request, audited, in_class):
    """What came of the attacks whose tests run, and what showed afterwards."""
    asked = asked_for(request, "case")
    # few of them wait, and every other process would read what is expected in three exercises
    return outcomes_of(audited, [in_class(case) for case in CASES if case in asked], workers=1)


@pytest.fixture(scope="module")
def outcomes_on_one_answer(request, small_exercise, tmp_path_factory):
    """The same on the exercise of one answer, by attack, with the feedback pages by attack."""
    chosen = [
        cases.Case(small_exercise, "attack", name)
        for name in dict.fromkeys(asked_for(request, "attack"))
    ]
    folder = tmp_path_factory.mktemp("small")
    # other processes know a course's attacks from its own folder
    shutil.copytree(COURSE.root / "audit_cases", small_exercise.root / "audit_cases")
    with AuditedClass(small_exercise.root, folder, chosen) as audited:
        # side by side: many of them hang until they are stopped
        found, later = outcomes_of(audited, chosen, workers=2)
    by_name = {case.name: outcome for case, outcome in found.items()}
    students = {case.name: case.student for case in chosen} | {HONEST_STUDENT: HONEST_STUDENT}
    pages = {
        name: feedback_page(audited.course, student, small_exercise.name)
        for name, student in students.items()
    }
    return by_name, later, pages


def check(found, attack):
    """Assert that an attack has earned nothing and done no harm."""
    assert found.harm == ()
    assert found.result.score == 0 or attack.may_gain
    assert found.result.points > 0


@pytest.mark.parametrize(
    "attack",
    [pytest.param(attack, id=f"{ATTACKS[attack].kind}: {attack}") for attack in ON_ONE_ANSWER],
)
def test_no_attack_on_one_answer_earns_a_point_or_does_harm(outcomes_on_one_answer, attack):
    check(outcomes_on_one_answer[0][attack], ATTACKS[attack])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{case.exercise}, {ATTACKS[case.name].kind}: {case.name}")
        for case in CASES
    ],
)
def test_no_attack_earns_a_point_or_does_harm(outcomes, in_class, case):
    found, attack = outcomes[0][in_class(case)], ATTACKS[case.name]
    check(found, attack)
    if attack.kind == "forbidden functions":
        # where another process was to do it, it was kept from starting or from answering
        seen = any(
            line.verdict == "forbidden"
            or (line.verdict == "error" and line.difference.parameters["name"] == "TimeoutError")
            for _, line in found.result.lines()
        )
        assert seen != bool(attack.undetected), "ready-made attention is seen, or listed as unseen"


def test_no_attack_does_harm_on_a_page_or_to_a_later_score(outcomes, outcomes_on_one_answer):
    later = [*outcomes[1], *outcomes_on_one_answer[1]]
    assert [(found.case.name, found.harm) for found in later] == []


@pytest.mark.parametrize("name", OPEN)
def test_what_the_sandbox_prevents_is_gained_without_it(audited, in_class, name):
    settings = audited.examiner.grader.settings
    # the matrix takes seconds, on a machine that is busy with other tests
    limits = replace(settings.limits, sandbox=False, grade_cell_seconds=60)
    open_settings = replace(settings, limits=limits)
    case = in_class(next(case for case in CASES if case.name == name))
    submission = read_submission(audited.course, case.student, case.exercise)
    key = audited.examiner.grader.key(case.exercise)
    result = grade_submission(submission, key, open_settings).result
    assert result.score == result.points


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{METER}: {case.name}")
        for case in CASES
        if ATTACKS[case.name].kind == METER
    ],
)
def test_without_a_sandbox_the_whole_matrix_gains_its_line(audited, in_class, case):
    case = in_class(case)
    settings = audited.examiner.grader.settings
    # the matrix takes seconds, on a machine that is busy with other tests
    limits = replace(settings.limits, sandbox=False, grade_cell_seconds=60)
    open_settings = replace(settings, limits=limits)
    submission = read_submission(audited.course, case.student, case.exercise)
    key = audited.examiner.grader.key(case.exercise)
    result = grade_submission(submission, key, open_settings).result
    line = next(line for _, line in result.lines() if line.passed)
    assert result.score == line.points and line.expression == "forward_memory"
    assert [remark.kind for remark in result.remarks if "memory" in remark.kind]


def test_an_attack_whose_code_raises_is_not_taken_for_a_proof(
    monkeypatch, few_mistakes, in_class, tmp_path
):
    made = {
        "in its cell": "undefined_name.serve = None",
        "in its answers": "def lie(*_, **__):\n    return undefined_name",
    }
    for name, code in made.items():
        monkeypatch.setitem(ATTACKS, name, attack_by_code("broken", name, code))
    broken = [in_class(cases.Case(EXERCISE, "attack", name)) for name in made]
    give_keys(replace(few_mistakes, class_folder=tmp_path), EXERCISE.name)
    with AuditedClass(few_mistakes.root, tmp_path, broken) as audited:
        for case in broken:
            (harm,) = audited.grade(case).harm
            assert "was not tried" in harm and "undefined_name" in harm


# What readers of the feedback get ---------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror='alert(1)'>",
        "<a href='java\tscript:alert(1)'>x</a>",
        "<iframe></iframe>",
        "<img src='data:image/svg+xml;base64,PHN2Zy8+'>",
        "<p>\x1b[31m</p>",
        "<p>\u202e</p>",
    ],
)
def test_what_could_act_on_a_page_is_seen(text):
    assert acting(f"<p>right</p>{text}<p>left</p>")
    assert acting("<p onion>right</p>") == [("onion", "")]
    assert acting("<p>right</p><a href='https://example.org'>left</a>") == []


@pytest.fixture(scope="module")
def course(tmp_path_factory, few_mistakes):
    course = replace(few_mistakes, class_folder=tmp_path_factory.mktemp("course"))
    give_keys(course, EXERCISE.name)
    register(course, EXERCISE)
    return course


@pytest.fixture(scope="module")
def plain_page(course):
    folder = course.submitted / "plain" / EXERCISE.name
    folder.mkdir(parents=True)
    notebook = solved(EXERCISE, reference_answers(EXERCISE))
    nbformat.write(notebook, folder / f"{EXERCISE.name}.ipynb")
    with Recorder(course) as recorder:
        recorder.record(Grader(course).grade("plain", course.exercise(EXERCISE.name)))
    FeedbackWriter(course).write("plain", EXERCISE.name)
    return feedback_page(course, "plain", EXERCISE.name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "attack", ["scripts in Markdown, code and outputs", "a file name with a script in it"]
)
def test_nothing_that_a_student_writes_acts_on_the_feedback_page(outcomes_on_one_answer, attack):
    pages = outcomes_on_one_answer[2]
    page, plain = (pages[name].read_text(encoding="utf-8") for name in (attack, HONEST_STUDENT))
    assert "alert(1)" in page
    assert acting(page) == acting(plain)


def test_a_feedback_page_shows_under_its_policy_and_what_would_act_does_not(
    plain_page, open_tab, tmp_path
):
    told, path = [], tmp_path / "page.html"

    def note(message):
        # the style sheet names a font of icons that no page has
        if "glyphicons" not in message.text:
            told.append(message.text)

    acts = (
        "<script>document.title = 'acted'</script><img src='https://example.org/x.png' "
        "onerror=\"document.title = 'acted'\"><iframe src='https://example.org'></iframe>"
    )
    page = open_tab(path.as_uri())
    page.on("console", note)
    path.write_text(plain_page, encoding="utf-8")
    page.goto(path.as_uri())
    assert told == []
    assert page.locator("math").count() > 10
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "16px"
    path.write_text(plain_page.replace("</body>", acts + "</body>"), encoding="utf-8")
    page.goto(path.as_uri())
    assert page.title() == EXERCISE.name
    assert len(told) >= 3 and all("Content Security Policy" in text for text in told)


@pytest.mark.parametrize(
    "attack",
    [
        "a hundred pictures in every cell",
        "lines that take for ever to colour",
        "formatting that is opened again in every paragraph",
        "Markdown whose formatting is opened again in every paragraph",
    ],
)
def test_a_feedback_page_stays_small(outcomes_on_one_answer, attack):
    """That it is soon written is asked of all pages, as another harm."""
    assert 10_000 < outcomes_on_one_answer[2][attack].stat().st_size < 25_000_000


@pytest.mark.parametrize("text", SCRIPTS)
def test_markdown_keeps_no_tag_that_acts(text):
    cleaned = clean_markdown(text).lower()
    for never in (
        "<script",
        "<img src=x o",
        "<svg",
        "<iframe",
        "<style",
        "javascript:",
        "href='data:",
    ):
        assert never not in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "if p_i <q_i then the score is < 1, and a<b",
        "> a quote\n\n`x <y` and **bold** & $a<b$",
        "\u00e4 <- b --> c",
    ],
)
def test_markdown_loses_no_words(text):
    assert clean_markdown(text).replace("< ", "<").split() == text.replace("< ", "<").split()


# What a student's process can reach -------------------------------------------------------------


def printed(kernel, code):
    reply = kernel.run(code, 30)
    return "".join(output.get("text", "") for output in reply.outputs)


@pytest.fixture
def fresh_server():
    forkserver.server().end()
    yield
    forkserver.server().end()


@needs_fork_server
def test_the_instructors_environment_is_not_there(monkeypatch, fresh_server):
    monkeypatch.setenv("SOME_TOKEN", "do-not-tell")
    code = (
        "import os\nfor p in ('self', os.getppid()):\n    print(open(f'/proc/{p}/environ').read())"
    )
    with StudentKernel(Settings()) as kernel:
        text = printed(kernel, code + "\nprint(os.environ)")
    assert "PATH=" in text
    assert "do-not-tell" not in text


def gone(pid):
    """Whether a process has ended, given a moment."""
    for _ in range(50):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


@needs_fork_server
def test_what_a_kernel_has_started_ends_with_it():
    code = (
        "import subprocess, sys\nprocess = subprocess.Popen("
        "[sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "print(process.pid)"
    )
    with StudentKernel(Settings()) as kernel:
        pid = int(printed(kernel, code))
        assert Path(f"/proc/{pid}").exists()
    assert gone(pid)


@needs_fork_server
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_fork_server_that_was_killed_or_stopped_is_replaced(monkeypatch, number):
    monkeypatch.setattr(forkserver, "REPLY_SECONDS", 2)
    with StudentKernel(Settings()) as kernel:
        pid = int(printed(kernel, "import os\nprint(os.getppid())"))
        kernel.run(f"os.kill({pid}, {int(number)})", 5)
    with StudentKernel(Settings()) as kernel:
        assert printed(kernel, "print(1 + 1)") == "2\n"
    assert gone(pid)
    assert os.getpid() != pid
