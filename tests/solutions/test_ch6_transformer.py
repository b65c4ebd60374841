"""Exercise 6: the reference against torch's layers, a slow loop and its own properties."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

import solutions.ch6_transformer as ch6
from solutions.ch3_multi_head import to_torch
from tests.support.numbers import a_mask, assert_close

seeds = st.integers(0, 2**32 - 1)
small = st.integers(1, 5)


def random_tensors(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.normal(size=shape)) for shape in shapes]


def randomised(module, seed):
    """The module in float64 with all parameters drawn, the norms' too."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.double().parameters():
        values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.data = 0.5 * values
    return module


# Agreement with torch ---------------------------------------------------------------------------

# names in torch's layers: ours -> theirs
ENCODER = {"feed_forward.linear1": "linear1", "feed_forward.linear2": "linear2"}
ENCODER |= {name: name for name in ("norm1", "norm2")}
DECODER = {**ENCODER, "norm3": "norm3"}
ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}


def with_weights_of(theirs, ours):
    """Torch's layer with the weights of ours."""
    names = DECODER if hasattr(ours, "cross_attention") else ENCODER
    for our_name, their_name in names.items():
        theirs.get_submodule(their_name).load_state_dict(ours.get_submodule(our_name).state_dict())
    for our_name, their_name in ATTENTIONS.items():
        if hasattr(ours, our_name):
            getattr(theirs, their_name).load_state_dict(
                to_torch(getattr(ours, our_name)).state_dict()
            )
    return theirs


def same_gradients(ours, theirs, our_output, their_output, inputs):
    """Compare the gradients of both outputs: at the inputs and at every weight."""
    weights = torch.cos(torch.arange(our_output.numel()).double()).reshape(our_output.shape)
    for module, output in ((ours, our_output), (theirs, their_output)):
        module.zero_grad()
        found = torch.autograd.grad((output * weights).sum(), inputs, retain_graph=True)
        (output * weights).sum().backward()
        if module is ours:
            at_inputs = found
    for one, other in zip(at_inputs, found, strict=True):
        assert_close(one, other)
    names = DECODER if hasattr(ours, "cross_attention") else ENCODER
    for our_name, their_name in names.items():
        one, other = ours.get_submodule(our_name), theirs.get_submodule(their_name)
        assert_close(one.weight.grad, other.weight.grad)
        assert_close(one.bias.grad, other.bias.grad)
    for our_name, their_name in ATTENTIONS.items():
        if hasattr(ours, our_name):
            one, other = getattr(ours, our_name), getattr(theirs, their_name)
            projections = [layer.weight.grad for layer in (one.w_q, one.w_k, one.w_v)]
            assert_close(torch.cat(projections), other.in_proj_weight.grad)
            assert_close(one.w_o.weight.grad, other.out_proj.weight.grad)
            # the key's bias moves all scores of a query alike: its gradient is rounding
            assert_close(one.w_v.bias.grad, other.in_proj_bias.grad[-len(one.w_v.bias) :])


@given(small, small, small, small, small, st.booleans(), st.booleans(), seeds)
def test_encoder_layer_agrees_with_torch(B, S, H, d, d_ff, norm_first, training, seed):
    D = 2 * H * d
    ours = randomised(ch6.EncoderLayer(D, H, d_ff, norm_first=norm_first), seed).train(training)
    theirs = nn.TransformerEncoderLayer(
        D, H, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    theirs = with_weights_of(theirs, ours).train(training)
    (x,) = random_tensors(seed, (B, S, D))
    x.requires_grad_()
    rng = np.random.default_rng(seed)
    mask, padding = (torch.from_numpy(a_mask(rng, n, S)) for n in (S, B))
    their_output = theirs(x, src_mask=~mask)
    assert_close(ours(x, mask), their_output)
    assert_close(ours(x, padding[:, None, None]), theirs(x, src_key_padding_mask=~padding))
    assert_close(ours(x), theirs(x))
    same_gradients(ours, theirs, ours(x, mask), their_output, [x])


@given(small, small, small, small, small, st.booleans(), st.booleans(), seeds)
def test_decoder_layer_agrees_with_torch(B, S, T, H, d_ff, norm_first, training, seed):
    D = 4 * H
    ours = randomised(ch6.DecoderLayer(D, H, d_ff, norm_first=norm_first), seed).train(training)
    theirs = nn.TransformerDecoderLayer(
        D, H, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    theirs = with_weights_of(theirs, ours).train(training)
    y, memory = (x.requires_grad_() for x in random_tensors(seed, (B, T, D), (B, S, D)))
    rng = np.random.default_rng(seed)
    target_mask, padding = (torch.from_numpy(a_mask(rng, *sizes)) for sizes in ((T, T), (B, S)))
    our_output = ours(y, memory, target_mask, padding[:, None, None])
    their_output = theirs(y, memory, tgt_mask=~target_mask, memory_key_padding_mask=~padding)
    assert_close(our_output, their_output)
    assert_close(ours(y, memory), theirs(y, memory))
    same_gradients(ours, theirs, our_output, their_output, [y, memory])


# A slow loop ------------------------------------------------------------------------------------


class Loop:
    """The whole model for one sentence, without padding, one position and one head after the other."""

    def __init__(self, model, n_heads, norm_first):
        self.weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
        self.n_heads, self.norm_first = n_heads, norm_first

    def linear(self, name, x):
        return self.weights[f"{name}.weight"] @ x + self.weights[f"{name}.bias"]

    def norm(self, name, x):
        spread = math.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)
        return (x - x.mean()) / spread * self.weights[f"{name}.weight"] + self.weights[
            f"{name}.bias"
        ]

    def attend(self, name, queries, memory, causal):
        results = []
        for t, one in enumerate(queries):
            seen = memory[: t + 1] if causal else memory
            query = self.linear(f"{name}.w_q", one)
            keys = [self.linear(f"{name}.w_k", each) for each in seen]
            values = [self.linear(f"{name}.w_v", each) for each in seen]
            d, heads = len(query) // self.n_heads, []
            for h in range(self.n_heads):
                part = slice(h * d, (h + 1) * d)
                powers = [math.exp(query[part] @ key[part] / math.sqrt(d)) for key in keys]
                shares = [power / sum(powers) for power in powers]
                heads.append(sum(w * v[part] for w, v in zip(shares, values, strict=True)))
            results.append(self.linear(f"{name}.w_o", np.concatenate(heads)))
        return results

    def sublayer(self, norm, xs, function):
        if self.norm_first:
            changes = function([self.norm(norm, x) for x in xs])
            return [x + change for x, change in zip(xs, changes, strict=True)]
        sums = [x + change for x, change in zip(xs, function(xs), strict=True)]
        return [self.norm(norm, x) for x in sums]

    def feed_forward(self, name, xs):
        hidden = [np.maximum(self.linear(f"{name}.linear1", x), 0) for x in xs]
        return [self.linear(f"{name}.linear2", x) for x in hidden]

    def embed(self, name, tokens):
        table = self.weights[f"{name}.weight"]
        D = table.shape[1]
        vectors = []
        for p, token in enumerate(tokens):
            angles = [p / 10000 ** (2 * i / D) for i in range(D // 2)]
            position = np.ravel([[math.sin(a), math.cos(a)] for a in angles])
            vectors.append(table[token] * math.sqrt(D) + position)
        return vectors

    def logits(self, source, target, n_layers):
        xs = self.embed("source_embedding", source)
        for n in range(n_layers):
            layer = f"encoder.{n}"
            xs = self.sublayer(
                f"{layer}.norm1",
                xs,
                lambda z, name=f"{layer}.self_attention": self.attend(name, z, z, False),
            )
            xs = self.sublayer(
                f"{layer}.norm2",
                xs,
                lambda z, name=f"{layer}.feed_forward": self.feed_forward(name, z),
            )
        if self.norm_first:
            xs = [self.norm("encoder_norm", x) for x in xs]
        ys = self.embed("target_embedding", target)
        for n in range(n_layers):
            layer = f"decoder.{n}"
            ys = self.sublayer(
                f"{layer}.norm1",
                ys,
                lambda z, name=f"{layer}.self_attention": self.attend(name, z, z, True),
            )
            ys = self.sublayer(
                f"{layer}.norm2",
                ys,
                lambda z, name=f"{layer}.cross_attention": self.attend(name, z, xs, False),
            )
            ys = self.sublayer(
                f"{layer}.norm3",
                ys,
                lambda z, name=f"{layer}.feed_forward": self.feed_forward(name, z),
            )
        if self.norm_first:
            ys = [self.norm("decoder_norm", y) for y in ys]
        return [self.linear("project", y) for y in ys]


def small_model(seed=0, norm_first=True, n_layers=2, pad=0, dropout=0.0, **options):
    model = ch6.Transformer(
        9, 11, 12, 3, n_layers, 7, dropout=dropout, pad=pad, norm_first=norm_first, **options
    )
    # the table of positions in float64, for comparisons to many digits
    model = randomised(model, seed).eval()
    for module in model.modules():
        if hasattr(module, "encoding"):
            module.encoding = ch6.sinusoidal(*module.encoding.shape)
    return model


def tokens(seed, *shape, low=1, high=9):
    return torch.from_numpy(np.random.default_rng(seed).integers(low, high, size=shape))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_transformer_equals_the_loop(norm_first, n_layers, seed):
    model = small_model(seed, norm_first, n_layers)
    source, target = tokens(seed, 2, 5), tokens(seed + 1, 2, 4)
    loop = Loop(model, 3, norm_first)
    for got, one, other in zip(model(source, target), source, target, strict=True):
        assert_close(got, loop.logits(one.tolist(), other.tolist(), n_layers))


# Properties -------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("pad", [0, 4])
def test_padding_changes_nothing(norm_first, training, pad):
    model = small_model(norm_first=norm_first, pad=pad).train(training)
    source, target = tokens(0, 2, 5, low=5), tokens(1, 2, 6, low=5)
    alone = model(source, target)
    filling = torch.full((2, 3), pad)
    padded = torch.cat([source, filling], dim=1), torch.cat([target, filling], dim=1)
    assert_close(model.encode(padded[0])[:, :5], model.encode(source))
    assert_close(model(*padded)[:, :6], alone)
    # what stands in an embedding that is hidden makes no difference
    with torch.no_grad():
        model.source_embedding.weight[pad] += 1
        model.target_embedding.weight[pad] += 1
    assert_close(model(*padded)[:, :6], alone)


def test_a_source_of_padding_alone_gives_finite_values_and_gradients():
    model = small_model()
    source, target = torch.zeros(2, 4, dtype=torch.long), tokens(1, 2, 3)
    logits = model(source, target)
    logits.sum().backward()
    assert torch.isfinite(logits).all()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_every_parameter_is_trained_and_every_source_token_matters():
    model = small_model()
    source, target = tokens(0, 3, 5), tokens(1, 3, 6)
    (model(source, target) ** 2).sum().backward()
    for name, parameter in model.named_parameters():
        if not name.endswith("w_k.bias"):  # it moves all scores of a query alike
            assert parameter.grad.abs().max() > 1e-9, name
    for position in range(5):
        other = source.clone()
        other[:, position] = source[:, position] % 8 + 1
        moved = (model(other, target) - model(source, target)).abs().amax(dim=(0, 2))
        assert (moved > 1e-9).all()


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_attention_is_a_parameter_of_all_layers(norm_first):
    calls = []

    def fused(query, key, value, mask=None):
        calls.append(query.shape)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), None

    formula = small_model(norm_first=norm_first)
    other = small_model(norm_first=norm_first, attention=fused)
    source, target = tokens(0, 3, 5, low=0), tokens(1, 3, 6, low=0)
    real = target != 0
    assert_close(other(source, target)[real], formula(source, target)[real])
    assert len(calls) == 2 + 2 * 2


def test_dropout_acts_in_training_only_and_everywhere():
    one, other = small_model(dropout=0.5), small_model()
    source, target = tokens(0, 2, 5), tokens(1, 2, 6)
    assert torch.equal(one(source, target), other(source, target))
    assert not torch.equal(one.train()(source, target), other(source, target))
    dropped = {
        name for name, each in one.named_modules() if isinstance(each, nn.Dropout) and each.p == 0.5
    }
    layers = [f"{part}.{n}" for part in ("encoder", "decoder") for n in range(2)]
    assert {"positions.dropout", *(f"{layer}.dropout" for layer in layers)} <= dropped
    assert {f"{layer}.feed_forward.dropout" for layer in layers} <= dropped


def test_parameters_and_their_start():
    torch.manual_seed(0)
    V, D, d_ff, n = 400, 64, 128, 3
    model = ch6.Transformer(V, V, D, 4, n, d_ff)
    attention, forward, norm = 4 * (D * D + D), 2 * D * d_ff + d_ff + D, 2 * D
    layers = n * (attention + forward + 2 * norm) + n * (2 * attention + forward + 3 * norm)
    wanted = layers + 2 * norm + 2 * V * D + (D + 1) * V
    assert sum(parameter.numel() for parameter in model.parameters()) == wanted
    for embedding in (model.source_embedding, model.target_embedding):
        assert abs(embedding.weight.std().item() * math.sqrt(D) - 1) < 0.02
    assert model.project.weight is not model.target_embedding.weight


def test_it_learns_to_reverse():
    torch.manual_seed(0)
    model = ch6.Transformer(12, 12, 32, 4, 1, 64)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(120):
        source = torch.randint(2, 12, (64, 4))
        target = torch.cat([torch.ones(64, 1, dtype=torch.long), source.flip(1)], dim=1)
        target_in, target_out = ch6.shift(target)
        loss = F.cross_entropy(model(source, target_in).flatten(0, 1), target_out.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] > 2
    assert losses[-1] < 0.3


def test_shift_and_the_example_of_the_notebook():
    target_in, target_out = ch6.shift(torch.tensor([[1, 7, 8, 2]]))
    assert target_in.tolist() == [[1, 7, 8]]
    assert target_out.tolist() == [[7, 8, 2]]
    given = tokens(0, 3, 6)
    for row, one, other in zip(given.tolist(), *ch6.shift(given), strict=True):
        assert [row[0], *other.tolist()] == row == [*one.tolist(), row[-1]]
