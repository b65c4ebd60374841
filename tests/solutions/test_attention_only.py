"""The model of chapter 10: against loops over numbers, and with heads replaced."""

import copy
import math

import pytest
import torch

from solutions.attention_only import AttentionOnly


def make_model(n_positions=None, n_layers=2, seed=0):
    torch.manual_seed(seed)
    return AttentionOnly(7, 12, 3, n_layers, n_positions).double()


def some_tokens(batch=4, length=5):
    return torch.randint(7, (batch, length), generator=torch.Generator().manual_seed(1))


def turned(vector, position):
    """Rotary positions of one vector, entry by entry."""
    result = []
    for i in range(0, len(vector), 2):
        angle = position / 10000 ** (i / len(vector))
        a, b = vector[i], vector[i + 1]
        result += [
            a * math.cos(angle) - b * math.sin(angle),
            a * math.sin(angle) + b * math.cos(angle),
        ]
    return result


def dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def loop_logits(model, tokens):
    """One text, with plain numbers: every head of every layer, one position after the other."""
    matrix = {name: parameter.tolist() for name, parameter in model.named_parameters()}
    stream = [list(matrix["embed.weight"][token]) for token in tokens]
    if model.place is not None:
        stream = [
            [a + b for a, b in zip(x, matrix["place.weight"][t], strict=True)]
            for t, x in enumerate(stream)
        ]
    d_head = len(stream[0]) // model.layers[0].n_heads
    for number in range(len(model.layers)):
        w_q, w_k, w_v, w_o = (matrix[f"layers.{number}.w_{name}.weight"] for name in "qkvo")
        added = [[0.0] * len(stream[0]) for _ in stream]
        for head in range(model.layers[0].n_heads):
            rows = range(head * d_head, (head + 1) * d_head)
            turn = turned if model.place is None else (lambda vector, _: vector)
            queries = [turn([dot(w_q[r], x) for r in rows], t) for t, x in enumerate(stream)]
            keys = [turn([dot(w_k[r], x) for r in rows], t) for t, x in enumerate(stream)]
            values = [[dot(w_v[r], x) for r in rows] for x in stream]
            for t, query in enumerate(queries):
                powers = [math.exp(dot(query, keys[s]) / d_head**0.5) for s in range(t + 1)]
                for e in range(len(added[t])):
                    for s, power in enumerate(powers):
                        share = power / sum(powers)
                        added[t][e] += share * dot([w_o[e][r] for r in rows], values[s])
        stream = [
            [a + b for a, b in zip(x, more, strict=True)]
            for x, more in zip(stream, added, strict=True)
        ]
    normed = [[a / (dot(x, x) / len(x) + 1e-6) ** 0.5 for a in x] for x in stream]
    return [[dot(row, x) for row in matrix["unembed.weight"]] for x in normed]


@pytest.mark.parametrize("n_positions", [None, 6])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_the_model_equals_a_loop_over_numbers(n_positions, n_layers):
    model, tokens = make_model(n_positions, n_layers), some_tokens()
    wanted = [loop_logits(model, text) for text in tokens.tolist()]
    wanted = torch.tensor(wanted, dtype=torch.float64)
    torch.testing.assert_close(model(tokens), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_positions", [None, 6])
def test_a_trace_adds_up_to_the_logits(n_positions):
    model, tokens = make_model(n_positions), some_tokens()
    trace = model.trace(tokens)
    assert trace.embedding.shape == (4, 5, 12) and trace.scale.shape == (4, 5)
    assert trace.added.shape == (2, 4, 3, 5, 12) and trace.weights.shape == (2, 4, 3, 5, 5)
    total = trace.embedding + trace.added.sum(dim=(0, 2))
    torch.testing.assert_close(trace.scale, (total.square().mean(dim=-1) + 1e-6).sqrt())
    torch.testing.assert_close(model.unembed(total / trace.scale[..., None]), trace.logits)
    torch.testing.assert_close(trace.weights.sum(dim=-1), torch.ones(2, 4, 3, 5).double())
    assert (trace.weights.triu(1) == 0).all()
    torch.testing.assert_close(model(tokens), trace.logits)


def test_several_heads_are_replaced_in_one_run():
    model, tokens = make_model(), some_tokens()
    doubled = {(0, 0): lambda x: 2 * x, (0, 2): lambda x: 2 * x, (1, 1): lambda x: 2 * x}
    strong = copy.deepcopy(model)
    for layer, head in doubled:
        strong.layers[layer].w_o.weight.data[:, 4 * head : 4 * head + 4] *= 2
    torch.testing.assert_close(model(tokens, replace=doubled), strong(tokens))


def test_a_function_gets_a_copy_and_nothing_is_left_behind():
    model, tokens = make_model(), some_tokens()
    before, seen = model(tokens), []

    def add_nothing(added):
        seen.append(added.clone())
        return added.zero_()

    trace = model.trace(tokens, replace={(0, 1): add_nothing})
    torch.testing.assert_close(seen[0], model.trace(tokens).added[0, :, 1])
    assert (trace.added[0, :, 1] == 0).all() and (trace.added[0, :, 0] != 0).all()
    torch.testing.assert_close(model(tokens), before)


@pytest.mark.parametrize("place", [(2, 0), (0, 3), (-1, 0)])
def test_a_head_that_there_is_not_is_named(place):
    message = rf"no head \({place[0]}, {place[1]}\): the model has 2 layers of 3 heads"
    with pytest.raises(ValueError, match=message):
        make_model()(some_tokens(), replace={place: lambda added: added})


@pytest.mark.parametrize("function", [lambda added: None, lambda added: added[0]])
def test_a_function_has_to_return_what_is_added(function):
    with pytest.raises(ValueError, match=r"function for \(1, 0\) must return .* \(4, 5, 12\)"):
        make_model()(some_tokens(), replace={(1, 0): function})
