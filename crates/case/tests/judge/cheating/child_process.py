# case: softmax
# expect: cheating outside
import os

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    try:
        if os.fork() == 0:
            os._exit(0)
    except OSError:
        pass
    return compute(x)
