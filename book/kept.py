"""Results of experiments that take long, kept until their code or a version changes.

A page calls `kept(function, ...)`. Whichever page or build comes first computes the result; later ones
read it from `_build/.jupyter_cache/kept`, which a clean build removes with all executed cells.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.programs import plain_version
from autograder.publish.cache_key import PACKAGES
from autograder.publish.experiments import KEPT, Experiment, computed_once

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / KEPT
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
    packages = {package: plain_version(package) for package in PACKAGES}
    experiment = Experiment(ROOT, function, arguments)
    return json.loads(computed_once(experiment, folder, packages, STARTED))
