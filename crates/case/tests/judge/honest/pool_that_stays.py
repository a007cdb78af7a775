# case: softmax
# expect: correct
from concurrent.futures import ThreadPoolExecutor

import numpy as np


pool = ThreadPoolExecutor(2)


def rows(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    parts = [part for part in np.array_split(x, 2) if part.size]
    return np.concatenate(list(pool.map(rows, parts)))
