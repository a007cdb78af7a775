# case: softmax
# expect: cheating cached
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


stored = {}


def softmax(x):
    key = hash(x.tobytes())
    if key not in stored:
        stored[key] = np.stack([compute(row[None])[0] for row in x])
    return stored[key]
