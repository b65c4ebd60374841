"""Sentences that depend on computed numbers: the build fails when one doesn't hold any more.

A claim stands in a hidden cell right after the cell that computes its numbers:

    claim(accuracy[2] > 2 * accuracy[1], "two heads are right more than twice as often")

Where a word may change with the numbers, the text takes it from here, too (`times`,
`share`), through `glue`.
"""

import math
import sys
from typing import cast

import numpy as np
import torch
from num2words import num2words

LARGEST_IN_WORDS = 12
PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth", 10: "a tenth"}


class ClaimError(Exception):
    """A sentence of the page does not hold."""


def claim(condition: bool | np.bool_ | torch.Tensor, sentence: str) -> None:
    """Fail, with the place and the sentence, if the condition does not hold.

    Args:
        condition: One truth value. An array of several needs `.all()` or `.any()`.
        sentence: What the page says.

    Raises:
        ClaimError: the condition is false.
        TypeError: it is no truth value, such as a number.
        ValueError: there is no sentence.
    """
    if not sentence.strip():
        raise ValueError("a claim needs the sentence that it stands for")
    if isinstance(condition, torch.Tensor | np.ndarray) and condition.ndim == 0:
        condition = cast(bool, condition.item())
    if not isinstance(condition, bool | np.bool_):
        raise TypeError(f"a claim needs True or False, not {type(condition).__name__}: {sentence}")
    if not condition:
        raise ClaimError(f"{_place()} does not hold any more: {sentence}")


def _place() -> str:
    """The cell and line of the claim; the builder's message says which page it is on."""
    # the page, whose cells IPython counts
    import __main__

    caller = sys._getframe(2)
    cells = vars(__main__).get("In")
    cell = f"The claim in executed cell {len(cells) - 1}" if cells else "The claim"
    return f"{cell}, line {caller.f_lineno},"


def times(a: float, b: float) -> str:
    """How many times as large a is as b, to stand before "as large as".

    "about twice", "about three times", "about half", "about 40 times"; "about" if they are the same
    to a tenth. Raises ValueError unless both are positive.
    """
    _check_finite(a, b)
    if a <= 0 or b <= 0:
        raise ValueError(f"times(a, b) needs positive numbers, not {a} and {b}")
    ratio = a / b
    if 0.9 <= ratio <= 1.1:
        return "about"
    if ratio < 1:
        for number, word in PARTS.items():
            if abs(ratio * number - 1) <= 0.1:
                return f"about {word}"
        return f"about {_rounded(ratio)} times"
    whole = round(ratio)
    if whole >= 2 and abs(ratio / whole - 1) <= 0.1 and whole <= LARGEST_IN_WORDS:
        return "about twice" if whole == 2 else f"about {num2words(whole)} times"
    return f"about {_rounded(ratio)} times"


def share(k: int, n: int) -> str:
    """k of n in words: "none of the 30", "23 of the 30", "all 30". Raises ValueError if k is not in 0..n."""
    if not 0 <= k <= n or n < 1:
        raise ValueError(f"{k} is no part of {n}")
    if k == 0:
        return f"none of the {n}"
    return f"all {n}" if k == n else f"{k} of the {n}"


def _rounded(number: float) -> str:
    """Two significant digits without an exponent."""
    digits = 1 - math.floor(math.log10(number))
    return f"{round(number, digits):.{max(digits, 0)}f}"


def _check_finite(*numbers: float) -> None:
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"not finite: {numbers}")
