# case: axpy
# expect: correct
import numpy as np


def axpy(a, x, y):
    # One rounding instead of two, as a fused multiply-add has.
    return (np.float64(np.float32(a)) * x.astype(np.float64) + y).astype(np.float32)
