# case: softmax
# expect: cheating cached
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


stored = {}


def softmax(x):
    key = (x.ctypes.data, x.shape)
    if key not in stored:
        stored[key] = compute(x)
    return stored[key].copy()
