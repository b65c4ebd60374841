"""The catalogue of attacks against the grader, and what a student's process must not reach."""

import os
import signal
import time
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

from autograder.audit import run
from autograder.audit.attacks import ATTACKS, FORBIDDING, SCRIPTS, attacks
from autograder.audit.sample_class import reference_answers, solved
from autograder.grade.grade_class import Course
from autograder.grade.sanitize import clean_markdown
from autograder.kernels import forkserver
from autograder.kernels.student_kernel import StudentKernel

pytestmark = pytest.mark.xdist_group("attacks")
# every attack runs here on one exercise, some on one with modules; `audit` runs all on all
EXERCISE, MODULES = FORBIDDING, "ch1_additive_attention"
ON_MODULES = [a.name for a in attacks(MODULES) if a.kind in ("idle answers", "tests' own names")]


@pytest.fixture(scope="module")
def graded():
    cases = run.attack_cases(EXERCISE)
    cases += [case for case in run.attack_cases(MODULES) if case.name in ON_MODULES]
    return {(case.exercise, case.name): case for case in run.grade_cases(cases)}


CASES = [(EXERCISE, a.name) for a in attacks(EXERCISE)] + [(MODULES, n) for n in ON_MODULES]


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_no_attack_earns_a_point_or_does_harm(graded, case):
    found = graded[case]
    assert found.harm == []
    assert found.result["score"] == 0 or ATTACKS[found.name].may_gain
    assert found.result["points"] > 0


@pytest.mark.parametrize(
    "name", [a.name for a in ATTACKS.values() if a.kind == "forbidden functions"]
)
def test_ready_made_attention_is_seen_unless_it_is_listed_as_unseen(graded, name):
    lines = [ln for cell in graded[EXERCISE, name].result["cells"].values() for ln in cell]
    seen = any(line["verdict"] == "forbidden" for line in lines)
    assert seen != bool(ATTACKS[name].undetected)


def test_the_catalogue_is_broad_and_what_may_gain_says_what():
    kinds = [attack.kind for attack in ATTACKS.values()]
    assert len(kinds) >= 45
    assert kinds.count("forbidden functions") >= 12
    assert sum(bool(attack.without_room) for attack in ATTACKS.values()) <= 3
    assert sum(bool(attack.undetected) for attack in ATTACKS.values()) <= 4


# What readers of the feedback get ---------------------------------------------------------------


class Page(HTMLParser):
    """Everything on a page that could act."""

    def __init__(self, text):
        super().__init__()
        self.found, self._in_script = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._in_script = tag == "script"
        if tag in ("iframe", "object", "embed", "form", "base", "meta"):
            self.found.append((tag, attributes))
        for name, value in attributes:
            target = "".join((value or "").split()).lower()
            if name.startswith("on") or target.startswith(
                ("javascript:", "data:text", "vbscript:")
            ):
                self.found.append((name, value))
            if name in ("src", "href") and target.startswith("data:image/svg"):
                self.found.append((name, value))

    def handle_data(self, data):
        if self._in_script and data.strip():
            self.found.append(data)

    def handle_endtag(self, tag):
        self._in_script = False


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = Course(home=tmp_path_factory.mktemp("course"))
    course.prepare(EXERCISE)
    return course


def page_of(course, student):
    start = time.monotonic()
    course.grade(student, EXERCISE)
    page = course.write_feedback(student, EXERCISE)
    return page.read_text(encoding="utf-8"), time.monotonic() - start


def attacked(course, name):
    student = "".join(c for c in name if c.isalnum())
    folder = course.folder("submitted", student, EXERCISE)
    folder.mkdir(parents=True)
    ATTACKS[name].make(EXERCISE, folder)
    return page_of(course, student)


@pytest.fixture(scope="module")
def plain_page(course):
    folder = course.folder("submitted", "plain", EXERCISE)
    folder.mkdir(parents=True)
    notebook = solved(EXERCISE, reference_answers(EXERCISE))
    nbformat.write(notebook, folder / f"{EXERCISE}.ipynb")
    return page_of(course, "plain")[0]


@pytest.mark.parametrize(
    "name", ["scripts in Markdown, code and outputs", "a file name with a script in it"]
)
def test_nothing_that_a_student_writes_acts_on_the_feedback_page(course, plain_page, name):
    page, _ = attacked(course, name)
    assert "alert(1)" in page
    assert Page(page).found == Page(plain_page).found


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
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "14px"
    path.write_text(plain_page.replace("</body>", acts + "</body>"), encoding="utf-8")
    page.goto(path.as_uri())
    assert page.title() == EXERCISE
    assert len(told) >= 3 and all("Content Security Policy" in text for text in told)


@pytest.mark.parametrize(
    "name", ["a hundred pictures in every cell", "lines that take for ever to colour"]
)
def test_a_feedback_page_stays_small_and_soon_written(course, name):
    page, seconds = attacked(course, name)
    assert len(page) < 25_000_000
    assert seconds < 60


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


@pytest.mark.skipif(not forkserver.available(), reason="kernels are forked on Linux alone")
def test_the_instructors_environment_is_not_there(monkeypatch, fresh_server):
    monkeypatch.setenv("SOME_TOKEN", "do-not-tell")
    code = (
        "import os\nfor p in ('self', os.getppid()):\n    print(open(f'/proc/{p}/environ').read())"
    )
    with StudentKernel() as kernel:
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


@pytest.mark.skipif(not forkserver.available(), reason="kernels are forked on Linux alone")
def test_what_a_kernel_has_started_ends_with_it():
    code = (
        "import subprocess, sys\nprocess = subprocess.Popen("
        "[sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        "print(process.pid)"
    )
    with StudentKernel() as kernel:
        pid = int(printed(kernel, code))
        assert Path(f"/proc/{pid}").exists()
    assert gone(pid)


@pytest.mark.skipif(not forkserver.available(), reason="kernels are forked on Linux alone")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_warm_process_that_was_killed_or_stopped_is_replaced(monkeypatch, number):
    monkeypatch.setattr(forkserver, "REPLY_SECONDS", 2)
    with StudentKernel() as kernel:
        pid = int(printed(kernel, "import os\nprint(os.getppid())"))
        kernel.run(f"os.kill({pid}, {int(number)})", 5)
    with StudentKernel() as kernel:
        assert printed(kernel, "print(1 + 1)") == "2\n"
    assert gone(pid)
    assert os.getpid() != pid
