"""What is settled in a student's kernel before its first cell; it runs there, and needs nothing of this package.

- Leaving ends a cell and no more, as `sys.exit` does in a notebook: `quit`, `exit`, `os._exit` and signals to
  the own process, at once, in a thread, or from a timer. A process that ends after its reply would make the
  grade depend on when it does.
- `torch.compile` returns what it was given: what a compiler takes in time and tools, a grader hasn't got.
- Random numbers that nobody has seeded, `uuid` and `secrets` are the same each time, and `id` counts the
  addresses that it meets.
- Commands, as in `!ls` and `%pip`, run in pipes: IPython would ask for a terminal, and the sandbox has none.
- A magic that isn't here, or whose package isn't, is told and passed over: `%load_ext tensorboard` ends no cell.
- In a sandbox, or as a user of its own, a check that forbids something is alone: processes that a notebook has started
  before stand still, and its watcher lets none go on and no program start. What they call, nothing in this process can
  refuse; those that are forked meanwhile do.
- A thread gives way as soon as Python's do: one that doesn't would keep the kernel from answering in time.

Code that wants to end the process can still do it in C; `grade.kernel_run` deals with that.
"""

from __future__ import annotations

import _thread
import builtins
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn


def _signals(*names: str) -> set[int]:
    """The numbers of signals, of those that this system has."""
    return {getattr(signal, name) for name in names if hasattr(signal, name)}


# they end nothing
HARMLESS = {0} | _signals("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH")
# sent by timers, or by whoever asks politely; by default each of them ends the process
REQUESTS = _signals(*("SIGALRM", "SIGVTALRM", "SIGPROF", "SIGHUP", "SIGTERM", "SIGUSR1", "SIGUSR2"))

# in a request that forbids something, as `json.dumps` writes it: to read all of its inputs twice would take as long
# as many a check
FORBIDS = '"forbidden": ["'
# magics for what a student's computer may have and this one lacks
ABOUT_PACKAGES = {"load_ext", "reload_ext", "matplotlib", "conda", "mamba"}
# bytes between objects in memory
ALIGNMENT = 16

# characters of a command's output that are shown at a time
MAX_PIECE = 4096


def begin(
    load_checks: Callable[[str], Any],
    packed: str,
    package: str,
    seed: int,
    mime: str,
    is_apart: bool,
) -> None:
    """Load the runtime, settle what follows, and answer the grader's requests.

    packed: the runtime's sources, empty where it is there already; package: what `load_checks` makes of them; mime:
    of a reply; is_apart: whether other processes that it may signal are its own.
    """
    serving: Any = sys.modules.get("autograder.runtime.evaluate")
    if serving is None:
        load_checks(packed)
        serving = sys.modules[f"{package}.evaluate"]
    sys.path[:] = [path for path in sys.path if path] + ["."]
    get_shell = sys.modules["IPython"].get_ipython
    settle(get_shell(), seed)
    stop_others, let_others_go_on = _others()
    get_shell().events.register("pre_execute", let_others_go_on)

    class Reply:
        def __init__(self, text: str) -> None:
            self.text = text

        def __repr__(self) -> str:
            return "a reply to the grader"

        def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
            return {mime: self.text}

    def reply(request: str) -> Reply:
        if is_apart and FORBIDS in request:
            stop_others()
        else:
            let_others_go_on()
        # what a line is given is made under these settings, too
        with serving.usual_settings():
            found = serving.serve(request, get_shell().user_ns)
        return Reply(found)

    replying: Any = reply
    sys.modules["_autotest_reply"] = replying


def settle(shell: Any, seed: int) -> None:
    """Settle all of it. shell: IPython's; seed: of random numbers."""
    _leave_cells_only(shell)
    _seed(seed)
    _count_addresses()
    _run_commands_in_pipes(shell)
    _pass_over_missing_magics(shell)
    _let_threads_give_way()
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.compile = _not_compiled


def _leave(*_: Any, **__: Any) -> NoReturn:
    raise SystemExit


def _leave_cells_only(shell: Any) -> None:
    """Let nothing in Python end this process but an interrupt that nobody catches."""
    own = os.getpid()
    shell.ask_exit = _leave
    # it would stop the loop a moment later
    shell.unobserve_all("exit_now")

    def only_elsewhere(module: Any, name: str, is_meant: Callable[..., bool]) -> None:
        """Let a function raise SystemExit where it would end, stop or interrupt this process."""
        function = getattr(module, name, None)
        if function is None:
            # Windows has fewer
            return

        def called(*arguments: Any, **named: Any) -> Any:
            # a process that was forked from this one is its own
            if os.getpid() == own and is_meant(*arguments, *named.values()):
                raise SystemExit
            return function(*arguments, **named)

        setattr(module, name, called)

    def in_thread() -> bool:
        return threading.current_thread() is not threading.main_thread()

    def ends(number: int) -> bool:
        if number == signal.SIGINT:
            # a cell that interrupts itself ends; a thread would interrupt whatever runs by then
            return in_thread()
        return number not in HARMLESS and not callable(signal.getsignal(number))

    def is_own(process: int) -> bool:
        group = os.getpgrp() if hasattr(os, "getpgrp") else 0
        return process in (own, 0, -1, -group)

    only_elsewhere(os, "_exit", lambda *_: True)
    only_elsewhere(os, "abort", lambda *_: True)
    only_elsewhere(os, "kill", lambda process, number: is_own(process) and ends(number))
    only_elsewhere(os, "killpg", lambda group, number: is_own(-group) and ends(number))
    only_elsewhere(signal, "raise_signal", ends)
    only_elsewhere(signal, "pthread_kill", lambda thread, number: ends(number))
    only_elsewhere(_thread, "interrupt_main", lambda *_: in_thread())

    for number in REQUESTS:
        signal.signal(number, _no_effect)

    def as_elsewhere() -> None:
        for number in REQUESTS:
            if signal.getsignal(number) is _no_effect:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, REQUESTS)

    if hasattr(os, "register_at_fork"):
        # what is sent to a new process before it has its own handlers must not be lost
        os.register_at_fork(
            before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS),
            after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, REQUESTS),
            after_in_child=as_elsewhere,
        )


def _no_effect(number: int, frame: object) -> None:
    """Handle a signal; unlike SIG_IGN, a program that is started doesn't inherit it."""


def _seed(seed: int) -> None:
    """Seed the generators of Python, NumPy and torch, and those of NumPy that are made without a seed."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)
    # those that are made without a seed ask this for one
    entropy: Any = np.random.bit_generator
    entropy.randbits = random.Random(seed).getrandbits
    # what uuid, secrets and SystemRandom ask
    system: Any = random
    os.urandom = system._urandom = random.Random(seed).randbytes
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(seed)


def _count_addresses() -> None:
    """Let `id` tell two objects apart without their addresses, which are others each time."""
    python: Any = builtins
    address, met = id, dict[int, int]()
    # apart as objects in memory are, so that as many bits of it are zero
    python.id = lambda thing: met.setdefault(address(thing), ALIGNMENT * (len(met) + 1))


def _run_commands_in_pipes(shell: Any) -> None:
    def system(command: str) -> None:
        if command.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        piped: Any = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "stdin": subprocess.DEVNULL,
        }
        here, _, _ = sys.executable.rpartition(os.sep)
        piped["env"] = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = shell.var_expand(command, depth=1)
        with subprocess.Popen(command, shell=True, text=True, errors="replace", **piped) as process:
            printed: Any = process.stdout
            # in pieces, as a command may print more than there is memory
            for piece in iter(lambda: printed.read(MAX_PIECE), ""):
                print(piece, end="")
        shell.user_ns["_exit_code"] = process.returncode

    shell.system = system


def _pass_over_missing_magics(shell: Any) -> None:
    run, usage = shell.run_line_magic, sys.modules["IPython.core.error"].UsageError

    def run_line_magic(name: str, line: str, _stack_depth: int = 1) -> Any:
        try:
            # this function is one more on the way to a cell's names
            return run(name, line, _stack_depth=_stack_depth + 1)
        except Exception as error:
            if name not in ABOUT_PACKAGES and not isinstance(error, usage):
                raise
            print(f"%{name}: {error}", file=sys.stderr)
            return None

    shell.run_line_magic = run_line_magic


def _let_threads_give_way() -> None:
    python: Any = sys
    put, usual = sys.setswitchinterval, sys.getswitchinterval()
    python.setswitchinterval = lambda seconds: put(min(seconds, usual))


def _others() -> tuple[Callable[[], None], Callable[[], None]]:
    """What stops the other processes that this one may signal, but for a sandbox's first, and lets them go on."""
    look, kill, own, stopped = os.listdir, os.kill, {1, os.getpid()}, set[int]()

    def stop() -> None:
        stopped.clear()
        # until there is none that another has forked meanwhile
        while new := {int(name) for name in look("/proc") if name.isdigit()} - own - stopped:
            _signal(kill, new, signal.SIGSTOP)
            stopped.update(new)

    def let_go_on() -> None:
        _signal(kill, stopped, signal.SIGCONT)
        stopped.clear()

    return stop, let_go_on


def _signal(kill: Callable[[int, int], None], processes: set[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(process, number)


def _not_compiled(model: Any = None, **options: Any) -> Any:
    """torch.compile without a compiler: a function or module as it is, or the decorator that gives it."""
    return (lambda function: function) if model is None else model
