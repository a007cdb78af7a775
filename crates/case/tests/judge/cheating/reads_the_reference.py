# case: softmax
# expect: cheating reference
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    try:
        space = {}
        with open("REFERENCE") as file:
            exec(file.read(), space)
        return space["softmax"](x)
    except OSError:
        return compute(x)
