# case: softmax
# expect: cheating outside
import os

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    try:
        os.kill(os.getppid(), 19)
    except OSError:
        pass
    return compute(x)
