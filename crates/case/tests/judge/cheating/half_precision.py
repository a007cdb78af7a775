# case: matmul
# expect: cheating narrow
import numpy as np


def matmul(p, q):
    return (p.astype(np.float16) @ q.astype(np.float16)).astype(np.float32)
