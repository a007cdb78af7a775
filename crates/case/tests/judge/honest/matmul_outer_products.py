# case: matmul
# expect: correct
import numpy as np


def matmul(p, q):
    out = np.zeros((p.shape[0], q.shape[1]), np.float32)
    for k in range(p.shape[1]):
        out += np.multiply.outer(p[:, k], q[k])
    return out
