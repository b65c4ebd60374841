"""nbgrader's exchange between two accounts of one machine, as on a JupyterHub.

The instructor's nbgrader is set up by the course's three lines; the student's is nbgrader as it comes.
"""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from autograder import new_course
from autograder.catalogue import mistake_answers, mistakes
from autograder.course import Course
from autograder.exercises import reference_answers, solved
from tests.support.course import COURSE
from tests.support.needs import needs_root

EXERCISE, COURSE_ID = "ch1_smoothing", "mycourse"
pytestmark = [
    pytest.mark.xdist_group("two users"),
    needs_root,
]


@dataclass(frozen=True)
class Account:
    """An account of this machine, with a home folder of its own."""

    name: str
    home: Path

    def run(self, folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess:
        """Run this Python as this user."""
        own = pwd.getpwnam(self.name)
        environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "OMP_NUM_THREADS": "1",
            **variables,
        }
        return subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=folder,
            env=environment,
            user=own.pw_uid,
            group=own.pw_gid,
            extra_groups=[],
            umask=0o022,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    def take(self, *folders: Path) -> None:
        """Become the owner of everything in some folders."""
        for folder in folders:
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, self.name)


@dataclass(frozen=True)
class Hub:
    """A machine with an instructor, students, their exchange and the instructor's course."""

    instructor: Account
    students: tuple[Account, Account]
    course: Course
    exchange: Path

    def teach(self, *words: object) -> str:
        """Run a module as the instructor in the course's folder; returns what it prints."""
        root = self.course.root
        done = self.instructor.run(root, "-m", *words, PYTHONPATH=str(COURSE.root))
        assert done.returncode == 0, done.stdout
        return done.stdout

    def study(self, student: Account, *words: object) -> str:
        """Run an nbgrader command as a student at home."""
        done = student.run(student.home, "-m", "nbgrader", *words)
        assert done.returncode == 0, done.stdout
        return done.stdout


def closed_to_others():
    """Whether this Python can't be run by other accounts, as where it lies in root's home."""
    try:
        return subprocess.run([sys.executable, "-c", ""], user=65534, check=False).returncode != 0
    except PermissionError:
        return True


@pytest.fixture(scope="module")
def hub():
    if closed_to_others():
        pytest.skip(f"other accounts can't run {sys.executable}")
    names = [one.pw_name for one in pwd.getpwall() if one.pw_uid not in (0, 65534)][:3]
    # pytest's own folders are closed to other users
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        place.chmod(0o755)
        accounts = [Account(name, place / "home" / name) for name in names]
        exchange = place / "exchange"
        exchange.mkdir()
        exchange.chmod(0o777)
        shared = f'c.Exchange.root = "{exchange}"\n'
        for account in accounts:
            (account.home / ".jupyter").mkdir(parents=True)
            text = f'c = get_config()\n{shared}c.CourseDirectory.course_id = "{COURSE_ID}"\n'
            if account is not accounts[0]:
                (account.home / ".jupyter" / "nbgrader_config.py").write_text(text)
            account.take(account.home)
            account.home.chmod(0o700)
        root = accounts[0].home / COURSE_ID
        shutil.copytree(new_course.TEMPLATE, root)
        with (root / "nbgrader_config.py").open("a") as config:
            config.write(shared)
        accounts[0].take(root)
        hub = Hub(accounts[0], tuple(accounts[1:]), Course(root), exchange)
        hub.teach("autograder", "build")
        yield hub


def answered(hub, number):
    """An exercise as a student hands it in: 0 all right, 1 with the first known mistake."""
    exercise = hub.course.exercise(EXERCISE)
    answers = reference_answers(exercise)
    if number:
        answers |= mistake_answers(exercise.program(), mistakes(exercise)[0])
    return solved(exercise, answers)


def pages_of(student):
    return sorted((student.home / EXERCISE / "feedback").rglob("*.html"))


def test_an_exercise_goes_out_comes_back_and_is_told_about(hub):
    hub.teach("nbgrader", "release_assignment", EXERCISE)
    for number, student in enumerate(hub.students):
        hub.study(student, "fetch_assignment", EXERCISE)
        path = student.home / EXERCISE / f"{EXERCISE}.ipynb"
        assert path.read_bytes() == hub.course.exercise(EXERCISE).notebook.read_bytes()
        nbformat.write(answered(hub, number), path)
        hub.study(student, "submit", EXERCISE)
    hub.teach("nbgrader", "collect", EXERCISE)
    told = hub.teach("autograder", "grade", "--feedback")
    assert "2 of 2 written" in told
    told = hub.teach("nbgrader", "release_feedback", EXERCISE)
    assert len(re.findall("Handed out", told)) == 2
    for student in hub.students:
        hub.study(student, "fetch_feedback", EXERCISE)
    right, wrong = (pages_of(student) for student in hub.students)
    means = mistakes(hub.course.exercise(EXERCISE))[0].means
    assert means in wrong[0].read_text() and means not in right[0].read_text()
    assert "5 of 5 points" in re.sub(r"(<[^>]+>|\s)+", " ", right[0].read_text())


def test_nobody_finds_the_page_of_another(hub):
    student, other = hub.students
    folder = hub.exchange / COURSE_ID / "feedback"
    assert len(list(folder.glob("*.html"))) == 2
    code = "import os, sys; os.listdir(sys.argv[1])"
    for place in (folder, hub.exchange / COURSE_ID / "inbound", other.home, hub.course.root):
        assert "PermissionError" in student.run(student.home, "-c", code, place).stdout


def test_a_page_of_an_earlier_submission_is_not_handed_out(hub):
    student = hub.students[1]
    (page,) = pages_of(student)
    before = page.read_text()
    path = student.home / EXERCISE / f"{EXERCISE}.ipynb"
    nbformat.write(answered(hub, 0), path)
    hub.study(student, "submit", EXERCISE)
    hub.teach("nbgrader", "collect", EXERCISE, "--update")
    told = hub.teach("nbgrader", "release_feedback", EXERCISE)
    assert re.search(rf"{student.name}/.* is not handed out: another submission", told)
    hub.study(student, "fetch_feedback", EXERCISE)
    assert pages_of(student) == [page]
    hub.teach("autograder", "grade")
    told = hub.teach("nbgrader", "release_feedback", EXERCISE)
    assert re.search(rf"{student.name}/.* is not handed out: it is older than the grade", told)
    hub.teach("autograder", "feedback")
    told = hub.teach("nbgrader", "release_feedback", EXERCISE, "--student", student.name)
    assert len(re.findall("Handed out", told)) == 1
    hub.study(student, "fetch_feedback", EXERCISE)
    old, new = pages_of(student)
    assert old.read_text() == before != new.read_text()


def test_a_submission_from_elsewhere_stops_nobody(hub):
    folder = hub.course.submitted / "by-mail" / EXERCISE
    folder.mkdir(parents=True)
    nbformat.write(answered(hub, 0), folder / f"{EXERCISE}.ipynb")
    hub.instructor.take(folder.parent)
    hub.teach("autograder", "grade", "--feedback")
    told = hub.teach("nbgrader", "release_feedback", EXERCISE)
    assert "by-mail" in told and "was not handed in through the exchange" in told
    assert len(re.findall("Handed out", told)) == 2


BUTTONS = """
import json, sys
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from autograder.course import Course
from pathlib import Path

exercise, student = sys.argv[1:]
config = Course(Path.cwd()).config
api = NbGraderAPI(CourseDirectory(config=config), config=config)
done = {
    "assign": api.assign(exercise),
    "unrelease": api.unrelease(exercise),
    "release": api.release_assignment(exercise),
    "collect": api.collect(exercise),
    "autograde": api.autograde(exercise, student),
    "generate_feedback": api.generate_feedback(exercise, student),
    "release_feedback": api.release_feedback(exercise, student),
}
print("RESULTS", json.dumps(done))
"""


def test_what_formgraders_buttons_do_works(hub):
    """The buttons call these methods; see nbgrader.server_extensions.formgrader.apihandlers."""
    student = hub.students[0]
    root = hub.course.root
    variables = {"PYTHONPATH": str(COURSE.root)}
    ran = hub.instructor.run(root, "-c", BUTTONS, EXERCISE, student.name, **variables)
    assert ran.returncode == 0, ran.stdout
    done = json.loads(ran.stdout.rpartition("RESULTS ")[2].splitlines()[0])
    assert {name: found["success"] for name, found in done.items()} == dict.fromkeys(done, True)
    hub.study(student, "fetch_feedback", EXERCISE)
