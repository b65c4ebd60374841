"""Attacks on follow-through: earlier answers left out, later ones that help themselves to what stands in.

Every attack has an honest twin: the same later answers, the earlier ones written rightly by hand, and no
trick. It may gain no line that its twin doesn't, and none of those that grade what it left out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping

from autograder.audit.registry import FOLLOW_THROUGH_ATTACKS, FollowThroughAttack

FUNCTIONS, CLASSES = "ch2_scaled_dot_product", "ch6_transformer"


# What every attack on exercise 2 begins with. LOOT: functions that were caught; `found` calls the first
# of them, or of the earlier answers, that takes some arguments.
FIND = """
import builtins, copy, ctypes, functools, gc, inspect, json, marshal, os, pickle, signal, sys, threading
import time, types
import numpy as np, torch
LOOT, BUSY = [], []
def earlier():
    return [softmax, attention_numpy]
def take(value):
    if isinstance(value, types.FunctionType) and not value.__name__.startswith("found"):
        LOOT.append(value)
def found(*arguments, **named):
    if BUSY:
        raise RecursionError("asked itself")
    BUSY.append(1)
    try:
        for one in [*LOOT, *earlier()]:
            try:
                result = one(*arguments, **named)
            except Exception:
                continue
            if result is not None:
                return result
        raise LookupError("nothing takes these arguments")
    finally:
        BUSY.clear()
"""
# Answers that only ask what was found: one that needs attention_numpy, two that need softmax.
THIEVES = {
    "attention": """
def attention(*arguments, **named):
    plain = [x.detach().numpy() if isinstance(x, torch.Tensor) else x for x in arguments]
    return tuple(torch.from_numpy(np.array(part)) for part in found(*plain, **named))
""",
    "score_statistics": """
def score_statistics(query, key, scale):
    scores = query @ key.T * scale
    weights = found(scores)
    entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean()
    return {"variance": float(scores.var()), "max_weight": float(weights.max(-1).mean()),
            "entropy": float(entropy)}
""",
    "attention_jacobian": """
def attention_jacobian(query, key):
    weights = found(key @ query / np.sqrt(len(query)))
    return key.T @ (np.diag(weights) - np.outer(weights, weights)) @ key / np.sqrt(len(query))
""",
}


def _on_functions(
    name: str,
    trick: str,
    behind: Mapping[str, str] | None = None,
    wrong: Mapping[str, str] | None = None,
    hangs: bool = False,
) -> None:
    """Register an attack on exercise 2, without softmax and attention_numpy."""
    missing = ("softmax", "attention_numpy")
    FOLLOW_THROUGH_ATTACKS[name] = FollowThroughAttack(
        name,
        FUNCTIONS,
        missing,
        THIEVES,
        FIND,
        textwrap.dedent(trick),
        behind or {},
        wrong or {},
        hangs,
    )


_on_functions("later answers that delegate", "")
_on_functions(
    "sources of earlier answers, under other names",
    """
    def earlier():
        for f in (softmax, attention_numpy):
            try:
                names = {"np": np}
                exec(inspect.getsource(f), names)
                LOOT.extend(v for v in names.values() if isinstance(v, types.FunctionType))
            except (OSError, TypeError):
                pass
        return [softmax, attention_numpy]
    """,
)
_on_functions(
    "functions with fitting parameters, by the garbage collector",
    """
    def earlier():
        for f in gc.get_objects():
            if isinstance(f, types.FunctionType) and f.__module__ == "__main__":
                if set(f.__code__.co_varnames[:4]) & {"x", "axis", "query", "scores"}:
                    take(f)
        return [softmax, attention_numpy]
    """,
)
_on_functions(
    "bytecode of earlier answers in functions of its own",
    """
    def earlier():
        for f in (softmax, attention_numpy):
            LOOT.append(types.FunctionType(f.__code__, f.__globals__, "own", f.__defaults__))
        return LOOT
    """,
)
_on_functions(
    "a trace that was set earlier",
    """
    def trace(frame, event, argument):
        if frame.f_code.co_filename == "<string>":
            for value in [*frame.f_globals.values(), *frame.f_locals.values()]:
                take(value)
        return trace
    sys.settrace(trace)
    threading.settrace(trace)
    """,
)
_on_functions(
    "an audit hook on compile",
    """
    SOURCES = []
    def hook(event, arguments):
        if event == "compile" and isinstance(arguments[0], (bytes, str)):
            SOURCES.append(arguments[0])
    sys.addaudithook(hook)
    def earlier():
        for source in [s for s in SOURCES if b"def " in (s if isinstance(s, bytes) else s.encode())]:
            names = {}
            try:
                exec(source, names)
            except Exception:
                continue
            for value in names.values():
                take(value)
        return [softmax, attention_numpy]
    """,
)
_on_functions(
    "what stood in is kept on disk for the next run",
    """
    PLACES = [os.path.expanduser("~/loot"), "loot", "/tmp/loot", "/dev/shm/loot", "/var/tmp/loot"]
    for place in PLACES:
        try:
            for code in marshal.loads(open(place, "rb").read()):
                globals()[code.co_name] = types.FunctionType(code, {"np": np}, code.co_name)
        except (OSError, ValueError):
            pass
    def earlier():
        for place in PLACES:
            try:
                with open(place, "wb") as file:
                    file.write(marshal.dumps([f.__code__ for f in (softmax, attention_numpy)]))
            except OSError:
                pass
        return [softmax, attention_numpy]
    """,
    wrong={
        "softmax": "if 'softmax' not in globals():\n    def softmax(x, axis=-1):\n        return x"
    },
)
_on_functions(
    "a shell that looks at its names after every question",
    """
    shell = get_ipython()
    plain_names = shell.user_ns
    original = type(shell).user_expressions
    def watching(self, expressions):
        result = original(self, expressions)
        for name in ("softmax", "attention_numpy"):
            take(plain_names.get(name))
        return result
    type(shell).user_expressions = watching
    """,
)
_on_functions(
    "a thread that waits for what stands in",
    """
    def wait():
        names, known = globals(), {}
        while True:
            for name in ("softmax", "attention_numpy"):
                value = names.get(name)
                if value is not known.get(name):
                    known[name] = value
                    take(value)
            time.sleep(0.001)
    threading.Thread(target=wait, daemon=True).start()
    """,
)
_on_functions(
    "the grader's question answered with what stands in",
    """
    plain_reply = sys.modules["_autotest_reply"]
    def reply(request):
        for f in earlier():
            take(f)
        return plain_reply(request)
    sys.modules["_autotest_reply"] = reply
    """,
)
_on_functions(
    "wrong at first and right the second time, by a file",
    """
    SECOND = os.path.exists("/tmp/ran")
    open("/tmp/ran", "w").close()
    """,
    wrong={
        "softmax": "def softmax(x, axis=-1):\n    e = np.exp(x - x.max(axis, keepdims=True))\n"
        "    return e / e.sum(axis, keepdims=True) if SECOND else x"
    },
)
_on_functions(
    "an answer that deletes itself and the earlier ones",
    "",
    behind={
        "attention_numpy": "for name in ('softmax', 'attention_numpy'):\n    globals().pop(name, None)"
    },
)
_on_functions(
    "a namespace that keeps what is put into it",
    """
    import collections
    class Keeping(collections.UserDict):
        def __setitem__(self, name, value):
            take(value)
            self.data[name] = value
    keeping = Keeping()
    keeping.data = globals()
    type(get_ipython()).user_ns = property(lambda self: keeping)
    """,
)
_on_functions(
    "objects in place of earlier answers that call what stands in",
    """
    class Asking:
        def __init__(self, name):
            self.name = name
        def __call__(self, *arguments, **named):
            now = globals().get(self.name)
            return now(*arguments, **named) if now is not self else None
    asking = [Asking("softmax"), Asking("attention_numpy")]
    def earlier():
        return asking
    """,
    wrong={
        "softmax": "softmax = asking[0]",
        "attention_numpy": "attention_numpy = asking[1]",
    },
)
_on_functions(
    "sleeps once something stands in",
    """
    def watch(frame, event, argument):
        if frame.f_code.co_filename == "<string>":
            time.sleep(600)
    sys.settrace(watch)
    """,
    hangs=True,
)
_on_functions(
    "ends the kernel once something stands in",
    """
    def watch(frame, event, argument):
        if frame.f_code.co_filename == "<string>":
            os._exit(0)
    sys.settrace(watch)
    """,
)
_on_functions(
    "an interrupt raised by every earlier answer",
    "",
    wrong={"softmax": "def softmax(x, axis=-1):\n    raise KeyboardInterrupt"},
)

# Classes ----------------------------------------------------------------------------------------

# a decoder layer put together from parts of the encoder layer, whatever CAUGHT gives for one
PARTS = """
class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention):
        super().__init__()
        make = lambda: encoder_layer()(d_model, n_heads, d_ff, dropout, norm_first, attention)
        one, two, three = make(), make(), make()
        self.self_attention, self.cross_attention = one.self_attention, two.self_attention
        self.feed_forward = one.feed_forward
        self.norm1, self.norm2, self.norm3 = one.norm1, one.norm2, two.norm1
        self.dropout, self.norm_first = nn.Dropout(dropout), norm_first
    def forward(self, y, memory, target_mask=None, memory_mask=None):
        first, drop = self.norm_first, self.dropout
        def add(y, norm, part):
            return y + drop(part(norm(y))) if first else norm(y + drop(part(y)))
        y = add(y, self.norm1, lambda q: self.self_attention(q, q, q, target_mask)[0])
        y = add(y, self.norm2, lambda q: self.cross_attention(q, memory, memory, memory_mask)[0])
        return add(y, self.norm3, self.feed_forward)
"""
CAUGHT = """
import builtins, copy, gc, pickle, sys
import torch
from torch import nn
CAUGHT = []
def fits(value):
    return (isinstance(value, type) and issubclass(value, nn.Module)
            and "self_attention" in getattr(value.__init__, "__code__", fits.__code__).co_names)
def encoder_layer():
    return next((c for c in CAUGHT if fits(c)), EncoderLayer)
"""


def _on_classes(
    name: str, trick: str, answers: Callable[[], Mapping[str, str]] | None = None
) -> None:
    """Register an attack on exercise 6, without FeedForward and EncoderLayer."""
    FOLLOW_THROUGH_ATTACKS[name] = FollowThroughAttack(
        name,
        CLASSES,
        ("FeedForward", "EncoderLayer"),
        answers() if answers else {"DecoderLayer": PARTS},
        CAUGHT,
        textwrap.dedent(trick),
    )


_on_classes(
    "classes as they are built",
    """
    plain_build = builtins.__build_class__
    def build(*arguments, **named):
        made = plain_build(*arguments, **named)
        CAUGHT.append(made)
        if fits(made):
            globals().setdefault("EncoderLayer", made)
        return made
    builtins.__build_class__ = build
    """,
)
_on_classes(
    "classes among the subclasses of a module",
    """
    def encoder_layer():
        CAUGHT[:] = nn.Module.__subclasses__()
        return next((c for c in reversed(CAUGHT) if fits(c) and c.__name__ == "EncoderLayer"),
                    EncoderLayer)
    """,
)
_on_classes(
    "a later name that is an earlier one",
    "",
    lambda: {
        "DecoderLayer": "class DecoderLayer(EncoderLayer):\n"
        "    def forward(self, y, memory, target_mask=None, memory_mask=None):\n"
        "        return super().forward(y, target_mask)\n"
        "FeedForward, EncoderLayer = DecoderLayer, DecoderLayer"
    },
)
