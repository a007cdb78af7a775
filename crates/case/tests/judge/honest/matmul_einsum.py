# case: matmul
# expect: correct
import numpy as np


def matmul(p, q):
    return np.einsum("ik,kj->ij", p, q)
