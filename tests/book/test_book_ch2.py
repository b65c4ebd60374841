"""Chapter 2 of the book: its worked example and its measurement, run from the page's own cells."""

import math

import jupytext
import numpy as np
import pytest
import torch
from scipy.special import softmax

from autograder import catalogue
from autograder.book_index import book_sections
from tests.support.course import COURSE, chapter_pages


def code_between(first_label, last_label):
    """The two set-up cells and the code cells between two labels, as one program."""
    page = COURSE.book / f"{book_sections(COURSE.root)[first_label].page}.md"
    cells = jupytext.read(page, fmt="md:myst").cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"][:2]
    inside = False
    for cell in cells:
        if cell.cell_type == "markdown":
            inside = f"({last_label})=" not in cell.source and (
                inside or f"({first_label})=" in cell.source
            )
        elif inside:
            sources.append(cell.source)
    assert len(sources) > 2
    return "\n".join(sources)


@pytest.fixture
def run(monkeypatch):
    """Run a part of the page where the book runs it, then undo its settings."""
    threads, options = torch.get_num_threads(), np.get_printoptions()
    monkeypatch.chdir(COURSE.book)
    monkeypatch.syspath_prepend(COURSE.book)

    def run_section(*labels):
        names = {}
        exec(compile(code_between(*labels), labels[0], "exec"), names)
        return names

    yield run_section
    torch.set_num_threads(threads)
    torch.set_printoptions(profile="default")
    np.set_printoptions(**options)


def loop(words, w_query, w_key, w_value):
    """Output and weights of scaled dot-product self-attention, one number at a time."""

    def project(word, matrix):
        columns = zip(*matrix, strict=True)
        return [sum(x * m for x, m in zip(word, column, strict=True)) for column in columns]

    outputs, all_weights = [], []
    for word in words:
        query = project(word, w_query)
        exponentials = []
        for other in words:
            key = project(other, w_key)
            score = sum(a * b for a, b in zip(query, key, strict=True))
            exponentials.append(math.exp(score / math.sqrt(len(query))))
        weights = [e / math.fsum(exponentials) for e in exponentials]
        values = [project(other, w_value) for other in words]
        weighted = [[w * x for x in v] for w, v in zip(weights, values, strict=True)]
        outputs.append([math.fsum(column) for column in zip(*weighted, strict=True)])
        all_weights.append(weights)
    return outputs, all_weights


def test_worked_example(run):
    page = run("ch2-context", "ch2-worked-example")
    # fruit, day, meeting and unclear of: today's date went well
    words = [[0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0], [0, 0, 2, 0]]
    matrices = [page[name].tolist() for name in ("W_Q", "W_K", "W_V")]
    output, weights = loop(words, *matrices)
    np.testing.assert_allclose(page["output"], output, rtol=1e-12)
    np.testing.assert_allclose(page["weights"], weights, rtol=1e-12)
    np.testing.assert_allclose(page["weights_1"], weights[1], rtol=1e-12)
    np.testing.assert_allclose(page["output_1"], output[1], rtol=1e-12)

    query, key, value = (np.array(words) @ matrix for matrix in matrices)
    oracle = softmax(query @ key.T, axis=1)
    np.testing.assert_allclose(weights, oracle, rtol=1e-12)
    np.testing.assert_allclose(output, oracle @ value, rtol=1e-12)


def test_measured_square_root(run):
    """Close to what another draw of 2000 queries and 64 keys gave."""
    page = run("ch2-softmax", "ch2-saturation")
    measured = {name: np.array(rows) for name, rows in page["measured"].items()}
    widths = np.array(page["widths"])
    assert widths.tolist() == [4, 16, 64, 256, 1024]
    for name, power in [("none", 1), ("1/sqrt(d)", 0), ("1/d", -1)]:
        np.testing.assert_allclose(
            measured[name][:, 0] / widths.astype(float) ** power, 1, atol=0.1
        )
    unscaled = [[0.795, 0.57, 0.286], [0.899, 0.26, 0.143], [0.949, 0.13, 0.074]]
    np.testing.assert_allclose(measured["none"][2:, 1:], unscaled, atol=0.05)
    assert np.ptp(measured["1/sqrt(d)"][1:, 1:], axis=0).max() < 0.02
    np.testing.assert_allclose(measured["1/d"][-1, 2], math.log(64), atol=2e-3)


def test_hints_lead_to_sections():
    places = book_sections(COURSE.root)
    for mistake in catalogue.mistakes(COURSE.exercise("ch2_scaled_dot_product")):
        assert places[mistake.section].page in [*chapter_pages()[2], "symptoms", "differences"]
