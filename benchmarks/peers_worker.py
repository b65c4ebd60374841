"""Give answers to another grader, each in a process of its own. Run by `benchmarks.peers` in that grader's environment.

Reads from standard input JSON: {"grader": name, "seconds": of processor time for an answer, "jobs": [{"tasks", "code", "entries"}, ...]}. Prints
one line of JSON for each job: {"passed": whether the grader says so of all tasks, "failed": its own checks that failed}.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import re
import resource
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import torch

# where torch-judge keeps the outcome, in the folder of the process
PROGRESS = "progress.json"
WAITS = 30  # times the processor time of an answer
# a line of a check that failed: a cross or a collision, perhaps its number, its name, perhaps the reason
FAILED = re.compile(r"^\s*[❌💥]\s*(?:\[\d+/\d+\] )?(.*?)(?: — .*)?$")


def names_of(code: str) -> dict:
    """The names that an answer defines."""
    names = {"__name__": "answer", "torch": torch}
    exec(code, names)
    return names


def passes(grader: str, task: str, names: dict, entries: Sequence[str]) -> bool:
    """Whether the answer among some names passes a grader's task."""
    if grader == "torch-judge":
        # it finds the answer in the globals of the caller, and keeps the outcome in a file
        exec(f"from torch_judge import check\ncheck({task!r})", names)
        kept = json.loads(Path(PROGRESS).read_text(encoding="utf-8"))
        return kept[task]["status"] == "solved"
    from torchleet import check

    return check(task, **{name: names[name] for name in entries})


def ask(grader: str, job: dict) -> tuple[bool, str]:
    """What a grader says of an answer: whether it passes, and all that was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        names = names_of(job["code"])
        found = [passes(grader, task, names, job["entries"]) for task in job["tasks"]]
    return all(found), printed.getvalue()


def judge(grader: str, job: dict, seconds: int, reply: Connection) -> None:
    """In a process of its own, in a folder of its own."""
    # processor time, so that a busy machine makes no difference; the system ends who needs more
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        try:
            passed, printed = ask(grader, job)
        except Exception as error:
            reply.send({"passed": False, "failed": [f"{type(error).__name__}: {error}"]})
            return
        lines = re.sub(r"\x1b\[\d+m", "", printed).splitlines()
        failed = [found[1] for found in map(FAILED.match, lines) if found]
        reply.send({"passed": passed, "failed": failed})


def main() -> None:
    """Answer all jobs, in order."""
    request = json.load(sys.stdin)
    # read when it is imported, which is done here once, so that every process has it
    os.environ["PROGRESS_PATH"] = PROGRESS
    __import__({"torch-judge": "torch_judge", "torchleet": "torchleet"}[request["grader"]])
    context = multiprocessing.get_context("fork")
    for job in request["jobs"]:
        here, there = context.Pipe(duplex=False)
        process = context.Process(
            target=judge, args=(request["grader"], job, request["seconds"], there)
        )
        process.start()
        there.close()
        verdict = {"passed": False, "failed": ["no verdict in time"]}
        # what waits for ever needs no processor time
        if here.poll(WAITS * request["seconds"]):
            with contextlib.suppress(EOFError):
                verdict = here.recv()
        process.kill()
        process.join()
        print(json.dumps(verdict), flush=True)


if __name__ == "__main__":
    main()
