# case: softmax
# expect: correct
import time

import numpy as np


spent = 0.0


def softmax(x):
    global spent
    start = time.perf_counter()
    e = np.exp(x - x.max(axis=1, keepdims=True))
    out = e / e.sum(axis=1, keepdims=True)
    spent += time.perf_counter() - start
    return out
