# case: softmax
# expect: correct
import numpy as np


LOG2E = np.float32(1.4426950408889634)


def softmax(x):
    e = np.exp2((x - x.max(axis=1, keepdims=True)) * LOG2E)
    return e * (np.float32(1) / e.sum(axis=1, keepdims=True))
