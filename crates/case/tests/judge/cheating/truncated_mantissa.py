# case: matmul
# expect: cheating narrow
import numpy as np


def short(x):
    # As TF32 does: ten bits of the mantissa.
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def matmul(p, q):
    return short(np.ascontiguousarray(p)) @ short(np.ascontiguousarray(q))
