"""What a page may show of Markdown and HTML from submissions: nothing that acts or loads anything.

Links keep http, https, mailto and anchors of the page itself. They are judged by an HTML parser, after
everything that Markdown and HTML decode, never by a pattern.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import nh3
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from autograder.display.mathml import ATTRIBUTES, TAGS
from autograder.display.pictures import is_picture

SCHEMES = {"http", "https", "mailto"}
MAX_MARKDOWN, MAX_SPACES = 10_000, 200
CUT = "\n\n*(Cut here: the whole text is in the notebook that was handed in.)*"
# An HTML parser repeats all formatting elements that are open in every further block: m opened in n paragraphs
# are m * n elements. What could become longer than this, and what does become longer than GROWTH times its source
# and ALLOWED characters, is shown as text. Markdown is a tenth of it: what students write has little HTML.
MAX_REPEATED, MAX_REPEATED_IN_MARKDOWN = 1_000_000, 100_000
GROWTH, ALLOWED = 3, 1_000
TAG = re.compile(r"<[a-zA-Z]")
FORMATTING = re.compile(
    r"<(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])"
    r"(?:\"[^\"]*\"|'[^']*'|[^'\">])*",
    re.IGNORECASE,
)
HARMLESS = "|".join(sorted(nh3.ALLOWED_TAGS))
PICTURES = ("data:image/png;base64,", "data:image/jpeg;base64,")


def _only_anchors(url: str) -> str | None:
    return url if url.startswith("#") else None


def _kept(tag: str, name: str, value: str) -> str | None:
    """The attribute's value if it may stay: pictures must be in the page, links must leave it."""
    is_data = value.strip().lower().startswith("data:")
    if name == "src":
        return _picture(value) if value.startswith(PICTURES) else None
    return None if name in ("href", "cite") and is_data else value


def _picture(address: str) -> str | None:
    """The address of a picture that holds it, in base64 alone: a browser would decode other forms, too."""
    kind, _, data = address.partition(",")
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except ValueError:
        return None
    return f"{kind},{base64.b64encode(content).decode()}" if is_picture(content) else None


def _is_repeated(source: str, limit: int) -> bool:
    """Whether formatting that is opened could become longer than a limit when it is repeated."""
    opened = sum(len(tag) for tag in FORMATTING.findall(source))
    return opened * len(TAG.findall(source)) > limit


def _as_text(source: str) -> str:
    return f"<pre>{html.escape(source)}</pre>"


def clean_html(source: str) -> str:
    """HTML of a student's own, such as an output, without what could act or load anything.

    What would become far longer than it is, is shown as text.
    """
    cleaned = _cleaned_html(source, MAX_REPEATED)
    return _as_text(source) if cleaned is None else cleaned


def _cleaned_html(source: str, limit: int) -> str | None:
    """The same; None for what would become too long."""
    if _is_repeated(source, limit):
        return None
    cleaned = nh3.clean(
        source,
        url_schemes={*SCHEMES, "data"},
        url_relative=_only_anchors,
        attribute_filter=_kept,
    )
    return cleaned if len(cleaned) <= GROWTH * len(source) + ALLOWED else None


def _clean_page(source: str) -> str:
    """HTML made from Markdown: as `clean_html`, with formulas, coloured code and headings' anchors."""
    if _is_repeated(source, MAX_REPEATED):
        return _as_text(source)
    attributes = {tag: set(names) for tag, names in nh3.ALLOWED_ATTRIBUTES.items()}
    for tag, names in ATTRIBUTES.items():
        attributes.setdefault(tag, set()).update(names)
    attributes["*"].add("class")
    for level in range(1, 7):
        attributes.setdefault(f"h{level}", set()).add("id")
    for tag in ("th", "td"):
        attributes.setdefault(tag, set()).add("style")
    attributes["input"] = {"type", "disabled", "checked"}
    return nh3.clean(
        source,
        tags=nh3.ALLOWED_TAGS | TAGS | {"input"},
        attributes=attributes,
        filter_style_properties={"text-align"},
        url_schemes={*SCHEMES, "data"},
        url_relative=_only_anchors,
        attribute_filter=_kept,
    )


class _Renderer(IPythonRenderer):
    """nbconvert's renderer, in which a picture that isn't there is told instead of raising."""

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if url.startswith("data:"):
            return super().image(text, url, title)
        name = url.removeprefix("attachment:")
        known = [key for key in (name, unquote(name)) if key in self.attachments]
        if name == url or not known:
            # nothing is loaded from elsewhere
            return f"<em>(The picture {html.escape(unquote(name)[:100])} is not here.)</em>"
        return super().image(text, f"attachment:{known[0]}", title)


@pass_context
def markdown2html(context: Context, source: str, cell: Mapping[str, Any] | None = None) -> str:
    """Markdown as HTML, for pages made from submissions: nbconvert's filter of this name, cleaned.

    cell: whose pictures are shown, if it isn't the context's; a macro's argument isn't in the context.
    """
    attachments = (cell or context.get("cell", {})).get("attachments", {})
    try:
        renderer = _Renderer(escape=False, attachments=attachments)
        rendered = MarkdownWithMath(renderer=renderer).render(source)
    except Exception:
        # what a student writes can be nested more deeply than the renderer can go
        rendered = f"<pre>{html.escape(source)}</pre>"
    return _clean_page(rendered)


class _Links(IPythonRenderer):
    """Collects where links and pictures lead, decoded as on a page."""

    def __init__(self) -> None:
        super().__init__(escape=False)
        self.found: list[str] = []

    def link(self, text: str, url: str, title: str | None = None) -> str:
        self.found.append(url)
        return text

    def image(self, text: str, url: str, title: str | None = None) -> str:
        self.found.append(url)
        return text


def has_forbidden_link(markdown: str) -> bool:
    """Whether a link or picture leads to anything but the web, mail, an attachment or a relative path.

    What can't be rendered is taken for forbidden.
    """
    links = _Links()
    try:
        MarkdownWithMath(renderer=links).render(markdown)
    except Exception:
        return True

    def is_forbidden(url: str) -> bool:
        tag = f'<a href="{html.escape(html.unescape(url))}">x</a>'
        return "href" not in nh3.clean(tag, url_schemes={*SCHEMES, "attachment"})

    return any(is_forbidden(url) for url in links.found)


def clean_markdown(source: str) -> str:
    """A student's Markdown without HTML that could act, and without links to scripts.

    What is no harmless tag stays readable: `p <q` is mathematics, not the tag q.
    """
    cut = CUT if len(source) > MAX_MARKDOWN else ""
    source = re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", " ", source[:MAX_MARKDOWN])
    # for each space of a row the renderer looks at all that follow
    source = re.sub(f" {{{MAX_SPACES},}}", " " * MAX_SPACES, source)
    # Markdown would decode entities after this: java&#115;cript
    while (decoded := html.unescape(source)) != source:
        source = decoded
    # else the next line takes it for a tag
    source = re.sub(r"<(https?://[^<>\s]+)>", r"\1", source)
    source = re.sub(rf"<(?!/?(?:{HARMLESS})\b[^<>]*>)(?=[a-zA-Z/!?])", "< ", source)
    if re.search(r"<[a-zA-Z/]", source):
        cleaned = _cleaned_html(source, MAX_REPEATED_IN_MARKDOWN)
        source = re.sub("<(?=[a-zA-Z/!?])", "< ", source) if cleaned is None else cleaned
    source = re.sub(r"(?i)(javascript|vbscript|data)\s*:", r"\1 ", source)
    if has_forbidden_link(source):
        # without these two no link of the cell is one
        source = source.replace("](", "]&#40;").replace("]:", "]&#58;")
    return source + cut
