"""Known mistakes and accepted alternatives of exercise 6."""

from autograder.catalogue import Alternative, Mistake

# the section of the book to read again, by grade cell
SECTIONS = {
    "feed_forward_values": "ch6-feed-forward",
    "encoder_layer_values": "ch6-encoder-layer",
    "encoder_layer_edges": "ch6-norm-order",
    "decoder_layer_values": "ch6-cross-attention",
    "decoder_layer_edges": "ch6-cross-attention",
    "transformer_values": "ch6-whole-model",
    "transformer_masks": "ch6-mistake-masks",
    "transformer_training": "ch6-initialisation",
    "shift_values": "ch6-mistake-shift",
}

MISTAKES = [
    # FeedForward --------------------------------------------------------------------------------
    Mistake(
        name="no ReLU",
        function="FeedForward",
        cell="feed_forward_values",
        means="The two linear layers follow each other with nothing in between. Two matrices in a row "
        "are one matrix, so the width F buys nothing.",
        hint="What happens to the negative numbers between the two layers?",
        section="ch6-feed-forward",
        edits=[("self.linear1(x).relu()", "self.linear1(x)")],
    ),
    Mistake(
        name="residual inside the feed-forward network",
        function="FeedForward",
        cell="feed_forward_values",
        means="The input was added to the result. The layer around it adds it too, so it would count "
        "twice.",
        hint="Who adds the residual: the sublayer, or the layer that it is a part of?",
        section="ch6-feed-forward",
        edits=[("return self.linear2(", "return x + self.linear2(")],
    ),
    # EncoderLayer -------------------------------------------------------------------------------
    Mistake(
        name="residual from the normed input",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="With norm_first, the result of the attention was added to the normed x. The x that came "
        "in is lost, and with it the straight way from the last layer to the first.",
        hint="In x + f(norm(x)), what stands on the left of the plus?",
        section="ch6-norm-order",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed,",
                "x = normed + self.dropout(self.self_attention(normed,",
            )
        ],
    ),
    Mistake(
        name="the two orders swapped",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="These are the values of the other order: norm after the sum where norm_first is True, "
        "and before the sublayer where it is False.",
        hint="Which of the two orders is that of the paper's figure?",
        section="ch6-norm-order",
        edits=[("if self.norm_first:", "if not self.norm_first:")],
    ),
    Mistake(
        name="one norm for both sublayers",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="norm1 was used in both places. norm2 is never trained.",
        hint="Each sublayer has a norm of its own. Is every parameter of your layer used?",
        section="ch6-encoder-layer",
        edits=[
            ("self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm1(x))"),
            (
                "return self.norm2(x + self.dropout(self.feed_forward(x)))",
                "return self.norm1(x + self.dropout(self.feed_forward(x)))",
            ),
        ],
    ),
    Mistake(
        name="no residual around the attention",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="What came in was not added to what the attention gave. A position keeps nothing of "
        "itself but what it attends to.",
        hint="How many sums does an encoder layer have?",
        section="ch6-residual",
        edits=[
            (
                "x = x + self.dropout(self.self_attention(normed,",
                "x = self.dropout(self.self_attention(normed,",
            ),
            (
                "x = self.norm1(x + self.dropout(self.self_attention(",
                "x = self.norm1(self.dropout(self.self_attention(",
            ),
        ],
    ),
    Mistake(
        name="both sublayers read the same input",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="The feed-forward network worked on what came into the layer, beside the attention. It "
        "should work on what the attention has left. (Some later models do put them side by side.)",
        hint="Which x goes into the second sublayer?",
        section="ch6-encoder-layer",
        edits=[
            ("normed = self.norm1(x)", "start, normed = x, self.norm1(x)"),
            ("self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm2(start))"),
            ("x = self.norm1(x + ", "start, x = x, self.norm1(x + "),
            ("self.feed_forward(x)", "self.feed_forward(start)"),
        ],
    ),
    Mistake(
        name="mask not passed on",
        function="EncoderLayer",
        cell="encoder_layer_values",
        means="These are the values without the mask.",
        hint="Does the self-attention get the mask, in both orders?",
        section="ch6-mistake-masks",
        edits=[
            ("normed, normed, normed, mask", "normed, normed, normed"),
            ("x, x, x, mask", "x, x, x"),
        ],
    ),
    # DecoderLayer -------------------------------------------------------------------------------
    Mistake(
        name="cross-attention that reads the targets",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The cross-attention took its keys and values from the targets. The memory is never "
        "read, so this is a language model that ignores its source.",
        hint="What happens to your output when the memory changes?",
        section="ch6-mistake-memory",
        edits=[
            (
                "self.cross_attention(normed, memory, memory,",
                "self.cross_attention(normed, normed, normed,",
            ),
            ("self.cross_attention(y, memory, memory,", "self.cross_attention(y, y, y,"),
        ],
    ),
    Mistake(
        name="the memory asks",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The memory was the query and the targets were keys and values. The result has one row "
        "for each source token, and there should be one for each target.",
        hint="Whose question is it: what in the source matters for this target?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.cross_attention(normed, memory, memory,",
                "self.cross_attention(memory, normed, normed,",
            ),
            ("self.cross_attention(y, memory, memory,", "self.cross_attention(memory, y, y,"),
        ],
    ),
    Mistake(
        name="target mask in the cross-attention",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The cross-attention got the mask of the targets. It hides keys, and its keys are the "
        "source. With as many targets as sources it would run and be wrong.",
        hint="Which sequence do the keys of the cross-attention come from?",
        section="ch6-mistake-masks",
        edits=[
            ("(normed, memory, memory, memory_mask)", "(normed, memory, memory, target_mask)"),
            ("(y, memory, memory, memory_mask)", "(y, memory, memory, target_mask)"),
        ],
    ),
    Mistake(
        name="memory normalised again",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="With norm_first, the memory went through norm2 as well. The encoder has done that "
        "already with a norm of its own.",
        hint="Which of the two inputs of the cross-attention belongs to this layer's own stream?",
        section="ch6-cross-attention",
        edits=[
            (
                "self.cross_attention(normed, memory, memory,",
                "self.cross_attention(normed, self.norm2(memory), self.norm2(memory),",
            )
        ],
    ),
    Mistake(
        name="target mask not passed on",
        function="DecoderLayer",
        cell="decoder_layer_values",
        means="The self-attention ran without a mask: the targets see the future. In training the loss "
        "gets wonderfully small, and what the model writes is nonsense.",
        hint="Which of the two masks does the self-attention get?",
        section="ch6-mistake-masks",
        edits=[
            ("normed, normed, normed, target_mask", "normed, normed, normed"),
            ("y, y, y, target_mask", "y, y, y"),
        ],
    ),
    # Transformer --------------------------------------------------------------------------------
    Mistake(
        name="embeddings not scaled",
        function="Transformer",
        cell="transformer_values",
        means="The embeddings were not multiplied by the square root of D before the positions were "
        "added.",
        hint="What happens to an embedding between the look-up and the sum?",
        section="ch6-initialisation",
        edits=[("self.scale = d_model**0.5", "self.scale = 1")],
    ),
    Mistake(
        name="scaled after the positions",
        function="Transformer",
        cell="transformer_values",
        means="The sum of embedding and position was multiplied by the square root of D. Only the "
        "embedding should be.",
        hint="Where does the bracket close?",
        section="ch6-initialisation",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.positions(self.source_embedding(source)) * self.scale",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.positions(self.target_embedding(target_in)) * self.scale",
            ),
        ],
    ),
    Mistake(
        name="no positions",
        function="Transformer",
        cell="transformer_values",
        means="No positions were added. The encoder takes its sentence for a bag of words.",
        hint="Is anything in your model different for the first and the last word?",
        section="ch6-whole-model",
        edits=[
            (
                "self.positions(self.source_embedding(source) * self.scale)",
                "self.source_embedding(source) * self.scale",
            ),
            (
                "self.positions(self.target_embedding(target_in) * self.scale)",
                "self.target_embedding(target_in) * self.scale",
            ),
        ],
    ),
    Mistake(
        name="no norm at the end",
        function="Transformer",
        cell="transformer_values",
        means="With norm_first, what left the last layer was used as it was. Nobody has normalised this "
        "sum: it grows with every layer.",
        hint="With norm_first, which numbers come out of the last layer's plus, and who has normalised them?",
        section="ch6-norm-order",
        edits=[
            ("return self.encoder_norm(x)", "return x"),
            ("self.project(self.decoder_norm(y))", "self.project(y)"),
        ],
    ),
    Mistake(
        name="one layer used n times",
        function="Transformer",
        cell="transformer_values",
        means="All layers of the encoder are one and the same object, and so are those of the decoder: "
        "they share their weights.",
        hint="What does a list times a number hold: copies, or one thing many times?",
        section="ch6-whole-model",
        edits=[
            (
                "nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))",
                "nn.ModuleList([EncoderLayer(*sizes)] * n_layers)",
            ),
            (
                "nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))",
                "nn.ModuleList([DecoderLayer(*sizes)] * n_layers)",
            ),
        ],
    ),
    Mistake(
        name="padding visible in the encoder",
        function="Transformer",
        cell="transformer_masks",
        means="The encoder ran without a mask, so that real words attend to padding. A sentence gets "
        "another memory in a batch with longer ones.",
        hint="Encode one sentence with and without padding behind it. What should change?",
        section="ch6-mistake-masks",
        edits=[("x = layer(x, mask)", "x = layer(x)")],
    ),
    Mistake(
        name="padding of the source visible in the decoder",
        function="Transformer",
        cell="transformer_masks",
        means="The cross-attention ran without the mask of the source. The encoder hides padding from "
        "words, but the memory still has a row for each padding token.",
        hint="decode gets the source. What for?",
        section="ch6-mistake-masks",
        edits=[
            ("y = layer(y, memory, target_mask, memory_mask)", "y = layer(y, memory, target_mask)")
        ],
    ),
    Mistake(
        name="padding of the targets in the cross-attention",
        function="Transformer",
        cell="transformer_masks",
        means="The mask of the cross-attention was made from the targets. Its keys are the source.",
        hint="Which sequence do the keys of the cross-attention come from?",
        section="ch6-mistake-masks",
        edits=[
            (
                "memory_mask = from_key_padding(source == self.pad)",
                "memory_mask = from_key_padding(target_in == self.pad)",
            )
        ],
    ),
    Mistake(
        name="causal mask in training only",
        function="Transformer",
        cell="transformer_masks",
        means="In evaluation mode the targets see the future. The reasoning was perhaps that nothing "
        "later exists while the model writes, but a validation loss is computed on whole sentences.",
        hint="Should any mask depend on the mode?",
        section="ch6-mistake-masks",
        edits=[
            (
                "combine(from_key_padding(target_in == self.pad), future)",
                "combine(from_key_padding(target_in == self.pad), future if self.training else None)",
            )
        ],
    ),
    Mistake(
        name="padding taken to be token 0",
        function="Transformer",
        cell="transformer_masks",
        means="Token 0 was hidden, whatever `pad` is.",
        hint="Which argument says what padding is?",
        section="ch6-mistake-masks",
        edits=[("self.pad = pad", "self.pad = 0")],
    ),
    # shift --------------------------------------------------------------------------------------
    Mistake(
        name="answer not shifted",
        function="shift",
        cell="shift_values",
        means="Input and answer are the same tokens. The model has only to copy what it gets: the loss "
        "falls to zero, and nothing is learned.",
        hint="The answer at a position is the token after it. Which token of the target is nobody's input, "
        "and which is nobody's answer?",
        section="ch6-mistake-shift",
        edits=[("target[:, 1:]", "target[:, :-1]")],
    ),
]

ALTERNATIVES = [
    Alternative(
        name="a wrapper around each sublayer",
        source="""
class SublayerConnection(nn.Module):
    def __init__(self, dropout, norm_first):
        super().__init__()
        self.drop = nn.Dropout(p=dropout)
        self.norm_first = norm_first

    def forward(self, x, norm, sublayer):
        if self.norm_first:
            return x + self.drop(sublayer(norm(x)))
        return norm(x + self.drop(sublayer(x)))


class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.connect = SublayerConnection(dropout, norm_first)
        self.norm2, self.norm1 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention=attention)

    def forward(self, x, mask=None):
        x = self.connect(x, self.norm1, lambda z: self.self_attention(z, z, z, mask)[0])
        return self.connect(x, self.norm2, self.feed_forward)


class DecoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.connect = SublayerConnection(dropout, norm_first)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention=attention)
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention=attention)
        for number in (1, 2, 3):
            setattr(self, f"norm{number}", nn.LayerNorm(d_model))

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        y = self.connect(y, self.norm1, lambda z: self.self_attention(z, z, z, target_mask)[0])
        y = self.connect(
            y, self.norm2, lambda z: self.cross_attention(z, memory, memory, memory_mask)[0]
        )
        return self.connect(y, self.norm3, self.feed_forward)
""",
    ),
    Alternative(
        name="functions of torch",
        source="""
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.p = dropout
        self.linear2 = nn.Linear(d_ff, d_model)
        self.linear1 = nn.Linear(d_model, d_ff)

    def forward(self, x):
        hidden = F.relu(F.linear(x, self.linear1.weight, self.linear1.bias))
        hidden = F.dropout(hidden, self.p, training=self.training)
        return F.linear(hidden, self.linear2.weight, self.linear2.bias)


class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.p, self.before = dropout, norm_first
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        query = self.norm1(x) if self.before else x
        attended, _ = self.self_attention(query, query, query, mask=mask)
        x = x + F.dropout(attended, p=self.p, training=self.training)
        if not self.before:
            x = self.norm1(x)
        changed = self.feed_forward(self.norm2(x) if self.before else x)
        x = x + F.dropout(changed, p=self.p, training=self.training)
        return x if self.before else self.norm2(x)


def shift(target):
    n = target.size(1) - 1
    return target.narrow(1, 0, n), target.narrow(1, 1, n)
""",
    ),
    Alternative(
        name="positions without a module",
        source="""
import math


class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        d_model,
        n_heads,
        n_layers,
        d_ff,
        dropout=0.0,
        pad=0,
        norm_first=True,
        attention=attention,
    ):
        super().__init__()
        self.d_model, self.pad, self.norm_first = d_model, pad, norm_first
        self.project = nn.Linear(d_model, target_vocab)
        self.decoder_norm = nn.LayerNorm(d_model)
        self.encoder_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        options = {"dropout": dropout, "norm_first": norm_first, "attention": attention}
        encoder, decoder = [], []
        for _ in range(n_layers):
            decoder.append(DecoderLayer(d_model, n_heads, d_ff, **options))
            encoder.append(EncoderLayer(d_model, n_heads, d_ff, **options))
        self.encoder, self.decoder = nn.ModuleList(encoder), nn.ModuleList(decoder)
        self.target_embedding = nn.Embedding(target_vocab, d_model, padding_idx=pad)
        self.source_embedding = nn.Embedding(source_vocab, d_model, padding_idx=pad)

    def embed(self, tokens, embedding):
        x = embedding(tokens) * math.sqrt(self.d_model)
        return self.dropout(x + sinusoidal(tokens.shape[1], self.d_model).to(x))

    def encode(self, source):
        x = self.embed(source, self.source_embedding)
        mask = (source != self.pad)[:, None, None, :]
        for n in range(len(self.encoder)):
            x = self.encoder[n](x, mask=mask)
        return self.encoder_norm(x) if self.norm_first else x

    def decode(self, target_in, memory, source):
        y = self.embed(target_in, self.target_embedding)
        order = torch.arange(target_in.shape[1])
        past = (order[:, None] >= order[None, :])[None, None]
        target_mask = (target_in != self.pad)[:, None, None, :] & past
        memory_mask = (source != self.pad).unsqueeze(1).unsqueeze(1)
        for layer in self.decoder:
            y = layer(y, memory, target_mask=target_mask, memory_mask=memory_mask)
        if self.norm_first:
            y = self.decoder_norm(y)
        return self.project(y)

    def forward(self, source, target_in):
        memory = self.encode(source)
        return self.decode(target_in, memory, source)
""",
    ),
    Alternative(
        name="a decoder layer that extends an encoder layer",
        source="""
class DecoderLayer(EncoderLayer):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__(d_model, n_heads, d_ff, dropout, norm_first, attention)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.norm3 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.first = norm_first

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        sublayers = [
            (self.norm1, lambda z: self.self_attention(z, z, z, target_mask)[0]),
            (self.norm2, lambda z: self.cross_attention(z, memory, memory, memory_mask)[0]),
            (self.norm3, self.feed_forward),
        ]
        for norm, sublayer in sublayers:
            if self.first:
                y = y + self.drop(sublayer(norm(y)))
            else:
                y = norm(y + self.drop(sublayer(y)))
        return y


def shift(target):
    batch, length = target.shape
    return target[:, : length - 1].clone(), target[:, -(length - 1) :].clone()
""",
    ),
    Alternative(
        name="Sequential and copies",
        source="""
import copy


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff, bias=True)
        self.linear2 = nn.Linear(d_ff, d_model, bias=True)
        self.between = nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(dropout))

    def forward(self, x):
        x = self.linear1(x)
        x = self.between(x)
        return self.linear2(x)


class Transformer(nn.Module):
    def __init__(
        self,
        source_vocab,
        target_vocab,
        d_model,
        n_heads,
        n_layers,
        d_ff,
        dropout=0.0,
        pad=0,
        norm_first=True,
        attention=attention,
    ):
        super().__init__()
        self.pad = pad
        self.source_embedding = nn.Embedding(source_vocab, d_model)
        self.target_embedding = nn.Embedding(target_vocab, d_model)
        self.register_buffer("table", sinusoidal(200, d_model).float(), persistent=False)
        self.dropout = nn.Dropout(dropout)
        encoder_layer = EncoderLayer(d_model, n_heads, d_ff, dropout, norm_first, attention)
        decoder_layer = DecoderLayer(d_model, n_heads, d_ff, dropout, norm_first, attention)
        self.encoder = nn.ModuleList([copy.deepcopy(encoder_layer) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([copy.deepcopy(decoder_layer) for _ in range(n_layers)])
        if norm_first:
            self.encoder_norm = nn.LayerNorm(d_model)
            self.decoder_norm = nn.LayerNorm(d_model)
        else:
            self.encoder_norm = self.decoder_norm = None
        self.project = nn.Linear(d_model, target_vocab)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def embed(self, embedding, tokens):
        B, T = tokens.shape
        x = embedding.weight[tokens]
        x = x * x.shape[-1] ** 0.5
        return self.dropout(x + self.table[:T].unsqueeze(0).expand(B, -1, -1))

    def encode(self, source):
        x = self.embed(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, (source != self.pad)[:, None, None])
        if self.encoder_norm is not None:
            x = self.encoder_norm(x)
        return x

    def decode(self, target_in, memory, source):
        T = target_in.shape[1]
        hidden = torch.triu(torch.ones(1, 1, T, T, dtype=torch.bool), diagonal=1)
        hidden = hidden | (target_in == self.pad)[:, None, None]
        y = self.embed(self.target_embedding, target_in)
        for layer in self.decoder:
            y = layer(y, memory, ~hidden, ~(source == self.pad)[:, None, None])
        if self.decoder_norm is not None:
            y = self.decoder_norm(y)
        return self.project(y)

    def forward(self, source, target_in):
        return self.decode(target_in=target_in, memory=self.encode(source), source=source)
""",
    ),
    Alternative(
        name="einsum and a norm by hand",
        source="""
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        hidden = torch.einsum("...d,fd->...f", x, self.linear1.weight) + self.linear1.bias
        hidden = self.dropout(torch.where(hidden > 0, hidden, torch.zeros_like(hidden)))
        return torch.einsum("...f,df->...d", hidden, self.linear2.weight) + self.linear2.bias


class EncoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.norm_first = norm_first
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)

    def normalise(self, x, norm):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = (centred**2).mean(dim=-1, keepdim=True)
        return centred / (variance + norm.eps).sqrt() * norm.weight + norm.bias

    def forward(self, x, mask=None):
        if self.norm_first:
            y = self.normalise(x, self.norm1)
            y, _ = self.self_attention(y, y, y, mask)
            x = x + self.dropout1(y)
            y = self.feed_forward(self.normalise(x, self.norm2))
            return x + self.dropout2(y)
        y, _ = self.self_attention(x, x, x, mask)
        x = self.normalise(x + self.dropout1(y), self.norm1)
        y = self.feed_forward(x)
        return self.normalise(x + self.dropout2(y), self.norm2)
""",
    ),
    Alternative(
        name="one cell after the other",
        source="""
class DecoderLayer(nn.Module):
    def __init__(
        self, d_model, n_heads, d_ff, dropout=0.0, norm_first=True, attention=attention
    ):
        super().__init__()
        self.norm_first = norm_first
        self.cross_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.self_attention = MultiHeadAttention(d_model, n_heads, attention)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.drop = nn.ModuleList([nn.Dropout(dropout) for _ in range(3)])

    def before(self, norm, x):
        return norm(x) if self.norm_first else x

    def after(self, norm, x):
        return x if self.norm_first else norm(x)

    def forward(self, y, memory, target_mask=None, memory_mask=None):
        z = self.before(self.norm1, y)
        z = self.self_attention(query=z, key=z, value=z, mask=target_mask)[0]
        y = self.after(self.norm1, y + self.drop[0](z))
        z = self.before(self.norm2, y)
        z = self.cross_attention(query=z, key=memory, value=memory, mask=memory_mask)[0]
        y = self.after(self.norm2, y + self.drop[1](z))
        z = self.feed_forward(self.before(self.norm3, y))
        return self.after(self.norm3, y + self.drop[2](z))


def shift(target):
    target_in = torch.stack(list(target.unbind(dim=1))[:-1], dim=1)
    target_out = torch.stack(list(target.unbind(dim=1))[1:], dim=1)
    return target_in, target_out
""",
    ),
]
