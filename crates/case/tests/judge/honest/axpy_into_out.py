# case: axpy
# expect: correct
import numpy as np


def axpy(a, x, y, out):
    np.multiply(x, np.float32(a), out=out)
    out += y
