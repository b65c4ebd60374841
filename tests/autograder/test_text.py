"""Text from submissions: valid Unicode, and shown as text."""

import html
import json

import pytest
from nbconvert.filters import markdown2html

from autograder.runtime.plain_data import valid_text
from autograder.text import (
    as_markdown,
    displayed_text,
    plain_text,
    valid_json,
    with_code,
)

HALF = "\ud83d"


@pytest.mark.parametrize("as_escapes", [True, False])
def test_halves_of_surrogate_pairs_are_replaced_everywhere_and_nothing_else(as_escapes):
    data = {HALF: [HALF + "x", {"a": {HALF: "\U0001f600 \u00e4"}}], "n": [1.5, None, True]}
    found = valid_json(json.dumps(data, ensure_ascii=as_escapes))
    assert found == {"?": ["?x", {"a": {"?": "\U0001f600 \u00e4"}}], "n": [1.5, None, True]}


def test_a_text_that_is_valid_stays_as_it_is():
    assert valid_text("\U0001f600 \u00e4 \\ud83d") == "\U0001f600 \u00e4 \\ud83d"
    assert valid_json(json.dumps("\\ud83d")) == "\\ud83d"


@pytest.mark.parametrize("text", ["[", "\ud83d", pytest.param("[" * 100_000, id="deep")])
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


def test_what_stands_in_backticks_is_code_and_nothing_acts():
    assert with_code("Use `a < b` or `f(x)`.") == "Use <code>a &lt; b</code> or <code>f(x)</code>."
    assert with_code("`<b>`<i>") == "<code>&lt;b&gt;</code>&lt;i&gt;"
    # neither one alone nor two on different lines
    assert with_code("a ` b") == "a ` b" and with_code("a `b\nc` d") == "a `b\nc` d"


def test_no_control_character_reaches_a_page_or_a_terminal():
    every = "".join(map(chr, range(0x100)))
    assert plain_text("\x1b[1;31mred\x1b[0m \x1b]0;title\x07") == "red \ufffd]0;title\ufffd"
    assert plain_text("right \u202eto left\u2069") == "right \ufffdto left\ufffd"
    kept = [c for c in plain_text(every) if c != "\ufffd" and not c.isprintable()]
    # the last is the soft hyphen
    assert kept == ["\t", "\n", "\xa0", "\xad"]
    text = "\U0001f600 \u6ce8\u610f \u05d0 50\u00a0%\n\tx"
    assert plain_text(text) == displayed_text(text) == text


def test_what_is_displayed_keeps_colours_and_progress_bars():
    bar = "\r 50%|\u2588\u2588| \x1b[31mred\x1b[0m"
    assert displayed_text(f"{bar}\b\b") == bar
    assert displayed_text("\x1b[") == "\ufffd["
    assert displayed_text("\x1b]0;title\x07 \x00\x9b") == "\ufffd]0;title\ufffd \ufffd\ufffd"
