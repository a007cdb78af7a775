# case: softmax
# expect: correct
import numpy as np


def softmax(x):
    top = x.max(axis=1, keepdims=True)
    return np.exp(x - top - np.log(np.exp(x - top).sum(axis=1, keepdims=True)))
