"""All tasks with their published answers, in the order of the results."""

from benchmarks.peer_answers import (
    beam,
    cache,
    causal,
    cross,
    cross_entropy,
    flash,
    grouped,
    linear,
    multi_head,
    rope,
    sampling,
    scaled_dot_product,
    sinusoidal,
    softmax,
    speculative,
    window,
)

PUBLISHED = (
    softmax.TASK,
    scaled_dot_product.TASK,
    multi_head.TASK,
    grouped.TASK,
    causal.TASK,
    cross.TASK,
    sinusoidal.TASK,
    rope.TASK,
    cross_entropy.TASK,
    beam.TASK,
    cache.TASK,
    sampling.TASK,
    speculative.TASK,
    window.TASK,
    flash.TASK,
    linear.TASK,
)
