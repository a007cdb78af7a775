# case: softmax
# expect: wrong|cheating constant|cheating cached
import numpy as np


def softmax(x):
    return np.empty_like(x)
