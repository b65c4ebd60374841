"""Results of experiments that take long, kept until their code or a version changes.

A page calls `kept(function, ...)`. Whichever page or build comes first computes the result; later ones
read it from `_build/.jupyter_cache/kept`, which a clean build removes with all executed cells.
"""

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from autograder.files import digest_of, write_whole
from autograder.programs import plain_version
from autograder.publish.cache_key import PACKAGES

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "_build" / ".jupyter_cache" / "kept"
PLAIN = (bool, int, float, str, bytes, type(None))


def kept(function: Callable[..., Any], *arguments: Any, folder: Path = FOLDER) -> Any:
    """What `function(*arguments)` returns, computed only if it isn't kept already.

    Args:
        function: Seeds its own random numbers. It may call functions and classes of the page and of the
            course, and use plain constants of the page; a change in them makes a new result. Other data,
            such as arrays, must be made inside.
        arguments: What JSON can hold.
        folder: Where results are kept.

    Returns:
        The result as JSON holds it: tuples have become lists, keys of dictionaries text.

    Raises:
        TypeError: JSON can't hold the result or an argument.
    """
    path = folder / f"{function.__name__}-{digest_of(_key(function, arguments))[:16]}.json"
    if not path.is_file():
        write_whole(path, json.dumps(function(*arguments)))
    return json.loads(path.read_text(encoding="utf-8"))


def _key(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """What the result depends on."""
    found: dict[str, Any] = {}
    _add(function, found)
    return {
        "code": found,
        "arguments": arguments,
        "python": list(sys.version_info[:2]),
        "packages": {package: plain_version(package) for package in PACKAGES},
    }


def _add(value: Any, found: dict[str, Any]) -> None:
    """Add the code of a function or class, and of what it uses, under its name."""
    name = f"{value.__module__}.{value.__qualname__}"
    if name in found:
        return
    found[name] = []  # it may use itself
    if isinstance(value, type):
        for base in value.__bases__:
            if _is_ours(base):
                _add(base, found)
        members = [inspect.unwrap(getattr(m, "__func__", m)) for m in vars(value).values()]
        functions = [m for m in members if isinstance(m, FunctionType)]
        plain = {
            k: repr(m) for k, m in vars(value).items() if isinstance(m, PLAIN) and k[:2] != "__"
        }
        found[name].append(plain)
    else:
        functions = [inspect.unwrap(value)]
    for function in functions:
        found[name].append(_code(function.__code__))
        for default in function.__defaults__ or ():
            if isinstance(default, FunctionType | type):
                if _is_ours(default):
                    _add(default, found)
                # its repr has an address, which is another one in each process
                found[name].append(f"{default.__module__}.{default.__qualname__}")
            else:
                found[name].append(repr(default))
        for used in sorted(_names(function.__code__)):
            if used not in function.__globals__:
                continue
            other = inspect.unwrap(function.__globals__[used])  # out of functools.cache
            if isinstance(other, FunctionType | type) and _is_ours(other):
                _add(other, found)
                found[name].append([used, f"{other.__module__}.{other.__qualname__}"])
            elif _is_plain(other):
                found[name].append([used, repr(other)])


def _is_ours(value: Any) -> bool:
    """Whether a function or class belongs to the page or to a module of the course."""
    module = sys.modules.get(value.__module__, ModuleType(""))
    place = getattr(module, "__file__", None)
    return value.__module__ == "__main__" or (
        place is not None and ROOT in Path(place).resolve().parents and ".venv" not in place
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    return isinstance(value, (*PLAIN, range))


def _code(code: CodeType) -> list[Any]:
    """Compiled code without file names and line numbers."""
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_varnames, constants]


def _names(code: CodeType) -> set[str]:
    """The global names, among others, that code and the functions within it use."""
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))
