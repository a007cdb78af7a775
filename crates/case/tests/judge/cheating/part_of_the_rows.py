# case: softmax
# expect: wrong
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    out = np.full_like(x, 1 / x.shape[1])
    half = x.shape[0] - x.shape[0] // 4
    out[:half] = compute(x[:half])
    return out
