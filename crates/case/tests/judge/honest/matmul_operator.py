# case: matmul
# expect: correct
import numpy as np


def matmul(p, q):
    return p @ q
