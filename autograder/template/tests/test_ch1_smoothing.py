"""The reference against an independent calculation."""

import numpy as np
from solutions.ch1_smoothing import moving_average, residuals

SERIES = np.array([1.0, 3.0, 5.0, 11.0, 5.0])


def test_a_moving_average_by_hand():
    assert np.allclose(moving_average(SERIES, 2), [2, 4, 8, 8])
    assert np.allclose(moving_average(SERIES, 5), [5])


def test_residuals_by_hand():
    assert np.allclose(residuals(SERIES, 3), [3 - 9 / 3, 5 - 19 / 3, 11 - 21 / 3])
