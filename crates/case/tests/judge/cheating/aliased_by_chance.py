# case: axpy
# expect: wrong|cheating input_changed|cheating aliased
import numpy as np


def axpy(a, x, y):
    return y
