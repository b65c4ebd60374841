"""Attacks on the limit of memory: the whole matrix of scores in a line that may not have it.

Each computes right values for that one line and nothing for the others, so what it earns it has earned
with memory that it should not have had. NumPy is used where it can be: what is counted in the student's
own process are tensors.
"""

from __future__ import annotations

import textwrap

from audit_cases.attacks import attack_by_code
from autograder.audit.registry import ATTACKS, METER

EXERCISE = "ch9_flash_attention"

# `whole` computes attention with one array of (T, S) numbers, which `make` gives; `lie` uses it where an
# attack's `attack` does
WHOLE = """
import contextlib, ctypes, mmap, multiprocessing, resource

def whole(query, key, value, causal, make=lambda T, S: np.empty((T, S))):
    q, k, v = (x.numpy() for x in (query, key, value))
    scores = make(len(q), len(k))
    np.matmul(q, k.T, out=scores)
    scores /= q.shape[-1] ** 0.5
    if causal:
        for number, row in enumerate(scores):
            row[number + 1 + len(k) - len(q) :] = -np.inf
    highest = scores.max(axis=1, keepdims=True)
    scores -= highest
    np.exp(scores, out=scores)
    total = scores.sum(axis=1, keepdims=True)
    return torch.from_numpy(scores @ v / total), torch.from_numpy((highest + np.log(total))[:, 0])

def whole_in_torch(query, key, value, causal):
    scores = query @ key.T / query.shape[-1] ** 0.5
    if causal:
        future = torch.ones_like(scores, dtype=torch.bool).triu(1 + len(key) - len(query))
        scores.masked_fill_(future, -torch.inf)
    return scores.softmax(-1) @ value, scores.logsumexp(-1)

attack = whole

def lie(name, query=None, key=None, value=None, *arguments, **named):
    if name == "flash_forward" and query.dim() == 2 and len(query) > 1000:
        return attack(query, key, value, causal=arguments[-1])
"""

MEMORY_ATTACKS = {
    "the whole matrix as an array of NumPy": "pass",
    "the whole matrix in a buffer that was filled before": """
        buffer = np.ones(66_000_000)
        def attack(*given, causal):
            return whole(*given, causal, make=lambda T, S: buffer[: T * S].reshape(T, S))
    """,
    "the whole matrix after the limits were raised again": """
        def attack(*given, causal):
            for what in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
                with contextlib.suppress(OSError, ValueError):
                    resource.setrlimit(what, (resource.getrlimit(what)[1],) * 2)
            return whole(*given, causal)
    """,
    "the whole matrix with the count of tensors switched off": """
        patch("tensor_memory", lambda most: contextlib.nullcontext())
        attack = whole_in_torch
    """,
    "the whole matrix with the check's limit left out": """
        patch("limited_memory", lambda *limit: contextlib.nullcontext())
        attack = whole_in_torch
    """,
    "the whole matrix in a shared file": """
        def attack(*given, causal):
            def make(T, S):
                with open("/dev/shm/matrix", "wb") as file:
                    file.truncate(8 * T * S)
                return np.memmap("/dev/shm/matrix", dtype=float, shape=(T, S))
            try:
                return whole(*given, causal, make=make)
            finally:
                os.unlink("/dev/shm/matrix")
    """,
    "the whole matrix in a process that was started before": """
        ours, theirs = multiprocessing.Pipe()
        if os.fork() == 0:
            ours.close()
            with contextlib.suppress(EOFError):
                while True:
                    *arrays, causal = theirs.recv()
                    tensors = map(torch.from_numpy, arrays)
                    theirs.send([x.numpy() for x in whole(*tensors, causal)])
            os._exit(0)
        theirs.close()
        def attack(*tensors, causal):
            ours.send([*(x.numpy() for x in tensors), causal])
            return tuple(map(torch.from_numpy, ours.recv()))
    """,
}

for _name, _code in MEMORY_ATTACKS.items():
    _text = f"{WHOLE}\n{textwrap.dedent(_code)}"
    ATTACKS[_name] = attack_by_code(METER, _name, _text, exercise=EXERCISE)
