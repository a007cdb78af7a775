# case: softmax
# expect: cheating constant
import numpy as np


def softmax(x):
    return np.full_like(x, 1 / x.shape[1])
