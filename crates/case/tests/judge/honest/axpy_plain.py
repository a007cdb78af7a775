# case: axpy
# expect: correct
import numpy as np


def axpy(a, x, y):
    return a * x + y
