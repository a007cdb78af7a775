# case: axpy
# expect: correct
import numpy as np


def axpy(a, x, y):
    return np.stack([x * np.float32(a), y]).sum(axis=0)
