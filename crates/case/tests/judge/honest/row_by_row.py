# case: softmax
# expect: correct
import numpy as np


def softmax(x):
    out = np.empty_like(x)
    for row in range(x.shape[0]):
        e = np.exp(x[row] - x[row].max())
        out[row] = e / e.sum()
    return out
