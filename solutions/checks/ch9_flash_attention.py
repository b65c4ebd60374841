"""What the checks of exercise 9 draw and return. The grader knows what is right."""

import torch

from autograder.checks import Draw, dtype_of, inputs_after
from solutions.ch9_flash_attention import (
    flash_backward,
    flash_forward,
    linear_attention_chunked,
    merge,
    paged_attention,
)


def with_data_types(results):
    """Each result with the name of its data type."""
    return [[dtype_of(result), result] for result in results]


def as_type(name, *tensors):
    """Tensors in the data type of that name."""
    return [tensor.to(getattr(torch, name)) for tensor in tensors]


def merge_data_types(equal_first, equal_second):
    return [
        with_data_types(merge(as_type(name, *equal_first), as_type(name, *equal_second)))
        for name in ("float64", "float32")
    ]


def draw_merge_edges(draw: Draw):
    b, T, dv = draw.sizes(3, low=4, high=8)
    first, second = [(draw.tensor(b, T, dv), draw.tensor(b, T)) for _ in range(2)]
    rows = torch.arange(T) < T // 2
    half_empty = (
        torch.where(rows[:, None], 0.0, second[0]),
        torch.where(rows, -torch.inf, second[1]),
    )
    return T, first, second, half_empty


def merge_both_empty(first, half_empty):
    return [merge(half_empty, half_empty), merge(merge(half_empty, half_empty), first)]


def merge_large_lse(T, first, second):
    rows_far_apart = 2000 * (torch.arange(T) - 1)
    return [
        merge((first[0], first[1] + shift), (second[0], second[1] + shift))
        for shift in (-3000, 3000, rows_far_apart)
    ]


def forward_leading_axes(m, n, query, key, value):
    one = flash_forward(query[0], key[0], value[0], m, n)
    two = flash_forward(query, key, value, n, m)
    three = flash_forward(-query[None], key[None], value[None], m, n)
    return [one, two, three]


def forward_equal_sizes(n, equal_query, equal_key, equal_value):
    equal = (equal_query, equal_key, equal_value)
    return [flash_forward(*equal, n, n), flash_forward(*equal, 1, 1)]


def forward_block_sizes(m, n, few):
    return [
        flash_forward(*few, *sizes)
        for sizes in [(1, n), (m, 1), (m + 1, m), (n, n + 1), (n + 5, n + 5)]
    ]


def causal_tiles(m, n, query, key, value):
    return [flash_forward(query, key, value, *sizes, causal=True) for sizes in [(m, n), (n, m)]]


def causal_later_keys(m, n, square_query, square_key, square_value):
    others = torch.cat([square_key[:-1], square_value.new_ones(1, square_key.shape[-1])])
    negative = torch.cat([square_value[:-1], -square_value[-1:]])
    results = []
    for given in [(square_key, square_value), (others, negative)]:
        key, value = [torch.cat([one[:-1], -one[-1:]]) for one in given]
        results.append(flash_forward(square_query, key, value, m, n, causal=True)[0][:-1])
    return results


def causal_square(m, n, square_query, square_key, square_value):
    square = (square_query, square_key, square_value)
    return [flash_forward(*square, *sizes, causal=True) for sizes in [(m, n), (n, m), (n, n)]]


def causal_fewer_queries(m, n, query, key, value):
    return [flash_forward(query, key, value, *sizes, causal=True) for sizes in [(m, n), (n, m)]]


def causal_more_queries(m, n, more_query, less_key, less_value):
    given = (more_query, less_key, less_value)
    return [flash_forward(*given, *sizes, True) for sizes in [(m, n), (n, n)]]


def causal_new_query(m, n, query, key, value):
    return [
        flash_forward(query[:, :1].float(), given.float(), value.float(), m, n, causal=True)
        for given in (key, key.flip(-2))
    ]


def not_contiguous(*tensors):
    """The same numbers in another memory layout."""
    return [torch.stack([x.mT, 2 * x.mT]).mT.transpose(0, 1) for x in tensors]


def forward_large_scores(m, n, query, key, value):
    return [
        flash_forward(factor * query, shift + key, value, m, n)
        for factor, shift in [(1, -3000), (1, 3000), (-900, 0)]
    ]


def forward_large_masked_scores(m, n, query, value, rising):
    return [
        flash_forward(sign * query, shift + rising, value, m, n, causal=True)
        for sign, shift in [(1, 0), (1, -90000), (-1, 0), (100, 0)]
    ]


def forward_data_types(m, n, query, key, value, names):
    return [
        with_data_types(flash_forward(*as_type(name, query[0], key[0], value[0]), m, n))
        for name in names
    ]


def forward_leaves_arguments(m, n, query, key, value):
    def causal(q, k, v):
        return flash_forward(q, k, v, n, m, causal=True)

    return inputs_after(causal, *not_contiguous(query, key, value))


def forward_memory(block_q, block_k, query, key, value):
    return [
        [x[::301] for x in flash_forward(query, key, value, block_q, block_k, causal)]
        for causal in (False, True)
    ]


def draw_flash_backward_values(draw: Draw):
    b, h = draw.sizes(2, high=4)
    m, n = sorted(draw.sizes(2, low=3, high=6))
    d, dv = draw.sizes(2, low=4, high=9)
    T = draw.choices(1, [size for size in range(n + 1, m * n) if size % m and size % n])[0]
    S = draw.choices(1, [size for size in range(m * n + 1, m * n + 6) if size % m and size % n])[0]
    query, key, value = (
        2 * draw.tensor(b, h, T, d),
        draw.tensor(b, h, S, d),
        draw.tensor(b, h, S, dv),
    )
    grad = draw.tensor(b, h, T, dv)
    output, lse = attended(query, key, value)
    few = (query[0, 0, : m + 1], key[0, 0, : n + 1], value[0, 0, : n + 1])
    scores = (query @ key.mT / d**0.5)[0, 0, : m + 1, : n + 1]
    few = (*few, scores.softmax(-1) @ few[2], scores.logsumexp(-1), grad[0, 0, : m + 1])
    other = (2 * draw.tensor(S, d), draw.tensor(T, d), draw.tensor(T, dv), draw.tensor(S, dv))
    other_output, other_lse = attended(*other[:3])
    equal = (2 * draw.tensor(n, n, n), *(draw.tensor(n, n, n) for _ in range(3)))
    equal_output, equal_lse = attended(*equal[:3])
    return (
        m,
        n,
        query,
        key,
        value,
        grad,
        output,
        lse,
        few,
        other,
        other_output,
        other_lse,
        equal,
        equal_output,
        equal_lse,
    )


def attended(query, key, value, mask=None):
    """Output and lse, with a row of zeros where a query sees nothing."""
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1).nan_to_num() @ value, scores.logsumexp(-1)


def backward_tiles(m, n, query, key, value, grad, output, lse):
    given = (query, key, value, output, lse, grad)
    return [flash_backward(*given, *sizes) for sizes in [(m, n), (n, m)]]


def backward_twice_the_gradient(m, n, query, key, value, grad, output, lse):
    given = (query, key, value, output, lse)
    twice = [2 * x for x in flash_backward(*given, grad, m, n)]
    return [twice, flash_backward(*given, 2 * grad, m, n)]


def backward_matrices(m, n, query, key, value, grad, output, lse):
    given = [x[0, 0] for x in (query, key, value, output, lse, grad)]
    return flash_backward(*given, m, n)


def backward_more_queries(m, n, other, other_output, other_lse):
    return flash_backward(*other[:3], other_output, other_lse, other[3], block_q=n, block_k=m)


def backward_leading_axes(m, n, query, key, value, grad, output, lse):
    given = (query, key, value, output, lse, grad)
    return [flash_backward(*[x[0] for x in given], m, n), flash_backward(*given, n, m)]


def backward_equal_sizes(n, equal, equal_output, equal_lse):
    return [
        flash_backward(*equal[:3], equal_output, equal_lse, equal[3], size, size) for size in (n, 1)
    ]


def backward_block_sizes(m, n, few):
    return [
        flash_backward(*few, *sizes)
        for sizes in [(1, n), (m, 1), (m + 1, m), (n, n + 1), (n + 5, n + 5)]
    ]


def draw_flash_backward_edges(draw: Draw):
    m, n = sorted(draw.sizes(2, low=3, high=6))
    d, dv = draw.sizes(2, low=4, high=9)
    T = draw.choices(1, [size for size in range(n + 1, m * n) if size % m and size % n])[0]
    S = draw.choices(1, [size for size in range(m * n + 1, m * n + 6) if size % m and size % n])[0]
    query, key, value = 2 * draw.tensor(2, T, d), draw.tensor(2, S, d), draw.tensor(2, S, dv)
    grad = draw.tensor(2, T, dv)
    whole_output, whole_lse = attended(query, key, value)
    output, lse = attended(query, key, value, may_see(T, S))
    other = (2 * draw.tensor(S, d), draw.tensor(T, d), draw.tensor(T, dv), draw.tensor(S, dv))
    other_output, other_lse = attended(*other[:3], may_see(S, T))
    far_query = 30 * (1 + query[0].abs())
    far_key = key[0] / 10 + 20 * (torch.arange(S) == S - 1)[:, None]
    far_output, far_lse = attended(far_query, far_key, value[0], may_see(T, S))
    low_key = key[0] / 10 - 30
    low_output, low_lse = attended(far_query, low_key, value[0])
    names = draw.choices(10, ["float32", "float64"])
    return (
        m,
        n,
        S,
        query,
        key,
        value,
        grad,
        whole_output,
        whole_lse,
        output,
        lse,
        other,
        other_output,
        other_lse,
        far_query,
        far_key,
        far_output,
        far_lse,
        low_key,
        low_output,
        low_lse,
        names,
    )


def may_see(T, S):
    """(T, S): the causal mask of T queries, the last of which sees all keys."""
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


def backward_fewer_queries(m, n, query, key, value, grad, output, lse):
    given = (query, key, value, output, lse, grad)
    return [flash_backward(*given, *sizes, causal=True) for sizes in [(m, n), (n, m)]]


def backward_queries_that_see_nothing(m, n, other, other_output, other_lse):
    return [
        flash_backward(*other[:3], other_output, other_lse, other[3], *sizes, True)
        for sizes in [(m, n), (n, n)]
    ]


def backward_part_of_the_keys(m, n, S, query, key, value, grad, whole_output, whole_lse):
    results = []
    for part in (slice(0, n + 1), slice(S - n, S)):
        given = (query[:1], key[:1, part], value[:1, part], whole_output[:1], whole_lse[:1])
        results.append(flash_backward(*given, grad[:1], m, n))
    return results


def backward_large_scores(
    m, n, S, value, grad, far_query, far_key, far_output, far_lse, low_key, low_output, low_lse
):
    far = flash_backward(
        far_query, far_key, value[0], far_output, far_lse, grad[0], m, n, causal=True
    )
    low = flash_backward(far_query, low_key, value[0], low_output, low_lse, grad[0], m, S)
    return [far, low]


def backward_data_types(m, n, query, key, value, grad, output, lse, names):
    given = [x[0] for x in (query, key, value, output, lse, grad)]
    return [with_data_types(flash_backward(*as_type(name, *given), m, n, True)) for name in names]


def backward_leaves_arguments(m, n, query, key, value, grad, output, lse):
    def causal(*given):
        return flash_backward(*given, n, m, causal=True)

    layouts = [
        torch.stack([x.mT, x.mT]).mT.transpose(0, 1) for x in (query, key, value, output, grad)
    ]
    lse_layout = torch.stack([lse, lse], -1).mT.transpose(0, 1)
    return inputs_after(causal, *layouts[:4], lse_layout, layouts[4])


def backward_memory(block_q, block_k, query, key, value, output, lse, grad):
    given = (query, key, value, output, lse, grad, block_q, block_k)
    return [[x[::301] for x in flash_backward(*given, causal)] for causal in (False, True)]


def draw_paged_attention_values(draw: Draw):
    H, page, d, dv = draw.sizes(4, low=2, high=7)
    B, n = 5, 4
    P = B * n + 3
    query = 2 * draw.tensor(B, H, d)
    key_pages, value_pages = draw.tensor(P, H, page, d), draw.tensor(P, H, page, dv)
    table = torch.from_numpy(draw.permutation(P))[: B * n].reshape(B, n)
    whole = page * torch.from_numpy(draw.integers(B, low=1, high=n))
    filled_pages = torch.tensor([0, 1, 2, 3, 1])[torch.from_numpy(draw.permutation(B))]
    lengths = page * filled_pages + torch.from_numpy(draw.integers(B, low=1, high=page - 1))
    needed = torch.arange(n) * page < lengths[:, None]
    stale = torch.where(needed, table, torch.tensor([-1, P + 5, 0, P + 7]))
    needed = torch.arange(n) * page < whole[:, None]
    full = torch.where(needed, table, torch.tensor([-1, P + 5, P + 6, P + 7]))
    with_empty = torch.where(torch.arange(B) == draw.integer(0, B - 1), 0, lengths)
    used = torch.arange(n * page).reshape(n, page) < lengths[:, None, None]
    written = torch.zeros(P, page, dtype=torch.bool).index_put((table,), used)[:, None, :, None]
    holes = []
    for pages in (key_pages, value_pages):
        never = torch.tensor([torch.nan, torch.inf])[torch.arange(pages.shape[-1]) % 2]
        holes.append(torch.where(written, pages, never))
    shared = torch.cat([table[:1, :1].expand(B, 1), table[:, 1:]], dim=1)
    square = [
        2 * draw.tensor(B, 3, 3),
        draw.tensor(B * B, 3, 3, 3),
        draw.tensor(B * B, 3, 3, 3),
        torch.from_numpy(draw.permutation(B * B)).reshape(B, B),
        torch.tensor([1, 4, 8, 11, 15])[torch.from_numpy(draw.permutation(B))],
    ]
    filled = (torch.arange(3 * B).reshape(B, 3) < square[4][:, None, None]).flatten(0, 1)
    places = square[3].flatten()
    for pages in square[1:3]:
        pages[places] = torch.where(filled[:, None, :, None], pages[places], torch.nan)
    return (
        page,
        n,
        P,
        query,
        key_pages,
        value_pages,
        table,
        whole,
        lengths,
        stale,
        full,
        with_empty,
        holes,
        shared,
        square,
    )


def paged_text_alone(query, key_pages, value_pages, table, lengths):
    together = paged_attention(query, key_pages, value_pages, table, lengths)[:1]
    return [together, paged_attention(query[:1], key_pages, value_pages, table[:1], lengths[:1])]


def paged_twice_the_values(query, key_pages, value_pages, table, lengths):
    twice = 2 * paged_attention(query, key_pages, value_pages, table, lengths)
    return [twice, paged_attention(query, key_pages, 2 * value_pages, table, lengths)]


def paged_stale_entries(query, key_pages, value_pages, whole, lengths, stale, full):
    pages = (key_pages, value_pages)
    return [
        paged_attention(query, *pages, stale, lengths),
        paged_attention(query, *pages, full, whole),
        paged_attention(query[:1], *pages, stale[:1], lengths[:1]),
    ]


def paged_empty_text(page, n, P, query, key_pages, value_pages, table, with_empty):
    needed = torch.arange(n) * page < with_empty[:, None]
    other_numbers = torch.where(needed, table, P + 5)
    return [
        paged_attention(query, key_pages, value_pages, entries, with_empty)
        for entries in (table, other_numbers)
    ]


def paged_shared_pages(query, key_pages, value_pages, table, lengths, shared):
    first_shared = paged_attention(query, key_pages, value_pages, shared, lengths)
    large = paged_attention(-900 * query, 5 + key_pages, value_pages, table, lengths)
    return [first_shared, large]


def linear_size_of_chunks(T, query, key, value):
    given = (query[0, 0], key[0, 0], value[0, 0])
    return [linear_attention_chunked(*given, size) for size in (1, T)]


def linear_later_positions(chunk, query, key, value):
    results = []
    for factor in (1, -2):
        given = [torch.cat([x[0, 0][:-1], factor * x[0, 0][-1:]]) for x in (query, key, value)]
        results.append(linear_attention_chunked(*given, chunk)[0][:-1])
    return results


def linear_twice_the_values(chunk, query, key, value):
    of_query = (query[0, 0], key[0, 0])
    twice = 2 * linear_attention_chunked(*of_query, value[0, 0], chunk)[0]
    return [twice, linear_attention_chunked(*of_query, 2 * value[0, 0], chunk)[0]]


def linear_whole_chunks(chunk, query, key, value):
    return linear_attention_chunked(*[x[0, 0, : 3 * chunk] for x in (query, key, value)], chunk)


def linear_chunks(T, query, key, value):
    given = (query[0, 0], key[0, 0], value[0, 0])
    return [linear_attention_chunked(*given, chunk=size) for size in (1, T - 1, T, T + 5)]


def linear_leading_axes(chunk, query, key, value, equal):
    return [
        linear_attention_chunked(query[0, :1], key[0, :1], value[0, :1], chunk),
        linear_attention_chunked(query, key, value, chunk),
        linear_attention_chunked(*equal, 2),
    ]


def linear_data_types(chunk, query, key, value, names):
    given = (query[0, 0], key[0, 0], value[0, 0])
    return [
        with_data_types(linear_attention_chunked(*as_type(name, *given), chunk)) for name in names
    ]


def linear_leaves_arguments(chunk, query, key, value):
    def chunked(*given):
        return linear_attention_chunked(*given, chunk)

    layouts = [torch.stack([x[0].mT, x[0].mT]).mT.transpose(0, 1) for x in (query, key, value)]
    return inputs_after(chunked, *layouts)
