"""What the checks of exercise 6 draw and return. The grader knows what is right."""

import torch

from autograder.checks import fill, gradients
from solutions.ch6_transformer import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Transformer,
    attention,
)


def without_first_position(D, F, x):
    module = fill(FeedForward(D, F))
    return [module(x)[:, 1:], module(x[:, 1:])]


def feed_forward_modes(D, F, x):
    module = fill(FeedForward(D, F))
    return [module.train()(x), module.eval()(x)]


def feed_forward_shapes(T, D, F, x, rate, square):
    module = fill(FeedForward(D, F, rate))
    of_one_module = [module(x[0]), module(-x[0]), module(-x), module(x[:1])]
    without_dropout = fill(FeedForward(dropout=0.0, d_ff=F, d_model=D)).train()
    equal_sizes = fill(FeedForward(T, T)).train()
    return [of_one_module, without_dropout(x[0, 0]), equal_sizes(square)]


def feed_forward_dropout(D, F, x, rate, wide, one):
    all_dropped = fill(FeedForward(D, F, dropout=1.0)).train()(x)
    trained, usual = [
        gradients(fill(FeedForward(2, wide, rate)).train(mode), one)["parameters"]["linear2.weight"]
        for mode in (True, False)
    ]
    reached = usual != 0
    shares = torch.unique((trained[reached] / usual[reached]).round(decimals=6))
    return [all_dropped, shares, alike(fill(FeedForward(2, wide, rate)).train(), one)]


def alike(module, *given):
    """Whether equal examples, and equal positions, come out of training alike."""
    results = module(*(one.reshape(-1).expand(2, 3, -1) for one in given))
    return [torch.allclose(*results[:, 0]), torch.allclose(*results[0, :2])]


def encoder_layers(D, H, F, **named):
    """With norm_first and without."""
    return [fill(EncoderLayer(D, H, F, norm_first=first, **named)) for first in (True, False)]


def encoder_examples_alone(H, F, D, x, mask):
    together = [layer(x, mask)[:1] for layer in encoder_layers(D, H, F)]
    alone = [layer(x[:1], mask[:1]) for layer in encoder_layers(D, H, F)]
    return [together, alone]


def encoder_modes(H, F, D, x, mask):
    training = [layer.train()(x, mask) for layer in encoder_layers(D, H, F)]
    return [training, [layer.eval()(x, mask) for layer in encoder_layers(D, H, F)]]


def encoder_mask_or_none(H, F, D, x, mask):
    return [fill(EncoderLayer(D, H, F))(x, given) for given in (None, mask)]


def encoder_hidden_positions(H, F, D, x, padding):
    may_be_seen = padding[:, 0, 0]
    changed = torch.where(may_be_seen[..., None], x, 3 * x.flip(-1))
    return [fill(EncoderLayer(D, H, F))(given, padding)[may_be_seen] for given in (x, changed)]


def encoder_other_order(H, F, D, x):
    afterwards = [layer(x).flip(1) for layer in encoder_layers(D, H, F)]
    before = [layer(x.flip(1)) for layer in encoder_layers(D, H, F)]
    return [afterwards, before]


def encoder_position_alone(H, F, D, x):
    among_others = [layer(x)[:, :1] for layer in encoder_layers(D, H, F)]
    alone = [layer(x[:, :1]) for layer in encoder_layers(D, H, F)]
    return [among_others, alone]


def encoder_without_mask(H, F, D, x):
    return [
        fill(EncoderLayer(d_ff=F, n_heads=H, d_model=D, norm_first=first))(x)
        for first in (True, False)
    ]


def with_twice_the_query(query, key, value, mask):
    """An attention that no layer has unless it was given."""
    return attention(2 * query, key, value, mask)[0], None


def silence_other_sublayers(layer, kept, sublayers):
    """Let all sublayers but one give zeros."""
    for name, parameter in layer.named_parameters():
        if name.startswith(tuple(sublayers)) and not name.startswith(kept):
            parameter.data.zero_()


def scales(layer, *wide):
    """By what training multiplies what the sublayers add."""
    added = layer(*wide) - wide[0]
    return torch.unique((added / (layer.eval()(*wide) - wide[0])).round(decimals=6))


def lack_gradient(layer, kept, *wide):
    """Which entries of a sublayer's bias get no gradient in training: it isn't used there."""
    return torch.unique(gradients(layer, *wide)["parameters"][f"{kept}.bias"] == 0)


def encoder_twice(H, F, D, x, mask):
    layer = fill(EncoderLayer(D, H, F))
    return [layer(x, mask), layer(x, mask)]


def encoder_after_other_calls(H, F, D, x, mask, cube, square):
    layer = fill(EncoderLayer(D, H, F))
    before = layer(x, mask)
    layer(cube, square)
    layer(x[:1])
    return [before, layer(x, mask)]


def encoder_gradients(H, F, D, x, mask):
    return [
        gradients(fill(EncoderLayer(D, H, F, norm_first=first)), x, mask) for first in (True, False)
    ]


def encoder_training_without_dropout(H, F, D, x, with_empty):
    return [
        fill(EncoderLayer(D, H, F, norm_first=first)).train()(x, with_empty)
        for first in (True, False)
    ]


def encoder_dropout(H, F, D, x, share, wide, mask):
    all_dropped = []
    for first in (True, False):
        layer = fill(EncoderLayer(D, H, F, dropout=1.0, norm_first=first)).train()
        all_dropped += [layer(x, mask), layer.feed_forward(x)]
    layer = fill(EncoderLayer(48, 2, 48, share, norm_first=False)).train()
    layer.feed_forward.eval()
    of_attention = lack_gradient(layer, "self_attention.w_o", wide)
    shares = {"self_attention.w_o, norm_first=False": of_attention}
    sublayers = ["self_attention.w_o", "feed_forward.linear2"]
    for kept in sublayers:
        layer = fill(EncoderLayer(48, 2, 48, share, norm_first=True)).train()
        layer.feed_forward.eval()
        silence_other_sublayers(layer, kept, sublayers)
        shares[f"{kept}, equal examples or positions alike"] = alike(layer, wide)
        shares[f"{kept}, norm_first=True"] = scales(layer, wide)
    return [all_dropped, shares]


def encoder_many_calls(H, F, D, x, mask, cube, square):
    results = []
    for first in (True, False):
        layer = fill(EncoderLayer(D, H, F, norm_first=first))
        results += [
            layer(x, mask),
            layer(cube, square),
            layer(x[:1, :1]),
            layer(x[:1], mask[:1]),
            layer(-x[:1]),
            layer(x[:1], mask[:1].roll(1, -1)),
            layer(x, mask[0, 0]),
        ]
    return results


def encoder_given_attention(H, F, D, x, mask):
    return fill(EncoderLayer(D, H, F, 0.0, True, with_twice_the_query))(x, mask)


def decoder_layers(D, H, F, **named):
    """With norm_first and without."""
    return [fill(DecoderLayer(D, H, F, norm_first=first, **named)) for first in (True, False)]


def decoder_other_memory(H, F, D, y, memory):
    given = [layer(y, memory) for layer in decoder_layers(D, H, F)]
    flipped = [layer(y, memory.flip(-1)) for layer in decoder_layers(D, H, F)]
    return [given, flipped]


def decoder_mean_memory(H, F, D, y, memory):
    means = memory.mean(1, keepdim=True)
    return [fill(DecoderLayer(D, H, F))(y, given) for given in (memory, means)]


def decoder_examples_alone(H, F, D, y, memory, target_mask, memory_mask):
    given = (y, memory, target_mask, memory_mask)
    first = [each[:1] for each in given]
    together = [layer(*given)[:1] for layer in decoder_layers(D, H, F)]
    return [together, [layer(*first) for layer in decoder_layers(D, H, F)]]


def decoder_hidden_memory(H, F, D, y, memory, padding):
    changed = torch.where(padding[:, 0, 0, :, None], memory, -memory)
    return [
        fill(DecoderLayer(D, H, F))(y, given, memory_mask=padding) for given in (memory, changed)
    ]


def decoder_memory_in_other_order(H, F, D, y, memory):
    given = [layer(y, memory) for layer in decoder_layers(D, H, F)]
    flipped = [layer(y, memory.flip(1)) for layer in decoder_layers(D, H, F)]
    return [given, flipped]


def decoder_targets_in_other_order(H, F, D, y, memory):
    afterwards = [layer(y, memory).flip(1) for layer in decoder_layers(D, H, F)]
    before = [layer(y.flip(1), memory) for layer in decoder_layers(D, H, F)]
    return [afterwards, before]


def decoder_memory_mask_or_none(H, F, D, y, memory, memory_mask):
    return [fill(DecoderLayer(D, H, F))(y, memory, None, given) for given in (None, memory_mask)]


def decoder_target_mask_or_none(H, F, D, y, memory, target_mask):
    return [fill(DecoderLayer(D, H, F))(y, memory, given) for given in (None, target_mask)]


def decoder_without_masks(H, F, D, y, memory):
    return [
        fill(DecoderLayer(d_ff=F, n_heads=H, d_model=D, norm_first=first))(memory=memory, y=y)
        for first in (True, False)
    ]


def decoder_modes_with_masks(H, F, D, y, memory, target_mask, memory_mask):
    given = (y, memory, target_mask, memory_mask)
    training = [layer.train()(*given) for layer in decoder_layers(D, H, F)]
    return [training, [layer.eval()(*given) for layer in decoder_layers(D, H, F)]]


def decoder_after_other_calls(H, F, D, y, memory, target_mask, memory_mask, square, more):
    layer = fill(DecoderLayer(D, H, F))
    before = layer(y, memory, target_mask, memory_mask)
    layer(y, -memory)
    layer(square, more)
    return [before, layer(y, memory, target_mask, memory_mask)]


def decoder_gradients(H, F, D, y, memory, target_mask, memory_mask):
    return [
        gradients(
            fill(DecoderLayer(D, H, F, norm_first=first)), y, memory, target_mask, memory_mask
        )["inputs"]
        for first in (True, False)
    ]


def decoder_training_without_dropout(H, F, D, y, memory, target_mask, memory_mask):
    return [
        fill(DecoderLayer(D, H, F, norm_first=first)).train()(y, memory, target_mask, memory_mask)
        for first in (True, False)
    ]


def decoder_evaluation_with_dropout(H, F, D, y, memory, rate, target_mask, memory_mask):
    return [
        fill(DecoderLayer(D, H, F, rate, first))(y, memory, target_mask, memory_mask)
        for first in (True, False)
    ]


def decoder_dropout(H, F, D, y, memory, share, wide, target_mask, memory_mask):
    all_dropped = []
    for first in (True, False):
        layer = fill(DecoderLayer(D, H, F, dropout=1.0, norm_first=first)).train()
        all_dropped += [layer(y, memory, target_mask, memory_mask), layer.feed_forward(y)]
    layer = fill(DecoderLayer(48, 2, 48, share, norm_first=False)).train()
    layer.feed_forward.eval()
    shares = {
        "self_attention.w_o, norm_first=False": lack_gradient(
            layer, "self_attention.w_o", wide, wide
        )
    }
    sublayers = ["self_attention.w_o", "cross_attention.w_o", "feed_forward.linear2"]
    for kept in sublayers:
        layer = fill(DecoderLayer(48, 2, 48, share, norm_first=True)).train()
        layer.feed_forward.eval()
        silence_other_sublayers(layer, kept, sublayers)
        shares[f"{kept}, equal examples or positions alike"] = alike(layer, wide, wide)
        shares[f"{kept}, norm_first=True"] = scales(layer, wide, wide)
    return [all_dropped, shares]


def decoder_many_calls(H, F, D, y, memory, target_mask, memory_mask, square, more, masks):
    results = []
    for first in (True, False):
        layer = fill(DecoderLayer(D, H, F, norm_first=first))
        short = y[:1, :2], memory[:1]
        results += [
            layer(y, memory, target_mask, memory_mask),
            layer(square, more, *masks),
            layer(y[:1, :1], memory[:1]),
            layer(*short, target_mask[:2, :2], memory_mask[:1, :, :2]),
            layer(*short),
            layer(square[:1], more[:1]),
            layer(square[1:2], more[1:2]),
            layer(*short, target_mask[1:3, 1:3], memory_mask[:1, :, 1:3]),
        ]
    return results


def decoder_given_attention(H, F, D, y, memory, target_mask, memory_mask):
    layer = fill(DecoderLayer(D, H, F, 0.0, True, with_twice_the_query))
    return layer(y, memory, target_mask, memory_mask)


def transformer_other_source(H, F, D, pad, W, V, more_words, target_in, source):
    return [
        fill(Transformer(W, V, D, H, 1, F, pad=pad))(given, target_in)
        for given in (source, more_words)
    ]


def transformer_order_of_words(H, F, D, pad, W, V, words):
    return [
        fill(Transformer(W, V, D, H, 1, F, pad=pad)).encode(given).sum(1)
        for given in (words, words.flip(1))
    ]


def transformer_later_targets(H, F, D, pad, W, V, target_in, source):
    changed = torch.cat([target_in[:, :2], target_in[:, 2:].flip(1)], dim=1)
    return [
        fill(Transformer(W, V, D, H, 1, F, pad=pad))(source, given)[:, :2]
        for given in (target_in, changed)
    ]


def transformer_examples_alone(H, F, D, pad, W, V, target_in, source):
    together = fill(Transformer(W, V, D, H, 1, F, pad=pad))(source, target_in)[:1]
    return [together, fill(Transformer(W, V, D, H, 1, F, pad=pad))(source[:1], target_in[:1])]


def transformer_modes(H, F, D, pad, W, V, target_in, source):
    model = fill(Transformer(W, V, D, H, 1, F, pad=pad))
    return [model.train()(source, target_in), model.eval()(source, target_in)]


def transformer_decodes(H, F, D, n, pad, W, V, more_words, target_in, memory):
    model = fill(Transformer(W, V, D, H, n, F, pad=pad))
    return 100 + model.decode(source=more_words, memory=memory, target_in=target_in)


def transformer_norm_last(H, F, D, pad, W, V, target_in, source):
    model = fill(Transformer(W, V, D, H, 1, F, pad=pad, norm_first=False))
    return 100 + model(source, target_in)


def transformer_given_attention(H, F, D, pad, W, V, target_in, source):
    model = fill(Transformer(W, V, D, H, 1, F, 0.0, pad, True, with_twice_the_query))
    return 100 + model(source, target_in)


def only_later_targets(T, H, F, D, n, pad, W, V, target, source, changed):
    return [
        fill(Transformer(W, V, D, H, n, F, pad=pad))(source, given)[:, : T - 2]
        for given in (target, changed)
    ]


def memory_with_more_padding(H, F, D, n, pad, W, V, source, filling):
    results = []
    for given in (source, torch.cat([source, filling], dim=1)):
        encoded = fill(Transformer(W, V, D, H, n, F, pad=pad)).encode(given)
        results.append(encoded[:, : source.shape[1]][source != pad])
    return results


def memory_of_padding(H, F, D, n, pad, W, V, target, source, memory):
    changed_there = torch.where((source == pad)[..., None], -memory, memory)
    return [
        fill(Transformer(W, V, D, H, n, F, pad=pad)).decode(target, given, source)
        for given in (memory, changed_there)
    ]


def more_padding(H, F, D, n, pad, W, V, target, source, filling):
    return [
        fill(Transformer(W, V, D, H, n, F, pad=pad))(given, target)
        for given in (source, torch.cat([source, filling], dim=1))
    ]


def other_first_target(H, F, D, n, pad, W, V, target, source):
    begins_otherwise = torch.cat([7 - target[:, :1] % 2, target[:, 1:]], dim=1)
    return [
        fill(Transformer(W, V, D, H, n, F, pad=pad))(source, given)[:, -1]
        for given in (target, begins_otherwise)
    ]


def sources_of_other_examples(H, F, D, n, pad, W, V, target, source):
    return [
        fill(Transformer(W, V, D, H, n, F, pad=pad))(given, target)
        for given in (source, source.flip(0))
    ]


def padded_examples_alone(H, F, D, n, pad, W, V, target, source):
    together = fill(Transformer(W, V, D, H, n, F, pad=pad))(source, target)[:1]
    return [together, fill(Transformer(W, V, D, H, n, F, pad=pad))(source[:1], target[:1])]


def padded_in_both_modes(H, F, D, n, pad, W, V, target, source):
    model = fill(Transformer(W, V, D, H, n, F, pad=pad))
    return [model.train()(source, target), model.eval()(source, target)]


def encoder_hides_padding(H, F, D, n, pad, W, V, source):
    model = fill(Transformer(W, V, D, H, n, F, pad=pad))
    words = source != pad
    return [100 + model.train(mode).encode(source)[words] for mode in (True, False)]


def decoder_hides_padding_and_future(H, F, D, n, pad, W, V, source, target_in, memory):
    model = fill(Transformer(W, V, D, H, n, F, pad=pad))
    return [
        100 + model.train(mode).decode(target_in, memory, source)[target_in != pad]
        for mode in (True, False)
    ]


def logits_with_other_later_targets(T, H, F, D, n, pad, W, V, target, source, changed):
    model = fill(Transformer(W, V, D, H, n, F, pad=pad))
    return [
        100 + model.train(mode)(source, tokens)[:, : T - 2]
        for mode in (True, False)
        for tokens in (target, changed)
    ]


def logits_with_more_padding(H, F, D, n, pad, W, V, target, source, filling):
    model = fill(Transformer(W, V, D, H, n, F, pad=pad))
    padded = torch.cat([source, filling], dim=1)
    return [100 + model.train(mode)(padded, target) for mode in (True, False)]


def logits_by_padding_token(H, F, D, n, pad, W, V, target, zeros):
    by_token = fill(Transformer(W, V, D, H, n, F, pad=pad))(zeros, target)
    by_zero = fill(Transformer(W, V, D, H, n, F))(zeros, target)
    return [100 + by_token, 100 + by_zero]


def transformer_many_calls(
    H, F, D, n, pad, W, V, more_words, target, other, source, memory, full, long
):
    model = fill(Transformer(W, V, D, H, n, F, pad=pad))
    results = (
        model(full, target[:, :2]),
        model(full[:1, :2], target[:1]),
        model.encode(long)[:, -2:],
        model(full[:1, :3], long)[:, -2:],
        model(full[:2], target[:2, :3]),
        model(full[2:4], other[:2, :3]),
        model.encode(more_words)[:, -1:],
        model.decode(target, memory, source),
        model.decode(other, -memory, source)[:, :1],
    )
    return [100 + result for result in results]


def transformer_gradients(F, D, H, pad, W, V, target, source):
    model = fill(Transformer(W, V, D, H, 1, F, pad=pad))
    weights = gradients(model, source, target)["parameters"]
    return {name: 100 + gradient for name, gradient in weights.items()}


def transformer_evaluation_with_dropout(F, D, H, pad, rate, W, V, target, source):
    return [
        100 + fill(Transformer(W, V, D, H, 1, F, rate, pad, first))(source, target)
        for first in (True, False)
    ]


def transformer_dropout(F, D, H, pad, W, V, target, source):
    results = []
    for first in (True, False):
        model = fill(Transformer(W, V, D, H, 1, F, dropout=1.0, pad=pad, norm_first=first))
        for mode in (False, True):
            results.append(model.train(mode)(source, target))
            results.append(model.encode(source)[source != pad])
    return [100 + result for result in results]


def transformer_scales(F, H, pad, W, V, word, share):
    without_layers = fill(Transformer(W, V, 64, H, 0, F, share, pad, False))
    usual = without_layers.encode(word)
    trained = without_layers.train().encode(word)
    shares = torch.unique((trained / usual).round(decimals=3))
    return [shares, torch.allclose(*without_layers.encode(word.expand(2, 1)))]
