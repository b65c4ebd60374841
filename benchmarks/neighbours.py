"""What an attack on a class costs the others: each is graded beside an honest student, with two workers.

python -m benchmarks.neighbours
python -m benchmarks.neighbours --only "busy processes" "many parts"

Each attack is a right submission that does harm beside its answers, in the size in which it once did: it took
an honest student's points, the grader's memory or its time. Then both feedback pages are written. Told are the
honest student's points, what the attack displayed last, the largest memory of the coordinating process and
of any worker of the grader, and seconds. Each has a class of its own, on the same seeds; the first has no attack.
"""

from __future__ import annotations

import argparse
import base64
import functools
import json
import multiprocessing
import re
import shutil
import struct
import tempfile
import textwrap
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from autograder.course import Course, Exercise
from autograder.exercises import answer_cell, reference_answers, solved
from autograder.grade.feedback import write_feedback
from autograder.grade.grade_class import Grader, WorkerOptions
from autograder.grade.gradebook import Recorder, autograded_notebook, register, stored_result
from autograder.kernels.processor_time import descendants

EXERCISE = "ch2_scaled_dot_product"
HONEST, ATTACKER = "honest", "attacker"
WORKERS, LOOK_SECONDS = 2, 0.05
# what the command of a process says whose memory is the grader's own, and not a student's kernel's
OURS = (b"multiprocessing.spawn", b"multiprocessing.forkserver")


@dataclass(frozen=True)
class Harm:
    """An attack: change makes it of a right notebook; files beside it; limits: a class's own, by name."""

    change: Callable[[NotebookNode], None] = lambda _: None
    files: dict[str, bytes] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)


def _code(code: str, times: int = 1, first: bool = False) -> Callable[[NotebookNode], None]:
    """So many cells of code at the end, or before the first answer."""

    def change(notebook: NotebookNode) -> None:
        cells = [new_code_cell(textwrap.dedent(code).strip()) for _ in range(times)]
        place = notebook.cells.index(answer_cell(notebook)) if first else len(notebook.cells)
        notebook.cells[place:place] = cells

    return change


def _markdown(text: str, times: int) -> Callable[[NotebookNode], None]:
    """So many cells of text at the end."""
    return lambda notebook: notebook.cells.extend(new_markdown_cell(text) for _ in range(times))


def _formatting(marks: int, paragraphs: int) -> str:
    """HTML in which each paragraph opens all marks again."""
    return "<p>" + "".join(f"<b a={n}>" for n in range(marks)) + "<p>x" * paragraphs


def _picture(side: int) -> str:
    """A small file of a picture of so many pixels in each direction, in black, for a message."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((1 + side // 8) * side), 9)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", rows), chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


@functools.cache
def attacks() -> dict[str, Harm]:
    """All attacks by name."""
    return {
        "none": Harm(),
        "busy processes": Harm(
            _code(
                """
                import subprocess, time
                busy = ["/bin/sh", "-c", "while :; do :; done"]
                started = [subprocess.Popen(busy, start_new_session=True) for _ in range(100)]
                time.sleep(28)
                """,
                first=True,
            )
        ),
        "HTML opened again": Harm(
            _code(
                f"""
                from IPython.display import HTML, display
                display(HTML({_formatting(900, 2400)!r}))
                """,
                times=8,
            )
        ),
        "Markdown opened again": Harm(_markdown(_formatting(450, 1000), times=12)),
        "many parts": Harm(
            _code(
                """
                import time
                kernel = get_ipython().kernel
                ident, piece = kernel._shell_parent_ident.get(), bytes(45_000_000)
                ident = ident if isinstance(ident, list) else [ident]
                socket = getattr(kernel.shell_stream, "socket", kernel.shell_stream)
                socket.send_multipart([*ident, *[piece] * 30], copy=False)
                time.sleep(8)
                """
            )
        ),
        "buffers of sockets": Harm(
            _code(
                """
                import subprocess, sys, time
                code = '''
                import contextlib, socket, time
                pairs, held = [], 0
                with contextlib.suppress(OSError):
                    while held < 1_000_000_000:
                        pairs.append(socket.socketpair())
                        for end in pairs[-1]:
                            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000_000)
                            end.setblocking(False)
                            with contextlib.suppress(BlockingIOError):
                                while held < 1_000_000_000:
                                    held += end.send(bytes(200_000))
                print(held, flush=True)
                time.sleep(8)
                '''
                command = [sys.executable, "-I", "-S", "-c", code]
                started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(5)]
                print([int(one.stdout.readline()) for one in started])
                time.sleep(4)
                """
            )
        ),
        "files beside it": Harm(
            files={f"{number}.bin": bytes(5_000_000) for number in range(20)},
            limits={"disk_mb": 90},
        ),
        "sockets of the host": Harm(
            _code(
                """
                import socket, time
                with socket.socket(socket.AF_VSOCK) as own:
                    own.bind((socket.VMADDR_CID_ANY, 5158))
                    print("GOT the port")
                    time.sleep(6)
                """
            )
        ),
        "large pictures": Harm(
            _code(
                f"""
                from IPython.display import publish_display_data
                for _ in range(20):
                    publish_display_data({{"image/png": {_picture(14_000)!r}}})
                """
            )
        ),
    }


def hand_in(course: Course, exercise: Exercise, student: str, harm: Harm) -> None:
    """Lay a submission into a class."""
    notebook = solved(exercise, reference_answers(exercise))
    harm.change(notebook)
    folder = course.submitted / student / exercise.name
    folder.mkdir(parents=True)
    (folder / f"{exercise.name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    for name, content in harm.files.items():
        (folder / name).write_bytes(content)


def grade(root: Path, folder: Path, limits: dict[str, int]) -> None:
    """In a process of its own: grade both as a class, and write their feedback."""
    course = Course(root, class_folder=folder)
    exercise = course.exercise(EXERCISE)
    register(course, exercise)
    grader = Grader(course)
    own = grader.settings
    grader.settings = replace(own, limits=replace(own.limits, **limits))
    grader.prepare([exercise])
    with Recorder(course) as recorder:
        work = [(student, exercise) for student in (ATTACKER, HONEST)]
        for graded in grader.examine(work, WorkerOptions(WORKERS), "Grading"):
            recorder.record(graded)
    results = [stored_result(course, student, exercise.name) for student in (ATTACKER, HONEST)]
    write_feedback(course, [result for result in results if result])


def peaks(coordinator: int) -> dict[str, int]:
    """By process of the grader, the largest memory that it has had so far, in bytes."""
    found = {}
    for name, _ in descendants(coordinator):
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
            status = Path(f"/proc/{name}/status").read_text()
        except OSError:
            continue
        most = re.search(r"VmHWM:\s+(\d+)", status)
        if most and any(part in command for part in OURS):
            found[name] = 1000 * int(most[1])
    return found


def measured(course: Course, harm: Harm) -> dict:
    """What a class of two gets, and what it takes."""
    exercise = course.exercise(EXERCISE)
    hand_in(course, exercise, ATTACKER, harm)
    hand_in(course, exercise, HONEST, Harm())
    apart = multiprocessing.get_context("spawn")
    process = apart.Process(target=grade, args=(course.root, course.home, harm.limits))
    begun, most = time.monotonic(), dict[str, int]()
    process.start()
    while process.is_alive():
        for name, memory in peaks(process.pid or 0).items():
            most[name] = max(memory, most.get(name, 0))
        process.join(LOOK_SECONDS)
    coordinator = most.pop(str(process.pid))
    results = [stored_result(course, student, exercise.name) for student in (HONEST, ATTACKER)]
    page = course.feedback / ATTACKER / exercise.name / f"{exercise.name}.html"
    honest, attacker = results
    notebook = autograded_notebook(course, ATTACKER, exercise.name)
    outputs = [
        output
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        if "nbgrader" not in cell["metadata"]
        for output in cell.get("outputs", [])
    ]
    return {
        "honest": honest.score if honest else None,
        "of": honest.points if honest else None,
        "attacker": attacker.score if attacker else None,
        "remarks": sorted(one.kind for result in results if result for one in result.remarks),
        "coordinator_mb": round(coordinator / 1e6),
        "worker_mb": round(max(most.values(), default=0) / 1e6),
        "page_mb": round(page.stat().st_size / 1e6, 1) if page.is_file() else None,
        "seconds": round(time.monotonic() - begun, 1),
        "ended": process.exitcode,
        "displayed": str(outputs[-1])[:120] if outputs else "",
    }


def main(names: Sequence[str]) -> None:
    """Measure the attacks of some names, and print each."""
    root, known = Course.find().root, attacks()
    with tempfile.TemporaryDirectory() as folder:
        first = Course(root, class_folder=Path(folder) / "first")
        first.home.mkdir()
        # the seeds and what is expected, for all classes
        Grader(first).prepare([first.exercise(EXERCISE)])
        for number, name in enumerate(names):
            course = Course(root, class_folder=Path(folder) / str(number))
            shutil.copytree(first.home, course.home)
            print(f"{name}: {measured(course, known[name])}", flush=True)
            shutil.rmtree(course.home)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--only", nargs="+", default=list(attacks()), choices=list(attacks()))
    main(parser.parse_args().only)
