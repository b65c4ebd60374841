"""Markdown and HTML of students on pages: links that act or load are gone, and everything else stays."""

import re
from urllib.parse import urlsplit

import pytest
from jinja2 import Environment
from nbconvert.filters import markdown2html as nbconverts

from autograder.display.cleaning import clean_html, clean_markdown, markdown2html

PICTURE = "iVBORw0KGgo="
LINKS_TO_SCRIPTS = [
    r"[x](javascript\:alert(1))",
    r"[x](<javascript\:alert(1)>)",
    "[x](javascript\\\t:alert(1))",
    "[x](javascript&amp;colon;alert(1))",
    r"[x](JAVA&#x53;CRIPT\:alert(1))",
    "[x][r]\n\n[r]: javascript\\:alert(1)",
    "[r]\n\n[r]: <vbscript\\:alert(1)> 'title'",
    r"<javascript\:alert(1)> <javascript:alert(1)>",
    r"[![x](javascript\:a)](data\:text/html,x)",
    r"<a href='javascript&#58;alert(1)'>x</a>",
    r"[x](file\:///etc/passwd) [x](vscode\://x)",
]


def on_a_page(source, **cell):
    environment = Environment(autoescape=False)
    environment.filters["markdown2html"] = markdown2html
    template = environment.from_string("{{ source | markdown2html }}")
    return template.render(source=source, cell=cell)


def addresses(page):
    return re.findall(r"""(?:href|src)=["']?([^"'\s>]*)""", page)


@pytest.mark.parametrize("source", LINKS_TO_SCRIPTS)
def test_no_link_leads_to_a_script(source):
    # cleaning alone keeps other renderers safe; a page stays safe without it
    cleaned = addresses(nbconverts(clean_markdown(source)))
    assert [url for url in cleaned if urlsplit(url).scheme] == []
    assert addresses(on_a_page(source)) == []


def test_links_to_the_web_mail_and_anchors_stay_and_nothing_else_is_loaded():
    source = (
        "[a](https://example.org/x?y=1) [b](http://example.org) <https://example.org/z> "
        "[c](mailto:a@example.org) [d](#here) [e](other.ipynb) [f](//example.org) [g](/api/shutdown) "
        "![h](https://example.org/h.png) ![i](i.png) [j][k]\n\n[k]: https://example.org/k"
    )
    kept = ["https://example.org/x?y=1", "http://example.org", "mailto:a@example.org", "#here"]
    assert set(addresses(on_a_page(clean_markdown(source)))) == {
        *kept,
        "https://example.org/z",
        "https://example.org/k",
    }
    html = "".join(f'<a href="{url}">x</a>' for url in (*kept, "/api/shutdown", "javascript:x"))
    page = clean_html(
        html + '<img src="https://example.org/h.png"><img src="data:image/svg+xml,x">'
    )
    assert addresses(page) == kept


def test_the_look_of_a_page_stays():
    source = (
        "# Title\n\n| a |\n|:-:|\n| 1 |\n\n```python\nx = 1\n```\n\n**b** ~~c~~ `d`\n\n- [x] e\n\n"
        '<math display="block"><mi mathvariant="bold">x</mi></math>\n\n![p](attachment:my%20p.png)'
    )
    page = on_a_page(source, attachments={"my p.png": {"image/png": PICTURE}})
    for part in (
        '<h1 id="Title">Title',
        "text-align:center",
        '<div class="highlight">',
        '<span class="n">x</span>',
        "<strong>b</strong> <del>c</del> <code>d</code>",
        'type="checkbox"',
        '<math display="block"><mi mathvariant="bold">x</mi></math>',
        f'src="data:image/png;base64,{PICTURE}"',
    ):
        assert part in page


def test_a_picture_that_is_missing_is_told():
    page = on_a_page("![p](attachment:p.png) and words")
    assert "The picture p.png is not here." in page and "and words" in page


@pytest.mark.parametrize(
    "text",
    [">" * 9_000, "- " * 4_000, "[" * 9_000, "[a](b" * 2_000],
    ids=["quotes", "lists", "brackets", "links"],
)
def test_whatever_is_nested_is_shown(text):
    assert on_a_page(clean_markdown(text)).strip()
