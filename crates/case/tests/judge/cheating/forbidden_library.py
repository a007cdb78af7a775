# case: matmul
# expect: cheating library
# forbid: numpy.matmul
import numpy as np


def matmul(p, q):
    return getattr(np, "mat" + "mul")(p, q)
