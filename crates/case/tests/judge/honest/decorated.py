# case: softmax
# expect: correct
import functools

import numpy as np


def checked(function):
    @functools.wraps(function)
    def inner(x):
        assert x.ndim == 2
        return function(x)

    return inner


@checked
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
