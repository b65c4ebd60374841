"""Pictures of submissions: what a browser has to do for them, whatever their files take."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator

PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
IN_HTML = re.compile(r"data:image/(?:png|jpeg);base64,([A-Za-z0-9+/=]*)")
# markers of JPEG: those that begin a frame, which has the size, those without a length, and of scanned data
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
# scans of a file that count as one: those that programs write have about ten
SCANS = 20
WITHOUT_LENGTH, SCAN = {0x01, *range(0xD0, 0xD9)}, 0xDA


def pixels(picture: bytes) -> int:
    """How many pixels a browser decodes of a PNG or JPEG file: of each picture of an animation, of all scans.

    0 where it doesn't say so, and no browser shows it.
    """
    if picture.startswith(PNG):
        if picture[12:16] != b"IHDR" or len(picture) < 24:
            return 0
        width, height = struct.unpack(">II", picture[16:24])
        return width * height * max(1, picture.count(b"fcTL"))
    if not picture.startswith(JPEG):
        return 0
    # within what is scanned, no such bytes follow one another
    scans = picture.count(bytes([0xFF, SCAN]))
    return max(_frames(picture), default=0) * max(1, scans // SCANS)


def is_picture(content: bytes) -> bool:
    """Whether this is a PNG or JPEG file: a browser shows others, too, whatever they are said to be."""
    return content.startswith((PNG, JPEG))


def pixels_in(page: str) -> int:
    """How many pixels the pictures in HTML have that `clean_html` has left in it."""
    return sum(pixels(base64.b64decode(found)) for found in IN_HTML.findall(page))


def _frames(picture: bytes) -> Iterator[int]:
    """The pixels of each frame that a JPEG file announces before its first scan."""
    place = 2
    while place + 9 <= len(picture):
        if picture[place] != 0xFF:
            place += 1
            continue
        marker = picture[place + 1]
        if marker == SCAN:
            return
        if marker == 0xFF:
            place += 1
        elif marker in WITHOUT_LENGTH:
            place += 2
        else:
            if marker in FRAMES:
                height, width = struct.unpack(">HH", picture[place + 5 : place + 9])
                yield width * height
            place += 2 + max(2, int.from_bytes(picture[place + 2 : place + 4]))
