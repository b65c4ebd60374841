r"""Sphinx extension: the words and letters of queries, keys, values and weights in the colours of the figures.

In text {query}`date` marks a word that is a query, and so do {key}, {value} and {weights}. In a formula the macros
of the same names mark its parts: `\query{Q}\key{K}^\top`. Titles have none: they are shown in other places, too.
"""

import re

from docutils.parsers.rst.roles import CustomRole, generic_custom_role
from sphinx.application import Sphinx

ROLES = ("query", "key", "value", "weights")
MACRO = re.compile(rf"\\({'|'.join(ROLES)})\{{")


def as_colours(tex: str) -> str:
    """TeX with a colour for each macro, named as the role."""
    return MACRO.sub(r"{\\color{\1}", tex)


def without_roles(tex: str) -> str:
    """TeX for those who don't know the macros, such as Jupyter."""
    return MACRO.sub("{", tex)


def setup(app: Sphinx) -> dict[str, bool]:
    for name in ROLES:
        app.add_role(name, CustomRole(name, generic_custom_role, {"class": [name]}))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
