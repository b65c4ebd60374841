"""Heads with smeared keys, against loops over positions."""

import torch

from book.models.smeared_keys import SmearedHeads
from solutions.attention_only import AttentionHeads
from solutions.ch5_positional_encoding import rope


def turned(vector, position):
    """One vector (d,) turned as at a position."""
    return rope(vector[None], torch.tensor([position]))[0]


def test_heads_are_those_of_a_loop_over_queries_and_keys():
    torch.manual_seed(0)
    heads = SmearedHeads(12, 3, True)
    with torch.no_grad():
        heads.mixture.copy_(torch.tensor([-1.0, 0.5, 3.0])[:, None, None])
        x = torch.randn(2, 5, 12)
        added, weights = heads(x)
        for b in range(2):
            for h in range(3):
                rows = slice(4 * h, 4 * h + 4)
                q, k, v = (x[b] @ w.weight[rows].T for w in (heads.w_q, heads.w_k, heads.w_v))
                share = 1 / (1 + (-heads.mixture[h]).exp().item())
                for i in range(5):
                    scores = []
                    for j in range(i + 1):
                        key = share * k[j] + ((1 - share) * k[j - 1] if j else 0)
                        scores.append(turned(q[i], i) @ turned(key, j) / 2)
                    row = torch.stack(scores).softmax(0)
                    torch.testing.assert_close(weights[b, h, i, : i + 1], row)
                    torch.testing.assert_close(
                        added[b, h, i], heads.w_o.weight[:, rows] @ (row @ v[: i + 1])
                    )


def test_without_a_share_of_the_key_before_heads_are_ordinary():
    torch.manual_seed(1)
    smeared, ordinary = SmearedHeads(8, 2, False), AttentionHeads(8, 2, False)
    ordinary.load_state_dict(smeared.state_dict(), strict=False)
    x = torch.randn(1, 6, 8)
    assert not torch.allclose(smeared(x)[0], ordinary(x)[0], atol=1e-3)
    with torch.no_grad():
        smeared.mixture.fill_(40)
    torch.testing.assert_close(smeared(x), ordinary(x))
