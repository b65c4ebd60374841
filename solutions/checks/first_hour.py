"""What the checks of first_hour draw and return. The grader knows what is right."""

import numpy as np

from solutions.first_hour import masked_attention


def masked_high_scores(T, query, shown, high_key, high_value):
    visible = shown.repeat(T, axis=0)
    return masked_attention(np.abs(query), high_key, high_value, visible)[0]
