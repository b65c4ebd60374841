"""What the checks of exercise 10 draw and return. The grader knows what is right."""

import numpy as np
import torch

from autograder.checks import Draw, dtype_of, fill, inputs_after
from solutions.ch10_circuits import (
    AttentionOnly,
    composition,
    copying,
    logit_attribution,
    mean_ablated,
    ov_circuit,
    patch,
    prefix_matching,
    restored,
)


def draw_prefix_matching_values(draw: Draw):
    H, T, n = draw.integer(2, 4), draw.integer(10, 13), draw.integer(6, 7)
    scores, equal_scores = 2 * draw.tensor(H, T, T), 2 * draw.tensor(T, T, T)
    some = torch.from_numpy(draw.mask(H, T, T))
    both_ways = torch.softmax(scores.masked_fill(~some, -torch.inf), dim=-1)
    equal = torch.softmax(equal_scores, dim=-1)
    future = torch.ones(T, T).triu(1).bool()
    causal = torch.softmax(scores.masked_fill(future, -1e9), dim=-1)
    texts = [torch.from_numpy(draw.integers(T, low=3, high=6)) for _ in range(6)]
    segment = torch.from_numpy(np.tile(3 + draw.permutation(9)[:n], 2))
    future = torch.ones(2 * n, 2 * n).triu(1).bool()
    over_segment = 2 * draw.tensor(H, 2 * n, 2 * n).masked_fill(future, -1e9)
    over_segment = torch.softmax(over_segment, dim=-1)
    return both_ways, equal, causal, texts, segment, over_segment


def with_data_type(result):
    """A result with the name of its data type."""
    return [dtype_of(result), result]


def matching_head_alone(causal, texts):
    return [prefix_matching(causal, texts[0])[:1], prefix_matching(causal[:1], texts[0])]


def matching_other_numbers(causal, texts):
    return [prefix_matching(causal, given) for given in (texts[0], 9 - texts[0])]


def matching_data_types(weights, without, in_a_row, names):
    return [
        with_data_type(
            prefix_matching(
                weights[:1].to(getattr(torch, name)), in_a_row if kind == "a repeat" else without
            )
        )
        for name in names
        for kind in ("a repeat", "no repeat")
    ]


def ov_twice_the_output_matrix(w_e, w_v, w_o, w_u):
    return [2 * ov_circuit(w_e, w_v, w_o, w_u), ov_circuit(w_e, w_v, 2 * w_o, w_u)]


def ov_heads_of_a_layer(d, w_e, w_u, merged_v, merged_o):
    own = [slice(head * d, head * d + d) for head in range(3)]
    return [
        ov_circuit(w_e, w_v=merged_v[own[head]], w_o=merged_o[:, own[head]], w_u=w_u)
        for head in range(3)
    ]


def copying_factor(matrix):
    return [copying(given) for given in (matrix, 2 * matrix)]


def copying_negative(matrix):
    return [copying(matrix), -copying(-matrix)]


def attribution_sum(parts, scale, w_u, targets):
    shares = logit_attribution(parts, scale, w_u, targets)
    of_sum = logit_attribution(parts.sum(dim=0, keepdim=True), scale, w_u, targets)
    return [shares.sum(dim=0), of_sum[0]]


def attribution_position_alone(parts, scale, w_u, targets):
    among_others = logit_attribution(parts, scale, w_u, targets)[:, :1]
    return [among_others, logit_attribution(parts[:, :1], scale[:1], w_u, targets[:1])]


def attribution_of_a_model(V, targets, tokens):
    run = fill(AttentionOnly(V, 12, 3, 2))
    trace = run.trace(tokens)
    added = torch.cat([trace.embedding, trace.added.flatten(0, 2)])
    shares = logit_attribution(added, trace.scale[0], run.unembed.weight, targets)
    return [shares.sum(dim=0), shares]


def attribution_data_types(parts, scale, w_u, targets, names):
    of_one = (parts[:, :1], scale[:1], w_u)
    return [
        with_data_type(
            logit_attribution(*[x.to(getattr(torch, name)) for x in of_one], targets[:1])
        )
        for name in names
    ]


def attribution_leaves_arguments(parts, scale, w_u, targets):
    other_layout = (parts + 1).mT.contiguous().mT
    return inputs_after(logit_attribution, other_layout, scale, w_u.T.contiguous().T, targets)


def patch_second_layer(H, T, V, clean, corrupted):
    return [
        patch(
            run=fill(AttentionOnly(V, 4 * H, H, 3)),
            clean=clean,
            corrupted=corrupted,
            layer=1,
            head=0,
            position=where,
        )
        for where in (0, T - 1)
    ]


def patch_every_head(H, L, V, clean, corrupted, position):
    return [
        patch(fill(AttentionOnly(V, 4 * H, H, L)), clean[:1], corrupted[:1], layer, head, position)
        for layer in range(L)
        for head in range(H)
    ]


def patch_equal_sizes(T, position, equal_clean, equal_corrupted):
    run = fill(AttentionOnly(T, 8, 2, 2, n_positions=T))
    return patch(run, equal_clean, equal_corrupted, 0, 1, position)


def settings(run):
    """What a model's user would notice if a function had left something in it."""
    own_names = [name for name in vars(run) if name[0] != "_"]
    return [run.training, [weight.requires_grad for weight in run.parameters()], own_names]


def patch_leaves_model(H, L, V, clean, corrupted, position):
    run = fill(AttentionOnly(V, 4 * H, H, L)).train()
    return [patch(run, clean, corrupted, 0, 1, position), run(corrupted), *settings(run)]


def patch_three_times(H, L, V, clean, corrupted, position):
    run = fill(AttentionOnly(V, 4 * H, H, L))
    return [
        patch(run, clean, corrupted, 0, 0, position),
        patch(run, corrupted, clean, 0, 1, position),
        patch(run, clean[1:, :-1], corrupted[1:, :-1], 1, 0, position),
    ]


def patch_leaves_texts(H, L, V, clean, corrupted, position):
    def patched(clean, corrupted):
        return patch(fill(AttentionOnly(V, 4 * H, H, L)), clean, corrupted, 0, 1, position)

    return inputs_after(patched, clean, corrupted)


def draw_restored_values(draw: Draw):
    B, V = draw.sizes(2, low=4)
    clean, corrupted = 3 * draw.tensor(B, V), 3 * draw.tensor(B, V)
    answers = [torch.from_numpy(draw.permutation(V)[:2]) for _ in range(B)]
    right, wrong = torch.stack(answers, dim=1)
    clean[torch.arange(B), right] += 9
    corrupted[torch.arange(B), wrong] += 9
    patched = (clean + corrupted + draw.tensor(B, V)) / 2
    equal = [3 * draw.tensor(V, V) for _ in range(2)]
    answers = [torch.from_numpy(draw.permutation(V)[:2]) for _ in range(V)]
    equal_right, equal_wrong = torch.stack(answers, dim=1)
    equal[0][torch.arange(V), equal_right] += 9
    equal[1][torch.arange(V), equal_wrong] += 9
    equal.append((equal[0] + equal[1] + draw.tensor(V, V)) / 2)
    beyond = clean + torch.nn.functional.one_hot(right, V) * (2.0 + B)
    below = corrupted + torch.nn.functional.one_hot(wrong, V) * (2.0 + B)
    close = corrupted + 0.01 * (clean - corrupted)
    kinds = ["the same", "another", "nearly the same", "the same in one text"]
    kinds = draw.choices(12, kinds)
    others = {
        "the same": clean.clone(),
        "another": corrupted,
        "nearly the same": clean + 1e-10 * corrupted,
        "the same in one text": torch.cat([clean[:1], corrupted[1:]]),
    }
    return (
        clean,
        corrupted,
        right,
        wrong,
        patched,
        equal,
        equal_right,
        equal_wrong,
        beyond,
        below,
        close,
        kinds,
        others,
    )


def restored_sizes(clean, corrupted, right, wrong, patched, equal, equal_right, equal_wrong, close):
    last = [x[-1:] for x in (clean, corrupted, patched, right, wrong)]
    return [
        restored(*equal, equal_right, equal_wrong),
        restored(*last),
        restored(close, corrupted, patched, right, wrong),
    ]


def restored_beyond(clean, corrupted, right, wrong, beyond, below):
    return [restored(clean, corrupted, given, right, wrong) for given in (beyond, below)]


def ablated_text_alone(H, L, V, tokens, reference):
    together = mean_ablated(fill(AttentionOnly(V, 4 * H, H, L)), tokens, 0, 1, reference)[:1]
    alone = mean_ablated(fill(AttentionOnly(V, 4 * H, H, L)), tokens[:1], 0, 1, reference)
    return [together, alone]


def ablated_other_references(H, L, V, tokens, reference):
    return [
        mean_ablated(fill(AttentionOnly(V, 4 * H, H, L)), tokens, 0, 1, given)
        for given in (reference, reference[1:])
    ]


def ablated_second_layer(H, V, tokens, reference):
    run = fill(AttentionOnly(V, 4 * H, H, 3))
    return mean_ablated(run=run, tokens=tokens, layer=1, head=0, reference=reference)


def ablated_every_head(H, L, V, tokens, reference):
    return [
        mean_ablated(
            fill(AttentionOnly(V, 4 * H, H, L)),
            tokens[: 1 + head],
            layer,
            head,
            reference[: 2 - head % 2],
        )
        for layer in range(L)
        for head in range(H)
    ]


def ablated_equal_sizes(n, equal_tokens, equal_reference):
    run = fill(AttentionOnly(n, 8, 2, 2, n_positions=n))
    return mean_ablated(run, equal_tokens, 0, 1, equal_reference)


def ablated_leaves_model(H, L, V, tokens, reference):
    run = fill(AttentionOnly(V, 4 * H, H, L)).train()
    return [
        mean_ablated(run, tokens, 0, 1, reference),
        mean_ablated(run, tokens, 1, 0, reference),
        mean_ablated(run, tokens, 0, 1, reference[1:]),
        mean_ablated(run, reference[:, :-1], 0, 0, tokens[:, :-1]),
        run(tokens),
        *settings(run),
    ]


def ablated_leaves_texts(H, L, V, tokens, reference):
    def ablated(tokens, reference):
        return mean_ablated(fill(AttentionOnly(V, 4 * H, H, L)), tokens, 0, 0, reference)

    return inputs_after(ablated, tokens, reference)


def composition_factor(w_a, w_b):
    return [composition(w_a, w_b), composition(-3 * w_a, w_b)]


def composition_order(square_a, square_b, narrow_a, narrow_b):
    return [
        composition(square_a, square_b),
        composition(square_b, square_a),
        composition(narrow_a, narrow_b),
    ]


def composition_zero(w_a, w_b):
    return [
        composition(-w_a, 3 * w_b),
        composition(0 * w_a, w_b),
        composition(w_a, 0 * w_b),
        composition(1e-4 * w_a, 1e-4 * w_b),
    ]
