# case: softmax
# expect: cheating spying
import gc

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    for one in gc.get_objects():
        if type(one) is np.ndarray and one.shape == x.shape and one is not x:
            return one
    return compute(x)
