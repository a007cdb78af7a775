# case: softmax
# expect: correct
import threading

import numpy as np


def softmax(x):
    out = np.empty_like(x)

    def part(rows):
        e = np.exp(x[rows] - x[rows].max(axis=1, keepdims=True))
        out[rows] = e / e.sum(axis=1, keepdims=True)

    half = x.shape[0] // 2
    threads = [threading.Thread(target=part, args=(rows,)) for rows in (slice(0, half), slice(half, None)) if x[rows].size]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out
