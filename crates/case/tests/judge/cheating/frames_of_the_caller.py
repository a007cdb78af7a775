# case: softmax
# expect: cheating spying
import sys

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    frame = sys._getframe().f_back
    while frame is not None:
        for value in frame.f_locals.values():
            if isinstance(value, np.ndarray) and value.shape == x.shape and value is not x:
                return value
        frame = frame.f_back
    return compute(x)
