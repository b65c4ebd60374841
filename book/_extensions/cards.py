"""Sphinx extension: what a link to a page shows elsewhere, in words and as a picture."""

import html
import textwrap
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from docutils import nodes
from sphinx.application import Sphinx

from autograder.book_index import book_url
from book.figures import COLOURS, heatmap
from solutions.ch2_scaled_dot_product import attention
from solutions.ch5_positional_encoding import sinusoidal

WIDTH, HEIGHT = 1200, 630  # pixels, what the places that show cards ask for


def draw_card(path: Path, number: str, title: str, course: str) -> None:
    """Draw a page's card, a PNG of 1200 x 630 pixels.

    Args:
        path: Where to write it.
        number: Such as "Chapter 4", or empty.
        title: The page's title.
        course: The course's title.
    """
    # what positions see when each looks for itself: real weights, and the same on every card
    position = sinusoidal(12, 16)
    weights = attention(position, position, position)[1].numpy()
    fig = plt.figure(figsize=(WIDTH / 100, HEIGHT / 100), layout="none", facecolor="white")
    fig.text(0.06, 0.84, course, fontsize=24, color=COLOURS["weights"], weight="bold")
    lines = textwrap.wrap(title, 18)
    fig.text(0.06, 0.42, "\n".join([number, *lines] if number else lines), fontsize=42, va="center")
    fig.text(0.06, 0.08, "query", fontsize=22, color=COLOURS["query"])
    fig.text(0.16, 0.08, "key", fontsize=22, color=COLOURS["key"])
    fig.text(0.23, 0.08, "value", fontsize=22, color=COLOURS["value"])
    ax = fig.add_axes((0.6, 0.14, 0.36, 0.72))
    heatmap(ax, weights, [], [], "", "", numbers=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(fig)


def add_card(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Put a page's card into its head. The picture needs an absolute address, from BOOK_URL."""
    if doctree is None:
        return
    title = app.env.titles[page].astext()
    numbers = app.env.toc_secnumbers.get(page, {}).get("", ())
    number = f"Chapter {'.'.join(map(str, numbers))}" if numbers else ""
    course = app.config.html_title or app.config.project
    tags = {
        "og:type": "article",
        "og:site_name": course,
        "og:title": f"{number}: {title}" if number else title,
    }
    for node in doctree.findall(nodes.meta):
        if node.get("name") == "description":
            tags["og:description"] = node["content"]
    if book_url():
        address = book_url().rstrip("/")
        picture = f"cards/{Path(page).name}.png"
        draw_card(Path(app.outdir) / picture, number, title, course)
        tags |= {
            "og:url": f"{address}/{page}.html",
            "og:image": f"{address}/{picture}",
            "og:image:width": str(WIDTH),
            "og:image:height": str(HEIGHT),
            "og:image:alt": f"{tags['og:title']}, beside a matrix of attention weights",
        }
    lines = [
        f'<meta property="{name}" content="{html.escape(text)}">' for name, text in tags.items()
    ]
    size = "summary_large_image" if book_url() else "summary"
    lines.append(f'<meta name="twitter:card" content="{size}">')
    context["metatags"] = "\n".join([context.get("metatags", ""), *lines])


def add_icon(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Offer the favicon as a PNG beside the SVG, which phones and bookmarks can't show."""
    address = context["pathto"]("_static/favicon.png", resource=True)
    context["metatags"] = (
        f'{context.get("metatags", "")}\n<link rel="apple-touch-icon" href="{address}">'
        f'\n<link rel="alternate icon" type="image/png" sizes="180x180" href="{address}">'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_card)
    app.connect("html-page-context", add_icon)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
