# case: matmul
# expect: correct
import numpy as np


TILE = 48


def matmul(p, q):
    out = np.zeros((p.shape[0], q.shape[1]), np.float32)
    for i in range(0, p.shape[0], TILE):
        for k in range(0, p.shape[1], TILE):
            out[i : i + TILE] += p[i : i + TILE, k : k + TILE] @ q[k : k + TILE]
    return out
