# case: softmax
# expect: correct
import functools

import numpy as np


def along(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


softmax = functools.partial(along, axis=1)
