"""Evaluating one line over the names that a notebook defines."""

from __future__ import annotations

import builtins
import functools
import json
import linecache
import random
import sysconfig
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .functions import halves
from .helpers import Notes, helper_names
from .memory import limited_memory
from .plain_data import MAX_TEXT, Value, decode, encode, restore, valid_text
from .settings import usual_settings
from .torch_internals import forbidding, seed_default_generator

MAX_MODULES, MAX_PARAMETERS, MAX_AXES, MAX_FORBIDDEN = 50, 500, 16, 20
FILENAME = "<autotest>"
# how the locked cell begins that holds what earlier chapters built
BUILT_SO_FAR = "# What you have built so far"


@dataclass(frozen=True)
class Evaluation:
    """What an evaluated expression gave, checked.

    parameters: of every module that `fill` met, names and shapes; forbidden: what was called although
    the cell forbids it; processor_seconds: what this process has used, by its own account.
    """

    value: Value
    parameters: tuple[dict[str, list[int]], ...] = ()
    forbidden: tuple[str, ...] = ()
    processor_seconds: float = 0.0

    @staticmethod
    def read(data: Any) -> Evaluation:
        """What `evaluate` returned; raises PlainDataError or another ValueError for anything else."""
        if not isinstance(data, dict):
            raise ValueError("not an evaluation")
        forbidden = data.get("forbidden")
        names = forbidden[:MAX_FORBIDDEN] if isinstance(forbidden, list) else []
        seconds = data.get("processor_seconds")
        return Evaluation(
            decode(data.get("value")),
            read_parameters(data.get("parameters")),
            tuple(valid_text(name, 60) for name in names),
            seconds if type(seconds) is float else 0.0,
        )


def read_parameters(data: Any) -> tuple[dict[str, list[int]], ...]:
    """Names and shapes of modules' parameters as JSON, checked; what is no shape is left out."""
    modules = data[:MAX_MODULES] if isinstance(data, list) else []
    return tuple(
        {
            valid_text(name, 200): list(shape)
            for name, shape in list(module.items())[:MAX_PARAMETERS]
            if isinstance(shape, list)
            and len(shape) <= MAX_AXES
            and all(type(size) is int for size in shape)
        }
        for module in modules
        if isinstance(module, dict)
    )


@functools.lru_cache(maxsize=1024)
def compiled(text: str, mode: str) -> Any:
    """Code of an expression ("eval") or a statement ("exec")."""
    return compile(text, FILENAME, mode)


@functools.lru_cache(maxsize=1024)
def compiled_line(text: str) -> tuple[Any, Any]:
    """A line's functions, and its expression."""
    functions, expression = halves(text)
    return compile(functions, FILENAME, "exec"), compile(expression, FILENAME, "eval")


def evaluate(
    code: str,
    definitions: Mapping[str, Any],
    inputs: Mapping[str, Any],
    parameter_seed: int,
    forbidden: Sequence[str] = (),
    megabytes: int | None = None,
) -> dict:
    """Evaluate a line's code (see `functions`); returns JSON that `Evaluation.read` takes.

    definitions: the names of a notebook or program; inputs: the drawn ones, which shadow them and the
    helpers, as the line's own functions shadow all of them; megabytes: as for `limited_memory`. An exception becomes a
    value of kind "error". Anything but an interrupt is caught.
    """
    limit = limited_memory(megabytes, counted=True)
    return _evaluated(code, definitions, inputs, parameter_seed, forbidden, limit)


def _evaluated(
    code: str,
    definitions: Mapping[str, Any],
    inputs: Mapping[str, Any],
    parameter_seed: int,
    forbidden: Sequence[str],
    limit: AbstractContextManager[None],
) -> dict:
    notes = Notes(parameter_seed)
    begun = time.process_time()
    namespace = {**definitions, **helper_names(notes), **inputs, "__builtins__": builtins}
    try:
        with forbidding(forbidden, notes.forbidden), usual_settings():
            random.seed(parameter_seed)
            np.random.seed(parameter_seed % 2**32)
            seed_default_generator(parameter_seed)
            functions, expression = compiled_line(code)
            exec(functions, namespace)
            with limit:
                found = eval(expression, namespace)
            notes.part.clear()
            value = encode(found)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        value = {**_encode_error(error), "part": notes.part}
    return {
        "value": value,
        "parameters": notes.parameters,
        "forbidden": sorted(set(notes.forbidden)),
        "processor_seconds": time.process_time() - begun,
    }


def _encode_error(error: BaseException) -> dict:
    # lines of the notebook itself, not of a library that it calls, nor of this package
    library = tuple(sysconfig.get_paths()[kind] for kind in ("stdlib", "purelib", "platlib"))
    package = __name__.rpartition(".")[0]
    at = inside = ""
    by_check = True
    for frame, line_number in traceback.walk_tb(error.__traceback__):
        filename = frame.f_code.co_filename
        ours = str(frame.f_globals.get("__name__", "")).startswith(f"{package}.")
        if ours or filename == FILENAME or filename.startswith(library):
            continue
        by_check = False
        line = traceback.FrameSummary(filename, line_number, frame.f_code.co_name).line or ""
        if linecache.getline(filename, 1).startswith(BUILT_SO_FAR):
            inside = line
        else:
            at, inside = line or at, ""
    return {
        "kind": "error",
        "name": type(error).__name__,
        "message": str(error)[:MAX_TEXT],
        "at": at.strip()[:300],
        "inside": inside.strip()[:300],
        "by_check": by_check,
    }


def serve(request: str, definitions: Mapping[str, Any]) -> str:
    """Evaluate one line on several draws, for a grader in another process: JSON to JSON."""
    job = json.loads(request)
    results = []
    for draw in job["draws"]:
        inputs = {name: restore(decode(tree)) for name, tree in draw["inputs"].items()}
        seed, forbidden = draw["parameter_seed"], job["forbidden"]
        limit = limited_memory(job.get("megabytes"), job.get("counted", True))
        results.append(_evaluated(job["expression"], definitions, inputs, seed, forbidden, limit))
    return json.dumps(results)
