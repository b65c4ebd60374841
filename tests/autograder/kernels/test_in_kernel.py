"""What is settled in a student's kernel: leaving ends a cell, nothing is compiled, chance is the same each time."""

import time

import pytest

from autograder.instructor_settings import Settings
from autograder.kernels.student_kernel import StudentKernel
from autograder.lms.gradescope import packed_modules

ENDS = {
    "quit": "quit()",
    "exit without a call": "exit",
    "exit in a loop": "for _ in range(3):\n    exit(0)",
    "ask_exit": "get_ipython().ask_exit()",
    "exit_now": "get_ipython().exit_now = True",
    "SystemExit": "raise SystemExit(0)",
    "os._exit": "import os\nos._exit(1)",
    "os.abort": "import os\nos.abort()",
    "kill of itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "terminates itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "kills its group": "import os, signal\nos.killpg(0, signal.SIGKILL)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "raised signal": "import signal\nsignal.raise_signal(signal.SIGKILL)",
    "alarm": "import signal\nsignal.alarm(1)",
    "timer of the system": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.2)",
    "timer in a thread": "import os, threading\nthreading.Timer(0.2, os._exit, [1]).start()",
    "kill in a thread": (
        "import os, signal, threading, time\n"
        "def end():\n    time.sleep(0.3)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=end, daemon=True).start()"
    ),
    "interrupt in a thread": (
        "import _thread, threading\nthreading.Timer(0.05, _thread.interrupt_main).start()"
    ),
    "call_later of sys.exit": (
        "import asyncio, sys\nasyncio.get_event_loop().call_later(0.2, sys.exit)"
    ),
    "call_later of stop": (
        "import asyncio\nloop = asyncio.get_event_loop()\nloop.call_later(0.1, loop.stop)"
    ),
    "task that exits": (
        "import asyncio, sys\nasync def end():\n    await asyncio.sleep(0.1)\n    sys.exit()\n"
        "task = asyncio.get_event_loop().create_task(end())"
    ),
    "end in C": "import ctypes\nctypes.CDLL(None)._exit(1)",
    "end in C, later": (
        "import ctypes, threading\nthreading.Timer(0.2, ctypes.CDLL(None)._exit, [1]).start()"
    ),
    "segmentation fault": "import ctypes\nctypes.string_at(0)",
    "killed by a child": (
        "import subprocess\nsubprocess.Popen(['sh', '-c', 'sleep 0.2; kill -9 $PPID'])"
    ),
}
# nothing in Python can keep these from ending the process
REALLY = {"end in C", "end in C, later", "segmentation fault", "killed by a child"}
# their cell goes on; what they have started goes off later
LATER = {
    "exit_now",
    "terminates itself",
    "alarm",
    "timer of the system",
    "timer in a thread",
    "kill in a thread",
    "interrupt in a thread",
    "call_later of sys.exit",
    "call_later of stop",
    "task that exits",
}


@pytest.fixture(scope="module")
def kernel():
    with StudentKernel(Settings()) as started:
        yield started


def text(reply):
    return "".join(out.get("text", "") for out in reply.outputs)


@pytest.mark.parametrize("name", [name for name in ENDS if name not in REALLY])
def test_leaving_ends_a_cell_and_nothing_else(kernel, name):
    # IPython calls what stands alone in a cell
    code = ENDS[name] if name == "exit without a call" else f"{ENDS[name]}\nafter = {name!r}"
    reply = kernel.run(code, 20)
    assert reply.status == ("ok" if name in LATER else "error")
    done = kernel.run("print(globals().get('after'))", 20)
    assert done.status == "ok" and (name in text(done)) is (name in LATER)


def test_what_was_started_before_goes_off_without_effect(kernel):
    # an alarm is set for whole seconds
    time.sleep(1.1)
    assert kernel.run("1 + 1", 20).status == "ok"


def test_a_process_that_was_forked_from_the_kernel_ends_as_it_should(kernel):
    code = (
        "import multiprocessing, os, signal, time, warnings\n"
        # from Python 3.12 on, that a kernel has threads
        "warnings.filterwarnings('ignore', '.*multi-threaded', DeprecationWarning)\n"
        "fork = multiprocessing.get_context('fork')\n"
        "one = fork.Process(target=os._exit, args=(7,))\none.start()\none.join(10)\n"
        "other = fork.Process(target=time.sleep, args=(60,))\nother.start()\nother.terminate()\n"
        "other.join(10)\n"
        "third = os.fork()\nif third == 0:\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "print(one.exitcode, other.exitcode, os.waitpid(third, 0)[1])"
    )
    assert text(kernel.run(code, 40)).split()[-3:] == ["7", "-15", "9"]


def test_a_thread_gives_way_whatever_a_notebook_sets(kernel):
    code = "import sys\nfor s in (2, 1e-5):\n    sys.setswitchinterval(s)\n    print(round(sys.getswitchinterval(), 6))"
    assert text(kernel.run(code, 20)).split() == ["0.005", "1e-05"]


def test_nothing_is_compiled(kernel):
    code = (
        "import torch\n"
        "@torch.compile\ndef one(x):\n    return 2 * x\n"
        "@torch.compile(fullgraph=True)\ndef other(x):\n    return 3 * x\n"
        "layer = torch.nn.Linear(1, 1)\nlayer.compile()\nlayer(torch.ones(1))\n"
        "import sys\n"
        "print(one(2), other(2), torch.compile(layer) is layer, 'torch._dynamo.eval_frame' in sys.modules)"
    )
    assert text(kernel.run(code, 20)) == "4 6 True False\n"


def test_the_zip_for_gradescope_has_it():
    names = {path.name for path in packed_modules()}
    assert {"in_kernel.py", "settings.py", "without_outputs.py", "matching.py"} <= names


CHANCE = (
    "import random, numpy as np, torch\n"
    "print(random.random(), np.random.rand(), np.random.default_rng().random(), torch.rand(1).item(),"
    " list({'a', 'b', 'c', 'd'}))"
)


def test_what_nobody_has_seeded_is_the_same_in_each_kernel_of_a_seed():
    drawn = []
    for seed in (1, 1, 2):
        with StudentKernel(Settings(), seed=seed) as started:
            drawn.append(text(started.run(CHANCE, 20)).split())
    assert len(drawn[0]) == 8 and drawn[0] == drawn[1]
    assert not set(drawn[0][:4]) & set(drawn[2][:4])


# the lines of `%quickref` that need nothing from the network; what asks for input is refused in Jupyter, too
COMMANDS = """\
%load_ext no_such_extension | %no_such_magic | %matplotlib widget | %conda install numpy |
!ls | !no_such_program | !exit 3 | !python -c "print(1)" | !nvidia-smi | !pip --version |
!!ls | files = !ls | get_ipython().system("ls") | import os; os.system("ls") |
%pip --version | %pip install -q no-such-package-of-ours --no-index | %sx ls | %system ls |
%ls | %cat /etc/passwd | %mkdir -p here | %cd . | %pwd | %pushd . | %popd | %dirs | %env |
%env ONE=1 | %set_env TWO=2 | %who | %who_ls | %lsmagic | %magic | %quickref |
%time 1 + 1 | %timeit -n 1 -r 1 1 + 1 | %prun -q 1 + 1 | %matplotlib inline |
%config InlineBackend.figure_format = "retina" | %config | %load_ext autoreload |
%autoreload 2 | %precision 3 | %pprint | %colors nocolor | %xmode Plain | %xmode Context |
%automagic | %autocall | %alias | %rehashx | %history | %notebook here.ipynb | %logstate |
%pdb off | %pdoc print | %pdef print | %pinfo print | %psearch a* | print? | ?print | %tb |
%doctest_mode | %doctest_mode | %bookmark -l | %store | %recall 1 | %macro again 1 |
%save -f saved.py 1 | %run saved.py | %reset_selective -f nothing_of_this_name | %gui |
%connect_info | %unload_ext autoreload | %man ls | %clear | %uv --version
"""


def test_a_command_in_the_first_line_ends_no_cell():
    """A fresh kernel, since some of these change it."""
    with StudentKernel(Settings()) as kernel:
        failed = []
        for number, command in enumerate(COMMANDS.replace("\n", " ").split(" | ")):
            reply = kernel.run(f"{command.strip()}\nreached = {number}", 60)
            after = kernel.run("print(reached)", 20)
            if reply.status != "ok" or text(after).strip() != str(number):
                failed.append((command, reply.status, text(reply)[-300:], text(after)))
        assert not failed
        assert (
            text(kernel.run("word = 'two'\n!echo one $word {word}; exit 3", 20)) == "one two two\n"
        )
        assert text(kernel.run("print(_exit_code)", 20)) == "3\n"
        assert text(kernel.run('!python -c "import numpy; print(1)"', 20)) == "1\n"
        assert kernel.run("!head -c 300000000 /dev/full", 60).status == "ok"
        assert kernel.run("!sleep 1 &", 20).status == "error"
