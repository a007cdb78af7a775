# case: softmax
# expect: correct
import numpy as np


def softmax(x):
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
