"""Caches: keys and values of earlier positions are kept, and only the new position is projected.

The peers ask for a layer that also takes the whole text at once, ours for one step with a layer that is given. So mistakes
in what the whole text sees are not ours.
"""

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


def split(x, n_heads):
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)


def merge(x):
    batch, n_heads, length, width = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * width)


def append(old_key, old_value, key, value):
    if old_key is not None:
        key = torch.cat([old_key, key], dim=2)
        value = torch.cat([old_value, value], dim=2)
    return key, value


def emptied(key, value):
    return None, None


def visible(T, S, cached):
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


def attend(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ value
"""

APPEND = """    if old_key is not None:
        key = torch.cat([old_key, key], dim=2)
        value = torch.cat([old_value, value], dim=2)
    return key, value
"""
KEY = "key = torch.cat([old_key, key], dim=2)"
VALUE = "value = torch.cat([old_value, value], dim=2)"
VISIBLE = "return torch.ones(T, S, dtype=torch.bool).tril(S - T)"

SAME = "by the statement the outputs one by one are those of the whole text at once"
ALL = "by the statement the cache holds the keys and values of all positions, in order"
PREFILL = "the statement asks for a causal mask where the whole text is given"
PIECES = "the statement takes several new tokens with a cache, with the result of the full pass"


wrong = partial(wrong_answer, TEXT)


def everywhere(name, what, *edits, source, why=SAME):
    """A wrong answer, for the same reason by all three statements."""
    return wrong(name, what, *edits, source=source, judge=why, leet=why, ours=why)


WRONG = [
    everywhere(
        "keys_for_values",
        "the new value in the cache is a key",
        (KEY, "value = torch.cat([old_value, key], dim=2)"),
        (VALUE, "key = torch.cat([old_key, key], dim=2)"),
        source="https://github.com/huggingface/transformers/issues/34232",
        why=ALL,
    ),
    everywhere(
        "first_is_zero",
        "the first position is counted, but its key and value are never written",
        (
            APPEND,
            "    if old_key is None:\n"
            "        key = torch.cat([0 * key[:, :, :1], key[:, :, 1:]], dim=2)\n"
            "        value = torch.cat([0 * value[:, :, :1], value[:, :, 1:]], dim=2)\n"
            "    else:\n"
            "        key = torch.cat([old_key, key], dim=2)\n"
            "        value = torch.cat([old_value, value], dim=2)\n"
            "    return key, value\n",
        ),
        source="https://github.com/TrenTorch/TrenTorch/pull/192",
        why=ALL,
    ),
    everywhere(
        "remembers_the_last_text",
        "keeps the cache of the last text and appends to it",
        ("def append", "kept = {}\n\n\ndef append"),
        (
            APPEND,
            "    shape = key.shape[0], key.shape[1], key.shape[3], key.dtype\n"
            "    if old_key is None and shape in kept:\n"
            "        old_key, old_value = kept[shape]\n"
            "    if old_key is not None:\n"
            "        key = torch.cat([old_key, key], dim=2)\n"
            "        value = torch.cat([old_value, value], dim=2)\n"
            "    kept[shape] = key.detach(), value.detach()\n"
            "    return key, value\n",
        ),
        source="https://github.com/EricLBuehler/candle-vllm/issues/6",
        why=ALL,
    ),
    everywhere(
        "mask_from_the_top_left",
        "the newest query sees the first key only",
        (VISIBLE, "return torch.ones(T, S, dtype=torch.bool).tril()"),
        source="https://github.com/pytorch/executorch/pull/21749",
    ),
    wrong(
        "no_mask_at_all",
        "the whole text is processed without a causal mask",
        (VISIBLE, "return torch.ones(T, S, dtype=torch.bool)"),
        source="https://github.com/facebookresearch/xformers/issues/103",
        judge=PREFILL,
        leet=PREFILL,
    ),
    wrong(
        "no_mask_with_a_cache",
        "several new positions with a cache see each other's future",
        (
            VISIBLE,
            "return torch.ones(T, S, dtype=torch.bool) if cached else torch.ones(T, S, dtype=torch.bool).tril(S - T)",
        ),
        source="https://github.com/Mikyx-1/TinyLLM/issues/17",
        judge=PIECES,
    ),
    wrong(
        "square_mask",
        "the mask of several new positions has no columns for the cache",
        (VISIBLE, "return torch.ones(T, T, dtype=torch.bool).tril()"),
        source="https://github.com/meta-llama/llama/pull/900",
        judge=PIECES,
    ),
    wrong(
        "reset_does_nothing",
        "the old text stays in the cache after a reset",
        ("return None, None", "return key, value"),
        source="https://github.com/rasbt/LLMs-from-scratch/pull/925",
        leet="the statement: reset() clears the cache",
    ),
    wrong(
        "split_by_view",
        "heads are split without a transposition, so that a head holds whole positions",
        (
            "return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)",
            "return x.reshape(batch, n_heads, length, width // n_heads)",
        ),
        source="https://github.com/hyunwoongko/transformer/issues/15",
        judge=SAME,
        leet=SAME,
    ),
    wrong(
        "no_scale_with_a_cache",
        "only one of the two paths, whole text and single step, scales the scores",
        (
            "scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5",
            "scores = query @ key.transpose(-2, -1)\n    "
            "if query.shape[-2] == key.shape[-2]:\n        "
            "scores = scores / query.shape[-1] ** 0.5",
        ),
        source="https://github.com/mlc-ai/mlc-llm/pull/3426",
        judge=SAME,
        leet=SAME,
    ),
]

RIGHT = [
    Answer(
        "copied_into_a_new_tensor",
        "a tensor of the new size, into which both parts are copied",
        edited(
            TEXT,
            (
                APPEND,
                "    if old_key is None:\n"
                "        return key, value\n"
                "    found = []\n"
                "    for old, new in ((old_key, key), (old_value, value)):\n"
                "        whole = new.new_zeros(*old.shape[:2], old.shape[2] + new.shape[2], old.shape[3])\n"
                "        whole[:, :, : old.shape[2]] = old\n"
                "        whole[:, :, old.shape[2] :] = new\n"
                "        found.append(whole)\n"
                "    return found[0], found[1]\n",
            ),
        ),
    ),
    Answer(
        "one_condition_for_both",
        "joins lists of pieces",
        edited(
            TEXT,
            (
                APPEND,
                "    keys = [piece for piece in (old_key, key) if piece is not None]\n"
                "    values = [piece for piece in (old_value, value) if piece is not None]\n"
                "    return torch.cat(keys, dim=-2), torch.cat(values, dim=-2)\n",
            ),
            (VISIBLE, "return torch.arange(S)[None] <= torch.arange(S - T, S)[:, None]"),
        ),
    ),
    Answer(
        "empty_to_begin_with",
        "an empty tensor stands for no cache",
        edited(
            TEXT,
            (
                APPEND,
                "    if old_key is None:\n"
                "        old_key, old_value = key[:, :, :0], value[:, :, :0]\n"
                "    return torch.cat((old_key, key), 2), torch.cat((old_value, value), 2)\n",
            ),
        ),
    ),
]

TASK = Task(
    "cache",
    "Caches of keys and values",
    TEXT,
    {
        TORCH_JUDGE: Place(
            "kv_cache",
            """
class KVCacheAttention(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (torch.nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, cache=None):
        query, key, value = (split(layer(x), self.num_heads) for layer in (self.W_q, self.W_k, self.W_v))
        key, value = append(*((None, None) if cache is None else cache), key, value)
        mask = visible(query.shape[2], key.shape[2], cache is not None)
        return self.W_o(merge(attend(query, key, value, mask))), (key, value)
""",
            ("KVCacheAttention",),
        ),
        TORCHLEET: Place(
            "kv-cache",
            """
class KVCache:
    def __init__(self):
        self.key = self.value = None

    def update(self, new_k, new_v):
        self.key, self.value = append(self.key, self.value, new_k, new_v)
        return self.key, self.value

    def get(self):
        return self.key, self.value

    def reset(self):
        self.key, self.value = emptied(self.key, self.value)


class CachedAttention(torch.nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.layers = torch.nn.ModuleList(torch.nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x, kv_cache=None):
        query, key, value = (split(layer(x), self.num_heads) for layer in self.layers[:3])
        if kv_cache is not None:
            key, value = kv_cache.update(key, value)
        mask = visible(query.shape[2], key.shape[2], kv_cache is not None)
        return self.layers[3](merge(attend(query, key, value, mask)))
""",
            ("KVCache", "CachedAttention"),
        ),
        OURS: Place(
            "ch7_training",
            """
def cached_attention(mha, x, cache=None):
    query, key, value = (split(layer(x), mha.n_heads) for layer in (mha.w_q, mha.w_k, mha.w_v))
    old = (None, None) if cache is None else (cache["key"], cache["value"])
    key, value = append(*old, key, value)
    output, _ = mha.attention(query, key, value, visible(1, key.shape[2], cache is not None))
    return mha.w_o(merge(output)), {"key": key, "value": value}
""",
            ("cached_attention",),
        ),
    },
    (*WRONG, *RIGHT),
)
