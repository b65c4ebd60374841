"""Results of experiments that take long, kept until their code or a version changes.

A page calls `kept(function, ...)`. Whichever page or build comes first computes the result; later ones
read it from `_build/.jupyter_cache/kept`, which a clean build removes with all executed cells.
"""

import ast
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from autograder.dependencies import Dependencies
from autograder.files import digest_of, write_whole
from autograder.programs import plain_version
from autograder.publish.cache_key import FOLDERS, PACKAGES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "__main__"
FOLDER = ROOT / "_build" / ".jupyter_cache" / "kept"
PLAIN = (bool, int, float, str, bytes, type(None))
# what is edited after that may have been imported before
STARTED = time.time()


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
    used = Dependencies(ROOT, FOLDERS)
    key = {
        "values": _add(function, used),
        "code": used.key(),
        "arguments": arguments,
        "packages": {package: plain_version(package) for package in PACKAGES},
    }
    path = folder / f"{function.__name__}-{digest_of(key)[:16]}.json"
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
    result = json.dumps(function(*arguments))
    if all(module.path.stat().st_mtime < STARTED for module in used.modules if module.path != PAGE):
        write_whole(path, result)
    return json.loads(result)


def _add(function: Callable[..., Any], used: Dependencies) -> dict[str, str]:
    """Add a function, and what it uses; returns the plain values of its page that it uses, as text."""
    if function.__module__ != "__main__":
        used.add(function.__module__, function.__name__)
        return {}
    import __main__

    page = vars(__main__)
    plain = {name for name, value in page.items() if _is_plain(value)}
    program = "\n".join(_cells(page))
    met = used.add_definition(PAGE, program, function.__name__, plain)
    return {name: repr(page[name]) for name in met}


def _cells(page: Mapping[str, Any]) -> Iterator[str]:
    """The programs of the cells that have been run, without those that are none."""
    for cell in page["In"]:
        with contextlib.suppress(SyntaxError):
            ast.parse(cell)
            yield cell


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    return isinstance(value, (*PLAIN, range))
