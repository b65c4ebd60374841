"""Text from submissions: valid Unicode, and shown as text."""

import html
import json

import pytest
from nbconvert.filters import markdown2html

from autograder.text import as_markdown, valid_json, valid_text

HALF = "\ud83d"


@pytest.mark.parametrize("as_escapes", [True, False])
def test_halves_of_surrogate_pairs_are_replaced_everywhere_and_nothing_else(as_escapes):
    data = {HALF: [HALF + "x", {"a": {HALF: "\U0001f600 \u00e4"}}], "n": [1.5, None, True]}
    found = valid_json(json.dumps(data, ensure_ascii=as_escapes))
    assert found == {"?": ["?x", {"a": {"?": "\U0001f600 \u00e4"}}], "n": [1.5, None, True]}


def test_a_text_that_is_valid_stays_as_it_is():
    assert valid_text("\U0001f600 \u00e4 \\ud83d") == "\U0001f600 \u00e4 \\ud83d"
    assert valid_json(json.dumps("\\ud83d")) == "\\ud83d"


@pytest.mark.parametrize("text", ["[", "\ud83d", "[" * 100_000])
def test_what_is_not_json_is_refused(text):
    with pytest.raises((ValueError, RecursionError)):
        valid_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "[a](javascript:alert(1)).csv",
        "![a](https://example.org/a.png)",
        "<https://example.org> https://example.org",
        "**bold** _a_ `code` ~~gone~~ $x^2$ <b>&amp;</b>",
        "# 1. a | b\n- - -\n\n    code\n[a]: b",
    ],
)
def test_a_text_in_markdown_shows_as_it_is(text):
    shown = markdown2html(as_markdown(text))
    assert shown.startswith("<p>") and shown.count("<") == 2
    assert html.unescape(shown.strip()[3:-4]) == " ".join(text.split())
