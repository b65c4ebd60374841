"""The sandbox: what it keeps a kernel from, and that attacks would get something without it."""

import contextlib
import dataclasses
import mmap
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from audit_cases.sandbox_attacks import SANDBOX_ATTACKS
from autograder.audit.leftovers import LEFT_BEHIND, left_running
from autograder.errors import SandboxError
from autograder.instructor_settings import Limits, Settings
from autograder.kernels import linux, sandbox, seccomp
from autograder.kernels.student_kernel import StudentKernel
from autograder.kernels.watcher import private_memory
from autograder.package import PACKAGE_ROOT as ROOT
from tests.support.needs import needs_fork_server, needs_root, needs_sandbox

PRELUDE = "import os, signal, sys, threading, time\nimport numpy as np\nexercise = 'ch2_scaled_dot_product'"
# what they get without a sandbox; the others would harm the machine, or get it as root alone
GETS_WITHOUT = (
    "the repository looked through",
    "other processes listed",
    "other processes' memory",
    "signals to everybody",
    "a connection to this machine",
    "files among the grader's sockets",
    "a message for the next kernel",
    "passwords",
    "system calls that lead out",
)

# what the limit of memory ends, though no thread shows it any more
BY_MEMORY = "memory of processes whose first thread has ended"

SANDBOXED = Settings(Limits(notebook_seconds=60, sandbox=True))
UNPROTECTED = Settings(Limits(sandbox=False))


@pytest.fixture(scope="module")
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server


def limited(**limits):
    """SANDBOXED with other limits."""
    return Settings(dataclasses.replace(SANDBOXED.limits, **limits))


def told(code, kernel):
    reply = kernel.run(code, 20)
    return "".join(
        out.get("text", "") + "\n".join(out.get("traceback", [])) for out in reply.outputs
    )


def attack(name, listener, kernel):
    port = listener.getsockname()[1] if listener else 0
    code = SANDBOX_ATTACKS[name].format(root=str(ROOT), port=port, left=LEFT_BEHIND)
    assert kernel.run(PRELUDE, 20).status == "ok"
    return told(textwrap.dedent(code).strip(), kernel)


@needs_sandbox
@pytest.mark.parametrize("name", SANDBOX_ATTACKS)
def test_an_attack_on_the_machine_gets_nothing(name, listener):
    with StudentKernel(SANDBOXED) as kernel:
        text = attack(name, listener, kernel)
        assert kernel.limit == "memory" or name != BY_MEMORY
    # as a line of its own: a traceback quotes the code that would have printed it
    assert not any(line.startswith("GOT") for line in text.split("\n")), text
    # it did not fail before it tried
    assert "NameError" not in text and "SyntaxError" not in text and "IndexError" not in text, text
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert left_running() == set()


@needs_sandbox
def test_nothing_is_left_for_the_next_kernel(listener):
    for _ in range(2):
        with StudentKernel(SANDBOXED) as kernel:
            assert "GOT" not in attack("a message for the next kernel", listener, kernel)
            assert "GOT" not in attack("poisoned settings", listener, kernel)


@pytest.mark.parametrize("name", GETS_WITHOUT)
def test_the_attack_would_get_something_without_a_sandbox(name, listener):
    with StudentKernel(UNPROTECTED) as kernel:
        text = attack(name, listener, kernel)
        if name == "a message for the next kernel":
            text = attack(name, listener, kernel)
            told(
                "import ctypes; c = ctypes.CDLL(None); c.shmctl(c.shmget(0x5157, 0, 0), 0, None)",
                kernel,
            )
            for place in ("/dev/shm/message", "/tmp/message", "/var/tmp/message"):
                Path(place).unlink(missing_ok=True)
        if name == "a connection to this machine":
            listener.accept()[0].close()
    assert "GOT" in text


@needs_sandbox
def test_the_tables_of_a_processs_pages_count_as_its_memory():
    """All that is read here is one page of zeros, and a table for each two megabytes of it."""
    size, step = 1 << 30, 1 << 21
    before = private_memory(Path("/proc/self"))
    with mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ) as mapped:
        mapped.madvise(mmap.MADV_NOHUGEPAGE)
        assert not any(mapped[place] for place in range(0, size, step))
        assert private_memory(Path("/proc/self")) - before > size // step * mmap.PAGESIZE * 0.9


HEADERS = (
    Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    Path("/usr/include/asm-generic/unistd.h"),
)


@pytest.mark.parametrize("column", [0, 1], ids=["x86-64", "aarch64"])
def test_refused_system_calls_have_their_numbers_in_the_systems_headers(column):
    if not HEADERS[column].exists():
        pytest.skip(f"no {HEADERS[column]}")
    text = HEADERS[column].read_text()
    flagged = {name: numbers for name, (numbers, _, _) in seccomp.REFUSED_FLAGS.items()}
    flagged |= {**seccomp.SOCKETS, "setsockopt": seccomp.SET_OPTION}
    flagged |= {name: numbers for name, (numbers, *_) in seccomp.REFUSED_VALUES.items()}
    setting = {name: numbers for name, (numbers, _) in seccomp.REFUSED_UNLESS_NULL.items()}
    for name, numbers in {**seccomp.REFUSED_CALLS, **flagged, **setting}.items():
        assert re.search(rf"#define __NR(3264)?_{name}\s+{numbers[column]}\n", text), name


SOCKETS = """
import socket, sys
from autograder.kernels import linux, seccomp
linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
if sys.argv[1] != "unfiltered":
    seccomp.refuse_system_calls(network=sys.argv[1] == "network")
for family in range(1, 50):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        print(family, end=" ")
        break
one, other = socket.socketpair()
one.send(b"x")
before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, before // 4)
one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
kept = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before
print(other.recv(1) == b"x", kept, one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
"""
FAMILIES = {"network": "1 2 10 16 True True 1\n", "local": "1 True True 1\n"}


@needs_fork_server
@pytest.mark.parametrize("which", FAMILIES)
def test_sockets_are_local_or_of_a_network_namespace_and_their_buffers_stay(which):
    """AF_VSOCK, for example, is one space of ports for all sandboxes and the machine that hosts them."""

    def made(which):
        command = [sys.executable, "-c", SOCKETS, which]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout

    families, _, _ = made("unfiltered").partition(" True False")
    if not set(families.split()) - {"1", "2", "10", "16"}:
        pytest.skip("this system offers no other sockets")
    assert made(which) == FAMILIES[which]


def test_every_kernel_has_a_session_keyring_of_its_own():
    number = linux.KEYCTL[os.uname().machine]
    code = f"import ctypes; print(ctypes.CDLL(None).syscall({number}, 0, -3, 0))"

    def own():
        with StudentKernel(UNPROTECTED) as kernel:
            return int(told(code, kernel))

    ours = int(subprocess.check_output([sys.executable, "-c", code]))
    if ours < 0:
        pytest.skip("keyrings can't be used here")
    assert len({ours, own(), own()}) == 3


@needs_sandbox
def test_a_kernel_and_what_it_starts_are_filtered():
    code = (
        "import subprocess\n"
        "for who in (open('/proc/self/status').read(),"
        " subprocess.run(['cat', '/proc/self/status'], capture_output=True, text=True).stdout):\n"
        "    print([line for line in who.split('\\n') if line.startswith('Seccomp:')])"
    )
    with StudentKernel(SANDBOXED) as kernel:
        assert told(code, kernel) == "['Seccomp:\\t2']\n" * 2


@needs_sandbox
def test_honest_work_finds_what_it_needs():
    code = """
    import getpass, os, pathlib, subprocess, sys, tempfile, matplotlib, torch, sacrebleu
    import matplotlib.pyplot as plt
    print(open("data.csv").read(), getpass.getuser(), pathlib.Path.home().is_dir())
    plt.plot([1, 2]); plt.savefig("figure.png")
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("x" * 1000)
    print(subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout)
    print(torch.randn(500, 500).mm(torch.randn(500, 500)).shape, os.listdir("."), open("/dev/urandom", "rb").read(1) != b"")
    import ctypes, multiprocessing, threading
    for method in ("fork", "forkserver", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(abs, [-1, -2]))
    thread = threading.Thread(target=print, args=("from a thread",))
    thread.start(); thread.join()
    shared = torch.zeros(3).share_memory_()
    counter = multiprocessing.Value("i", 0)
    context = torch.multiprocessing.get_context("fork")
    process = context.Process(target=lambda: (shared.add_(2), setattr(counter, "value", 5)))
    process.start(); process.join()
    print("shared", shared.tolist(), counter.value)
    print("loaded", len(list(torch.utils.data.DataLoader(list(range(8)), num_workers=2))))
    print("called back", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x + 1)(6))
    """
    with StudentKernel(SANDBOXED, {"data.csv": b"1,2"}) as kernel:
        text = told(textwrap.dedent(code), kernel)
    found = ["1,2 student True", "42", "[500, 500]", "'figure.png'", "fork [1, 2]", "spawn [1, 2]"]
    found += ["forkserver [1, 2]", "from a thread", "shared [2.0, 2.0, 2.0] 5", "loaded 8"]
    for words in [*found, "called back 7"]:
        assert words in text, text


@needs_sandbox
def test_too_much_memory_ends_a_kernel_with_its_reason():
    code = """
    import os, time
    import numpy as np
    for _ in range(3):
        if os.fork() == 0:
            piece = np.ones(120_000_000)
            time.sleep(30)
    time.sleep(20)
    """
    with StudentKernel(SANDBOXED) as kernel:
        reply = kernel.run(textwrap.dedent(code), 20)
        assert reply.status == "dead" and kernel.limit == "memory"


@needs_sandbox
def test_buffers_of_sockets_count_as_memory():
    with StudentKernel(limited(memory_mb=500)) as kernel:
        text = attack("memory in buffers of sockets", None, kernel)
        assert (kernel.dead, kernel.limit, text) == (True, "memory", "")


@needs_sandbox
def test_files_in_shared_memory_count_as_memory():
    code = """
    import os, time
    import numpy as np
    own = open("/proc/self/status").read().split("RssAnon:")[1].split()[0]
    # after the fork both have what this process has now
    each = 425_000_000 - 1024 * int(own)
    end, filled = os.pipe()
    child = os.fork()
    piece = np.ones(each, dtype=np.uint8)
    if child == 0:
        os.write(filled, b".")
        time.sleep(60)
    os.read(end, 1)
    """
    write = "open('/dev/shm/much', 'wb').write(bytes(95_000_000)); time.sleep(1); print('alive')"
    with StudentKernel(limited(memory_mb=1000)) as kernel:
        assert kernel.run(textwrap.dedent(code), 20).status == "ok"
        assert told(write, kernel) == "alive\n"
        reply = kernel.run(write.replace("much", "more"), 20)
        assert reply.status == "dead" and kernel.limit == "memory"


@needs_sandbox
@pytest.mark.parametrize(
    "code",
    [
        "os.memfd_create('mine')",
        "mmap.mmap(-1, 4096)",
        "os.open('/dev/zero', os.O_RDWR)",
        "found = libc.shmget(0, 4096, 0o600); assert libc.shmctl(found, 0, None) == 0",
        "found = libc.semget(0, 1, 0o600); assert libc.semctl(found, 0, 0) == 0",
        "found = libc.msgget(0, 0o600); assert libc.msgctl(found, 0, None) == 0",
    ],
)
def test_memory_that_cannot_be_counted_is_refused(code):
    code = f"import ctypes, mmap, os\nlibc = ctypes.CDLL(None)\n{code}"
    with StudentKernel(SANDBOXED) as kernel:
        assert kernel.run(code, 20).status == "error"
    with StudentKernel(UNPROTECTED) as kernel:
        assert kernel.run(code, 20).status == "ok"


@needs_sandbox
def test_too_much_computing_ends_a_kernel_with_its_reason():
    with StudentKernel(limited(notebook_seconds=2)) as kernel:
        reply = kernel.run("while True:\n    pass", 30)
        assert reply.status == "dead" and kernel.limit == "time"


@needs_sandbox
def test_an_interrupt_reaches_the_kernel_and_it_goes_on():
    with StudentKernel(SANDBOXED) as kernel:
        reply = kernel.run("import time\ntime.sleep(60)", 1)
        assert reply.status == "timeout"
        assert told("print(1 + 1)", kernel) == "2\n"


OUTLIVING = """
import ctypes, os, time
# neither the end of a parent nor that of a session is to reach this process or its child
assert ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0
if os.fork() == 0:
    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
    os.setsid()
    time.sleep(300)
"""


def in_sandbox(watcher):
    """The processes in the PID namespace that a watcher has made."""
    found, namespace = [], None
    for process in [Path(f"/proc/{watcher}"), *Path("/proc").glob("[0-9]*")]:
        with contextlib.suppress(OSError):
            if namespace is None:
                namespace = (process / "ns/pid_for_children").readlink()
            elif (process / "ns/pid").readlink() == namespace:
                found.append(process)
    return found


def running(processes):
    """Those of some processes that still run, given a moment to end."""
    left = list(processes)
    for _ in range(50):
        left = [path for path in left if path.exists()]
        if left:
            time.sleep(0.1)
    return left


@needs_sandbox
@needs_root
@pytest.mark.parametrize("killed", ["grader", "watcher"])
def test_a_kernel_does_not_outlive(killed):
    code = (
        "import time\nfrom autograder.kernels.student_kernel import StudentKernel\n"
        "from tests.autograder.kernels.test_sandbox import OUTLIVING, SANDBOXED\n"
        "with StudentKernel(SANDBOXED) as kernel:\n    assert kernel.run(OUTLIVING, 20).status == 'ok'\n"
        "    print(kernel._manager.provisioner.pid, flush=True)\n    time.sleep(60)"
    )
    command = [sys.executable, "-c", code]
    grader = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    watcher = int(grader.stdout.readline())
    processes = in_sandbox(watcher)
    assert len(processes) == 3
    if killed == "grader":
        grader.kill()
    else:
        os.kill(watcher, signal.SIGKILL)
    assert running([*processes, Path(f"/proc/{watcher}")]) == []
    grader.kill()
    grader.wait()


@needs_sandbox
def test_the_first_process_is_out_of_reach():
    code = """
    import ctypes, os, signal
    for path in ("maps", "mem", "environ", "root", "cwd", "fd", "ns/pid"):
        try:
            print("GOT", path, os.listdir(f"/proc/1/{path}") if path == "fd" else
                  os.readlink(f"/proc/1/{path}") if path in ("root", "cwd", "ns/pid") else
                  open(f"/proc/1/{path}").read(1))
        except OSError:
            pass
    if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0:
        print("GOT a trace")
    for number in set(signal.Signals) - {signal.SIGINT}:
        try:
            os.kill(1, number)
        except OSError:
            pass
    print("alive")
    """
    with StudentKernel(SANDBOXED) as kernel:
        assert told(textwrap.dedent(code), kernel) == "alive\n"
        assert told("print(os.getppid())", kernel) == "1\n"


def test_output_is_cut_at_its_limit():
    with StudentKernel(Settings(Limits(output_characters=100))) as kernel:
        assert told("print('x' * 1000)", kernel).startswith("x" * 100 + "...")
        assert told("print('y' * 80)", kernel) == "y" * 80 + "\n"


# after the fork both processes have what the first one has
TWICE_500_MB = """
import os, time
import numpy as np
much = np.ones(40_000_000)
child = os.fork()
time.sleep(0.5)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""


@needs_sandbox
def test_limits_reach_the_sandbox():
    low = limited(memory_mb=800, disk_mb=20)
    with StudentKernel(low) as kernel:
        assert "No space left" in told(
            "open('long', 'wb').write(bytes(19_000_000))\n"
            "open('/tmp/more', 'wb').write(bytes(2_000_000))",
            kernel,
        )
        code = "import os\nos.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 20_000_001)"
        assert "File too large" in told(code, kernel)
        reply = kernel.run(TWICE_500_MB, 20)
        assert reply.status == "dead" and kernel.limit == "memory"
    with StudentKernel(SANDBOXED) as kernel:
        assert kernel.run(TWICE_500_MB, 20).status == "ok"


def test_without_a_sandbox_it_is_said_or_refused(capsys):
    sandbox.warn("no reason", required=False)
    assert capsys.readouterr().err.startswith("NOT SANDBOXED (no reason)")
    with pytest.raises(SandboxError, match="--require-sandbox"):
        sandbox.warn("no reason", required=True)


@pytest.mark.parametrize(
    ("status", "printed", "told", "failed"),
    [
        (0, ("works, in a control group", ""), "", False),
        (0, ("", "unshare: not permitted"), "unshare: not permitted", False),
        (0, ("failed", "too low"), "too low", True),
        (1, ("", "Traceback\nOSError: no folder"), "OSError: no folder", True),
        (-11, ("", ""), "its trial ended without a word", True),
    ],
)
def test_a_trial_that_fails_by_itself_is_no_system_without_sandboxes(
    monkeypatch, status, printed, told, failed
):
    done = subprocess.CompletedProcess([], status, *printed)
    monkeypatch.setattr(sandbox, "_tried", lambda: done)
    assert (sandbox.why_not(), sandbox.has_failed()) == (told, failed)


@needs_sandbox
def test_where_a_machine_allows_less_a_sandbox_has_less():
    limits = "ulimit -n 64 -u 20 -v 2000000 -t 60 -c 0"
    command = f"{limits} && exec {sys.executable} -m autograder.kernels.sandbox"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("works") and not done.stderr


@pytest.mark.parametrize("name", sandbox.FORBIDDING)
def test_where_a_system_forbids_namespaces_it_is_said_what_to_do(name, tmp_path):
    forbidding, advice = sandbox.FORBIDDING[name]
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(f"{forbidding}\n")
    assert sandbox.way_out(tmp_path).startswith(advice) and "sudo sysctl" in advice
    path.write_text("7\n")
    assert "container" in sandbox.way_out(tmp_path)


def test_the_protections_are_told_with_their_limits():
    told = sandbox.protections(Limits(memory_mb=777, disk_mb=55))
    named = ("namespaces", "filter of system calls", "keyring", "777 MB", "55 MB", "open files")
    assert [words for words in named if words not in told] == []


AS_ANOTHER = """
import sys, textwrap
from autograder.kernels import sandbox
from autograder.kernels.student_kernel import StudentKernel
from autograder.kernels.watcher import private_memory
from tests.autograder.kernels.test_sandbox import PRELUDE, SANDBOXED, attack, told
import os
import socket
import stat
print("why not", repr(sandbox.why_not()))
with socket.create_server(("127.0.0.1", 0)) as listener:
    for name in ("the repository looked through", "a connection to this machine", "a fork storm",
                 "other processes listed", "more privileges", "memory in many processes",
                 "a disk of its own", "every disk filled",
                 "memory in files without a name", "memory in System V segments",
                 "memory in shared mappings, mostly unmapped",
                 "memory of processes whose first thread has ended"):
        with StudentKernel(SANDBOXED, {"data.csv": b"1,2"}) as kernel:
            print(name, attack(name, listener, kernel), kernel.limit)
with StudentKernel(SANDBOXED, {"data.csv": b"1,2"}) as kernel:
    print(told("import os; print(open('data.csv').read(), os.getuid())", kernel))
"""


@needs_sandbox
@needs_root
def test_an_ordinary_users_kernels_have_a_sandbox_too():
    if not all(folder.stat().st_mode & stat.S_IXOTH for folder in ROOT.parents):
        pytest.skip("this repository lies in a folder that others may not open")
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o777)
        # this Python may be root's alone; the system's, with the same packages, is everybody's
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        if not Path("/usr/bin", version).exists():
            pytest.skip("there is no Python that others may run")
        make = [f"/usr/bin/{version}", "-m", "venv", "--without-pip", f"{home}/venv"]
        subprocess.run(make, check=True)
        packages = Path(home, "venv", "lib", version, "site-packages", "shared.pth")
        packages.write_text(sysconfig.get_paths()["purelib"])
        done = subprocess.run(
            [f"{home}/venv/bin/python", "-c", AS_ANOTHER],
            user=1500,
            group=1500,
            extra_groups=[],
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": home},
            cwd="/tmp",
            capture_output=True,
            text=True,
            check=False,
        )
    if "why not 'unshare" in done.stdout:
        pytest.skip("this system lets root alone have namespaces")
    assert "why not ''" in done.stdout, done.stdout + done.stderr
    assert "GOT" not in done.stdout, done.stdout
    for name in ("memory in many processes", "memory of processes whose first thread has ended"):
        assert f"{name}  memory" in done.stdout, done.stdout
    assert "1,2 1500" in done.stdout, done.stdout + done.stderr
