"""What the checks of exercise 3 draw and return. The grader knows what is right."""

import torch

from autograder.checks import (
    dtype_of,
    fill,
    gradients,
    inputs_after,
    parameter_shapes,
    raised,
)
from solutions.ch3_multi_head import (
    MultiHeadAttention,
    attention,
    count_parameters,
    grouped_query_attention,
    head_contribution,
    merge_heads,
    split_heads,
    to_torch,
)


def split_example_alone(H, x):
    return [split_heads(x, H)[:1], split_heads(x[:1], H)]


def split_without_first_position(H, x):
    return [split_heads(x, H)[:, :, 1:], split_heads(x[:, 1:], H)]


def split_layouts(H, x, integers):
    return [
        split_heads(integers.transpose(0, 1), H),
        split_heads(x[:1].float(), H),
        split_heads(x[:, :1], H),
        split_heads(x, 1),
        split_heads(x[..., :H], H),
        [dtype_of(split_heads(given, H)) for given in (integers, x, x.float())],
    ]


def merge_example_alone(x):
    return [merge_heads(x)[:1], merge_heads(x[:1])]


def merge_without_first_position(x):
    return [merge_heads(x)[:, 1:], merge_heads(x[:, :, 1:])]


def merge_layouts(x, heads_last, integers):
    return [
        merge_heads(heads_last.permute(0, 3, 1, 2)),
        merge_heads(integers.permute(0, 3, 1, 2)),
        merge_heads(x[:1].float()),
        merge_heads(x[:, :, :1]),
        merge_heads(x[:, :1]),
        merge_heads(x[..., :1]),
        [dtype_of(merge_heads(given)) for given in (integers, x, x.float())],
    ]


def hidden_changed(padding, factor, *tensors):
    """Tensors (B, S, D) in which positions differ that the mask of padding hides, and no others."""
    may_be_seen = padding[:, 0, 0, :, None]
    return [torch.where(may_be_seen, one, factor * one) for one in tensors]


def multi_head_example_alone(H, D, query, key, value):
    together = fill(MultiHeadAttention(D, H))(query, key, value)
    alone = fill(MultiHeadAttention(D, H))(query[:1], key[:1], value[:1])
    return [[one[:1] for one in together], alone]


def multi_head_query_alone(H, D, query, key, value):
    together = fill(MultiHeadAttention(D, H))(query, key, value)[0][:, 1:]
    return [together, fill(MultiHeadAttention(D, H))(query[:, 1:], key, value)[0]]


def multi_head_keys_in_other_order(H, D, query, key, value):
    given = fill(MultiHeadAttention(D, H))(query, key, value)[0]
    return [given, fill(MultiHeadAttention(D, H))(query, key.flip(1), value.flip(1))[0]]


def multi_head_modes(H, D, query, key, value, mask):
    layer = fill(MultiHeadAttention(D, H))
    return [layer.train(mode)(query, key, value, mask) for mode in (True, False)]


def multi_head_mask_or_none(H, D, query, key, value, mask):
    return [fill(MultiHeadAttention(D, H))(query, key, value, given)[0] for given in (None, mask)]


def multi_head_hidden_keys(H, D, query, key, value, padding):
    return [
        fill(MultiHeadAttention(D, H))(query, *hidden_changed(padding, factor, key, value), padding)
        for factor in (1, -3)
    ]


def multi_head_other_query(H, D, query, key, value):
    return [fill(MultiHeadAttention(D, H))(given, key, value)[0] for given in (query, -query)]


def multi_head_other_key(H, D, query, key, value):
    return [fill(MultiHeadAttention(D, H))(query, given, value)[0] for given in (key, -key)]


def multi_head_other_value(H, D, query, key, value):
    return [fill(MultiHeadAttention(D, H))(query, key, given)[0] for given in (value, -value)]


def multi_head_without_bias(H, D, query):
    layer = fill(MultiHeadAttention(D, H, bias=False))
    return [parameter_shapes(layer), layer(query, query, query)]


def multi_head_padding(B, T, H, D, query, key, value, padding):
    return [
        fill(MultiHeadAttention(D, heads))(query[:b, :t], key[:b], value[:b], padding[:b])
        for b, t, heads in [(B, T, H), (1, 1, 1)]
    ]


def multi_head_equal_sizes(n, equal_query, equal_key, equal_value, equal_mask):
    return fill(MultiHeadAttention(n * n, n))(equal_query, equal_key, equal_value, equal_mask)


def with_twice_the_query(query, key, value, mask=None):
    """An attention that no layer has unless it was given."""
    return attention(2 * query, key, value, mask)


def without_weights(query, key, value, mask):
    """The same, which returns no weights."""
    return with_twice_the_query(query, key, value, mask)[0], None


def multi_head_after_other_calls(H, D, query, key, value, mask):
    layer = fill(MultiHeadAttention(D, H))
    before = layer(query, key, value, mask)
    layer(query, -key, -value)
    layer(-query, key, value, mask.roll(1, -1))
    return [before, layer(query, key, value, mask)]


def multi_head_gradients(H, D, query, key, value, mask):
    return gradients(fill(MultiHeadAttention(D, H)), *[x[:2] for x in (query, key, value, mask)])


def multi_head_leaves_inputs(H, D, query, key, value, mask):
    given = [x[:1].float() for x in (query, key, value)]
    return inputs_after(fill(MultiHeadAttention(D, H)).float(), *given, mask[:1])


def multi_head_broadcast_masks(H, D, query, key, value, mask, shared):
    return [fill(MultiHeadAttention(D, H))(query, key, value, given) for given in (shared, mask[0])]


def multi_head_given_attention(H, D, query, key, value, mask):
    by_keyword = fill(MultiHeadAttention(d_model=D, n_heads=H, attention=without_weights))
    with_bias = by_keyword(query, key, value, mask)
    by_position = fill(MultiHeadAttention(D, H, without_weights, False))
    return [with_bias, by_position(query, key, value, mask)]


def multi_head_both_modes(H, D, query, key, value, mask):
    layer = fill(MultiHeadAttention(D, H))
    return [layer.train()(query, key, value, mask), layer.eval()(query, -key, -value)]


def multi_head_four_calls(H, D, query, key, value, mask, other, more):
    layer = fill(MultiHeadAttention(D, H))
    return [
        layer(query, key, value, mask),
        layer(*[x.transpose(0, 1) for x in (other, more, -more)]),
        layer(query, -key, -value),
        layer(-query, key, value, mask.roll(1, -1)),
    ]


def in_data_type(data_type, D, H, *inputs):
    """PyTorch's parameters and results for a layer without bias."""
    theirs = to_torch(fill(MultiHeadAttention(D, H, bias=False)).to(data_type))
    return [parameter_shapes(theirs), theirs(*[x.to(data_type) for x in inputs])]


def torch_same_values(H, D, query, key, value):
    theirs = to_torch(fill(MultiHeadAttention(D, H)))
    return theirs(query, key, value, average_attn_weights=False)


def torch_without_bias(H, D, query, key, value):
    return [
        in_data_type(getattr(torch, name), D, H, query, key, value)
        for name in ("float64", "float32")
    ]


def torch_padding(H, D, query, key, value, hidden):
    theirs = to_torch(fill(MultiHeadAttention(D, H)))
    return theirs(query, key, value, key_padding_mask=hidden)


def torch_own_copy(H, D):
    layer = fill(MultiHeadAttention(D, H)).train()
    theirs = to_torch(layer)
    for p in theirs.parameters():
        p.data.mul_(2)
    asks = {
        f"{name} of {whose}": p.requires_grad
        for whose, module in (("yours", layer), ("PyTorch's", theirs))
        for name, p in module.named_parameters()
    }
    return [dict(layer.named_parameters()), asks, layer.training]


def count_all(heads, widths, biases):
    return [
        count_parameters(width, n, bias)
        for width, n, bias in zip(widths, heads, biases, strict=True)
    ]


def contribution_leaves_layer(H, D, head, query, key, value):
    layer = fill(MultiHeadAttention(D, H))
    before = layer(query, key, value)[0]
    head_contribution(layer, query, key, value, head)
    return [before, layer(query, key, value)[0]]


def contributions_add_up(H, D, query, key, value):
    layer = fill(MultiHeadAttention(D, H))
    parts = [head_contribution(layer, query, key, value, n) for n in range(H)]
    return [sum(parts) + layer.w_o.bias, layer(query, key, value)[0]]


def contributions_of_two_heads(H, D, head, query, key, value):
    return [
        head_contribution(fill(MultiHeadAttention(D, H)), query, key, value, n) for n in (0, head)
    ]


def contribution_example_alone(H, D, head, query, key, value):
    given = (query, key, value)
    together = head_contribution(fill(MultiHeadAttention(D, H)), *given, head)[:1]
    first = [x[:1] for x in given]
    return [together, head_contribution(fill(MultiHeadAttention(D, H)), *first, head)]


def contribution_mask_or_none(H, D, head, query, key, value, mask):
    return [
        head_contribution(fill(MultiHeadAttention(D, H)), query, key, value, head, given)
        for given in (None, mask)
    ]


def contribution_keys_in_other_order(H, D, head, query, key, value):
    return [
        head_contribution(fill(MultiHeadAttention(D, H)), query, *keys, head)
        for keys in ((key, value), (key.flip(1), value.flip(1)))
    ]


def contributions_in_turn(H, D, query, key, value):
    layer = fill(MultiHeadAttention(D, H)).train()
    in_turn = [head_contribution(layer, query, key, value, n) for n in [*range(H), 0]]
    other_inputs = head_contribution(layer, -query, key, -value, 0)
    asks = {name: p.requires_grad for name, p in layer.named_parameters()}
    sums = {name: p.sum() for name, p in layer.named_parameters()}
    return [[*in_turn, other_inputs], asks, sums, layer.training]


def contribution_given_attention(H, D, head, query, key, value):
    layer = fill(MultiHeadAttention(D, H, attention=with_twice_the_query))
    of_own_attention = head_contribution(layer, query, key, value, head)
    layer = fill(MultiHeadAttention(D, H, bias=False))
    return [of_own_attention, head_contribution(layer, query, query, query, head)]


def contribution_masked(B, T, H, D, head, query, key, value, mask):
    results = []
    for b, t, given in [(B, T, mask), (1, T, mask[0, 0]), (B, 1, mask[:, :, :1])]:
        layer = fill(MultiHeadAttention(D, H))
        inputs = (query[:b, :t], key[:b], value[:b])
        results.append(head_contribution(layer, *inputs, head, given))
    return results


def contribution_gradients(
    H, d, D, head, query, key, value, n, equal_query, equal_key, equal_value, equal_mask
):
    def last_head(*inputs):
        return head_contribution(fill(MultiHeadAttention(n * n, n)), *inputs, n - 1, equal_mask)

    to_inputs = gradients(last_head, equal_query, equal_key, equal_value)["inputs"]
    layer = fill(MultiHeadAttention(D, H))
    head_contribution(layer, query, key, value, head).sum().backward()
    to_weights = []
    for linear, axis in [(layer.w_o, 1), (layer.w_q, 0), (layer.w_k, 0), (layer.w_v, 0)]:
        gradient = linear.weight.grad
        if gradient is not None:
            # the head's part comes first, then is cut out
            gradient = gradient.roll(-head * d, axis).narrow(axis, 0, d).sum(dim=1 - axis)
        to_weights.append(gradient)
    return [to_inputs, to_weights]


def grouped_example_alone(query, key, value):
    together = grouped_query_attention(query, key, value)
    alone = grouped_query_attention(query[:1], key[:1], value[:1])
    return [[one[:1] for one in together], alone]


def grouped_twice_the_values(query, key, value):
    return [
        2 * grouped_query_attention(query, key, value)[0],
        grouped_query_attention(query, key, 2 * value)[0],
    ]


def grouped_shifted_keys(query, key, value):
    return [grouped_query_attention(query, given, value)[1] for given in (key, key + key[:, :, :1])]


def grouped_keys_in_other_order(query, key, value):
    given = grouped_query_attention(query, key, value)[0]
    return [given, grouped_query_attention(query, key.flip(2), value.flip(2))[0]]


def grouped_mask_or_none(query, key, value, mask):
    return [grouped_query_attention(query, key, value, given)[0] for given in (None, mask)]


def grouped_hidden_keys(query, key, value, padding):
    may_be_seen = padding[:, 0, 0, :, None][:, None]
    results = []
    for factor in (1, -3):
        keys = [torch.where(may_be_seen, one, factor * one) for one in (key, value)]
        results.append(grouped_query_attention(query, *keys, padding))
    return results


def grouped_other_heads(query, key, value):
    others = torch.cat([query[:, :1], -query[:, 1:]], dim=1)
    return [grouped_query_attention(given, key, value)[0][:, :1] for given in (query, others)]


def grouped_one_key_for_all(query, key, value):
    first = key[:, :1].expand_as(key)
    return [grouped_query_attention(query, given, value)[0] for given in (key, first)]


def grouped_leaves_inputs(query, key, value, mask):
    given = [x[:1].clone() for x in (3 * query, key, value, mask)]
    return inputs_after(grouped_query_attention, *given)


def grouped_edges(B, T, G, query, key, value, mask, padding, many, many_query, high_key):
    broadcast = [
        grouped_query_attention(query[:b, :, :t], key[:b, :n], value[:b, :n], given)
        for b, t, n, given in [(B, T, 1, padding), (1, T, G, mask[0]), (B, 1, 1, mask[0, 0, :1])]
    ]
    many_heads = grouped_query_attention(many_query, key[:1, :2], value[:1, :2])
    one_query = query[:1, :, :1].abs()
    high = grouped_query_attention(one_query, high_key[:1], value[:1], padding[:1])
    # where the second group begins
    return [*broadcast, [x[:, many - 1 : many + 1] for x in many_heads], high]


def grouped_equal_sizes(equal_query, equal_key, equal_value, equal_mask):
    equal = (equal_query, equal_key, equal_value)
    return [grouped_query_attention(*equal, equal_mask), grouped_query_attention(*equal)]


def grouped_raises(groups, heads, query, key):
    return [
        raised(grouped_query_attention, query[:, :h], key[:, :n], key[:, :n])
        for h, n in zip(heads, groups, strict=True)
    ]


def grouped_gradients(query, key, value, with_empty):
    several = (query[:, :4, :2], key[:, :2, :3], value[:, :2, :3])
    narrow = [x[:, :1, :, :2] for x in (query, key, value)]
    return [
        gradients(grouped_query_attention, *several),
        gradients(grouped_query_attention, *narrow, with_empty),
    ]
