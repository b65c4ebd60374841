# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Exercise 1: Smoothing
#
# You take the noise out of a series of measurements, and then look at what you have taken out.
#
# Replace each `raise NotImplementedError(...)` by your code and run the check below it. A check draws inputs
# and compares your values with the right ones. When you are graded, the same checks run on other inputs.

# %% nbgrader={"grade_id": "imports", "locked": true}
import numpy as np

# %% [markdown]
# ## 1. A moving average
#
# A window of `width` neighbouring values moves over the series, one value at a time. Where it stands, take the
# mean of the values in it. With `width = 2`, the series `1, 3, 5, 11` becomes `2, 4, 8`: only whole windows count.


# %% nbgrader={"grade_id": "moving_average", "solution": true}
def moving_average(values: np.ndarray, width: int) -> np.ndarray:
    """The mean of every window of neighbouring values.

    Args:
        values: (n,), floats; left unchanged.
        width: the number of values in a window, from 1 to n.

    Returns:
        (n - width + 1,): the means, in the order of the windows.
    """
    ### BEGIN SOLUTION
    weights = np.full(width, 1 / width)
    return np.convolve(values, weights, mode="valid")
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "moving_average_values", "grade": true, "points": 3}
# n, width = draw.integer(12, 20), draw.integer(3, 6)
# values = draw.array(n)
# says("is the mean of every window of neighbours")
# ### 2p AUTOTEST moving_average(values, width)
# says("works for windows of one value and of all values", parts=["one value", "all values"])
# ### 1p AUTOTEST [moving_average(values, 1), moving_average(values, n)]

# %% [markdown]
# ## 2. What is left
#
# Subtract from each value the mean of the window that has this value in its middle. Values near the two ends
# are the middle of no whole window, so they have no place in the result.


# %% nbgrader={"grade_id": "residuals", "solution": true}
def residuals(values: np.ndarray, width: int) -> np.ndarray:
    """Values minus the mean of the window around them.

    Args:
        values: (n,), floats; left unchanged.
        width: the number of values in a window, odd, from 1 to n.

    Returns:
        (n - width + 1,): for each value that is the middle of a whole window.
    """
    ### BEGIN SOLUTION
    half = width // 2
    return values[half : len(values) - half] - moving_average(values, width)
    ### END SOLUTION


# %% active="ipynb" nbgrader={"grade_id": "residuals_values", "grade": true, "points": 2}
# n, half = draw.integer(12, 20), draw.integer(1, 3)
# values = draw.array(n)
# says("is each value minus the mean of the window around it")
# ### 2p AUTOTEST residuals(values, 2 * half + 1)
