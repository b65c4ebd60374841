"""Between a student's kernel and the grader: what the kernel sends is bounded before libzmq takes it.

libzmq hands a message over when it is complete, and limits the size of a part only; a message of many parts takes
as much memory as its sender likes. So the grader's sockets connect to this relay, which reads ZMTP 3 frames
from the kernel's. A message that is too large is read to its end and dropped.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from typing import BinaryIO

# Bytes and parts of a message that is passed on. A reply of right answers takes less than a tenth.
MAX_MESSAGE, MAX_PARTS = 40_000_000, 200
# the first bytes of a connection: how they begin, and where the version of the protocol stands
GREETING, SIGNED, VERSION = 64, 0xFF, 10
CHUNK = 1 << 16
# flags of a frame: another part follows, and its length has eight bytes
MORE, LONG = 1, 2


class Relay:
    """Passes bytes on between a listening address and a kernel's socket.

    own: the address that the grader connects to, a path that doesn't exist yet; theirs: the kernel's socket.
    """

    def __init__(self, own: Path, theirs: Path) -> None:
        self._theirs = str(theirs)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(own))
        self._listener.listen(1)
        self._open = [self._listener]
        self._dropped = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def dropped(self) -> bool:
        """Whether a message was dropped since this was asked last."""
        found = self._dropped.is_set()
        self._dropped.clear()
        return found

    def close(self) -> None:
        """End all connections."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _serve(self) -> None:
        """Connect the first who comes: a client whose kernel has ended tries again in vain."""
        with contextlib.suppress(OSError):
            grader, _ = self._listener.accept()
            kernel = socket.socket(socket.AF_UNIX)
            self._open += [grader, kernel]
            kernel.connect(self._theirs)
            threading.Thread(target=_pass_on, args=(grader, kernel), daemon=True).start()
            try:
                self._pass_messages_on(kernel, grader)
            finally:
                grader.shutdown(socket.SHUT_RDWR)

    def _pass_messages_on(self, kernel: socket.socket, grader: socket.socket) -> None:
        """Pass on what the kernel sends, message by message."""
        greeting = b""
        while len(greeting) < GREETING:
            # either side waits for the beginning of the other's
            grader.sendall(more := _received(kernel, GREETING - len(greeting)))
            greeting += more
        if greeting[0] != SIGNED or greeting[VERSION] < 3:
            # frames of earlier versions are others
            return
        source = kernel.makefile("rb")
        while True:
            parts: list[bytes] = []
            size, more_follow = 0, True
            while more_follow:
                flags = _read(source, 1)
                length = _read(source, 8 if flags[0] & LONG else 1)
                left, more_follow = int.from_bytes(length), bool(flags[0] & MORE)
                size += left
                if size > MAX_MESSAGE or len(parts) >= MAX_PARTS:
                    parts.clear()
                    # what follows is too much as well
                    size = MAX_MESSAGE + 1
                    for begin in range(0, left, CHUNK):
                        _read(source, min(CHUNK, left - begin))
                else:
                    parts.append(flags + length + _read(source, left))
            if size > MAX_MESSAGE:
                self._dropped.set()
            for part in parts:
                grader.sendall(part)


def _received(source: socket.socket, size: int) -> bytes:
    """Up to so many bytes of a socket; raises OSError when it has ended."""
    if found := source.recv(size):
        return found
    raise ConnectionResetError


def _read(source: BinaryIO, size: int) -> bytes:
    """So many bytes; raises OSError when there are fewer."""
    found = source.read(size)
    if len(found) < size:
        raise ConnectionResetError
    return found


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass on what the grader sends."""
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
