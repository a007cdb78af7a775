# case: matmul
# expect: correct
import numpy as np


def matmul(p, q):
    return np.dot(q.T, p.T).T
