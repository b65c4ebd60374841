"""What a link to a page shows elsewhere: title, description and picture, with the right address."""

import os
import re
import struct
import subprocess
import sys

import pytest

from tests.support.course import COURSE

DESCRIPTION = 'Hide what must not be seen, and "prove" it.'


def tags(page):
    """The card's tags of a page, by their names."""
    found = re.findall(r'<meta (?:property|name)="((?:og|twitter):[^"]+)" content="([^"]*)">', page)
    assert len(found) == len(dict(found))
    return dict(found)


@pytest.fixture(scope="module", params=["", "https://example.org/course/"])
def built(request, tmp_path_factory):
    """A book of two pages, built with and without an address."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("out")
    (source / "conf.py").write_text("extensions = ['myst_parser', 'cards']\nhtml_title = 'A & B'")
    (source / "index.md").write_text("# Begin\n\n```{toctree}\n:numbered:\nparts/masks\n```\n")
    (source / "parts").mkdir()
    (source / "parts" / "masks.md").write_text(
        f"---\nmyst:\n  html_meta:\n    description: '{DESCRIPTION}'\n---\n# The *mask*\n"
    )
    paths = os.pathsep.join([str(COURSE.root), str(COURSE.root / "book" / "_extensions")])
    environment = {**os.environ, "PYTHONPATH": paths, "BOOK_URL": request.param}
    command = [sys.executable, "-m", "sphinx", "-qW", "-b", "html", str(source), str(out)]
    subprocess.run(command, env=environment, check=True)
    return request.param, out


def test_a_card_says_what_the_page_says(built):
    _, out = built
    card = tags((out / "parts" / "masks.html").read_text(encoding="utf-8"))
    assert card["og:title"] == "Chapter 1: The mask"
    assert card["og:site_name"] == "A &amp; B"
    assert card["og:description"] == DESCRIPTION.replace('"', "&quot;")
    assert tags((out / "index.html").read_text(encoding="utf-8"))["og:title"] == "Begin"


def test_a_picture_needs_an_address(built):
    address, out = built
    card = tags((out / "parts" / "masks.html").read_text(encoding="utf-8"))
    if not address:
        assert card["twitter:card"] == "summary"
        assert not {"og:image", "og:url"} & card.keys()
        assert not list(out.rglob("*masks*.png"))
        return
    assert card["twitter:card"] == "summary_large_image"
    assert card["og:url"] == "https://example.org/course/parts/masks.html"
    assert card["og:image"].startswith(address)
    picture = (out / card["og:image"].removeprefix(address)).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    size = struct.unpack(">II", picture[16:24])
    assert size == (int(card["og:image:width"]), int(card["og:image:height"])) == (1200, 630)
    assert len(picture) < 100_000
    other = tags((out / "index.html").read_text(encoding="utf-8"))["og:image"]
    assert (out / other.removeprefix(address)).read_bytes() != picture
