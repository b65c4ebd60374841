"""The figures to touch, in a real browser: right, by keyboard, without a network, without a script."""

import contextlib
import functools
import importlib.util
import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from axe_playwright_python import sync_playwright as axe

from solutions.attention_only import AttentionOnly
from solutions.ch3_multi_head import split_heads
from solutions.ch4_masking import causal_mask, masked_softmax
from solutions.ch5_positional_encoding import rope, shift_matrix, sinusoidal
from solutions.ch7_training import beam_search
from solutions.ch8_language_model import token_probabilities
from solutions.ch9_flash_attention import tiles
from tests.support.browser import listening
from tests.support.course import COURSE, chapter_pages

ROOT = COURSE.root
SETTINGS = 8

pytestmark = pytest.mark.xdist_group("widgets")


WORDS = ["birds", "sing", "at", "dawn", "again"]
EXPONENTIALS = np.random.RandomState(2).randint(1, 9, size=(5, 5))
OTHERS = 9 - EXPONENTIALS
VALUES, OTHER_VALUES = np.random.RandomState(2).randn(2, 5, 3)


def mask_reference(mask, exponentials=EXPONENTIALS, afterwards=False):
    scores = torch.from_numpy(exponentials).double().log()
    weights = scores.softmax(dim=-1) * mask if afterwards else masked_softmax(scores, mask)
    return weights.numpy()


def leak_reference(mask, afterwards=False):
    """How far each output moves when the key and the value of one word are exchanged."""
    columns = []
    for j in range(5):
        keys, values = EXPONENTIALS.copy(), VALUES.copy()
        keys[:, j], values[j] = OTHERS[:, j], OTHER_VALUES[j]
        after = mask_reference(mask, keys, afterwards) @ values
        before = mask_reference(mask, EXPONENTIALS, afterwards) @ VALUES
        columns.append(np.abs(after - before).max(axis=1))
    return np.stack(columns, axis=1)


SCALES = {"none": [1, 1, 1], "1/sqrt(d)": [0.5, 0.125, 1 / 32], "1/d": [1 / 4, 1 / 64, 1 / 1024]}
MEASURED = {name: np.random.RandomState(i).rand(3, 4) for i, name in enumerate(SCALES)}
SCORES = [d**0.5 * np.random.RandomState(d).randn(200, 32) for d in (4, 64, 1024)]


ALIGNMENTS = [
    (f"number {n}", [f"s{j}" for j in range(3 + n)], [f"t{i}" for i in range(5)], weights)
    for n in range(2)
    for weights in [np.random.RandomState(n).dirichlet(np.ones(3 + n), size=(3, 5))]
]


def splits(length, heads, width=4):
    """Places of memory (heads, length, width of a head), split as it should be and as it should not."""
    places = torch.arange(length * width)
    right = split_heads(places.view(1, length, width).double(), heads)[0].long()
    return right, places.view(heads, length, width // heads)


STEPS = ["begin", "a", "dog", "barks"], ["a", "dog", "barks", "end"]
STEP_WEIGHTS = {
    name: masked_softmax(torch.from_numpy(np.random.RandomState(T).randn(T, S)), mask).numpy()
    for name, T, S, mask in [
        ("encoder", 3, 3, None),
        ("own", 4, 4, causal_mask(4)),
        ("cross", 4, 3, None),
    ]
}


DECODED = {
    "target": ["eins", "zwei"],
    "state": np.random.RandomState(3).randn(2, 4),
    "scores": (decoder_scores := np.random.RandomState(4).randn(2, 3)),
    "weights": torch.from_numpy(decoder_scores).softmax(dim=-1).numpy(),
    "context": np.random.RandomState(5).randn(2, 5),
    "likely": [[("eins", 0.75), ("zwei", 0.25)], [("zwei", 0.5), ("eins", 0.5)]],
}


# a cell and a readout of 4 numbers, for 3 source words, 2 rows and 5 words
CELL, READOUT = torch.nn.GRUCell(7, 4).double(), torch.nn.Linear(8, 5).double()
DRAWS = np.random.RandomState(12)
for parameter in (*CELL.parameters(), *READOUT.parameters()):
    parameter.data = torch.from_numpy(2 * DRAWS.randn(*parameter.shape))
MEMORY, READ, BEFORE = (torch.from_numpy(DRAWS.randn(n, 4)) for n in (3, 2, 2))
READ = READ[:, :3]
VOCABULARY, RIGHT = ["null", "eins", "zwei", "drei", "vier"], ["zwei", "eins"]
ROW_WEIGHTS = {
    "as learned": DRAWS.dirichlet(np.ones(3), size=2),
    "as network 2": DRAWS.dirichlet(np.ones(3), size=2),
}


@torch.no_grad()
def next_word_reference(t, weights):
    """Probabilities (5,) of the word of row t, by PyTorch's own layers."""
    context = torch.from_numpy(np.asarray(weights, dtype=float)) @ MEMORY
    state = CELL(torch.cat([READ[t], context]), BEFORE[t])
    return READOUT(torch.cat([state, context])).softmax(dim=-1).numpy()


def next_word_parts():
    with torch.no_grad():
        return {
            "gates": (MEMORY @ CELL.weight_ih[:, 3:].T).numpy(),
            "inputs": (READ @ CELL.weight_ih[:, :3].T + CELL.bias_ih).numpy(),
            "hidden": (BEFORE @ CELL.weight_hh.T + CELL.bias_hh).numpy(),
            "states": BEFORE.numpy(),
            "read_states": READOUT.weight[:, :4].numpy(),
            "read_values": (MEMORY @ READOUT.weight[:, 4:].T + READOUT.bias).numpy(),
        }


BEAM_WORDS = ["<bos>", "<eos>", "a", "the", "cat"]
BEAM_TABLE = torch.from_numpy(2 * np.random.RandomState(9).randn(5, 5)).log_softmax(dim=-1)
CACHED = [
    masked_softmax(torch.from_numpy(np.random.RandomState(n).randn(5, 5)), causal_mask(5)).numpy()
    for n in range(2)
]
CACHE_DIFFERENCES = np.random.RandomState(10).rand(2, 5)


# two are equally likely, and they are not in order
LOGITS = np.array([0.5, 2.0, -1.0, 2.0, 1.25, 0.0])


# two layers of three heads of width 4, with a letter for each token
SIGNS = "abcdefgh"
TEXTS = "abcadea", "bcdeafg"
torch.manual_seed(1)
NETWORK = AttentionOnly(len(SIGNS), 12, 3, 2).requires_grad_(False)
for parameter in NETWORK.parameters():
    parameter.data = (2 * parameter.data).half().float()
MEANS = torch.randn(2, 3, 9, 4)
KINDS = ["own", "cut", "mean", "other"]


def after_replacing(texts, kinds):
    """Probabilities after the first text, by PyTorch; kinds: for each head how it is replaced."""
    tokens, others = (torch.tensor([[SIGNS.index(sign) for sign in text]]) for text in texts)
    elsewhere = NETWORK.trace(others).added

    def instead(layer, head, kind):
        w_o = NETWORK.layers[layer].w_o.weight[:, 4 * head : 4 * head + 4]
        mean = MEANS[layer, head, : tokens.shape[1]] @ w_o.T
        other = elsewhere[layer, :, head, : tokens.shape[1]]
        both = lambda added: torch.cat([other, added[:, other.shape[1] :]], dim=1)
        known = {"own": torch.clone, "cut": torch.zeros_like, "other": both}
        return known.get(kind, lambda added: mean[None])

    places = itertools.product(range(2), range(3))
    heads = {place: instead(*place, kind) for place, kind in zip(places, kinds, strict=True)}
    trace = NETWORK.trace(tokens, replace=heads)
    return trace.weights[:, 0].flatten(0, 1).numpy(), trace.logits[0, -1].softmax(-1).numpy()


def load_widgets():
    """book/widgets.py, as a page imports it."""
    sys.path.insert(0, str(ROOT / "book"))
    try:
        spec = importlib.util.spec_from_file_location("widgets", ROOT / "book" / "widgets.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "book"))
    return module


@functools.cache
def examples():
    """One figure of each kind, with numbers that are easy to confuse."""
    widgets = load_widgets()
    start = causal_mask(5) & (torch.arange(5) < 4)
    return {
        "mask": widgets.mask_painter(
            WORDS,
            EXPONENTIALS,
            VALUES,
            (OTHERS, OTHER_VALUES),
            4,
            mask_reference(start),
            leak_reference(start),
            "Paint.",
        ),
        "root": widgets.square_root([4, 64, 1024], MEASURED, SCALES, SCORES, "Slide."),
        "clock": widgets.position_clock(16, [100, 10000], 12, 5, "Turn."),
        "rope": widgets.turned_pairs(
            [1.0, 0.5, 0.8, 0.0], [0.3, 0.9, 0.1, 0.7], [100, 10000], (2, 5), "Turn."
        ),
        "alignment": widgets.alignment_viewer(
            ALIGNMENTS, ["mean", "head 1", "head 2"], "Point.", series="network"
        ),
        "split": widgets.head_split("abcde", *(split.numpy() for split in splits(3, 2)), "Look."),
        "steps": widgets.encoder_decoder(
            ["ein", "Hund", "bellt"], *STEPS, *(STEP_WEIGHTS[name] for name in STEP_WEIGHTS), "Go."
        ),
        "decoder": widgets.decoder_steps(["one", "two", "three"], *DECODED.values(), "Read."),
        "nextword": widgets.next_word(
            ["one", "two", "three"], RIGHT, VOCABULARY, ROW_WEIGHTS, next_word_parts(), 1, "Move."
        ),
        "beam": widgets.beam_tree(BEAM_WORDS, BEAM_TABLE.numpy(), 0, 1, 4, "Grow."),
        "cache": widgets.cache_timeline(WORDS, CACHED, CACHE_DIFFERENCES, "Keep."),
        "tiles": widgets.tile_masks(7, 10, (3, 2), tiles(7, 10, 3, 2, True), "Cut."),
        "sampler": widgets.sampler(list("abcdef"), LOGITS, "Cut."),
        "heads": widgets.heads_to_replace(
            {name: one.numpy() for name, one in NETWORK.state_dict().items()},
            MEANS.numpy(),
            SIGNS,
            TEXTS,
            {"head 0.0": [0.5, 0.25, 0.125]},
            "Cut.",
        ),
    }


def landing_map():
    page = (ROOT / "book" / "how_to_use.md").read_text(encoding="utf-8")
    return re.search(r"<figure.*?</figure>", page, re.DOTALL)[0]


def document(figure):
    """A page as small as possible, with the theme's style and the book's."""
    import pydata_sphinx_theme

    theme = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/styles"
    styles = (theme / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    styles = re.sub(r"@font-face\{[^}]*\}", "", styles)
    for name in ("face.css", "book.css", "boxes.css"):
        styles += (ROOT / "book" / "_static" / name).read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Test</title>'
        f'<link rel="icon" href="data:,"><style>{styles}</style></head>'
        '<body><main class="bd-content bd-article" style="display: block; width: 100%; '
        'max-width: 46rem; margin: auto; padding: 0 1rem"><h1>Test</h1><div class="cell_output"><div class="output text_html">'
        f"{figure}</div></div></main></body></html>"
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("widgets")
    paths = {}
    for name, figure in examples().items():
        paths[name] = folder / f"{name}.html"
        paths[name].write_text(document(figure.data), encoding="utf-8")
    paths["map"] = folder / "map.html"
    paths["map"].write_text(document(landing_map()), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def tab_with(browser):
    """A function that gives a tab with some options, the same one each time."""

    @functools.cache
    def tab_with(scripts, **options):
        context = browser.new_context(java_script_enabled=scripts, offline=True, **options)
        return context.new_page()

    return tab_with


@pytest.fixture
def opened(tab_with, files):
    """Open the page of a figure from disk, with the network closed; nothing may go wrong on it."""
    troubles = []

    def open_page(name, scripts=True, **options):
        page, address = tab_with(scripts, **options), files[name].as_uri()
        page.set_viewport_size({"width": 1280, "height": 800})
        page.mouse.move(0, 0)

        def watch(request):
            if request.url != address and not request.url.startswith("data:"):
                troubles.append(request.url)

        listeners = {
            "console": lambda message: troubles.append(message.text),
            "pageerror": lambda error: troubles.append(str(error)),
        }
        tabs.enter_context(listening(page, request=watch, **listeners))
        page.goto(address)
        return page

    with contextlib.ExitStack() as tabs:
        yield open_page
    assert not troubles


def numbers(page, title):
    """The full numbers of the table with this caption; what is shown must be their rounding."""
    found = page.evaluate(
        """title => [...document.querySelectorAll(".live table")]
            .filter(table => table.caption.textContent.startsWith(title))
            .map(table => [...table.tBodies[0].rows].map(row =>
                [...row.querySelectorAll("[data-value]")].map(cell =>
                    [cell.dataset.value, cell.textContent])))""",
        title,
    )
    assert len(found) == 1, f"{len(found)} tables named {title}"
    for value, shown in (cell for row in found[0] for cell in row):
        digits = len(shown.partition(".")[2])
        assert abs(float(shown.replace("−", "-")) - float(value)) <= 0.5001 * 10**-digits
    return np.array([[float(value) for value, _ in row] for row in found[0]])


def tab_to(page, role, name):
    """Press Tab until the control has the focus, as a reader without a mouse does."""
    target = page.get_by_role(role, name=name, exact=True)
    for _ in range(80):
        if target.evaluate("node => node === document.activeElement"):
            return target
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches the {role} {name}")


def test_mask_painter_shows_weights_and_leaks(opened):
    page = opened("mask")
    rng = np.random.RandomState(3)
    mask = causal_mask(5) & (torch.arange(5) < 4)
    np.testing.assert_allclose(numbers(page, "weights")[:, :5], mask_reference(mask), atol=1e-6)
    np.testing.assert_allclose(numbers(page, "leak matrix"), leak_reference(mask), atol=1e-6)
    length, padding, future, hidden = 4, True, True, False
    for setting in range(SETTINGS):
        if setting % 4 == 0:
            length, padding, future = rng.randint(6), bool(rng.randint(2)), bool(rng.randint(2))
            page.get_by_role("slider", name="real words").fill(str(length))
            page.get_by_label("hide the padding").set_checked(padding)
            page.get_by_label("hide the future").set_checked(future)
            may = torch.ones(5, 5, dtype=torch.bool)
            may = may & (torch.arange(5) < length) if padding else may
            mask = (may & causal_mask(5) if future else may) != hidden
        for _ in range(4):
            i, j = rng.randint(5, size=2)
            page.locator("table[role=grid] tbody tr").nth(i).locator("button").nth(j).click()
            mask[i, j] = ~mask[i, j]
        hidden, afterwards = bool(rng.randint(2)), bool(rng.randint(2))
        page.get_by_label("read 1 as").select_option(index=int(hidden))
        page.get_by_label("mask", exact=True).select_option(index=int(afterwards))
        may = mask != hidden
        shown, moved = numbers(page, "weights"), numbers(page, "leak matrix")
        wanted = mask_reference(may, afterwards=afterwards)
        np.testing.assert_allclose(shown[:, :5], wanted, atol=1e-6)
        np.testing.assert_allclose(shown[:, 5], wanted.sum(axis=1), atol=1e-6)
        np.testing.assert_allclose(moved, leak_reference(may, afterwards), atol=1e-6)
        # before the softmax an output depends on what it may see; after it, on everything
        depends = may.any(dim=1, keepdim=True).expand(5, 5) if afterwards else may
        np.testing.assert_array_equal(moved > 1e-9, depends.numpy())
        framed = page.locator('table[data-tint="output"] td.leak')
        on_padding = int(depends[:, length:].sum())
        on_future = int(depends.triu(1)[:, :length].sum())
        assert framed.count() == on_padding + on_future
        empty = int((~may.any(dim=1)).sum())
        assert page.locator(".says").inner_text() == (
            f"Leaks from padding: {on_padding}. From the future: {on_future}. "
            f"Rows with nothing to attend to, all zeros: {empty}."
        )


def test_mask_painter_by_keyboard(opened):
    page = opened("mask")
    cell = tab_to(page, "button", "query birds, key birds")
    page.keyboard.press("Space")
    assert cell.get_attribute("aria-pressed") == "false"
    assert (numbers(page, "weights")[0] == 0).all()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    may = causal_mask(5) & (torch.arange(5) < 4)
    may[0, 0], may[0, 3] = False, True
    np.testing.assert_allclose(numbers(page, "weights")[:, :5], mask_reference(may), atol=1e-6)
    tab_to(page, "combobox", "read 1 as")
    page.keyboard.press("ArrowDown")
    np.testing.assert_allclose(numbers(page, "weights")[:, :5], mask_reference(~may), atol=1e-6)
    tab_to(page, "button", "Turn 0 and 1 around")
    page.keyboard.press("Enter")
    np.testing.assert_allclose(numbers(page, "weights")[:, :5], mask_reference(may), atol=1e-6)
    assert not (numbers(page, "leak matrix") > 0)[~may.numpy()].any()
    tab_to(page, "combobox", "mask")
    page.keyboard.press("ArrowDown")
    np.testing.assert_allclose(numbers(page, "leak matrix"), leak_reference(may, True), atol=1e-6)
    tab_to(page, "slider", "real words")
    page.keyboard.press("Home")
    assert not numbers(page, "weights").any()  # all is padding


def test_mask_painter_paints_where_the_mouse_is_drawn(opened):
    page = opened("mask")
    rows = page.locator("table[role=grid] tbody tr")
    places = [rows.nth(4).locator("button").nth(j).bounding_box() for j in range(3)]
    page.mouse.move(places[0]["x"] + 9, places[0]["y"] + 9)
    page.mouse.down()
    page.mouse.move(places[2]["x"] + 9, places[2]["y"] + 9, steps=9)
    page.mouse.up()
    np.testing.assert_array_equal(numbers(page, "weights")[4, :4], [0, 0, 0, 1])


def bars(page, label):
    """The heights of the bars in a chart, and that they are drawn as high as they should be."""
    found = (
        page.get_by_role("img", name=label, exact=True)
        .locator("rect")
        .evaluate_all(
            "bars => bars.map(bar => [bar.dataset.value, bar.getAttribute('height'), bar.getAttribute('y')])"
        )
    )
    values, heights, tops = np.array(found, dtype=float).T
    np.testing.assert_allclose(heights, 60 * values, atol=1e-9)
    np.testing.assert_allclose(tops + heights, 60, atol=1e-9)
    return values


def test_square_root_shows_what_was_measured(opened):
    page = opened("root")
    rng = np.random.RandomState(4)
    for setting in range(SETTINGS):
        at = rng.randint(3) if setting else 1
        if setting:
            page.get_by_role("slider", name="width d").fill(str(at))
        shown = numbers(page, "measured")
        for k, name in enumerate(SCALES):
            np.testing.assert_allclose(shown[k], MEASURED[name][at], atol=1e-6)
            scaled = torch.from_numpy(SCALES[name][at] * SCORES[at])
            weights = torch.softmax(scaled[0], dim=0).sort(descending=True).values
            np.testing.assert_allclose(
                bars(page, f"weights of one query, {name}"), weights, atol=1e-6
            )
            places = scaled.clamp(-12, 12).round().flatten()
            wanted = [(places == place).double().mean().item() for place in range(-12, 13)]
            shares = bars(page, f"histogram of the scores, {name}")
            np.testing.assert_allclose(shares, wanted, atol=1e-6)
        said = page.locator(".says").inner_text()
        assert said.startswith(f"At width {[4, 64, 1024][at]} the gradient")


def check_clock(page, p, offset, base):
    # the table has 32 bits, the rotations have 64: turn the first row, which is exact
    first = sinusoidal(1, 16, base=base).double()[0].numpy()
    here = shift_matrix(p, 16, base=base).double().numpy() @ first
    there = shift_matrix(offset, 16, base=base).double().numpy() @ here
    shown = numbers(page, "hands")
    np.testing.assert_allclose(shown[:, 1:3].ravel(), here, atol=1e-6)
    np.testing.assert_allclose(shown[:, 4:6].ravel(), there, atol=1e-6)
    np.testing.assert_allclose(shown[:, 3], offset * shown[:, 0], atol=1e-6)
    said = page.locator(".says").get_attribute("data-value")
    np.testing.assert_allclose(float(said), here @ there, atol=1e-6)
    points = page.locator("polyline").get_attribute("points").split()
    at, height = np.array([point.split(",") for point in points], dtype=float).T
    np.testing.assert_array_equal(at, np.arange(-60, 61))
    wanted = [here @ shift_matrix(int(k), 16, base=base).double().numpy() @ here for k in at]
    np.testing.assert_allclose(-height, wanted, atol=1e-6)
    # the end of each hand is where sine and cosine say
    ends = page.locator(".hand").evaluate_all(
        """hands => hands.map(hand => {
            const turn = parseFloat(hand.style.transform.slice(7));
            return [Math.sin(turn), Math.cos(turn)];
        })"""
    )
    drawn = np.array(ends).reshape(8, 2, 2)  # the later one lies behind; a style has six digits
    np.testing.assert_allclose(drawn[:, 1].ravel(), here, atol=1e-4)
    np.testing.assert_allclose(drawn[:, 0].ravel(), there, atol=1e-4)


def test_position_clock_shows_the_encoding_and_its_rotation(opened):
    page = opened("clock", reduced_motion="reduce")
    rng = np.random.RandomState(5)
    check_clock(page, 12, 5, 100.0)
    for _ in range(SETTINGS):
        p, offset, which = rng.randint(61), rng.randint(-60, 61), rng.randint(2)
        page.get_by_role("slider", name="position p").fill(str(p))
        page.get_by_role("slider", name="offset").fill(str(offset + 60))
        page.get_by_label("base").select_option(index=int(which))
        check_clock(page, p, offset, [100.0, 10000.0][which])


def test_turned_pairs_score_by_their_distance(opened):
    page = opened("rope")
    query, key = torch.tensor([[[1.0, 0.5, 0.8, 0.0]], [[0.3, 0.9, 0.1, 0.7]]]).double()
    rng = np.random.RandomState(6)
    for _ in range(SETTINGS):
        m, n, which = rng.randint(61), rng.randint(61), rng.randint(2)
        page.get_by_role("slider", name="query at m").fill(str(m))
        page.get_by_role("slider", name="key at n").fill(str(n))
        page.get_by_label("base").select_option(index=int(which))
        turned = [
            rope(vector, torch.tensor([p]), [100.0, 10000.0][which])[0]
            for vector, p in ((query, m), (key, n))
        ]
        said = page.locator(".says").get_attribute("data-value")
        np.testing.assert_allclose(float(said), turned[0] @ turned[1], atol=1e-6)
        ends = page.locator(".hand").evaluate_all(
            "hands => hands.map(hand => [+hand.getAttribute('x2'), -hand.getAttribute('y2')])"
        )
        drawn = np.array(ends).reshape(2, 2, 2)  # pairs, query and key, entries
        np.testing.assert_allclose(
            drawn.swapaxes(0, 1).reshape(2, 4), torch.stack(turned), atol=1e-6
        )


def word_weights(page):
    found = page.locator(".words small[data-value]")
    return found.evaluate_all("nodes => nodes.map(node => Number(node.dataset.value))")


def drawn_lines(page):
    """What each line shows, (T, S), and how wide it is; the end of each must be at its two words."""
    source, target = (page.locator(f".alignment .words >> nth={k}") for k in range(2))
    found = page.locator(".alignment path").evaluate_all(
        """paths => paths.map(path => [
            Number(path.dataset.value),
            parseFloat(path.style.strokeWidth),
            ...path.getAttribute("d").match(/[\\d.]+/g).map(Number)])"""
    )
    picture = page.locator(".alignment svg").bounding_box()
    middles = []
    for words in (source, target):
        boxes = [one.bounding_box() for one in words.locator("button").all()]
        middles.append([box["y"] + box["height"] / 2 - picture["y"] for box in boxes])
    shape = len(middles[1]), len(middles[0])
    value, width, *ends = np.array(found, dtype=float).T
    np.testing.assert_allclose(
        ends[1] * picture["height"] / 100, np.tile(middles[0], shape[0]), atol=1
    )
    np.testing.assert_allclose(
        ends[7] * picture["height"] / 100, np.repeat(middles[1], shape[1]), atol=1
    )
    return value.reshape(shape), width.reshape(shape)


def test_alignment_viewer_shows_rows_and_columns(opened):
    page = opened("alignment")
    rng = np.random.RandomState(6)
    for _ in range(SETTINGS):
        example, network = rng.randint(2), rng.randint(3)
        _, source, target, weights = ALIGNMENTS[example]
        shown = weights[network]
        page.get_by_label("number").select_option(index=int(example))
        page.get_by_label("network").select_option(index=int(network))
        side = "st"[rng.randint(2)]
        at = rng.randint(len(source if side == "s" else target))
        page.get_by_role("button", name=f"{side}{at}", exact=True).hover()
        wanted = shown[at] if side == "t" else shown[:, at]
        np.testing.assert_allclose(word_weights(page), wanted, atol=1e-6)
        np.testing.assert_allclose(numbers(page, "weights"), shown, atol=1e-6)
        best = (source if side == "t" else target)[wanted.argmax()]
        assert f": {best} {wanted.max():.2f}," in page.locator(".says").inner_text()
        value, width = drawn_lines(page)
        np.testing.assert_allclose(value, shown, atol=1e-6)
        np.testing.assert_allclose(width, np.where(shown < 0.02, 0, 10 * shown), atol=1e-3)
        faint = page.locator(".alignment path").evaluate_all(
            "paths => paths.map(path => path.classList.contains('faint'))"
        )
        places = np.arange(len(target))[:, None], np.arange(len(source))[None]
        of_others = np.broadcast_to(places[side == "s"] != at, shown.shape)
        np.testing.assert_array_equal(np.reshape(faint, shown.shape), of_others)


def test_alignment_viewer_by_keyboard(opened):
    page = opened("alignment")
    tab_to(page, "combobox", "network")
    page.keyboard.press("ArrowDown")
    tab_to(page, "button", "t3")
    np.testing.assert_allclose(word_weights(page), ALIGNMENTS[0][3][1][3], atol=1e-6)


def test_alignment_viewer_begins_before_the_word_that_looks_back_farthest(opened):
    page = opened("alignment")
    weights = ALIGNMENTS[0][3][0]
    places = weights.argmax(axis=1)
    is_certain = weights.max(axis=1)[1:] > 0.5
    at = np.argmax([0, *((places[:-1] - places[1:]) * is_certain)])
    np.testing.assert_allclose(word_weights(page), weights[at - 1], atol=1e-6)
    page.get_by_role("button", name="Next word").click()
    np.testing.assert_allclose(word_weights(page), weights[at], atol=1e-6)


def check_split(page, length, heads, place):
    tables = page.locator(".live table").evaluate_all(
        """tables => tables.map(table => [...table.tBodies[0].rows].map(row =>
            [...row.querySelectorAll("td")].map(cell => Number(cell.dataset.place))))"""
    )
    wanted = torch.cat(splits(length, heads))
    np.testing.assert_array_equal(np.array(tables), wanted.numpy())
    told = re.findall(r"head (\d), row (\d)", page.locator(".says").inner_text())
    for split, where in zip(splits(length, heads), told, strict=True):
        h, t, _ = (split == place).nonzero()[0].tolist()
        assert where == (str(h + 1), str(t + 1))
    chosen = page.locator(".live .chosen").evaluate_all(
        "nodes => nodes.map(node => node.textContent)"
    )
    assert chosen == ["abcde"[place // 4] + str(place % 4 + 1)] * 3


def test_head_split_follows_memory(opened):
    page = opened("split")
    rng = np.random.RandomState(7)
    check_split(page, 3, 2, 6)
    for _ in range(SETTINGS):
        length, heads = rng.randint(2, 6), [1, 2, 4][rng.randint(3)]
        page.get_by_label("words").select_option(str(length))
        page.get_by_label("heads").select_option(str(heads))
        place = rng.randint(4 * length)
        page.get_by_role("slider", name="place in memory").fill(str(place))
        check_split(page, length, heads, place)


def test_head_split_moves_memory_into_both_splits(opened):
    page = opened("split")
    page.get_by_role("button", name="Move memory into the heads").click()
    # at the start of its way each entry lies on its place in memory
    starts = page.evaluate(
        """() => {
            const box = node => [node.getBoundingClientRect().x, node.getBoundingClientRect().y];
            const memory = [...document.querySelectorAll(".memory span")].map(box);
            return document.getAnimations().map(moving => {
                moving.pause();
                moving.currentTime = 0;
                const node = moving.effect.target;
                return [Number(node.dataset.place), box(node), memory[node.dataset.place]];
            });
        }"""
    )
    assert sorted(place for place, *_ in starts) == sorted([*range(12)] * 2)
    for _, begin, memory in starts:
        np.testing.assert_allclose(begin, memory, atol=1)
    page.evaluate("document.getAnimations().forEach(moving => moving.finish())")
    check_split(page, 3, 2, 6)


def test_head_split_stands_still_for_readers_who_want_no_motion(opened):
    page = opened("split", reduced_motion="reduce")
    assert page.get_by_role("button").count() == 0
    check_split(page, 3, 2, 6)


def check_step(page, step):
    looks = page.locator(".look").evaluate_all("nodes => nodes.map(node => node.dataset.value)")
    t, kind = divmod(step - 2, 3)
    wanted = np.zeros(0)
    if step == 1:
        wanted = STEP_WEIGHTS["encoder"].ravel()
    elif step > 1 and kind < 2:
        row = STEP_WEIGHTS[["own", "cross"][kind]][t]
        wanted = row[row > 0]
    np.testing.assert_allclose(np.array(looks, dtype=float), wanted, atol=1e-6)
    # what is not written yet cannot be read
    waiting = page.locator(".box.waits text").evaluate_all("nodes => nodes.map(n => n.textContent)")
    written = STEPS[1][: max(0, t + (kind == 2))]
    assert [word for word in waiting if word in STEPS[1]].count("end") == ("end" not in written)


def test_encoder_decoder_shows_each_step(opened):
    page = opened("steps")
    rng = np.random.RandomState(8)
    check_step(page, 6)
    for step in rng.randint(14, size=SETTINGS):
        page.get_by_role("slider", name="step").fill(str(step))
        check_step(page, step)


def test_encoder_decoder_by_keyboard(opened):
    page = opened("steps")
    page.get_by_role("slider", name="step").fill("0")
    assert page.get_by_role("button", name="Back").is_disabled()
    tab_to(page, "button", "Next")
    for step in range(1, 14):
        page.keyboard.press("Enter")
        check_step(page, step)
    assert page.get_by_role("button", name="Next").is_disabled()
    page.keyboard.press("Tab")
    tab_to(page, "button", "Back")
    page.keyboard.press("Enter")
    check_step(page, 12)


def test_steps_play_by_themselves_and_stop(opened):
    page = opened("steps")
    slider = page.get_by_role("slider", name="step")
    slider.fill("11")
    page.clock.install()
    tab_to(page, "button", "Play")
    page.keyboard.press("Enter")
    assert page.get_by_role("button", name="Pause").count() == 1
    page.clock.run_for(60_000)
    # it has come to the end, and the next press begins again
    check_step(page, 13)
    page.get_by_role("button", name="Play").click()
    check_step(page, 0)
    page.clock.run_for(1_500)
    check_step(page, 1)
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(60_000)
    check_step(page, 1)


def check_decoder(page, step):
    """What is shown at a step: the numbers of its word, as far as they have been computed."""
    t, last = divmod(step, 5)
    rows, strips = page.locator(".live > .scroll"), page.locator(".live svg.strip")
    places = {
        "state": strips.nth(0),
        "scores": rows.nth(0),
        "weights": rows.nth(1),
        "context": strips.nth(1),
    }
    for k, (name, place) in enumerate(places.items()):
        cells = place.locator("[data-value]")
        shown = [float(c.get_attribute("data-value")) for c in cells.all()]
        np.testing.assert_allclose(shown, DECODED[name][t], atol=1e-6)
        assert (place.evaluate("n => getComputedStyle(n).visibility") == "visible") == (k <= last)
    waiting = page.locator(".words .waits").all_inner_texts()
    assert waiting == DECODED["target"][t + (last == 4) :]
    said = page.locator(".says").inner_text()
    if last == 2:
        best = int(DECODED["weights"][t].argmax())
        assert f"{['one', 'two', 'three'][best]} {DECODED['weights'][t].max():.2f}" in said
    if last == 4:
        word, p = DECODED["likely"][t][0]
        assert f"{word} {p:.2f}" in said


def test_decoder_step_by_step(opened):
    page = opened("decoder")
    check_decoder(page, 7)
    for step in [0, 7, 2, 9, 4, 5, 1, 8, 3, 6]:
        page.get_by_role("slider", name="step").fill(str(step))
        check_decoder(page, step)


def check_next_word(page, t, weights):
    """The sliders have these weights, and the bars what PyTorch's layers make of them."""
    shown = page.locator(".sliders .reading").evaluate_all("n => n.map(x => +x.dataset.value)")
    np.testing.assert_allclose(shown, weights, atol=1e-6)
    p = next_word_reference(t, weights)
    likely = np.argsort(-p)[:4]
    bars = page.locator(".bars .bar")
    values = bars.evaluate_all("n => n.map(x => +x.dataset.value)")
    np.testing.assert_allclose(values, p[likely], atol=1e-3)
    assert [text.split()[0] for text in bars.all_inner_texts()] == [VOCABULARY[v] for v in likely]
    said = page.locator(".says").inner_text()
    assert f"writes {VOCABULARY[likely[0]]}," in said
    assert ("which is right" in said) == (VOCABULARY[likely[0]] == RIGHT[t])


def test_next_word_follows_the_weights(opened):
    page = opened("nextword")
    learned, other = ROW_WEIGHTS.values()
    check_next_word(page, 1, learned[1])
    page.get_by_role("combobox", name="row").select_option(index=0)
    check_next_word(page, 0, learned[0])
    page.get_by_role("button", name="as network 2").click()
    check_next_word(page, 0, other[0])
    page.get_by_role("slider", name="two").fill("0.25")
    rest = other[0] * [1, 0, 1]
    wanted = 0.75 * rest / rest.sum() + [0, 0.25, 0]
    check_next_word(page, 0, wanted)
    page.get_by_role("slider", name="one").fill("1")
    check_next_word(page, 0, [1, 0, 0])
    page.get_by_role("slider", name="one").fill("0.5")
    check_next_word(page, 0, [0.5, 0.25, 0.25])
    page.get_by_role("button", name="all equal").click()
    check_next_word(page, 0, np.ones(3) / 3)
    forced = [[next_word_reference(t, one)[v] for one in np.eye(3)] for t, v in [(0, 2), (1, 1)]]
    page.get_by_text("All weight on one place").click()
    np.testing.assert_allclose(numbers(page, "probability of each row"), forced, atol=1e-3)


def check_tree(page, beam, alpha, to_the_end):
    nodes = page.locator(".node small").evaluate_all(
        "nodes => nodes.map(node => [node.dataset.prefix, node.dataset.value])"
    )
    for prefix, value in nodes:
        tokens = [int(token) for token in prefix.split()]
        log_p = sum(BEAM_TABLE[one, next_].item() for one, next_ in itertools.pairwise(tokens))
        assert abs(np.exp(log_p) - float(value)) < 1e-6
    said = page.locator(".says")
    if to_the_end:
        ids, score = beam_search(lambda p: BEAM_TABLE[p[:, -1]], 0, 1, beam, 4, alpha)
        assert abs(float(said.get_attribute("data-value")) - score) < 1e-6
        found = " ".join(BEAM_WORDS[i] for i in ids.tolist())
        assert f"Found: {found}, score" in said.inner_text()
        assert page.locator(".node.best").count() == 1


def test_beam_tree_finds_what_beam_search_finds(opened):
    page = opened("beam")
    rng = np.random.RandomState(11)
    slider = page.get_by_role("slider", name="round")
    for _ in range(SETTINGS):
        which, power = rng.randint(3), rng.randint(3)
        page.get_by_label("kept in each round").select_option(index=int(which))
        page.get_by_label("α").select_option(index=int(power))
        last = int(slider.get_attribute("max"))
        at = last if rng.randint(2) else rng.randint(last)
        slider.fill(str(at))
        check_tree(page, which + 1, [0, 0.6, 1][power], at == last)
        assert page.locator(".node.dropped:visible").count() >= (at > 0)


def check_cache(page, step, kind):
    np.testing.assert_allclose(chip_weights(page), CACHED[kind][step, : step + 1], atol=1e-6)
    said = page.locator(".says")
    assert abs(float(said.get_attribute("data-value")) - CACHE_DIFFERENCES[kind][step]) < 1e-6
    assert f"{step + 1} now and {sum(range(step + 2))} so far" in said.inner_text()
    positions = page.locator(".chip small:last-child").all_inner_texts()
    assert positions[: step + 1] == [f"pos. {0 if kind else i}" for i in range(step + 1)]


def chip_weights(page):
    found = page.locator(".chip small[data-value]")
    return found.evaluate_all("nodes => nodes.map(node => Number(node.dataset.value))")


def test_cache_timeline_shows_each_word(opened):
    page = opened("cache")
    rng = np.random.RandomState(12)
    for _ in range(SETTINGS):
        step, kind = rng.randint(5), rng.randint(2)
        page.get_by_role("slider", name="word").fill(str(step))
        page.get_by_label("every new word gets position 0").set_checked(bool(kind))
        check_cache(page, step, kind)


def check_tiles(page, block_q, block_k, causal, top_left):
    """Against the mask itself and, with the corner at the bottom right, against the exercise's `tiles`."""
    shift = 0 if top_left else 3
    mask = np.arange(10) <= np.arange(7)[:, None] + shift if causal else np.ones((7, 10), bool)
    cells = page.locator(".live tbody td")
    shown = cells.evaluate_all("cells => cells.map(cell => [cell.textContent, cell.dataset.kind])")
    assert [text for text, _ in shown] == [str(int(x)) for x in mask.flat]
    kinds, loaded = {}, 0
    for i in range(-(-7 // block_q)):
        for j in range(-(-10 // block_k)):
            tile = mask[i * block_q : (i + 1) * block_q, j * block_k : (j + 1) * block_k]
            kinds[i, j] = "full" if tile.all() else "edge" if tile.any() else "none"
            loaded += tile.shape[1] if tile.any() else 0
    wanted = [kinds[i // block_q, j // block_k] for i in range(7) for j in range(10)]
    assert [kind for _, kind in shown] == wanted
    if not (causal and top_left):
        found = [(i, j, kind) for (i, j), kind in kinds.items() if kind != "none"]
        assert found == tiles(7, 10, block_q, block_k, causal)
    said = page.locator(".says").inner_text()
    numbers_said = [int(number) for number in re.findall(r"\d+", said)]
    counted = [list(kinds.values()).count(kind) for kind in ("full", "edge", "none")]
    assert numbers_said == [*counted, loaded]


def test_tiles_are_full_cut_or_left_out(opened):
    page = opened("tiles")
    check_tiles(page, 3, 2, True, False)
    rng = np.random.RandomState(13)
    for _ in range(SETTINGS):
        block_q, block_k = rng.randint(1, 9, size=2)
        causal, top_left = rng.randint(2, size=2)
        page.get_by_role("slider", name="queries in a tile").fill(str(block_q - 1))
        page.get_by_role("slider", name="keys in a tile").fill(str(block_k - 1))
        page.get_by_label("causal mask").set_checked(bool(causal))
        page.get_by_label("corner").select_option(index=int(top_left))
        check_tiles(page, block_q, block_k, causal, top_left)


def check_sampler(page, temperature, k, share):
    shown = numbers(page, "probabilities").T
    logits = torch.from_numpy(LOGITS)
    for column, how in zip(shown, [(None, None), (k, None), (k, share)], strict=True):
        wanted = token_probabilities(logits, temperature, *how)
        np.testing.assert_allclose(column, wanted, atol=1e-9)
    assert page.locator(".says").inner_text().startswith(f"{(shown[2] > 0).sum()} of 6 tokens")
    assert page.get_by_role("slider", name="top-k").get_attribute("aria-valuetext") == str(k)


def test_sampler_computes_what_the_reference_computes(opened):
    page = opened("sampler")
    check_sampler(page, 1.0, 6, 0.8)
    temperatures = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0]
    rng = np.random.RandomState(3)
    for _ in range(SETTINGS):
        at, k, share = rng.randint(9), rng.randint(6), rng.randint(10)
        for name, place in [("temperature", at), ("top-k", k), ("top-p", share)]:
            page.get_by_role("slider", name=name).fill(str(place))
        check_sampler(page, temperatures[at], k + 1, (share + 1) / 10)


def check_heads(page, texts, kinds):
    """The maps and the likeliest letters are PyTorch's, to 1e-4."""
    maps, p = after_replacing(texts, kinds)
    cells = page.locator("svg.map").evaluate_all(
        """maps => maps.flatMap((map, n) => [...map.querySelectorAll("rect")].map(cell =>
            [n, cell.getAttribute("y"), cell.getAttribute("x"), cell.dataset.value].map(Number)))"""
    )
    drawn = np.zeros_like(maps)
    for *place, weight in cells:
        drawn[tuple(place)] = weight
    np.testing.assert_allclose(drawn, np.where(maps < 0.02, 0, maps), atol=1e-4)
    read = "nodes => nodes.map(node => Number(node.dataset.value))"
    likely, bars = np.argsort(-p)[:4], page.locator(".bar")
    np.testing.assert_allclose(bars.evaluate_all(read), p[likely], atol=1e-4)
    letters = [SIGNS[v] for v in likely]
    assert [text.split()[0] for text in bars.all_inner_texts()] == letters
    before = SIGNS[after_replacing(texts, ["own"] * 6)[1].argmax()]
    said = page.locator(".says").inner_text()
    assert f"writes {letters[0]}. With" in said and said.endswith(f"it writes {before}.")


def test_heads_that_are_replaced_give_what_pytorch_gives(opened):
    page = opened("heads")
    check_heads(page, TEXTS, ["own"] * 6)
    selects = [page.get_by_role("combobox", name=f"head {n // 3}.{n % 3}") for n in range(6)]
    for kind, n in itertools.product(KINDS[1:], range(6)):
        selects[n].select_option(kind)
        check_heads(page, TEXTS, [kind if i == n else "own" for i in range(6)])
        selects[n].select_option("own")
    rng = np.random.RandomState(14)
    for lengths in ((7, 7), (9, 4), (1, 9)):
        texts = ["".join(SIGNS[i] for i in rng.randint(8, size=length)) for length in lengths]
        page.get_by_label("text", exact=True).fill(f"{texts[0]} !")
        page.get_by_label("other text").fill(texts[1])
        kinds = [KINDS[k] for k in rng.randint(4, size=6)]
        for select, kind in zip(selects, kinds, strict=True):
            select.select_option(kind)
        check_heads(page, texts, kinds)
    page.get_by_label("layer 1, all heads").select_option("mean")
    check_heads(page, texts, [*kinds[:3], "mean", "mean", "mean"])


def test_heads_by_keyboard(opened):
    page = opened("heads")
    tab_to(page, "textbox", "text")
    page.keyboard.type("abca")
    tab_to(page, "combobox", "layer 0, all heads")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tab_to(page, "combobox", "head 1.1")
    page.keyboard.press("ArrowDown")
    check_heads(page, ("abca", TEXTS[1]), ["mean", "mean", "mean", "own", "cut", "own"])


@pytest.mark.parametrize("name", examples())
def test_without_a_script_the_figure_stands_still(opened, name):
    page = opened(name, scripts=False)
    figure = page.locator("figure")
    assert figure.locator(".still").is_visible() and not figure.locator(".live").count()
    assert figure.locator("table td:visible, svg:visible").count() > 0
    assert figure.locator("input, button, select").count() == 0
    assert figure.locator("figcaption").inner_text()


@pytest.mark.parametrize("name", examples())
def test_the_still_figure_shows_the_same_numbers(opened, name):
    read = """part => [...document.querySelectorAll(`${part} table`)].map(table => [
        table.caption.textContent,
        [...table.rows].map(row => [...row.cells].map(
            cell => cell.querySelector("input") ? cell.querySelector("input").value.replace("-", "−")
            : cell.textContent))])"""
    still = dict(opened(name, scripts=False).evaluate(read, ".still"))
    alive = dict(opened(name).evaluate(read, ".live"))
    for title in still.keys() & alive.keys():
        assert still[title] == alive[title]


@pytest.mark.parametrize("name", [*examples(), "map"])
def test_page_never_scrolls_sideways(opened, name):
    for scripts in (True, False):
        page = opened(name, scripts)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            box = page.locator("figure").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", [*examples(), "map"])
def test_everyone_can_use_it(opened, name):
    page = opened(name, reduced_motion="reduce")
    for theme in ("light", "dark"):
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        for found in axe.Axe().run(page).response["violations"]:
            raise AssertionError(f"{theme}: {found['help']}: {found['nodes'][0]['html']}")
    moving = page.evaluate("document.getAnimations().length")
    assert moving == 0


def test_map_leads_to_sections_of_every_chapter():
    links = re.findall(r'href="(ch\d\w+)\.html#([\w-]+)"', landing_map())
    assert {page.partition("_")[0] for page, _ in links} == {f"ch{n}" for n in chapter_pages()}
    for page, label in links:
        text = (ROOT / "book" / f"{page}.md").read_text(encoding="utf-8")
        assert f"\n({label})=\n" in text, f"{page}#{label}"


def test_colours_are_those_of_the_other_figures():
    from figures import COLOURS

    css = (ROOT / "book" / "_static" / "face.css").read_text(encoding="utf-8")
    assert dict(re.findall(r"--figure-(\w+): (#\w{6});", css)) == COLOURS


def test_scripts_are_small_and_ask_nobody():
    for path in (ROOT / "book" / "_widgets").glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert len(text.encode()) < 7680, path.name
        assert not re.search(r"\bfetch\b|\bimport\b|XMLHttp|https?://(?!www\.w3\.org)", text)
