"""A student's Markdown with its pictures, wherever they are: pasted, in HTML, or in files beside the notebook."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from autograder.display.cleaning import clean_markdown
from autograder.grade.matching import SubmittedCell
from autograder.grade.submission import PICTURES, PicturesLeft, pictures_in

# a picture as HTML, which Jupyter takes where it is to have a width
AS_HTML = re.compile(r"<img\b([^<>]*)>", re.IGNORECASE)
SOURCE = re.compile(r"""\bsrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""", re.IGNORECASE)
# what stays as it is in the address of a picture
SAFE = "/:?#&=+,;@~!$*"
# where the address of a picture stands in Markdown
ADDRESS = re.compile(r"(?<=\]\()(?:\./)?([^()\s:]+)(?=[)\s])")

Attachments = dict[str, Mapping[str, str]]


class TextsWithPictures:
    """Makes texts of one submission ready to be shown; companions: the files beside its notebook."""

    def __init__(self, companions: Mapping[str, bytes]) -> None:
        self._left = PicturesLeft()
        self._beside = {
            name: {kind: base64.b64encode(content).decode()}
            for name, content in companions.items()
            for kind, beginning in PICTURES.items()
            if content.startswith(beginning)
        }

    def shown(self, cell: SubmittedCell) -> tuple[str, Attachments]:
        """The text of a cell without what could act, and its pictures as nbformat's attachments."""
        source = AS_HTML.sub(_as_markdown, cell.source)
        named = set(map(unquote, ADDRESS.findall(source))) & self._beside.keys()
        found = pictures_in({name: self._beside[name] for name in named}, self._left)

        def attached(address: re.Match) -> str:
            return f"attachment:{address[1]}" if unquote(address[1]) in found else address[0]

        return clean_markdown(ADDRESS.sub(attached, source)), {**cell.pictures, **found}


def _as_markdown(tag: re.Match) -> str:
    source = SOURCE.search(tag[1])
    address = next(filter(None, source.groups()), "") if source else ""
    return f"![]({quote(unquote(address), safe=SAFE)})" if address else tag[0]
