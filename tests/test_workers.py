"""Who examines: what happens when a worker ends, on this machine and on a cluster."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.audit.sample_class import reference_answers, solved
from autograder.errors import GradebookError, WorkerPoolError
from autograder.grade import trial
from autograder.grade.grade_class import Course, Means, grade_class
from autograder.grade.submission import Submission
from autograder.grade.worker_pool import Task, examine_all

pytestmark = pytest.mark.xdist_group("workers")
EXERCISE = "ch1_additive_attention"


class Died(Exception):
    """What a crew whose worker has ended raises."""


class FakeCrew:
    """Examines at once; a student in `kills` ends the worker, with all that it has in hand, so often."""

    deaths = (Died,)
    room = 3

    def __init__(self, kills):
        self.kills, self.running, self.begun = dict(kills), [], 0
        self.seen = []

    def start(self):
        self.begun += 1
        self.running = []

    def stop(self):
        self.running = []

    def submit(self, task):
        future = Future()
        self.running.append(future)
        self.seen.append(task.student)
        if self.kills.get(task.student, 0) > 0:
            self.kills[task.student] -= 1
            for other in self.running:
                if not other.done():
                    other.set_exception(Died())
        elif task.student.startswith("slow"):
            threading.Timer(0.1, lambda: future.done() or future.set_result(task.student)).start()
        else:
            future.set_result(task.student)
        return future


def examined_by(crew, names):
    tasks = (Task(name, EXERCISE, Submission([], [])) for name in names)
    return {task.student: result for task, result in examine_all(tasks, crew)}


@pytest.mark.parametrize(
    ("kills", "lost"),
    [({}, []), ({"b": 1}, []), ({"b": 2}, ["b"]), ({"b": 9, "e": 9}, ["b", "e"])],
)
def test_a_worker_that_ends_costs_nobody_else_anything(kills, lost):
    names = ["slow1", "a", "b", "slow2", "c", "d", "e", "slow3", "f"]
    crew = FakeCrew(kills)
    results = examined_by(crew, names)
    assert results == {name: None if name in lost else name for name in names}
    assert all(crew.seen.count(name) <= 2 for name in names)


def handed_in(folder, count, db=None):
    course = Course(home=folder, db=db)
    text = nbformat.writes(solved(EXERCISE, reference_answers(EXERCISE)))
    for number in range(count):
        path = course.folder("submitted", f"s{number}", EXERCISE) / f"{EXERCISE}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return course


def recorded(course):
    with Gradebook(course.db_url) as gradebook:
        return [(s.student.id, s.score) for s in gradebook.assignment_submissions(EXERCISE)]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Three submissions, graded by two workers of which one was killed meanwhile."""
    course = handed_in(tmp_path_factory.mktemp("class"), 3)
    killed = []

    def kill():
        while not killed:
            for process in multiprocessing.active_children():
                # in the midst of a submission
                time.sleep(0.3)
                process.kill()
                killed.append(process.pid)
                break
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    results = grade_class(course, [EXERCISE], means=Means(workers=2))
    thread.join()
    return course, results


def test_a_worker_killed_on_this_machine_loses_nothing(graded):
    course, results = graded
    assert [result["score"] for result in results] == [results[0]["points"]] * 3
    assert sorted(recorded(course)) == [(f"s{n}", results[0]["points"]) for n in range(3)]
    assert multiprocessing.active_children() == []


def test_a_crew_ends_none_but_its_own(tmp_path):
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    other.start()
    try:
        grade_class(handed_in(tmp_path, 1), [EXERCISE], means=Means(workers=1))
        assert multiprocessing.active_children() == [other]
    finally:
        other.terminate()
        other.join()


def test_a_submission_finds_a_folder_for_files_that_pass(tmp_path):
    course = handed_in(tmp_path, 1)
    path = course.folder("submitted", "s0", EXERCISE) / f"{EXERCISE}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    # torch's optimisers make one as well
    code = "import tempfile, torch\ntorch.optim.Adam([torch.nn.Parameter(torch.ones(2))])\nprint(tempfile.mkdtemp())"
    notebook.cells.append(nbformat.v4.new_code_cell(code))
    nbformat.write(notebook, path)
    grade_class(course, [EXERCISE], means=Means(workers=1))
    last = nbformat.read(course.graded_notebook("s0", EXERCISE), as_version=4).cells[-1]
    assert [output.output_type for output in last.outputs] == ["stream"], last.outputs
    assert "/tmp" in last.outputs[0].text


# Grading on trial -------------------------------------------------------------------------------


def test_a_trial_writes_nothing_until_it_is_confirmed(graded, monkeypatch, capsys):
    course, results = graded
    full = results[0]["points"]
    path = course.graded_notebook("s1", EXERCISE)
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.autotest.graded = "by an earlier grader"
    cell = next(
        c
        for c in notebook.cells
        if c.metadata.get("nbgrader", {}).get("grade") and c.cell_type == "code"
    )
    for output in cell.outputs:
        for data in output.get("data", {}).values():
            if isinstance(data, dict):
                data["lines"][0]["earned"] = 0
                lost = data["lines"][0]["points"]
    path.chmod(0o644)
    nbformat.write(notebook, path)
    with Gradebook(course.db_url) as gradebook:
        grade = gradebook.find_grade(cell.metadata.nbgrader.grade_id, EXERCISE, EXERCISE, "s1")
        grade.auto_score -= lost
        grade.extra_credit, grade.manual_score = 0.5, 0.25
        gradebook.db.commit()
    before = path.read_bytes(), recorded(course)
    monkeypatch.setattr("builtins.input", lambda text: "n")
    assert not trial.regrade(course, [EXERCISE], Means(workers=1), confirmed=False)
    told = capsys.readouterr().out
    assert "s1" in told and f"0 -> {lost:g}" in told and "s2" not in told
    assert (path.read_bytes(), recorded(course)) == before
    assert trial.regrade(course, [EXERCISE], Means(workers=1), confirmed=True)
    assert course.result("s1", EXERCISE)["score"] == full
    with Gradebook(course.db_url) as gradebook:
        grade = gradebook.find_grade(cell.metadata.nbgrader.grade_id, EXERCISE, EXERCISE, "s1")
        assert (grade.extra_credit, grade.manual_score) == (0.5, 0.25)
        assert grade.auto_score == cell.metadata.nbgrader.points


# A cluster --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    options = {"dashboard_address": None, "host": "127.0.0.1", "processes": True}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as started:
        yield started


def test_a_cluster_grades_although_a_worker_is_killed(cluster, tmp_path, monkeypatch):
    from distributed import Client

    course = handed_in(tmp_path, 5)
    with Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)
        before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)
        record, killed = Course.record, []

        def kill_and_record(self, *arguments):
            if not killed:
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)
            record(self, *arguments)

        monkeypatch.setattr(Course, "record", kill_and_record)
        results = grade_class(course, [EXERCISE], means=Means(scheduler=cluster.scheduler_address))
        after = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)
    assert [result["score"] for result in results] == [results[0]["points"]] * 5
    assert len(recorded(course)) == 5
    assert before == after


def test_a_worker_with_other_versions_is_refused(cluster, tmp_path, monkeypatch):
    from autograder.grade import dask_pool as module

    course = handed_in(tmp_path, 1)
    plain, seen = module._plain, []

    def other(packages):
        seen.append(packages)
        found = plain(packages)
        return found if len(seen) == 1 else found | {"torch": "1.0.0"}

    monkeypatch.setattr(module, "_plain", other)
    with pytest.raises(
        WorkerPoolError, match=r"other versions than this process: torch 1\.0\.0, not"
    ):
        grade_class(course, [EXERCISE], means=Means(scheduler=cluster.scheduler_address))
    assert not course.graded_notebook("s0", EXERCISE).exists()


def test_a_scheduler_that_is_not_there_is_named(tmp_path, monkeypatch):
    from autograder.grade import dask_pool as module

    monkeypatch.setattr(module, "CONNECT_SECONDS", 1)
    course = handed_in(tmp_path, 1)
    with pytest.raises(WorkerPoolError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        grade_class(course, [EXERCISE], means=Means(scheduler="tcp://127.0.0.1:9"))


# PostgreSQL -------------------------------------------------------------------------------------

POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))


@pytest.fixture
def postgres():
    """A PostgreSQL server of its own, reached by a socket in its folder."""
    if not POSTGRES or shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    else:
        user = []
    tools = POSTGRES[-1].parent
    data = folder / "data"
    initdb = [tools / "initdb", "--pgdata", data, "--username", "grader", "--auth", "trust"]
    subprocess.run([*user, *initdb], check=True, capture_output=True)
    options = ["-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    server = subprocess.Popen([*user, tools / "postgres", *options], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            ready = [tools / "pg_isready", "--host", folder, "--username", "grader"]
            if subprocess.run(ready, capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.1)
        yield f"postgresql://grader@/postgres?host={folder}", server
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def test_the_gradebook_may_be_postgresql(postgres, tmp_path):
    url, server = postgres
    course = handed_in(tmp_path, 2, url)
    results = grade_class(course, [EXERCISE], means=Means(workers=1))
    full = results[0]["points"]
    assert sorted(recorded(course)) == [("s0", full), ("s1", full)]
    assert not (tmp_path / "gradebook.db").exists()
    text = course.folder("submitted", "s1", EXERCISE) / f"{EXERCISE}.ipynb"
    text.write_text(text.read_text(encoding="utf-8") + " ", encoding="utf-8")
    server.send_signal(signal.SIGINT)
    server.wait(20)
    with pytest.raises(GradebookError, match=r"can't be used.*What was recorded before is kept"):
        grade_class(Course(home=tmp_path, db=url), [EXERCISE], means=Means(workers=1))
    assert course.result("s1", EXERCISE)["score"] == full
