"""Spaces in MathML as TeX puts them: Knuth, The TeXbook (1986), chapter 18, and its table of atoms.

A browser takes the spaces around an operator from a dictionary and its place in a row, which makes `(-1, 3)`
as wide as a difference, spreads the signs of an index, and knows no space between `ln` and its argument.
"""

import enum
import xml.etree.ElementTree as ET
from collections.abc import Sequence


class Atom(enum.Enum):
    """TeX's kinds of atoms."""

    ORD, OP, BIN, REL, OPEN, CLOSE, PUNCT, INNER = range(8)


SIGNS = {
    Atom.BIN: "+-−±∓·⋅×∘⊙⊗⊕∗*∪∩÷",
    Atom.REL: "=≠<>≤≥≈∼≃∈∉→←↦⟶⟵≪≫∝∣≡∥:⊂⊆⇒⇔",
    Atom.OPEN: "([{⌊⌈⟨",
    Atom.CLOSE: ")]}⌋⌉⟩!",
    Atom.PUNCT: ",;",
    Atom.OP: "∑∏∫⋃⋂⋁⋀",
}
KINDS = {sign: kind for kind, signs in SIGNS.items() for sign in signs}
# the table of page 170, a row for each kind on the left: 1 thin, 2 medium, 3 thick; `(` only outside scripts
TABLE = (
    ("0", "1", "(2", "(3", "0", "0", "0", "(1"),
    ("1", "1", "*", "(3", "0", "0", "0", "(1"),
    ("(2", "(2", "*", "*", "(2", "*", "*", "(2"),
    ("(3", "(3", "*", "0", "(3", "0", "0", "(3"),
    ("0", "0", "*", "0", "0", "0", "0", "0"),
    ("0", "1", "(2", "(3", "0", "0", "0", "(1"),
    ("(1", "(1", "*", "(1", "(1", "(1", "(1", "(1"),
    ("(1", "1", "(2", "(3", "(1", "0", "(1", "(1"),
)
# of an em: 3, 4 and 5 of 18
WIDTHS = {"1": "0.1667em", "2": "0.2222em", "3": "0.2778em"}
SCRIPTS = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}
# what has no row around its parts though it may have several
ROWS = {"math", "mrow", "mstyle", "mtd", "msqrt"}
# after these, and at the beginning, a sign is one number's own; before the last three and at the end, too
ALONE_AFTER = {None, Atom.BIN, Atom.OP, Atom.REL, Atom.OPEN, Atom.PUNCT}
ALONE_BEFORE = {None, Atom.REL, Atom.CLOSE, Atom.PUNCT}


def spaced(formula: str) -> str:
    """A formula in MathML with TeX's spaces, and no others around operators."""
    ET.register_namespace("", "http://www.w3.org/1998/Math/MathML")
    root = ET.fromstring(formula)
    _space(root, script=False)
    return ET.tostring(root, encoding="unicode")


def _name(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


def _space(node: ET.Element, script: bool) -> None:
    for number, part in enumerate(node):
        _space(part, script or (_name(node) in SCRIPTS and number > 0))
    if _name(node) == "mo":
        if len(node.text or "") > 1 and (node.text or "").isalpha():
            # the name of a function
            node.tag = node.tag.replace("mo", "mi")
        else:
            node.attrib.update(lspace="0", rspace="0")
    if _name(node) in ROWS and len(node) > 1:
        _space_row(node, script)


def _space_row(row: ET.Element, script: bool) -> None:
    parts = [part for part in row if _name(part) != "mspace"]
    kinds = _kinds(parts)
    for left, right, part in zip(kinds, kinds[1:], parts[1:], strict=False):
        width = TABLE[left.value][right.value]
        if width.startswith("(") and script:
            continue
        if space := WIDTHS.get(width.lstrip("(")):
            made = ET.Element(part.tag[: part.tag.index("}") + 1] + "mspace", width=space)
            row.insert(list(row).index(part), made)


def _kinds(parts: Sequence[ET.Element]) -> list[Atom]:
    """The kinds of a row's parts; a sign that belongs to one number only is ordinary."""
    kinds = [_kind(part) for part in parts]
    for number, kind in enumerate(kinds):
        if kind is Atom.BIN:
            before = kinds[number - 1] if number else None
            after = kinds[number + 1] if number + 1 < len(kinds) else None
            if before in ALONE_AFTER or after in ALONE_BEFORE:
                kinds[number] = Atom.ORD
    return kinds


def _kind(node: ET.Element) -> Atom:
    name, text = _name(node), node.text or ""
    if name == "mo":
        return KINDS.get(text, Atom.ORD)
    if name == "mi" and len(text) > 1 and text.isalpha():
        return Atom.OP
    if name in SCRIPTS:
        return _kind(node[0])
    if name == "mfrac":
        return Atom.INNER
    if name == "mrow" and len(node) and node[0].get("fence") == "true":
        return Atom.INNER
    if name == "mrow" and len(node) == 1:
        return _kind(node[0])
    return Atom.ORD
