"""Points: in how many decimals they count, and how they are written wherever people read them."""

# as many as Canvas shows and compares: a late penalty in per cent has many more
DECIMALS = 2


def rounded(points: float) -> float:
    """Points as they count, in DECIMALS decimals."""
    return round(points, DECIMALS)


def with_decimals(points: float) -> str:
    """Points for a program that compares texts: rounded, with all DECIMALS decimals."""
    return f"{rounded(points):.{DECIMALS}f}"


def as_shown(points: float) -> float:
    """Points for a table, a sentence or a page: rounded, and an integer if they are one: 32, not 32.0."""
    found = rounded(float(points))
    return int(found) if found.is_integer() else found
