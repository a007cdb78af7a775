# case: axpy
# expect: correct
import numpy as np


def axpy(a, x, y):
    return np.float32(a) * x + y
