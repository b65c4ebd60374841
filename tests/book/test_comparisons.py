"""Whoever loses a comparison of trained models has had its own best rate, on pages with `best_of`."""

import ast
import re

from autograder.dependencies import reached, statements_of
from autograder.publish.page_source import CodeCell, read_page
from tests.support.course import COURSE
from tests.support.small_book import FRONT

# words with which a sentence compares
COMPARES = re.compile(
    r"\b(than|ahead|wins?|beats?|best|worst|fastest|keeps? up|as (well|good|much|often) as)\b"
)
TRAINS = re.compile(r"(train|fit)(_|$)")
BASELINE = re.compile(r"\b(baselines?|guess\w*|count(s|ing)|chance|always)\b", re.IGNORECASE)
SECTION = re.compile(r"^## ", flags=re.MULTILINE)


def comparisons(page):
    """The claims of a page that compare what was trained: sentence -> whether `best_of` is behind it."""
    program = "\n".join(cell.program() for cell in page.cells)
    statements = statements_of(program)
    uses = {}
    for one in statements:
        for name in one.binds:
            uses.setdefault(name, set()).update(one.uses)
    found = {}
    for one in statements:
        for call in ast.walk(one.node):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "claim":
                condition, sentence = call.args
                names = {node.id for node in ast.walk(condition) if isinstance(node, ast.Name)}
                behind = reached(names, uses)
                text = ast.unparse(sentence)
                if COMPARES.search(text) and any(map(TRAINS.match, behind)):
                    found[
                        ast.literal_eval(text) if isinstance(sentence, ast.Constant) else text
                    ] = "best_of" in behind
    return found


def without_baseline(page):
    """The comparing claims in whose section, of the second level, neither text nor code has a baseline."""
    sections, found = [[]], []
    for part in page.parts:
        if isinstance(part, CodeCell):
            sections[-1].append(part)
            continue
        before, *later = SECTION.split(part)
        sections[-1].append(before)
        sections += [[text] for text in later]
    known = comparisons(page)
    for section in sections:
        cells = [part for part in section if isinstance(part, CodeCell)]
        said = " ".join(part.source if isinstance(part, CodeCell) else part for part in section)
        claims = {text for cell in cells for text in known if text in "".join(texts(cell))}
        found += [] if BASELINE.search(said) else sorted(claims)
    return found


def texts(cell):
    """The texts in a cell's program."""
    nodes = (node for node in ast.walk(cell.tree()) if isinstance(node, ast.Constant))
    return [node.value for node in nodes if isinstance(node.value, str)]


def uses_best_of(page):
    """Whether the rule holds for a page."""
    return any("best_of" in cell.source for cell in page.cells)


def page_of(*cells):
    blocks = (f"```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells)
    return read_page(
        COURSE.book / "page.md", FRONT + "\n# Title\n\n## Part\n\n" + "\n".join(blocks)
    )


TRAINING = """from experiments import best_of
from solutions.x import train

def score(kind, rate, s):
    return train(kind, rate, s)"""
FAIR = "found = {k: best_of(lambda rate, s: score(k, rate, s), RATES, [1, 2]).mean for k in KINDS}"
UNFAIR = "found = {k: score(k, 0.01, 1) for k in KINDS}"
CLAIM = "claim(found[1] > found[0], 'one is better than the other')"


def test_a_claim_that_compares_with_one_rate_is_found():
    sentence = "one is better than the other"
    assert comparisons(page_of(TRAINING, FAIR, CLAIM)) == {sentence: True}
    assert comparisons(page_of(TRAINING, UNFAIR, CLAIM)) == {sentence: False}
    assert comparisons(page_of(TRAINING, UNFAIR, CLAIM.replace("better than", "not"))) == {}
    assert comparisons(page_of(TRAINING, "found = [1, 2]", CLAIM)) == {}
    assert without_baseline(page_of(TRAINING, FAIR, CLAIM)) == [sentence]
    assert without_baseline(page_of(TRAINING, FAIR, "rows = ['counting pairs']", CLAIM)) == []


def of_all_pages(check):
    pages = {path.stem: read_page(path) for path in sorted(COURSE.book.glob("ch*.md"))}
    return {
        (name, text) for name, page in pages.items() if uses_best_of(page) for text in check(page)
    }


def test_every_comparing_claim_rests_on_best_rates():
    unfair = lambda page: [text for text, ok in comparisons(page).items() if not ok]
    assert of_all_pages(unfair) == set()


def test_every_comparing_claim_stands_in_a_section_with_a_baseline():
    assert of_all_pages(without_baseline) == set()
