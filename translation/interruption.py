"""How a run ends before its time: Ctrl-C, and the SIGTERM that a scheduler or torchrun sends."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(Exception):
    """Training was interrupted and has left a checkpoint."""


class Interrupted(KeyboardInterrupt):
    """Work that is done again when the run goes on was left in the middle.

    It is no Exception, so that a library that goes on after errors, as a compiler does, doesn't take it
    for one.
    """


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Let Ctrl-C end the process also where nothing of Python runs for long; nothing is told then.

    Otherwise Python would look at the signal only after that, and at a second one, too.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Interruption:
    """While it is entered, a signal only notes that somebody asks to stop, except in work that can be left.

    A second signal ends the process where it is, also in code that isn't Python's; not with several
    processes, where torchrun passes one on more than once.

    Args:
        alone: whether this is the only process. Several of them must stop after the same step, so that
            only what a process does without the others can be left.
    """

    def __init__(self, alone: bool) -> None:
        self.alone = alone
        self.asked = False
        self._can_leave = False

    def __enter__(self) -> Interruption:
        self.asked = False
        self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def can_leave(self, together: bool) -> Iterator[None]:
        """Let a signal leave this work at once.

        Args:
            together: whether the processes work together here, so that one of several can't leave.

        Raises:
            Interrupted: a signal came, now or before.
        """
        self._can_leave = self.alone or not together
        try:
            if self.asked and self._can_leave:
                raise Interrupted
            yield
        finally:
            self._can_leave = False

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self.alone:
            for one in SIGNALS:
                signal.signal(one, signal.SIG_DFL)
        if self._can_leave:
            self._can_leave = False
            raise Interrupted
