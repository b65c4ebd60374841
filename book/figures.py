"""The book's figures: one palette, one style, inline SVG that fits a light and a dark page."""

import hashlib
import html
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from IPython.display import HTML, display
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve

# The same meaning on every page. Each colour has a contrast of at least 3:1 with white and with
# #121212, and any two differ for readers who see no red, green or blue. That is enough for lines
# and areas, not for text: words stay in the page's own text colour.
COLOURS = {
    "query": "#638bef",
    "key": "#d07f07",
    "value": "#1ba85e",
    "output": "#b505a0",
    "weights": "#8b2aec",
    "accent": "#b13c20",
    "muted": "#7f7f7f",
}

# Stand-ins that `show` replaces in the SVG; no figure uses these colours for anything else.
INK = "#010203"  # the page's text colour
INK_ON_CELL = "#010204"  # black on a light page, white on a dark one

# On a narrow screen a figure shrinks to this share of its size, where its words are 9 pixels high.
# If it is still wider than the text on a phone, it scrolls in a box of its own.
SMALLEST = 0.65
PHONE = 358  # pixels

STYLE: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.prop_cycle": cycler(
        # never those of query, key and value, which mean nothing else
        color=[COLOURS[name] for name in ("output", "accent", "weights", "muted")]
    ),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "figure.facecolor": "none",
    "figure.figsize": (5.6, 3.4),
    "font.size": 10.5,
    "grid.color": COLOURS["muted"],
    "hatch.color": INK,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 2,
    "patch.edgecolor": INK,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
mpl.rcParams.update(STYLE)

_shown: Counter[str] = Counter()


def show(fig: Figure, alt: str, caption: str) -> None:
    """Display what `as_html` gives."""
    display(as_html(fig, alt, caption))


def as_html(fig: Figure, alt: str, caption: str) -> HTML:
    """`fig` as one inline SVG with its caption; closes it.

    Args:
        fig: The figure.
        alt: What a reader who cannot see the figure must know. Plain text.
        caption: What to see in the figure. Plain text, printed below it.

    Raises:
        ValueError: `alt` or `caption` is empty.
    """
    alt, caption = " ".join(alt.split()), " ".join(caption.split())
    if not alt:
        raise ValueError("a figure needs an alternative text: show(fig, alt=..., caption=...)")
    if not caption:
        raise ValueError("a figure needs a caption: show(fig, alt=..., caption=...)")
    page = HTML(_figure(fig, alt, caption))
    plt.close(fig)
    return page


def heatmap(
    ax: Axes,
    matrix: np.ndarray,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    x_label: str,
    y_label: str,
    numbers: bool = True,
    digits: int = 2,
    limit: float | None = None,
) -> QuadMesh:
    """Draw a small matrix as coloured cells, the first row on top.

    Zero is transparent, positive entries are violet and negative ones red: the stronger the
    colour, the larger the entry. Entries that are not finite stay transparent.

    Args:
        ax: Where to draw.
        matrix: (rows, columns).
        row_labels: One per row, or none at all.
        column_labels: One per column, or none at all.
        x_label: What the columns are, in words.
        y_label: What the rows are, in words.
        numbers: Whether to write each entry in its cell.
        digits: Decimals of these numbers; none are written for integers.
        limit: The entry that gets the full colour; the largest in size by default. Give it where
            several matrices are to be compared.

    Returns:
        The mesh, for `fig.colorbar`.

    Raises:
        ValueError: `matrix` is not two-dimensional, or does not fit its labels.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim != 2:
        raise ValueError(f"a heat map needs a matrix, not an array of shape {matrix.shape}")
    for labels, size, what in (
        (row_labels, matrix.shape[0], "row"),
        (column_labels, matrix.shape[1], "column"),
    ):
        if len(labels) not in (0, size):
            raise ValueError(f"{len(labels)} {what} labels for {size} {what}s")

    whole = not np.issubdtype(matrix.dtype, np.floating)
    matrix = matrix.astype(float)
    size = np.ma.masked_invalid(matrix)
    if limit is None:
        limit = float(np.abs(size).max()) if size.count() else 1.0
    limit = limit or 1.0
    low = -limit if (size < 0).any() else 0.0
    colours = [to_rgba(COLOURS["weights"], 0), to_rgba(COLOURS["weights"])]
    if low:
        colours = [to_rgba(COLOURS["accent"]), to_rgba(COLOURS["accent"], 0), *colours]
        stops = [0.0, 0.5, 0.5, 1.0]
    else:
        stops = [0.0, 1.0]
    mesh = ax.pcolormesh(
        size,
        cmap=LinearSegmentedColormap.from_list("cells", list(zip(stops, colours, strict=True))),
        norm=Normalize(low, limit),
        edgecolors=COLOURS["muted"] if matrix.size <= 400 else "none",
        linewidth=0.5,
        rasterized=matrix.size > 2500,  # thousands of SVG cells would make a heavy page
    )
    ax.invert_yaxis()
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_aspect("equal")
    ax.set_xticks(np.arange(len(column_labels)) + 0.5, column_labels)
    ax.set_yticks(np.arange(len(row_labels)) + 0.5, row_labels)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    if numbers:
        for (row, column), entry in np.ndenumerate(matrix):
            # from here on white has the better contrast on a light page; contrast is 4.5:1 or more
            strong = np.isfinite(entry) and abs(entry) > 0.85 * limit
            ax.text(
                column + 0.5,
                row + 0.5,
                number_text(entry, 0 if whole else digits),
                ha="center",
                va="center",
                fontsize=9,
                color="white" if strong else INK_ON_CELL,
            )
    return mesh


def alignment_lines(
    weights: np.ndarray,
    source: Sequence[str],
    target: Sequence[str],
    alt: str,
    caption: str,
    least: float = 0.02,
) -> HTML:
    """Weights as lines between words, the thicker the larger.

    Args:
        weights: (T, S), between 0 and 1.
        source: The words on the left, (S,).
        target: The words on the right, (T,).
        alt: As in `as_html`.
        caption: As in `as_html`.
        least: Smaller weights are left out.
    """
    longest = max(len(source), len(target))
    fig, ax = plt.subplots(figsize=(5.2, max(3.4, 0.27 * longest)))
    left, right = (np.linspace(1, 0, len(words)) for words in (source, target))
    for t, i in np.argwhere(weights > least):
        strength = float(weights[t, i])
        ends = (0, left[i]), (0.5, left[i]), (0.5, right[t]), (1, right[t])
        ax.add_patch(
            PathPatch(
                Curve(ends, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]),
                fill=False,
                edgecolor=COLOURS["weights"],
                linewidth=7 * strength,
                alpha=0.25 + 0.6 * strength,
                capstyle="round",
            )
        )
    for x, words, heights, colour, side in (
        (0, source, left, "key", "right"),
        (1, target, right, "query", "left"),
    ):
        ax.scatter([x] * len(words), heights, s=55, color=COLOURS[colour], zorder=3)
        for height, word in zip(heights, words, strict=True):
            ax.text(x + 0.1 * (x - 0.5), height, word, ha=side, va="center", fontsize=12)
    ax.set(xlim=(-0.4, 1.4), ylim=(-0.06, 1.06))
    ax.axis("off")
    return as_html(fig, alt, caption)


def number_text(entry: float, digits: int) -> str:
    """A number rounded for readers, with a true minus and without a negative zero."""
    if np.isinf(entry):
        return "−∞" if entry < 0 else "∞"
    # adding zero turns -0.0 into 0.0
    return f"{round(entry, digits) + 0.0:.{digits}f}".replace("-", "−")


def _figure(fig: Figure, alt: str, caption: str) -> str:
    """The figure as HTML whose ids occur once on the page and are the same in every build."""
    name = "fig-" + hashlib.sha256(f"{alt}\n{caption}".encode()).hexdigest()[:10]
    _shown[name] += 1
    if _shown[name] > 1:
        name += f"-{_shown[name]}"
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": alt}):
        # "tight": whatever the axes do not use is no part of the picture
        fig.savefig(
            text, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None}
        )
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    svg = svg.replace(INK_ON_CELL, "var(--figure-cell-ink, currentColor)")
    svg = svg.replace(INK, "currentColor")
    # matplotlib's style sheet would apply to the whole page, its fonts are not on the page
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    opening = svg[: svg.index(">") + 1]
    view_box = opening.split('viewBox="')[1].split('"')[0]
    width = float(view_box.split()[2]) * 4 / 3  # from points to pixels
    least = SMALLEST * width
    svg = svg.replace(
        opening,
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{view_box}" role="img" aria-label="{html.escape(alt)}" '
        f'style="width: {width:.0f}px; min-width: {least:.0f}px; max-width: 100%; height: auto; '
        'stroke-linejoin: round">',
    )
    if least > PHONE:
        svg = (
            f'<div class="scroll" role="group" tabindex="0" aria-label="{html.escape(caption)}" '
            f'style="overflow-x: auto">{svg}</div>'
        )
    return (
        f'<figure class="plot" id="{name}">\n{svg}'
        f"<figcaption>{html.escape(caption)}</figcaption>\n</figure>"
    )
