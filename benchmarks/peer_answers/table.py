"""All tasks, in the order of the results."""

from benchmarks.peer_answers import cache, flash, grouped, linear, scaled_dot_product, window

TASKS = (
    scaled_dot_product.TASK,
    flash.TASK,
    window.TASK,
    grouped.TASK,
    linear.TASK,
    cache.TASK,
)
