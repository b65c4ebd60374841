"""The book's figures: accessible, readable on a light and a dark page, the same in every build."""

import importlib.util
import itertools
import re
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from tests.support.course import COURSE

ROOT = COURSE.root
LIGHT, DARK = "#ffffff", "#121212"


@pytest.fixture
def figures():
    """A fresh import, as on a new page."""
    spec = importlib.util.spec_from_file_location("figures", ROOT / "book" / "figures.py")
    module = importlib.util.module_from_spec(spec)
    with mpl.rc_context():
        spec.loader.exec_module(module)
        yield module
    plt.close("all")


@pytest.fixture
def shown(figures, monkeypatch):
    """What `show` has displayed, as HTML."""
    pages = []
    monkeypatch.setattr(figures, "display", lambda html: pages.append(html.data))
    return pages


def luminance(colour) -> float:
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def line_plot():
    fig, ax = plt.subplots()
    ax.plot([0, 1, 2], [1, -1, 3], marker="o", label="a & b")
    ax.fill_between([0, 1, 2], 0, 1, hatch="//", alpha=0.3)
    ax.set(xlabel="steps", ylabel="loss <nats>", title="one")
    ax.legend()
    return fig


def svg_of(page: str) -> ElementTree.Element:
    return ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])


def test_palette_has_the_agreed_names_and_enough_contrast(figures):
    names = {"query", "key", "value", "output", "weights", "accent", "muted"}
    assert set(figures.COLOURS) == names
    for colour in figures.COLOURS.values():
        assert contrast(colour, LIGHT) >= 3
        assert contrast(colour, DARK) >= 3


def test_lines_never_take_the_colours_of_query_key_and_value(figures):
    taken = {figures.COLOURS[name] for name in ("query", "key", "value")}
    assert not taken & set(mpl.rcParams["axes.prop_cycle"].by_key()["color"])


# Machado, Oliveira and Fernandes (2009), doi:10.1109/TVCG.2009.113: how linear RGB looks to readers
# without red, green or blue cones
VISION = {
    "full": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


@pytest.mark.parametrize("vision", VISION)
def test_palette_stays_apart_for_colour_blind_readers(figures, vision):
    def lab(colour):
        channels = np.array(to_rgb(colour))
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        seen = np.clip(np.array(VISION[vision]) @ linear, 0, 1)
        to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
        xyz = np.array(to_xyz) @ seen / [0.9505, 1, 1.089]
        x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])

    pairs = itertools.combinations(figures.COLOURS.values(), 2)
    # 2.3 is the smallest difference that is seen at all
    assert min(np.linalg.norm(lab(a) - lab(b)) for a, b in pairs) > 15


def test_show_writes_one_accessible_figure_and_closes_it(figures, shown):
    figures.show(line_plot(), alt='A "zigzag" & more.', caption="Up, then <down>.")
    (page,) = shown
    assert plt.get_fignums() == []
    assert page.count("<svg") == page.count("<figcaption>") == 1
    assert "Up, then &lt;down&gt;.</figcaption>" in page
    svg = svg_of(page)
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == 'A "zigzag" & more.'
    assert svg.get("viewBox") and svg.get("width") is None
    assert "max-width: 100%" in svg.get("style")


@pytest.mark.parametrize("inches, scrolls", [(5.5, False), (7.5, True)])
def test_words_stay_readable_on_a_phone(figures, shown, inches, scrolls):
    fig = line_plot()
    fig.set_size_inches(inches, 3)
    figures.show(fig, alt="a line", caption='up & "down"')
    (page,) = shown
    width, least = (int(size) for size in re.findall(r"width: (\d+)px", page))
    size = float(re.search(r"font-size: ([\d.]+)px; text-anchor: middle[^>]*>steps", page)[1])
    assert size * 4 / 3 * least / width >= 9
    # what does not fit scrolls by itself, also by keyboard
    assert (least > 358) == ('tabindex="0"' in page) == scrolls
    svg_of(page)


def test_svg_takes_the_colours_and_the_font_of_the_page(figures, shown):
    figures.show(line_plot(), alt="a line", caption="a line")
    (page,) = shown
    texts = [element for element in svg_of(page).iter() if element.tag.endswith("text")]
    assert "loss <nats>" in {element.text for element in texts}
    assert all("fill: currentColor" in element.get("style") for element in texts)
    assert "font-family" not in page
    for never in (figures.INK, "#000000", "#ffffff", "<style", "<metadata", "<!DOCTYPE", "<?xml"):
        assert never not in page


def test_same_figure_gives_the_same_text_in_every_build(figures, shown):
    for _ in range(2):
        figures._shown.clear()
        figures.show(line_plot(), alt="a line", caption="a line")
    assert shown[0] == shown[1]


def test_ids_occur_once_on_a_page_and_every_reference_finds_its_own(figures, shown):
    figures.show(line_plot(), alt="a line", caption="first")
    figures.show(line_plot(), alt="a line", caption="second")
    figures.show(line_plot(), alt="a line", caption="second")
    ids = [re.findall(r'\bid="([^"]+)"', page) for page in shown]
    everything = [name for page in ids for name in page]
    assert len(everything) == len(set(everything))
    for page, own in zip(shown, ids, strict=True):
        used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page)
        assert used
        assert {first or second for first, second in used} <= set(own)


@pytest.mark.parametrize("alt, caption", [("", "c"), ("  \n", "c"), ("a", ""), ("a", " ")])
def test_a_figure_needs_words(figures, shown, alt, caption):
    with pytest.raises(ValueError, match="alternative text" if caption == "c" else "caption"):
        figures.show(line_plot(), alt=alt, caption=caption)
    assert shown == []


def drawn(figures, matrix, **options):
    matrix = np.asarray(matrix)
    rows, columns = [
        [f"{name}{i}" for i in range(n)] for name, n in zip("rc", matrix.shape, strict=True)
    ]
    fig, ax = plt.subplots()
    mesh = figures.heatmap(ax, matrix, rows, columns, "keys", "queries", **options)
    return fig, ax, mesh


def test_heatmap_shows_every_entry_where_it_belongs(figures):
    fig, ax, _ = drawn(figures, [[0.25, -1.5, 0.0], [-np.inf, 2.0, -0.001]])
    words = {tuple(text.get_position()): text.get_text() for text in ax.texts}
    expected = [["0.25", "−1.50", "0.00"], ["−∞", "2.00", "0.00"]]
    assert words == {
        (j + 0.5, i + 0.5): expected[i][j] for i, j in itertools.product(range(2), range(3))
    }
    fig.canvas.draw()
    assert ax.yaxis_inverted()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["r0", "r1"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["c0", "c1", "c2"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("keys", "queries")


def test_heatmap_writes_integers_without_decimals_and_can_leave_numbers_out(figures):
    assert [t.get_text() for t in drawn(figures, [[1, -2]])[1].texts] == ["1", "−2"]
    assert [t.get_text() for t in drawn(figures, [[True, False]])[1].texts] == ["1", "0"]
    assert not drawn(figures, [[1, 2]], numbers=False)[1].texts


def over(colour, page):
    """What a half-transparent colour looks like on a page."""
    *rgb, alpha = colour
    return alpha * np.array(rgb) + (1 - alpha) * np.array(to_rgb(page))


@pytest.mark.parametrize("page, ink", [(LIGHT, "black"), (DARK, "white")])
def test_numbers_are_readable_on_every_cell(figures, page, ink):
    entries = np.linspace(-1, 1, 201)[None]
    fig, ax, mesh = drawn(figures, entries)
    fig.canvas.draw()
    for cell, text in zip(mesh.get_facecolors(), ax.texts, strict=True):
        colour = ink if text.get_color() == figures.INK_ON_CELL else text.get_color()
        assert contrast(over(cell, page), colour) >= 4.5


def test_number_colour_is_the_pages_business(figures, shown):
    fig, _, _ = drawn(figures, [[0.1, 0.9]])
    figures.show(fig, alt="two cells", caption="two cells")
    assert "fill: var(--figure-cell-ink, currentColor)" in shown[0]
    css = (ROOT / "book" / "_static" / "face.css").read_text(encoding="utf-8")
    assert css.count("--figure-cell-ink:") == 2


def test_heatmap_colours_have_a_common_scale_when_asked(figures):
    small, large = (
        drawn(figures, [[0.0, largest]], limit=1.0, numbers=False) for largest in (0.5, 1.0)
    )
    for fig, _, _ in (small, large):
        fig.canvas.draw()
    assert small[2].get_facecolors()[1, 3] == pytest.approx(0.5, abs=0.01)
    assert large[2].get_facecolors()[1, 3] == pytest.approx(1.0)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.full((2, 2), -np.inf), [[np.nan]]])
def test_heatmap_of_nothing_is_empty_not_an_error(figures, shown, matrix):
    fig, _, mesh = drawn(figures, matrix)
    figures.show(fig, alt="nothing", caption="nothing")
    assert np.all(np.asarray(mesh.get_facecolors())[..., 3] == 0)


def test_heatmap_refuses_what_does_not_fit(figures):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="not an array of shape"):
        figures.heatmap(ax, np.zeros(3), [], [], "keys", "queries")
    with pytest.raises(ValueError, match="1 row labels for 2 rows"):
        figures.heatmap(ax, np.zeros((2, 3)), ["a"], [], "keys", "queries")
    with pytest.raises(ValueError, match="2 column labels for 3 columns"):
        figures.heatmap(ax, np.zeros((2, 3)), [], ["a", "b"], "keys", "queries")


def test_a_large_matrix_makes_a_light_page(figures, shown):
    fig, ax = plt.subplots()
    matrix = np.random.RandomState(0).rand(200, 200)
    figures.heatmap(ax, matrix, [], [], "keys", "queries", numbers=False)
    figures.show(fig, alt="noise", caption="noise")
    assert len(shown[0]) < 500_000
