"""The map of patches, against runs in which each layer is computed by itself."""

import torch

from book.models.patch_map import patch_map
from solutions.attention_only import AttentionOnly

SIZES = {"texts": 3, "length": 6, "layers": 2, "heads": 3}


def slow_run(model, tokens, source=None, heads=(), places=()):
    """Logits, and what each head has added, with some entries taken from `source` one by one."""
    x, kept = model.embed(tokens), []
    for i, layer in enumerate(model.layers):
        added, _ = layer(x)
        for b in range(len(tokens)):
            for j in range(SIZES["heads"]):
                for place in range(SIZES["length"]):
                    if (i, j) in heads and place in places:
                        added[b, j, place] = source[i][b, j, place]
        kept.append(added.clone())
        for j in range(SIZES["heads"]):
            x = x + added[:, j]
    return model.unembed(x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()), kept


def mean_difference(logits, right, wrong):
    rows = logits.tolist()
    return sum(row[r] - row[w] for row, r, w in zip(rows, right, wrong, strict=True)) / len(rows)


@torch.no_grad()
def test_the_map_is_that_of_slow_runs():
    torch.manual_seed(0)
    model = AttentionOnly(20, 12, SIZES["heads"], SIZES["layers"])
    clean, corrupted = torch.randint(20, (2, SIZES["texts"], SIZES["length"]))
    right, wrong = torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6])
    at = 4
    groups = [[(0, 1)], [(1, 2)], [(0, 0), (0, 1), (0, 2)]]
    places = [[0], [4], [1, 3], [5]]
    found = patch_map(model, clean, corrupted, at, right, wrong, groups, places)
    logits, source = slow_run(model, clean)
    high = mean_difference(logits[:, at], right, wrong)
    low = mean_difference(slow_run(model, corrupted)[0][:, at], right, wrong)
    for row, heads in enumerate(groups):
        for column, some in enumerate(places):
            logits, _ = slow_run(model, corrupted, source, heads, some)
            value = (mean_difference(logits[:, at], right, wrong) - low) / (high - low)
            torch.testing.assert_close(found[row, column].item(), value, atol=1e-4, rtol=1e-4)
    # later positions can't matter, and the second layer matters only where it is asked
    assert found[:, 3].abs().max() < 1e-5 and found[1, 0].abs() < 1e-5
    assert found[1, 1].abs() > 1e-3
