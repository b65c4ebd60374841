"""Exercise 3: the reference against slow loops and torch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

import solutions.ch3_multi_head as ch3
from solutions.ch2_scaled_dot_product import attention
from tests.support.numbers import assert_close, outcome

distinct_sizes = st.permutations(range(1, 7))
seeds = st.integers(0, 2**32 - 1)
masks = st.sampled_from(["none", "heads", "shared", "padding"])


def a_layer(seed, d_model, n_heads, bias=True, kind=ch3.MultiHeadAttention, **others):
    torch.manual_seed(seed)
    layer = kind(d_model, n_heads, bias=bias, **others).double()
    # in the order of their names: layers that are made in another order get the same numbers
    for _, parameter in sorted(layer.named_parameters()):
        nn.init.normal_(parameter, std=0.5)
    return layer.eval()


def a_case(seed, sizes, kind):
    """query, key, value and mask; a query that may attend to nothing where masks differ by head."""
    B, T, S, H, d = sizes
    generator = torch.Generator().manual_seed(seed)
    query, key, value = (
        torch.randn(B, n, H * d, dtype=torch.float64, generator=generator) for n in (T, S, S)
    )
    shape = {"heads": (B, H, T, S), "shared": (T, S), "padding": (B, 1, 1, S)}.get(kind)
    if shape is None:
        return query, key, value, None
    mask = torch.rand(shape, generator=generator) < 0.6
    mask[..., 0] = True
    if kind == "heads":
        mask[0, 0, 0] = False
    return query, key, value, mask


def loop_over_heads(layer, query, key, value, mask=None):
    """One head of one example at a time, with sliced weights: terms (H, B, T, D), weights."""
    (B, T, D), S, H = query.shape, key.shape[1], layer.n_heads
    d = D // H
    mask = torch.ones(B, H, T, S, dtype=torch.bool) if mask is None else mask.expand(B, H, T, S)
    terms, all_weights = torch.zeros(H, B, T, D).double(), torch.zeros(B, H, T, S).double()

    def project(x, linear, part):
        found = x @ linear.weight[part].T
        return found if linear.bias is None else found + linear.bias[part]

    for b in range(B):
        for h in range(H):
            part = slice(h * d, (h + 1) * d)
            q = project(query[b], layer.w_q, part)
            k = project(key[b], layer.w_k, part)
            v = project(value[b], layer.w_v, part)
            for t in range(T):
                allowed = mask[b, h, t].nonzero()[:, 0]
                if len(allowed):
                    weights = torch.softmax(k[allowed] @ q[t] / d**0.5, dim=0)
                    all_weights[b, h, t, allowed] = weights
                    terms[h, b, t] = (weights @ v[allowed]) @ layer.w_o.weight[:, part].T
    return terms, all_weights


@given(distinct_sizes, seeds)
def test_split_and_merge(sizes, seed):
    B, T, H, d, *_ = sizes
    x = torch.randn(B, T, H * d, generator=torch.Generator().manual_seed(seed))
    split = ch3.split_heads(x, H)
    assert split.shape == (B, H, T, d)
    for b in range(B):
        for h in range(H):
            for t in range(T):
                assert torch.equal(split[b, h, t], x[b, t, h * d : (h + 1) * d])
    assert torch.equal(ch3.merge_heads(split), x)
    assert torch.equal(ch3.merge_heads(split.contiguous()), x)


@given(distinct_sizes, seeds, masks, st.booleans())
def test_the_layer_equals_the_loop(sizes, seed, kind, bias):
    B, T, S, H, d, *_ = sizes
    layer = a_layer(seed, H * d, H, bias)
    case = a_case(seed, (B, T, S, H, d), kind)
    with torch.no_grad():
        terms, weights = loop_over_heads(layer, *case)
        output = terms.sum(dim=0) + (layer.w_o.bias if bias else 0)
        assert_close(layer(*case), (output, weights))
        *inputs, mask = case
        found = [ch3.head_contribution(layer, *inputs, h, mask) for h in range(H)]
    assert_close([torch.stack(found)], [terms])


@given(distinct_sizes, seeds, masks, st.booleans())
def test_the_layer_equals_torch(sizes, seed, kind, bias):
    B, T, S, H, d, *_ = sizes
    layer = a_layer(seed, H * d, H, bias)
    *inputs, mask = a_case(seed, (B, T, S, H, d), kind)
    if kind == "heads":
        mask[0, 0, 0, 0] = True  # torch gives NaN for a row that may attend to nothing
    theirs = ch3.to_torch(layer)
    assert isinstance(theirs, nn.MultiheadAttention) and theirs.batch_first
    hidden = {} if mask is None else {"attn_mask": ~mask.expand(B, H, T, S).flatten(0, 1)}
    if kind == "shared":
        hidden = {"attn_mask": ~mask}
    if kind == "padding":
        hidden = {"key_padding_mask": ~mask[:, 0, 0]}

    def run_theirs(*inputs):
        return theirs(*inputs, average_attn_weights=False, **hidden)

    wanted = outcome(run_theirs, *inputs, parameters=theirs.parameters())
    found = outcome(lambda *x: layer(*x, mask), *inputs, parameters=layer.parameters())
    assert_close(found[:5], wanted[:5])
    ours = dict(zip([name for name, _ in layer.named_parameters()], found[5:], strict=True))
    them = dict(zip([name for name, _ in theirs.named_parameters()], wanted[5:], strict=True))
    for kind in ("weight", "bias") if bias else ("weight",):
        stacked = torch.cat([ours[f"{name}.{kind}"] for name in ("w_q", "w_k", "w_v")])
        assert_close(
            [stacked, ours[f"w_o.{kind}"]], [them[f"in_proj_{kind}"], them[f"out_proj.{kind}"]]
        )


def test_to_torch_copies():
    layer = a_layer(0, 12, 3)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    with torch.no_grad():
        for parameter in ch3.to_torch(layer).parameters():
            parameter.zero_()
    torch.testing.assert_close(layer.state_dict(), before, rtol=0, atol=0)
    assert ch3.to_torch(layer.float()).in_proj_weight.dtype == torch.float32


@pytest.mark.parametrize(("d_model", "n_heads"), [(10, 3), (4, 8), (7, 2)])
def test_a_width_that_the_heads_do_not_divide(d_model, n_heads):
    with pytest.raises(ValueError, match=rf"\b{n_heads}\b.*\b{d_model}\b"):
        ch3.MultiHeadAttention(d_model, n_heads)


@given(st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_count_parameters(n_heads, width, bias):
    d_model = n_heads * width
    layer = ch3.MultiHeadAttention(d_model, n_heads, bias=bias)
    found = ch3.count_parameters(d_model, n_heads, bias)
    assert type(found) is int
    assert found == sum(parameter.numel() for parameter in layer.parameters())


@given(distinct_sizes, seeds, masks)
def test_grouped_query_attention_equals_the_loop_and_torch(sizes, seed, kind):
    B, T, S, G, d, share = sizes
    H = G * share
    query, _, _, mask = a_case(seed, (B, T, S, H, d), kind)
    _, key, value, _ = a_case(seed, (B, T, S, G, d), kind)
    query = ch3.split_heads(query, H)
    key, value = ch3.split_heads(key, G), ch3.split_heads(value, G)
    output, weights = ch3.grouped_query_attention(query, key, value, mask)
    whole = None if mask is None else mask.expand(B, H, T, S)
    for h in range(H):
        group = h // (H // G)
        one_mask = None if mask is None else whole[:, h]
        wanted = attention(query[:, h], key[:, group], value[:, group], one_mask)
        assert_close((output[:, h], weights[:, h]), wanted)
    ready = F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    assert_close([output], [ready])


def test_groups_that_do_not_divide_the_heads():
    query, key = torch.randn(1, 5, 2, 3), torch.randn(1, 2, 4, 3)
    with pytest.raises(ValueError, match=r"2 groups.*5 heads"):
        ch3.grouped_query_attention(query, key, key)


def test_the_hand_worked_examples_of_the_notebook():
    x = torch.arange(1, 9).reshape(1, 2, 4)
    assert ch3.split_heads(x, 2).tolist() == [[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]
    assert (ch3.count_parameters(4, 2, False), ch3.count_parameters(4, 2, True)) == (64, 80)
