# case: axpy
# expect: cheating input_changed
import numpy as np


def axpy(a, x, y):
    y += np.float32(a) * x
    return y
