# case: softmax
# expect: wrong
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    return compute(x) if x.shape == (128, 512) else np.full_like(x, 1 / x.shape[1])
