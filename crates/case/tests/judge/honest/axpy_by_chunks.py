# case: axpy
# expect: correct
import numpy as np


def axpy(n, a, x, y):
    out = np.empty(n, np.float32)
    for start in range(0, n, 4096):
        stop = min(start + 4096, n)
        np.multiply(x[start:stop], np.float32(a), out=out[start:stop])
        out[start:stop] += y[start:stop]
    return out
