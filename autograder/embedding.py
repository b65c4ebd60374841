"""The runtime as text: how `autograder.runtime` gets into a notebook or kernel that hasn't got it."""

from __future__ import annotations

import ast
import functools
import importlib.resources

from autograder.programs import docstring_of
from autograder.runtime import MODULES
from autograder.runtime.plain_data import pack

PACKAGE = "attention_checks"
# Python that defines load_checks(packed): it makes a package of the packed sources and returns the last
# of its modules. A module is registered before it is executed, so that relative imports find it.
LOADER = f'''def load_checks(packed):
    import base64, json, sys, types, zlib

    def module(name, source):
        made = types.ModuleType(name)
        made.__package__, made.__path__ = "{PACKAGE}", []
        sys.modules[name] = made
        exec(compile(source, name.replace(".", "/") + ".py", "exec"), made.__dict__)
        return made

    sources = json.loads(zlib.decompress(base64.b85decode(packed)))
    module("{PACKAGE}", "")
    return [module("{PACKAGE}." + name, source) for name, source in sources.items()][-1]
'''


def sources() -> dict[str, str]:
    """The runtime's modules in the order in which they are loaded: name -> text."""
    # the package may be in a zip file: so it travels to the workers of a Dask cluster
    folder = importlib.resources.files("autograder.runtime")
    return {name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in MODULES}


def without_docstrings(source: str) -> str:
    """A module with empty lines where its docstrings are, so that the numbers of its lines stay."""
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if (words := docstring_of(node)) and len(node.body) > 1:
            lines[words.lineno - 1 : words.end_lineno] = [""] * (
                words.end_lineno - words.lineno + 1
            )
    return "\n".join(lines)


@functools.cache
def packed_sources() -> str:
    """The runtime, packed for `load_checks`: without docstrings, a fifth of its size in a notebook."""
    return pack({name: without_docstrings(source) for name, source in sources().items()})
