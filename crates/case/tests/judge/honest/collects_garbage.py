# case: softmax
# expect: correct
import gc

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    gc.collect(0)
    return e / e.sum(axis=1, keepdims=True)
