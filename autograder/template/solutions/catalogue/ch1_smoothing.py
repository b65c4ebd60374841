"""Known mistakes and accepted alternatives of exercise 1."""

from autograder.catalogue import Alternative, Mistake

# the section of the book to read again, by grade cell
SECTIONS = {
    "moving_average_values": "ch1-windows",
    "residuals_values": "ch1-residuals",
}

MISTAKES = [
    Mistake(
        name="windows that reach beyond the ends",
        function="moving_average",
        cell="moving_average_values",
        means="There is a mean for every value here, as if zeros stood before the first value and behind "
        "the last one.",
        hint="How many whole windows of 3 values are there in a series of 5?",
        section="ch1-windows",
        edits=[('mode="valid"', 'mode="same"')],
    ),
    Mistake(
        name="sums in place of means",
        function="moving_average",
        cell="moving_average_values",
        means="These are the sums of the windows.",
        hint="What should come out when all values are 1?",
        section="ch1-windows",
        edits=[("np.full(width, 1 / width)", "np.ones(width)")],
    ),
    Mistake(
        name="medians in place of means",
        function="moving_average",
        cell="moving_average_values",
        means="These are the middle values of the windows when sorted.",
        hint="Does a single very large value change your result as much as it should?",
        section="ch1-windows",
        source="""
def moving_average(values, width):
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    return np.median(windows, axis=1)
""",
    ),
    Mistake(
        name="means subtracted from the first values of their windows",
        function="residuals",
        cell="residuals_values",
        means="Each mean was subtracted from the first value of its window.",
        hint="Which value of a window of 3 is its middle: number 0, 1 or 2?",
        section="ch1-residuals",
        edits=[("values[half : len(values) - half]", "values[: len(values) - 2 * half]")],
    ),
    Mistake(
        name="values subtracted from means",
        function="residuals",
        cell="residuals_values",
        means="The numbers are right, but every sign is the other one.",
        hint="Should a value above its neighbours leave something positive or negative?",
        section="ch1-residuals",
        edits=[
            (
                "values[half : len(values) - half] - moving_average(values, width)",
                "moving_average(values, width) - values[half : len(values) - half]",
            )
        ],
    ),
]

ALTERNATIVES = [
    Alternative(
        name="a loop over the windows",
        source="""
def moving_average(values, width):
    means = []
    for start in range(len(values) - width + 1):
        means.append(sum(values[start : start + width]) / width)
    return np.array(means)
""",
        cost="The definition, word by word. Slow for long series.",
    ),
    Alternative(
        name="differences of running sums",
        source="""
def moving_average(values, width):
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return (sums[width:] - sums[:-width]) / width
""",
        cost="The time does not grow with the width. Digits are lost where the running sum is large.",
    ),
    Alternative(
        name="residuals by the positions of the middles",
        source="""
def residuals(values, width):
    means = moving_average(values, width)
    middles = width // 2 + np.arange(len(means))
    return values[middles] - means
""",
        cost="Nothing to get wrong at the right end.",
    ),
]
