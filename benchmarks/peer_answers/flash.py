"""FlashAttention's forward pass: tiles of queries and keys, and a softmax in one pass."""

from functools import partial

from benchmarks.peer_answers.answer import (
    OURS,
    TORCH_JUDGE,
    TORCHLEET,
    Answer,
    Place,
    Task,
    edited,
    wrong_answer,
)

TEXT = """
import math

import torch


def core(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5
    dtype = torch.promote_types(query.dtype, torch.float32)
    outputs, sums = [], []
    for i in range(0, T, block_q):
        q = query[..., i : i + block_q, :].to(dtype)
        top = torch.full((*q.shape[:-1], 1), -math.inf, dtype=dtype)
        total = torch.zeros_like(top)
        result = torch.zeros((*q.shape[:-1], value.shape[-1]), dtype=dtype)
        for j in range(0, S, block_k):
            k = key[..., j : j + block_k, :].to(dtype)
            v = value[..., j : j + block_k, :].to(dtype)
            s = q @ k.transpose(-2, -1) * scale
            if causal:
                last = torch.arange(i, i + q.shape[-2])[:, None] + S - T
                s = s.masked_fill(torch.arange(j, j + k.shape[-2]) > last, -math.inf)
            new = torch.maximum(top, s.amax(dim=-1, keepdim=True))
            safe = new.masked_fill(new == -math.inf, 0.0)
            p = torch.exp(s - safe)
            shrink = torch.exp(top - safe)
            total = shrink * total + p.sum(dim=-1, keepdim=True)
            result = shrink * result + p @ v
            top = new
        outputs.append(result / total.masked_fill(total == 0, 1.0))
        sums.append((top + torch.log(total)).squeeze(-1))
    return torch.cat(outputs, dim=-2).to(query.dtype), torch.cat(sums, dim=-1)
"""

SCALE = "scale = query.shape[-1] ** -0.5"
START = "top = torch.full((*q.shape[:-1], 1), -math.inf, dtype=dtype)"
SCORES = "s = q @ k.transpose(-2, -1) * scale"
NEW = "new = torch.maximum(top, s.amax(dim=-1, keepdim=True))"
SHRINK = "shrink = torch.exp(top - safe)"
TOTAL = "total = shrink * total + p.sum(dim=-1, keepdim=True)"
RESULT = "result = shrink * result + p @ v"
END = "outputs.append(result / total.masked_fill(total == 0, 1.0))"
SUMS = "sums.append((top + torch.log(total)).squeeze(-1))"

FORMULA = "not the formula of the statement, for almost all inputs"
BOUND = (
    "the result has to be that of standard attention, and the statement sets no bound on the scores"
)
ANY_LENGTH = "the statement allows lengths that the tiles do not divide"
WIDTH = "the statement allows any width of a head"


wrong = partial(wrong_answer, TEXT)


def everywhere(name, what, *edits, source, why=FORMULA):
    """A wrong answer, for the same reason by all three statements."""
    return wrong(name, what, *edits, source=source, judge=why, leet=why, ours=why)


WRONG = [
    everywhere(
        "no_maximum",
        "exponentials of the scores as they are, which overflow",
        (NEW, "new = torch.zeros_like(top)"),
        source="https://github.com/NVIDIA/FasterTransformer/issues/43",
        why=BOUND,
    ),
    everywhere(
        "maximum_starts_at_zero",
        "what is subtracted starts at 0, not at minus infinity, so that rows far below 0 vanish",
        (START, "top = torch.zeros((*q.shape[:-1], 1), dtype=dtype)"),
        source="https://github.com/ModelTC/LightLLM/issues/948",
        why=BOUND,
    ),
    everywhere(
        "maximum_starts_at_a_number",
        "the maximum starts at -50000, so that rows below it vanish",
        (START, "top = torch.full((*q.shape[:-1], 1), -5e4, dtype=dtype)"),
        source="https://github.com/flashinfer-ai/flashinfer/issues/4267",
        why=BOUND,
    ),
    everywhere(
        "maximum_of_the_tile",
        "takes the maximum of the newest tile alone, so that the correction overflows where scores fall",
        (NEW, "new = s.amax(dim=-1, keepdim=True)"),
        source="https://github.com/tile-ai/tilelang/pull/1148",
        why=BOUND,
    ),
    everywhere(
        "correction_upside_down",
        "corrects by exp(new - old) in place of exp(old - new)",
        (SHRINK, "shrink = torch.where(top == -math.inf, 0.0, torch.exp(safe - top))"),
        source="https://github.com/deepseek-ai/FlashMLA/pull/177",
    ),
    everywhere(
        "output_divided_by_correction",
        "the output so far is divided by the correction, as the algorithm in the paper had it",
        (
            RESULT,
            "result = torch.where(shrink == 0, 0.0, result / shrink.clamp(min=1e-30)) + p @ v",
        ),
        source="https://github.com/Dao-AILab/flash-attention/issues/991",
    ),
    everywhere(
        "small_growth_left_out",
        "small growth of the maximum is not corrected, but the new tile is relative to the new maximum",
        (
            SHRINK,
            "small = new - top <= math.log(256)\n            "
            "shrink = torch.where(small, 1.0, torch.exp(top - safe))",
        ),
        ("top = new", "top = torch.where(small, top, new)"),
        source="https://github.com/meta-pytorch/MSLK/pull/242",
    ),
    everywhere(
        "last_keys_are_zeros",
        "the last tile is filled up with zeros, whose score of 0 has weight",
        (
            SCORES,
            "k = torch.nn.functional.pad(k, (0, 0, 0, block_k - k.shape[-2]))\n            "
            "v = torch.nn.functional.pad(v, (0, 0, 0, block_k - v.shape[-2]))\n            "
            "s = q @ k.transpose(-2, -1) * scale",
        ),
        source="https://github.com/flashinfer-ai/flashinfer/pull/5090",
        why=ANY_LENGTH,
    ),
    wrong(
        "as_many_keys_as_queries",
        "takes the number of queries for that of keys",
        ("range(0, S, block_k)", "range(0, min(S, T), block_k)"),
        (
            "k = key[..., j : j + block_k, :].to(dtype)",
            "k = key[..., j : min(j + block_k, T), :].to(dtype)",
        ),
        (
            "v = value[..., j : j + block_k, :].to(dtype)",
            "v = value[..., j : min(j + block_k, T), :].to(dtype)",
        ),
        source="https://github.com/jax-ml/jax/issues/24491",
        ours="the statement has T queries and S keys",
    ),
    everywhere(
        "first_sixty_four_columns",
        "uses the first 64 columns of queries and keys, for which it was written",
        (SCORES, "s = q[..., :64] @ k[..., :64].transpose(-2, -1) * scale"),
        source="https://github.com/triton-lang/triton/issues/621",
        why=WIDTH,
    ),
    everywhere(
        "no_scale",
        "the scores are not scaled",
        (SCALE, "scale = 1.0"),
        source="https://github.com/mlc-ai/mlc-llm/pull/3426",
    ),
    everywhere(
        "scaled_twice",
        "the queries are scaled, and the scores once more",
        (SCORES, "s = (q * scale) @ k.transpose(-2, -1) * scale"),
        source="https://github.com/AI-Hypercomputer/maxtext/issues/3138",
    ),
    everywhere(
        "scale_grows",
        "the scale is multiplied by a constant in every tile of keys",
        (
            SCORES,
            "scale = scale * 1.44269504\n            s = q @ k.transpose(-2, -1) * (scale / 1.44269504)",
        ),
        source="https://github.com/flagos-ai/FlagGems/pull/424",
    ),
    everywhere(
        "keys_for_values",
        "the weighted sum is of the keys",
        ("v = value[..., j : j + block_k, :].to(dtype)", "v = k"),
        ("value.shape[-1]), dtype=dtype)", "key.shape[-1]), dtype=dtype)"),
        source="https://github.com/ruvnet/agentic-flow/issues/191",
    ),
    wrong(
        "lse_in_base_two",
        "the log-sum-exp has the base 2",
        (SUMS, "sums.append((top + torch.log(total)).squeeze(-1) / math.log(2))"),
        source="https://github.com/lightseekorg/tokenspeed/pull/571",
        ours="the statement asks for the natural log-sum-exp",
    ),
    wrong(
        "causal_from_the_top_left",
        "query 0 sees key 0 only, also with fewer queries than keys",
        ("[:, None] + S - T", "[:, None]"),
        source="https://github.com/pytorch/executorch/pull/21749",
        ours="the statement says that the last query sees every key",
    ),
]

RIGHT = [
    Answer(
        "merged_parts",
        "each tile of keys by itself, put together by the log-sum-exp",
        """
import math

import torch


def part(q, k, v, hidden):
    s = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(hidden, -math.inf)
    lse = torch.logsumexp(s, dim=-1)
    p = torch.exp(s - lse.masked_fill(lse == -math.inf, 0.0)[..., None])
    return p @ v, lse


def core(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    outputs, sums = [], []
    for i in range(0, T, block_q):
        q = query[..., i : i + block_q, :].to(dtype)
        rows = torch.arange(i, i + q.shape[-2])[:, None]
        found = None
        for j in range(0, S, block_k):
            k, v = (x[..., j : j + block_k, :].to(dtype) for x in (key, value))
            columns = torch.arange(j, j + k.shape[-2])
            hidden = (columns > rows + S - T) if causal else torch.zeros(len(rows), len(columns), dtype=torch.bool)
            output, lse = part(q, k, v, hidden)
            if found is not None:
                both = torch.logaddexp(found[1], lse)
                low = both.masked_fill(both == -math.inf, 0.0)
                output = (found[1] - low).exp()[..., None] * found[0] + (lse - low).exp()[..., None] * output
                lse = both
            found = output, lse
        outputs.append(found[0])
        sums.append(found[1])
    return torch.cat(outputs, -2).to(query.dtype), torch.cat(sums, -1)
""",
    ),
    Answer(
        "two_passes",
        "a first pass over the keys finds the maximum, a second one adds up",
        """
import math

import torch


def core(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    outputs, sums = [], []
    for i in range(0, T, block_q):
        q = query[..., i : i + block_q, :].to(dtype) / query.shape[-1] ** 0.5

        def scores(j):
            s = torch.einsum("...td,...sd->...ts", q, key[..., j : j + block_k, :].to(dtype))
            if causal:
                rows = torch.arange(i, i + q.shape[-2])[:, None]
                columns = torch.arange(j, min(j + block_k, S))[None]
                s = torch.where(columns - rows <= S - T, s, -math.inf)
            return s

        top = scores(0).amax(-1)
        for j in range(block_k, S, block_k):
            top = torch.maximum(top, scores(j).amax(-1))
        low = torch.where(top == -math.inf, 0.0, top)
        total, result = 0, 0
        for j in range(0, S, block_k):
            p = (scores(j) - low[..., None]).exp()
            total = total + p.sum(-1)
            result = result + p @ value[..., j : j + block_k, :].to(dtype)
        outputs.append(result / torch.where(total == 0, 1.0, total)[..., None])
        sums.append(top + total.log())
    return torch.cat(outputs, -2).to(query.dtype), torch.cat(sums, -1)
""",
    ),
    Answer(
        "sum_starts_at_one",
        "the sum starts at 1, which the first correction removes",
        edited(
            TEXT,
            ("total = torch.zeros_like(top)", "total = torch.ones_like(top)"),
        ),
    ),
    Answer(
        "always_normalised",
        "the output so far is divided by its sum in every tile, as in the first FlashAttention",
        edited(
            TEXT,
            (
                TOTAL,
                "before = shrink * total\n            total = before + p.sum(dim=-1, keepdim=True)",
            ),
            (RESULT, "result = (before * result + p @ v) / total.masked_fill(total == 0, 1.0)"),
            (END, "outputs.append(result)"),
        ),
    ),
]

TASK = Task(
    "flash",
    "FlashAttention, forward",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "flash_attention",
            """
def flash_attention(Q, K, V, block_size=32):
    return core(Q, K, V, block_size, block_size)[0]
""",
            ("flash_attention",),
        ),
        TORCHLEET: Place(
            "flash-attention-triton",
            """
def flash_attention_pytorch(Q, K, V, block_size=32):
    return core(Q, K, V, block_size, block_size)[0]
""",
            ("flash_attention_pytorch",),
        ),
        OURS: Place(
            "ch9_flash_attention",
            """
def flash_forward(query, key, value, block_q, block_k, causal=False):
    return core(query, key, value, block_q, block_k, causal)
""",
            ("flash_forward",),
        ),
    },
    (*WRONG, *RIGHT),
)
