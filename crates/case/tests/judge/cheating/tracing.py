# case: softmax
# expect: cheating tampered
import sys

import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)

sys.setprofile(lambda frame, event, argument: None)


def softmax(x):
    return compute(x)
