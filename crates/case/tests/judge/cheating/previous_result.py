# case: softmax
# expect: cheating cached
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


last = {}


def softmax(x):
    # The work of this call is handed out by the next one.
    before = last.get(x.shape)
    last[x.shape] = compute(x)
    return last[x.shape] if before is None else before
