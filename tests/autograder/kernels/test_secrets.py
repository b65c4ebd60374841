"""A student's process holds no secret of the grader's: it is searched for planted ones."""

import multiprocessing
import re
import secrets
import sys
from dataclasses import replace

import pytest

from autograder.grade.grade_class import grading_settings
from autograder.grade.make_keys import answer_key
from autograder.grade.submission import Submission, SubmittedCell
from autograder.grade.worker_pool import GradingJob, LocalPool
from autograder.kernels import forkserver, sandbox
from autograder.kernels.student_kernel import StudentKernel
from tests.support.class_keys import give_keys
from tests.support.course import COURSE
from tests.support.needs import needs_fork_server, needs_sandbox

pytestmark = [
    pytest.mark.xdist_group("workers"),
    needs_fork_server,
]
EXERCISE = COURSE.exercise("ch1_additive_attention")

# prints every text PLANTED-... that it finds; the pattern itself does not match the pattern
SEARCH = r"""
import builtins, gc, os, re, sys, threading
pattern = re.compile(rb"PLANTED-[0-9a-f]{8}")
found = {}

def look(where, data):
    for secret in pattern.findall(data):
        found.setdefault(secret.decode(), set()).add(where)

for path in ("cmdline", "environ"):
    for process in ("self", str(os.getppid()), "1"):
        try:
            look(path, open(f"/proc/{process}/{path}", "rb").read())
        except OSError:
            pass
for frame in sys._current_frames().values():
    while frame:
        for value in frame.f_locals.values():
            look("frames", repr(value)[:1_000_000].encode(errors="replace"))
        frame = frame.f_back
for thing in gc.get_objects():
    if type(thing) in (dict, list, tuple):
        for value in thing.values() if type(thing) is dict else thing:
            if type(value) in (str, bytes):
                look("objects", value if type(value) is bytes else value.encode(errors="replace"))
searched = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps:
        span, mode, *_ = line.split()
        start, end = (int(x, 16) for x in span.split("-"))
        if mode.startswith("rw"):
            while start < end:
                size = min(end - start, 16_000_000)
                try:
                    memory.seek(start)
                    piece = memory.read(size)
                except OSError:
                    break
                look("memory", piece)
                searched += len(piece)
                del piece
                # a secret may lie across two pieces
                start += size if start + size == end else size - 100
print("searched", searched > 10_000_000)
for secret, places in sorted(found.items()):
    print("FOUND", secret, *sorted(places))
"""


def planted():
    return f"PLANTED-{secrets.token_hex(4)}"


def outputs(cells):
    found = [out.get("text", "") for cell in cells for out in cell.get("outputs", [])]
    errors = [out for cell in cells for out in cell.get("outputs", []) if "ename" in out]
    assert errors == []
    return "".join(found)


@pytest.mark.parametrize("sandboxed", [pytest.param(True, marks=needs_sandbox), False])
def test_a_workers_kernel_holds_none_of_the_graders_secrets(
    few_mistakes, tmp_path, monkeypatch, sandboxed
):
    course = replace(few_mistakes, class_folder=tmp_path)
    give_keys(course, EXERCISE.name)
    told = planted()
    hidden = {name: planted() for name in ("argv", "environ", "authkey", "key", "settings")}
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--db", f"postgresql://u:{hidden['argv']}@h/n"])
    monkeypatch.setenv("SOME_TOKEN", hidden["environ"])
    process = multiprocessing.current_process()
    monkeypatch.setitem(process._config, "authkey", hidden["authkey"].encode())
    # stands for seeds and expected values: it travels with them
    mistake = {"mistake_cells": {hidden["key"]: "cell"}, "mistake_functions": {hidden["key"]: "f"}}
    key = replace(answer_key(course, course.exercise(EXERCISE.name)), **mistake)
    settings = grading_settings(course)
    limits = replace(settings.limits, sandbox=sandboxed, cell_seconds=300, memory_mb=4000)
    settings = replace(settings, limits=limits, weights={hidden["settings"]: 1})
    cells = (SubmittedCell("code", f"mine = {told!r}"), SubmittedCell("code", SEARCH))
    task = GradingJob(EXERCISE.name, Submission("a", cells), own_key=key)
    with LocalPool({EXERCISE.name: key}, settings, workers=1) as pool:
        pool.start()
        try:
            graded = pool.submit(task).result()
        finally:
            pool.stop()
    text = outputs(graded.notebook.cells)
    assert "searched True" in text
    # else the search proves nothing
    assert f"FOUND {told} " in text and re.search(rf"{told} .*memory", text)
    assert [name for name, secret in hidden.items() if secret in text] == []
    assert text.count("FOUND") == 1


def test_a_kernel_that_this_process_starts_holds_none_either(monkeypatch):
    forkserver.server().end()
    secret = planted()
    monkeypatch.setenv("SOME_TOKEN", secret)
    monkeypatch.setattr(sys, "argv", [*sys.argv, secret])
    monkeypatch.setitem(multiprocessing.current_process()._config, "authkey", secret.encode())
    settings = grading_settings(COURSE)
    limits = replace(settings.limits, sandbox=not sandbox.why_not(), memory_mb=4000)
    with StudentKernel(replace(settings, limits=limits)) as kernel:
        reply = kernel.run(SEARCH, 300)
    text = outputs([{"outputs": reply.outputs}])
    assert "searched True" in text and "FOUND" not in text
