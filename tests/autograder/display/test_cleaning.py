"""Markdown and HTML of students on pages: links that act or load are gone, and everything else stays."""

import re
from urllib.parse import urlsplit

import pytest
from jinja2 import Environment
from nbconvert.filters import markdown2html as nbconverts

from autograder.display.cleaning import MAX_SPACES, clean_html, clean_markdown, markdown2html

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


def test_a_row_of_spaces_is_not_as_long_as_a_cell():
    source = clean_markdown(f"a{' ' * 5_000}b{chr(9) * 4_000}c")
    assert source.split() == ["a", "b", "c"] and len(source) <= 3 + 2 * MAX_SPACES
    assert clean_markdown("    indented  as it\n" + " " * 90 + "is") == (
        "    indented  as it\n" + " " * 90 + "is"
    )


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("attachment:p.png", "p.png"),
        ("my%20photo.jpg", "my photo.jpg"),
        ("https://example.org/p.png", "https://example.org/p.png"),
    ],
)
def test_a_picture_that_is_missing_is_told(address, told):
    page = on_a_page(f"![p]({address}) and words")
    assert f"The picture {told} is not here." in page and "and words" in page


@pytest.mark.parametrize(
    "text",
    [">" * 9_000, "- " * 4_000, "[" * 9_000, "[a](b" * 2_000],
    ids=["quotes", "lists", "brackets", "links"],
)
def test_whatever_is_nested_is_shown(text):
    assert on_a_page(clean_markdown(text)).strip()


def test_where_a_text_is_cut_is_told():
    page = on_a_page(clean_markdown("words " * 3_000))
    assert "Cut here: the whole text is in the notebook" in page
    assert "Cut here" not in on_a_page(clean_markdown("words " * 1_000))


def opened(characters):
    """Formatting elements that are opened, and paragraphs in each of which a parser opens them again."""
    half = characters // 2
    elements = "".join(f"<b a={number}>" for number in range(half // 11))
    return f"<p>{elements}{'<p>x' * (half // 4)}"


REPEATING = {
    "opened and not closed": opened,
    "a long attribute": lambda size: f"<p><b title='{'>' * (size // 2)}'>{'<p>x' * (size // 8)}",
    "ends that end nothing": lambda size: (
        "<p>"
        + "<i a=1><i a=2><i a=3>" * 40
        + f"<table><td>{'</i>' * 120}</table>{'<p>x' * (size // 8)}"
    ),
    "ends in a comment": lambda size: (
        "<p>"
        + "".join(f"<u a={n}>" for n in range(50))
        + f"<!--{'</u>' * 50}-->{'<p>x' * (size // 8)}"
    ),
    "tables in tables": lambda size: f"<b a=1><b a=2>{'<table><tr><td>x' * (size // 20)}",
}


@pytest.mark.parametrize("name", REPEATING)
@pytest.mark.parametrize("size", [1_000, 3_000, 9_000, 18_000])
def test_what_is_shown_is_never_much_longer_than_its_source(name, size):
    source = REPEATING[name](size)
    bound = 6 * len(source) + 3_000
    assert len(clean_html(source)) < bound
    markdown = clean_markdown(source[:9_000])
    assert len(markdown) < bound
    assert len(on_a_page(markdown)) < 3 * bound


def test_a_table_as_pandas_shows_it_stays_a_table():
    row = "<tr><th>1</th>" + "<td>0.25</td>" * 8 + "</tr>"
    links = '<a href="https://example.org/a/page/with/a/longer/name">here</a> <b>bold</b> '
    source = f"<p>{links * 5}</p><table border='1' class='dataframe'>{row * 60}</table>"
    assert clean_html(source).count("<td>") == 480 and clean_html(source).count("<b>") == 5


def test_words_of_html_that_is_shown_as_text_stay():
    source = opened(9_000)
    assert "&lt;b a=1&gt;" in clean_html(source)
    assert "< b a=1>" in clean_markdown(source)
