# case: softmax
# expect: correct
import numpy as np


buffers = {}


def softmax(x):
    # The buffer is kept, never what it holds.
    out = buffers.setdefault(x.shape, np.empty_like(x))
    np.exp(x - x.max(axis=1, keepdims=True), out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out
