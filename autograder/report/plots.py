"""Small plots as inline SVG: no script, and fills, which browsers print, instead of backgrounds.

All of their text is numbers and words of this module, so that it needs no escaping.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 360, 200
LEFT, BOTTOM, TOP = 34, 34, 14


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _bar(*rectangles: str) -> Markup:
    return Markup(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="8"/>{"".join(rectangles)}</svg>'
    )


def bar(share: float) -> Markup:
    """A bar that is filled to a share from 0 to 1, for a table's cell."""
    return _bar(f'<rect class="fill" width="{100 * share:.1f}" height="8"/>')


def signed_bar(value: float) -> Markup:
    """A bar from the middle to a value from -1 to 1."""
    x, width = 50 + 50 * min(value, 0), 50 * abs(value)
    return _bar(
        f'<rect class="fill" x="{x:.1f}" width="{width:.1f}" height="8"/>',
        '<rect class="ink" x="49.5" width="1" height="8"/>',
    )


def histogram(shares: Sequence[float]) -> Markup:
    """How many students have which share of the points, in ten bins; 100 % is in the last."""
    counts = [0] * 10
    for share in shares:
        counts[min(int(10 * share + 1e-9), 9)] += 1
    top, step = max(*counts, 1), (WIDTH - LEFT - 10) / 10
    unit = (HEIGHT - TOP - BOTTOM) / top
    base = HEIGHT - BOTTOM
    parts = [f'<rect class="ink" x="{LEFT}" y="{base}" width="{WIDTH - 10 - LEFT}" height="1"/>']
    for number, count in enumerate(counts):
        x, height = LEFT + number * step, count * unit
        if count:
            parts.append(
                f'<rect class="fill" x="{x + 2:.1f}" y="{base - height:.1f}" '
                f'width="{step - 4:.1f}" height="{height:.1f}"/>'
            )
            parts.append(_text(x + step / 2, base - height - 3, str(count)))
        if number % 2 == 0:
            parts.append(_text(x, base + 14, str(10 * number)))
    parts.append(_text(LEFT + 10 * step, base + 14, "100"))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 4, "% of the automatic points"))
    parts.append(_text(4, TOP - 3, "students", "start"))
    listed = ", ".join(f"{10 * n}-{10 * n + 10} %: {count}" for n, count in enumerate(counts))
    return Markup(
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>Students by share of the points. {listed}</title>{''.join(parts)}</svg>"
    )
