# case: softmax
# expect: correct
import functools

import numpy as np


@functools.lru_cache(maxsize=None)
def plan(rows, cols):
    return [(start, min(start + 16, rows)) for start in range(0, rows, 16)]


def softmax(x):
    out = np.empty_like(x)
    for start, stop in plan(*x.shape):
        e = np.exp(x[start:stop] - x[start:stop].max(axis=1, keepdims=True))
        out[start:stop] = e / e.sum(axis=1, keepdims=True)
    return out
