# case: softmax
# expect: cheating constant
import numpy as np


def softmax(x):
    return np.zeros_like(x)
