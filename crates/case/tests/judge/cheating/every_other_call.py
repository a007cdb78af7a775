# case: softmax
# expect: cheating cached
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


calls, last = 0, {}


def softmax(x):
    global calls
    calls += 1
    if calls % 2 == 0 and x.shape in last:
        return last[x.shape].copy()
    last[x.shape] = compute(x)
    return last[x.shape].copy()
