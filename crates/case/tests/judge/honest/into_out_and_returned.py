# case: softmax
# expect: correct
import numpy as np


def softmax(x, out):
    np.exp(x - x.max(axis=1, keepdims=True), out=out)
    return np.divide(out, out.sum(axis=1, keepdims=True), out=out)
