"""Seeds of the book's experiments, which can all be drawn anew to test what the book concludes."""

from autograder.publish.seed_base import seed_base

SEEDS_A_BASE = 1000


def seed(n: int = 0) -> int:
    """Seed number n of a page. It is n itself unless BOOK_SEED_BASE moves all seeds.

    Raises:
        ValueError: n is not one of 0 to 999.
    """
    if not 0 <= n < SEEDS_A_BASE:
        raise ValueError(f"a page's seeds are 0 to {SEEDS_A_BASE - 1}, not {n}")
    return seed_base() * SEEDS_A_BASE + n


def seeds(count: int) -> list[int]:
    """The first seeds of a page, for an experiment that is repeated."""
    return [seed(n) for n in range(count)]
