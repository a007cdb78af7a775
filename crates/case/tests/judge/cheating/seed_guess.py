# case: softmax
# expect: cheating constant
import numpy as np


def compute(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def softmax(x):
    guess = np.random.default_rng(42).standard_normal(x.shape, dtype=np.float32)
    return compute(guess)
