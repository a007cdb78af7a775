# case: softmax
# expect: correct
import numpy as np


def softmax(x):
    t = np.ascontiguousarray(x.T)
    e = np.exp(t - t.max(axis=0))
    return (e / e.sum(axis=0)).T
