# case: matmul
# expect: correct
import numpy as np


def matmul(p, q):
    return p.astype(np.float64) @ q.astype(np.float64)
