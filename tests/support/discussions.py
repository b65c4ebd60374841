"""Programs in which the fragments of the discussions stand, by exercise and answer.

In a program, `@` stands for a whole fragment and `@1` to `@3` for its lines. A program that defines the
answer is checked by the answer's own grade cells; any other has to assert something by itself. It
finds the names of the reference solution, and `same`, which compares two tensors or arrays.
"""

PROGRAMS: dict[str, dict[str, tuple[str, str]]] = {
    "ch1_additive_attention": {
        "additive_scores": (
            """
def additive_scores(query, key, w_q, w_k, v):
    @
    return hidden @ v
""",
            """
def additive_scores(query, key, w_q, w_k, v):
    B, S, _ = key.shape
    projected_query = query @ w_q.T
    scores = np.empty((B, S))
    @
    return scores
""",
        ),
        "attend": (
            """
def attend(scores, value, mask=None):
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    @
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
            """
def attend(scores, value, mask=None):
    B = len(scores)
    if mask is None:
        mask = np.ones(scores.shape, dtype=bool)
    weights = np.zeros(scores.shape)
    @
    return np.einsum("bs,bsd->bd", weights, value), weights
""",
        ),
        "AdditiveAttention": (
            """
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_key, d_hidden):
        super().__init__()
        self.w_q = nn.Linear(d_query, d_hidden, bias=False)
        self.w_k = nn.Linear(d_key, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, query, key, mask=None):
        hidden = torch.tanh(self.w_q(query).unsqueeze(1) + self.w_k(key))
        scores = self.v(hidden).squeeze(-1)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        @
        return context, weights
""",
            """
self = AdditiveAttention(3, 4, 5)
query, key = torch.randn(2, 3), torch.randn(2, 6, 4)
@
weights = torch.softmax(self.v(hidden).squeeze(-1), dim=-1)
same(weights, self(query, key)[1])
""",
        ),
        "AttentionDecoderStep": (
            """
self = AttentionDecoderStep(3, 4, 5, 6)
embedded, context = torch.randn(2, 3), torch.randn(2, 5)
@
joined = torch.cat([embedded, context], dim=-1)
same(gates, joined @ self.cell.weight_ih.T)
""",
            """
class AttentionDecoderStep(nn.Module):
    def __init__(self, d_embed, d_state, d_key, d_hidden):
        super().__init__()
        self.attention = AdditiveAttention(d_state, d_key, d_hidden)
        self.cell = nn.GRUCell(d_embed + d_key, d_state)

    @property
    def gru(self):
        found = nn.GRU(self.cell.input_size, self.cell.hidden_size)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            setattr(found, f"{name}_l0", getattr(self.cell, name))
        return found

    def forward(self, embedded, state, key, mask=None):
        context, weights = self.attention(state, key, mask)
        @
        return new_state, context, weights
""",
        ),
    },
    "ch2_scaled_dot_product": {
        "softmax": (
            """
def softmax(x, axis=-1):
    @1
    return @2
""",
            """
def softmax(x, axis=-1):
    @1
    largest = moved.max(axis=-1, keepdims=True)
    result = np.exp(moved - largest)
    result = result / result.sum(axis=-1, keepdims=True)
    return @3
""",
        ),
        "attention_numpy": (
            """
query, key, value = (np.random.randn(2, *shape) for shape in ((3, 4), (5, 4), (5, 6)))
@1
weights = softmax(scores / 2)
@2
same(output, attention_numpy(query, key, value)[0])
""",
            """
T, scores = 3, np.random.randn(2, 3, 4)
weights = np.empty(scores.shape)
@
same(weights, softmax(scores))
""",
        ),
        "attention": (
            """
scores = torch.randn(2, 3, 4, requires_grad=True)
mask = torch.tensor([[True, False, True, True], [True] * 4, [False] * 4])
weights = torch.softmax(@1, dim=-1)
assert weights[:, 2].isnan().all()
weights = @2
assert (weights[:, ~mask] == 0).all()
same(weights[:, :2].sum(-1), torch.ones(2, 2))
# as the text says: the gradient is NaN on the way
loss = (weights * torch.randn(2, 3, 4)).sum()
try:
    with torch.autograd.detect_anomaly():
        loss.backward()
except RuntimeError as error:
    assert "returned nan values" in str(error)
else:
    raise AssertionError("there is no NaN")
""",
            """
query, key, value = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
mask = torch.rand(2, 3, 5) < 0.6
mask[..., 0] = True
scores = query @ key.mT / 2
@
same(torch.softmax(scores, dim=-1), attention(query, key, value, mask)[1])
""",
        ),
        "score_statistics": (
            """
scores = 3 * np.random.randn(4, 5)
@
weights = softmax(scores)
same(entropy, -(weights * np.log(weights)).sum(-1))
""",
            """
weights = np.array([0.5, 0.0, 0.5])
same(@, np.array([np.log(0.5), 0.0, np.log(0.5)]))
""",
        ),
        "attention_jacobian": (
            """
query, key = np.random.randn(4), np.random.randn(5, 4)
weights, root = softmax(key @ query / 2), 2.0
@1
same(@2, attention_jacobian(query, key))
""",
            """
query, key = np.random.randn(4), np.random.randn(5, 4)
weights = softmax(key @ query / 2)
output = weights @ key
same((@) / 2, attention_jacobian(query, key))
""",
        ),
    },
    "ch3_multi_head": {
        "split_heads": (
            """
def split_heads(x, n_heads):
    @
    return parts.transpose(1, 2)
""",
            """
def split_heads(x, n_heads):
    @
    return heads
""",
        ),
        "merge_heads": (
            """
def merge_heads(x):
    @
    return merged
""",
            """
def merge_heads(x):
    @
    return merged
""",
        ),
        "MultiHeadAttention": (
            """
mha, x = MultiHeadAttention(6, 2), torch.randn(3, 4, 6)
d_model, bias, self = 6, True, nn.Module()
@1
self.w_qkv.weight.data = torch.cat([mha.w_q.weight, mha.w_k.weight, mha.w_v.weight])
self.w_qkv.bias.data = torch.cat([mha.w_q.bias, mha.w_k.bias, mha.w_v.bias])
@2
for mine, theirs in ((query, mha.w_q), (key, mha.w_k), (value, mha.w_v)):
    same(mine, theirs(x))
""",
            """
mha, x, n_heads, outputs = MultiHeadAttention(6, 2), torch.randn(3, 4, 6), 2, []
query, key, value = mha.w_q(x), mha.w_k(x), mha.w_v(x)
mask = torch.ones(4, 4, dtype=torch.bool).tril()
@
same(mha.w_o(output), mha(x, x, x, mask)[0])
""",
        ),
        "to_torch": (
            """
mha, x = MultiHeadAttention(6, 2, bias=False), torch.randn(3, 4, 6)
theirs = nn.MultiheadAttention(6, 2, bias=False, batch_first=True)
joined = torch.cat([mha.w_q.weight, mha.w_k.weight, mha.w_v.weight])
@
same(theirs(x, x, x)[0], mha(x, x, x)[0])
assert set(theirs.state_dict().keys()) == set(state)
""",
            """
mha = MultiHeadAttention(6, 2)
theirs = to_torch(mha)
@
with torch.no_grad():
    mha.w_o.weight += 1
same(theirs.out_proj.weight, mha.w_o.weight)
""",
        ),
        "count_parameters": (
            """
def count_parameters(d_model, n_heads, bias):
    @
    return total
""",
            """
def count_parameters(d_model, n_heads, bias):
    @
    return total
""",
        ),
        "head_contribution": (
            """
def head_contribution(mha, query, key, value, head, mask=None):
    outputs, _ = mha.attention(
        *(
            split_heads(project(x), mha.n_heads)
            for project, x in ((mha.w_q, query), (mha.w_k, key), (mha.w_v, value))
        ),
        mask,
    )
    @
    whole = merge_heads(outputs) @ mha.w_o.weight.T
    assert torch.allclose(parts.sum(1), whole, atol=1e-5)
    return parts[:, head]
""",
            """
def head_contribution(mha, query, key, value, head, mask=None):
    outputs, _ = mha.attention(
        *(
            split_heads(project(x), mha.n_heads)
            for project, x in ((mha.w_q, query), (mha.w_k, key), (mha.w_v, value))
        ),
        mask,
    )
    @
    return part
""",
        ),
        "grouped_query_attention": (
            """
def grouped_query_attention(query, key, value, mask=None):
    n_heads, n_groups = query.shape[1], key.shape[1]
    if n_heads % n_groups:
        raise ValueError
    if mask is not None:
        T, S = query.shape[2], key.shape[2]
        mask = mask.broadcast_to(len(query), n_heads, T, S).unflatten(1, (n_groups, -1))
    @
    return output, weights
""",
            """
from torch.nn import functional as F
query, key, value = torch.randn(2, 6, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
mask = torch.rand(2, 1, 3, 5) < 0.7
mask[..., 0] = True
@
same(output, grouped_query_attention(query, key, value, mask)[0])
""",
        ),
    },
    "ch4_masking": {
        "padding_mask": (
            """
lengths, pad = torch.tensor([2, 0, 4]), 7
tokens = torch.tensor([[1, 2, 7, 7], [7, 7, 7, 7], [1, 2, 3, 4]])
@
same(mask, padding_mask(lengths, 4))
""",
            """
def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, 1, max_len, dtype=torch.bool)
    @
    return mask
""",
        ),
        "causal_mask": (
            """
def causal_mask(T, S=None):
    S = T if S is None else S
    @
    return mask
""",
            """
def causal_mask(T, S=None):
    S = T if S is None else S
    @
    return mask
""",
        ),
        "combine": (
            """
def combine(*masks):
    import functools

    if all(mask is None for mask in masks):
        return None
    @
    return combined
""",
            """
def combine(*masks):
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    @
    return combined
""",
        ),
        "masked_softmax": (
            """
def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    @
    return weights
""",
            """
def masked_softmax(scores, mask):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    @
    return weights
""",
        ),
        "additive": (
            """
def additive(mask, dtype):
    @
    # as the text says of plain numbers
    assert torch.where(mask, 0.0, -torch.inf).dtype == torch.get_default_dtype()
    return bias
""",
            """
def additive(mask, dtype):
    @
    return bias
""",
        ),
        "from_key_padding": (
            """
def from_key_padding(mask):
    @
    return heads_and_queries
""",
            """
def from_key_padding(mask):
    @
    return may_attend
""",
        ),
        "leaks": (
            """
x, matrix = torch.randn(2, 4, 3, dtype=torch.float64), torch.randn(4, 4, dtype=torch.float64)
for fn in (lambda x: x.cumsum(1), lambda x: matrix.triu() @ x.tanh()):
    @
    same(depends, leaks(fn, x))
# as the text says: a dependence without a derivative is missed
fn = torch.round
x = 10 * x
@
assert leaks(fn, x + 0.499).any() and not depends.any()
""",
            """
B, T, D = 2, 4, 3
x = torch.randn(B, T, D, dtype=torch.float64)
fn = lambda x: x.cumsum(1)
@
found = (after - fn(x)).abs().amax(dim=(1, 3)) > 1e-9  # by what was moved, then by output
same(found.T, leaks(fn, x))
""",
        ),
        "masked_cross_entropy": (
            """
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    @
    return loss
""",
            """
def masked_cross_entropy(logits, targets, pad):
    real = targets != pad
    @
    return loss
""",
        ),
    },
    "ch5_positional_encoding": {
        "sinusoidal": (
            """
def sinusoidal(n_positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError
    i = torch.arange(d_model // 2, dtype=torch.float64)
    positions = torch.arange(n_positions, dtype=torch.float64)
    angles = positions[:, None] * base ** (-2 * i / d_model)
    @
    return encoding
""",
            """
def sinusoidal(n_positions, d_model, base=10000.0):
    if d_model % 2:
        raise ValueError
    i = torch.arange(d_model // 2, dtype=torch.float64)
    positions = torch.arange(n_positions, dtype=torch.float64)
    angles = positions[:, None] * base ** (-2 * i / d_model)
    @
    return encoding
""",
        ),
        "shift_matrix": (
            """
def shift_matrix(delta, d_model, base=10000.0):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    angles = delta * base ** (-2 * i / d_model)
    matrix = torch.zeros(d_model, d_model, dtype=torch.float64)
    @
    return matrix
""",
            """
for delta, d_model, base in ((1, 4, 100.0), (3, 6, 50.0)):
    @
    same(matrix, shift_matrix(delta, d_model, base))
""",
        ),
        "PositionalEncoding": (
            """
self, x = PositionalEncoding(6), torch.randn(2, 5, 6)
@
same(result, self(x))
""",
            """
self, encoding = nn.Module(), sinusoidal(5, 4)
@
assert "encoding" in dict(self.named_buffers()) and not self.state_dict()
assert "encoding" in PositionalEncoding(4).state_dict()
""",
        ),
        "rope": (
            """
x, positions = torch.randn(2, 5, 6, dtype=torch.float64), torch.arange(5)
angles = positions[:, None] * 10000.0 ** (-2 * torch.arange(3, dtype=torch.float64) / 6)
@
same(result, rope(x, positions))
""",
            """
positions, in_halves = torch.arange(5), torch.tensor([0, 2, 4, 1, 3, 5])
adjacent = torch.randn(2, 5, 6, dtype=torch.float64)
angles = positions[:, None] * 10000.0 ** (-2 * torch.arange(3, dtype=torch.float64) / 6)
x, cos, sin = adjacent[..., in_halves], angles.cos(), angles.sin()
@
same(result, rope(adjacent, positions)[..., in_halves])
assert not torch.allclose(result, rope(x, positions))
""",
        ),
        "alibi_bias": (
            """
def alibi_bias(n_heads, T):
    @
    positions = torch.arange(T)
    return -slopes[:, None, None] * (positions[:, None] - positions).abs()
""",
            """
n_heads, positions = 3, torch.arange(5)
slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
@
whole = alibi_bias(n_heads, 5)
same(bias.tril(), whole.tril())
assert (bias.triu(1) >= 0).all() and (bias > 0).sum() == n_heads * 10
""",
        ),
    },
    "ch6_transformer": {
        "FeedForward": (
            """
theirs, x = FeedForward(4, 6), torch.randn(2, 3, 4)
d_model, d_ff, dropout, self = 4, 6, 0.0, nn.Module()
@
self.layers[0], self.layers[3] = theirs.linear1, theirs.linear2
same(self.layers(x), theirs(x))
assert {"layers.0.weight", "layers.3.weight"} <= set(self.state_dict())
""",
            """
theirs, x = FeedForward(4, 6), torch.randn(2, 3, 4)
d_model, d_ff, self = 4, 6, nn.Module()
@1
for own, other in ((self.conv1, theirs.linear1), (self.conv2, theirs.linear2)):
    own.weight.data, own.bias.data = other.weight.data.unsqueeze(-1), other.bias.data
@2
@3
same(result, theirs(x))
""",
        ),
        "EncoderLayer": (
            """
for first in (True, False):
    self, start, mask = EncoderLayer(4, 2, 6, norm_first=first), torch.randn(2, 3, 4), None
    @
    after = (lambda norm, x: x) if first else (lambda norm, x: norm(x))
    look = lambda x: self.self_attention(x, x, x, mask)[0]
    x = after(self.norm1, sublayer(start, self.norm1, look))
    x = after(self.norm2, sublayer(x, self.norm2, self.feed_forward))
    same(x, self(start))
""",
            """
from solutions.ch3_multi_head import to_torch
own, x, d_model, n_heads, d_ff, dropout = EncoderLayer(4, 2, 6), torch.randn(2, 3, 4), 4, 2, 6, 0.0
@
layer.self_attn = to_torch(own.self_attention)
layer.linear1, layer.linear2 = own.feed_forward.linear1, own.feed_forward.linear2
layer.norm1, layer.norm2 = own.norm1, own.norm2
same(layer(x), own(x))
""",
        ),
        "DecoderLayer": (
            """
from solutions.ch3_multi_head import merge_heads, split_heads
self, y, memory = DecoderLayer(4, 2, 6), torch.randn(2, 3, 4), torch.randn(2, 5, 4)
@
query = split_heads(cross.w_q(y), cross.n_heads)
output, _ = cross.attention(query, key, value, None)
same(cross.w_o(merge_heads(output)), cross(y, memory, memory)[0])
""",
            """
self, start, memory = DecoderLayer(4, 2, 6), torch.randn(2, 3, 4), torch.randn(2, 5, 4)
self.norms = nn.ModuleList([self.norm1, self.norm2, self.norm3])
look_back = lambda n: self.self_attention(n, n, n, None)[0]
look_across = lambda n: self.cross_attention(n, memory, memory, None)[0]
y = start
@
same(y, self(start, memory))
assert {"norms.0.weight", "norms.2.weight"} <= set(self.state_dict())
""",
        ),
        "Transformer": (
            """
V, d_model = 9, 4
self = Transformer(7, V, d_model, 2, 1, 6)
separate = sum(p.numel() for p in self.parameters())
@
tied = sum(p.numel() for p in self.parameters())
assert separate - tied == V * d_model
assert self(torch.ones(2, 3, dtype=int), torch.ones(2, 4, dtype=int)).shape == (2, 4, V)
""",
            """
self, max_len, T = nn.Module(), 6, 4
@
same(future, causal_mask(T))
assert not self.state_dict() and longest.element_size() == 1
""",
        ),
        "shift": (
            """
def shift(target):
    @
    return target_in, target_out
""",
            """
def shift(target):
    @
    return target[:, :-1], target_out
""",
        ),
    },
    "ch7_training": {
        "smoothed_cross_entropy": (
            """
from torch.nn import functional as F

def smoothed_cross_entropy(logits, targets, smoothing, pad):
    real = targets != pad
    @
    return loss
""",
            """
def smoothed_cross_entropy(logits, targets, smoothing, pad):
    real = targets != pad
    log_p, chosen = torch.log_softmax(logits[real], dim=-1), targets[real]
    @
    return loss
""",
        ),
        "noam_rate": (
            """
def noam_rate(step, d_model, warmup):
    if step < 1:
        raise ValueError
    @
    else:
        rate = d_model**-0.5 / step**0.5
    return rate
""",
            """
d_model, warmup = 16, 3
optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
@
for step in range(1, 8):
    same(optimiser.param_groups[0]["lr"], noam_rate(step, d_model, warmup))
    optimiser.step()
    schedule.step()
""",
        ),
        "greedy_decode": (
            """
def greedy_decode(step_fn, bos, eos, max_len, batch, pad):
    @1
    @2
    ended = torch.zeros(batch, dtype=torch.bool)
    for t in range(max_len):
        @3
        ended = ended | (ids[:, t + 1] == eos)
        if ended.all():
            break
    return ids[:, 1 : t + 2]
""",
            """
table = torch.randn(8, 8)
step_fn = lambda prefix: table[prefix[:, -1]]
bos, eos, max_len, batch, pad = 1, 2, 6, 5, 0
table[:, pad] = -100
start = torch.arange(3, 3 + batch)[:, None]
prefix, ended = start, torch.zeros(batch, dtype=torch.bool)
for _ in range(max_len):
    if ended.all():
        break
    @
    prefix = torch.cat([prefix, token[:, None]], dim=1)
    ended = ended | (token == eos)
first = lambda prefix: torch.eye(8)[start[:, 0]] if prefix.shape[1] == 1 else table[prefix[:, -1]]
whole = greedy_decode(first, bos, 2, max_len + 1, batch, pad)
same(prefix, whole)
""",
        ),
        "beam_search": (
            """
def beam_search(step_fn, bos, eos, beam, max_len, alpha):
    import heapq

    beams, best, best_score = [(0.0, [bos])], [bos], -math.inf
    for length in range(1, max_len + 1):
        candidates = []
        @
        beams = []
        for log_p, ids in heapq.nlargest(beam, candidates):
            if ids[-1] == eos or length == max_len:
                score = log_p / ((5 + length) / 6) ** alpha
                if score > best_score:
                    best, best_score = ids, score
            else:
                beams.append((log_p, ids))
        if not beams:
            break
    return torch.tensor(best[1:]), best_score
""",
            """
def beam_search(step_fn, bos, eos, beam, max_len, alpha):
    prefixes, log_p = torch.full((1, 1), bos), torch.zeros(1)
    best, best_score = prefixes[0], -math.inf
    for length in range(1, max_len + 1):
        step = step_fn(prefixes)
        kept = min(beam, step.numel())
        @
        prefixes = torch.cat([prefixes[parents], tokens[:, None]], dim=1)
        finished = (tokens == eos) | (length == max_len)
        scores = log_p / ((5 + length) / 6) ** alpha
        for ids, score in zip(prefixes[finished], scores[finished].tolist()):
            if score > best_score:
                best, best_score = ids, score
        prefixes, log_p = prefixes[~finished], log_p[~finished]
        if not len(prefixes):
            break
    return best[1:], best_score
""",
        ),
        "cached_attention": (
            """
mha, x = MultiHeadAttention(6, 2), torch.randn(3, 4, 6)
room, cache = {name: torch.zeros(3, 2, 4, 3) for name in ("key", "value")}, None
for t in range(4):
    now = x[:, t : t + 1]
    query, key, value = (split_heads(w(now), 2) for w in (mha.w_q, mha.w_k, mha.w_v))
    @
    output = mha.w_o(merge_heads(mha.attention(query, key, value, None)[0]))
    wanted, cache = cached_attention(mha, now, cache)
    same(output, wanted)
""",
            """
mha, whole = MultiHeadAttention(6, 2), torch.randn(3, 4, 6)
cache = None
for t in range(4):
    earlier, x = whole[:, :t], whole[:, t : t + 1]
    @
    wanted, cache = cached_attention(mha, x, cache)
    same(output, wanted)
""",
        ),
        "corpus_bleu": (
            """
own, right = Counter("the the the cat".split()), Counter("the cat the dog".split())
@
assert clipped == (own & right).total() == 3
""",
            """
references = ["the cat sat on the mat today".split()]
hypotheses = ["the cat sat on a mat".split()]
n, precisions, r, c = 2, [5 / 6, 3 / 5], 7, 6
@
same(score, corpus_bleu(hypotheses, references, n))
""",
        ),
        "fit": (
            """
import copy
pairs, model, right, best_right = list(range(300)), nn.Linear(2, 2), 7, 5
@
with torch.no_grad():
    model.weight += 1
assert not torch.equal(best["weight"], model.weight)
assert (len(held_out), len(pairs), best_right) == (100, 200, 7)
""",
            """
model, seen = nn.Linear(2, 2), []
@1
for _ in range(3):
    with torch.no_grad():
        model.weight += torch.randn(2, 2)
    seen.append(model.weight.detach().clone())
    @2
same(averaged.module.weight, torch.stack(seen).mean(0))
""",
        ),
    },
    "ch8_language_model": {
        "token_probabilities": (
            """
logits, top_k = torch.randn(4, 9).double(), 3
p = logits.softmax(-1)
@
same(p / p.sum(-1, keepdim=True), token_probabilities(logits, top_k=top_k))
""",
            """
row, temperature = torch.randn(5), 1.3
logits = row.expand(40000, 5)
@
counts = torch.bincount(token, minlength=5) / len(token)
assert (counts - token_probabilities(row, temperature)).abs().max() < 0.01
""",
        ),
        "window_mask": (
            """
def window_mask(T, S, window, sinks=0):
    if T > S or window < 1 or sinks < 0:
        raise ValueError(window)
    @
    near[:, :sinks] = causal[:, :sinks]
    return near
""",
            """
def window_mask(T, S, window, sinks=0):
    if T > S or window < 1 or sinks < 0:
        raise ValueError(window)
    @
    near[:, :sinks] = distance[:, :sinks] >= 0
    return near
""",
        ),
        "RollingCache": (
            """
sinks, window = 2, 5
cache, text = RollingCache(sinks, window), torch.randn(1, 3, 30, 4)
ring = torch.zeros(1, 3, sinks + window, 4)
for p in range(30):
    positions, key = torch.arange(p, p + 1), text[:, :, p : p + 1]
    held = cache.update(key, key, positions)[0]
    if p < sinks:
        ring[:, :, p : p + 1] = key
        continue
    @1
    @2
    for s in range(max(sinks, p - window + 1), p + 1):
        same(ring[:, :, sinks + (s - sinks) % window], text[:, :, s])
    assert held.shape[2] == min(p + 1, sinks + window)
""",
            """
from solutions.ch5_positional_encoding import rope
cache, text = RollingCache(2, 3), torch.randn(1, 2, 40, 6)
for p in range(40):
    piece = text[:, :, p : p + 1]
    held_key, _, positions = cache.update(piece, piece, torch.arange(p, p + 1))
@
assert slots.max() == 4 and positions.max() == 39
near = slice(-3, None)
turned = [rope(text[:, :, :1], where[-1:]) for where in (slots, positions)]
same(rotated[:, :, near] @ turned[0].mT, rope(held_key, positions)[:, :, near] @ turned[1].mT)
assert not torch.allclose(rotated, rope(held_key, positions))
""",
        ),
        "cache_bytes": (
            """
key, value = torch.zeros(2, 3, 50, 16).half(), torch.zeros(2, 3, 50, 16).half()
@
assert 4 * per_layer == cache_bytes(4, 3, 16, 50, batch=2)
""",
            """
n_layers, n_kv_heads, d_head, free_bytes = 4, 3, 16, 100_000
@
assert cache_bytes(n_layers, n_kv_heads, d_head, longest) <= free_bytes
assert cache_bytes(n_layers, n_kv_heads, d_head, longest + 1) > free_bytes
""",
        ),
        "latent_attention": (
            """
x, w_q, w_uk = torch.randn(2, 5, 9), torch.randn(3, 4, 9), torch.randn(3, 4, 6)
query = torch.einsum("btm,hnm->bhtn", x, w_q)
@
same(packed, query @ w_uk)
""",
            """
def latent_attention(query, rope_query, latent, rope_key, w_uk, w_uv, mask=None):
    @
    shared = rope_key[:, None].expand(-1, key.shape[1], -1, -1)
    queries, keys = torch.cat([query, rope_query], dim=-1), torch.cat([key, shared], dim=-1)
    return attention(queries, keys, value, mask)[0]
""",
        ),
        "rope_frequencies": (
            """
d, base, factor = 16, 1000.0, 4.0
theta = base ** (-2 * torch.arange(d // 2).double() / d)
@
same(slower, rope_frequencies(d, base, factor, 100, "ntk"))
""",
            """
d, base, factor = 16, 1000.0, 4.0
theta = base ** (-2 * torch.arange(d // 2).double() / d)
unchanged = ((500 * theta / (2 * math.pi) - 1) / 31).clamp(0, 1)
@
same(mixed, rope_frequencies(d, base, factor, 500, "yarn"))
""",
        ),
        "speculative_step": (
            """
def speculative_step(draft, p_draft, p_target, uniforms):
    @
    p = p_target[accepted]
    if accepted < len(draft):
        p = (p - p_draft[accepted]).clamp(min=0)
    last = (p.cumsum(dim=0) / p.sum() <= uniforms[2 * accepted + 1]).sum()
    return torch.cat([draft[:accepted], last[None]])
""",
            """
def speculative_step(draft, p_draft, p_target, uniforms):
    accepted = 0
    for i, x in enumerate(draft.tolist()):
        if uniforms[2 * i] * p_draft[i, x] >= p_target[i, x]:
            break
        accepted += 1
    @
    last = (p.cumsum(dim=0) / p.sum() <= uniforms[2 * accepted + 1]).sum()
    return torch.cat([draft[:accepted], last[None]])
""",
        ),
    },
    "ch9_flash_attention": {
        "merge": (
            """
def merge(a, b):
    (output_a, lse_a), (output_b, lse_b) = a, b
    @
    share_a, share_b = (x.nan_to_num()[..., None] for x in (share_a, (lse_b - lse).exp()))
    return share_a * output_a + share_b * output_b, lse
""",
            """
def merge(a, b):
    (output_a, lse_a), (output_b, lse_b) = a, b
    @
    return output.nan_to_num(), torch.logaddexp(lse_a, lse_b)
""",
        ),
        "flash_forward": (
            """
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)
    results = []
    for rows in torch.arange(T).split(block_q):
        q = query[..., rows, :].to(dtype) / query.shape[-1] ** 0.5
        lse = torch.full(q.shape[:-1], -torch.inf, dtype=dtype)
        result = torch.zeros(*q.shape[:-1], value.shape[-1], dtype=dtype), lse
        for columns in torch.arange(S).split(block_k):
            k, v = (x[..., columns, :].to(dtype) for x in (key, value))
            scores = q @ k.mT
            if causal:
                scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
            @
        results.append(result)
    outputs, all_lse = zip(*results)
    return torch.cat(outputs, dim=-2).to(query.dtype), torch.cat(all_lse, dim=-1)
""",
            """
def flash_forward(query, key, value, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dtype = torch.promote_types(query.dtype, torch.float32)

    def tile(rows, columns):
        q, k = query[..., rows, :].to(dtype), key[..., columns, :].to(dtype)
        scores = q @ k.mT / query.shape[-1] ** 0.5
        if causal:
            scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
        return scores

    outputs, all_lse = [], []
    for rows in torch.arange(T).split(block_q):
        tiles_of_keys = torch.arange(S).split(block_k)
        parts = [tile(rows, columns).logsumexp(-1) for columns in tiles_of_keys]
        all_lse.append(torch.stack(parts).logsumexp(0))
        lse, output = all_lse[-1].nan_to_num(neginf=0.0), 0
        for columns in tiles_of_keys:
            scores, v = tile(rows, columns), value[..., columns, :].to(dtype)
            @
        outputs.append(output.to(query.dtype))
    return torch.cat(outputs, dim=-2), torch.cat(all_lse, dim=-1)
""",
        ),
        "flash_backward": (
            """
def flash_backward(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5
    dq, dk, dv = [], torch.zeros_like(key), torch.zeros_like(value)
    delta = (grad * output).sum(-1, keepdim=True)
    for rows in torch.arange(T).split(block_q):
        q, g, own = query[..., rows, :], grad[..., rows, :], 0
        for columns in torch.arange(S).split(block_k):
            k, v = key[..., columns, :], value[..., columns, :]
            scores = scale * (q @ k.mT) - lse[..., rows, None].nan_to_num(neginf=0.0)
            if causal:
                scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
            dscores = scores.exp() * (g @ v.mT - delta[..., rows, :])
            @
            dk[..., columns, :] += scale * (dscores.mT @ q)
            dv[..., columns, :] += scores.exp().mT @ g
        dq.append(own)
    return torch.cat(dq, dim=-2), dk, dv
""",
            """
def flash_backward(query, key, value, output, lse, grad, block_q, block_k, causal=False):
    T, S = query.shape[-2], key.shape[-2]
    dq, dk, dv = (torch.zeros_like(x) for x in (query, key, value))
    for rows in torch.arange(T).split(block_q):
        for columns in torch.arange(S).split(block_k):
            places = (query, rows), (key, columns), (value, columns)
            q, k, v = (x[..., place, :].clone().requires_grad_() for x, place in places)
            g, o = grad[..., rows, :], output[..., rows, :]
            scores = q @ k.mT / q.shape[-1] ** 0.5 - lse[..., rows, None].nan_to_num(neginf=0.0)
            if causal:
                scores = scores.masked_fill(columns > rows[:, None] + S - T, -torch.inf)
            weights = scores.exp()
            @
            dq[..., rows, :] += found[0]
            dk[..., columns, :] += found[1]
            dv[..., columns, :] += found[2]
    return dq, dk, dv
""",
        ),
        "tiles": (
            """
def tiles(T, S, block_q, block_k, causal):
    found = []
    for i, first in enumerate(range(0, T, block_q)):
        last = min(first + block_q, T) - 1
        @
        for j, start in enumerate(range(0, S, block_k)):
            if not causal or min(start + block_k, S) <= fewest:
                found.append((i, j, "full"))
            elif start < most:
                found.append((i, j, "edge"))
    return found
""",
            """
def tiles(T, S, block_q, block_k, causal):
    mask, found = torch.ones(T, S, dtype=torch.bool), []
    if causal:
        mask = mask.tril(S - T)
    for i, first in enumerate(range(0, T, block_q)):
        for j, start in enumerate(range(0, S, block_k)):
            @
            if part.any():
                found.append((i, j, kind))
    return found
""",
        ),
        "traffic": (
            """
def traffic(T, S, d, dv, block_q, block_k, tiled):
    if not tiled:
        return {"loaded": (T + S) * d + 2 * T * S + S * dv, "stored": 2 * T * S + T * dv}
    loaded = 0
    for first in range(0, T, block_q):
        loaded += min(block_q, T - first) * d
        for start in range(0, S, block_k):
            @
    return {"loaded": loaded, "stored": T * (dv + 1)}
""",
            """
def traffic(T, S, d, dv, block_q, block_k, tiled):
    import math
    if not tiled:
        return {"loaded": (T + S) * d + 2 * T * S + S * dv, "stored": 2 * T * S + T * dv}
    @
    return {"loaded": T * d + programs * S * (d + dv), "stored": T * (dv + 1)}
""",
        ),
        "paged_attention": (
            """
def paged_attention(query, key_pages, value_pages, table, lengths):
    page = key_pages.shape[2]
    seen = torch.arange(int(lengths.max())) < lengths[:, None]
    # what is padding, or a text without tokens, looks at page 0, and is left out below
    positions = torch.arange(seen.shape[1]).expand_as(seen) * seen
    table = table * (lengths > 0)[:, None]
    @
    v = value_pages[entries, :, positions % page]
    scores = torch.einsum("bhd,bshd->bhs", query, k) / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~seen[:, None], torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1) * seen[:, None]
    return torch.einsum("bhs,bshv->bhv", weights, v.masked_fill(~seen[:, :, None, None], 0.0))
""",
            """
def paged_attention(query, key_pages, value_pages, table, lengths):
    page, outputs = key_pages.shape[2], []
    for b, left in enumerate(lengths.tolist()):
        needed = -(-left // page)
        lse = torch.full((query.shape[1], 1), -torch.inf, dtype=query.dtype)
        result = torch.zeros(*lse.shape, value_pages.shape[-1], dtype=query.dtype), lse
        @
            scores = scores[..., :left] / query.shape[-1] ** 0.5
            part = scores.softmax(-1) @ value_pages[entry][:, :left], scores.logsumexp(-1)
            result, left = merge(result, part), left - page
        outputs.append(result[0][:, 0])
    return torch.stack(outputs)
""",
        ),
        "linear_attention_chunked": (
            """
def linear_attention_chunked(query, key, value, chunk):
    state, outputs = torch.zeros_like(key[..., 0, :, None] * value[..., 0, None, :]), []
    for t in range(query.shape[-2]):
        k, v = key[..., t, :], value[..., t, :]
        @
        outputs.append(query[..., t : t + 1, :] @ state)
    return torch.cat(outputs, dim=-2), state
""",
            """
def linear_attention_chunked(query, key, value, chunk):
    T = query.shape[-2]
    padded = (torch.nn.functional.pad(x, (0, 0, 0, -T % chunk)) for x in (query, key, value))
    q, k, v = (x.unflatten(-2, (-1, chunk)) for x in padded)
    @
    output = (q @ before + (q @ k.mT).tril() @ v).flatten(-3, -2)
    return output[..., :T, :], states[..., -1, :, :]
""",
        ),
    },
    "ch10_circuits": {
        "prefix_matching": (
            """
def prefix_matching(weights, tokens):
    equal = tokens[:, None] == tokens
    if not equal.tril(-1).any():
        return torch.zeros(len(weights), dtype=weights.dtype)
    @1
    @2
    @3
    return score
""",
            """
n = 6
tokens = torch.randperm(20)[:n].repeat(2)
weights = torch.rand(3, 2 * n, 2 * n)
@
same(score, prefix_matching(weights, tokens))
""",
        ),
        "ov_circuit": (
            """
def ov_circuit(w_e, w_v, w_o, w_u):
    @1
    @2
    @3
    return circuit
""",
            """
w_e, w_v, w_o, w_u = torch.randn(7, 5), torch.randn(3, 5), torch.randn(5, 3), torch.randn(7, 5)
@
same(circuit, ov_circuit(w_e, w_v, w_o, w_u))
""",
        ),
        "copying": (
            """
def copying(ov):
    @
    below = torch.linalg.eigvals(ov).abs().sum().item()
    return above / below if below else 0.0
""",
            """
w_e, w_v, w_o, w_u = torch.randn(9, 5), torch.randn(3, 5), torch.randn(5, 3), torch.randn(9, 5)
@
score = (eigenvalues.real.sum() / eigenvalues.abs().sum()).item()
same(score, copying(ov_circuit(w_e, w_v, w_o, w_u)))
""",
        ),
        "logit_attribution": (
            """
def logit_attribution(parts, scale, w_u, targets):
    @1
    @2
    @3
    return shares
""",
            """
def logit_attribution(parts, scale, w_u, targets):
    @1
    @2
    return shares
""",
        ),
        "patch": (
            """
def patch(run, clean, corrupted, layer, head, position):
    source = run.trace(clean).added[layer, :, head]
    @1
    @2
    return run(corrupted, replace={(layer, head): patched})
""",
            """
def patch(run, clean, corrupted, layer, head, position):
    source = run.trace(clean).added[layer, :, head, position]

    def hook(module, inputs, output):
        output[0][:, head, position] = source

    @
    return logits
""",
        ),
        "restored": (
            """
def restored(clean, corrupted, patched, right, wrong):
    texts, differences = torch.arange(len(right)), []
    for logits in (clean, corrupted, patched):
        @1
        @2
        differences.append(difference.item())
    if differences[0] == differences[1]:
        raise ValueError
    return (differences[2] - differences[1]) / (differences[0] - differences[1])
""",
            """
def restored(clean, corrupted, patched, right, wrong):
    @1
    differences = []
    for logits in (clean, corrupted, patched):
        @2
        differences.append((first - second).item())
    if differences[0] == differences[1]:
        raise ValueError
    return (differences[2] - differences[1]) / (differences[0] - differences[1])
""",
        ),
        "mean_ablated": (
            """
run, B, layer, head = AttentionOnly(7, 8, 2, 2), 4, 0, 1
tokens, reference = torch.randint(7, (B, 5)), torch.randint(7, (1, 5)).expand(3, 5)
@
same(logits, mean_ablated(run, tokens, layer, head, reference))
""",
            """
run, layer, head = AttentionOnly(7, 8, 2, 2), 0, 1
tokens = torch.randint(7, (4, 5))
@
weight = run.layers[layer].w_o.weight
with torch.no_grad():
    weight[:, 4:] = 0
same(logits, run(tokens))
""",
        ),
        "composition": (
            """
def composition(w_a, w_b):
    if not w_a.any() or not w_b.any():
        return 0.0
    @1
    @2
    return score.item()
""",
            """
w_a, w_b = torch.randn(30, 30), torch.randn(30, 30)
@
assert abs(chance - 30**-0.5) < 0.02
""",
        ),
    },
}
