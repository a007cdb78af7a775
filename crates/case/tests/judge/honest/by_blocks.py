# case: softmax
# expect: correct
import numpy as np


BLOCK = 32


def softmax(x):
    out = np.empty_like(x)
    for start in range(0, x.shape[0], BLOCK):
        part = x[start : start + BLOCK]
        e = np.exp(part - part.max(axis=1, keepdims=True))
        out[start : start + BLOCK] = e / e.sum(axis=1, keepdims=True)
    return out
