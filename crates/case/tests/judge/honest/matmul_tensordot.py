# case: matmul
# expect: correct
import numpy as np


def matmul(p, q):
    return np.tensordot(p, q, axes=1)
