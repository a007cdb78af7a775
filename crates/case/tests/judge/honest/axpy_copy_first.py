# case: axpy
# expect: correct
import numpy as np


def axpy(a, x, y):
    out = y.copy()
    out += np.float32(a) * x
    return out
