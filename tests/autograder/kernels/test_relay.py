"""What a kernel sends is bounded before the grader's libzmq takes it."""

import socket
import subprocess
import sys

import pytest
import zmq

from autograder.kernels.relay import GREETING, MAX_MESSAGE, MAX_PARTS, Relay
from autograder.package import PACKAGE_ROOT

SECONDS = 10


@pytest.fixture
def linked(tmp_path):
    """A kernel's socket, the grader's, and the relay between them."""
    context = zmq.Context()
    kernel, grader = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    kernel.bind(f"ipc://{tmp_path}/kernel")
    relay = Relay(tmp_path / "own", tmp_path / "kernel")
    grader.connect(f"ipc://{tmp_path}/own")
    grader.send(b"hello")
    assert kernel.poll(SECONDS * 1000)
    name, _ = kernel.recv_multipart()
    yield lambda *parts: kernel.send_multipart([name, *parts], copy=False), grader, relay
    relay.close()
    context.destroy(linger=0)


def received(grader):
    assert grader.poll(SECONDS * 1000)
    return grader.recv_multipart()


def test_messages_pass_both_ways_as_they_are(linked):
    send, grader, relay = linked
    for parts in ([b""], [b"a", b"", b"c" * 300], [b"x" * 1_000_000] * 3, [b"y"] * MAX_PARTS):
        send(*parts)
        assert received(grader) == parts
    assert not relay.dropped()


@pytest.mark.parametrize(
    "parts",
    [
        [bytes(MAX_MESSAGE + 1)],
        [bytes(MAX_MESSAGE // 2)] * 3 + [b"small"],
        [b"x"] * (MAX_PARTS + 1),
        [b""] * 50_000,
    ],
    ids=["a large part", "large parts", "many parts", "very many parts"],
)
def test_a_message_that_is_too_large_is_dropped_and_told(linked, parts):
    send, grader, relay = linked
    send(b"before")
    send(*parts)
    send(b"after")
    assert received(grader) == [b"before"]
    assert received(grader) == [b"after"]
    assert relay.dropped() and not relay.dropped()


@pytest.mark.parametrize("version", [0, 1], ids=["ZMTP 1", "ZMTP 2"])
def test_an_earlier_version_of_the_protocol_is_not_spoken(tmp_path, version):
    """Its frames are others, so their sizes could not be read."""
    kernel = socket.socket(socket.AF_UNIX)
    kernel.bind(str(tmp_path / "kernel"))
    kernel.listen()
    relay = Relay(tmp_path / "own", tmp_path / "kernel")
    grader = socket.socket(socket.AF_UNIX)
    grader.connect(str(tmp_path / "own"))
    grader.settimeout(SECONDS)
    ours, _ = kernel.accept()
    greeting = (b"\xff" + bytes(8) + b"\x7f" + bytes([version])).ljust(GREETING, b"\0")
    ours.sendall(greeting + b"\0\5after")
    found = b""
    while more := grader.recv(1000):
        found += more
    assert found == greeting
    relay.close()


MEASURE = """
import resource
from autograder.instructor_settings import Limits, Settings
from autograder.kernels import sandbox
from autograder.kernels.student_kernel import StudentKernel

code = '''
kernel = get_ipython().kernel
identity = kernel._shell_parent_ident.get()
identity = identity if isinstance(identity, list) else [identity]
stream = kernel.shell_stream
piece = bytes(30_000_000)
getattr(stream, "socket", stream).send_multipart([*identity, *[piece] * 20], copy=False)
'''
with StudentKernel(Settings(Limits(sandbox=not sandbox.why_not()))) as kernel:
    kernel.run("1", 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kernel.run(code, 20)
    assert kernel.run("print(1 + 1)", 20).outputs[0]["text"] == "2\\n"
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_message_of_many_parts_takes_little_memory_of_the_grader():
    """600 MB in a message, all of it one and the same 30 MB in the kernel."""
    command = [sys.executable, "-c", MEASURE]
    done = subprocess.run(command, cwd=PACKAGE_ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 150_000
