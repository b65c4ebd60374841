"""Figures to touch: a static figure that a small script brings to life, with no request to anyone.

Each function returns HTML for one figure: a table or drawing that stands there without JavaScript,
the numbers that the page has computed, and a script from `_widgets` that replaces the one by the
other. Everything is written into the page, because a page opened from disk may load nothing.
"""

import base64
import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from figures import number_text
from IPython.display import HTML

SCRIPTS = Path(__file__).parent / "_widgets"


def mask_painter(
    words: Sequence[str],
    exponentials: np.ndarray,
    values: np.ndarray,
    exchanged: tuple[np.ndarray, np.ndarray],
    length: int,
    weights: np.ndarray,
    leaks: np.ndarray,
    caption: str,
) -> HTML:
    """A mask to paint, in either polarity, the weights that it leaves, and its leak matrix.

    Args:
        words: queries and keys, (T,).
        exponentials: the exponentials of the scores, positive integers, (T, T).
        values: (T, dv).
        exchanged: exponentials (T, T) and values (T, dv) that stand in column and row j when word j
            is exchanged for another.
        length: how many of the words are real at the start; the rest is padding.
        weights: what is left when padding and future are hidden, (T, T).
        leaks: with the same mask, how far output i moves when word j is exchanged, (T, T).
        caption: what to see in the figure.
    """
    T = len(words)
    mask = np.tril(np.ones((T, T), dtype=int)) * (np.arange(T) < length)
    titles = {
        "exponentials": "exponentials of the scores",
        "mask": "mask",
        "weights": "weights",
        "leaks": "leak matrix: how far outputs move",
    }
    names = [word if i < length else "pad" for i, word in enumerate(words)]
    sums = weights.sum(axis=1, keepdims=True)
    still = _parts(
        _table(titles["exponentials"], names, names, exponentials, "muted", 0),
        _table(titles["mask"], names, names, mask, "key", 0),
        _table(titles["weights"], names, [*names, "sum"], np.hstack([weights, sums]), "weights"),
        _table(titles["leaks"], names, names, leaks, "output"),
    )
    others, other_values = exchanged
    data = {
        "words": list(words),
        "exponentials": exponentials.tolist(),
        "values": values.tolist(),
        "others": others.tolist(),
        "otherValues": other_values.tolist(),
        "length": length,
        "titles": titles,
        "readings": ["may attend, as in this course", "hidden, as in nn.MultiheadAttention"],
        "places": ["before the softmax, as it should be", "after the softmax"],
    }
    return _figure("mask", "Mask painter", data, still, caption)


def square_root(
    widths: Sequence[int],
    measured: dict[str, Sequence[Sequence[float]]],
    scales: dict[str, Sequence[float]],
    scores: Sequence[np.ndarray],
    caption: str,
) -> HTML:
    """What scalings do to scores, weights and gradient, for a width to slide.

    Args:
        widths: the widths of queries and keys that were measured.
        measured: for each scaling and width the variance of the scores, the largest weight, the
            entropy and the gradient through the softmax.
        scales: for each scaling and width the factor of the scores.
        scores: for each width the scores of many queries without a factor, (queries, keys).
        caption: what to see in the figure.
    """
    beyond, start = 12, len(widths) // 2
    edges = [-np.inf, *np.arange(-beyond + 0.5, beyond), np.inf]
    histograms = [
        [
            (np.histogram(factor * raw, edges)[0] / raw.size).tolist()
            for factor, raw in zip(factors, scores, strict=True)
        ]
        for factors in scales.values()
    ]
    columns = ["variance", "largest weight", "entropy", "gradient"]
    still = _parts(
        *(
            _table(name, [f"d = {d}" for d in widths], columns, np.array(numbers), "muted", 3)
            for name, numbers in measured.items()
        )
    )
    data = {
        "names": list(measured),
        "columns": columns,
        "widths": list(widths),
        "start": start,
        "measured": [np.array(numbers).tolist() for numbers in measured.values()],
        "limits": [None, 1, float(np.log(scores[0].shape[1])), 1],
        "scales": [list(factors) for factors in scales.values()],
        "scores": [raw[0].round(6).tolist() for raw in scores],
        "histograms": histograms,
        "beyond": beyond,
    }
    return _figure("root", "Why the square root", data, still, caption)


def position_clock(
    d_model: int, bases: Sequence[int], position: int, offset: int, caption: str
) -> HTML:
    """Sinusoidal positions as clock hands, for two positions to move.

    Args:
        d_model: the width of the encoding; half of it is the number of clocks.
        bases: the bases to choose from, the first one at the start.
        position: the position p at the start.
        offset: the distance to the second position at the start.
        caption: what to see in the figure.
    """
    omega = bases[0] ** (-np.arange(0, d_model, 2) / d_model)
    here, there = position * omega, (position + offset) * omega
    columns = ["ω", "sin at p", "cos at p", "turn", "sin after", "cos after"]
    matrix = [omega, np.sin(here), np.cos(here), offset * omega, np.sin(there), np.cos(there)]
    pairs = [f"pair {i}" for i in range(d_model // 2)]
    title = "hands at p, and after turning by offset · ω"
    data = {
        "width": d_model,
        "bases": list(bases),
        "positions": 61,
        "position": position,
        "reach": 60,
        "offset": offset,
        "title": title,
        "columns": columns,
    }
    still = _scroll(title, _table(title, pairs, columns, np.transpose(matrix), "muted", 3))
    return _figure("clock", "Position clock", data, still, caption)


def turned_pairs(
    query: Sequence[float],
    key: Sequence[float],
    bases: Sequence[int],
    start: tuple[int, int],
    caption: str,
) -> HTML:
    """A query and a key that RoPE turns, at two positions to move, and their score.

    Args:
        query: its entries, of which neighbours are a pair.
        key: likewise, as many.
        bases: the bases to choose from, the first one at the start.
        start: the positions of query and key at the start.
        caption: what to see in the figure.
    """
    omega = bases[0] ** (-np.arange(0, len(query), 2) / len(query))
    vectors = np.array([query, key]).reshape(2, -1, 2) @ [1, 1j]
    turned = vectors * np.exp(1j * np.multiply.outer(start, omega))
    columns = ["ω", "query", "", "key", ""]
    matrix = [omega, turned[0].real, turned[0].imag, turned[1].real, turned[1].imag]
    pairs = [f"pair {i}" for i in range(len(omega))]
    title = f"query at {start[0]}, key at {start[1]}: their turned pairs"
    data = {
        "query": list(query),
        "key": list(key),
        "bases": list(bases),
        "positions": 61,
        "start": list(start),
    }
    still = _scroll(title, _table(title, pairs, columns, np.transpose(matrix), "muted", 3))
    return _figure("rope", "Turned pairs", data, still, caption)


def alignment_viewer(
    examples: Sequence[tuple[str, Sequence[str], Sequence[str], np.ndarray]],
    heads: Sequence[str],
    caption: str,
    *,
    series: str = "head",
) -> HTML:
    """The weights as lines from source to target words, and those of one word by pointing at it.

    Args:
        examples: name, source words, target words and weights (heads, T, S) of each.
        heads: the names of the heads, or of the networks whose weights are compared.
        caption: what to see in the figure.
        series: what `heads` names, as the label of its control.
    """
    title = "weights: a row for each target word"
    _, source, target, weights = examples[0]
    data = {
        "title": title,
        "series": series,
        "heads": list(heads),
        "examples": [
            {
                "name": name,
                "source": list(source),
                "target": list(target),
                "weights": _plain(weights),
            }
            for name, source, target, weights in examples
        ],
    }
    still = _scroll(title, _table(title, target, source, weights[0], "weights"))
    return _figure("alignment", "Alignment viewer", data, still, caption)


def head_split(words: str, right: np.ndarray, wrong: np.ndarray, caption: str) -> HTML:
    """Which place of memory the right and the wrong split send where.

    Args:
        words: one letter for each word that can be chosen.
        right: the places of memory, (heads, words, width of a head), as they should be split.
        wrong: the same without the transpose.
        caption: what to see in the figure.
    """
    heads, length, part = right.shape
    width = heads * part
    titles = ["right: view(T, H, d), then transpose", "wrong: view(H, T, d)"]

    def cell(place: int, row: int) -> str:
        word = place // width
        mark = "" if word == row else " leak"
        return f'<td class="word-{word}{mark}">{words[word]}{place % width + 1}</td>'

    still = ""
    rows = [f"row {t + 1}" for t in range(length)]
    columns = [str(c + 1) for c in range(part)]
    for title, split in zip(titles, (right, wrong), strict=True):
        tables = []
        for h, places in enumerate(split.tolist()):
            cells = [[cell(place, t) for place in line] for t, line in enumerate(places)]
            tables.append(_grid(f"head {h + 1}", rows, columns, cells, "muted"))
        still += f'<p class="label">{title}</p>{_parts(*tables)}'
    data = {
        "words": list(words),
        "width": width,
        "length": length,
        "heads": heads,
        "choices": [n for n in range(1, width + 1) if width % n == 0],
        "titles": titles,
    }
    return _figure("split", "Head split as memory", data, still, caption)


def encoder_decoder(
    source: Sequence[str],
    target: Sequence[str],
    answer: Sequence[str],
    encoder: np.ndarray,
    own: np.ndarray,
    cross: np.ndarray,
    caption: str,
) -> HTML:
    """What attends to what, step by step, while a Transformer writes.

    Args:
        source: the words that the encoder reads, (S,).
        target: the words that the decoder reads, (T,).
        answer: the words that are to come out, (T,).
        encoder: weights of the encoder's self-attention, (S, S).
        own: weights of the decoder's self-attention, (T, T).
        cross: weights of the cross-attention, (T, S).
        caption: what to see in the figure.
    """
    named = {
        "encoder": ("encoder", source, source, encoder),
        "own": ("decoder, self-attention", target, target, own),
        "cross": ("decoder, cross-attention", target, source, cross),
    }
    still = _parts(*(_table(*parts, "weights") for parts in named.values()))
    data = {
        "source": list(source),
        "target": list(target),
        "answer": list(answer),
        "tables": [
            {"name": name, "title": title, "rows": list(rows), "columns": list(columns)}
            for name, (title, rows, columns, _) in named.items()
        ],
        **{name: _plain(weights) for name, (*_, weights) in named.items()},
    }
    return _figure("steps", "Encoder and decoder, step by step", data, still, caption)


def decoder_steps(
    source: Sequence[str],
    target: Sequence[str],
    state: np.ndarray,
    scores: np.ndarray,
    weights: np.ndarray,
    context: np.ndarray,
    likely: Sequence[Sequence[tuple[str, float]]],
    caption: str,
) -> HTML:
    """How a recurrent decoder with attention writes, five steps a word: state, scores, weights, context, word.

    Args:
        source: the source words, (S,).
        target: the words that come out, (T,).
        state: the state before each word, (T, H).
        scores: each state's scores of the source words, (T, S).
        weights: the softmax of the scores, (T, S).
        context: the context of each step, (T, Dv).
        likely: for each step the likeliest words with their probabilities.
        caption: what to see in the figure.
    """
    title = "weights: a row for each target word"
    data = {
        "title": title,
        "source": list(source),
        "target": list(target),
        "state": _plain(state),
        "scores": _plain(scores),
        "weights": _plain(weights),
        "context": _plain(context),
        "likely": [[[word, round(float(p), 4)] for word, p in step] for step in likely],
    }
    still = _scroll(title, _table(title, target, source, weights, "weights"))
    return _figure("decoder", "Decoder with attention, step by step", data, still, caption)


def next_word(
    source: Sequence[str],
    target: Sequence[str],
    vocabulary: Sequence[str],
    weights: dict[str, np.ndarray],
    parts: dict[str, np.ndarray],
    row: int,
    caption: str,
) -> HTML:
    """The next word of a recurrent decoder, with the weights of one row to slide.

    Args:
        source: the source words, (S,).
        target: the right words, a row of weights for each, (T,).
        vocabulary: the words that may be written, (V,).
        weights: weights (T, S) by name, the network's own first.
        parts: what `translators.next_word_parts` returns.
        row: the row that is chosen at the start.
        caption: what to see in the figure.
    """
    rounded = {name: part.astype(float).round(5) for name, part in parts.items()}
    right = [list(vocabulary).index(word) for word in target]
    forced = [
        [_next_word(rounded, t, one)[word] for one in np.eye(len(source))]
        for t, word in enumerate(right)
    ]
    title = "probability of each row's word when all of its weight is on one place"
    data = {
        "title": title,
        "source": list(source),
        "target": list(target),
        "vocabulary": list(vocabulary),
        "right": right,
        "row": row,
        "names": list(weights),
        "weights": [_plain(one) for one in weights.values()],
        **{name: part.tolist() for name, part in rounded.items()},
    }
    still = _scroll(title, _table(title, target, source, np.array(forced), "output"))
    return _figure("nextword", "Other weights, another word", data, still, caption)


def _next_word(parts: dict[str, np.ndarray], t: int, weights: np.ndarray) -> np.ndarray:
    """Probabilities (V,) of the word of row t under weights (S,): the GRU cell and the readout."""
    state, hidden = parts["states"][t], np.split(parts["hidden"][t], 3)
    given = np.split(weights @ parts["gates"] + parts["inputs"][t], 3)
    reset, keep = (1 / (1 + np.exp(-(given[k] + hidden[k]))) for k in (0, 1))
    new = (1 - keep) * np.tanh(given[2] + reset * hidden[2]) + keep * state
    scores = parts["read_states"] @ new + weights @ parts["read_values"]
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def beam_tree(
    words: Sequence[str], log_p: np.ndarray, bos: int, eos: int, longest: int, caption: str
) -> HTML:
    """Beam search over a model that looks at the last word only, as a tree that grows by rounds.

    Args:
        words: the vocabulary, (V,).
        log_p: log-probabilities of the next word, a row for each last word, (V, V).
        bos: the word that stands before the sentence.
        eos: the word that ends it.
        longest: the largest number of words, with `eos` and without `bos`.
        caption: what to see in the figure.
    """
    title = "probability of the next word, a row for each last word"
    data = {
        "words": list(words),
        "table": _plain(log_p),
        "bos": bos,
        "eos": eos,
        "longest": longest,
        "beams": [1, 2, 3],
        "start": 1,
        "alphas": [0, 0.6, 1],
        "least": 1e-4,
        "title": title,
    }
    still = _scroll(title, _table(title, words, words, np.exp(log_p), "weights"))
    return _figure("beam", "Beam search, round by round", data, still, caption)


def cache_timeline(
    words: Sequence[str],
    weights: Sequence[np.ndarray],
    differences: Sequence[np.ndarray],
    caption: str,
) -> HTML:
    """Decoding with a key-value cache, with right positions and with position 0 for ever.

    Args:
        words: what is written, (T,).
        weights: for right positions and for position 0, where each word looks, (T, T).
        differences: for both, how far each output is from the one without a cache, (T,).
        caption: what to see in the figure.
    """
    titles = ["weights with the right positions", "weights with position 0 for every word"]
    data = {
        "words": list(words),
        "titles": titles,
        "weights": [_plain(one) for one in weights],
        "differences": [_plain(one) for one in differences],
    }
    still = "".join(
        _scroll(title, _table(title, words, words, one, "weights"))
        for title, one in zip(titles, weights, strict=True)
    )
    return _figure("cache", "Key-value cache, word by word", data, still, caption)


def tile_masks(
    n_queries: int,
    n_keys: int,
    blocks: tuple[int, int],
    tiles: Sequence[tuple[int, int, str]],
    caption: str,
) -> HTML:
    """The tiles of the scores under a causal mask, with block sizes and a corner to choose.

    Args:
        n_queries: the last positions of the sequence.
        n_keys: all positions.
        blocks: queries and keys in a tile, at the start.
        tiles: with these blocks, (i, j, "full" or "edge") for each tile that has work.
        caption: what to see in the figure.
    """
    title = "pairs that may attend (1), by tiles"
    kinds = {(i, j): kind for i, j, kind in tiles}
    share = {"full": 0.8, "edge": 0.35, "none": 0.0}
    cells: list[list[str]] = []
    for i in range(n_queries):
        cells.append([])
        for j in range(n_keys):
            kind = kinds.get((i // blocks[0], j // blocks[1]), "none")
            sides = ["tile-top"] * (i % blocks[0] == 0) + ["tile-left"] * (j % blocks[1] == 0)
            cells[-1].append(
                f'<td class="{" ".join(sides)}" style="--share: {share[kind]:.3f}">'
                f"{int(j <= i + n_keys - n_queries)}</td>"
            )
    rows, columns = ([str(i) for i in range(n)] for n in (n_queries, n_keys))
    still = _scroll(title, _grid(title, rows, columns, cells, "weights"))
    data = {"queries": n_queries, "keys": n_keys, "blocks": list(blocks), "title": title}
    return _figure("tiles", "Tiles under a mask", data, still, caption)


def sampler(tokens: Sequence[str], logits: np.ndarray, caption: str) -> HTML:
    """What temperature, top-k and top-p leave of the probabilities of a few tokens.

    Args:
        tokens: their names, (V,).
        logits: (V,).
        caption: what to see in the figure.
    """
    temperatures = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0]
    shares = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    start = {"temperature": 5, "k": len(tokens) - 1, "share": 7}
    title = "probabilities, step by step"
    columns = ["after the temperature", "after top-k", "after top-p"]
    p = np.exp(logits - np.max(logits))
    p = p / p.sum()
    likely = np.argsort(-p, kind="stable")
    before = np.empty_like(p)
    before[likely] = np.cumsum(p[likely]) - p[likely]
    kept = np.where(before < shares[start["share"]], p, 0)
    data = {
        "tokens": list(tokens),
        "logits": _plain(logits),
        "temperatures": temperatures,
        "shares": shares,
        "start": start,
        "title": title,
        "columns": columns,
    }
    matrix = np.stack([p, p, kept / kept.sum()], axis=1)
    still = _scroll(title, _table(title, tokens, columns, matrix, "weights", 3))
    return _figure("sampler", "From logits to probabilities", data, still, caption)


def heads_to_replace(
    weights: dict[str, np.ndarray],
    means: np.ndarray,
    signs: str,
    texts: tuple[str, str],
    found: dict[str, Sequence[float]],
    caption: str,
) -> HTML:
    """A network of attention alone whose heads can be cut, or get a mean or values from another text.

    Args:
        weights: the network's `state_dict`, in half precision, as the page computes with it.
        means: what each head has seen on average at each position, (layers, heads, positions, d).
        signs: a letter for each token.
        texts: the text at the start, and the other one.
        found: by heads, the right letter's probability when they are cut, with their mean, and with the other text.
        caption: what to see in the figure.
    """
    layers, heads, positions, part = means.shape
    data = {
        "weights": {name: _coded(one, "<f2") for name, one in weights.items()},
        "means": _coded(means, "<f4"),
        "layers": layers,
        "heads": heads,
        "positions": positions,
        "width": heads * part,
        "signs": signs,
        "texts": list(texts),
    }
    title = f"probability of the right letter after {texts[0]}"
    columns = ["cut", "mean", "other text"]
    still = _table(title, list(found), columns, np.array([*found.values()]), "output")
    return _figure("heads", "Cut a head", data, _scroll(title, still), caption)


def _coded(numbers: np.ndarray, kind: str) -> str:
    """Numbers as text: the bytes of their kind, little end first, in base64."""
    return base64.b64encode(np.asarray(numbers).astype(kind).tobytes()).decode()


def _plain(numbers: np.ndarray) -> list[Any]:
    """Numbers for JSON, with more digits than anybody will see, and None for NaN."""
    rounded = np.asarray(numbers, dtype=float).round(8)
    plain = rounded.astype(object)
    plain[np.isnan(rounded)] = None
    return plain.tolist()


def _table(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    matrix: np.ndarray,
    tint: str,
    digits: int = 2,
) -> str:
    """A matrix as a table of coloured cells; common.js draws the same one."""
    matrix = np.asarray(matrix, dtype=float)
    limit = 1 if tint == "weights" else np.abs(matrix).max() or 1
    cells = [
        [
            f'<td{" class=negative" if x < 0 else ""} style="--share: {abs(x) / limit:.3f}">'
            f"{number_text(x, digits)}</td>"
            for x in numbers
        ]
        for numbers in matrix
    ]
    return _grid(title, rows, columns, cells, tint)


def _grid(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    tint: str,
) -> str:
    """A table with names for rows and columns, of cells that are HTML."""
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>{"".join(line)}</tr>'
        for name, line in zip(rows, cells, strict=True)
    )
    return (
        f'<table class="cells" data-tint="{tint}"><caption>{html.escape(title)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _parts(*parts: str) -> str:
    return f'<div class="parts">{"".join(parts)}</div>'


def _scroll(label: str, content: str) -> str:
    """A box for what is wider than a phone: it scrolls by itself, also by keyboard."""
    label = html.escape(label)
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">{content}</div>'


def _figure(kind: str, title: str, data: dict[str, Any], still: str, caption: str) -> HTML:
    """One figure with all that it needs. `still` is what stands there without JavaScript."""
    # "</script>" in a word would end the script
    numbers = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    scripts = "".join(
        f"<script>{(SCRIPTS / f'{name}.js').read_text(encoding='utf-8')}</script>"
        for name in ("common", kind)
    )
    return HTML(
        f'<figure class="widget" data-widget="{kind}"><p class="title">{html.escape(title)}</p>'
        f'<div class="still">{still}</div>'
        f"<figcaption>{html.escape(' '.join(caption.split()))}</figcaption>"
        f'<script type="application/json">{numbers}</script></figure>{scripts}'
    )
