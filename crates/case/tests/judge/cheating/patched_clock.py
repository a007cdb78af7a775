# case: softmax
# expect: cheating tampered
import time

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

began = time.perf_counter()
time.perf_counter = time.perf_counter_ns = lambda: began


def softmax(x):
    return compute(x)
