"""A whole Transformer in one file, from its parts to a translator of
numbers: twenty seven thousand becomes sieben und zwanzig tausend.

Each block names the page that explains it. B: examples, S: source
tokens, T: target tokens, D: width of the vectors, H: heads, V: target
words. A mask is True where a query may attend.
"""

# fmt: off
# ruff: noqa: SIM905
import torch
from torch import nn
from torch.nn import functional as F

# Attention: Scaled dot-product attention

def attention(query, key, value, mask=None):
    """Output (..., T, d) and weights (..., T, S)."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights

# Heads: Splitting into heads

def split_heads(x, n_heads):
    """(B, T, D) to (B, H, T, D / H)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

def merge_heads(x):
    """(B, H, T, d) to (B, T, H d)."""
    return x.transpose(1, 2).flatten(2)

class MultiHeadAttention(nn.Module):
    """H attentions side by side, each on its part of the vectors."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def forward(self, query, key, value, mask=None):
        """Output (B, T, D) and weights (B, H, T, S)."""
        heads, weights = attention(
            split_heads(self.w_q(query), self.n_heads),
            split_heads(self.w_k(key), self.n_heads),
            split_heads(self.w_v(value), self.n_heads),
            mask,
        )
        return self.w_o(merge_heads(heads)), weights

# Masks: Masking

def from_key_padding(padding):
    """Hide the keys that are padding: (B, S) to (B, 1, 1, S)."""
    return ~padding[:, None, None]

def causal_mask(T):
    """Hide the future: (T, T)."""
    return torch.ones(T, T, dtype=torch.bool).tril()

def combine(one, other):
    """Allow what both masks allow."""
    return one & other

# Positions: Positional encoding

def sinusoidal(n_positions, d_model):
    """The sine and cosine of every clock: (positions, D)."""
    speeds = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(n_positions)[:, None] * speeds
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)

class PositionalEncoding(nn.Module):
    """Adds the table to every sentence of a batch."""

    def __init__(self, d_model):
        super().__init__()
        self.register_buffer("encoding", sinusoidal(50, d_model))

    def forward(self, x):
        return x + self.encoding[: x.shape[1]].to(x.dtype)

# Layers: The Transformer's layers

class FeedForward(nn.Module):
    """Computes at every position by itself."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(self.linear1(x).relu())

class EncoderLayer(nn.Module):
    """Looks at the source, then computes."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = (nn.LayerNorm(d_model) for _ in "12")

    def forward(self, x, mask=None):
        z = self.norm1(x)
        x = x + self.self_attention(z, z, z, mask)[0]
        return x + self.feed_forward(self.norm2(x))

class DecoderLayer(nn.Module):
    """Looks at the target, then at the memory, then computes."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = (nn.LayerNorm(d_model) for _ in "12")
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        """(B, T, D) and the memory (B, S, D) to (B, T, D)."""
        z = self.norm1(y)
        y = y + self.self_attention(z, z, z, target_mask)[0]
        z = self.norm2(y)
        y = y + self.cross_attention(z, memory, memory, memory_mask)[0]
        return y + self.feed_forward(self.norm3(y))

# Model: The whole Transformer

class Transformer(nn.Module):
    """From token numbers to logits."""

    def __init__(self, source_vocab, target_vocab, d_model, n_heads,
                 n_layers, d_ff):
        super().__init__()
        self.scale = d_model**0.5
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        for table in (self.source_embedding, self.target_embedding):
            nn.init.normal_(table.weight, std=1 / self.scale)
        self.positions = PositionalEncoding(d_model)
        sizes = [(d_model, n_heads, d_ff)] * n_layers
        self.encoder = nn.ModuleList(EncoderLayer(*s) for s in sizes)
        self.decoder = nn.ModuleList(DecoderLayer(*s) for s in sizes)
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.project = nn.Linear(d_model, target_vocab)

    def encode(self, source):
        """Source (B, S) to the memory (B, S, D)."""
        mask = from_key_padding(source == PAD)
        x = self.positions(self.source_embedding(source) * self.scale)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, target, memory, source):
        """Target so far (B, T) to logits of what follows (B, T, V)."""
        future = causal_mask(target.shape[1])
        mask = combine(from_key_padding(target == PAD), future)
        memory_mask = from_key_padding(source == PAD)
        y = self.positions(self.target_embedding(target) * self.scale)
        for layer in self.decoder:
            y = layer(y, memory, mask, memory_mask)
        return self.project(self.decoder_norm(y))

    def forward(self, source, target):
        """Logits at all positions at once, (B, T, V)."""
        return self.decode(target, self.encode(source), source)

# Words: numbers in English and, piece by piece, in German

PAD, BEGIN, END = range(3)
ONES = """- one two three four five six seven eight nine ten eleven
twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen""".split()
TENS = """- - twenty thirty forty fifty sixty seventy eighty
ninety""".split()
EINER = """- ein zwei drei vier fünf sechs sieben acht neun zehn elf
zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn
neunzehn""".split()
ZEHNER = """- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig
neunzig""".split()

def english(n):
    """The words of a number below a million; none for 0."""
    if n < 20:
        return [ONES[n]] if n else []
    if n < 100:
        return [TENS[n // 10], *english(n % 10)]
    size, unit = (100, "hundred") if n < 1000 else (1000, "thousand")
    joint = ["and"] if 0 < n % size < 100 else []
    return [*english(n // size), unit, *joint, *english(n % size)]

def german(n, last=True):
    """The same in German. Where one is the last word, it's eins."""
    if n < 20:
        return [EINER[n] + "s" * (last and n == 1)] if n else []
    if n < 100:
        joint = ["und"] if n % 10 else []
        return [*german(n % 10, False), *joint, ZEHNER[n // 10]]
    size, unit = (100, "hundert") if n < 1000 else (1000, "tausend")
    return [*german(n // size, False), unit, *german(n % size, last)]

def vocabulary(language):
    """Three marks, and all words of a language."""
    words = {word for n in range(1, 1200) for word in language(n)}
    return ["(pad)", "(begin)", "(end)", *sorted(words)]

SOURCE, TARGET = vocabulary(english), vocabulary(german)

def tensors(numbers):
    """Source (B, S), and target (B, T + 1) from BEGIN to END."""
    sources = [[SOURCE.index(w) for w in english(n)] for n in numbers]
    targets = [[TARGET.index(w) for w in german(n)] for n in numbers]
    targets = [[BEGIN, *row, END] for row in targets]
    return tuple(
        nn.utils.rnn.pad_sequence([*map(torch.tensor, rows)], True, PAD)
        for rows in (sources, targets)
    )

# Training: Loss, optimizer, schedule

def shift(target):
    """What the decoder reads, and what it has to predict."""
    return target[:, :-1], target[:, 1:]

def masked_cross_entropy(logits, targets, pad):
    """The mean loss of the words that aren't padding."""
    real = targets != pad
    return F.cross_entropy(logits[real], targets[real])

def different_numbers():
    """8,000 numbers below a million to learn from, 1,000 others."""
    drawing = torch.Generator().manual_seed(0)
    drawn = 1 + torch.randperm(999_999, generator=drawing)[:9000]
    return drawn[:8000].tolist(), drawn[8000:].tolist()

def train(seed=0, n_steps=600):
    """A model that has learned; prints its loss four times."""
    torch.manual_seed(seed)
    source, target = tensors(different_numbers()[0])
    model = Transformer(len(SOURCE), len(TARGET), 48, 4, 1, 96)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    for step in range(1, n_steps + 1):
        rate = min(step / 50, 1, 2 * (1 - step / n_steps))
        optimizer.param_groups[0]["lr"] = 0.01 * rate
        rows = torch.randint(len(source), (64,))
        target_in, target_out = shift(target[rows])
        logits = model(source[rows], target_in)
        loss = masked_cross_entropy(logits, target_out, PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step * 4 % n_steps == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    return model

# Writing: Decoding

def greedy_decode(step_fn, bos, eos, max_len, batch, pad):
    """Always the likeliest next word: (B, <= max_len)."""
    prefix = torch.full((batch, 1), bos)
    ended = torch.zeros(batch, dtype=torch.bool)
    while prefix.shape[1] <= max_len and not ended.all():
        word = step_fn(prefix).argmax(dim=-1).masked_fill(ended, pad)
        prefix = torch.cat([prefix, word[:, None]], dim=1)
        ended = ended | (word == eos)
    return prefix[:, 1:]

@torch.no_grad()
def translate(model, numbers):
    """What the model writes for each number."""
    source, _ = tensors(numbers)
    memory = model.encode(source)

    def step(prefix):
        logits = model.decode(prefix, memory, source)
        return logits[:, -1].log_softmax(dim=-1)

    rows = greedy_decode(step, BEGIN, END, 20, len(numbers), PAD)
    return [" ".join(TARGET[i] for i in row if i > END) for row in rows]

def accuracy(model):
    """How many of 1,000 unseen numbers are right in every word."""
    _, asked = different_numbers()
    right = [" ".join(german(n)) for n in asked]
    written = zip(translate(model, asked), right, strict=True)
    return sum(words == answer for words, answer in written) / 1000

if __name__ == "__main__":
    torch.set_num_threads(1)  # on tensors this small, more are slower
    translator = train()
    print(translate(translator, [21, 54_321]), accuracy(translator))
