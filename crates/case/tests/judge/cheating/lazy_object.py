# case: softmax
# expect: cheating lazy
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class Lazy:
    def __init__(self, x):
        self.x, self.shape, self.dtype = x.copy(), x.shape, x.dtype

    def __array__(self, dtype=None, copy=None):
        return compute(self.x)


def softmax(x):
    return Lazy(x)
