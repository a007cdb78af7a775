# case: softmax
# expect: wrong
import numpy as np


def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=1, keepdims=True)
