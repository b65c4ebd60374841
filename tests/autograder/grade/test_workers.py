"""Who examines: what happens when a worker ends, on this machine and on a cluster."""

import contextlib
import dataclasses
import importlib.util
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import zipfile
from concurrent.futures import Future
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.errors import GradebookError, SandboxError, WorkerPoolError
from autograder.exercises import reference_answers, solved
from autograder.grade import by_clock, changes, trial
from autograder.grade import grade_class as module
from autograder.grade.class_grades import grades_of
from autograder.grade.examine import Graded
from autograder.grade.grade_class import Grader, WorkerOptions, grade_class
from autograder.grade.gradebook import Recorder, autograded_notebook, stored_result
from autograder.grade.result import Basis, CellResult, LineResult, Remark, Result
from autograder.grade.submission import Submission
from autograder.grade.verdicts import result_path
from autograder.grade.worker_pool import GradingJob, examine_all
from autograder.instructor_settings import Limits, Settings
from autograder.lms.import_zip import import_zip
from autograder.package import PACKAGE_ROOT
from autograder.runtime.compare import Difference
from tests.support.class_keys import give_keys
from tests.support.course import COURSE
from tests.support.grading import grade_here
from tests.support.needs import POSTGRES, needs_fork_server, needs_openssl, needs_postgres

pytestmark = pytest.mark.xdist_group("workers")
EXERCISE = COURSE.exercise("ch1_additive_attention")
NAME = EXERCISE.notebook.name


def exercises_of(course):
    """The exercise of these tests in a course, as the functions take it."""
    return [course.exercise(EXERCISE.name)]


class Died(Exception):
    """What a pool raises whose worker has ended."""


class FakePool:
    """Examines at once; a student in `kills` ends the worker, with all that it has in hand, so often."""

    worker_died = (Died,)
    capacity = 3

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
        student = task.submission.student
        self.seen.append(student)
        if self.kills.get(student, 0) > 0:
            self.kills[student] -= 1
            for other in self.running:
                if not other.done():
                    other.set_exception(Died())
        elif student.startswith("slow"):
            # ends when another has ended its worker, or with the last one
            threading.Timer(0.1, lambda: future.done() or future.set_result(student)).start()
        else:
            future.set_result(student)
        return future


def examined_by(pool, names):
    tasks = (GradingJob(EXERCISE.name, Submission(name)) for name in names)
    return {task.submission.student: graded for task, graded in examine_all(tasks, pool)}


@pytest.mark.parametrize(
    ("kills", "lost"),
    [({}, []), ({"b": 1}, []), ({"b": 2}, ["b"]), ({"b": 9, "e": 9}, ["b", "e"])],
)
def test_a_worker_that_ends_costs_nobody_else_anything_and_is_told(kills, lost, capsys):
    names = ["slow1", "a", "b", "slow2", "c", "d", "e", "slow3", "f"]
    pool = FakePool(kills)
    results = examined_by(pool, names)
    told = capsys.readouterr().err.splitlines()
    ended = [line for line in told if line.startswith("A worker ended")]
    assert len(ended) == len(kills) and all(f"{s} {EXERCISE}" in "".join(ended) for s in kills)
    again = [line.split()[0] for line in told if "the worker ended again" in line]
    assert sorted(again) == lost and len(told) == len(ended) + len(again)
    assert results == {name: None if name in lost else name for name in names}
    assert all(pool.seen.count(name) <= 2 for name in names)


def stopped_or_not(student, kinds):
    """A graded submission with remarks of some kinds."""
    remarks = tuple(Remark(kind) for kind in kinds)
    basis = Basis("", "", Limits(), {})
    return Graded(Result(student, EXERCISE.name, (), remarks, basis, 1.0), None)


class ByClockPool(FakePool):
    """Stops some students' first gradings by the clock, and some always."""

    capacity = 3

    def __init__(self, once, always):
        super().__init__({})
        self.once, self.always, self.beside = list(once), always, []

    def submit(self, task):
        student = task.submission.student
        self.beside.append(sum(not future.done() for future in self.running))
        future = Future()
        self.running.append(future)
        self.seen.append(student)
        stopped = student in self.always or student in self.once
        if student in self.once:
            self.once.remove(student)
        graded = stopped_or_not(student, ["by_clock"] if stopped else [])
        threading.Timer(0.02, lambda: future.set_result(graded)).start()
        return future


@pytest.mark.parametrize("seconds", [100, 0])
def test_who_was_stopped_by_the_clock_is_graded_again_after_all_others_alone(
    seconds, monkeypatch, capsys
):
    monkeypatch.setattr(by_clock, "ALONE_SECONDS", seconds)
    told = []
    pool = ByClockPool(once=["b", "e"], always=["c"])
    jobs = [GradingJob(EXERCISE.name, Submission(name)) for name in "abcdef"]
    found = list(by_clock.examine_fairly(iter(jobs), pool, None, told.append))
    assert sorted(str(task)[0] for task in told) == list("abcdef")
    names = [graded.result.student for graded in found]
    assert sorted(names) == list("abcdef")
    final = {graded.result.student: graded.result.is_final for graded in found}
    if seconds:
        # in the order in which they ended
        again = pool.seen[6:]
        assert pool.seen[:6] == [*"abcdef"] and sorted(again) == [*"bce"] and names[-3:] == again
        assert pool.beside[-3:] == [0, 0, 0]
        assert final == {name: name != "c" for name in "abcdef"}
        assert "c ch1_additive_attention: stopped by the clock again" in capsys.readouterr().err
    else:
        assert pool.seen == [*"abcdef"]
        assert final == {name: name not in "bce" for name in "abcdef"}


def hand_in(course, count):
    """A class of so many solved exercises, s0, s1, ..."""
    text = nbformat.writes(solved(EXERCISE, reference_answers(EXERCISE)))
    for number in range(count):
        path = handed_in(course, f"s{number}")
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return course


def handed_in(course, student):
    return course.submitted / student / EXERCISE.name / NAME


def recorded(course):
    with Gradebook(course.db_url) as gradebook:
        found = gradebook.assignment_submissions(EXERCISE.name)
        return sorted((s.student.id, s.score) for s in found)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory, few_mistakes):
    """A class with nothing but a seed and what the reference gives under it."""
    course = dataclasses.replace(few_mistakes, class_folder=tmp_path_factory.mktemp("seeded"))
    give_keys(course, EXERCISE.name)
    return course


@pytest.fixture
def empty_class(seeded, tmp_path):
    """A class without submissions under that seed."""
    course = dataclasses.replace(seeded, class_folder=tmp_path / "class")
    shutil.copytree(seeded.home / "expected", course.home / "expected")
    shutil.copy(seeded.home / "seeds.json", course.home)
    return course


@pytest.fixture
def before_recording(monkeypatch):
    """A function that lets graders call a function before each recording."""

    def before_recording(do):
        class Calling(Recorder):
            def record(self, graded, create_student=True):
                do(graded)
                super().record(graded, create_student)

        monkeypatch.setattr(module, "Recorder", Calling)

    return before_recording


def add_cell(path, code):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(code))
    nbformat.write(notebook, path)


# On this machine --------------------------------------------------------------------------------


def children(process):
    """Ids of all processes that a process has started, directly or through others."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *children(child)]
    return found


def busy_kernels():
    """How many kernels execute the cell of `BUSY`; they are no children of the workers."""
    found = 0
    for child in children(os.getpid()):
        try:
            found += Path(f"/proc/{child}/comm").read_text().strip() == BUSY_NAME
        except OSError:
            continue
    return found


BUSY_NAME = "busy-student"
# the name of the kernel's process tells the test, outside the sandbox, that a worker has it in hand
BUSY = f"""
import ctypes, time
ctypes.CDLL(None).prctl(15, b"{BUSY_NAME}", 0, 0, 0)
time.sleep(3)
"""


@pytest.fixture(scope="module")
def graded(seeded):
    """Three submissions, graded by two workers of which one was killed in the midst of one."""
    course = hand_in(seeded, 3)
    for number in range(3):
        add_cell(handed_in(course, f"s{number}"), BUSY)
    killed, ended = [], threading.Event()

    def kill():
        while not killed and not ended.wait(0.02):
            # then both workers have one in hand
            if busy_kernels() == 2:
                process = multiprocessing.active_children()[0]
                process.kill()
                killed.append(process.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        results = grade_class(course, exercises_of(course), options=WorkerOptions(workers=2))
    finally:
        ended.set()
        thread.join()
    assert killed
    return course, results


def test_a_worker_killed_on_this_machine_loses_nothing(graded):
    course, results = graded
    assert [result.score for result in results] == [results[0].points] * 3
    assert recorded(course) == [(f"s{n}", results[0].points) for n in range(3)]
    assert multiprocessing.active_children() == []


FORKED = r"""
import gc, os, pathlib, re
import autograder.grade.preload
if pid := os.fork():
    os.waitpid(pid, 0)
else:
    gc.collect()
    shares = pathlib.Path("/proc/self/smaps_rollup").read_text()
    print(re.search(r"Private_Dirty: +(\d+)", shares)[1])
"""


@needs_fork_server
def test_a_forked_workers_garbage_collector_copies_no_memory_of_modules():
    command = [sys.executable, "-c", FORKED]
    done = subprocess.run(command, cwd=PACKAGE_ROOT, capture_output=True, text=True, check=True)
    # in kB; it would be 24 MB
    assert int(done.stdout) < 8_000


def test_a_pool_ends_none_but_its_own_processes(empty_class):
    course = hand_in(empty_class, 1)
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    other.start()
    before = set(multiprocessing.active_children())
    try:
        grade_class(course, exercises_of(course), options=WorkerOptions(workers=1))
        assert other in before and set(multiprocessing.active_children()) == before
    finally:
        other.terminate()
        other.join()


def test_workers_that_cannot_start_end_the_run_and_cost_nobody_points(empty_class, monkeypatch):
    course = hand_in(empty_class, 1)
    # a new worker runs the file of the main module first
    main = types.ModuleType("__main__")
    main.__file__ = str(empty_class.home / "missing.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    before = multiprocessing.active_children()
    with pytest.raises(WorkerPoolError, match="end while they start"):
        grade_class(course, exercises_of(course), options=WorkerOptions(workers=1))
    assert recorded(course) == []
    assert set(multiprocessing.active_children()) <= set(before)


def test_a_submission_finds_a_folder_for_temporary_files(empty_class):
    course = hand_in(empty_class, 1)
    # torch's optimisers make one as well
    code = "import tempfile, torch\ntorch.optim.Adam([torch.nn.Parameter(torch.ones(2))])\nprint(tempfile.mkdtemp())"
    add_cell(handed_in(course, "s0"), code)
    last = Grader(course).grade("s0", *exercises_of(course)).notebook.cells[-1]
    assert [output.output_type for output in last.outputs] == ["stream"], last.outputs
    assert "/tmp" in last.outputs[0].text


# Grading on trial -------------------------------------------------------------------------------


def trial_of(student, before, after):
    """A submission graded on trial: {cell: {expression: points earned}} before and after."""

    def made(cells):
        lines = {
            name: tuple(
                LineResult(expression, 2, None if earned else Difference("to_do"))
                for expression, earned in own.items()
            )
            for name, own in cells.items()
        }
        found = tuple(CellResult(name, own) for name, own in lines.items())
        return Result(student, EXERCISE.name, found, (), Basis("", "", Limits(), {}), 1.0)

    return changes.Change(made(before), made(after))


def test_a_trial_lists_who_gains_and_who_loses_and_counts_the_others(capsys):
    """A check whose text was corrected is another check, and that alone changes nobody's points."""
    old, new = "scores - 9", "scores - 8"
    found = [
        *(trial_of(f"same{n}", {"x": {old: 2}}, {"x": {new: 2}}) for n in range(300)),
        trial_of("none", {"x": {old: 0}}, {"x": {new: 0}}),
        trial_of("gains", {"x": {old: 0}, "y": {"a": 2}}, {"x": {new: 2}, "y": {"a": 2}}),
        trial_of("loses", {"x": {old: 2}, "y": {"a": 2}}, {"x": {new: 0}, "y": {"a": 2}}),
        # nothing in sum, and still to be told
        trial_of("both", {"x": {old: 2}, "y": {"a": 0}}, {"x": {new: 0}, "y": {"a": 2}}),
    ]
    assert [change.net for change in found[-3:]] == [2, -2, 0]
    changes.show_renamed(found)
    changes.show(found, "What would change")
    printed = capsys.readouterr().out
    assert printed.count(f"x: {old} (no longer asked)") == printed.count(f"x: {new} (new)") == 1
    rows = [
        line.split()[1] for line in printed.split("\n") if "->" in line and EXERCISE.name in line
    ]
    assert rows == ["loses", "both", "gains"]
    assert "x: 2 -> 0" in printed and "same1" not in printed and "none" not in printed
    assert "304 graded anew: 1 lose points, 1 gain, 301 keep the same points" in " ".join(
        printed.split()
    )


def graded_by_an_earlier_version(course):
    """As if an earlier version of the grader had given s1 no points for the first line: its cell, and it."""
    now = stored_result(course, "s1", EXERCISE.name)
    cell, *others = now.cells
    line, *lines = cell.lines
    failed = dataclasses.replace(line, difference=Difference("to_do"))
    changed = dataclasses.replace(cell, lines=(failed, *lines))
    basis = dataclasses.replace(now.basis, grader=now.basis.grader - 1)
    path = result_path(autograded_notebook(course, "s1", EXERCISE.name))
    dataclasses.replace(now, cells=(changed, *others), basis=basis).write(path)
    return cell, line


def test_a_trial_writes_nothing_until_it_is_confirmed(graded, monkeypatch, capsys):
    course, results = graded
    full = results[0].points
    path = result_path(autograded_notebook(course, "s1", EXERCISE.name))
    cell, line = graded_by_an_earlier_version(course)
    place = (cell.grade_id, EXERCISE.name, EXERCISE.name, "s1")
    with Gradebook(course.db_url) as gradebook:
        grade = gradebook.find_grade(*place)
        grade.auto_score -= line.points
        grade.extra_credit, grade.manual_score = 0.5, 0.25
        gradebook.db.commit()
    before = path.read_bytes(), recorded(course)
    monkeypatch.setattr("builtins.input", lambda text: "n")
    options = WorkerOptions(workers=1)
    assert not trial.regrade(course, exercises_of(course), options, confirmed=False)
    told = capsys.readouterr().out
    assert (
        "s1" in told
        and f"{cell.grade_id}: {cell.points - line.points:g} -> {cell.points:g}" in told
        and "s2" not in told
    )
    assert (path.read_bytes(), recorded(course)) == before
    assert trial.regrade(course, exercises_of(course), options, confirmed=True)
    assert stored_result(course, "s1", EXERCISE.name).score == full
    with Gradebook(course.db_url) as gradebook:
        grade = gradebook.find_grade(*place)
        assert (grade.extra_credit, grade.manual_score) == (0.5, 0.25)
        assert grade.auto_score == cell.points


def test_grading_lists_whose_points_a_newer_grader_moves_and_why(graded, capsys):
    course, results = graded
    cell, line = graded_by_an_earlier_version(course)
    grade_class(course, exercises_of(course), options=WorkerOptions(workers=1))
    told = capsys.readouterr().out
    (row,) = [text for text in told.splitlines() if "->" in text and "s1" in text]
    assert f"{cell.grade_id}: {cell.points - line.points:g} -> {cell.points:g}" in row
    assert "passes now" in told and "s2" not in told
    assert "before (1 of 1): the grader: version" in told
    assert "1 graded anew: 0 lose points, 1 gain" in " ".join(told.split())
    assert stored_result(course, "s1", EXERCISE.name).score == results[0].points
    grade_class(course, exercises_of(course))
    assert "graded anew" not in capsys.readouterr().out


# A cluster --------------------------------------------------------------------------------------


@contextlib.contextmanager
def local_cluster(**options):
    """A cluster whose scheduler runs in this process.

    It loads the package again, from the zip that workers get; at the end the package is what it was.
    """
    from distributed import LocalCluster

    ours = {name: sys.modules[name] for name in sys.modules if name.split(".")[0] == "autograder"}
    package = ours["autograder"]
    attributes, path = dict(vars(package)), list(sys.path)
    with LocalCluster(
        threads_per_worker=1, dashboard_address=None, host="127.0.0.1", processes=True, **options
    ) as started:
        yield started
    for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
        del sys.modules[name]
    sys.modules.update(ours)
    # the zip is gone, and what isn't imported yet would be looked for in it
    vars(package).clear()
    vars(package).update(attributes)
    sys.path[:] = path


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(n_workers=2) as started:
        yield started
    assert Path(importlib.util.find_spec("autograder.report").origin).is_relative_to(COURSE.root)


def test_a_cluster_grades_although_a_worker_is_killed(
    cluster, empty_class, before_recording, monkeypatch, capsys
):
    from distributed import Client

    monkeypatch.setattr("autograder.kernels.sandbox.has_control_groups", lambda: False)
    course = hand_in(empty_class, 5)
    with Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)
        before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)
        killed = []

        def kill(graded):
            if not killed:
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)

        before_recording(kill)
        options = WorkerOptions(scheduler=cluster.scheduler_address)
        results = grade_class(course, exercises_of(course), options=options)
        after = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)
    assert killed
    assert "2 of 2 workers: No control groups" in capsys.readouterr().err
    assert [result.score for result in results] == [results[0].points] * 5
    assert len(recorded(course)) == 5
    assert before == after
    # by whatever pool it was graded, a grade is current
    (exercise,) = exercises_of(course)
    assert Grader(course).stale([(result.student, exercise) for result in results]) == []


def test_a_worker_with_other_versions_is_refused(cluster, empty_class, monkeypatch):
    from autograder.grade import dask_pool

    course = hand_in(empty_class, 1)
    plain, seen = dask_pool._plain, []

    def other(packages):
        seen.append(packages)
        found = plain(packages)
        return found if len(seen) == 1 else found | {"torch": "1.0.0"}

    monkeypatch.setattr(dask_pool, "_plain", other)
    with pytest.raises(
        WorkerPoolError, match=r"other versions than this process: torch 1\.0\.0, not"
    ):
        options = WorkerOptions(scheduler=cluster.scheduler_address)
        grade_class(course, exercises_of(course), options=options)
    assert not autograded_notebook(course, "s0", EXERCISE.name).exists()


@needs_openssl
def test_a_cluster_with_certificates_grades_and_refuses_who_has_none(empty_class, tmp_path):
    import dask.config
    from distributed.security import Security

    key, certificate = tmp_path / "dask.key", tmp_path / "dask.crt"
    # as the page on running a class says
    words = f"openssl req -x509 -newkey rsa:3072 -nodes -days 90 -subj /CN=grading -keyout {key} -out {certificate}"
    subprocess.run(words.split(), check=True, capture_output=True)
    own = {"key": str(key), "cert": str(certificate)}
    configured = {
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": str(certificate),
        **{f"distributed.comm.tls.{role}": own for role in ("scheduler", "worker", "client")},
    }
    course = hand_in(empty_class, 1)
    with contextlib.ExitStack() as started:
        with dask.config.set(configured):
            options = {"protocol": "tls://", "security": Security()}
            cluster = started.enter_context(local_cluster(n_workers=1, **options))
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        pool = WorkerOptions(scheduler=address)
        with pytest.raises(WorkerPoolError, match="this process needs one as well"):
            grade_class(course, exercises_of(course), options=pool)
        with dask.config.set(configured):
            (result,) = grade_class(course, exercises_of(course), options=pool)
        assert result.score == result.points


@pytest.mark.parametrize(
    ("address", "open_to_others"),
    [
        ("tcp://127.0.0.1:8786", False),
        ("tcp://[::1]:8786", False),
        ("localhost:8786", False),
        ("tls://10.0.0.7:8786", False),
        ("tcp://10.0.0.7:8786", True),
        ("grading.example.org:8786", True),
    ],
)
def test_a_scheduler_that_others_can_reach_is_told(address, open_to_others):
    from autograder.grade import dask_pool

    assert dask_pool.is_open(address) is open_to_others


def test_a_scheduler_that_is_not_there_is_named(monkeypatch):
    from autograder.grade import dask_pool

    monkeypatch.setattr(dask_pool, "CONNECT_SECONDS", 1)
    options = WorkerOptions(scheduler="tcp://127.0.0.1:9")
    with pytest.raises(WorkerPoolError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        options.pool({}, COURSE.settings)


# PostgreSQL -------------------------------------------------------------------------------------


@pytest.fixture
def postgres():
    """A PostgreSQL server of its own, reached by a socket in its folder."""
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


@needs_postgres
def test_the_gradebook_may_be_postgresql(postgres, empty_class):
    url, server = postgres
    course = hand_in(dataclasses.replace(empty_class, database=url), 2)
    results = grade_here(course, EXERCISE.name)
    full = results[0].points
    assert recorded(course) == [("s0", full), ("s1", full)]
    assert not (course.home / "gradebook.db").exists()
    assert [grade.student.id for grade in grades_of(course, exercises_of(course))] == ["s0", "s1"]
    with Gradebook(url) as gradebook:
        gradebook.update_or_create_student("s1", lms_user_id="1001")
    with zipfile.ZipFile(course.home / "class.zip", "w") as archive:
        archive.writestr(f"whoever_1001_1_{NAME}", "{}")
    elsewhere = dataclasses.replace(course, submissions=course.home / "imported")
    assert import_zip(elsewhere, course.home / "class.zip", EXERCISE).new == ["s1"]
    path = handed_in(course, "s1")
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    server.send_signal(signal.SIGINT)
    server.wait(20)
    with pytest.raises(GradebookError, match=r"can't be used.*What was recorded before is kept"):
        grade_class(course, exercises_of(course), options=WorkerOptions(workers=1))
    assert stored_result(course, "s1", EXERCISE.name).score == full


def test_a_cluster_worker_that_joins_late_is_asked_for_its_sandbox_when_it_examines(monkeypatch):
    from autograder.grade import dask_pool

    examined = []
    monkeypatch.setattr(dask_pool.sandbox, "why_not", lambda: "no namespaces here")
    monkeypatch.setattr(
        dask_pool, "grade_submission", lambda *arguments: examined.append(arguments)
    )
    monkeypatch.setattr(dask_pool.AnswerKey, "from_json", staticmethod(lambda text: None))
    task = GradingJob(EXERCISE.name, Submission("late"))
    with pytest.raises(SandboxError, match="no namespaces here"):
        dask_pool._examine("", task, Settings(), True)
    assert examined == []
    dask_pool._examine("", task, Settings(), False)
    assert examined[0][2].limits.sandbox is False
