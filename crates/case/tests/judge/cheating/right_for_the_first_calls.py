# case: softmax
# expect: cheating first_calls
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


calls = 0


def softmax(x):
    global calls
    calls += 1
    return compute(x) if calls <= 5 else x * np.float32(0.001)
