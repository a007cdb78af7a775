# case: axpy
# expect: cheating input_changed
import numpy as np


def axpy(a, x, y):
    out = a * x + y
    x[...] = 0
    y[...] = 0
    return out
