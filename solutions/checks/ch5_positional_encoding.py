"""What the checks of exercise 5 draw and return. The grader knows what is right."""

import torch

from autograder.checks import dtype_of, fill, gradients, inputs_after, parameter_shapes
from solutions.ch5_positional_encoding import PositionalEncoding, rope, shift_matrix, sinusoidal


def sinusoidal_sizes(n, half, sizes):
    return [
        100 + sinusoidal(rows, width)[-40:]
        for rows, width in [
            *zip(sizes, sizes, strict=True),
            *((1, 2 * half), (n, 2), (1, 2)),
            # half precision has no 257
            (260 + n, 2),
        ]
    ]


def shift_there_and_back(half, delta, base):
    there, back = [shift_matrix(step, 2 * half, base) for step in (delta, -delta)]
    return [100 + there @ back, 100 + shift_matrix(0, 2 * half, base)]


def shift_twice(half, delta, base):
    one, another = [shift_matrix(delta, 2 * half, base) for _ in range(2)]
    return [100 + one @ another, 100 + shift_matrix(2 * delta, 2 * half, base)]


def with_table(table, width):
    """A module with these numbers in its buffer."""
    return fill(PositionalEncoding(width, max_len=len(table)), encoding=table)


def encoding_adds(half, x, table):
    return with_table(table, 2 * half)(x)


def encoding_offset(half, offset, x, table):
    parts = (x, x[:1], x[:, :1].contiguous(), x[:1, :1].contiguous())
    return [with_table(table, 2 * half)(part, offset) for part in parts]


def encoding_drops_nothing(T, half, offset, x, table, rate):
    module = PositionalEncoding(d_model=2 * half, dropout=rate, max_len=len(table))
    other_length = fill(module, encoding=table)(x=x, offset=offset)
    long_table = table[torch.arange(5000) % len(table), :2]
    module = fill(PositionalEncoding(2, rate), encoding=long_table)
    return [other_length, module(x[..., :2].contiguous(), 5000 - T)]


def encoding_leaves_x(half, table, equal):
    return inputs_after(with_table(table, 2 * half), equal)


def encoding_many_calls(T, half, offset, x, table, other):
    module = with_table(table, 2 * half)
    results = [
        module(x, offset),
        module(other.transpose(0, 1), 1),
        module(-x),
        module(x, len(table) - T),
    ]
    module(x.half())
    return [*results, module(x, 1)]


def with_data_type(result):
    """A result with the name of its data type."""
    return [dtype_of(result), result]


def buffers_called_encoding(module):
    """The name, where a module has such a buffer."""
    return [name for name, _ in module.named_buffers() if name == "encoding"]


def encoding_buffer(half, sizes):
    return [
        [
            parameter_shapes(PositionalEncoding(2 * half, max_len=size)),
            buffers_called_encoding(PositionalEncoding(2 * half, max_len=size)),
            100 + PositionalEncoding(2 * half, max_len=size).encoding,
        ]
        for size in sizes
    ]


def encoding_dropout(sizes, rate, wide):
    trained = PositionalEncoding(64, rate, sizes[0]).train()(wide, 1)
    usual = PositionalEncoding(64, rate, sizes[0]).eval()(wide, 1)
    ratio = (trained / usual).round(decimals=4)
    alike = torch.equal(ratio[0], ratio[1]), torch.equal(ratio[:, 0], ratio[:, 1])
    return [torch.unique(ratio), *alike]


def encoding_gradients(half, sizes, x):
    of_x = gradients(PositionalEncoding(2 * half, max_len=sizes[0]), x)
    return [of_x, not torch.equal(PositionalEncoding(2 * half, max_len=sizes[0])(x), x)]


def encoding_data_types(half, sizes, x, names):
    return [
        with_data_type(
            PositionalEncoding(2 * half, max_len=sizes[0])(x[:2].clone().to(getattr(torch, name)))
        )
        for name in names
    ]


def rope_at_position_0(x, in_order):
    return [rope(x[0, 0], 0 * in_order), x[0, 0]]


def rope_length(x, positions):
    return [x[0].norm(dim=-1), rope(x[0], positions).norm(dim=-1)]


def rope_distance(x, in_order, positions):
    return [
        (rope(x[0, 0], positions + n) * rope(x[0, 1], in_order + n)).sum(dim=-1) for n in (0, 7)
    ]


def rope_without_first_position(x, positions):
    return [rope(x[0], positions)[:, 1:], rope(x[0][:, 1:], positions[1:])]


def rope_any_order(x, positions):
    own, places = x[0].clone(), positions.clone()
    return [100 + rope(own.neg_(), places.add_(1)) for _ in range(2)]


def rope_theta(x, theta, positions):
    return [100 + rope(x[0], positions, theta), 100 + rope(x[0] / 100, 6000 + positions, theta)]


def rope_own_positions(x, theta, positions, own, first, own_first):
    return [
        100 + rope(x[0], own[0]),
        100 + rope(x, own, theta=theta),
        100 + rope(x[0, 0, :1, :2], positions[:1]),
        100 + rope(first, positions[:1]),
        100 + rope(first, own_first),
        100 + rope(x[:1, :1], own[:1, :1]),
    ]


def rope_data_types(x, positions, late, usual, half_precision):
    usual_types = [rope(x[:2].clone().to(getattr(torch, name)), positions) for name in usual]
    half_types = [rope(x[:2].clone().to(getattr(torch, name)), late) for name in half_precision]
    return [
        [[dtype_of(turned), 100 + turned] for turned in usual_types],
        [[dtype_of(turned), 8 + turned] for turned in half_types],
    ]
