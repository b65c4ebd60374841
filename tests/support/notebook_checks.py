"""A check cell as the build writes it, and what is told of its mistakes."""

import zlib

from autograder.runtime.compare import Expected
from autograder.runtime.draw import Draw
from autograder.runtime.hints import MistakeWords
from autograder.runtime.mistakes import fingerprint
from autograder.runtime.plain_data import encode, pack
from tests.support.course import plain

HALVED = MistakeWords("double", "values", "The result is half.", "Which factor?", 'chapter 1, "A"')
SHIFTED = MistakeWords("shift", "shifted", "One too many.", "Where does it begin?", "")
SECTIONS = {"values": 'chapter 2, "B"', "shifted": 'chapter 2, "C"'}


def drawn(grade_id):
    """The integer that the cell below draws."""
    return Draw(zlib.crc32(grade_id.encode())).integer(1, 99)


def check(expression, value, points=1, **mistakes):
    """A check line as the build writes it."""
    prints = {name: fingerprint(plain(wrong)) for name, wrong in mistakes.items()}
    answer = {"value": encode(value), "parameters": [], "mistakes": prints}
    assert Expected.read(answer).value == plain(value)
    return f"check({expression!r}, points={points:g}, answer={pack(answer)!r})"


def values_cell():
    """A cell with two lines, on both of which the mistake `halved` shows."""
    n = drawn("values")
    return "\n".join(
        [
            "%%autotest values",
            "n = draw.integer(1, 99)",
            check("double(n)", 2.0 * n, points=1.5, halved=0.5 * n),
            check("[double(n), n]", [2.0 * n, n], halved=[0.5 * n, n]),
        ]
    )
