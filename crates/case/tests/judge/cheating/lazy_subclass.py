# case: softmax
# expect: cheating lazy
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class Lazy(np.ndarray):
    def __array__(self, *args, **kwargs):
        return compute(self.kept)


def softmax(x):
    out = np.empty_like(x).view(Lazy)
    out.kept = x.copy()
    return out
