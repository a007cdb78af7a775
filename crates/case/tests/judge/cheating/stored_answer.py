# case: softmax
# expect: cheating constant
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


stored = {}


def softmax(x):
    return stored.setdefault(x.shape, compute(x)).copy()
