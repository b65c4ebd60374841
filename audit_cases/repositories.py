"""Bare repositories written byte by byte, so that they can hold what git itself refuses to make."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

FILE, FOLDER, LINK, SUBMODULE = "100644", "40000", "120000", "160000"
AUTHOR = "Student <student@example.org>"
# git's numbers of what a pack holds
BLOB, OFS_DELTA = 3, 6


class Repository:
    """A bare repository with one branch, main."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in ("objects/pack", "objects/info", "refs/heads", "info", "hooks"):
            (place / name).mkdir(parents=True)
        (place / "HEAD").write_text("ref: refs/heads/main\n")
        (place / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")

    def add(self, kind: str, content: bytes, size: int | None = None) -> str:
        """Add an object and return its id. size: what its head says, if that isn't true."""
        whole = f"{kind} {len(content) if size is None else size}\0".encode() + content
        own = hashlib.sha1(whole).hexdigest()
        path = self.place / "objects" / own[:2] / own[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(whole, 1))
        return own

    def tree(self, *entries: tuple[str, str | bytes, str]) -> str:
        """Add a folder of entries, each its mode, name and id, in this order; returns its id."""
        parts = []
        for mode, name, own in entries:
            raw = name if isinstance(name, bytes) else name.encode()
            parts.append(f"{mode} ".encode() + raw + b"\0" + bytes.fromhex(own))
        return self.add("tree", b"".join(parts))

    def commit(self, tree: str, seconds: int = 1_700_000_000) -> str:
        """Add a commit, which becomes the branch's last one; seconds: the time that it claims to be of."""
        when = f"{AUTHOR} {seconds} +0000"
        text = f"tree {tree}\nauthor {when}\ncommitter {when}\n\nExercise\n"
        own = self.add("commit", text.encode())
        (self.place / "refs" / "heads" / "main").write_text(f"{own}\n")
        return own

    def hand_in(self, name: str, content: bytes, mode: str = FILE) -> str:
        """Commit a single file; returns its content's id."""
        own = self.add("blob", content)
        self.commit(self.tree((mode, name, own)))
        return own

    def add_bomb(self, megabytes: int) -> str:
        """Add a pack of some kilobytes, with a small object made from a large one; returns its id."""
        base = bytes(1 << 20)
        # copies all of the base, again and again
        copies = _copy(len(base)) * megabytes
        large = _size(len(base)) + _size(megabytes * len(base)) + copies
        small = _size(megabytes * len(base)) + _size(64) + _copy(64)
        ids = [hashlib.sha1(name).digest() for name in (b"base", b"large", b"small")]
        pack, offsets, checks = b"PACK" + struct.pack(">II", 2, 3), [], []
        for kind, content in ((BLOB, base), (OFS_DELTA, large), (OFS_DELTA, small)):
            offsets.append(len(pack))
            back = _distance(len(pack) - offsets[-2]) if kind == OFS_DELTA else b""
            entry = _head(kind, len(content)) + back + zlib.compress(content, 9)
            checks.append(zlib.crc32(entry))
            pack += entry
        pack += hashlib.sha1(pack).digest()
        index = _index(ids, offsets, checks, pack[-20:])
        for ending, content in (("pack", pack), ("idx", index)):
            (self.place / "objects" / "pack" / f"pack-{'0' * 40}.{ending}").write_bytes(content)
        return ids[2].hex()


def _copy(length: int) -> bytes:
    """The instruction of a delta that copies so many bytes from the base's beginning."""
    size = length.to_bytes(3, "little")
    bits = sum(0x10 << n for n, byte in enumerate(size) if byte)
    return bytes([0x80 | bits, *(byte for byte in size if byte)])


def _size(number: int) -> bytes:
    """A size at the beginning of a delta: seven bits a byte, the lowest first."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _head(kind: int, size: int) -> bytes:
    """The head of an entry of a pack: kind and size."""
    low, rest = size & 0x0F, size >> 4
    return bytes([kind << 4 | low | (0x80 if rest else 0)]) + (_size(rest) if rest else b"")


def _distance(number: int) -> bytes:
    """How far before a delta its base lies."""
    found = [number & 0x7F]
    while number := number >> 7:
        number -= 1
        found.insert(0, number & 0x7F | 0x80)
    return bytes(found)


def _index(
    ids: Sequence[bytes], offsets: Sequence[int], checks: Sequence[int], pack: bytes
) -> bytes:
    """The index of a pack, version 2. pack: its checksum."""
    order = sorted(range(len(ids)), key=lambda n: ids[n])
    fanout = [sum(own[0] <= first for own in ids) for first in range(256)]
    parts = [b"\xfftOc" + struct.pack(">I", 2), struct.pack(">256I", *fanout)]
    parts += [ids[n] for n in order]
    parts += [struct.pack(">I", checks[n]) for n in order]
    parts += [struct.pack(">I", offsets[n]) for n in order]
    whole = b"".join(parts) + pack
    return whole + hashlib.sha1(whole).digest()
