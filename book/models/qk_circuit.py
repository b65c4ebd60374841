"""The QK circuit of a head with rotary positions: scores of tokens."""

# Pages show this code, in a column of 72 characters.
# fmt: off
import torch

from solutions.ch5_positional_encoding import rope


def qk_circuit(
    reads: torch.Tensor,
    stands: torch.Tensor,
    w_q: torch.Tensor,
    w_k: torch.Tensor,
    distance: int,
) -> torch.Tensor:
    """The score of every query with every key, so far apart.

    Args:
        reads: (N, D), what may stand at the position of the query.
        stands: (M, D), what may stand at the position of the key.
        w_q, w_k: (d, D), the head's rows of both matrices.
        distance: positions from the key to the query.

    Returns:
        (N, M), divided by the square root of d.
    """
    query, key = reads @ w_q.T, stands @ w_k.T
    at = torch.full((len(query),), distance)
    query = rope(query[None], at)[0]
    return query @ key.T / key.shape[1] ** 0.5


def written_by(
    vectors: torch.Tensor, w_v: torch.Tensor, w_o: torch.Tensor
) -> torch.Tensor:
    """What a head adds if all of its weight is on one of the vectors
    (N, D): (N, D). w_v: (d, D), its rows. w_o: (D, d), its columns.
    """
    return vectors @ (w_o @ w_v).T
